// show.
import type { SessionRow, SessionStore } from "@hermes-memory/core/sessions";
import type { CommandBody } from "../command.ts";
import { findSession, notFoundAnywhere } from "./find-session.ts";
import { numberFlag } from "./flags.ts";
import { openSessions } from "./open-store.ts";
import type { ParentLink } from "./origin.ts";
import { type Transcript, transcriptLines } from "./transcript.ts";

export const show: CommandBody = async (input, context) => {
  const asked = input.args.id ?? "";
  const store = await openSessions(context, "read");
  if (!store) throw notFoundAnywhere(asked, context);
  const { id } = await findSession(store, asked);
  const limit = numberFlag(input, "limit", Number.MAX_SAFE_INTEGER);
  const { total, ...transcript } = await readTranscript(store, id, {
    limit,
    includeInactive: input.flags.all === true,
  });
  const { session, messages, tip } = transcript;
  const more = `The first ${messages.length} of ${total} messages; --limit ${total} prints them all.`;
  return {
    json: { ...session, tip_session_id: tip, total_messages: total, messages },
    lines: transcriptLines(transcript, { paint: context.io.paint, isFull: input.flags.full === true }),
    notes: [...(messages.length < total ? [more] : [])],
  };
};

export async function readTranscript(
  store: SessionStore,
  id: string,
  { limit, includeInactive }: { limit: number; includeInactive: boolean },
): Promise<Transcript & { readonly total: number }> {
  const session = await store.getSession(id);
  if (session === null) throw new Error(`The session ${id} went away while it was read.`);
  const messages = includeInactive
    ? await store.getMessages(id, { includeInactive })
    : (await store.getDisplayHistory(id)).filter(({ display_kind }) => display_kind !== "hidden");
  const tip = await store.getCompressionTip(id);
  const parent = await parentLink(store, session, tip);
  return {
    session,
    messages: messages.slice(0, limit),
    total: messages.length,
    tip: tip === id ? null : tip,
    parent,
  };
}

async function parentLink(store: SessionStore, session: SessionRow, tip: string): Promise<ParentLink | null> {
  const parent = session.parent_session_id && (await store.getSession(session.parent_session_id));
  if (!parent) return null;
  const isContinuedHere = (await store.getCompressionTip(parent.id)) === tip;
  return { isContinuedHere, endReason: parent.end_reason };
}
