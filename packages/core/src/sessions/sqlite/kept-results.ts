// Which kept tool results the rows of sessions name.
import type { Scope } from "../identity.ts";
import type { KeptResult, StoredMessageRow } from "../rows.ts";
import { NOTE_START, notedResult } from "../session-files.ts";
import type { MessageRecords } from "../store.ts";
import {
  ALL_USERS,
  byFile,
  type Connection,
  isShown,
  isVisible,
  userPlatform,
  type Visible,
} from "./connection.ts";
import { isEverybody, type StoreContext } from "./context.ts";
import { decodeRows } from "./messages.ts";
import { LARGEST_INTEGER, MESSAGE_SOURCE, messageFields } from "./schema.ts";

// Compared as bytes, because most text functions stop at NUL. A note is the end of its row, so the last byte (`]`, or a quote in
// text stored as JSON) rules out nearly all rows cheaply.
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
/** NULL for sessions without an owner. */
const RESULT_OWNER = `
  (SELECT json_array(s.user_id, ${userPlatform("s")}) FROM sessions s WHERE s.id = m.session_id AND s.user_id IS NOT NULL)`;
const BETWEEN = byFile(
  (file) => `
  SELECT ${messageFields(file)}, ${RESULT_OWNER} AS result_owner FROM ${MESSAGE_SOURCE}
  WHERE m.id > :after AND m.id <= :last AND ${NAMES_RESULT} ORDER BY m.id
`,
);
const OWNER_OF_SESSION = `
  SELECT json_array(s.user_id, ${userPlatform("s")}) AS owner FROM sessions s WHERE s.id = :session AND s.user_id IS NOT NULL
`;
// Ids can have large gaps, so steps are counted in rows.
const END_OF_STEP = `
  SELECT MAX(MIN(id, ${LARGEST_INTEGER})) AS last, COUNT(*) AS rows
  FROM (SELECT id FROM messages WHERE id > :after ORDER BY id LIMIT :step)
`;
/** Rows per transaction; other work runs in between. */
const STEP = 2_000;

export function keptResultOperations({ connection, warn, person }: StoreContext) {
  return {
    async listKeptResults(sessionIds, options = {}) {
      const { visible, scope } = person;
      const found = await connection.read(() =>
        keptResults(connection, sessionIds, warn, { ...options, visible }),
      );
      if (!options.ownFilesOnly || isEverybody(person) || found.length === 0) return found;
      const named = await namesOfResults(connection);
      return found.filter(({ id }) => isOf(named.get(id)?.[0], scope));
    },
  } satisfies Partial<MessageRecords>;
}

export async function allKeptResultIds({ connection }: StoreContext): Promise<ReadonlySet<string>> {
  return new Set((await namesOfResults(connection)).keys());
}

export function keptResults(
  connection: Connection,
  sessionIds: readonly string[],
  warn: (message: string) => void,
  {
    visible = ALL_USERS,
    includeInactive,
  }: { readonly visible?: Visible; readonly includeInactive?: boolean } = {},
): KeptResult[] {
  const values = { ...visible, all: includeInactive ? 1 : 0, sign: NOTE_START };
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

/** A row that names a kept result. `owner`: the user of its session as JSON; null when it has none. */
export type ResultName = { readonly messageId: number; readonly owner: string | null };

export function ownerOfSession(connection: Connection, session: string): string | null {
  return connection.get<{ owner: string }>(OWNER_OF_SESSION, { session })?.owner ?? null;
}

/** The file belongs to the person of the first row that names it: before that row, nobody else knew the id. */
function isOf(
  first: ResultName | undefined,
  { userId, userPlatform: platform, withoutUser }: Scope,
): boolean {
  if (first === undefined || withoutUser) return first?.owner === null;
  if (first.owner === null) return false;
  const [user, on] = JSON.parse(first.owner) as [unknown, unknown];
  return user === userId && (platform === undefined || on === platform);
}

/**
 * By result id, the first row of each owner. Rewound rows count too, because they can be restored. Ids only grow, and a copy has
 * a higher id than its original, so a reference that is copied while this runs is found in one place or the other. Rows of the
 * sessions in `without` do not count.
 */
export async function namesOfResults(
  connection: Connection,
  without: ReadonlySet<string> = new Set(),
): Promise<Map<string, ResultName[]>> {
  const names = new Map<string, ResultName[]>();
  for (let after = -LARGEST_INTEGER; ; ) {
    const { last, rows } = await connection.read(() => {
      const end = connection.get<{ last: number | null; rows: number }>(END_OF_STEP, { after, step: STEP });
      const values = { after, last: end?.last ?? after, sign: NOTE_START };
      return {
        last: (end?.rows ?? 0) < STEP ? undefined : end?.last,
        rows: connection.all<StoredMessageRow & { readonly result_owner: string | null }>(
          BETWEEN(connection),
          values,
        ),
      };
    });
    for (const [at, { id: messageId, session_id, content, tool_call_id }] of decodeRows(
      rows,
      () => undefined,
    ).entries()) {
      if (without.has(session_id)) continue;
      const noted = notedResult(content, tool_call_id);
      const owner = rows[at]?.result_owner ?? null;
      const known = noted && names.get(noted.id);
      if (noted === undefined || known?.some((name) => name.owner === owner)) continue;
      names.set(noted.id, [...(known ?? []), { messageId, owner }]);
    }
    if (last === undefined || last === null || last <= after) return names;
    after = last;
  }
}
