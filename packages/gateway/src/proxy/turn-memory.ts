// The memory of one proxied request: opens its chat, stores what the client says, finds what to insert, and stores the reply. Nothing here
// may break the request: what fails is left out, with a notice for the reply and a line in the log. Only a wrong identity refuses.
import type { Usage } from "@hermes-memory/agent/internal/models";
import type { HermesConfig } from "@hermes-memory/core/internal/config";
import { describeCause, HermesError, isRecord, outsideJsonOr } from "@hermes-memory/core/internal/lib";
import type { Asked, AskOptions, OpenedChat } from "@hermes-memory/core/internal/memory";
import { type Message, newMessage, textOf, toolCallsOf } from "@hermes-memory/core/internal/message";
import type { SessionStore } from "@hermes-memory/core/internal/sessions";
import { charge, type Used } from "../allowance.ts";
import { sourceOf } from "../identity.ts";
import { type JsonObject, type ModelTurn, ProblemError } from "../types.ts";
import {
  forkMarks,
  listOf,
  placesOf,
  questionOf,
  replyMarks,
  responseMark,
  roundMark,
  type Stretch,
  stretchesOf,
  summaryMarks,
} from "./chain.ts";
import { carriesBlock, type HiddenRounds, type Insertions, insert, NOTHING } from "./insert.ts";

/** What the client was told, and what it was not: everything of one reply. */
type ToldReply = {
  /** Replies that called our tools, and the results. */
  readonly hidden: readonly Message[];
  /** The reply that the client was told, as the model gave it; undefined if it said nothing. */
  readonly last: Message | undefined;
  /** All text that the client was shown, and the calls that were handed back to it. */
  readonly shownText: string;
  readonly handedBack: readonly string[];
  /** Undefined: there were no hidden rounds. */
  readonly rounds: HiddenRounds | undefined;
  /** Of the Responses API, in the order of the rounds. */
  readonly responseIds: readonly string[];
  /** Of the Responses API: a client may name an item of the reply instead of repeating it. */
  readonly itemIds?: readonly string[];
};

export interface TurnMemory {
  /** Undefined: the chat could not be opened. */
  readonly sessionId: string | undefined;
  readonly insertions: Insertions;
  /** For the reply: what could not be done, in words. `storeReply` may add some. */
  readonly notices: readonly string[];
  storeReply(reply: EndedTurn): Promise<void>;
}

/** How a proxied turn has ended. */
export type EndedTurn = ToldReply & {
  readonly model: { readonly model: string; readonly provider: string };
  /** What each call of the model cost. */
  readonly used: readonly Used[];
};

/** Every proxied turn that asked a model ends here, whether it got a reply or not. Never rejects: the reply is the client's. */
export async function finishTurn(turn: ModelTurn, memory: TurnMemory, ended: EndedTurn): Promise<void> {
  for (const used of ended.used) await charge(turn, ended.model, used);
  await memory.storeReply(ended).catch((cause: unknown) => {
    turn.gateway.log.error("Proxy: a reply could not be stored", { cause });
  });
}

export type TurnMemoryOptions = {
  readonly config: HermesConfig;
  /** Names of our tools, whose calls and results the client never sees. */
  readonly hiddenTools: readonly string[];
};

