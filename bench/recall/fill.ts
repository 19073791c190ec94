// A conversation in a store: one session per meeting, one message per turn.
import type { SessionStore } from "../../src/sessions/index.ts";
import type { Conversation } from "./locomo.ts";

/** Turn ids by the ids of their messages. */
export async function fillStore(
  store: SessionStore,
  { meetings, firstSpeaker }: Conversation,
): Promise<ReadonlyMap<number, string>> {
  const turnOf = new Map<number, string>();
  for (const { id, startedAt, turns } of meetings) {
    await store.createSession(id, { source: "cli", startedAt });
    const messages = turns.map(({ speaker, text }, at) => ({
      role: speaker === firstSpeaker ? "user" : "assistant",
      content: `${speaker}: ${text}`,
      timestamp: startedAt + at,
    }));
    const ids = await store.appendMany(id, messages);
    for (const [at, turn] of turns.entries()) {
      const messageId = ids[at];
      if (messageId !== undefined) turnOf.set(messageId, turn.id);
    }
  }
  return turnOf;
}
