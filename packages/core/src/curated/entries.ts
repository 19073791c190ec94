// The entries of MEMORY.md and USER.md: how the list is written, measured and searched, which texts may become entries, and what a
// system prompt shows of them. Pure. Every other program that shares these files uses the same format and the same unit, the code
// point.
import {
  codePointLength,
  err,
  groupThousands,
  normalizeNewlines,
  ok,
  percentOf,
  preview,
  pyStrip,
  type Result,
  sha256,
} from "../lib/index.ts";
import {
  findingIds,
  gateMessage,
  SECRET_THREAT_IDS,
  scanThreats,
  secondGate,
  threatMessage,
} from "../security/index.ts";
import {
  type EntryMatch,
  type MemoryError,
  type MemoryOp,
  type MemoryTarget,
  memoryError,
  refused,
} from "./types.ts";

// ---- File format ----

/** What separates two entries in a curated file. */
export const ENTRY_DELIMITER = "\n§\n";

export function fileNameOf(target: MemoryTarget): "MEMORY.md" | "USER.md" {
  return target === "user" ? "USER.md" : "MEMORY.md";
}

/** `text` has LF line ends. Pieces are stripped, empty ones dropped, order kept. */
export function parseEntries(text: string): string[] {
  return text
    .split(ENTRY_DELIMITER)
    .map(pyStrip)
    .filter((piece) => piece !== "");
}

/** The entries that a store works with: identical copies count once. */
export function distinctEntries(text: string): string[] {
  return withoutDuplicates(parseEntries(text));
}

/** No entries give an empty file; there is never a newline at the end. */
export function formatEntries(entries: readonly string[]): string {
  return entries.join(ENTRY_DELIMITER);
}

/** Exact text, first occurrence stays. */
export function withoutDuplicates(entries: readonly string[]): string[] {
  return [...new Set(entries)];
}

/** True when this text would be read back as something else once other entries stand around it. */
export function breaksFormat(content: string): boolean {
  return content.includes(ENTRY_DELIMITER) || content.endsWith("\n§");
}

/**
 * True when a file with these entries gives them back. An entry that ends with a lone section sign does not, unless it is the
 * last one. We refuse to write such a text, but an existing file may hold one.
 */
export function survivesReading(entries: readonly string[]): boolean {
  return entries.every((entry, index) => index === entries.length - 1 || !entry.endsWith("\n§"));
}

// ---- Budget ----

export type Budget = { readonly used: number; readonly limit: number };

const WARN_FROM_PERCENT = 80;

export function measure(entries: readonly string[], limit: number): Budget {
  return { used: codePointLength(formatEntries(entries)), limit };
}

export function isOver(budget: Budget): boolean {
  return budget.used > budget.limit;
}

/** `41/2,200` */
export function formatFraction({ used, limit }: Budget): string {
  return `${groupThousands(used)}/${groupThousands(limit)}`;
}

/** `1% — 41/2,200 chars` */
export function formatUsage(budget: Budget): string {
  return `${percentOf(budget.used, budget.limit)}% — ${formatFraction(budget)} chars`;
}

export function usageWarning(budget: Budget): string | undefined {
  const percent = percentOf(budget.used, budget.limit);
  if (percent < WARN_FROM_PERCENT) return undefined;
  return `${percent}% of the space is used (${formatFraction(budget)} chars). Merge related entries or remove stale ones soon.`;
}

// ---- Ids ----

// An id is the start of the SHA-256 of target and text, so the same text in the same target always has the same id.
const ID_CHARS = 8;

/** The short id of an entry, derived from its file and text. */
export function entryId(target: MemoryTarget, text: string): string {
  return entryHash(target, text).slice(0, ID_CHARS);
}

/** One id for each entry of a file. Where two begin with the same characters, all are long enough to tell them apart. */
export function entryIds(target: MemoryTarget, entries: readonly string[]): string[] {
  const hashes = entries.map((text) => entryHash(target, text));
  for (let chars = ID_CHARS; chars < 64; chars += 4) {
    const ids = hashes.map((hash) => hash.slice(0, chars));
    if (new Set(ids).size === new Set(hashes).size) return ids;
  }
  return hashes;
}

/** True for a text that has the form of an id, whether or not an entry has it. */
export function looksLikeId(text: string): boolean {
  return /^[0-9a-f]{8,64}$/.test(text);
}

export function hasId(target: MemoryTarget, text: string, id: string): boolean {
  return entryHash(target, text).startsWith(id);
}

function entryHash(target: MemoryTarget, text: string): string {
  return sha256(`${target}\0${text}`);
}

