// What lists, lookups and the prompt need to know of a SKILL.md: read leniently, kept in the snapshot.
import { codePointLength, normalizeNewlines, pyStrip, takeCodePoints } from "../../lib/index.ts";
import { MAX_DESCRIPTION_CHARS } from "../limits.ts";
import { type Fields, type FrontmatterParser, fieldOf, parseLines } from "./parse.ts";
import { splitFrontmatter } from "./split.ts";

export type SkillHeader = {
  /** Empty: the frontmatter has none. */
  readonly name: string;
  /** On one line, at most 1,024 characters. */
  readonly description: string;
  /** `macos`, `linux`, `windows`; none: everywhere. */
  readonly platforms: readonly string[];
  /** `kanban`, `docker`, `s6`; none: everywhere. */
  readonly environments: readonly string[];
  readonly requiresTools: readonly string[];
  readonly requiresToolsets: readonly string[];
  /** Of no use where these are there. */
  readonly fallbackForTools: readonly string[];
  readonly fallbackForToolsets: readonly string[];
};

export type ReadText = { readonly fields: Fields; readonly body: string };

/** Never fails: what cannot be understood is not there. */
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

/** A list of texts; a single text, or several between commas and brackets, is a list too. */
export function textsOf(value: unknown): readonly string[] {
  const items = typeof value === "string" ? value.replace(/^\[|\]$/g, "").split(",") : value;
  return Array.isArray(items) ? items.map(textOf).filter((item) => item !== "") : [];
}

/** The first line that is no heading stands in for a missing description. */
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
