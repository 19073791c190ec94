// What OpenClaw itself put into its workspace files. A file that nobody changed since is known by the hash OpenClaw noted; in a file
// that was filled in, the rest of the template is known by its form: blank fields, hints in italics, examples, links to its manual.
import { createHash } from "node:crypto";
import { join } from "node:path";
import { type Line, linesOf } from "../transcripts/kit/markdown.ts";
import { rowsOf } from "./discover.ts";

/** Decides whether a file of this name still has the bytes that OpenClaw wrote. */
export type IsGenerated = (name: string, bytes: Uint8Array) => boolean;

/** OpenClaw notes hashes since it keeps its state in a database; without one nothing counts as generated. */
export async function readGenerated(root: string): Promise<IsGenerated> {
  const path = join(root, "state", "openclaw.sqlite");
  try {
    const table = "workspace_generated_bootstrap_hashes";
    const rows = await rowsOf(root, path, table, `SELECT filename, sha256 FROM ${table}`);
    const noted = new Set(rows.map(({ filename, sha256 }) => `${filename} ${sha256}`));
    return (name, bytes) => noted.has(`${name} ${createHash("sha256").update(bytes).digest("hex")}`);
  } catch {
    return () => false; // damage, which the profiles' reader reports: the form of the text decides alone
  }
}

/** The line above a directive: `<!-- observed: 2026-03-01 | status: active -->`. */
const MARK = /^\s*<!--\s*observed:\s*(\S+)[^>]*-->\s*$/;
const SUPERSEDED = /status:\s*superseded/;
const DATED = /observed:\s*\d{4}-\d{2}-\d{2}/;
const PLACEHOLDER = /(?:\.{3}|\u2026)\s*$/;
const FIELD = /^\s*(?:[-*+]\s+)?\*\*[^*]+:\*\*(.*)$/;
const HINT = /^\s*(?:_[^_].*_|\*[^*\s][^*]*\*|\(.*\))\s*$/;
const MANUAL_LINK = /^\s*[-*+]\s+\[[^\]]*\]\(\/[^)]*\)\s*$/;

/** The same text where it holds nothing of a template. */
export function withoutTemplate(markdown: string): string {
  const lines = linesOf(markdown);
  const kept = withoutFooter(sectionsOf(lines).flatMap(ofUser), lines);
  return kept.length === lines.length ? markdown : kept.map(({ raw }) => raw).join("\n");
}

function sectionsOf(lines: readonly Line[]): Line[][] {
  const sections: Line[][] = [[]];
  for (const line of lines) {
    if (line.kind === "heading") sections.push([]);
    sections.at(-1)?.push(line);
  }
  return sections;
}

/**
 * A section with a mark that has no date explains how directives are written: only fields and directives in it are the user's.
 * In other sections with marks, prose before the first mark is the explanation. A superseded directive ends at the next blank line.
 */
function ofUser(section: readonly Line[]): Line[] {
  const isExplaining = section.some(({ raw }) => MARK.test(raw) && !DATED.test(raw));
  const hasMarks = section.some(({ raw, kind }) => MARK.test(raw) && kind !== "code");
  let mark: string | undefined;
  let hasText = false;
  return section.filter(({ raw, kind }, at) => {
    const isCode = kind === "code";
    if (!isCode && MARK.test(raw)) {
      mark = raw;
      hasText = false;
      return false;
    }
    if (kind === "blank" && hasText && SUPERSEDED.test(mark ?? "")) mark = "";
    if (kind === "blank" || kind === "heading") return true;
    if (!isCode && isLeftBlank(section, at)) return false;
    hasText = true;
    if (mark && SUPERSEDED.test(mark)) return false;
    if (mark) return DATED.test(mark) || (kind === "bullet" && !PLACEHOLDER.test(raw));
    if (mark === "" && !isExplaining) return true;
    const isField = !isCode && FIELD.test(raw);
    return isField || !(isExplaining || (hasMarks && kind !== "bullet"));
  });
}

function isLeftBlank(section: readonly Line[], at: number): boolean {
  const { raw = "" } = section[at] ?? {};
  if (HINT.test(raw) || MANUAL_LINK.test(raw)) return true;
  const value = FIELD.exec(raw)?.[1];
  if (value === undefined || (value.trim() !== "" && !HINT.test(value))) return false;
  const next = section[at + 1]?.raw ?? "";
  return !/^\s+\S/.test(next) || HINT.test(next); // the value may be on the next line
}

/** A template ends with a rule and a sentence about the file. */
function withoutFooter(kept: readonly Line[], lines: readonly Line[]): readonly Line[] {
  const rule = kept.findLastIndex(({ kind, text }) => kind === "rule" && !/\s/.test(text));
  if (rule < 1 || kept.length === lines.length) return kept;
  const isProse = kept.slice(rule + 1).every(({ kind }) => kind === "text" || kind === "blank");
  return isProse ? kept.slice(0, rule) : kept;
}
