// Which tool results in files the rows of sessions name.
import { NOTE_SIGN, notedResult } from "../result-notes.ts";
import type { KeptResult, StoredMessageRow } from "../rows.ts";
import type { Scope } from "../scope.ts";
import type { MessageRecords } from "../store/messages.ts";
import type { Connection } from "./connection.ts";
import { type StoreContext, visibleTo } from "./context.ts";
import { byFile, isShown } from "./features.ts";
import { isVisible } from "./lineage-sql.ts";
import { MESSAGE_SOURCE, messageFields } from "./message-fields.ts";
import { decodeRows } from "./messages.ts";
import { LARGEST } from "./readable-fields.ts";

// As bytes: what follows a NUL in a text is invisible to most functions for texts. A note ends its row, so the last byte (in a
// text that is stored as JSON, the quote) rules out nearly every row before it is searched.
const NAMES_RESULT = `
  m.role = 'tool' AND substr(CAST(m.content AS BLOB), -1) IN (x'5d', x'22')
    AND instr(CAST(m.content AS BLOB), CAST(:sign AS BLOB)) > 0`;
const OF_SESSION = byFile(
  (file) => `
  SELECT ${messageFields(file)} FROM ${MESSAGE_SOURCE}
  WHERE m.session_id = :session AND EXISTS (SELECT 1 FROM sessions s WHERE s.id = m.session_id AND ${isVisible("s")})
    AND (:all OR ${isShown("m", file)}) AND ${NAMES_RESULT} ORDER BY m.id
`,
);
const BETWEEN = byFile(
  (file) =>
    `SELECT ${messageFields(file)} FROM ${MESSAGE_SOURCE} WHERE m.id > :after AND m.id <= :last AND ${NAMES_RESULT}`,
);
// Ids can have gaps of any size, so steps are counted in rows.
const END_OF_STEP = `
  SELECT MAX(MIN(id, ${LARGEST})) AS last, COUNT(*) AS rows
  FROM (SELECT id FROM messages WHERE id > :after ORDER BY id LIMIT :step)
`;
/** Between two steps others get their turn. */
const STEP = 2_000;

export type KeptResultOperations = Pick<MessageRecords, "listKeptResults" | "listAllKeptResultIds">;

export function keptResultOperations({ connection, warn }: StoreContext): KeptResultOperations {
  return {
    listKeptResults: (sessionIds, options = {}) =>
      connection.read(() => keptResults(connection, sessionIds, warn, options)),
    listAllKeptResultIds: () => allKeptResultIds(connection),
  };
}

export function keptResults(
  connection: Connection,
  sessionIds: readonly string[],
  warn: (message: string) => void,
  options: Scope & { readonly includeInactive?: boolean } = {},
): KeptResult[] {
  const values = { ...visibleTo(options), all: options.includeInactive ? 1 : 0, sign: NOTE_SIGN };
  const rows = sessionIds.flatMap((session) =>
    connection.all<StoredMessageRow>(OF_SESSION(connection), { ...values, session }),
  );
  return decodeRows(rows, warn).flatMap((row) => {
    const noted = notedResult(row.content, row.tool_call_id);
    if (noted === undefined || typeof row.content !== "string") return [];
    const { id, session_id, tool_name, content } = row;
    return [{ ...noted, message_id: id, session_id, tool_name, content }];
  });
}

/**
 * Every row counts, rewound ones as well: they can come back. Ids only grow, and a copy of a row gets a higher id than the
 * row, so a reference that is copied while this runs is seen in one place or the other.
 */
export async function allKeptResultIds(connection: Connection): Promise<Set<string>> {
  const ids = new Set<string>();
  for (let after = -LARGEST; ; ) {
    const { last, rows } = await connection.read(() => {
      const end = connection.get<{ last: number | null; rows: number }>(END_OF_STEP, { after, step: STEP });
      const values = { after, last: end?.last ?? after, sign: NOTE_SIGN };
      return {
        last: (end?.rows ?? 0) < STEP ? undefined : end?.last,
        rows: connection.all<StoredMessageRow>(BETWEEN(connection), values),
      };
    });
    for (const { content, tool_call_id } of decodeRows(rows, () => undefined)) {
      const noted = notedResult(content, tool_call_id);
      if (noted !== undefined) ids.add(noted.id);
    }
    if (last === undefined || last === null || last <= after) return ids;
    after = last;
  }
}
