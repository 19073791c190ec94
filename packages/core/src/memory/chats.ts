// The chats of a person. `context` gives what to send to a model: the memory block as it was when the chat began, the stored history
// as far as it fits, and recall. `remember` stores what the chat does not have yet.
import { setImmediate } from "node:timers/promises";
import { estimateRequest, repairPairs } from "../context/index.ts";
import { MEMORY_TARGETS } from "../curated/index.ts";
import { sessionFiles } from "../home.ts";
import { describeCause, HermesError, pyStrip, randomHex } from "../lib/index.ts";
import type { Logger } from "../lib/logger.ts";
import { type Content, type Message, newMessage, textOf } from "../message/index.ts";
import { injectRecall } from "../providers/index.ts";
import { INTERNAL_SOURCES, type SessionRow, type SessionStore } from "../sessions/index.ts";
import { inTurns } from "./align.ts";
import { planAnswer, planAsk } from "./ask.ts";
import { fitTurns, forModel, isTold, withRecall } from "./chat-history.ts";
import { chatIdOf, chatSessionId, findChat } from "./chat-id.ts";
import { inFormat, isSpoken, lastUserText, readGiven, withoutRecall } from "./chat-messages.ts";
import { ChatProviders } from "./chat-providers.ts";
import { recallFor } from "./chat-recall.ts";
import {
  ChatTurns,
  findOpenChat,
  findSummary,
  type HeldChat,
  type LoadedChat,
  LoadedChats,
  listChatRows,
  loadChat,
  loadTranscript,
  loadWholeChat,
  type OpenChat,
  openChat,
  openKnownChat,
} from "./chat-session.ts";
import { badNumber, badOption, checkLimit, formatOf, isPositive } from "./options.ts";
import { alignChat, asNew, type Change, planChange, type RememberArguments } from "./remember.ts";
import type { Home, Person } from "./types.ts";
import type {
  Asked,
  AskOptions,
  Chat,
  ChatContext,
  Compacted,
  CompactOptions,
  ContextOptions,
  GivenMessage,
  MessageFormat,
  OpenChatOptions,
  OpenedChat,
  RecallAnswer,
  RecallOptions,
  Remembered,
  Transcript,
  TranscriptOptions,
  UserMemory,
} from "./user-memory.ts";

/** Stored with the memory block; the agent's prompts have other versions. */
const BLOCK_VERSION = 1_001;
const DEFAULT_MAX_TOKENS = 24_000;
const DEFAULT_TRANSCRIPT = 200;
/** How long `context` waits for another process before it builds a block that is not stored. */
const BLOCK_WAIT_MS = 2_000;
/** How often a block is stored whose entries change meanwhile. */
const BLOCK_ROUNDS = 3;
/** Recall of a turn is kept for so many turns and so long; a turn with many steps ends before. */
const MOST_RECALLS = 200;
const RECALL_MS = 10 * 60_000;

/** How often a write is planned again because another program wrote in between. */
const MOST_ROUNDS = 5;

type WritePlan = {
  readonly change: Change;
  /** The id of the exchange, and which of the new messages carries it. */
  readonly id?: string | undefined;
  readonly idAt: number;
  readonly isShown?: boolean;
  readonly ask?: NonNullable<Parameters<SessionStore["appendMany"]>[2]>["ask"];
};

type FoundChat = OpenChat & { readonly messages?: readonly Message[] };

export class Chats {
  readonly #person: Person;
  readonly #log: Logger;
  readonly #turns: ChatTurns;
  readonly #providers: ChatProviders;
  /** Recall of recent turns, so that every step of a turn sends the same bytes. */
  readonly #recalls = new Map<string, { readonly answer: Promise<RecallAnswer>; readonly untilMs: number }>();
  readonly #loaded = new LoadedChats();
  /** What was found for a turn, and, after what was asked is stored, the messages of the chat. */
  readonly #opened = new WeakMap<OpenedChat | Asked, FoundChat>();
  readonly #background = new Set<Promise<unknown>>();

