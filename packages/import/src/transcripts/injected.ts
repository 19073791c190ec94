// Conversations that must not be imported: those that the user keeps out of every index, and those of memory tools.

/** With this tag a user keeps a conversation out of every index. JSON may write the slash with a backslash before it. */
const OPT_OUT = />\s{0,8}DO NOT INDEX THIS CHAT\s{0,8}<\\?\//;

/** `text`: of a message, or a line of JSON. */
export function isOptedOut(text: string): boolean {
  return text.includes("DO NOT INDEX THIS CHAT") && OPT_OUT.test(text);
}

/** How episodic-memory begins when it has an agent sum up another conversation. */
const SUMMARISER_PROMPT =
  /^Context: This summary will be shown in a list to help users and \w{1,20} choose which conversations/;

/** Whether a memory tool asks this about another conversation. */
export function isOfMemoryTool(userText: string): boolean {
  return SUMMARISER_PROMPT.test(userText.trimStart().slice(0, 200));
}
