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

const PROOF_BYTES = 256;

/**
 * Reads a file of lines again and again, each byte once: a later look takes up where the last one stopped. It starts over
 * when the file was replaced, was cut, or ends inside a line.
 */
export class GrowingLines {
  readonly #path: string;
  #file: { readonly dev: number; readonly ino: number } | undefined;
  #offset = 0;
  /** The last bytes that were read. A new file may get the number of a deleted one, but not these bytes at this place. */
  #proof: Buffer = Buffer.alloc(0);
  #bytesRead = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** Bytes taken from the file so far, by all looks. */
  get bytesRead(): number {
    return this.#bytesRead;
  }

  /** `isRestart`: what earlier looks gave no longer counts; `values` is all there is. */
  next(): JsonLines & { readonly isRestart: boolean } {
    const fd = openToRead(this.#path);
    if (fd === undefined) {
      this.#forget();
      return { values: [], damaged: 0, isRestart: true };
    }
    try {
      const { dev, ino, size } = fstatSync(fd);
      const isRestart = !this.#continues(fd, { dev, ino, size });
      if (isRestart) this.#forget();
      const bytes = readRange(fd, this.#offset, size);
      this.#bytesRead += bytes.length;
      if (bytes.length > 0 && bytes.at(-1) !== 0x0a) {
        // Half a line, or a whole one without its end. Either way the next look has to see it anew.
        const all = this.#offset === 0 ? bytes : readRange(fd, 0, size);
        this.#forget();
        return { ...parseJsonLines(all.toString("utf8")), isRestart: true };
      }
      this.#file = { dev, ino };
      this.#offset += bytes.length;
      if (bytes.length > 0)
        this.#proof = Buffer.concat([this.#proof, bytes.subarray(-PROOF_BYTES)]).subarray(-PROOF_BYTES);
      return { ...parseJsonLines(bytes.toString("utf8")), isRestart };
    } finally {
      closeSync(fd);
    }
  }

  #continues(fd: number, { dev, ino, size }: FileState): boolean {
    if (!this.#file || this.#file.dev !== dev || this.#file.ino !== ino || size < this.#offset) return false;
    return readRange(fd, this.#offset - this.#proof.length, this.#offset).equals(this.#proof);
  }

  #forget(): void {
    this.#file = undefined;
    this.#offset = 0;
    this.#proof = Buffer.alloc(0);
  }
}

function openToRead(path: string): number | undefined {
  try {
    return openSync(path, "r");
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT") return undefined;
    throw cause;
  }
}

function readRange(fd: number, start: number, end: number): Buffer {
  const bytes = Buffer.allocUnsafe(Math.max(0, end - start));
  let length = 0;
  while (length < bytes.length) {
    const count = readSync(fd, bytes, length, bytes.length - length, start + length);
    if (count === 0) break;
    length += count;
  }
  return bytes.subarray(0, length);
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
