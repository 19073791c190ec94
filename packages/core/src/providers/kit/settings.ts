// Settings of a provider that are not secret: the file `<home>/<provider>.json`, in which other programs may have keys too, and reading
// values that users and wizards may have written as text.
import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  describeCause,
  err,
  errnoCode,
  isRecord,
  ok,
  type Result,
  writeFileAtomic,
} from "../../lib/index.ts";

type Settings = {
  readonly values: Readonly<Record<string, unknown>>;
  /** Why the file could not be used, in one sentence; the values are empty then. A missing file is not a problem. */
  readonly problem?: string;
};

/** Never throws. */
export function readSettings(home: string, fileName: string): Settings {
  const path = join(home, fileName);
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8").replace(/^\ufeff/, ""));
    if (isRecord(value)) return { values: value };
    return { values: {}, problem: `${path} holds no JSON object. Its settings are not used.` };
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT") return { values: {} };
    // The message of the JSON parser quotes the text, which may contain an API key.
    const reason = cause instanceof SyntaxError ? "it is not valid JSON" : describeCause(cause);
    return { values: {}, problem: `${path} cannot be read: ${reason}. Its settings are not used.` };
  }
}

/** Sets these keys and keeps all others; undefined removes a key. An unreadable file is not overwritten. */
export function writeSettings(
  home: string,
  fileName: string,
  changes: Readonly<Record<string, unknown>>,
): Result<string, string> {
  const path = join(home, fileName);
  const before = readSettings(home, fileName);
  if (before.problem !== undefined)
    return err(`${before.problem} Nothing was saved. Repair the file or move it away.`);
  const values = Object.fromEntries(
    Object.entries({ ...before.values, ...changes }).filter(([, value]) => value !== undefined),
  );
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    return ok(writeFileAtomic(path, `${JSON.stringify(values, null, 2)}\n`, { forceMode: 0o600 }));
  } catch (cause) {
    return err(`${path} cannot be written: ${describeCause(cause)}. Nothing was saved.`);
  }
}

// ---- Values: numbers and booleans may be text ----

const TRUE_WORDS = ["true", "1", "yes", "on"];
const FALSE_WORDS = ["false", "0", "no", "off"];

export function readBoolean(value: unknown, standard: boolean): boolean {
  if (typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isNaN(value) ? standard : value !== 0;
  const word = typeof value === "string" ? value.trim().toLowerCase() : "";
  if (TRUE_WORDS.includes(word)) return true;
  return FALSE_WORDS.includes(word) ? false : standard;
}

/** Limited to the bounds; `standard` when it is not a number. */
export function readNumber(
  value: unknown,
  standard: number,
  bounds: { readonly min: number; readonly max: number },
): number {
  const text = typeof value === "string" ? value.trim() : value;
  const number = typeof text === "string" && text !== "" ? Number(text) : text;
  if (typeof number !== "number" || !Number.isFinite(number)) return standard;
  return Math.min(bounds.max, Math.max(bounds.min, number));
}

export function readText(value: unknown, standard: string): string {
  if (typeof value === "string") return value.trim() === "" ? standard : value.trim();
  return typeof value === "number" || typeof value === "boolean" ? String(value) : standard;
}
