// Taking turns back. Rewound rows stay, marked inactive, and can be restored.
import { contentText } from "../content.ts";
import { toMessageRow } from "../conversation.ts";
import { sessionError } from "../errors.ts";
import type { StoredMessageRow } from "../rows.ts";
import type { RewindOutcome, SessionStore } from "../store.ts";
import type { Connection } from "./connection.ts";
import { count, type StoreContext } from "./context.ts";
import { MESSAGE_FIELDS, MESSAGE_SOURCE } from "./messages.ts";

const FIND = `SELECT ${MESSAGE_FIELDS} FROM ${MESSAGE_SOURCE} WHERE m.session_id = :session AND m.id = :id`;
const DEACTIVATE = "UPDATE messages SET active = 0 WHERE session_id = :session AND id >= :id AND active = 1";
const ACTIVATE = "UPDATE messages SET active = 1 WHERE session_id = :session AND id >= :id AND active = 0";
const COUNT_REWIND = "UPDATE sessions SET rewind_count = rewind_count + 1 WHERE id = :session";
const HEAD = "SELECT MAX(id) AS head FROM messages WHERE session_id = :session AND active = 1";
const NEWEST_TURNS = `
  SELECT id FROM messages WHERE session_id = :session AND role = 'user' AND active = 1 ORDER BY id DESC LIMIT :turns
`;

export type RewindOperations = Pick<SessionStore, "rewindToMessage" | "restoreRewound" | "undoTurns">;

export function rewindOperations({ connection, warn }: StoreContext): RewindOperations {
  return {
    rewindToMessage: (session, id) => connection.write(() => rewind(connection, session, id, warn)),
    restoreRewound: (session, id) =>
      connection.write(() => connection.run(ACTIVATE, { session, id }).changes),
    undoTurns: (session, turns = 1) =>
      connection.write(() => {
        const wanted = Math.max(1, count(turns, 1));
        const found = connection.all<{ id: number }>(NEWEST_TURNS, { session, turns: wanted });
        const oldest = found.at(-1);
        if (oldest === undefined) return null;
        const { rewound_count, target_message } = rewind(connection, session, oldest.id, warn);
        return {
          rewound_count,
          turns_undone: found.length,
          target_text: contentText(target_message.content),
        };
      }),
  };
}

function rewind(
  connection: Connection,
  session: string,
  id: number,
  warn: (message: string) => void,
): RewindOutcome {
  const target = connection.get<StoredMessageRow>(FIND, { session, id });
  if (target === undefined) {
    throw sessionError("unknown-message", `message ${id} not found in session ${session}`, {
      hint: "listRecentUserMessages names the messages one can go back to.",
    });
  }
  if (target.role !== "user") {
    const got = `got role='${target.role}', id=${id}`;
    throw sessionError("not-a-user-message", `rewind target must be a 'user' message (${got})`, {
      hint: "listRecentUserMessages names the messages one can go back to.",
    });
  }
  const { changes } = connection.run(DEACTIVATE, { session, id });
  connection.run(COUNT_REWIND, { session });
  const head = connection.get<{ head: number | null }>(HEAD, { session })?.head ?? null;
  return { rewound_count: changes, target_message: toMessageRow(target, warn), new_head_id: head };
}
