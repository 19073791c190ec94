// The YAML frontmatter of a SKILL.md: strict when a skill is written, lenient when it is read.
import {
  codePointLength,
  describeCause,
  err,
  groupThousands,
  isRecord,
  normalizeNewlines,
  ok,
  pyStrip,
  type Result,
  takeCodePoints,
} from "../lib/index.ts";
import {
  MAX_CONTENT_CHARS,
  MAX_DESCRIPTION_CHARS,
  type SkillError,
  type SkillHeader,
  shownName,
} from "./skill.ts";

// Splits a Markdown text at the two `---` lines at its top. Pure.

type SplitText =
  | { readonly kind: "closed"; readonly yaml: string; readonly body: string }
  /** The closing line is missing. */
  | { readonly kind: "open"; readonly yaml: string; readonly body: "" }
  | { readonly kind: "none"; readonly body: string };

/** Expects LF line ends. */
export function splitFrontmatter(text: string): SplitText {
  const opened = /^---[ \t]*(?:\n|$)/.exec(text);
  if (opened === null) return { kind: "none", body: text };
  const closing = /^---[ \t]*$/gm;
  closing.lastIndex = opened[0].length;
  const closed = closing.exec(text);
  if (closed === null) return { kind: "open", yaml: text.slice(opened[0].length), body: "" };
  return {
    kind: "closed",
    yaml: text.slice(opened[0].length, closed.index),
    body: text.slice(closed.index + closed[0].length + 1),
  };
}

// Parsing.

export type Fields = Readonly<Record<string, unknown>>;

/** The fields, or the reason why there are none. */
export type FrontmatterParser = (yaml: string) => Result<Fields, string>;

/** Loads the YAML library, on first use only. */
export async function loadFrontmatterParser(): Promise<FrontmatterParser> {
  const { parseDocument } = await import("yaml");
  return (yaml) => {
    try {
      // As in Python: the last of two equal keys counts, and merge keys work.
      const document = parseDocument(yaml, { merge: true, uniqueKeys: false, logLevel: "error" });
      const [mistake] = document.errors;
      if (mistake) return err(firstLine(mistake.message));
      const content: unknown = document.toJS();
      return isRecord(content) ? ok(content) : err("it does not hold keys and values");
    } catch (cause) {
      return err(firstLine(describeCause(cause))); // for example endless aliases
    }
  };
}

/** For broken YAML: the lines `key: value` that are not indented. Indented lines belong to a nested section. */
export function parseLines(yaml: string): Fields {
  const fields: Record<string, unknown> = Object.create(null);
  for (const line of yaml.split("\n")) {
    const match = /^([A-Za-z_][\w-]*)[ \t]*:(.*)$/.exec(line);
    if (match?.[1] === undefined) continue;
    const value = unquoted(pyStrip(match[2] ?? ""));
    if (value !== "") fields[match[1]] = value;
  }
  return fields;
}

/** Only own fields, so that names such as `constructor` give undefined. */
export function fieldOf(fields: unknown, name: string): unknown {
  return isRecord(fields) && Object.hasOwn(fields, name) ? fields[name] : undefined;
}

