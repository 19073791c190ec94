// Importing a fixture into a real store, and what the store then holds, as plain data that can be compared.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSessionStore, type SessionStore } from "@hermes-memory/core/internal/sessions";
import {
  DEFAULT_PREPARE,
  type Filters,
  type ImportReport,
  importTranscripts,
  type PrepareOptions,
  type SourceReport,
  storeTarget,
  type TranscriptReader,
} from "../../src/import/index.ts";

export type ImportOptions = Filters & {
  readonly path?: string | undefined;
  readonly prepare?: Partial<PrepareOptions>;
};

/** A folder that is removed at the end of the block. */
export async function temporaryFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), "hermes-import-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

export async function importInto(
  store: SessionStore,
  reader: TranscriptReader,
  home: string,
  { path, prepare = {}, ...filters }: ImportOptions = {},
): Promise<SourceReport> {
  const report: ImportReport = await importTranscripts(
    [{ reader, paths: path === undefined ? undefined : [path] }],
    filters,
    {
      target: storeTarget(store),
      place: { home, env: {}, platform: "linux", cwd: home },
      signal: new AbortController().signal,
      now: () => Date.parse("2026-10-01T00:00:00Z"),
      prepare: { ...DEFAULT_PREPARE, ...prepare },
    },
  );
  const [only] = report.sources;
  if (only === undefined) throw new Error("the import reported no source");
  return only;
}

/** Every session with its messages, without row numbers, which depend on the order of writing. */
export async function contentsOf(store: SessionStore): Promise<unknown[]> {
  const all: { readonly id: string }[] = [];
  for await (const session of store.exportEach({ includeInactive: true })) {
    const { messages, model_config, last_active: _, ...row } = session;
    const places = await store.listProvenance(messages.map(({ id }) => id));
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

export async function openEmptyStore(folder: string, name = "state.db"): Promise<SessionStore> {
  return openSessionStore({ path: join(folder, name) });
}
