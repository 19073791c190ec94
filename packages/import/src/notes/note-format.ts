// The contract of a format of notes: which files it reads, and the entries it finds in one.
import type { MemoryTarget } from "@hermes-memory/core/internal/curated";
import type { SourceDatabase } from "../transcripts/kit/sqlite-source.ts";
import type { Place } from "../transcripts/reader.ts";

export type Note = {
  readonly text: string;
  /** The file that the note belongs to, where the format says so. */
  readonly target?: MemoryTarget;
  /** Where it was found, for the user: `CLAUDE.md:12`, `observation 7`. */
  readonly place?: string;
  /** It was in the archive of the memory, and goes there again. */
  readonly isArchived?: boolean;
  /** When space is short, notes with a higher number come first; 0 by default. */
  readonly priority?: number;
};

export type FoundNotes = {
  readonly notes: readonly Note[];
  /** Told to the user: files that are named but not read, kinds of records that were left out. */
  readonly remarks: readonly string[];
};

export type TextFile = { readonly path: string; readonly text: string };

export type NoteFormat = {
  /** For `--from`, and in the journal as `import:<name>`. */
  readonly name: string;
  readonly title: string;
  /** The format is known from few samples, so `--experimental` is needed. */
  readonly isExperimental?: true;
  /** Files that the product keeps on this machine; those that exist are read when the user names the format but no file. */
  readonly places: (place: Place) => readonly string[];
  /** Reading throws an Error with a reason if the whole file cannot be understood. */
  readonly text?: {
    /** By the name and the content. */
    readonly recognises: (file: TextFile) => boolean;
    readonly read: (file: TextFile) => FoundNotes;
  };
  readonly database?: {
    /** It is recognised by any of these. */
    readonly tables: readonly string[];
    readonly read: (db: SourceDatabase) => FoundNotes;
  };
};
