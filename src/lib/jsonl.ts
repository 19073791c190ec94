// Files with one JSON value per line, written by appending. A crash can leave half a line at the end; it is skipped when
// reading and closed with a newline before the next append.
import {
  closeSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { errnoCode } from "./errors.ts";

export type JsonLines = { readonly values: readonly unknown[]; readonly damaged: number };

/** A missing file has no lines. Other read errors are thrown. */
export function readJsonLines(path: string): JsonLines {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT") return { values: [], damaged: 0 };
    throw cause;
  }
  return parseJsonLines(text);
}

export function parseJsonLines(text: string): JsonLines {
  const values: unknown[] = [];
  let damaged = 0;
  for (const line of text.split("\n")) {
    if (line === "") continue;
    try {
      values.push(JSON.parse(line));
    } catch {
      damaged += 1;
    }
  }
  return { values, damaged };
}

/** Changes whenever the file grows or is replaced. */
export type FileVersion = string;

export type AppendOptions = {
  /** Waits until the lines are on disk. */
  readonly isDurable?: boolean;
  /** The version after which the file is known to end with a whole line; spares a look at its last byte. */
  readonly knownWhole?: FileVersion | undefined;
};

export type Appended = { readonly version: FileVersion; readonly size: number };

/** Appends to a file, made where it is missing with its directory. Returns what the file is afterwards. */
export function appendJsonLines(
  path: string,
  values: readonly unknown[],
  options: AppendOptions = {},
): Appended {
  const fd = openForAppend(path);
  try {
    return appendToOpen(fd, fstatSync(fd), values, options);
  } finally {
    closeSync(fd);
  }
}

/** The same for a file that is open for reading and appending. One write, so that lines of several processes do not mix. */
export function appendToOpen(
  fd: number,
  { dev, ino, size }: FileState,
  values: readonly unknown[],
  options: AppendOptions = {},
): Appended {
  const lines = values.map((value) => `${JSON.stringify(value)}\n`).join("");
  const isTorn = versionOf({ dev, ino, size }) !== options.knownWhole && endsInsideLine(fd, size);
  const data = Buffer.from(isTorn ? `\n${lines}` : lines, "utf8");
  const written = writeSync(fd, data);
  if (written < data.length)
    throw Object.assign(new Error("ENOSPC: a line was cut short"), { code: "ENOSPC" });
  if (options.isDurable) fsyncSync(fd);
  return { version: versionOf({ dev, ino, size: size + written }), size: size + written };
}

export type FileState = { readonly dev: number; readonly ino: number; readonly size: number };

export function versionOf({ dev, ino, size }: FileState): FileVersion {
  return `${dev}:${ino}:${size}`;
}

function openForAppend(path: string): number {
  try {
    return openSync(path, "a+", 0o600);
  } catch (cause) {
    if (errnoCode(cause) !== "ENOENT") throw cause;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    return openSync(path, "a+", 0o600);
  }
}

function endsInsideLine(fd: number, size: number): boolean {
  if (size === 0) return false;
  const last = Buffer.alloc(1);
  readSync(fd, last, 0, 1, size - 1);
  return last[0] !== 0x0a;
}