  constructor(person: Person, log: Logger) {
    this.#person = person;
    this.#log = log;
    this.#turns = new ChatTurns(person);
    this.#providers = new ChatProviders(person, log);
  }

  /** Resolves when nothing is being stored any more. */
  async settled(): Promise<void> {
    await this.#turns.settled();
    await Promise.all(this.#background);
  }

  /** Before the person is erased: finishes what is being stored, and drops recall and providers, which start anew with the next turn. */
  async forgetAll(): Promise<void> {
    await this.settled();
    this.#recalls.clear();
    this.#loaded.clear();
    await this.#providers.endedAll();
  }

  // ---- The chat itself ----

  async openChat(chatId: string, options: OpenChatOptions = {}): Promise<OpenedChat> {
    const { source, sessionId, parentChatId, forkOf } = options;
    for (const [name, value] of Object.entries({ source, sessionId, parentChatId }))
      if (value !== undefined && (typeof value !== "string" || value === ""))
        throw badOption(`'${name}' is not a text, or is empty.`, "Leave it out, or pass a text.");
    const found = await openChat(this.#person, chatId, { source, sessionId, parentChatId, forkOf });
    const opened = { chatId, sessionId: found.row.id, isNew: found.isNew };
    this.#opened.set(opened, { store: found.store, row: found.row });
    return opened;
  }

  async #open(chat: string | OpenedChat): Promise<FoundChat & { readonly chatId: string }> {
    const chatId = typeof chat === "string" ? chat : chat.chatId;
    const found = typeof chat === "string" ? undefined : this.#opened.get(chat);
    return { ...(found ?? (await openChat(this.#person, chatId))), chatId };
  }

  async block(chat: string | OpenedChat): Promise<string> {
    const { chatId, store, row } = await this.#open(chat);
    return this.#block(chatId, store, row.id);
  }

  async recall(
    chat: string | OpenedChat,
    query: string,
    { signal }: RecallOptions = {},
  ): Promise<RecallAnswer> {
    if (typeof query !== "string")
      throw badOption("The query of recall is not a text.", "Pass what the user said.");
    signal?.throwIfAborted();
    const { chatId, store, row, ...known } = await this.#open(chat);
    const messages = known.messages ?? (await this.#loaded.load(store, row.id)).messages;
    const answer = await this.#recall(chatId, store, row.id, messages, query);
    signal?.throwIfAborted();
    return answer;
  }

  // ---- Context ----

  async context<F extends MessageFormat = "ai-sdk">(
    chatId: string,
    options: ContextOptions & { readonly format?: F } = {},
  ): Promise<ChatContext<F>> {
    const { query, identity, maxTokens = DEFAULT_MAX_TOKENS, signal } = options;
    if (!isPositive(maxTokens)) throw badNumber("maxTokens", maxTokens);
    const format = formatOf<F>(options.format);
    const given = options.messages === undefined ? [] : readGiven(options.messages);
    signal?.throwIfAborted();
    const { store, row } = await openChat(this.#person, chatId);
    const block = await this.#block(chatId, store, row.id);
    const { messages: stored } = await this.#loaded.load(store, row.id);

    const spoken = given.filter(isTold);
    const { late, fresh } = await alignChat(store, row.id, stored, spoken);
    const history = forModel(stored);
    const summary = await findSummary(store, row.id, stored);
    const fitted = fitTurns(history, maxTokens, summary?.meta.rowId);
    const asked = query ?? lastUserText(spoken); // in the middle of a turn, what the user said is stored already
    const startedAtMs = performance.now();
    const isAgain = this.#recalls.has(recallKey(row.id, stored, asked));
    const recalled =
      options.recall === false ? undefined : await this.#recall(chatId, store, row.id, stored, asked);
    const recall = recalled?.text ?? "";
    signal?.throwIfAborted();

    const front = given.filter(({ role }) => role === "system");
    // Together, because results of stored calls may be among the new messages.
    const messages = [...front, ...repairPairs([...fitted.messages, ...late, ...spoken.slice(fresh)])];
    const request =
      query === undefined
        ? withRecall(messages, recall)
        : [...messages, newMessage({ role: "user", content: injectRecall(query, recall) })];
    const system = [identity ?? "", block].filter((text) => pyStrip(text) !== "").join("\n\n");
    const tokens = estimateRequest({ system, messages: request });
    if (recalled !== undefined && !isAgain && pyStrip(asked) !== "")
      await this.#noteTurn(store, row, { ...recalled, query: asked, tokens, startedAtMs });
    return {
      chatId,
      sessionId: row.id,
      system,
      messages: inFormat(messages, format),
      recall,
      request: { ...(system === "" ? {} : { system }), messages: inFormat(request, format) },
      leftOut: fitted.leftOut,
      tokens,
    };
  }

  /** For people who look into it later. What the model used is not known here: the tokens are an estimate. */
  async #noteTurn(
    { turns, readOnly }: SessionStore,
    { id: session_id, model }: SessionRow,
    { query, text: injected, found, durationMs, tokens, startedAtMs }: NotedTurn,
  ): Promise<void> {
    if (readOnly) return;
    const at = this.#person.memory.clock.now().getTime() / 1000;
    const of = { session_id, at, mode: "library" } as const;
    try {
      const what = { query, injected, found: JSON.stringify(found), duration_ms: durationMs };
      const recall = await turns.addRecall({ ...of, ...what });
      const duration_ms = performance.now() - startedAtMs;
      await turns.addTurn({ ...of, duration_ms, model, input_tokens: tokens, recall });
      await pruneTurnsOf(this.#person.memory);
    } catch (cause) {
      this.#log.warn("What was recalled could not be stored", { cause });
    }
  }

  /** The memory block of the session: stored with the first call, and the same until the chat is compacted. */
  async #block(chatId: string, store: SessionStore, sessionId: string): Promise<string> {
    const kept = await storedBlock(store, sessionId);
    if (kept !== undefined) return kept;
    try {
      return await this.#turns.alone(
        chatId,
        async (chat) => {
          const meanwhile = await storedBlock(chat.store, chat.row.id);
          if (meanwhile !== undefined) return meanwhile;
          return this.#saveBlock(chat.store, chat.row.id);
        },
        { waitMs: BLOCK_WAIT_MS },
      );
    } catch (cause) {
      if (!(cause instanceof HermesError) || cause.code !== "chat-busy") throw cause;
      this.#log.warn(`The memory block of a chat was not stored: ${cause.message}`, { sessionId });
      return this.#buildBlock();
    }
  }

  /**
   * Stores the block, unless `stored` is it. Between reading the entries and storing them, another process may erase or change them: then
   * the stored block has texts that nobody has any more, and is replaced.
   */
  async #saveBlock(store: SessionStore, sessionId: string, stored?: string): Promise<string> {
    let text = stored;
    for (let round = 0; ; round += 1) {
      const now = await this.#buildBlock();
      if (now === text || round === BLOCK_ROUNDS) return now;
      await store.saveOwnPrompt(sessionId, now, BLOCK_VERSION);
      text = now;
    }
  }

  /** The entries as they are now. A provider's text about its tools is left out: they are not offered here. */
  async #buildBlock(): Promise<string> {
    const curated = await this.#person.curated({ log: (line) => this.#log.warn(line) });
    const blocks = MEMORY_TARGETS.flatMap((target) => curated?.renderSnapshot(target) ?? []);
    return blocks.filter((text) => text !== "").join("\n\n");
  }

  /** The same bytes for every step of a turn: the answers to a query are kept until the user says something else. */
  #recall(
    chatId: string,
    store: SessionStore,
    sessionId: string,
    stored: readonly Message[],
    query: string,
  ): Promise<RecallAnswer> {
    const turn = turnOf(stored, query);
    const key = recallKey(sessionId, stored, query);
    const known = this.#recalls.get(key);
    if (known !== undefined && performance.now() < known.untilMs) return known.answer;
    const answer = recallFor({
      query,
      sessionId,
      person: this.#person,
      store,
      manager: this.#providers.of(sessionId, chatId),
      turn,
      log: this.#log,
    });
    this.#recalls.delete(key);
    this.#recalls.set(key, { answer, untilMs: performance.now() + RECALL_MS });
    for (const oldest of this.#recalls.keys()) {
      if (this.#recalls.size <= MOST_RECALLS) break;
      this.#recalls.delete(oldest);
    }
    return answer;
  }

  // ---- Remember ----

  async remember(chatId: string, asked: RememberArguments): Promise<Remembered> {
    const { given, options } = asked;
    const { id, signal, source, sessionId } = options;
    const work = async (chat: HeldChat): Promise<Remembered> => {
      const done = await this.#write(chat, chatId, async (stored) => {
        const change = await planChange(chat, stored, asked);
        return { change, idAt: change.storedAgain ?? 0, id };
      });
      const { known, takenBack } = done.change;
      const stored = given.length - known;
      return { chatId, sessionId: chat.row.id, stored, known, takenBack, messages: done.messages };
    };
    return this.#turns.alone(chatId, work, { signal, create: { source, sessionId } });
  }

  async ask(
    asking: string | OpenedChat,
    messages: readonly GivenMessage[],
    options: AskOptions,
  ): Promise<Asked> {
    const { request, key, hiddenTools = [], signal, source, sessionId } = options;
    const chatId = typeof asking === "string" ? asking : asking.chatId;
    const opened = typeof asking === "string" ? undefined : this.#opened.get(asking);
    const given = readGiven(messages, "messages").filter(isTold);
    const token = randomHex(6);
    const work = async (chat: HeldChat): Promise<Asked> => {
      // The client of a request that waited, or whose process was stopped, may have hung up and asked elsewhere.
      await setImmediate();
      signal?.throwIfAborted();
      const newest = await chat.store.gateway.getAsk(chat.row.id);
      const done = await this.#write(chat, chatId, async (stored) => {
        const plan = await planAsk(chat, stored, given, options, newest);
        const ask = { token, request, ...(plan.rowId === undefined ? {} : { rowId: plan.rowId }) };
        return { change: plan, idAt: plan.add.length - 1, id: key, ask };
      });
      const rowId = done.change.rowId ?? done.ids.at(-1) ?? -1;
      const { store, row } = chat;
      if (typeof asking !== "string") this.#opened.set(asking, { store, row, messages: done.messages });
      const asked = { chatId, sessionId: row.id, rowId, token, hiddenTools };
      this.#opened.set(asked, { store, row });
      return asked;
    };
    return this.#turns.alone(chatId, work, { signal, opened, create: { source, sessionId } });
  }

  async answer(asked: Asked, reply: readonly GivenMessage[]): Promise<{ readonly isShown: boolean }> {
    const { chatId, rowId, token, hiddenTools } = asked;
    const add = readGiven(reply, "messages").filter(isTold);
    const work = async (chat: HeldChat): Promise<{ readonly isShown: boolean }> => {
      const newest = await chat.store.gateway.getAsk(chat.row.id);
      const { isShown } = await this.#write(chat, chatId, async (stored) => {
        const plan = planAnswer(stored, add, { rowId, isNewest: newest?.token === token, hiddenTools });
        const { isShown, takeBackFrom } = plan;
        // Where no row follows what was asked, ids alone decide, and those are read again.
        const isAppend = isShown && takeBackFrom === undefined;
        const change = { known: 0, takenBack: 0, add, isNew: isShown, isAppend, takeBackFrom };
        return { change, idAt: 0, isShown };
      });
      return { isShown };
    };
    return this.#turns.alone(chatId, work, { isKnown: true, opened: this.#opened.get(asked) });
  }

  /** Plans on the rows as they are and writes; plans again if another program, which takes no lease, wrote in between. */
  async #write<Plan extends WritePlan>(
    chat: HeldChat,
    chatId: string,
    plan: (stored: readonly Message[]) => Promise<Plan>,
  ): Promise<Plan & { readonly ids: readonly number[]; readonly messages: readonly Message[] }> {
    const { store, row, holder: leaseHolder } = chat;
    for (let round = 1; ; round += 1) {
      const { messages: stored, last: ifLast, planned } = await this.#plan(chat, plan);
      const { change, id, idAt, isShown = true, ask } = planned;
      const { takeBackFrom } = change;
      if (takeBackFrom !== undefined || change.add.length > 0) await reopen(chat);
      const add = asNew(change.add, stored, id, this.#person.memory.clock.now(), idAt);
      try {
        // The rest of the list is read again after something was taken back.
        const endsLease = takeBackFrom === undefined;
        const options = { leaseHolder, endsLease, takeBackFrom, isShown, ifLast, ask };
        const ids = await store.appendMany(row.id, add, options);
        chat.isReleased = endsLease && (add.length > 0 || ask !== undefined);
        const messages = !isShown
          ? stored
          : takeBackFrom === undefined
            ? await this.#loaded.append(store, row.id, stored, ids)
            : (await this.#loaded.loadAgain(store, row.id)).messages;
        if (change.isNew) this.#tellProvider(chatId, row.id, messages, change.add);
        return { ...planned, ids, messages };
      } catch (cause) {
        const isChanged = cause instanceof HermesError && cause.code === "session-changed";
        if (!isChanged || round === MOST_ROUNDS) throw cause;
      }
    }
  }

  /** A chat that was read before may show that nothing differs. Anything else is decided on the rows as they are now. */
  async #plan<Plan extends WritePlan>(
    { store, row }: HeldChat,
    plan: (stored: readonly Message[]) => Promise<Plan>,
  ): Promise<LoadedChat & { readonly planned: Plan }> {
    const loaded = await this.#loaded.load(store, row.id);
    const planned = await plan(loaded.messages);
    if (loaded.isFresh || planned.change.isAppend) return { ...loaded, planned };
    const again = await this.#loaded.loadAgain(store, row.id);
    return { ...again, planned: await plan(again.messages) };
  }

  /** In the background: the provider's queue keeps the order, and closing the home waits for it. */
  #tellProvider(
    chatId: string,
    sessionId: string,
    messages: readonly Message[],
    added: readonly Message[],
  ): void {
    const told = this.#providers.of(sessionId, chatId).then((manager) => {
      for (const { user, assistant } of turnsOf(messages, added))
        manager?.finishTurn({ session_id: sessionId, user, assistant, messages });
    });
    const watched = told
      .catch((cause: unknown) =>
        this.#log.warn(`A turn was not handed to the memory provider: ${describeCause(cause)}`, {
          sessionId,
        }),
      )
      .finally(() => this.#background.delete(watched));
    this.#background.add(watched);
  }

  // ---- Listing, naming, deleting ----

  async chats({ limit = 50, offset = 0 }: Parameters<UserMemory["chats"]>[0] = {}): Promise<readonly Chat[]> {
    checkLimit(limit, "chats");
    if (!(Number.isSafeInteger(offset) && offset >= 0))
      throw badOption(
        `The offset ${String(offset)} is not a number of chats.`,
        "Pass 0 or a positive integer: so many of the newest chats are left out.",
      );
    const store = await this.#person.sessions({ mode: "read" });
    if (store === undefined) return [];
    const listed = await store.listSessionsRich({
      limit: Math.min(limit, Number.MAX_SAFE_INTEGER),
      offset,
      excludeSources: INTERNAL_SOURCES,
      projectCompressionTips: true,
      orderByLastActive: true,
    });
    const chats: Chat[] = [];
    for (const row of listed) {
      const root = row._lineage_root_id ?? row.id;
      const chatId = chatIdOf(this.#person.user, root);
      chats.push(
        root === row.id && row.rewind_count === 0
          ? chatOf(chatId, row, { messages: row.message_count, lastActive: row.last_active })
          : await this.#described(store, chatId, row),
      );
    }
    return chats;
  }

  async chat(chatId: string): Promise<Chat | undefined> {
    chatSessionId(this.#person.user, chatId); // throws `bad-chat-id` also while there is no database
    const store = await this.#person.sessions({ mode: "read" });
    const row = store && (await findChat(store, this.#person, chatId));
    if (store === undefined || row === undefined) return undefined;
    return this.#described(store, chatId, row);
  }

  /** Counts the rows of all its sessions, without reading their texts. */
  async #described(store: SessionStore, chatId: string, tip: SessionRow): Promise<Chat> {
    const { root, rows } = await listChatRows(store, tip.id);
    const first = root === tip.id ? tip : await store.getSession(root);
    const newest = rows.at(-1);
    const [last] = newest === undefined ? [] : await store.getMessagesById([newest.id]);
    const { started_at } = first ?? tip;
    return chatOf(
      chatId,
      { ...tip, started_at },
      { messages: rows.length, lastActive: last?.timestamp ?? started_at },
    );
  }

  async transcript<F extends MessageFormat = "ai-sdk">(
    chatId: string,
    options: TranscriptOptions & { readonly format?: F } = {},
  ): Promise<Transcript<F> | undefined> {
    const { limit = DEFAULT_TRANSCRIPT, before } = options;
    const format = formatOf<F>(options.format);
    checkLimit(limit, "messages");
    if (before !== undefined && !Number.isInteger(before))
      throw badOption(
        "'before' is not the id of a row.",
        "Pass 'next' of the page before, or leave it out for the newest messages.",
      );
    chatSessionId(this.#person.user, chatId);
    const store = await this.#person.sessions({ mode: "read" });
    const row = store && (await findChat(store, this.#person, chatId));
    if (store === undefined || row === undefined) return undefined;
    const { messages, leftOut, next } = await loadTranscript(store, row.id, { limit, before });
    const said = messages.map(withoutRecall).filter(isSpoken);
    return { chatId, sessionId: row.id, messages: inFormat(said, format), leftOut, next };
  }

  async rename(chatId: string, title: string | null): Promise<boolean> {
    const found = await findOpenChat(this.#person, chatId);
    if (found === undefined) return false;
    const { store, row } = found;
    // A compaction by another program leaves the title with the chat's earlier session.
    for (const earlier of await store.listContinued(row.id))
      if (earlier !== row.id && (await store.getSessionTitle(earlier)) === title)
        await store.setSessionTitle(earlier, null);
    return store.setSessionTitle(row.id, title, { source: "user" });
  }

  async forgetChat(chatId: string): Promise<boolean> {
    if ((await findOpenChat(this.#person, chatId)) === undefined) return false;
    const forget = async ({ store, row, holder }: HeldChat): Promise<boolean> => {
      const chain = await store.listContinued(row.id);
      const sessions = chain.length === 0 ? [row.id] : chain;
      await this.#providers.ended(sessions);
      const files = sessionFiles(this.#person.memory.home);
      const deleted = await store.deleteSessions(sessions, { ...files, leaseHolder: holder });
      this.#recalls.clear(); // those of other chats may quote it
      this.#loaded.clear();
      return deleted > 0;
    };
    try {
      return await this.#turns.alone(chatId, forget, { isKnown: true });
    } catch (cause) {
      if (cause instanceof HermesError && cause.code === "unknown-chat") return false; // forgotten meanwhile
      throw cause;
    }
  }

  // ---- Compaction ----

  async compact(chatId: string, options: CompactOptions): Promise<Compacted> {
    if (!isPositive(options.contextLength)) throw badNumber("contextLength", options.contextLength);
    const found = await findOpenChat(this.#person, chatId);
    if (found === undefined) {
      const sessionId = chatSessionId(this.#person.user, chatId);
      const notices = ["There is no such chat, so there is nothing to summarise."];
      return { kind: "unchanged", sessionId, tokensBefore: 0, tokensAfter: 0, notices };
    }
    const { store, row } = found;
    const manager = await this.#providers.of(row.id, chatId);
    const { compactChat } = await import("./compact-chat.ts");
    const compacted = await compactChat(
      {
        person: this.#person,
        store,
        turns: this.#turns,
        manager,
        newBlock: async () => ({ text: await this.#buildBlock(), version: BLOCK_VERSION }),
        checkBlock: (sessionId, text) => this.#saveBlock(store, sessionId, text),
      },
      { ...options, chatId, sessionId: row.id, system: await this.#block(chatId, store, row.id) },
    );
    if (compacted.sessionId !== row.id) await this.#providers.continued(row.id, compacted.sessionId);
    return compacted;
  }

  // ---- For extraction ----

  /** Every message of the chat. Rejects with `unknown-chat`. */
  async whole(chatId: string): Promise<{
    readonly store: SessionStore;
    readonly sessionId: string;
    readonly messages: readonly Message[];
  }> {
    const { store, row } = await openKnownChat(this.#person, chatId);
    const newest = await loadChat(store, row.id);
    const summary = await findSummary(store, row.id, newest);
    return { store, sessionId: row.id, messages: await loadWholeChat(store, row.id, newest, summary) };
  }

  /** For one caller at a time. Rejects with `unknown-chat`. */
  alone<T>(chatId: string, work: (chat: HeldChat) => Promise<T>): Promise<T> {
    return this.#turns.alone(chatId, work, { isKnown: true });
  }
}

function chatOf(
  chatId: string,
  { id, title, started_at }: SessionRow,
  { messages, lastActive }: { readonly messages: number; readonly lastActive: number },
): Chat {
  const [startedAt, lastActiveAt] = [new Date(started_at * 1000), new Date(lastActive * 1000)];
  return { chatId, sessionId: id, title, messages, startedAt, lastActiveAt };
}

/** A chat that somebody archived or ended goes on when something is said in it. */
async function reopen({ store, row }: HeldChat): Promise<void> {
  if (row.archived !== 0) await store.setSessionArchived(row.id, false);
  if (row.ended_at !== null) await store.reopenSession(row.id);
}

/** The turns that `added` completes: what the user said and the last text of the reply. */
function turnsOf(
  messages: readonly Message[],
  added: readonly Message[],
): readonly { readonly user: Content; readonly assistant: Content }[] {
  return inTurns(
    messages.slice(-Math.max(added.length, 1)).some(({ role }) => role === "user")
      ? messages.slice(-added.length)
      : messages.slice(messages.findLastIndex(({ role }) => role === "user")),
  ).flatMap((turn) => {
    const user = turn.find(({ role }) => role === "user");
    const reply = turn.findLast((message) => message.role === "assistant" && textOf(message.content) !== "");
    return user === undefined || reply === undefined
      ? []
      : [{ user: user.content, assistant: reply.content }];
  });
}

const pruned = new WeakSet<Home>();

/** Once for each opened home: a program that only uses the library has nobody else who does it. */
async function pruneTurnsOf(home: Home): Promise<void> {
  if (pruned.has(home)) return;
  pruned.add(home);
  const { gateway } = await home.config();
  await (await home.administrator.sessions({ mode: "write" }))?.pruneTurns(gateway.recallTraceDays);
}

type NotedTurn = RecallAnswer & {
  readonly query: string;
  readonly tokens: number;
  readonly startedAtMs: number;
};

/** The same for every request of a turn. */
function recallKey(sessionId: string, stored: readonly Message[], query: string): string {
  return JSON.stringify([sessionId, turnOf(stored, query), query]);
}

/** The number of the turn that asks this. */
function turnOf(stored: readonly Message[], query: string): number {
  const users = stored.filter(({ role }) => role === "user");
  const isStored = pyStrip(textOf(users.at(-1)?.content ?? "")) === pyStrip(query);
  return users.length + (isStored ? 0 : 1);
}

async function storedBlock(store: SessionStore, sessionId: string): Promise<string | undefined> {
  const kept = await store.getOwnPrompt(sessionId);
  return kept?.version === BLOCK_VERSION ? kept.text : undefined;
}