function unquoted(text: string): string {
  const quoted = /^(["'])(.*)\1$/.exec(text);
  return quoted?.[2] ?? text;
}

/** The library appends an excerpt of the text to its messages. */
function firstLine(message: string): string {
  return (message.split("\n")[0] ?? "").replace(/:$/, "");
}

// The header: the fields that lists, lookups and the prompt need. Kept in the catalog's snapshot.

type ReadText = { readonly fields: Fields; readonly body: string };

/** Never fails: fields that cannot be parsed are left out. */
export function readSkillText(raw: string, parse: FrontmatterParser): ReadText {
  const text = normalizeNewlines(raw.replace(/^\ufeff/, ""));
  const parts = splitFrontmatter(text);
  if (parts.kind === "none") return { fields: {}, body: parts.body };
  const parsed = parse(parts.yaml);
  return { fields: parsed.ok ? parsed.value : parseLines(parts.yaml), body: parts.body };
}

export function toHeader({ fields, body }: ReadText): SkillHeader {
  const hermes = fieldOf(fieldOf(fields, "metadata"), "hermes");
  return {
    name: oneLine(textOf(fieldOf(fields, "name"))),
    description: cut(oneLine(textOf(fieldOf(fields, "description"))) || firstSentence(body)),
    platforms: textsOf(fieldOf(fields, "platforms")),
    environments: textsOf(fieldOf(fields, "environments")),
    requiresTools: textsOf(fieldOf(hermes, "requires_tools")),
    requiresToolsets: textsOf(fieldOf(hermes, "requires_toolsets")),
    fallbackForTools: textsOf(fieldOf(hermes, "fallback_for_tools")),
    fallbackForToolsets: textsOf(fieldOf(hermes, "fallback_for_toolsets")),
  };
}

/** A scalar as text; "" for anything else. */
export function textOf(value: unknown): string {
  if (typeof value === "string") return pyStrip(value);
  return typeof value === "number" || typeof value === "boolean" ? String(value) : "";
}

/** A list of texts. A single text, or several separated by commas in brackets, counts as a list too. */
export function textsOf(value: unknown): readonly string[] {
  const items = typeof value === "string" ? value.replace(/^\[|\]$/g, "").split(",") : value;
  return Array.isArray(items) ? items.map(textOf).filter((item) => item !== "") : [];
}

/** Used when the description is missing: the first line that is no heading. */
function firstSentence(body: string): string {
  const line = body.split("\n").find((each) => pyStrip(each) !== "" && !each.startsWith("#"));
  return oneLine(line ?? "");
}

function oneLine(text: string): string {
  return pyStrip(text.replace(/[\s\x00-\x1f\x7f-\x9f]+/g, " "));
}

function cut(text: string): string {
  if (codePointLength(text) <= MAX_DESCRIPTION_CHARS) return text;
  return `${takeCodePoints(text, MAX_DESCRIPTION_CHARS - 3)}...`;
}

// The check of a SKILL.md before it is written. Pure.

type CheckedSkill = { readonly name: string; readonly description: string };

type NameRule = {
  readonly directoryName: string;
  /** A skill whose frontmatter already has a different name may keep it. */
  readonly previousName?: string;
};

export function checkSkillText(
  text: string,
  rule: NameRule,
  parse: FrontmatterParser,
): Result<CheckedSkill, SkillError> {
  const broken = textProblem(text);
  if (broken) return err(broken);
  const parts = splitFrontmatter(normalizeNewlines(text));
  if (parts.kind === "none")
    return invalid("SKILL.md must start with YAML frontmatter: a line '---', then name and description.");
  if (parts.kind === "open")
    return invalid("The frontmatter of SKILL.md is not closed. End it with a line '---'.");
  const fields = parse(parts.yaml);
  if (!fields.ok) return invalid(`The frontmatter of SKILL.md is not valid YAML: ${fields.error}.`);
  const name = fieldOf(fields.value, "name");
  const description = fieldOf(fields.value, "description");
  if (typeof name !== "string" || pyStrip(name) === "")
    return invalid("The frontmatter needs the field 'name', as text.");
  if (typeof description !== "string" || pyStrip(description) === "")
    return invalid("The frontmatter needs the field 'description', as text.");
  if (codePointLength(description) > MAX_DESCRIPTION_CHARS)
    return invalid(
      `The description is too long: at most ${groupThousands(MAX_DESCRIPTION_CHARS)} characters. Say the rest in the body.`,
    );
  if (pyStrip(parts.body) === "")
    return invalid("SKILL.md has no content behind its frontmatter. Write down what to do.");
  const { directoryName, previousName } = rule;
  if (pyStrip(name) !== directoryName && pyStrip(name) !== previousName) {
    const message = `The frontmatter's name '${shownName(name)}' differs from the skill's directory '${directoryName}'. Make them equal.`;
    return invalid(message);
  }
  return ok({ name: pyStrip(name), description: pyStrip(description) });
}

/** Checks size and characters; called before anything else is done with the text. */
export function textProblem(text: string): SkillError | undefined {
  // Twice as many UTF-16 units always means too many characters, so a huge text need not be counted.
  if (text.length > 2 * MAX_CONTENT_CHARS || codePointLength(text) > MAX_CONTENT_CHARS) {
    const message = `SKILL.md would be too large: at most ${groupThousands(MAX_CONTENT_CHARS)} characters. Move detail to files under references/.`;
    return { kind: "too_large", message };
  }
  return characterProblem(text);
}

export function characterProblem(text: string): SkillError | undefined {
  if (!text.isWellFormed()) {
    const message =
      "The text holds half of a surrogate pair, which cannot be stored as UTF-8. Send complete characters.";
    return { kind: "invalid", message };
  }
  if (text.includes("\0"))
    return { kind: "invalid", message: "The text holds a NUL character. Send plain text." };
  return undefined;
}

function invalid(message: string): Result<never, SkillError> {
  return err({ kind: "invalid", message });
}