export async function openTurnMemory(turn: ModelTurn, options: TurnMemoryOptions): Promise<TurnMemory> {
  const { gateway, memory, chatId, identity } = turn;
  const { session } = identity;
  const notices: string[] = [];
  const startedAt = gateway.clock.now().getTime() / 1000;
  const startedAtMs = performance.now();

  /** Undefined if it failed. Each part of memory has its own limit of time. */
  const tried = async <T>(what: string, work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (cause) {
      if (isAboutIdentity(cause)) throw cause;
      turn.signal.throwIfAborted();
      notices.push(`${what} (${codeOf(cause)}).`);
      gateway.log.warn(`Proxy: ${what}: ${describeCause(cause)}`, { wire: turn.wire.name });
      gateway.metrics.count("proxy_memory_failures");
      return undefined;
    }
  };

  const opened = await tried("This request is not remembered, and memory was not used", async () => {
    const { parentChatId } = session;
    const sessionId = identity.user === undefined ? session.sessionId : undefined;
    const source = sourceOf(identity);
    const chat = await memory.openChat(chatId, { source, sessionId, parentChatId, forkOf: forkMarks(turn) });
    const store = await memory.layers.sessions({ mode: "write", create: true });
    await store.gateway.saveMarks(chat.sessionId, turn.requestMarks ?? []);
    return { chat, store };
  });
  if (opened === undefined)
    return { sessionId: undefined, insertions: NOTHING, notices, storeReply: async () => {} };
  const { store, chat } = opened;
  const { sessionId } = chat;

  await tried("An earlier reply of this chat is still not stored", () => storeKept(memory, chatId));
  const found = await tried("Earlier recall and tool rounds were left out", () =>
    findEarlier(turn, store, sessionId),
  );
  const told =
    (await tried("Earlier tool rounds were left out", async () => toldMessages(turn, found?.rounds ?? []))) ??
    turn.request.messages;
  const rule = await askRule(turn, store, sessionId, options.hiddenTools);
  const isNewOnly = told.length === 1 && rule.list !== "whole";
  let asked: Asked | undefined;
  let whyNot: unknown;
  const ask = async (): Promise<void> => {
    try {
      asked ??= await memory.ask(chat, told, { ...rule, signal: turn.signal });
    } catch (cause) {
      whyNot = cause;
      throw cause;
    }
  };
  const [, block] = await Promise.all([
    tried("The user's message was not stored", ask),
    tried("The memory block was left out", () => memory.block(chat)),
  ]);
  const fresh =
    found !== undefined && options.config.gateway.recall
      ? await tried("Recall was left out", () => recallFor(turn, store, chat, found.recalls))
      : undefined;

  return {
    sessionId,
    notices,
    insertions: insertionsOf(turn, block ?? "", found, fresh?.recalls),
    async storeReply(reply) {
      const { hidden, last } = reply;
      const said = [...hidden, ...(last === undefined ? [] : [last])];
      // The marks first: the write of the reply waits for the disk, and for everything before it.
      await tried("The reply is stored without marks", () => saveTraces(turn, store, sessionId, reply));
      await tried("What this turn used was not stored", () =>
        store.turns.addTurn({
          session_id: sessionId,
          at: startedAt,
          duration_ms: performance.now() - startedAtMs,
          mode: "proxy",
          model: reply.model.model,
          ...usedIn(reply.used),
          recall: fresh?.id,
        }),
      );
      if (said.length === 0) return;
      const storeSaid = async (): Promise<void> => {
        // Only a request that takes nothing back may be stored this late; the next list of the client has the others.
        if (asked === undefined && isNewOnly) await ask();
        if (asked === undefined) throw whyNot;
        await memory.answer(asked, said);
      };
      const isStored = await tried(NOT_STORED, () => storeSaid().then(() => true));
      if (isStored === undefined) {
        if (asked !== undefined || isNewOnly) keep(memory, { chatId, store: storeSaid });
        return;
      }
      gateway.metrics.count("turns_stored_total", { mode: "proxy" });
      if (last?.meta.finishReason === "interrupted") return;
      turn.onSent?.(() => noteDelivered(turn, store, asked));
    },
  };
}

/**
 * For a request of the client about its whole conversation, such as a summary: what earlier requests of the chat had, so that the vendor
 * finds the beginning that it knows. Asks for no recall and stores nothing but marks of the summary, with which the list goes on.
 */
export async function readTurnMemory(turn: ModelTurn): Promise<TurnMemory> {
  const { memory, chatId, gateway } = turn;
  let insertions = NOTHING;
  try {
    const store = await memory.layers.sessions({ mode: "read" });
    const sessionId = chatId === "" ? undefined : (await memory.chat(chatId))?.sessionId;
    if (store && sessionId !== undefined) {
      const found = await findEarlier(turn, store, sessionId);
      insertions = insertionsOf(turn, await memory.block(chatId), found);
    }
  } catch (cause) {
    if (isAboutIdentity(cause)) throw cause;
    gateway.log.warn(`Proxy: a request about a chat goes without its memory: ${describeCause(cause)}`);
  }
  const storeReply: TurnMemory["storeReply"] = async ({ last }) => {
    try {
      const store = await memory.layers.sessions({ mode: "write" });
      const sessionId = chatId === "" || !last ? undefined : (await memory.chat(chatId))?.sessionId;
      if (sessionId !== undefined)
        await store?.gateway.saveMarks(sessionId, summaryMarks(textOf(last?.content ?? "")));
    } catch (cause) {
      gateway.log.warn(`Proxy: the chat of a summary was not noted: ${describeCause(cause)}`);
    }
  };
  return { sessionId: undefined, insertions, notices: [], storeReply };
}

function insertionsOf(
  { wire, body }: ModelTurn,
  block: string,
  { recalls = [], rounds = [], previousResponseId }: Partial<Earlier> = {},
  fresh: Insertions["recalls"] = [],
): Insertions {
  // A hook of the same home may have told the block already.
  const isCarried = carriesBlock(listOf(wire.name, body), block);
  const said = [...recalls, ...fresh].filter(({ text }) => text !== "");
  return { ...NOTHING, block: isCarried ? "" : block, recalls: said, rounds, previousResponseId };
}

const NOT_STORED =
  "The reply was not stored. It is stored with the next request of this chat, unless the server stops before";

