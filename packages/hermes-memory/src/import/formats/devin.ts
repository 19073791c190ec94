// Devin CLI: a database with sessions and the tree of their messages.
import { basename, join } from "node:path";
import { chatMessage } from "../kit/chat-message.ts";
import { isDatabaseWith } from "../kit/database-sessions.ts";
import { pathTo } from "../kit/message-tree.ts";
import { databaseStamps, openSource } from "../kit/sqlite-source.ts";
import { type Json, jsonOf, numberOf, recordOf, textOf, timeOf } from "../kit/values.ts";
import { filesBelow } from "../kit/walk.ts";
import type { Place, TranscriptReader } from "../reader.ts";

const DATABASE = "sessions.db";
const SESSIONS = "SELECT * FROM sessions ORDER BY created_at, id"; // newer versions have more columns
const NODES = `
  SELECT row_id, node_id, parent_node_id, chat_message, created_at FROM message_nodes
  WHERE session_id = :session ORDER BY created_at, row_id
`;

export const devin: TranscriptReader = {
  source: "devin",
  title: "Devin CLI",
  evidence: "P",
  isExperimental: true,
  version: 1,
  roots: (place) => [join(dataFolder(place), "devin", "cli", DATABASE)],
  units: async function* (root, walking) {
    const file = (path: string): boolean => path === root || basename(path) === DATABASE;
    for await (const path of filesBelow(root, { file, maxDepth: 2 }, walking))
      yield { path, stamps: databaseStamps(path) };
  },
  recognises: ({ head }) => isDatabaseWith(head, /\bmessage_nodes\b[^;]{0,400}\bchat_message\b/),
  read: async function* ({ path }, reading) {
    using db = await openSource(path, reading);
    if (!db.hasTable("message_nodes") || !db.hasTable("sessions"))
      throw new Error("not a database of Devin: it has no table message_nodes");
    for (const session of db.all(SESSIONS)) {
      reading.signal.throwIfAborted();
      const nativeId = textOf(session.id);
      const mark = `${session.last_activity_at ?? session.created_at} ${session.main_chain_id}`;
      if (nativeId === undefined || reading.isUnchanged(nativeId, mark)) continue;
      yield {
        kind: "session",
        facts: {
          nativeId,
          mark,
          title: textOf(session.title),
          cwd: textOf(session.working_directory),
          model: textOf(session.model),
          startedAt: timeOf(session.created_at),
          visibility: session.hidden === 1 ? "hidden" : "shown",
        },
      };
      const nodes = db.all(NODES, { session: nativeId });
      const path = activeNodes(nodes, numberOf(session.main_chain_id));
      const names = new Map<string, string>();
      for (const node of nodes) {
        const id = `${node.node_id}`;
        const value = recordOf(jsonOf(textOf(node.chat_message)));
        if (value === undefined) {
          reading.malformed(numberOf(node.row_id) ?? 0, "a message that is no JSON object");
          continue;
        }
        const message = chatMessage(value, reading);
        if (message === undefined) continue;
        for (const call of message.toolCalls ?? []) names.set(call.id, call.name);
        yield {
          kind: "message",
          message: {
            ...message,
            id,
            at: timeOf(node.created_at),
            line: numberOf(node.row_id),
            model: textOf(recordOf(value.metadata)?.generation_model),
            toolName: message.toolName ?? names.get(message.toolCallId ?? ""),
            isActive: path.size === 0 || path.has(id) ? undefined : false,
          },
        };
      }
      yield { kind: "end" };
    }
    if (db.changedMeanwhile()) throw new Error("the database changed while it was read");
  },
};

function dataFolder({ home, env, platform }: Place): string {
  if (platform === "win32") return textOf(env.APPDATA) ?? join(home, "AppData", "Roaming");
  return textOf(env.XDG_DATA_HOME) ?? join(home, ".local", "share");
}

/** Retries and edits make branches; the session names the last message of the one that counts. Empty if it is not there. */
function activeNodes(nodes: readonly Json[], leaf: number | undefined): ReadonlySet<string> {
  const parents = new Map(
    nodes.map((node) => [
      `${node.node_id}`,
      node.parent_node_id === null ? undefined : `${node.parent_node_id}`,
    ]),
  );
  return leaf !== undefined && parents.has(`${leaf}`) ? pathTo(`${leaf}`, parents) : new Set();
}
