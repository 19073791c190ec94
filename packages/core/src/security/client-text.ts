// Text that other programs (coding agents, chat clients, memory tools) put into messages: memory, reminders, the state of the editor,
// summaries of a compaction. It is not conversation, and storing what a memory has injected would teach the memory its own output. For
// the importer of transcripts, and for lists that clients send to a gateway.

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

// ---- Summaries ----

/**
 * How the summary begins that a client puts in the place of turns it has compacted: Claude Code, Codex (since 0.50 and before), pi and
 * OpenClaw, Gemini CLI and Qwen Code.
 */
const SUMMARY_STARTS = [
  "This session is being continued from a previous conversation",
  "Another language model started to solve this problem and produced a summary",
  "You were originally given instructions from a user over one or more turns.",
  "The conversation history before this point was compacted into the following summary",
  "<state_snapshot>",
] as const;
/** opencode asks this itself; the summary is the answer. */
const SUMMARY_QUESTION = "What did we do so far?";

/** Whether a message of the user is the summary with which a client replaced a part of the conversation. */
export function isClientSummary(userText: string): boolean {
  const text = userText.trimStart();
  return SUMMARY_STARTS.some((start) => text.startsWith(start));
}

/** Whether the answer to this message of the user is such a summary. */
export function asksForClientSummary(userText: string): boolean {
  return userText.trim() === SUMMARY_QUESTION;
}

// ---- Claude Code ----

/** Blocks in front of a prompt that the product adds. */
const LEADING_TAGS = ["system-reminder", "ide_opened_file", "ide_selection", "ide_diagnostics"];
/** Records that begin like this have no words of the user. */
const MACHINE_TEXTS = [
  "<local-command-",
  "[Request interrupted",
  "Stop hook feedback:",
  "This session is being continued",
];

/** The words of the user in a user record of Claude Code, without what the product wraps around them; empty when the user typed none of it. */
export function typedText(recorded: string): string {
  const text = withoutLeadingBlocks(recorded);
  if (MACHINE_TEXTS.some((start) => text.startsWith(start))) return "";
  return (
    slashCommand(text) ?? (text.startsWith("<user_query>") ? between(text, "user_query") : undefined) ?? text
  );
}

function withoutLeadingBlocks(recorded: string): string {
  let text = recorded.trim();
  for (;;) {
    const tag = LEADING_TAGS.find((one) => text.startsWith(`<${one}>`));
    const end = tag === undefined ? -1 : text.indexOf(`</${tag}>`);
    if (tag === undefined || end < 0) return text;
    text = text.slice(end + tag.length + 3).trimStart();
  }
}

/** `/name arguments`, when the text is nothing but the tags of a slash command. */
function slashCommand(text: string): string | undefined {
  if (!/^<command-(?:name|message|args)>/.test(text) || !/<\/command-[a-z]+>$/.test(text)) return undefined;
  const name = between(text, "command-name") ?? between(text, "command-message");
  if (name === undefined) return undefined;
  const given = between(text, "command-args") ?? "";
  return `${name.startsWith("/") ? "" : "/"}${name} ${given}`.trim();
}

function between(text: string, tag: string): string | undefined {
  const start = text.indexOf(`<${tag}>`);
  const end = start < 0 ? -1 : text.lastIndexOf(`</${tag}>`);
  return end < start + tag.length + 2 ? undefined : text.slice(start + tag.length + 2, end).trim();
}
