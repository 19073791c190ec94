// The files of a session beside the database: its JSON snapshot, and the tool results that were too long for the list.
import { mkdirSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { sessionFiles } from "@hermes-memory/core/internal/home";
import { describeCause, isRecord, writeFileAtomic } from "@hermes-memory/core/internal/lib";
import { masked } from "@hermes-memory/core/internal/security";
import { removeKeptResults, type SessionStore, STORED_SNAPSHOT } from "@hermes-memory/core/internal/sessions";
import type { AgentParts } from "../parts.ts";
import type { Session } from "./session.ts";
import { keptResults, shownRow } from "./transcript.ts";

type SnapshotDeps = Pick<AgentParts, "model" | "tools" | "home" | "platform" | "log" | "clock"> & {
  readonly session: Session;
};

/** `<home>/sessions/session_<id>.json`: the conversation as one file, with secrets masked. For `sessions.write_json_snapshots`. */
export function writeJsonSnapshot({ session, model, tools, home, platform, log, clock }: SnapshotDeps): void {
  const { messages } = session;
  if (messages.length === 0) return;
  const directory = sessionFiles(home).sessionsDir;
  const path = join(directory, snapshotName(session.id));
  try {
    // A shorter list, after an undo or from an older process, must not replace a longer one.
    if (storedCount(path) > messages.length) return;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const snapshot = {
      ...(session.hasRow ? STORED_SNAPSHOT : {}),
      session_id: session.id,
      model: model.identity.model,
      base_url: model.identity.baseUrl,
      platform,
      session_start: new Date((messages[0]?.meta.atSeconds ?? 0) * 1000).toISOString(),
      last_updated: clock.now().toISOString(),
      system_prompt: session.prompt.text ?? "",
      tools: tools.definitions().map((schema) => ({ type: "function", function: schema })),
      message_count: messages.length,
      messages: messages.map(shownRow),
    };
    writeFileAtomic(path, `${JSON.stringify(masked(snapshot), null, 2)}\n`, { mode: 0o600 });
  } catch (cause) {
    log.warn(`The JSON snapshot of the session was not written: ${describeCause(cause)}`);
  }
}

function snapshotName(sessionId: string): string {
  return `session_${sessionId}.json`;
}

function storedCount(path: string): number {
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    return isRecord(value) && typeof value.message_count === "number" ? value.message_count : 0;
  } catch {
    return 0; // none yet, or not one of ours
  }
}

/** Every session that compactions made of the conversation, and their files. Its branches, and the session it is a branch of, stay. */
export async function deleteConversation(session: Session, home: string): Promise<void> {
  const { store, id } = session;
  const files = sessionFiles(home);
  await store?.deleteSessions(await continuationsOf(store, id), files);
  const snapshot = snapshotName(id); // also of a session that never got a row
  if (snapshot === basename(snapshot)) await rm(join(files.sessionsDir, snapshot), { force: true });
  // Without a database only the list names the files of kept results.
  if (store === undefined) await removeKeptResults(files.resultsDir, keptResults(session.messages));
}

/** Another process may have continued the conversation. */
async function continuationsOf(store: SessionStore, id: string): Promise<readonly string[]> {
  const chain = await store.listContinued(await store.getCompressionTip(id));
  return chain.includes(id) ? chain : [id];
}
