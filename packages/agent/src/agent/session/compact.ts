// A compaction, from top to bottom: lock the session, flush it, ask provider and engine, cut messages that still do not
// fit, write the shorter list as a new session in one transaction, unlock. Until that transaction nothing has changed; when it
// fails, nothing has changed either.
import {
  type CompressCommand,
  type CompressOutcome,
  type ConfirmDigest,
  compressFeedback,
  estimateMessages,
  fitMessages,
  isTaskList,
  type Notice,
  refusedCount,
  rejoin,
  type StoredMessages,
  splitForPartial,
  withoutRefused,
} from "@hermes-memory/core/internal/context";
import { describeCause, err, type Result } from "@hermes-memory/core/internal/lib";
import { type Message, newMessage, withMeta } from "@hermes-memory/core/internal/message";
import { checkpointMissing } from "@hermes-memory/core/internal/providers";
import { notedResult, READ_RESULT } from "@hermes-memory/core/internal/sessions";
import type { AgentEvent } from "../events.ts";
import type { AgentParts } from "../parts.ts";
import type { CompressChoices, CompressReport } from "../surface.ts";
import { newestCalls } from "../tools/run-calls.ts";
import type { Hold, Session } from "./session.ts";
import { shownContent } from "./transcript.ts";

export type CompactDeps = Pick<
  AgentParts,
  "home" | "model" | "engine" | "manager" | "config" | "tools" | "todo" | "events" | "log" | "clock"
> & { readonly session: Session };

export type CompactionRequest = {
  readonly focusTopic?: string | undefined;
  /** Compact even right after a failure, and even if it saves little. */
  readonly force?: boolean;
  /** Leave this many of the newest exchanges unchanged. */
  readonly keep?: number | undefined;
  readonly currentTokens?: number | undefined;
  /** See `CompressOptions` of the engine. */
  readonly confirmDigest?: ConfirmDigest | undefined;
  /** The caller shows the notices of the report, so no events repeat them. */
  readonly showsNotices?: boolean | undefined;
  /**
   * The limit for the next request, in estimated tokens: tail, head and then single results give way until it is met, or nothing more
   * can.
   */
  readonly limitEstimate?: number | undefined;
  readonly signal?: AbortSignal | undefined;
};

export type CompactionReport = Omit<
  Extract<AgentEvent, { type: "compaction-end" }>,
  "type" | "oldSessionId"
> & { readonly notices: readonly string[]; readonly reason?: CompressOutcome["reason"] };

/** For `/compress`. Like a turn it first takes the lease and reads messages that other processes added. */
export function compressNow(
  deps: CompactDeps,
  command: CompressCommand,
  choices: CompressChoices,
  signal: AbortSignal,
): Promise<CompressReport> {
  const { session, tools } = deps;
  const unchanged = (kind: "busy" | "unchanged" | "aborted", why?: string): CompressReport => {
    const figures = { messages: session.messages.length, tokens: 0 };
    const notices = why === undefined ? [] : [why];
    return { kind, feedback: compressFeedback(figures, figures), notices, sessionId: session.id };
  };
  return session.whileReserved(async (hold: Hold) => {
    try {
      if (hold.kind === "busy" || hold.kind === "gone") return unchanged("busy", hold.message);
      if (session.messages.length === 0) return unchanged("unchanged");
      if (waitsForClient(deps)) return unchanged("unchanged", WAITS_FOR_CLIENT);
      await session.ensureRow();
      await session.prompt.ensure(session.id, true, tools);
      const report = await compactSession(deps, {
        force: true,
        signal,
        ...choices,
        focusTopic: command.kind === "focus" ? command.topic : undefined,
        keep: command.kind === "partial" ? command.keep : undefined,
      });
      const feedback = compressFeedback(
        { messages: report.messagesBefore, tokens: report.tokensBefore },
        { messages: report.messagesAfter, tokens: report.tokensAfter },
      );
      return { kind: report.kind, notices: report.notices, sessionId: report.sessionId, feedback };
    } catch (cause) {
      if (!signal.aborted) throw cause;
      return unchanged("aborted");
    }
  });
}

const WAITS_FOR_CLIENT =
  "The conversation was not compacted, because the client has not sent the results of its tools yet. Send them, or another message, first.";

