// The text of one file that may become part of a prompt: reading it safely, then scanning and cutting it.
import { isUtf8 } from "node:buffer";
import { closeSync, constants, fstatSync, openSync, readSync, realpathSync } from "node:fs";
import {
  codePointLength,
  describeCause,
  errnoCode,
  groupThousands,
  isWithin,
  normalizeNewlines,
  pyStrip,
  takeCodePoints,
} from "../lib/index.ts";
import { scanThreats } from "../security/index.ts";
import { PROJECT_CONTEXT } from "./guidance.ts";

// Reading. Every problem is an outcome, not an exception: the prompt is built without the file and the user learns why.

type TextFile =
  | { readonly kind: "text"; readonly text: string; readonly bytes: number }
  | { readonly kind: "missing" }
  /** `reason` completes a sentence after "because". */
  | { readonly kind: "unusable"; readonly reason: string };

export type ReadRules = {
  /** A link that leads out of this directory is not followed, because the author of the project chose its target. */
  readonly within?: string;
  /** Files of other users are not read, except those of root. */
  readonly ownUid?: number;
  /** Default `MAX_FILE_BYTES`. */
  readonly maxBytes?: number;
};

/** Far more than any prompt takes, and scanned within a second. */
export const MAX_FILE_BYTES = 4 * 1024 * 1024;

// Without O_NONBLOCK, opening a named pipe would block forever. Windows has no such flag.
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

export function readTextFile(path: string, rules: ReadRules = {}): TextFile {
  try {
    const real = realpathSync(path);
    if (rules.within !== undefined && !isWithin(realpathSync(rules.within), real))
      return unusable("it is a link that leads out of the project");
    const fd = openSync(real, OPEN_FLAGS);
    try {
      return readOpened(fd, rules);
    } finally {
      closeSync(fd);
    }
  } catch (cause) {
    return isMissing(cause) ? { kind: "missing" } : unusable(describeCause(cause));
  }
}

/** True when there is no file; other errors are reported. */
export function isMissing(cause: unknown): boolean {
  const code = errnoCode(cause);
  return code === "ENOENT" || code === "ENOTDIR";
}

function readOpened(fd: number, rules: ReadRules): TextFile {
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
  // A byte order mark stays in the text, because the scanner has to see it.
  return { kind: "text", text: normalizeNewlines(bytes.toString("utf8")), bytes: bytes.length };
}

/** Does not rely on the file size: some file systems report 0, and a file may grow while it is read. */
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

function unusable(reason: string): TextFile {
  return { kind: "unusable", reason };
}

// Scanning and cutting. Pure.

type ScreenedText = {
  readonly text: string;
  /** Threat patterns found. If there are any, `text` is a note that replaces the whole file. */
  readonly ids: readonly string[];
};

/** The whole file is scanned, including text that will be cut. The note itself matches no pattern. */
export function screenFile(name: string, text: string): ScreenedText {
  const ids = scanThreats(text, "context").map(({ id }) => id);
  if (ids.length === 0) return { text, ids };
  const note = `[BLOCKED: ${name} contained potential prompt injection (${ids.join(", ")}). Content not loaded.]`;
  return { text: note, ids };
}

export type Cut = { readonly head: number; readonly tail: number; readonly total: number };

/** In code points. A text that fits exactly is not cut. */
export function cutMiddle(
  text: string,
  label: string,
  maxChars: number,
): { readonly text: string; readonly cut?: Cut } {
  const total = codePointLength(text);
  if (total <= maxChars) return { text };
  const head = Math.trunc(maxChars * 0.7);
  const tail = Math.trunc(maxChars * 0.2);
  const note = `[...truncated ${label}: kept ${head}+${tail} of ${total} chars. Use file tools to read the full file.]`;
  const end = text.slice(takeCodePoints(text, total - tail).length);
  return { text: `${takeCodePoints(text, head)}\n\n${note}\n\n${end}`, cut: { head, tail, total } };
}

/** Removes the block between two lines of `---` at the top. It stays when it is not closed, or when nothing follows it. */
export function withoutFrontMatter(text: string): string {
  const opened = /^---[ \t]*\n/.exec(text);
  if (opened === null) return text;
  const closing = /^---[ \t]*$/gm;
  closing.lastIndex = opened[0].length;
  const closed = closing.exec(text);
  if (closed === null) return text;
  const body = pyStrip(text.slice(closed.index + closed[0].length));
  return body === "" ? text : body;
}

export function fileSection(name: string, text: string): string {
  return `## ${name}\n\n${text}`;
}

/** "" when there is no section. */
export function projectContext(section: string): string {
  return section === "" ? "" : `# Project Context\n\n${PROJECT_CONTEXT}\n\n${section}`;
}