/** How the list of the request belongs to the chat. */
async function askRule(
  { identity, retryKey, bodyHash }: ModelTurn,
  store: SessionStore,
  sessionId: string,
  hiddenTools: readonly string[],
): Promise<AskOptions> {
  const { history, kind, previousResponseId } = identity.session;
  const request = `body:${bodyHash}`;
  const isBehind = previousResponseId !== undefined;
  const list = history === "client" ? "whole" : isBehind || kind === "conversation" ? "newest" : "either";
  const isKey = retryKey?.startsWith("key:") === true;
  // Another message would name a newer response.
  const isSameAgain = isBehind && (await store.gateway.getAsk(sessionId))?.request === request;
  const isRetry = (retryKey !== undefined && !isKey) || isSameAgain;
  return { list, request, isRetry, hiddenTools, ...(isKey && { key: retryKey }) };
}

function noteDelivered({ gateway }: ModelTurn, store: SessionStore, asked: Asked | undefined): void {
  if (asked === undefined) return;
  store.gateway.saveDelivered(asked.sessionId, asked.token).catch((cause: unknown) => {
    gateway.log.warn(`A reply that arrived was not noted: ${describeCause(cause)}`);
  });
}

// ---- Replies that could not be stored ----

type Kept = { readonly chatId: string; readonly store: () => Promise<void> };
const MOST_KEPT = 64;
const kept = new WeakMap<ModelTurn["memory"], Kept[]>();

function keep(memory: ModelTurn["memory"], reply: Kept): void {
  kept.set(memory, [...(kept.get(memory) ?? []), reply].slice(-MOST_KEPT));
}

/** In the order in which they came. One that still cannot be stored waits on, unless its chat is gone. */
async function storeKept(memory: ModelTurn["memory"], chatId: string): Promise<void> {
  const { ours = [], others = [] } = Object.groupBy(kept.get(memory) ?? [], (each) =>
    each.chatId === chatId ? "ours" : "others",
  );
  kept.set(memory, others);
  for (const [at, each] of ours.entries())
    try {
      await each.store();
    } catch (cause) {
      if (codeOf(cause).startsWith("session-db-"))
        for (const waiting of ours.slice(at)) keep(memory, waiting);
      throw cause;
    }
}

// ---- What earlier requests had ----

type Earlier = {
  /** Of every message for which recall was asked before, whether it found something or not. */
  readonly recalls: Insertions["recalls"];
  readonly rounds: Insertions["rounds"];
  readonly previousResponseId: string | undefined;
};

async function findEarlier(turn: ModelTurn, store: SessionStore, sessionId: string): Promise<Earlier> {
  const { wire, body } = turn;
  const places = placesOf(wire.name, body);
  const traces = await store.turns.findRecalls(
    sessionId,
    places.flatMap(({ marks }) => marks),
  );
  const injected = new Map(traces.map((trace) => [trace.mark, trace.injected]));
  const recalls = places.flatMap(({ index, marks }) => {
    const mark = marks.find((one) => injected.has(one));
    return mark === undefined ? [] : [{ index, text: injected.get(mark) ?? "" }];
  });
  const { previous_response_id: id } = body;
  const previous = typeof id === "string" ? [responseMark(id)] : [];
  let stretches: readonly Stretch[] = [];
  const saved = await store.gateway.findRounds(
    sessionId,
    () => {
      stretches = stretchesOf(wire.name, body);
      return [...stretches.flatMap(({ marks }) => marks), ...previous];
    },
    wire.name,
  );
  const byMark = new Map(saved.map((round) => [round.mark, outsideJsonOr(round.items, undefined)]));
  const next = byMark.get(previous[0] ?? "");
  return {
    recalls,
    rounds: stretches.flatMap((stretch) => {
      const mark = stretch.marks.find((one) => byMark.has(one));
      const round = readRounds(mark === undefined ? undefined : byMark.get(mark));
      return round === undefined ? [] : [{ ...stretch, round }];
    }),
    previousResponseId: isRecord(next) && typeof next.next === "string" ? next.next : undefined,
  };
}

/**
 * The conversation as it was: with the hidden rounds. Our calls next to calls of the client are left out, as it shows them: the stored chat
 * knows which of its calls are hidden.
 */
function toldMessages(
  { wire, request, rawBody }: ModelTurn,
  rounds: Insertions["rounds"],
): readonly Message[] {
  if (rounds.length === 0) return request.messages;
  const whole = insert(wire.name, new TextDecoder().decode(rawBody), { ...NOTHING, rounds });
  const results = rounds.flatMap(({ round }) => round.results);
  const isOurs = (id: string): boolean => results.some((result) => result.includes(JSON.stringify(id)));
  return wire.parse(JSON.parse(whole) as JsonObject).messages.flatMap((message): Message[] => {
    if (message.role === "tool" && isOurs(message.toolCallId)) return [];
    if (message.role !== "assistant") return [message];
    return [{ ...message, toolCalls: message.toolCalls.filter(({ id }) => !isOurs(id)) }];
  });
}

