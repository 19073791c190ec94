// Compacts a chat: lock, ask the provider and the engine, write the continuation in one transaction, unlock. While the model writes the
// summary the chat can go on: messages that are stored meanwhile follow the summary. Until the transaction nothing has changed.
import { ContextCompressor, compressorSettings, estimateRequest, withoutRefused } from "../context/index.ts";
import type { Clock } from "../lib/index.ts";
import { type Message, toNewMessage } from "../message/index.ts";
import { checkpointMissing, type MemoryManager } from "../providers/index.ts";
import {
  forgetHolder,
  newHolder,
  newSessionId,
  type OwnPrompt,
  type SessionStore,
} from "../sessions/index.ts";
import { type ChatTurns, loadChat } from "./chat-session.ts";
import type { Person } from "./types.ts";
import type { Compacted, CompactOptions } from "./user-memory.ts";

export type CompactRequest = CompactOptions & {
  readonly chatId: string;
  readonly sessionId: string;
  /** The memory block that the chat has now. */
  readonly system: string;
};

export type CompactDeps = {
  readonly person: Person;
  readonly store: SessionStore;
  readonly turns: ChatTurns;
  readonly manager: MemoryManager | undefined;
  /** The memory block of the continuation, with the entries as they are now. */
  readonly newBlock: () => Promise<OwnPrompt>;
  /** Replaces the block that was stored if the entries are others by now. */
  readonly checkBlock: (sessionId: string, text: string) => Promise<unknown>;
};

const LOCK_SECONDS = 300;

export async function compactChat(deps: CompactDeps, request: CompactRequest): Promise<Compacted> {
  const { store } = deps;
  const { sessionId } = request;
  const holder = newHolder();
  try {
    if (!(await store.tryAcquireCompressionLock(sessionId, holder, { ttl: LOCK_SECONDS }))) {
      const { system } = request;
      const tokens = estimateRequest({ system, messages: await loadChat(store, sessionId) });
      return unchanged(request, tokens, "busy", ["Another process compacts this chat right now."]);
    }
    // A summary can take longer than the lock lives. Whether it is still ours is checked by the transaction.
    const renewal = setInterval(
      () => void store.renewCompressionLock(sessionId, holder, { ttl: LOCK_SECONDS }).catch(() => undefined),
      (LOCK_SECONDS * 1000) / 3,
    ).unref();
    try {
      return await whileLocked(deps, request, holder);
    } finally {
      clearInterval(renewal);
      await store.releaseCompressionLock(sessionId, holder);
    }
  } finally {
    forgetHolder(holder);
  }
}

async function whileLocked(
  { person, store, turns, manager, newBlock, checkBlock }: CompactDeps,
  request: CompactRequest,
  holder: string,
): Promise<Compacted> {
  const { chatId, sessionId, system, model, contextLength, focus, force, signal } = request;
  const stored = await loadChat(store, sessionId);
  const whole = withoutRefused(stored);
  const tokensBefore = estimateRequest({ system, messages: whole });
  const { clock } = person.memory;
  const config = await person.memory.config();
  const settings = compressorSettings(config, contextLength);
  const engine = new ContextCompressor({ ...settings, summarizer: model, clock });
  if (!force && !engine.shouldCompress(tokensBefore))
    return unchanged(request, tokensBefore, "unchanged", []);

  const checkpoint = await manager?.checkpoint(whole);
  const blocked = config.compression.checkpointRequired ? checkpointMissing(checkpoint) : undefined;
  if (blocked !== undefined)
    return unchanged(request, tokensBefore, "aborted", [`The chat was not compacted, because ${blocked}.`]);
  const outcome = await engine.compress(whole, {
    currentTokens: tokensBefore,
    focusTopic: focus,
    force,
    providerText: checkpoint?.text || undefined,
    stored: "kept",
    signal,
  });
  const notices = outcome.notices.map(({ text }) => text);
  if (outcome.kind === "unchanged" || outcome.kind === "aborted")
    return unchanged(request, tokensBefore, outcome.kind, notices);

  return turns.alone(
    chatId,
    async ({ row }) => {
      const newest = await loadChat(store, sessionId);
      const known = new Set(stored.map(({ meta }) => meta.rowId));
      const added = newest.filter(({ meta }) => !known.has(meta.rowId));
      if (row.id !== sessionId || newest.length - added.length < stored.length)
        return unchanged(request, tokensBefore, "unchanged", [
          ...notices,
          "The chat was not compacted: messages were taken back or it was continued while the summary was written.",
        ]);
      const messages = dated([...outcome.messages, ...added], clock);
      const ownPrompt = await newBlock();
      await manager?.onSessionEnd(whole);
      const title = await store.getSessionTitle(sessionId);
      const { id } = await store.continueSession(sessionId, {
        id: newSessionId(clock.now()),
        systemPrompt: ownPrompt.text,
        ownPrompt,
        messages: messages.map(toNewMessage),
        lockHolder: holder,
        leaseHolder: holder,
      });
      // One chat, one title: a continuation would get the next number.
      if (title !== null) {
        await store.setSessionTitle(sessionId, null);
        await store.setSessionTitle(id, title);
      }
      await checkBlock(id, ownPrompt.text);
      const tokensAfter = estimateRequest({ system: ownPrompt.text, messages });
      return { kind: outcome.kind, sessionId: id, tokensBefore, tokensAfter, notices };
    },
    { signal, holder, isKnown: true },
  );
}

/** The summary is new; every other message keeps its time. */
function dated(messages: readonly Message[], clock: Clock): readonly Message[] {
  const nowSeconds = clock.now().getTime() / 1000;
  return messages.map((message) =>
    message.meta.atSeconds > 0 ? message : { ...message, meta: { ...message.meta, atSeconds: nowSeconds } },
  );
}

function unchanged(
  { sessionId }: CompactRequest,
  tokens: number,
  kind: "unchanged" | "aborted" | "busy",
  notices: readonly string[],
): Compacted {
  return { kind, sessionId, tokensBefore: tokens, tokensAfter: tokens, notices };
}
