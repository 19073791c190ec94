// Takes turns back. Rewound rows stay, marked inactive, and can be restored. With schema 17 two other kinds of rows are inactive:
// rows archived by a compaction, which are never touched here, and copies it superseded, which look like rewound ones. So rewound
// rows are recorded in a table of ours, and with schema 17 only those are restored.
import { contentText, toMessageRow } from "../../message/index.ts";
import { sessionError } from "../errors.ts";
import type { StoredMessageRow } from "../rows.ts";
import type { MessageRecords, RewindOutcome } from "../store.ts";
import { editSession } from "./claims.ts";
import { byFile, type Connection, count, featuresOf, isChangeable } from "./connection.ts";
import type { StoreContext } from "./context.ts";
import { MESSAGE_SOURCE, messageFields, REWOUND } from "./schema.ts";

const FIND = byFile(
  (file) =>
    `SELECT ${messageFields(file)} FROM ${MESSAGE_SOURCE} WHERE m.session_id = :session AND m.id = :id`,
);
const TO_TAKE = byFile(
  (file) => `m.session_id = :session AND m.id >= :id AND m.active = 1 AND ${isChangeable("m", file)}`,
);
const NOTE = `
  INSERT OR IGNORE INTO ${REWOUND.name} (message_id, session_id) SELECT m.id, m.session_id FROM messages m WHERE
`;
const FORGET = `DELETE FROM ${REWOUND.name} WHERE session_id = :session`;
const FORGET_ACTIVE = `
  ${FORGET} AND EXISTS (SELECT 1 FROM messages m WHERE m.id = message_id AND m.active = 1)
`;
/** Rows older than a later compaction are not restored, because its summary does not cover them. */
const TO_RESTORE = byFile((file) => {
  const inactive = "m.session_id = :session AND m.id >= :id AND m.active = 0";
  if (!file.isSchema17) return inactive;
  const ofSession = (what: string, which: string) =>
    `(SELECT ${what}(c.id) FROM messages c WHERE c.session_id = :session AND ${which})`;
  const archived = ofSession("MAX", "c.compacted = 1");
  return `${inactive} AND m.compacted = 0 AND m.id IN (SELECT message_id FROM ${REWOUND.name} WHERE session_id = :session)
    AND (${archived} IS NULL OR (m.id > ${archived} AND m.id > COALESCE(${ofSession("MIN", "c.active = 1")}, 0)))`;
});
const COUNT_REWIND = "UPDATE sessions SET rewind_count = rewind_count + 1 WHERE id = :session";
const HEAD = "SELECT MAX(id) AS head FROM messages WHERE session_id = :session AND active = 1";
const HAS_ARCHIVE = "SELECT 1 FROM messages WHERE session_id = :session AND compacted = 1 LIMIT 1";
const IS_NOTED = `SELECT 1 FROM ${REWOUND.name} WHERE message_id = :id`;
/** A summary, or a message hidden from the user, is not a turn of the user. */
const NEWEST_TURNS = byFile((file) => {
  const isTurn = [
    ...(file.messages.has("_compressed_summary") ? ["m._compressed_summary = 0"] : []),
    ...(file.messages.has("display_kind") ? ["m.display_kind IS NOT 'hidden'"] : []),
  ];
  return `
    SELECT m.id FROM messages m
    WHERE ${["m.session_id = :session", "m.role = 'user'", "m.active = 1", ...isTurn].join(" AND ")}
    ORDER BY m.id DESC LIMIT :turns
  `;
});

export function rewindOperations(context: StoreContext) {
  const { connection, warn } = context;
  return {
    rewindToMessage: (sessionId, id, options = {}) =>
      editSession(context, sessionId, options, (session) => rewind(connection, session, id, warn)),
    restoreRewound: (sessionId, id, options = {}) =>
      editSession(context, sessionId, options, (session) => restore(connection, session, id)),
    undoTurns: (sessionId, turns = 1, options = {}) =>
      editSession(context, sessionId, options, (session) => {
        const wanted = Math.max(1, count(turns, 1));
        const found = connection.all<{ id: number }>(NEWEST_TURNS(connection), { session, turns: wanted });
        const oldest = found.at(-1);
        if (oldest === undefined) return null;
        const { rewound_count, target_message } = rewind(connection, session, oldest.id, warn);
        return {
          rewound_count,
          turns_undone: found.length,
          target_text: contentText(target_message.content),
        };
      }),
  } satisfies Partial<MessageRecords>;
}

/** Inside a transaction: rewound rows cannot be restored any more, because the messages before them are gone. */
export function forgetRewound(connection: Connection, session: string): void {
  connection.run(FORGET, { session });
}

function restore(connection: Connection, session: string, id: number): number {
  const { changes } = connection.run(`UPDATE messages AS m SET active = 1 WHERE ${TO_RESTORE(connection)}`, {
    session,
    id,
  });
  connection.run(FORGET_ACTIVE, { session });
  return changes;
}

/** Inside a transaction. */
function rewind(
  connection: Connection,
  session: string,
  id: number,
  warn: (message: string) => void,
): RewindOutcome {
  const target = connection.get<StoredMessageRow>(FIND(connection), { session, id });
  if (target === undefined) {
    throw sessionError("unknown-message", `message ${id} not found in session ${session}`, { hint: HINT });
  }
  if (target.role !== "user") {
    const got = `got role='${target.role}', id=${id}`;
    throw sessionError("not-a-user-message", `rewind target must be a 'user' message (${got})`, {
      hint: HINT,
    });
  }
  refuseArchived(connection, session, target);
  const changes = takeBack(connection, session, id);
  const head = connection.get<{ head: number | null }>(HEAD, { session })?.head ?? null;
  return { rewound_count: changes, target_message: toMessageRow(target, warn), new_head_id: head };
}

/** Inside a transaction: this message and what comes after it are no part of the conversation any more. Returns how many. */
export function takeBack(connection: Connection, session: string, id: number): number {
  connection.run(`${NOTE} ${TO_TAKE(connection)}`, { session, id });
  const { changes } = connection.run(`UPDATE messages AS m SET active = 0 WHERE ${TO_TAKE(connection)}`, {
    session,
    id,
  });
  connection.run(COUNT_REWIND, { session });
  return changes;
}

const HINT = "listRecentUserMessages names the messages one can go back to.";

/** Going back to a message before a compaction would remove its summary and everything it stands for. */
function refuseArchived(connection: Connection, session: string, target: StoredMessageRow): void {
  if (target.active === 1 || !featuresOf(connection).isSchema17) return;
  if (connection.get(HAS_ARCHIVE, { session }) === undefined) return;
  if (connection.get(IS_NOTED, { id: target.id }) !== undefined) return;
  throw sessionError(
    "unknown-message",
    `message ${target.id} of session ${session} is not in the conversation any more: a compaction put it away, or it was taken back before`,
    { hint: HINT },
  );
}
