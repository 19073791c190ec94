// One compaction, in a fixed order: lock, store what is missing, hear the providers, compact, look at the lock again, end the old
// session for the providers, build the new prompt, rotate in one transaction, tell engine and providers, unlock. Until the
// transaction is done nothing has changed; when it fails, nothing has.
import {
  type CompressOutcome,
  type ConfirmDigest,
  estimateMessages,
  estimateRequest,
  fitMessages,
  type Notice,
  refusedCount,
  rejoin,
  splitForPartial,
  withoutRefused,
} from "@hermes-memory/core/context";
import { describeCause, HermesError } from "@hermes-memory/core/lib";
import { type Message, toNewMessage, withMeta } from "@hermes-memory/core/message";
import {
  type NewLineageSession,
  newSessionId,
  notedResult,
  READ_RESULT,
  type SessionStore,
} from "@hermes-memory/core/sessions";
import type { AgentCore } from "../core.ts";

import { asStored, compactedList } from "./compacted-list.ts";
import { CompactionLock } from "./compaction-lock.ts";
import type { SessionLease } from "./lease.ts";

export type CompactionRequest = {
  /** The lease of the turn, which moves along to the continuation. */
  readonly lease?: SessionLease | undefined;
  readonly focusTopic?: string | undefined;
  /** Also right after a failure, and also when little is to be gained. */
  readonly force?: boolean;
  /** Leave so many of the newest exchanges alone. */
  readonly keep?: number | undefined;
  readonly currentTokens?: number | undefined;
  /** See `CompressOptions` of the engine. */
  readonly confirmDigest?: ConfirmDigest | undefined;
  /** Whoever asked for it shows the notices of the report. */
  readonly showsNotices?: boolean | undefined;
  /**
   * What the next request may cost, in estimated tokens: tail, head and then single results give way until it does, or nothing is left
   * that could.
   */
  readonly limitEstimate?: number | undefined;
  readonly signal?: AbortSignal | undefined;
};

export type CompactionReport = {
  readonly kind: CompressOutcome["kind"] | "busy" | "failed";
  readonly sessionId: string;
  readonly messagesBefore: number;
  readonly messagesAfter: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly notices: readonly string[];
  readonly reason?: CompressOutcome["reason"];
};

/** Rejects only with the signal's reason; the session is then as it was. */
export async function compactSession(core: AgentCore, request: CompactionRequest): Promise<CompactionReport> {
  const { transcript, store } = core.parts;
  const before = { id: core.sessionId, messages: transcript.messages.length, tokens: requestTokens(core) };
  if (core.isCompactionPaused && !request.force) return notAgain(before);
  core.emit({
    type: "compaction-start",
    sessionId: before.id,
    messages: before.messages,
    tokens: before.tokens,
  });
  const end = (
    kind: CompactionReport["kind"],
    notices: readonly string[] = [],
    reason?: CompressOutcome["reason"],
  ) => {
    const report: CompactionReport = {
      kind,
      sessionId: core.sessionId,
      messagesBefore: before.messages,
      messagesAfter: transcript.messages.length,
      tokensBefore: before.tokens,
      tokensAfter: requestTokens(core),
      notices,
      ...(reason === undefined ? {} : { reason }),
    };
    if (kind === "failed" || kind === "busy") core.isCompactionPaused = true;
    const { notices: _notices, reason: _reason, ...figures } = report;
    core.emit({ type: "compaction-end", oldSessionId: before.id, ...figures });
    return report;
  };
  if (store === undefined) return settled(core, request, end, () => attempt(core, request, undefined, end));
  const lock = await CompactionLock.take(store, before.id, core.parts.holder).catch(
    (cause: unknown) => cause,
  );
  if (!(lock instanceof CompactionLock)) {
    const why =
      lock === undefined
        ? "another process compacts this session right now"
        : `the session could not be locked: ${describeCause(lock)}`;
    const text = `The conversation was not compacted, because ${why}.`;
    tell(core, request, { cause: `compaction-lock:${before.id}`, text });
    return end("busy", [text]);
  }
  try {
    return await settled(core, request, end, () => attempt(core, request, { store, lock }, end));
  } finally {
    await lock.release();
  }
}