// ---- Finding an entry by a piece of its text ----

const PREVIEW_CHARS = 80;
const ECHO_CHARS = 1000; // the error repeats the search text, which may be megabytes long

/** Index of the entry that equals `needle`, else of the only one that contains it. `entries` are distinct. */
export function findEntry(
  entries: readonly string[],
  needle: string,
  match?: EntryMatch,
): Result<number, MemoryError> {
  const equal = entries.indexOf(needle);
  if (equal >= 0) return ok(equal);
  if (match !== undefined) {
    const message = `The entry '${preview(needle, PREVIEW_CHARS)}' is not stored any more. Nothing was changed.`;
    return refused({ kind: "no_match", message });
  }
  const found = entries.flatMap((entry, index) => (entry.includes(needle) ? [{ entry, index }] : []));
  const first = found[0];
  const asked = preview(needle, ECHO_CHARS);
  if (!first) return refused({ kind: "no_match", message: `No entry matched '${asked}'.` });
  if (found.length > 1)
    return refused({
      kind: "ambiguous",
      message: `Multiple entries matched '${asked}'. Be more specific.`,
      matches: found.map(({ entry }) => preview(entry, PREVIEW_CHARS)),
      entries: found.map(({ entry }) => entry),
    });
  return ok(first.index);
}

// ---- Drift: content that a rewrite would destroy, or that none of our programs would have written ----

export type Drift =
  | { readonly kind: "oversized"; readonly chars: number; readonly limit: number }
  | { readonly kind: "unparsed_append" };

/**
 * `text` has LF line ends. Extra whitespace and empty pieces around delimiters come from editing by hand; a rewrite tidies them
 * and loses nothing. Two things do stop a rewrite: an entry longer than the whole file may be (text pasted in without
 * delimiters), and a blank line before a delimiter but none after it (a program appended to the file without reading it, and so
 * did not know where the last entry ended).
 */
export function findDrift(text: string, limit: number): Drift | undefined {
  for (const entry of parseEntries(text)) {
    const chars = codePointLength(entry);
    if (chars > limit) return { kind: "oversized", chars, limit };
  }
  return hasUnparsedAppend(pyStrip(text)) ? { kind: "unparsed_append" } : undefined;
}

// Only the whitespace next to the delimiter matters; cutting keeps the two expressions cheap on any text.
const NEAR_DELIMITER_UNITS = 200;

function hasUnparsedAppend(text: string): boolean {
  const pieces = text.split(ENTRY_DELIMITER);
  return pieces.some((piece, index) => {
    const next = pieces[index + 1];
    return (
      next !== undefined &&
      pyStrip(piece) !== "" &&
      /\n[^\S\n]*$/.test(piece.slice(-NEAR_DELIMITER_UNITS)) &&
      !/^[^\S\n]*(?:\n|$)/.test(next.slice(0, NEAR_DELIMITER_UNITS))
    );
  });
}

// ---- Which texts may become entries. Asks the threat scanner ----

export type ScanOptions = {
  /** Ids of findings that are ignored. */
  readonly allow: readonly string[];
  /** The user allows secrets to be stored. */
  readonly allowSecrets?: boolean;
};

/** Allowing secrets also allows the threat pattern that is about them. */
export function scanOptions(allow: readonly string[] = [], allowSecrets = false): ScanOptions {
  return { allow: allowSecrets ? [...allow, ...SECRET_THREAT_IDS] : allow, allowSecrets };
}

// ---- Before a write ----

/** The file that an operation is for. */
type TargetFile = { readonly entries: readonly string[]; readonly limit: number };

/** Strips the arguments and refuses texts that may not be stored. The order of the checks is part of the tool's interface. */
export function checkOp(op: MemoryOp, options: ScanOptions, file: TargetFile): Result<MemoryOp, MemoryError> {
  const texts = ["oldText" in op ? op.oldText : "", "content" in op ? op.content : ""];
  if (texts.some((text) => typeof text !== "string"))
    // a caller without types
    return refused({ kind: "missing_arg", message: `A text of '${op.action}' is missing or no string.` });
  const tooLong = overlong(texts, file);
  if (tooLong) return err(tooLong);
  const oldText = op.action === "add" ? undefined : cleanText(op.oldText);
  if (oldText === "") return refused({ kind: "empty", message: "old_text cannot be empty." });
  if (op.action === "remove") return ok({ ...op, oldText: oldText as string });
  const content = cleanText(op.content);
  if (content === "")
    return refused({
      kind: "empty",
      message:
        op.action === "add"
          ? "Content cannot be empty."
          : "new_content cannot be empty. Use 'remove' to delete entries.",
    });
  const problem = newTextProblem(content, options);
  if (problem) return err(problem);
  return ok(
    op.action === "add" ? { action: "add", content } : { ...op, oldText: oldText as string, content },
  );
}

