// What client programs (coding agents, chat clients, memory tools) put around or beside the words of the user: memory, reminders, the state
// of the editor, the time, commands, summaries of a compaction. It is not conversation, and storing what a memory has injected would teach
// the memory its own output. One table for the gateway, the hooks, the importers and the recall query. People write about these forms too:
// a rule asks for the client's exact form, and most of them for its place.

// ---- The table ----

/** Removed with what they enclose, in front of the words and behind them. A name that ends in `*` stands for all tags that begin so. */
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
  "hook_context", // Gemini CLI, before and behind the prompt
] as const;

/** OpenClaw's block, whose markers have lines of their own. */
const OPENCLAW_BEGIN = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>";
const OPENCLAW_END = "\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>";

/** Removed at the beginning of a text only: people write these words too. */
const REMOVED_AT_START = [
  "timestamp",
  "current_datetime", // Copilot CLI
  "ide_opened_file",
  "ide_selection",
  "ide_diagnostics",
  // Claude Code: commands of its shell and of the program itself, and what they print.
  "bash-input",
  "bash-stdout",
  "bash-stderr",
  "local-command-caveat",
  "local-command-stdout",
  "local-command-stderr",
] as const;

/** Taken off when they enclose the whole text. */
const UNWRAPPED = [
  "user_query",
  "user_message",
  "user_input",
  "USER_REQUEST",
  "task",
  "feedback",
  "answer",
] as const;

/** A whole text in one of these is the client's: Codex sends them as messages of the user. */
const MACHINE_TAGS = [
  "environment_context",
  "user_instructions",
  "turn_aborted",
  "user_shell_command",
  "subagent_notification",
  "goal_context",
  "recommended_plugins",
  "codex_internal_context",
  "session_context", // Gemini CLI
] as const;

/** Whole texts without words of the user. */
const MACHINE_TEXTS = [
  /^\[Request interrupted by user(?: for tool use)?\]$/,
  /^Stop hook feedback:(?:\n[^\n]+)+$/,
  /^# AGENTS\.md instructions(?: for [^\n]*)?\n\s*<INSTRUCTIONS>[\s\S]*<\/INSTRUCTIONS>$/,
  /^<skill>\s*<name>[\s\S]*<\/skill>$/,
  /^\/(?:clear|compact)$/,
  // opencode, behind a compaction of its own.
  /^Continue if you have next steps, or stop and ask for clarification if you are unsure how to proceed\.$/,
  // Notices of older releases of Codex. Users paste warnings, too, and ask about them.
  /^Warning: (?:apply_patch was requested via |The maximum number of unified exec processes|Your account was flagged for potentially )[^?\n]*$/,
] as const;

/** Commands that do something to the conversation and say nothing in it. */
const SILENT_COMMAND = /^\/(?:clear|compact)(?: |$)/;

/** OpenClaw puts the time in front of the words, and a line about itself behind them. */
const STAMP = /^\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d{4}-\d\d-\d\d \d\d:\d\d[^\]\n]{0,40}\] /;
const LAST_LINE = /\n\nRuntime: agent=[^\s|]* \| [^\n]*$/;

// ---- The words of the user ----

const OPENING = new RegExp(
  `(?<=(?:^|\\n|</[\\w:-]{1,64}>)[ \\t]*)<(${REMOVED.join("|").replaceAll("*", "[\\w-]{1,64}")})(?=[\\s>])[^<>]{0,4096}>|(?<![^\\n])${OPENCLAW_BEGIN}(?=\\r?\\n)`,
  "g",
);
const AT_START = new RegExp(`^<(${REMOVED_AT_START.join("|")})(?=[\\s>])[^<>]{0,4096}>`);
const WRAPPER = new RegExp(`^<(${UNWRAPPED.join("|")})(?: mode="[\\w-]{1,32}")?>`);
const MACHINE = new RegExp(`^<(${MACHINE_TAGS.join("|")})(?=[\\s>])[^<>]{0,4096}>`);

/** Clients wrap the words two or three times. More of them would cost time for each. */
const MOST_LAYERS = 8;

/** What the user wrote; empty when everything is the client's. A text without any of the forms stays as it is. Takes linear time. */
export function strippedUserText(text: string): string {
  let rest = text.trim();
  for (let layer = 0; layer < MOST_LAYERS; layer += 1) {
    const next = unwrapped(withoutStart(withoutSpans(rest).replace(LAST_LINE, "").trim().replace(STAMP, "")));
    if (next === rest) break;
    rest = next;
  }
  rest = slashCommand(rest) ?? rest;
  if (isMachineText(rest)) return "";
  return rest === text.trim() ? text : rest;
}

/** A client can send any number of names that begin like one of the table, each of which is looked for to the end. */
const MOST_UNCLOSED = 32;

/** What stands between words of the user is the user's: code, a log, a question about such a block. */
function withoutSpans(text: string): string {
  const spans = spansOf(text);
  let [start, end] = [0, text.length];
  for (const span of spans) {
    if (text.slice(start, span.start).trim() !== "" || !isOnItsOwn(text, span)) break;
    start = span.end;
  }
  for (const span of spans.toReversed()) {
    if (span.start < start || text.slice(span.end, end).trim() !== "") break;
    end = span.start;
  }
  return text.slice(start, end);
}