/** What stood in the way a moment ago still does. Nobody is told twice. */
function notAgain({ id, messages, tokens }: Before): CompactionReport {
  return {
    kind: "failed",
    sessionId: id,
    messagesBefore: messages,
    messagesAfter: messages,
    tokensBefore: tokens,
    tokensAfter: tokens,
    notices: [],
  };
}

/** Whoever watches is told of every end. What a database or an engine does must not end the turn as well. */
async function settled(
  core: AgentCore,
  request: CompactionRequest,
  end: End,
  work: () => Promise<CompactionReport>,
): Promise<CompactionReport> {
  try {
    return await work();
  } catch (cause) {
    if (!request.signal?.aborted) return failed(core, request, end, describeCause(cause));
    end("aborted");
    throw cause;
  }
}

type Before = { readonly id: string; readonly messages: number; readonly tokens: number };
type Stored = { readonly store: SessionStore; readonly lock: CompactionLock };
type End = (
  kind: CompactionReport["kind"],
  notices?: readonly string[],
  reason?: CompressOutcome["reason"],
) => CompactionReport;

async function attempt(
  core: AgentCore,
  request: CompactionRequest,
  stored: Stored | undefined,
  end: End,
): Promise<CompactionReport> {
  const { transcript, manager, engine } = core.parts;
  if (stored !== undefined && !(await core.flush()))
    return failed(core, request, end, "what was said last could not be stored, and it must not get lost");
  const refused = refusedCount(transcript.messages);
  const spoken = transcript.messages.filter(({ meta }) => meta.ephemeral === undefined).map(asStored);
  const whole = withoutRefused(spoken);
  const providerText = (await manager?.onPreCompress(whole)) ?? "";
  const { head, tail } =
    request.keep === undefined ? { head: whole, tail: [] } : splitForPartial(whole, request.keep);
  const room = roomFor(core, whole, request.limitEstimate);
  const outcome = await engine.compress(head, {
    ...(room === undefined ? {} : { roomTokens: core.calibration.tokens(room) }),
    ...(request.currentTokens === undefined ? {} : { currentTokens: request.currentTokens }),
    ...(request.focusTopic === undefined ? {} : { focusTopic: request.focusTopic }),
    ...(request.force ? { force: true } : {}),
    ...(providerText === "" ? {} : { providerText }),
    ...(request.confirmDigest === undefined ? {} : { confirmDigest: request.confirmDigest }),
    ...(request.signal === undefined ? {} : { signal: request.signal }),
  });
  // Who wants everything kept when there is no summary gets that; an engine that cannot work must not end the conversation.
  const isKept = outcome.kind === "aborted" && (room === undefined || outcome.reason === "summary_failed");
  const isSame =
    outcome.kind === "unchanged" || outcome.kind === "aborted" || isSameList(outcome.messages, head);
  const joined = isSame ? whole : rejoin(outcome.messages, tail);
  const fitted =
    room === undefined || isKept
      ? undefined
      : fitMessages(joined, room, (message) => whereIs(core, message), {
          whereLeft: whereLeft(core),
          isRefused: request.force === true,
        });
  const { shortened, leftOut } = fitted ?? { shortened: 0, leftOut: 0 };
  const isShorter = !isSame || shortened > 0 || leftOut > 0;
  const told = [
    ...outcome.notices,
    ...(isShorter && refused > 0 ? [refusedNotice(refused, core.sessionId)] : []),
    ...(shortened > 0 ? [shortenedNotice(shortened)] : []),
    ...(leftOut > 0 ? [leftOutNotice(leftOut, stored !== undefined)] : []),
  ];
  const notices = told.map(({ text }) => text);
  for (const notice of told) tell(core, request, notice);
  if (!isShorter) return end(outcome.kind === "aborted" ? "aborted" : "unchanged", notices, outcome.reason);
  const kind = isSame ? "pruned" : outcome.kind;
  const list = compactedList(core, fitted?.messages ?? joined);
  if (stored === undefined) {
    transcript.replace(list);
    core.parts.prompt.drop();
    await core.parts.prompt.build(core.sessionId);
  } else {
    const problem = await rotate(core, list, whole, { ...stored, lease: request.lease });
    if (problem !== undefined) return failed(core, request, end, problem);
  }
  core.lastSent = undefined;
  engine.onCompacted?.(requestTokens(core));
  if (engine.compressionCount >= OFTEN)
    core.notice(
      "info",
      "compacted-often",
      "This conversation has been compacted more than once; details of its beginning may be gone from view. session_search (scope lineage) still finds them, and /new starts afresh.",
    );
  return end(kind, notices, outcome.reason);
}

