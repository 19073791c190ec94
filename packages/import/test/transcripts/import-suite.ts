// Importing a fixture into a real store, and what the store then holds, as plain data that can be compared.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type HomeStore, openSessionStore } from "@hermes-memory/core/internal/sessions";
import {
  DEFAULT_PREPARE,
  type Filters,
  type ImportReport,
  importTranscripts,
  type PrepareOptions,
  type SourceReport,
  storeTarget,
  type TranscriptReader,
} from "../../src/internal.ts";
import type { ImportTarget } from "../../src/transcripts/target.ts";

export type ImportOptions = Filters & {
  readonly path?: string | undefined;
  readonly prepare?: Partial<PrepareOptions>;
  /** Instead of the store itself. */
  readonly target?: ImportTarget;
  readonly signal?: AbortSignal;
  readonly now?: () => number;
};

/** A folder that is removed at the end of the block. */
export async function temporaryFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), "hermes-import-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

export async function importInto(
  store: HomeStore,
  reader: TranscriptReader,
  home: string,
  {
    path,
    prepare = {},
    target = storeTarget(store),
    signal = new AbortController().signal,
    now = () => Date.parse("2026-10-01T00:00:00Z"),
    ...filters
  }: ImportOptions = {},
): Promise<SourceReport> {
  const report: ImportReport = await importTranscripts(
    [{ reader, paths: path === undefined ? undefined : [path] }],
    filters,
    {
      target,
      place: { home, env: {}, platform: "linux", cwd: home },
      signal,
      now,
      prepare: { ...DEFAULT_PREPARE, ...prepare },
    },
  );
  const [only] = report.sources;
  if (only === undefined) throw new Error("the import reported no source");
  return only;
}

/** Writes to the store until `most` writes are done, then ends the import there, as a kill would. Counts the writes. */
export function cutOff(store: HomeStore, most: number) {
  const stop = new AbortController();
  const cut = { writes: 0, signal: stop.signal };
  const target = storeTarget(store);
  const counted =
    <A extends unknown[], R>(write: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      if (cut.writes >= most) {
        stop.abort();
        throw new Error("cut off");
      }
      cut.writes += 1;
      return write(...args);
    };
  return Object.assign(cut, {
    target: {
      ...target,
      writeTranscript: counted(target.writeTranscript),
      setMeta: counted(target.setMeta),
      linkTranscripts: counted(target.linkTranscripts),
      discard: counted(target.discard),
    },
  });
}

/** Every session with its messages, without row numbers, which depend on the order of writing. */
export async function contentsOf(store: HomeStore): Promise<unknown[]> {
  const all: { readonly id: string }[] = [];
  for await (const session of store.exportEach({ includeInactive: true })) {
    const { messages, model_config, last_active: _, ...row } = session;
    const places = await store.transcripts.listProvenance(messages.map(({ id }) => id));
    const config = JSON.parse(model_config ?? "{}");
    all.push({
      ...row,
      model_config: config,
      messages: messages.map(({ id, ...message }) => ({
        ...message,
        place: places.find(({ messageId }) => messageId === id) && {
          ...places.find(({ messageId }) => messageId === id),
          messageId: undefined,
        },
      })),
    } as { readonly id: string });
  }
  return all.sort((a, b) => (a.id < b.id ? -1 : 1));
}

export async function openEmptyStore(folder: string, name = "state.db"): Promise<HomeStore> {
  return openSessionStore({ path: join(folder, name) });
}
