// Shared by the parts of the contract: the harness that a backend provides, a manual clock, and short helpers.
import type { Clock } from "../../src/lib/index.ts";
import type { NewMessage } from "../../src/message/index.ts";
import type { ExportedSession, MessageRow, SessionRow } from "../../src/sessions/rows.ts";
import type { SearchOptions } from "../../src/sessions/search/types.ts";
import type { HomeStore, NewSession, SessionStore } from "../../src/sessions/store.ts";

/** How the tests open the store under test. */
export type Harness = {
  /** A new, empty store each time, removed after the test. */
  open(options?: { clock?: Clock }): Promise<HomeStore>;
  /** Another handle on the same data; the first one may be open or closed. */
  reopen?(store: HomeStore): Promise<HomeStore>;
};

export const NOW = 1_770_000_000;
export const HOUR = 3600;
export const DAY = 24 * HOUR;

/** A clock that stands still until it is moved. In seconds, like the times in the rows. */
export class ManualClock implements Clock {
  #seconds: number;

  constructor(seconds = NOW) {
    this.#seconds = seconds;
  }

  now(): Date {
    return new Date(this.#seconds * 1000);
  }

  get seconds(): number {
    return this.#seconds;
  }

  set(seconds: number): void {
    this.#seconds = seconds;
  }

  advance(seconds: number): void {
    this.#seconds += seconds;
  }
}

/** A message that throws when it is read: storing it fails in the middle of the work. */
export const UNREADABLE: NewMessage = {
  role: "user",
  get content(): unknown {
    throw new Error("this content cannot be read");
  },
};

export async function expectCode(promise: Promise<unknown>, code: string): Promise<void> {
  const outcome = await promise.then(
    () => "no failure",
    (cause: unknown) => cause,
  );
  const { name, code: found } = Object(outcome) as { readonly name?: unknown; readonly code?: unknown };
  if (name !== "HermesError" || found !== code)
    throw new Error(`expected a HermesError with the code '${code}', got: ${String(outcome)}`, {
      cause: outcome,
    });
}

/** The store with sessions of these ids. */
export async function withSessions<S extends SessionStore>(
  opening: Promise<S>,
  ...ids: readonly string[]
): Promise<S> {
  const store = await opening;
  for (const id of ids) await store.createSession(id, { source: "cli" });
  return store;
}

/** The row, which must exist. */
export async function row(store: SessionStore, id: string): Promise<SessionRow> {
  const found = await store.getSession(id);
  if (found === null) throw new Error(`expected session '${id}' to exist`);
  return found;
}

export async function configOf(store: SessionStore, id: string): Promise<Record<string, unknown>> {
  return JSON.parse((await row(store, id)).model_config ?? "{}") as Record<string, unknown>;
}

/** Appends the texts alternately as user and assistant. Returns the ids. */
export function talk(store: SessionStore, id: string, texts: readonly string[]): Promise<number[]> {
  return store.appendMany(
    id,
    texts.map((content, index) => ({ role: index % 2 === 0 ? "user" : "assistant", content })),
  );
}

export async function contents(store: SessionStore, id: string): Promise<unknown[]> {
  return (await store.getMessages(id)).map(({ content }) => content);
}

/** Everything that `exportEach` yields. */
export async function exportAll(
  store: SessionStore,
  options?: Parameters<SessionStore["exportEach"]>[0],
): Promise<(ExportedSession & { readonly last_active: number })[]> {
  const all: (ExportedSession & { readonly last_active: number })[] = [];
  for await (const session of store.exportEach(options)) all.push(session);
  return all;
}

export function idsOf(rows: readonly Pick<SessionRow, "id">[]): string[] {
  return rows.map(({ id }) => id);
}

export function messageIds(rows: readonly Pick<MessageRow, "id">[]): number[] {
  return rows.map(({ id }) => id);
}

/** The element, which must exist. */
export function nth<T>(items: readonly T[], index: number): T {
  const item = items.at(index);
  if (item === undefined) throw new Error(`expected an element at ${index}, there are ${items.length}`);
  return item;
}

/** `root` ended by compression and continued by hand in `ids`, an hour apart, as another program would leave them. */
export async function handMadeChain(
  store: SessionStore,
  clock: ManualClock,
  ids: readonly string[],
  options: { readonly source?: string; readonly cwd?: string } = {},
): Promise<void> {
  let parentSessionId: string | null = null;
  for (const [index, id] of ids.entries()) {
    await store.createSession(id, { source: "cli", ...options, parentSessionId });
    if (index < ids.length - 1) {
      clock.advance(HOUR);
      await store.endSession(id, "compression");
    }
    parentSessionId = id;
  }
}

// ---- For the tests of search: messages to find, and short helpers ----

/** A session (`a` by default) with these messages of its user, a second apart. Returns their ids. */
export async function library(
  store: SessionStore,
  texts: readonly string[],
  { id = "a", ...session }: NewSession & { readonly id?: string } = {},
): Promise<number[]> {
  await store.createSession(id, { source: "cli", startedAt: NOW, ...session });
  return store.appendMany(
    id,
    texts.map((content, index) => ({ role: "user", content, timestamp: NOW + index })),
  );
}

/** The texts of the messages found, in the order of the answer. */
export async function answerTexts(
  store: SessionStore,
  query: string,
  options?: SearchOptions,
): Promise<{ readonly stage: string; readonly texts: string[] }> {
  const { hits, stage } = await store.search(query, options);
  const texts: string[] = [];
  for (const { id, session_id } of hits) {
    const rows = await store.getMessages(session_id, { includeInactive: true });
    texts.push(String(rows.find((row) => row.id === id)?.content));
  }
  return { stage, texts };
}

/** Sorted alphabetically, for when the rank does not matter. */
export async function textsFound(
  store: SessionStore,
  query: string,
  options?: SearchOptions,
): Promise<string[]> {
  return [...(await answerTexts(store, query, options)).texts].sort();
}

export async function idsFound(
  store: SessionStore,
  query: string,
  options?: SearchOptions,
): Promise<number[]> {
  return (await store.search(query, options)).hits.map(({ id }) => id);
}
