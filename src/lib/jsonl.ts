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

/** Appends in one write, so that lines of several processes do not mix. Returns what the file is afterwards. */
export function appendJsonLines(
  path: string,
  values: readonly unknown[],
  options: AppendOptions = {},
): { version: FileVersion; size: number } {
  const fd = openForAppend(path);
  try {
    const stats = fstatSync(fd);
    const lines = values.map((value) => `${JSON.stringify(value)}\n`).join("");
    const isTorn = versionOf(stats) !== options.knownWhole && endsInsideLine(fd, stats.size);
    const data = Buffer.from(isTorn ? `\n${lines}` : lines);
    const written = writeSync(fd, data);
    if (written < data.length)
      throw Object.assign(new Error(`ENOSPC: short write to ${path}`), { code: "ENOSPC" });
    if (options.isDurable) fsyncSync(fd);
    const size = stats.size + data.length;
    return { version: versionOf({ dev: stats.dev, ino: stats.ino, size }), size };
  } finally {
    closeSync(fd);
  }
}

export function versionOf({ dev, ino, size }: { dev: number; ino: number; size: number }): FileVersion {
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
