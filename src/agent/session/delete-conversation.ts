// Deleting a conversation for good: every session that compactions made of it, and the files beside the database.
import { rm } from "node:fs/promises";
import { basename, join } from "node:path";
import type { SessionStore } from "../../sessions/index.ts";
import type { AgentCore } from "../core.ts";

/** Branches of it, and what it is a branch of, are conversations of their own and stay. */
export async function deleteConversation({ parts: { store, home }, sessionId }: AgentCore): Promise<void> {
  const sessionsDir = join(home, "sessions");
  const ids = store === undefined ? [sessionId] : await chainOf(store, sessionId);
  const delegates = (await store?.listDelegates(ids)) ?? [];
  await store?.deleteSessions(ids, { sessionsDir });
  for (const id of [...ids, ...delegates]) {
    const name = `session_${id}.json`;
    if (name === basename(name)) await rm(join(sessionsDir, name), { force: true });
  }
}

/** Another process may have gone on with it. */
async function chainOf(store: SessionStore, id: string): Promise<readonly string[]> {
  const chain = await store.listContinued(await store.getCompressionTip(id));
  return chain.includes(id) ? chain : [id];
}
