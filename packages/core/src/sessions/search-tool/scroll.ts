// Scroll: the messages around one message.
import type { MessageRow, MessageWindow, SessionRow } from "../rows.ts";
import { cutterFor } from "./payload.ts";
import type { ScrollRequest } from "./port.ts";
import { findSession, type Lookup } from "./port.ts";
import { followsToday, isClosed } from "./reach.ts";
import { type Failure, failure, notFound, sessionMeta, shown, toToolMessage } from "./shapes.ts";

/** The order of these checks is part of the tool's interface. */
export async function scroll(lookup: Lookup, request: ScrollRequest): Promise<object> {
  const { anchor, sessionId } = request;
  if (anchor === undefined) return failure("scroll requires integer around_message_id");
  const session = await findSession(lookup, sessionId);
  const refusal = await refuseOwn(lookup, request, anchor, session);
  if (refusal !== undefined) return refusal;
  if (session === null) return notFound(sessionId.bare);
  const found = await locate(lookup, session, anchor, request.window);
  if (found === undefined)
    return failure(`around_message_id ${anchor} not in session_id ${shown(session.id)}`);
  return toAnswer(lookup, request, anchor, found);
}

async function refuseOwn(
  lookup: Lookup,
  { reach, sessionId }: ScrollRequest,
  anchor: number,
  session: SessionRow | null,
): Promise<Failure | undefined> {
  const { current } = lookup;
  if (!current?.lineage.has(session?.id ?? sessionId.bare)) return undefined;
  const isLive = current.liveMessageIds?.has(anchor);
  if (reach !== "others" && !isLive) return undefined;
  if (!isLive && session !== null && (await hasLeftContext(lookup, session, anchor))) return undefined;
  const rejected = "scroll rejected: anchor lives in the current session lineage";
  if (isLive === false)
    return failure(`${rejected}, but no longer in your context. Pass scope='lineage' to read it.`);
  return failure(`${rejected} (already in your active context)`);
}

/** Under today's rules: in a session that was closed, or compacted in place. */
async function hasLeftContext(lookup: Lookup, session: SessionRow, anchor: number): Promise<boolean> {
  if (!followsToday(lookup)) return false;
  if (isClosed(session)) return true;
  const active = await lookup.store.listMessageKeys([session.id], lookup.scope);
  return !active.some(({ id }) => id === anchor);
}

type Found = { readonly session: SessionRow; readonly window: MessageWindow };

/** In the session named, or in another one of its lineage: a model that keeps the id of the root means the whole of it. */
async function locate(
  { store, scope }: Lookup,
  session: SessionRow,
  anchor: number,
  size: number,
): Promise<Found | undefined> {
  const options = { ...scope, window: size };
  const window = await store.getMessagesAround(session.id, anchor, options);
  if (window.window.length > 0) return isShown(window, anchor) ? { session, window } : undefined;
  for (const id of await store.listLineage(session.id, scope)) {
    if (id === session.id) continue;
    const elsewhere = await store.getMessagesAround(id, anchor, options);
    const owner = isShown(elsewhere, anchor) ? await store.getSession(id, scope) : null;
    if (owner !== null) return { session: owner, window: elsewhere };
  }
  return undefined;
}

/** What the user took back is not read to the model, also not to one that remembers its id. */
function isShown({ window }: MessageWindow, anchor: number): boolean {
  return window.some((row) => row.id === anchor && (row.active !== 0 || isCompacted(row)));
}

/** In files of today's Hermes: summarised away, and still to be read. */
function isCompacted(row: MessageRow): boolean {
  return "compacted" in row && row.compacted === 1;
}

function toAnswer(lookup: Lookup, request: ScrollRequest, anchor: number, found: Found): object {
  const { session, window } = found;
  const messages = window.window.map((row) => toToolMessage(row, anchor));
  const cut = cutterFor(messages, lookup.settings);
  return {
    success: true,
    mode: "scroll",
    session_id: session.id,
    around_message_id: anchor,
    session_meta: sessionMeta(session),
    window: request.window,
    messages: messages.map((message) => cut(message)),
    messages_before: window.messages_before,
    messages_after: window.messages_after,
    ...(session.id === request.sessionId.asGiven || session.id === request.sessionId.bare
      ? {}
      : {
          warning: `around_message_id ${anchor} lives in ${session.id} (child of ${request.sessionId.bare}); rebound transparently`,
        }),
  };
}
