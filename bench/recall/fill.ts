// Fills a store with conversations: one session per meeting, one message per turn.
import type { SessionStore } from "@hermes-memory/core/internal/sessions";
import type { Meeting } from "./question-types.ts";

const PADDING_PER_SESSION = 500;

/** Turn ids by the ids of their messages. */
export async function fillStore(
  store: SessionStore,
  meetings: readonly Meeting[],
): Promise<ReadonlyMap<number, string>> {
  const turnOf = new Map<number, string>();
  for (const { id, startedAt, turns } of meetings) {
    await store.createSession(id, { source: "cli", startedAt });
    const messages = turns.map(({ role, content }, at) => ({ role, content, timestamp: startedAt + at }));
    const ids = await store.appendMany(id, messages);
    for (const [at, turn] of turns.entries()) {
      const messageId = ids[at];
      if (messageId !== undefined) turnOf.set(messageId, turn.id);
    }
  }
  return turnOf;
}

/** Adds messages that no question asks for: a large store limits how many rows it ranks. */
export async function padStore(store: SessionStore, messages: number): Promise<void> {
  for (let from = 0; from < messages; from += PADDING_PER_SESSION) {
    const id = `padding_${from}`;
    await store.createSession(id, { source: "cli", startedAt: from });
    const length = Math.min(PADDING_PER_SESSION, messages - from);
    await store.appendMany(
      id,
      Array.from({ length }, (_, at) => ({
        role: "user" as const,
        content: `zzpad${from + at}`,
        timestamp: from + at,
      })),
    );
  }
}
