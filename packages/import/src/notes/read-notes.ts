// Reads files of notes: checks that a file can be read, finds out its format, and returns its notes. Writes nothing.
import { isUtf8 } from "node:buffer";
import { existsSync } from "node:fs";
import { readFile as readBytes, stat } from "node:fs/promises";
import { describeCause, err, errnoCode, ok, type Result } from "@hermes-memory/core/internal/lib";
import { sampleOf } from "../transcripts/find-reader.ts";
import { isDatabaseWith } from "../transcripts/kit/database-sessions.ts";
import { openSource } from "../transcripts/kit/sqlite-source.ts";
import type { Place } from "../transcripts/reader.ts";
import { agentsMd, claudeMd, geminiMd, markdown, memoryFiles } from "./markdown.ts";
import { claudeMem, letta, mem0 } from "./memory-tools.ts";
import type { FoundNotes, NoteFile, NoteFormat } from "./note-format.ts";

/** In the order in which they are tried; those that accept any text come last. */
export const NOTE_FORMATS: readonly NoteFormat[] = [
  memoryFiles,
  claudeMd,
  agentsMd,
  geminiMd,
  claudeMem,
  letta,
  mem0,
  markdown,
];

const MIB = 1024 ** 2;
/** A memory file holds some thousand characters. Exports of memory tools are larger, but still read at once. */
const MAX_TEXT_BYTES = 32 * MIB;

export type NoteSource = FoundNotes & { readonly path: string; readonly format: NoteFormat };

export type NoteFailure = {
  readonly kind: "unreadable" | "unknown-format" | "experimental";
  readonly path: string;
  readonly message: string;
};

type ReadOptions = {
  /** Undefined: recognised from the file. */
  readonly format: NoteFormat | undefined;
  readonly isExperimental: boolean;
  readonly signal: AbortSignal;
};

export async function readNotes(
  path: string,
  options: ReadOptions,
): Promise<Result<NoteSource, NoteFailure>> {
  const failed = (kind: NoteFailure["kind"], reason: string) => err({ kind, path, message: reason });
  try {
    const file = await readFile(path);
    const tables = file.kind === "database" ? await tablesOf(path, options.signal) : new Set<string>();
    const format = options.format ?? NOTE_FORMATS.find((each) => each.recognises(file, tables));
    if (format === undefined) return failed("unknown-format", unknownReason(file));
    if (format.isExperimental && !options.isExperimental)
      return failed("experimental", `reading a ${format.title} is experimental; --experimental allows it`);
    return ok({ path, format, ...(await format.read(file, options.signal)) });
  } catch (cause) {
    options.signal.throwIfAborted();
    return failed("unreadable", reasonOf(cause));
  }
}

/** Files of the known products that exist on this machine. */
export function notesHere(
  place: Place,
  formats: readonly NoteFormat[] = NOTE_FORMATS,
): { readonly format: NoteFormat; readonly path: string }[] {
  return formats.flatMap((format) =>
    [...new Set(format.places(place))].filter((path) => existsSync(path)).map((path) => ({ format, path })),
  );
}

async function readFile(path: string): Promise<NoteFile> {
  // Before it is opened: opening a pipe would wait for a writer.
  const found = await stat(path);
  if (found.isDirectory()) throw new Error("it is a folder; name the files in it");
  if (!found.isFile()) throw new Error("it is not a regular file");
  const { head } = await sampleOf(path);
  if (isDatabaseWith(head, /^/)) return { kind: "database", path };
  if (found.size > MAX_TEXT_BYTES)
    throw new Error(
      `it has ${Math.ceil(found.size / MIB)} MiB; notes may have at most ${MAX_TEXT_BYTES / MIB} MiB`,
    );
  const content = await readBytes(path);
  if (content.includes(0)) throw new Error("it is a binary file, not text");
  if (!isUtf8(content)) throw new Error("it is not valid UTF-8 text; save it as UTF-8");
  return { kind: "text", path, text: content.toString("utf8") };
}

async function tablesOf(path: string, signal: AbortSignal): Promise<ReadonlySet<string>> {
  using db = await openSource(path, { signal });
  return new Set(
    db.all("SELECT name FROM sqlite_schema WHERE type = 'table'").map(({ name }) => String(name)),
  );
}

function unknownReason(file: NoteFile): string {
  return file.kind === "database"
    ? "it is a SQLite database, but none of claude-mem or mem0"
    : "its format is not known; --from markdown reads it as plain notes";
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EACCES: "you have no permission to read it",
  EPERM: "you have no permission to read it",
  ELOOP: "its symbolic links form a loop",
  ENOTDIR: "a part of its path is not a folder",
};

function reasonOf(cause: unknown): string {
  return REASONS[errnoCode(cause) ?? ""] ?? describeCause(cause);
}
