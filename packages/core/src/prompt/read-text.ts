// Reads one file that may become part of a prompt. Whatever is wrong with it is an outcome: a prompt is built without
// the file, and the user learns why.
import { isUtf8 } from "node:buffer";
import { closeSync, constants, fstatSync, openSync, readSync, realpathSync } from "node:fs";
import { isAbsolute, relative, sep } from "node:path";
import { describeCause, errnoCode, groupThousands, normalizeNewlines } from "../lib/index.ts";

export type TextFile =
  | { readonly kind: "text"; readonly text: string; readonly bytes: number }
  | { readonly kind: "missing" }
  /** `reason` goes on after "because". */
  | { readonly kind: "unusable"; readonly reason: string };

export type ReadRules = {
  /** A link that leads out of this directory is not followed: who wrote the project chose where it leads. */
  readonly within?: string;
  /** Files of other people are left alone, except those of the administrator. */
  readonly ownUid?: number | undefined;
  /** Default `MAX_FILE_BYTES`. */
  readonly maxBytes?: number;
};

/** Far beyond what any prompt takes, and scanned within a second. */
export const MAX_FILE_BYTES = 4 * 1024 * 1024;

// A pipe in the file's place would otherwise be waited for without end. Windows has no such flag.
const WITHOUT_WAITING = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

export function readTextFile(path: string, rules: ReadRules = {}): TextFile {
  try {
    const real = realpathSync(path);
    if (rules.within !== undefined && !isInside(real, realpathSync(rules.within)))
      return unusable("it is a link that leads out of the project");
    const fd = openSync(real, WITHOUT_WAITING);
    try {
      return contentOf(fd, rules);
    } finally {
      closeSync(fd);
    }
  } catch (cause) {
    return isAbsence(cause) ? { kind: "missing" } : unusable(describeCause(cause));
  }
}

/** Nothing is there; every other failure is worth a word. */
export function isAbsence(cause: unknown): boolean {
  const code = errnoCode(cause);
  return code === "ENOENT" || code === "ENOTDIR";
}

function contentOf(fd: number, rules: ReadRules): TextFile {
  const stats = fstatSync(fd);
  if (stats.isDirectory()) return unusable("it is a directory");
  if (!stats.isFile()) return unusable("it is not a regular file");
  if (rules.ownUid !== undefined && stats.uid !== rules.ownUid && stats.uid !== 0)
    return unusable("it belongs to another user of this machine");
  const most = rules.maxBytes ?? MAX_FILE_BYTES;
  const bytes = readUpTo(fd, most + 1);
  if (bytes.length > most) return unusable(`it has more than ${groupThousands(most)} bytes`);
  if (!isUtf8(bytes)) return unusable("it is not valid UTF-8");
  if (bytes.includes(0)) return unusable("it is not a text file");
  // A byte order mark stays in the text: the scanner has to see it.
  return { kind: "text", text: normalizeNewlines(bytes.toString("utf8")), bytes: bytes.length };
}

/** Not by the size the file system tells: some tell none, and a file may grow meanwhile. */
function readUpTo(fd: number, most: number): Buffer {
  const chunks: Buffer[] = [];
  let length = 0;
  while (length < most) {
    const chunk = Buffer.allocUnsafe(Math.min(65_536, most - length));
    const count = readSync(fd, chunk, 0, chunk.length, null);
    if (count === 0) break;
    chunks.push(chunk.subarray(0, count));
    length += count;
  }
  return Buffer.concat(chunks);
}

function isInside(path: string, directory: string): boolean {
  const way = relative(directory, path);
  return way !== "" && way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

function unusable(reason: string): TextFile {
  return { kind: "unusable", reason };
}
