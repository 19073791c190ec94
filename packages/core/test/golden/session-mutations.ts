// The original's method calls, made on our store: its names and argument order on one side, ours on the other.
import type { HomeStore, NewMessage, NewSession } from "../../src/sessions/index.ts";
import { exportAll } from "../../testing/session-store/support.ts";
import { toOptions } from "./session-databases.ts";

type Kwargs = Readonly<Record<string, unknown>>;
type Method = (store: HomeStore, args: readonly unknown[], kwargs: Kwargs) => Promise<unknown>;

/** The answer in the shape of the original's, with null where ours has nothing to say. */
export async function callByName(
  store: HomeStore,
  method: string,
  args: readonly unknown[],
  kwargs: Kwargs,
): Promise<unknown> {
  const call = METHODS[method];
  if (call === undefined) throw new Error(`no method of ours stands for '${method}'`);
  return (await call(store, args, kwargs)) ?? null;
}

/** What the vectors call `state`: rows by start and id, all messages, rewound messages. */
export async function stateOf(store: HomeStore): Promise<object> {
  const all = await exportAll(store, { includeInactive: true });
  const messages = all.flatMap((session) => session.messages);
  return {
    sessions: all
      .sort((a, b) => a.started_at - b.started_at || (a.id < b.id ? -1 : 1))
      .map((row) => [
        row.id,
        row.parent_session_id,
        row.ended_at !== null,
        row.end_reason,
        row.message_count,
        row.tool_call_count,
        row.title,
        row.archived,
        row.rewind_count,
      ]),
    messages_total: messages.length,
    inactive: messages.filter(({ active }) => active === 0).length,
  };
}

const METHODS: Readonly<Record<string, Method>> = {
  create_session: (store, [id, source], kwargs) =>
    store.createSession(text(id), { source: text(source), ...toOptions<NewSession>(kwargs) }),
  ensure_session: (store, [id, source], kwargs) =>
    store.createSession(text(id), { source: text(source), ...toOptions<NewSession>(kwargs) }),
  end_session: (store, [id, reason]) => store.endSession(text(id), text(reason)),
  reopen_session: (store, [id]) => store.reopenSession(text(id)),
  session_count: (store, _args, kwargs) => store.sessionCount(toOptions(kwargs)),
  get_meta: (store, [key]) => store.getMeta(text(key)),
  set_meta: (store, [key, value]) => store.setMeta(text(key), text(value)),
  append_message: (store, [id, role, content], kwargs) =>
    store.appendMessage(text(id), { role: text(role), content, ...toOptions<NewMessage>(kwargs) }),
  replace_messages: (store, [id, messages]) => store.replaceMessages(text(id), messages as NewMessage[]),
  clear_messages: (store, [id]) => store.clearMessages(text(id)),
  get_messages_as_conversation: (store, [id], kwargs) =>
    store.getMessagesAsConversation(text(id), toOptions(kwargs)),
  rewind_to_message: (store, [id, message]) => store.rewindToMessage(text(id), Number(message)),
  restore_rewound: (store, [id, since]) => store.restoreRewound(text(id), Number(since)),
  set_session_title: (store, [id, title]) =>
    store.setSessionTitle(text(id), title === null ? null : text(title)),
  set_session_archived: (store, [id, archived]) => store.setSessionArchived(text(id), archived === true),
  set_session_pinned: (store, [id, pinned]) => store.setSessionPinned(text(id), pinned === true),
  set_session_hidden: (store, [id, hidden]) => store.setSessionHidden(text(id), hidden === true),
  get_active_message_watermark: async (store, [id]) =>
    (await store.getSessionMark(text(id)))?.last_message_id ?? null,
  try_acquire_session_turn_lease: async (store, [id, holder]) =>
    (await store.acquireSessionLease(text(id), text(holder))).acquired,
  delete_session: (store, [id]) => store.deleteSession(text(id)),
  delete_sessions: (store, [ids]) => store.deleteSessions(ids as unknown[]),
  delete_session_if_empty: (store, [id]) => store.deleteSessionIfEmpty(text(id)),
  delete_empty_sessions: (store) => store.deleteEmptySessions(),
  count_empty_sessions: (store) => store.countEmptySessions(),
  prune_sessions: (store, _args, kwargs) => store.pruneSessions(toOptions(kwargs)),
  prune_empty_ghost_sessions: (store) => store.file!.pruneEmptyGhostSessions(),
  finalize_orphaned_compression_sessions: (store) => store.file!.finalizeOrphanedCompressionSessions(),
  try_acquire_compression_lock: (store, [id, holder, ttl]) =>
    store.tryAcquireCompressionLock(text(id), text(holder), { ttl: Number(ttl) }),
  release_compression_lock: (store, [id, holder]) => store.releaseCompressionLock(text(id), text(holder)),
  get_compression_lock_holder: (store, [id]) => store.getCompressionLockHolder(text(id)),
};

function text(value: unknown): string {
  if (typeof value !== "string")
    throw new Error(`expected text in the vectors, found ${JSON.stringify(value)}`);
  return value;
}