function readRounds(value: unknown): HiddenRounds | undefined {
  if (!isRecord(value)) return undefined;
  const list = (name: keyof HiddenRounds): readonly string[] => {
    const given = value[name];
    return Array.isArray(given) ? given.filter((item) => typeof item === "string") : [];
  };
  return { before: list("before"), last: list("last"), results: list("results") }; // `last`: none by 0.3.0 and before
}

// ---- Recall ----

async function recallFor(
  turn: ModelTurn,
  store: SessionStore,
  chat: OpenedChat,
  earlier: Insertions["recalls"],
): Promise<{ readonly recalls: Insertions["recalls"]; readonly id?: number }> {
  const { wire, body, memory, signal } = turn;
  const question = questionOf(listOf(wire.name, body));
  if (question === undefined || earlier.some(({ index }) => index === question.index)) return { recalls: [] };
  const { index, text: query } = question;
  const recalled = await memory.recall(chat, query, { signal });
  const [mark] = placesOf(wire.name, body).find((place) => place.index === index)?.marks ?? [];
  // Kept before it is sent: what the model has seen once, it has to see at the same place again.
  const { durationMs: duration_ms, text: injected } = recalled;
  const at = turn.gateway.clock.now().getTime() / 1000;
  const found = JSON.stringify(recalled.found);
  const kept = { session_id: chat.sessionId, at, query, injected, found, duration_ms };
  const id = await store.turns.addRecall({ ...kept, mark: mark ?? null, mode: "proxy" });
  noteRecall(turn, { ...recalled, sessionId: chat.sessionId, mode: "proxy" });
  return { recalls: [{ index, text: injected }], id };
}

type NotedRecall = Awaited<ReturnType<ModelTurn["memory"]["recall"]>> & {
  readonly sessionId: string;
  readonly mode: "agent" | "proxy";
};

/** Counts and tells what was recalled for a message. */
export function noteRecall(
  { gateway, identity }: Pick<ModelTurn, "gateway" | "identity">,
  { sessionId: session_id, text, durationMs, mode }: NotedRecall,
): void {
  gateway.metrics.count("recalls", { mode, injected: String(text !== "") });
  gateway.metrics.observe("recall_seconds", durationMs / 1000, { mode });
  const { user, profile } = identity;
  gateway.events.emit({ type: "recall", user, profile, session_id });
}

// ---- After the reply ----

function usedIn(used: readonly Used[]) {
  const sum = (name: keyof Usage) => used.reduce((all, { usage }) => all + (usage?.[name] ?? 0), 0);
  return {
    input_tokens: sum("input"),
    output_tokens: sum("output"),
    cache_read_tokens: sum("cacheRead"),
    cache_write_tokens: sum("cacheWrite"),
    reasoning_tokens: sum("reasoning"),
    calls: used.length,
  };
}

/** Marks, by which the next request finds this session, and the rounds that it will bring without knowing them. */
async function saveTraces(
  turn: ModelTurn,
  store: SessionStore,
  sessionId: string,
  { hidden, last, shownText, handedBack, rounds, responseIds, itemIds = [] }: ToldReply,
): Promise<void> {
  const { wire, body } = turn;
  const newest = last ?? hidden.findLast(({ role }) => role === "assistant"); // a mixed batch is among the hidden ones
  const calls = newest === undefined ? [] : toolCallsOf(newest).filter(({ id }) => handedBack.includes(id));
  const told = newMessage({ role: "assistant", content: shownText, toolCalls: calls });
  await store.gateway.saveMarks(sessionId, replyMarks(turn, told, [...responseIds, ...itemIds]));
  if (rounds === undefined) return;
  const save = (mark: string, items: object): Promise<void> =>
    store.gateway.saveRound({ session_id: sessionId, mark, wire: wire.name, items: JSON.stringify(items) });
  await save(roundMark(wire.name, body, told), rounds);
  const next = responseIds.at(-1);
  // A client may go on from the response that it was told first; the conversation continues in the last one.
  for (const earlier of responseIds.slice(0, -1)) await save(responseMark(earlier), { next });
}

// ---- Failures ----

/** What the caller has to know, because another person's memory could be meant. */
function isAboutIdentity(cause: unknown): boolean {
  if (cause instanceof ProblemError) return cause.problem.status === 401 || cause.problem.status === 403;
  return cause instanceof HermesError && (cause.code === "bad-user-id" || cause.code === "bad-chat-id");
}

function codeOf(cause: unknown): string {
  return cause instanceof HermesError ? cause.code : "internal error";
}