/** Behind which a prompt may go on in the same line. Behind other blocks, such words make the block a part of a sentence. */
const IN_LINE = ["memory-context", "system-reminder", "ide_opened_file", "ide_selection", "ide_diagnostics"];

function isOnItsOwn(text: string, { tag, end }: Span): boolean {
  return IN_LINE.includes(tag) || /[ \t]*(?:[\r\n<]|$)/y.test(text.slice(end, end + 80));
}

type Span = { readonly tag: string; readonly start: number; readonly end: number };

function spansOf(text: string): readonly Span[] {
  const spans: Span[] = [];
  if (!text.includes("<")) return spans;
  const unclosed = new Set<string>();
  const unbalanced = new Set<string>();
  OPENING.lastIndex = 0;
  for (let open = OPENING.exec(text); open !== null; open = OPENING.exec(text)) {
    const [whole, tag = OPENCLAW_BEGIN] = open;
    if (unclosed.has(tag)) continue;
    if (unclosed.size + unbalanced.size > MOST_UNCLOSED) break;
    const isTag = tag !== OPENCLAW_BEGIN;
    const from = open.index + whole.length;
    const at = isTag ? closingOf(text, tag, from, unbalanced) : text.indexOf(OPENCLAW_END, from);
    if (at < 0) {
      unclosed.add(tag);
      continue;
    }
    const end = at + (isTag ? tag.length + 3 : OPENCLAW_END.length);
    spans.push({ tag, start: open.index, end });
    OPENING.lastIndex = end;
  }
  return spans;
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
  let rest = text;
  for (;;) {
    const [whole = "", tag] = AT_START.exec(rest) ?? [];
    if (tag === undefined) return rest;
    const closing = `</${tag}>`;
    const at = rest.indexOf(closing, whole.length);
    const end = at + closing.length;
    if (at < 0 || !isOnItsOwn(rest, { tag, start: 0, end })) return rest;
    rest = rest.slice(end).trim();
  }
}

function unwrapped(text: string): string {
  const [whole = "", tag] = WRAPPER.exec(text) ?? [];
  if (tag === undefined) return text;
  const closing = `</${tag}>`;
  const isWhole =
    text.endsWith(closing) && text.indexOf(closing, whole.length) === text.length - closing.length;
  return isWhole ? text.slice(whole.length, -closing.length).trim() : text;
}

/** `/name arguments`, when the text is nothing but the tags of a slash command of Claude Code. */
function slashCommand(text: string): string | undefined {
  if (!/^<command-(?:name|message|args)>/.test(text) || !/<\/command-(?:name|message|args)>$/.test(text))
    return undefined;
  const name = between(text, "command-name") ?? between(text, "command-message");
  if (name === undefined) return undefined;
  const command = `${name.startsWith("/") ? "" : "/"}${name} ${between(text, "command-args") ?? ""}`.trim();
  return SILENT_COMMAND.test(command) ? "" : command;
}

function between(text: string, tag: string): string | undefined {
  const start = text.indexOf(`<${tag}>`);
  const end = start < 0 ? -1 : text.lastIndexOf(`</${tag}>`);
  return end < start + tag.length + 2 ? undefined : text.slice(start + tag.length + 2, end).trim();
}

function isMachineText(text: string): boolean {
  const closing = `</${MACHINE.exec(text)?.[1]}>`;
  if (text.endsWith(closing) && text.indexOf(closing) === text.length - closing.length) return true;
  return MACHINE_TEXTS.some((form) => form.test(text));
}

// ---- Summaries ----

/**
 * How the summary begins that a client puts in the place of turns it has compacted: Claude Code, Codex (since 0.50 and before), pi and
 * OpenClaw, Copilot CLI, Gemini CLI and Qwen Code.
 */
const SUMMARY_STARTS = [
  "This session is being continued from a previous conversation that ran out of context",
  "Another language model started to solve this problem and produced a summary",
  "You were originally given instructions from a user over one or more turns.",
  "The conversation history before this point was compacted into the following summary",
  "Some of the conversation history has been summarized to free up context.",
] as const;
const SNAPSHOT = /^<state_snapshot>[\s\S]*<\/state_snapshot>\s*$/;
/** How Qwen Code ends it since 0.20. */
const RESUME = /\n\nResume the prior task using the summary above\. [^\n]*$/;
/** opencode asks this itself; the summary is the answer. */
const SUMMARY_QUESTION = "What did we do so far?";

/** Whether a message of the user is the summary with which a client replaced a part of the conversation. */
export function isClientSummary(userText: string): boolean {
  const text = userText.trimStart();
  return SUMMARY_STARTS.some((start) => text.startsWith(start)) || SNAPSHOT.test(text) || RESUME.test(text);
}

/** What a model may have written of a summary, without what the client puts around it: the same of its reply and of the client's message. */
export function summaryBodies(text: string): readonly string[] {
  const inner = ["summary", "state_snapshot"].flatMap((tag) => between(text, tag) ?? []);
  return [...inner, text.replace(RESUME, "")].filter((body) => body.trim() !== "");
}

/** Whether the answer to this message of the user is such a summary. */
export function asksForClientSummary(userText: string): boolean {
  return userText.trim() === SUMMARY_QUESTION;
}
