// What a SKILL.md must be before it is written. Pure.
import {
  codePointLength,
  err,
  groupThousands,
  hasLoneSurrogate,
  normalizeNewlines,
  ok,
  pyStrip,
  type Result,
} from "../../lib/index.ts";
import { MAX_CONTENT_CHARS, MAX_DESCRIPTION_CHARS } from "../limits.ts";
import { shownName } from "../names.ts";
import type { SkillError } from "../types.ts";
import { type FrontmatterParser, fieldOf } from "./parse.ts";
import { splitFrontmatter } from "./split.ts";

export type CheckedSkill = { readonly name: string; readonly description: string };

export type NameRule = {
  readonly directoryName: string;
  /** A skill whose frontmatter has always had another name may keep it. */
  readonly previousName?: string | undefined;
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

/** Size and characters; also asked before anything else is done with a text somebody sent. */
export function textProblem(text: string): SkillError | undefined {
  // Whoever has twice as many units has more characters too, and nobody has to count ten million of them.
  if (text.length > 2 * MAX_CONTENT_CHARS || codePointLength(text) > MAX_CONTENT_CHARS) {
    const message = `SKILL.md would be too large: at most ${groupThousands(MAX_CONTENT_CHARS)} characters. Move detail to files under references/.`;
    return { kind: "too_large", message };
  }
  return characterProblem(text);
}

export function characterProblem(text: string): SkillError | undefined {
  if (hasLoneSurrogate(text)) {
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