const OFTEN = 2;

/** The summary does not hold them: a request with them in it would be refused again. */
function refusedNotice(count: number, sessionId: string): Notice {
  const messages = count === 1 ? "1 message" : `${count} messages`;
  return {
    cause: `refused-not-summarised:${sessionId}`,
    text: `The summary leaves out ${messages} that the model's provider had refused to read. They are still stored in session ${sessionId}.`,
  };
}

/** Of a request that may cost so much, what is left for the list. */
function roomFor(
  core: AgentCore,
  list: readonly Message[],
  limitEstimate: number | undefined,
): number | undefined {
  if (limitEstimate === undefined) return undefined;
  return Math.max(0, Math.trunc(limitEstimate) - (requestEstimate(core) - estimateMessages(list)));
}

/** For the model. Every message was stored before the compaction, and its row stays as it is. */
function whereIs(core: AgentCore, message: Message): string {
  const { rowId: row } = message.meta;
  const isResult = message.role === "tool" && core.table.has(READ_RESULT);
  const kept = isResult ? notedResult(message.content, message.toolCallId) : undefined;
  if (kept !== undefined)
    return `All of it is kept as result ${kept.id}: read it in parts with ${READ_RESULT}.`;
  if (row === undefined) return "They are not stored: call the tool again with arguments that ask for less.";
  if (core.table.has("lcm_expand")) return `The whole text is stored: lcm_expand(store_id=${row}).`;
  return `The whole text is stored in message ${row} of session ${core.sessionId}; session_search(session_id="${core.sessionId}", around_message_id=${row}) shows it, and session_search with scope "lineage" finds words in it.`;
}

/** For the model: the same for messages that are no longer in the list. */
function whereLeft({ table, parts }: AgentCore): string {
  if (parts.store === undefined) return "They are not stored.";
  if (table.has("session_search")) return 'session_search (scope "lineage") finds them.';
  return table.has("lcm_grep")
    ? "lcm_grep finds them, lcm_expand shows them."
    : "The session database has them.";
}

function leftOutNotice(count: number, isStored: boolean): Notice {
  const messages = count === 1 ? "1 message" : `${count} messages`;
  const where = isStored ? "The session database has all of them." : "They are not stored.";
  return {
    cause: "messages-left-out",
    text: `${messages} had to be left out without a summary so that the conversation fits the model's window. ${where}`,
  };
}

function shortenedNotice(count: number): Notice {
  const texts = count === 1 ? "1 long message" : `${count} long messages`;
  return {
    cause: "results-shortened",
    text: `${texts} had to be cut in the middle so that the conversation fits the model's window. The session database has all of the text.`,
  };
}

