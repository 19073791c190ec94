// Settings of a provider that are not secret: the file `<home>/<provider>.json`, in which other programs may have keys too, and reading
// values that users and wizards may have written as text.
import { existsSync, mkdirSync, readFileSync } from "node:fs";
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
  /** The file could be read, but holds no settings: it may be replaced once it was backed up. */
  readonly isReplaceable?: boolean;
};

type SavedSettings = {
  readonly path: string;
  /** Where the file is now that was there before and held no settings. */
  readonly backup?: string;
};

/** Never throws. */
export function readSettings(home: string, fileName: string): Settings {
  const path = join(home, fileName);
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8").replace(/^\ufeff/, ""));
    if (isRecord(value)) return { values: value };
    return noSettings(`${path} holds no JSON object. Its settings are not used.`);
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT") return { values: {} };
    // The message of the JSON parser quotes the text, which may contain an API key.
    if (cause instanceof SyntaxError)
      return noSettings(`${path} cannot be read: it is not valid JSON. Its settings are not used.`);
    return {
      values: {},
      problem: `${path} cannot be read: ${describeCause(cause)}. Its settings are not used.`,
    };
  }
}

function noSettings(problem: string): Settings {
  return { values: {}, problem, isReplaceable: true };
}

/**
 * Sets these keys and keeps all others; undefined removes a key. A file that is no JSON object is kept as `<name>.bak.<unix seconds>`
 * and replaced; one that cannot be read at all is not overwritten.
 */
export function writeSettings(
  home: string,
  fileName: string,
  changes: Readonly<Record<string, unknown>>,
): Result<SavedSettings, string> {
  const path = join(home, fileName);
  const before = readSettings(home, fileName);
  if (before.problem !== undefined && before.isReplaceable !== true)
    return err(`${before.problem} Nothing was saved. Repair the file or move it away.`);
  const values = Object.fromEntries(
    Object.entries({ ...before.values, ...changes }).filter(([, value]) => value !== undefined),
  );
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const backup = before.isReplaceable === true ? backUp(path) : undefined;
    const written = writeFileAtomic(path, `${JSON.stringify(values, null, 2)}\n`, { forceMode: 0o600 });
    return ok({ path: written, ...(backup === undefined ? {} : { backup }) });
  } catch (cause) {
    return err(`${path} cannot be written: ${describeCause(cause)}. Nothing was saved.`);
  }
}

function backUp(path: string): string {
  let seconds = Math.floor(Date.now() / 1000);
  while (existsSync(`${path}.bak.${seconds}`)) seconds += 1;
  return writeFileAtomic(`${path}.bak.${seconds}`, readFileSync(path), { forceMode: 0o600 });
}

// ---- Values: numbers and booleans may be text ----

const TRUE_WORDS = ["true", "1", "yes", "y", "on"];
const FALSE_WORDS = ["false", "0", "no", "n", "off"];

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
