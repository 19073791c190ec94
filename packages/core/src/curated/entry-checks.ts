// Which texts may become entries, and which stored entries a system prompt may show. Both ask the threat scanner.
import {
  codePointLength,
  err,
  groupThousands,
  hasLoneSurrogate,
  normalizeNewlines,
  ok,
  pyStrip,
  type Result,
} from "../lib/index.ts";
import {
  findingIds,
  gateMessage,
  SECRET_THREAT_IDS,
  scanThreats,
  secondGate,
  threatMessage,
} from "../security/index.ts";
import { breaksFormat, fileNameOf, formatEntries, formatUsage, measure } from "./entries.ts";
import { type MemoryError, type MemoryOp, type MemoryTarget, memoryError, refused } from "./types.ts";

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
  const malformed = malformedOp(op) ?? overlong(op, file);
  if (malformed) return err(malformed);
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

const NEEDED: Readonly<Record<string, readonly string[]>> = {
  add: ["content"],
  replace: ["oldText", "content"],
  remove: ["oldText"],
};

/** For callers without types: an unknown action, or an argument that is missing or no string. */
function malformedOp(op: MemoryOp | null | undefined): MemoryError | undefined {
  const given: Record<string, unknown> = { ...op };
  const needed = NEEDED[String(given.action)];
  if (!needed)
    return memoryError({
      kind: "bad_action",
      message: `Unknown action '${String(given.action)}'. Use: add, replace, remove`,
    });
  for (const name of needed) {
    if (given[name] === undefined || given[name] === null)
      return memoryError({
        kind: "missing_arg",
        message: `${name} is required for '${given.action}' action.`,
      });
    if (typeof given[name] !== "string")
      return memoryError({
        kind: "invalid_content",
        message: `${name} must be a string, but is a ${typeof given[name]}.`,
      });
  }
  return undefined;
}

/** In UTF-16 units. The scan of so much text takes some milliseconds, that of 30 MB takes seconds. */
const SCANNED_UNITS = 65_536;

/**
 * A text far longer than its file may be is refused before it is scanned. One that is only somewhat too long is scanned first, because
 * a threat in it is the better answer.
 */
function overlong(op: MemoryOp, { entries, limit }: TargetFile): MemoryError | undefined {
  const text = [op.action === "add" ? "" : op.oldText, op.action === "remove" ? "" : op.content].find(
    ({ length }) => length > Math.max(SCANNED_UNITS, 16 * limit),
  );
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
  if (hasLoneSurrogate(text)) {
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
