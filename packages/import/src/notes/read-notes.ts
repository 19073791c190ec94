// Reads files of notes: checks that a file can be read, finds out its format, and returns its notes. Writes nothing.
import { isUtf8 } from "node:buffer";
import { existsSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { describeCause, err, errnoCode, ok, type Result } from "@hermes-memory/core/internal/lib";
import { sampleOf } from "../transcripts/find-reader.ts";
import { isDatabaseWith } from "../transcripts/kit/database-sessions.ts";
import { openSource } from "../transcripts/kit/sqlite-source.ts";
import type { Place } from "../transcripts/reader.ts";
import { agentsMd, claudeMd, geminiMd, markdown, memoryFiles } from "./markdown.ts";
import { claudeMem, letta, mem0 } from "./memory-tools.ts";
import type { FoundNotes, NoteFormat } from "./note-format.ts";

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
    const text = await textIn(path);
    const file = text === undefined ? undefined : { path, text };
    using db = file === undefined ? await openSource(path, options) : undefined;
    const isOf = ({ text: one, database }: NoteFormat): boolean =>
      file === undefined
        ? (database?.tables.some((table) => db?.hasTable(table)) ?? false)
        : (one?.recognises(file) ?? false);
    const format = options.format ?? NOTE_FORMATS.find(isOf);
    if (format === undefined)
      return failed(
        "unknown-format",
        file === undefined
          ? "it is a SQLite database, but none of claude-mem or mem0"
          : "its format is not known; --from markdown reads it as plain notes",
      );
    if (format.isExperimental && !options.isExperimental)
      return failed("experimental", `reading a ${format.title} is experimental; --experimental allows it`);
    const { database } = format;
    const found =
      file === undefined ? database && db?.snapshot(() => database.read(db)) : format.text?.read(file);
    if (found === undefined) throw new Error(`${file ? "a text" : "a database"} is no ${format.title}`);
    return ok({ path, format, ...found });
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

/** Undefined for a database. */
async function textIn(path: string): Promise<string | undefined> {
  // Before it is opened: opening a pipe would wait for a writer.
  const found = await stat(path);
  if (found.isDirectory()) throw new Error("it is a folder; name the files in it");
  if (!found.isFile()) throw new Error("it is not a regular file");
  if (isDatabaseWith((await sampleOf(path)).head, /^/)) return undefined;
  if (found.size > MAX_TEXT_BYTES)
    throw new Error(
      `it has ${Math.ceil(found.size / MIB)} MiB; notes may have at most ${MAX_TEXT_BYTES / MIB} MiB`,
    );
  const content = await readFile(path);
  if (content.includes(0)) throw new Error("it is a binary file, not text");
  if (!isUtf8(content)) throw new Error("it is not valid UTF-8 text; save it as UTF-8");
  return content.toString("utf8");
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
