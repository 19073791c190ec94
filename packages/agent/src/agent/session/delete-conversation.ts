// Deleting a conversation for good: every session that compactions made of it, and the files beside the database.
import { rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { sessionFiles } from "@hermes-memory/core/home";
import { removeKeptResults, type SessionStore } from "@hermes-memory/core/sessions";
import type { AgentCore } from "../core.ts";
import { keptResults } from "./transcript.ts";

/** Branches of it, and what it is a branch of, are conversations of their own and stay. */
export async function deleteConversation({ parts, sessionId }: AgentCore): Promise<void> {
  const { store, home, transcript } = parts;
  const files = sessionFiles(home);
  await store?.deleteSessions(await chainOf(store, sessionId), { ...files, leaseHolder: parts.holder });
  const snapshot = `session_${sessionId}.json`; // also of a session that never got a row
  if (snapshot === basename(snapshot)) await rm(join(files.sessionsDir, snapshot), { force: true });
  if (store !== undefined) return;
  // Without a database nothing but the live list names them.
  await removeKeptResults(files.resultsDir, keptResults(transcript.messages));
}

/** Another process may have gone on with it. */
async function chainOf(store: SessionStore, id: string): Promise<readonly string[]> {
  const chain = await store.listContinued(await store.getCompressionTip(id));
  return chain.includes(id) ? chain : [id];
}