/** A compaction would answer the calls with a stub, and the results that the client sends later would find no call. */
function waitsForClient({ session, tools }: CompactDeps): boolean {
  return newestCalls(session.messages)?.open.some(({ name }) => !tools.has(name)) ?? false;
}

/** Rejects only with the signal's reason; the session is then unchanged. */
export async function compactSession(
  deps: CompactDeps,
  request: CompactionRequest,
): Promise<CompactionReport> {
  const { session, events } = deps;
  const before = { id: session.id, messages: session.messages.length, tokens: requestTokens(deps) };
  const report = ({ kind, notices = [], reason }: Ending): CompactionReport => ({
    kind,
    sessionId: session.id,
    messagesBefore: before.messages,
    messagesAfter: session.messages.length,
    tokensBefore: before.tokens,
    tokensAfter: requestTokens(deps),
    notices,
    reason,
  });
  const end = (ending: Ending): CompactionReport => {
    const ended = report(ending);
    if (ending.kind === "failed" || ending.kind === "busy") session.isCompactionPaused = true;
    const { notices: _notices, reason: _reason, ...figures } = ended;
    events.emit({ type: "compaction-end", oldSessionId: before.id, ...figures });
    return ended;
  };
  // The cause of the last failure is still there, and the user has been told of it.
  if (session.isCompactionPaused && !request.force) return report({ kind: "failed" });
  events.emit({
    type: "compaction-start",
    sessionId: before.id,
    messages: before.messages,
    tokens: before.tokens,
  });
  try {
    return end(await whileLocked(deps, request, (lockHolder) => compact(deps, request, lockHolder)));
  } catch (cause) {
    // A fault of the database or the engine does not end the turn as well.
    if (!request.signal?.aborted) return end(failed(deps, request, describeCause(cause)));
    end({ kind: "aborted" });
    throw cause;
  }
}

type Ending = Pick<CompactionReport, "kind" | "reason"> & { readonly notices?: readonly string[] };

const LOCK_SECONDS = 300;

/** Without a database there is no lock. It is renewed while a summary is written: that can take longer than the lock lives. */
async function whileLocked(
  deps: CompactDeps,
  request: CompactionRequest,
  work: (lockHolder: string | undefined) => Promise<Ending>,
): Promise<Ending> {
  const { store, id, holder } = deps.session;
  if (store === undefined) return work(undefined);
  const ttl = { ttl: LOCK_SECONDS };
  const busy = await store.tryAcquireCompressionLock(id, holder, ttl).then(
    (isTaken) => (isTaken ? undefined : "another process compacts this session right now"),
    (cause: unknown) => `the session could not be locked: ${describeCause(cause)}`,
  );
  if (busy !== undefined) {
    const text = `The conversation was not compacted, because ${busy}.`;
    tell(deps, request, { cause: `compaction-lock:${id}`, text });
    return { kind: "busy", notices: [text] };
  }
  // Whether it is still ours is asked again before anything changes.
  const renew = (): void => void store.renewCompressionLock(id, holder, ttl).catch(() => undefined);
  const timer = setInterval(renew, (LOCK_SECONDS * 1000) / 3).unref();
  try {
    return await work(holder);
  } finally {
    clearInterval(timer);
    await store.releaseCompressionLock(id, holder).catch(() => undefined); // it expires
  }
}

