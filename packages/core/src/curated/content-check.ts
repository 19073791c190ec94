// What a new text must pass before the file is even looked at.
import { err, hasLoneSurrogate, normalizeNewlines, ok, pyStrip, type Result } from "../lib/index.ts";
import {
  findingIds,
  gateMessage,
  SECRET_THREAT_IDS,
  scanThreats,
  secondGate,
  threatMessage,
} from "../security/index.ts";
import { breaksFormat } from "./format.ts";
import type { MemoryError, MemoryOp } from "./types.ts";

export type ScanOptions = {
  /** Ids that are let through. */
  readonly allow: readonly string[];
  /** The user has said that secrets may be stored. */
  readonly allowSecrets?: boolean;
};

/** What a store scans with. Somebody who allows secrets also allows the threat pattern that is about them. */
export function scanOptions(allow: readonly string[] = [], allowSecrets = false): ScanOptions {
  return { allow: allowSecrets ? [...allow, ...SECRET_THREAT_IDS] : allow, allowSecrets };
}

/** Strips the arguments and refuses what may not be stored. The order of the checks is part of the tool's interface. */
export function checkOp(op: MemoryOp, options: ScanOptions): Result<MemoryOp, MemoryError> {
  const malformed = shapeProblem(op);
  if (malformed) return err(malformed);
  switch (op.action) {
    case "add": {
      const content = cleanText(op.content);
      if (content === "") return err({ kind: "empty", message: "Content cannot be empty." });
      const problem = newTextProblem(content, options);
      return problem ? err(problem) : ok({ action: "add", content });
    }
    case "replace": {
      const oldText = cleanText(op.oldText);
      const content = cleanText(op.content);
      if (oldText === "") return err({ kind: "empty", message: "old_text cannot be empty." });
      if (content === "") {
        return err({
          kind: "empty",
          message: "new_content cannot be empty. Use 'remove' to delete entries.",
        });
      }
      const problem = newTextProblem(content, options);
      return problem ? err(problem) : ok({ ...op, oldText, content });
    }
    case "remove": {
      const oldText = cleanText(op.oldText);
      if (oldText === "") return err({ kind: "empty", message: "old_text cannot be empty." });
      return ok({ ...op, oldText });
    }
    default:
      return op satisfies never;
  }
}

const NEEDED: Readonly<Record<string, readonly string[]>> = {
  add: ["content"],
  replace: ["oldText", "content"],
  remove: ["oldText"],
};

/** Callers without types: an action that does not exist, an argument that is missing or is no text. */
function shapeProblem(op: MemoryOp | null | undefined): MemoryError | undefined {
  const given: Record<string, unknown> = { ...op };
  const needed = NEEDED[String(given.action)];
  if (!needed)
    return {
      kind: "bad_action",
      message: `Unknown action '${String(given.action)}'. Use: add, replace, remove`,
    };
  for (const name of needed) {
    if (given[name] === undefined || given[name] === null)
      return { kind: "missing_arg", message: `${name} is required for '${given.action}' action.` };
    if (typeof given[name] !== "string")
      return {
        kind: "invalid_content",
        message: `${name} must be a string, but is a ${typeof given[name]}.`,
      };
  }
  return undefined;
}

/** Why a new text may not become an entry, or nothing: `problemWith`, and then the second gate. */
export function newTextProblem(content: string, options: ScanOptions): MemoryError | undefined {
  const problem = problemWith(content, options);
  if (problem) return problem;
  const findings = secondGate(content, options);
  if (findings.length === 0) return undefined;
  return { kind: "blocked", message: gateMessage(findings), ids: findingIds(findings) };
}

/**
 * Why a text that the file held once may not come back. The second gate does not hide what is in a file, so it does not keep it
 * from coming back. A NUL that somebody wrote there by hand may, or it would be lost.
 */
export function problemComingBack(text: string, options: ScanOptions): MemoryError | undefined {
  return structureProblem(text) ?? threatIn(text, options);
}

/** Why this text may not become an entry, or nothing. */
function problemWith(content: string, options: ScanOptions): MemoryError | undefined {
  if (content.includes("\0")) return invalid("it holds a NUL character. Send plain text.");
  return structureProblem(content) ?? threatIn(content, options);
}

function structureProblem(content: string): MemoryError | undefined {
  if (hasLoneSurrogate(content)) {
    return invalid(
      "it holds half of a surrogate pair, which cannot be stored as UTF-8. Send complete characters.",
    );
  }
  if (breaksFormat(content)) {
    return invalid(
      "it holds a line with only '§', which separates entries in the file. Add each part as its own entry.",
    );
  }
  return undefined;
}

function threatIn(content: string, { allow }: ScanOptions): MemoryError | undefined {
  const findings = scanThreats(content, "strict", { allow });
  const first = findings[0];
  if (!first) return undefined;
  return { kind: "blocked", message: threatMessage(first), ids: findings.map(({ id }) => id) };
}

/** As the text will be read back: Python's text mode turns every line end into LF. */
export function cleanText(text: string): string {
  return pyStrip(normalizeNewlines(text));
}

function invalid(why: string): MemoryError {
  return { kind: "invalid_content", message: `This text cannot be an entry: ${why}` };
}
