// What the tests of search share: messages to look for, and short ways to say what came of it.
import type { SearchOptions } from "../../src/sessions/search/types.ts";
import type { NewSession, SessionStore } from "../../src/sessions/store.ts";
import { NOW } from "./support.ts";

/** A session (`a` unless told) with these messages of its user, a second apart; their ids. */
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

/** In the order of the alphabet, for when the rank does not matter. */
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