/** In UTF-16 units. The scan of so much text takes some milliseconds, that of 30 MB takes seconds. */
const SCANNED_UNITS = 65_536;

/**
 * A text far longer than its file may be is refused before it is scanned. One that is only somewhat too long is scanned first, because
 * a threat in it is the better answer.
 */
function overlong(texts: readonly string[], { entries, limit }: TargetFile): MemoryError | undefined {
  const text = texts.find(({ length }) => length > Math.max(SCANNED_UNITS, 16 * limit));
  if (text === undefined) return undefined;
  const message = `The text has ${groupThousands(codePointLength(text))} characters, and the whole file may have ${groupThousands(limit)}. Nothing was changed. Keep the facts in it as short entries.`;
  const { used: usedChars } = measure(entries, limit);
  return memoryError({ kind: "over_limit", message, currentEntries: entries, usedChars, charLimit: limit });
}

/** Why a new text may not become an entry; undefined when it may. */
export function newTextProblem(content: string, options: ScanOptions): MemoryError | undefined {
  if (content.includes("\0")) return invalid("it holds a NUL character. Send plain text.");
  const problem = problemComingBack(content, options);
  if (problem) return problem;
  const findings = secondGate(content, options);
  if (findings.length === 0) return undefined;
  return memoryError({ kind: "blocked", message: gateMessage(findings), ids: findingIds(findings) });
}

/**
 * Why a text that the file held earlier may not come back. The second gate and the NUL check apply to new texts only: neither
 * hides an entry that is in a file, so neither keeps it from coming back.
 */
export function problemComingBack(text: string, { allow }: ScanOptions): MemoryError | undefined {
  if (!text.isWellFormed()) {
    return invalid(
      "it holds half of a surrogate pair, which cannot be stored as UTF-8. Send complete characters.",
    );
  }
  if (breaksFormat(text)) {
    return invalid(
      "it holds a line with only '§', which separates entries in the file. Add each part as its own entry.",
    );
  }
  const findings = scanThreats(text, "strict", { allow });
  const first = findings[0];
  if (!first) return undefined;
  return memoryError({ kind: "blocked", message: threatMessage(first), ids: findings.map(({ id }) => id) });
}

/** The text as it will be read back: Python's text mode turns every line end into LF. */
export function cleanText(text: string): string {
  return pyStrip(normalizeNewlines(text));
}

function invalid(why: string): MemoryError {
  return memoryError({ kind: "invalid_content", message: `This text cannot be an entry: ${why}` });
}

// ---- In a system prompt. Exact to the byte: prompt caches depend on it ----

const RULE = "═".repeat(46);

const HEADERS: Record<MemoryTarget, string> = {
  memory: "MEMORY (your personal notes)",
  user: "USER PROFILE (who the user is)",
};

/** An entry that is kept out of the prompt, by its index, and the findings that are the reason. */
export type BlockedEntry = { readonly index: number; readonly ids: readonly string[] };

/** The block that shows one target; undefined without entries. `blocked` lists the entries that a placeholder stands for. */
export type Snapshot = { readonly block: string | undefined; readonly blocked: readonly BlockedEntry[] };

export function buildSnapshot(
  target: MemoryTarget,
  entries: readonly string[],
  limit: number,
  options: ScanOptions,
): Snapshot {
  const blocked: BlockedEntry[] = [];
  const safe = entries.map((entry, index) => {
    const ids = scanThreats(entry, "strict", options).map(({ id }) => id);
    if (ids.length === 0) return entry;
    blocked.push({ index, ids });
    return placeholder(target, ids);
  });
  if (entries.length === 0) return { block: undefined, blocked };
  const header = `${HEADERS[target]} [${formatUsage(measure(safe, limit))}]`;
  return { block: [RULE, header, RULE, formatEntries(safe)].join("\n"), blocked };
}

/** Replaces an entry that must not reach the prompt. Matches no threat pattern itself. */
export function placeholder(target: MemoryTarget, ids: readonly string[]): string {
  return (
    `[BLOCKED: ${fileNameOf(target)} entry contained threat pattern(s): ${ids.join(", ")}. ` +
    "It was left out of this prompt. 'hermes memory show' displays it, and the memory tool's 'remove' deletes it.]"
  );
}