async function compact(
  deps: CompactDeps,
  request: CompactionRequest,
  lockHolder: string | undefined,
): Promise<Ending> {
  const { session, model, engine, manager, config, events } = deps;
  if (lockHolder !== undefined && !(await session.flush()))
    return failed(
      deps,
      request,
      "the last messages could not be stored, and without that they would be lost",
    );

  // The engine gets the messages without those for one turn only, those that the provider refused, and the kept tail.
  const refused = refusedCount(session.messages);
  const spoken = session.messages.filter(({ meta }) => meta.ephemeral === undefined).map(asStored);
  const whole = withoutRefused(spoken);
  const checkpoint = await manager?.checkpoint(whole);
  const blocked = config.compression.checkpointRequired ? checkpointMissing(checkpoint) : undefined;
  if (blocked !== undefined) return failed(deps, request, blocked);
  const { head, tail } =
    request.keep === undefined ? { head: whole, tail: [] } : splitForPartial(whole, request.keep);
  const room = roomFor(deps, whole, request.limitEstimate);
  const { currentTokens, focusTopic, force, confirmDigest, signal } = request;
  const outcome = await engine.compress(head, {
    roomTokens: room === undefined ? undefined : model.tokens(room),
    currentTokens,
    focusTopic,
    force,
    providerText: checkpoint?.text || undefined,
    confirmDigest,
    stored: storedMessages(deps),
    signal,
  });

  // Cut or leave out messages where the list is still too long. With `summary_failed` the user wants everything kept when there is
  // no summary; an engine that fails for another reason must not end the conversation.
  const isKept = outcome.kind === "aborted" && (room === undefined || outcome.reason === "summary_failed");
  const isSame =
    outcome.kind === "unchanged" || outcome.kind === "aborted" || isSameList(outcome.messages, head);
  const joined = isSame ? whole : rejoin(outcome.messages, tail);
  const fitted =
    room === undefined || isKept
      ? undefined
      : fitMessages(joined, room, (message) => whereIs(deps, message), {
          whereLeft: whereLeft(deps),
          stored: storedMessages(deps),
          isRefused: force === true,
        });
  const { shortened, leftOut } = fitted ?? { shortened: 0, leftOut: 0 };
  const isShorter = !isSame || shortened > 0 || leftOut > 0;

  const told = [
    ...outcome.notices,
    ...(isShorter && refused > 0 ? [refusedNotice(refused, session.id)] : []),
    ...(shortened > 0 ? [shortenedNotice(shortened)] : []),
    ...(leftOut > 0 ? [leftOutNotice(leftOut, lockHolder !== undefined)] : []),
  ];
  const notices = told.map(({ text }) => text);
  for (const notice of told) tell(deps, request, notice);
  if (!isShorter)
    return { kind: outcome.kind === "aborted" ? "aborted" : "unchanged", notices, reason: outcome.reason };

  const list = compactedList(deps, fitted?.messages ?? joined);
  const continued = await continueSession(deps, list, whole, lockHolder);
  if (!continued.ok) return failed(deps, request, continued.error);
  model.forgetLastSent();
  engine.onCompacted?.(requestTokens(deps));
  if (engine.compressionCount >= OFTEN)
    events.notice(
      "info",
      "compacted-often",
      "This conversation has been compacted more than once; details of its beginning may be gone from view. session_search (scope lineage) still finds them, and /new starts afresh.",
    );
  return { kind: isSame ? "pruned" : outcome.kind, notices, reason: outcome.reason };
}

const OFTEN = 2;

/** Ends the old session for the providers and writes the new one. The error says why the old one goes on. */
async function continueSession(
  { session, tools }: CompactDeps,
  list: readonly Message[],
  whole: readonly Message[],
  lockHolder: string | undefined,
): Promise<Result<void, string>> {
  if (lockHolder !== undefined) {
    if (!(await session.isOurs())) return err("another process goes on with this session");
    if ((await session.store?.getCompressionLockHolder(session.id)) !== lockHolder)
      return err("another process has taken over the compaction of this session");
    await session.tellEnd(whole);
  }
  return session.continueWith(list, { tools, lockHolder });
}

/** The tokens that the model's server is expected to count for the next request. */
function requestTokens({ session, model, tools }: CompactDeps): number {
  return model.tokens(session.requestEstimate(tools));
}

/** The part of a request's limit that is left for the list, in estimated tokens. */
function roomFor(
  { session, tools }: CompactDeps,
  list: readonly Message[],
  limitEstimate: number | undefined,
): number | undefined {
  if (limitEstimate === undefined) return undefined;
  const fixed = session.requestEstimate(tools) - estimateMessages(list);
  return Math.max(0, Math.trunc(limitEstimate) - fixed);
}

function isSameList(one: readonly Message[], other: readonly Message[]): boolean {
  return one.length === other.length && one.every((message, index) => message === other[index]);
}

// Messages on their way into the engine and out of it.

/** The database's content of a message: a summary and the copy in the new session may hold nothing else. */
function asStored(message: Message): Message {
  if (message.meta.storedContent === undefined) return message;
  return withMeta({ ...message, content: shownContent(message) }, { storedContent: undefined });
}

