// The import as a library: conversations of other agents on this machine, read into a home.
import { homedir } from "node:os";
import { sessionDatabasePath } from "@hermes-memory/core/internal/home";
import { HermesError, holdFileLock } from "@hermes-memory/core/internal/lib";
import { openHome } from "@hermes-memory/core/internal/memory";
import {
  type ImportProgress,
  type ImportReport,
  importTranscripts as importWanted,
} from "./transcripts/import-transcripts.ts";
import { DEFAULT_PREPARE } from "./transcripts/prepare.ts";
import { READERS, readerNamed } from "./transcripts/readers.ts";
import { dryTarget, storeTarget } from "./transcripts/target.ts";

export type { ImportProgress, ImportReport, SourceReport } from "./transcripts/import-transcripts.ts";

/** What to import, and into which home. */
export type ImportOptions = {
  readonly home: string;
  /** Names of sources, such as `claude-code`. Without it: every product that keeps its conversations on this machine. */
  readonly from?: readonly string[];
  /** Files or folders to read instead of the products' own places; needs `from`. */
  readonly paths?: readonly string[];
  /** Reads and counts, and stores nothing. */
  readonly dryRun?: boolean;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: ImportProgress) => void;
};

/** The names that `from` knows, each with the product's name. */
export const SOURCES: readonly { readonly source: string; readonly title: string }[] = READERS.map(
  ({ source, title }) => ({ source, title }),
);

/**
 * Stores conversations of other agents as sessions. What is there already is not stored again. Throws `HermesError`: for a source that
 * does not exist (`unknown-source`), and while another import into the home runs (`import-running`).
 */
export async function importTranscripts(options: ImportOptions): Promise<ImportReport> {
  const { home, from, paths, dryRun = false, signal = new AbortController().signal, onProgress } = options;
  await using memory = openHome({ home });
  const store = dryRun
    ? await memory.administrator.sessions({ mode: "read" })
    : await memory.administrator.sessions({ mode: "write", create: true });
  using _lock = dryRun ? undefined : importLock(home);
  return await importWanted(
    wantedReaders(from).map((reader) => ({ reader, paths })),
    {},
    {
      target: dryRun || store === undefined ? dryTarget(store) : storeTarget(store),
      place: { home: homedir(), env: process.env, platform: process.platform, cwd: process.cwd() },
      signal,
      now: Date.now,
      prepare: DEFAULT_PREPARE,
      onProgress,
    },
  );
}

function wantedReaders(from: readonly string[] | undefined): (typeof READERS)[number][] {
  if (from === undefined)
    return READERS.filter(({ isExperimental, isMessenger }) => !isExperimental && !isMessenger);
  return from.map((name) => {
    const reader = readerNamed(name);
    if (reader !== undefined) return reader;
    throw new HermesError("unknown-source", `There is no source '${name}' to import from.`, {
      hint: `The names are ${SOURCES.map(({ source }) => source).join(", ")}.`,
    });
  });
}

/** Two importers would read the same files and wait for each other at every write. */
function importLock(home: string): Disposable {
  const held = holdFileLock(`${sessionDatabasePath(home)}.import.lock`);
  if (held.ok) return held.value;
  throw new HermesError("import-running", "Another import into this home is running.", {
    hint: "Wait until it ends, then import again.",
  });
}
