// Read: a session from its beginning, the middle of a long one left out.
import type { MessageRow } from "../rows.ts";
import { cutterFor } from "./payload.ts";
import type { ReadRequest } from "./port.ts";
import { findSession, type Lookup, linkTo } from "./port.ts";
import { sessionMeta, toToolMessage } from "./shapes.ts";

/** Undefined when this database has no such session. */
export async function read(lookup: Lookup, { sessionId }: ReadRequest): Promise<object | undefined> {
  const session = await findSession(lookup, sessionId);
  if (session === null) return undefined;
  const rows = await lookup.store.getMessages(session.id, lookup.scope);
  const isLong = rows.length > HEAD + TAIL;
  const messages = endsOf(rows, isLong).map((row) => toToolMessage(row));
  const cut = cutterFor(messages, lookup.settings);
  return {
    success: true,
    mode: "read",
    session_id: session.id,
    link: linkTo(lookup, session.id),
    session_meta: sessionMeta(session),
    message_count: rows.length,
    truncated: isLong,
    messages: messages.map((message) => cut(message)),
    ...(isLong ? { message: howToSeeMore(rows.length) } : {}),
  };
}

const HEAD = 20;
const TAIL = 10;

function endsOf(rows: readonly MessageRow[], isLong: boolean): readonly MessageRow[] {
  return isLong ? [...rows.slice(0, HEAD), ...rows.slice(-TAIL)] : rows;
}

function howToSeeMore(total: number): string {
  return (
    `The session has ${total} messages; these are the first ${HEAD} and the last ${TAIL}. ` +
    "To see the middle, pass the same session_id with around_message_id set to any id above."
  );
}
