// The words of the user in a user record of Claude Code, without what the product wraps around them.

/** Blocks in front of a prompt that the product adds. */
const LEADING_TAGS = ["system-reminder", "ide_opened_file", "ide_selection", "ide_diagnostics"];
/** Records that begin like this have no words of the user. */
const MACHINE_TEXTS = [
  "<local-command-",
  "[Request interrupted",
  "Stop hook feedback:",
  "This session is being continued",
];
const MAX_TITLE_CHARS = 100;

/** Empty when the user typed none of it. */
export function userText(recorded: string): string {
  const text = withoutLeadingBlocks(recorded);
  if (MACHINE_TEXTS.some((start) => text.startsWith(start))) return "";
  return (
    slashCommand(text) ?? (text.startsWith("<user_query>") ? between(text, "user_query") : undefined) ?? text
  );
}

/** The first line of the first prompt, for sessions without a title. */
export function titleFrom(text: string): string | undefined {
  const line = text.split("\n", 20).find((one) => one.trim() !== "");
  return line === undefined
    ? undefined
    : [...line.trim().slice(0, 4 * MAX_TITLE_CHARS)].slice(0, MAX_TITLE_CHARS).join("");
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