/** The list after a compaction, with the open tasks at its end. */
function compactedList(
  { session, todo, clock }: CompactDeps,
  messages: readonly Message[],
): readonly Message[] {
  const nowSeconds = clock.now().getTime() / 1000;
  todo.hydrate(session.messages);
  const tasks = todo.snapshotText();
  // A task list from an earlier compaction is out of date.
  const others = todo.isEmpty ? messages : messages.filter((message) => !isTaskList(message));
  const all = tasks === undefined ? others : [...others, newMessage({ role: "user", content: tasks })];
  const live = new Map(session.messages.map((message) => [message.meta.id, message]));
  return all.map((message) => {
    const sent = asSent(message, live.get(message.meta.id));
    return sent.meta.atSeconds > 0 ? sent : withMeta(sent, { atSeconds: nowSeconds });
  });
}

/** Undoes `asStored` for a message that stays: the model may not have seen yet the text that was added for it only. */
function asSent(message: Message, live: Message | undefined): Message {
  const stored = live?.meta.storedContent;
  if (live === undefined || stored === undefined) return message;
  const { content: sent } = live;
  const { content: kept } = message;
  if (kept === stored) return withMeta({ ...message, content: sent }, { storedContent: stored });
  if (typeof kept !== "string" || typeof sent !== "string" || typeof stored !== "string") return message;
  // A handoff may stand in front of it.
  if (stored === "" || !kept.endsWith(stored)) return message;
  const content = kept.slice(0, -stored.length) + sent;
  return withMeta({ ...message, content }, { storedContent: kept });
}

// Texts for the model: where it finds the messages that were cut. Every message was stored before the compaction, and its row is unchanged.

function whereIs({ session, tools }: CompactDeps, message: Message): string {
  const { rowId: row } = message.meta;
  const isResult = message.role === "tool" && tools.has(READ_RESULT);
  const kept = isResult ? notedResult(message.content, message.toolCallId) : undefined;
  if (kept !== undefined)
    return `All of it is kept as result ${kept.id}: read it in parts with ${READ_RESULT}.`;
  if (row === undefined) return "They are not stored: call the tool again with arguments that ask for less.";
  if (tools.has("lcm_expand")) return `The whole text is stored: lcm_expand(store_id=${row}).`;
  return `The whole text is stored in message ${row} of session ${session.id}; session_search(session_id="${session.id}", around_message_id=${row}) shows it, and session_search with scope "lineage" finds words in it.`;
}

/** Undefined: nothing is stored. */
function storedMessages({ session, tools }: CompactDeps): StoredMessages | undefined {
  if (session.store === undefined) return undefined;
  return tools.has("session_search") ? "searchable" : "kept";
}

/** The same for messages that are no longer in the list. */
function whereLeft({ session, tools }: CompactDeps): string {
  if (session.store === undefined) return "They are not stored.";
  if (tools.has("session_search")) return 'session_search (scope "lineage") finds them.';
  return tools.has("lcm_grep")
    ? "lcm_grep finds them, lcm_expand shows them."
    : "The session database has them.";
}

// Notices for the user.

/** Shows the notice once: as an event, or in the report of the command. */
function tell(
  { events, log }: CompactDeps,
  { showsNotices }: CompactionRequest,
  { cause, text }: Notice,
): void {
  if (showsNotices) log.warn(text, { cause });
  else events.notice("warn", cause, text);
}

function failed(deps: CompactDeps, request: CompactionRequest, why: string): Ending {
  const text = `The conversation was not compacted, because ${why.replace(/\.$/, "")}. It goes on unchanged.`;
  tell(deps, request, { cause: `compaction-failed:${why}`, text });
  return { kind: "failed", notices: [text] };
}

function counted(count: number, one: string): string {
  return count === 1 ? `1 ${one}` : `${count} ${one}s`;
}

/** A summary request with these messages in it would be refused again. */
function refusedNotice(count: number, sessionId: string): Notice {
  const text = `The summary leaves out ${counted(count, "message")} that the model's provider had refused to read. They are still stored in session ${sessionId}.`;
  return { cause: `refused-not-summarised:${sessionId}`, text };
}

function leftOutNotice(count: number, isStored: boolean): Notice {
  const where = isStored ? "The session database has all of them." : "They are not stored.";
  const text = `${counted(count, "message")} had to be left out without a summary so that the conversation fits the model's window. ${where}`;
  return { cause: "messages-left-out", text };
}

function shortenedNotice(count: number): Notice {
  const text = `${counted(count, "long message")} had to be cut in the middle so that the conversation fits the model's window. The session database has all of the text.`;
  return { cause: "results-shortened", text };
}
