// Text that programs put into a user's message: memory, reminders, the state of the editor. It is not conversation, and importing what
// a memory has injected would teach the memory its own output.

/** Removed with what they enclose. A name that ends in `*` stands for all tags that begin so. */
const REMOVED = [
  "memory-context",
  "system-reminder",
  "task-notification",
  "hook_prompt",
  "relevant_memories",
  "user_feedback",
  "hindsight_*",
  "claude-mem-context",
  "deja-vu-context",
  "environment_details",
  "cursor_commands",
  "attached_files",
  "additional_data",
  "skill-context",
  "ADDITIONAL_METADATA",
  "USER_SETTINGS_CHANGE",
  "qwen:user-prompt-submit-context",
] as const;

/** Removed at the beginning of a text only: people write these words too. */
const REMOVED_AT_START = ["timestamp", "ide_opened_file", "ide_selection"] as const;

/** Taken off when they enclose the whole text. */
const UNWRAPPED = ["user_query", "user_message", "USER_REQUEST", "task", "feedback", "answer"] as const;

const OPENING = new RegExp(
  `<(${REMOVED.map((name) => name.replace("*", "[\\w-]{1,64}")).join("|")})(?=[\\s>])[^<>]{0,4096}>`,
  "g",
);
const AT_START = new RegExp(`^<(${REMOVED_AT_START.join("|")})(?=[\\s>])[^<>]{0,4096}>`);
const WRAPPER = new RegExp(`^<(${UNWRAPPED.join("|")})>`);

/** What the user wrote; empty when everything was injected. Takes linear time. */
export function strippedUserText(text: string): string {
  if (!text.includes("<")) return text;
  const kept = withoutSpans(text);
  let rest = (kept === text ? text : kept).trim();
  for (;;) {
    const next = unwrapped(withoutStart(rest));
    if (next === rest) break;
    rest = next;
  }
  // A text without anything injected stays as it is, white space included.
  return rest === text.trim() ? text : rest;
}

function withoutSpans(text: string): string {
  let result = "";
  let at = 0;
  const unclosed = new Set<string>();
  const unbalanced = new Set<string>();
  OPENING.lastIndex = 0;
  for (let open = OPENING.exec(text); open !== null; open = OPENING.exec(text)) {
    const [whole, tag = ""] = open;
    if (unclosed.has(tag)) continue;
    const closing = `</${tag}>`;
    const end = closingOf(text, tag, open.index + whole.length, unbalanced);
    if (end < 0) {
      unclosed.add(tag);
      continue;
    }
    result += text.slice(at, open.index);
    at = end + closing.length;
    OPENING.lastIndex = at;
  }
  return result + text.slice(at);
}

/** Where the span that was opened before `from` closes: with the tag that belongs to it, or the first one if some were never closed. */
function closingOf(text: string, tag: string, from: number, unbalanced: Set<string>): number {
  const first = text.indexOf(`</${tag}>`, from);
  if (first < 0 || unbalanced.has(tag)) return first;
  const tags = new RegExp(`</${tag}>|<${tag}(?=[\\s>])`, "g");
  tags.lastIndex = from;
  let depth = 1;
  for (let found = tags.exec(text); found !== null; found = tags.exec(text)) {
    depth += found[0].startsWith("</") ? -1 : 1;
    if (depth === 0) return found.index;
  }
  unbalanced.add(tag); // looked at once: a text with many of them would take quadratic time
  return first;
}

function withoutStart(text: string): string {
  const [whole = "", tag] = AT_START.exec(text) ?? [];
  if (tag === undefined) return text;
  const closing = `</${tag}>`;
  const end = text.indexOf(closing, whole.length);
  return end < 0 ? text : text.slice(end + closing.length).trim();
}

function unwrapped(text: string): string {
  const [whole = "", tag] = WRAPPER.exec(text) ?? [];
  if (tag === undefined) return text;
  const closing = `</${tag}>`;
  const isWhole =
    text.endsWith(closing) && text.indexOf(closing, whole.length) === text.length - closing.length;
  return isWhole ? text.slice(whole.length, -closing.length).trim() : text;
}

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