/** Undefined when the session goes on in its continuation; otherwise why it does not. */
async function rotate(
  core: AgentCore,
  list: readonly Message[],
  left: readonly Message[],
  { store, lock, lease }: Stored & { readonly lease?: SessionLease | undefined },
): Promise<string | undefined> {
  const { transcript, manager, engine, prompt, clock } = core.parts;
  const old = core.sessionId;
  if (lease !== undefined && !(await lease.isHeld())) return "another process goes on with this session";
  if (!(await lock.isOurs())) return "another process has taken over the compaction of this session";
  await manager?.onSessionEnd(left);
  await Promise.resolve(engine.onSessionEnd?.(old, left)).catch((cause: unknown) =>
    core.parts.log.warn(`The context engine failed at the end of the session: ${describeCause(cause)}`),
  );
  const id = newSessionId(clock.now());
  const previous = prompt.kept;
  try {
    prompt.drop();
    const text = await prompt.build(id);
    await lease?.prepare(id);
    const continued = await store.continueSession(old, {
      id,
      systemPrompt: text,
      ...(prompt.own === undefined ? {} : { ownPrompt: prompt.own }),
      model: core.model.identity.model,
      messages: list.map(toNewMessage),
      lockHolder: lock.holder,
      leaseHolder: core.parts.holder,
    });
    transcript.adopt(
      id,
      list.map((message, index) => withMeta(message, { rowId: rowOf(continued, index) })),
    );
  } catch (cause) {
    prompt.restore(previous);
    await lease?.abandon(id);
    return describeCause(cause);
  }
  core.noteRow(id);
  core.parentSessionId = old;
  await lease?.switchTo(id);
  await tellOfContinuation(core, old);
  return undefined;
}

function rowOf({ id, messageIds }: NewLineageSession, index: number): number {
  const row = messageIds[index];
  if (row !== undefined) return row;
  throw new HermesError(
    "missing-row",
    `The database has ${messageIds.length} messages of session ${id}, which is fewer than it was given.`,
  );
}

/** The conversation goes on in the agent's session, which is the continuation of `old`. */
export async function tellOfContinuation(core: AgentCore, old: string): Promise<void> {
  const { engine, manager, home, platform } = core.parts;
  const id = core.sessionId;
  await Promise.resolve(
    engine.onSessionStart?.(id, {
      boundaryReason: "compression",
      oldSessionId: old,
      hermesHome: home,
      platform,
      model: core.model.identity.model,
      contextLength: core.window.tokens,
    }),
  ).catch((cause: unknown) =>
    core.parts.log.warn(`The context engine failed at the start of the session: ${describeCause(cause)}`),
  );
  await manager?.onSessionSwitch(id, { parent_session_id: old, reset: false, reason: "compression" });
  core.emit({ type: "session-switch", from: old, to: id, reason: "compression" });
}

function failed(core: AgentCore, request: CompactionRequest, end: End, why: string): CompactionReport {
  const text = `The conversation was not compacted, because ${why.replace(/\.$/, "")}. It goes on as it was.`;
  tell(core, request, { cause: `compaction-failed:${why}`, text });
  return end("failed", [text]);
}

/** The user is told once: by an event, or by the answer to the command. */
function tell(core: AgentCore, { showsNotices }: CompactionRequest, { cause, text }: Notice): void {
  if (showsNotices) core.parts.log.warn(text, { cause });
  else core.notice("warn", cause, text);
}

function isSameList(one: readonly Message[], other: readonly Message[]): boolean {
  return one.length === other.length && one.every((message, index) => message === other[index]);
}

/** What the model's server is expected to count for the next request. */
export function requestTokens(core: AgentCore): number {
  return core.calibration.tokens(requestEstimate(core));
}

/** The same before any server has counted: for comparisons with other estimates. */
export function requestEstimate(core: AgentCore): number {
  const { prompt, transcript, ephemeral = "", prefill } = core.parts;
  const messages = withoutRefused(transcript.messages);
  return estimateRequest({
    system: ephemeral === "" ? (prompt.text ?? "") : `${prompt.text ?? ""}\n\n${ephemeral}`,
    messages: prefill.length === 0 ? messages : [...prefill, ...messages],
    tools: core.table.definitions(),
  });
}
