// Honcho as a memory provider.
import { setTimeout as sleep } from "node:timers/promises";
import { memoriesDirectory, userMemoriesDirectory } from "@hermes-memory/core/internal/home";
import { untilAborted } from "@hermes-memory/core/internal/lib";
import type {
  ForgetReport,
  MemoryProvider,
  SessionSwitchOptions,
} from "@hermes-memory/core/internal/providers";
import { type HttpFailure, ServiceError } from "../kit/http.ts";
import { fieldsOf, recordsOf, textIn } from "../kit/networked/answers.ts";
import { type NetworkedOptions, NetworkedProvider } from "../kit/networked/provider.ts";
import {
  type Connection,
  type ConnectionContext,
  type Entries,
  type QueuedEntry,
  type RecallAsk,
  type Recalled,
  type ServiceTool,
  ToolRefusal,
  type Turn,
} from "../kit/networked/service.ts";
import type { Batch, Delivery, NewItem, OutboxItem } from "../kit/outbox/outbox.ts";
import { hasContext } from "../kit/provider-mode.ts";
import { writtenPath } from "./config-file.ts";
import { eraseEverything, forgetText, type Subject } from "./erase.ts";
import {
  aiPeer,
  findRepository,
  honchoSession,
  type NameSources,
  type Runtime,
  type SessionName,
  sessionKey,
  type UserPeer,
  userPeer,
} from "./naming.ts";
import { HonchoRecall, type RecallSource } from "./recall.ts";
import {
  inspectSession,
  type Peers,
  priorFiles,
  type ReadySession,
  startSession,
  viewOf,
} from "./session.ts";
import { type HonchoSettings, honchoSettings, missingIn } from "./settings.ts";
import { chunked, honchoPromptBlock } from "./texts.ts";
import { honchoTools } from "./tools.ts";
import {
  conclusionText,
  HonchoWire,
  honchoHttpOptions,
  MESSAGES_PER_POST,
  OLD_API,
  type View,
} from "./wire.ts";

export type HonchoOptions = NetworkedOptions & {
  /** Default: the working directory of the process. It names the session. */
  readonly cwd?: string;
  /** Default: the home directory of the user, where other programs keep Honcho's configuration. */
  readonly userHome?: string;
};

export function createHonchoProvider({ cwd, userHome, ...options }: HonchoOptions): MemoryProvider {
  return new NetworkedProvider<HonchoSettings>(
    {
      name: "honcho",
      label: "Honcho",
      settings: honchoSettings(userHome),
      missing: missingIn,
      connect: (settings, context) => new HonchoConnection(settings, context, { cwd: cwd ?? process.cwd() }),
      backupPaths: (home) => [writtenPath(home)],
      postSetup: async (place, setup) =>
        await (await import("./setup.ts")).setUpHoncho({ userHome, ...place }, setup),
    },
    options,
  );
}

// ---- The connection ----
// One agent's connection to Honcho: names, session, recall, tools and checks.

/** An ordinary turn has two messages. */
const TURNS_PER_BATCH = MESSAGES_PER_POST / 2;
/** How far behind messages of others a repeated delivery looks for its own, in pages of 100. */
const TAIL_PAGES = 2;
/** From this age on a message is sent with the time of its turn; else the server's clock decides. */
const LATE_MS = 60_000;
/** The target of a mirror that says that a file was uploaded. */
const UPLOADED = "file";
/** Before a repeated delivery looks: the request of a process that was killed may still be on its way to the server. */
const ARRIVAL_MS = 1_000;
/** Marks our messages at the server. */
const OUTBOX_KEY = "hermes_outbox";

type Kind = "turn" | "upload";

/** A tool call waits so long for the first requests of a session. */
const TOOL_WAIT_MS = 5_000;
/** Conversations whose recall is kept; more only in a process that serves many chats through one provider. */
const MAX_RECALLS = 32;

export class HonchoConnection implements Connection {
  readonly inactive: string | undefined;
  readonly awaitsTurns: boolean;
  readonly tools: readonly ServiceTool[];
  readonly entries: Entries;
  readonly turnsAtOnce = TURNS_PER_BATCH;
  readonly settings: HonchoSettings;
  readonly wire: HonchoWire;
  readonly peers: Peers;
  readonly #context: ConnectionContext;
  readonly #runtime: Runtime;
  readonly #userPeer: UserPeer;
  readonly #repository: string | undefined;
  readonly #cwd: string;
  /** By the name of the Honcho session. A failed start is not kept. */
  readonly #sessions = new Map<string, Promise<ReadySession>>();
  /** By the id of the Hermes session. */
  readonly #recalls = new Map<string, HonchoRecall>();
  #sessionId: string;
  /** Until everything of the user was erased. */
  #mayMigrate = true;

  constructor(settings: HonchoSettings, context: ConnectionContext, { cwd }: { readonly cwd: string }) {
    this.settings = settings;
    this.#context = context;
    this.#cwd = cwd;
    this.#sessionId = context.sessionId;
    this.wire = new HonchoWire(context.http(honchoHttpOptions(settings)), settings.workspace);
    this.#repository = findRepository(settings.sessionStrategy, cwd);
    this.#runtime = runtimeOf(context, settings);
    this.#userPeer = userPeer(settings, this.#runtime, this.#name(context.sessionId).key);
    this.peers = {
      user: this.#userPeer.id,
      ai: aiPeer(settings, this.#runtime, this.#userPeer),
    };
    const { agent_context = "primary", platform } = context.options;
    const isOff = platform === "cron" || agent_context === "cron" || agent_context === "flush";
    this.inactive = isOff ? "Honcho is not active (cron context)." : undefined;
    this.awaitsTurns = settings.writeFrequency.kind === "turn";
    this.tools = isOff ? [] : honchoTools(this);
    this.entries = {
      ...this.#conclusions,
      about: () => ({ sessionId: "", body: { session: this.sessionName } }),
      ...(isOff ? { cleaned: () => "" } : {}),
      recalls: async (text, signal) => {
        const { observation } = await this.#ready(signal);
        const view = viewOf(this.peers.user, this.peers, observation);
        return (await this.wire.impression(view, text, signal)).representation.includes(text);
      },
    };
    if (settings.mode === "tools" && settings.startsEagerly && context.isWriting)
      context.inBackground("Starting the session", async (signal) => void (await this.#ready(signal)));
  }

  /** Only an agent that talks to a user has a system prompt, so this is where its session starts. Commands that only write do not ask. */
  promptBlock(): string {
    if (this.inactive !== undefined) return "";
    const { mode } = this.settings;
    if (hasContext(mode) && this.#context.isWriting && !this.#recalls.has(this.#sessionId)) {
      const recall = this.#recall(this.#sessionId);
      this.#context.inBackground("Preparing recall", async (signal) => recall.prewarm(signal));
    }
    return honchoPromptBlock(mode);
  }

  // ---- Session ----

  /** The session that the tools of this agent use. */
  get sessionName(): string {
    return this.#nameOf(this.#sessionId);
  }

  get canWrite(): boolean {
    return this.#context.isWriting;
  }

  /** Users of a gateway see themselves and their agent only. */
  get mayNameOthers(): boolean {
    return this.#context.user === undefined;
  }

  #name(sessionId: string): SessionName {
    const { session_title, gateway_session_key } = this.#context.options;
    const sources: NameSources = {
      cwd: this.#cwd,
      repository: this.#repository,
      title: session_title,
      gatewayKey: gateway_session_key,
      sessionId,
    };
    return sessionKey(this.settings, sources);
  }

  #nameOf(sessionId: string): string {
    const { gateway_session_key: gatewayKey } = this.#context.options;
    return honchoSession(this.#name(sessionId), this.#runtime, { peer: this.#userPeer, gatewayKey });
  }

  /** Starts the session once; after a failure the next call starts it again. */
  #ready(signal: AbortSignal, name = this.sessionName): Promise<ReadySession> {
    const started = this.#sessions.get(name) ?? this.#start(name);
    this.#sessions.set(name, started);
    started.catch(() => {
      if (this.#sessions.get(name) === started) this.#sessions.delete(name);
    });
    return untilAborted(signal, started);
  }

  async #start(name: string): Promise<ReadySession> {
    const { log, isWriting } = this.#context;
    const deps = { wire: this.wire, peers: this.peers, settings: this.settings, log };
    // Not ended by the signal of the first caller: others wait for it too. Its requests end at their timeouts and at shutdown.
    const { signal } = new AbortController();
    const session = await (isWriting ? startSession : inspectSession)(name, deps, signal);
    await this.#queuePriorFiles(session);
    return session;
  }

  /** For a tool call: refuses with a text for the model when the session cannot be used. */
  async readyForTool(signal: AbortSignal): Promise<ReadySession> {
    const patience = AbortSignal.timeout(TOOL_WAIT_MS);
    try {
      return await this.#ready(AbortSignal.any([signal, patience]));
    } catch (cause) {
      if (cause === patience.reason)
        throw new ToolRefusal("Honcho session is still initializing; try again shortly.");
      if (!(cause instanceof ServiceError)) throw cause;
      throw new ToolRefusal(`Honcho session could not be initialized. ${cause.failure.message}`);
    }
  }

  onSessionSwitch(newSessionId: string, { reset, rewound }: SessionSwitchOptions, old: string): void {
    const recall = this.#recalls.get(old);
    this.#recalls.delete(old);
    this.#recalls.delete(newSessionId);
    this.#sessionId = newSessionId;
    recall?.continueIn(this.#recallSource(newSessionId)); // drops what a turn waits for now, too
    if (recall !== undefined && (!reset || rewound === true)) this.#recalls.set(newSessionId, recall);
  }

  // ---- Recall ----

  async prefetch(query: string, { sessionId, turn, signal, mayWait }: RecallAsk): Promise<Recalled> {
    if (this.inactive !== undefined) return { text: "", count: 0 };
    return await this.#recall(sessionId).take(query, turn, signal, mayWait);
  }

  async queuePrefetch(query: string, { sessionId, turn, signal }: RecallAsk): Promise<void> {
    if (this.inactive === undefined) await this.#recall(sessionId).prepare(query, turn, signal);
  }

  /** The recall of the conversation that the tools belong to. */
  get recallNow(): HonchoRecall {
    return this.#recall(this.#sessionId);
  }

  #recall(sessionId: string): HonchoRecall {
    const known = this.#recalls.get(sessionId);
    if (known !== undefined) return known;
    const made = new HonchoRecall(this.settings, this.#recallSource(sessionId));
    const oldest = this.#recalls.size >= MAX_RECALLS ? this.#recalls.keys().next().value : undefined;
    if (oldest !== undefined) this.#recalls.delete(oldest);
    this.#recalls.set(sessionId, made);
    return made;
  }

  #recallSource(sessionId: string): RecallSource {
    const name = this.#nameOf(sessionId);
    const wire = this.wire;
    const { user, ai } = this.peers;
    return {
      // Each part may fail alone; if all fail, the first failure is thrown.
      fetchBase: async (query, signal) => {
        const { observation } = await this.#ready(signal, name);
        const [context, aboutUser, aboutAi] = await Promise.allSettled([
          wire.sessionContext(name, {}, signal),
          this.#impression(viewOf(user, this.peers, observation), query, signal),
          this.#impression(viewOf(ai, this.peers, observation), undefined, signal),
        ]);
        const parts = [context, aboutUser, aboutAi];
        if (context.status === "rejected" && parts.every(({ status }) => status === "rejected"))
          throw context.reason;
        const nothing = { representation: "", card: [] };
        return {
          summary: context.status === "fulfilled" ? context.value.summary : "",
          user: aboutUser.status === "fulfilled" ? aboutUser.value : nothing,
          ai: aboutAi.status === "fulfilled" ? aboutAi.value : nothing,
        };
      },
      ask: async (question, level, signal) => {
        const { observation } = await this.#ready(signal, name);
        const view = viewOf(user, this.peers, observation);
        return await wire.chat(view, { query: question, session: name, level }, signal);
      },
    };
  }

  /** Servers that leave a part out of the context are asked for it. */
  async #impression(view: View, query: string | undefined, signal: AbortSignal) {
    const found = await this.wire.impression(view, query, signal);
    return {
      representation: found.representation || (await this.wire.representation(view, query, signal)),
      card: found.card.length > 0 ? found.card : await this.wire.card(view, signal),
    };
  }

  // ---- Writes ----
  // Everything that is written to Honcho is an item of the outbox: a finished turn with its messages, files from before Honcho, and mirrored
  // entries as conclusions about the user. Honcho has no idempotency keys, so a repeated delivery first looks for what an earlier one has stored.

  turnItems({ sessionId, user, assistant, at, number }: Turn): readonly NewItem[] {
    const { savesMessages, messageMaxChars, writeFrequency } = this.settings;
    if (this.inactive !== undefined || !savesMessages) return [];
    const isDue = writeFrequency.kind === "every" && number % writeFrequency.turns === 0;
    if (isDue) this.#context.outbox.release(sessionId);
    const isHeld = writeFrequency.kind === "session" || (writeFrequency.kind === "every" && !isDue);
    const parts = [
      ...chunked(user, messageMaxChars).map((content) => ({ peer: this.peers.user, content })),
      ...chunked(assistant, messageMaxChars).map((content) => ({ peer: this.peers.ai, content })),
    ];
    if (parts.length === 0) return [];
    return [
      {
        kind: "turn" satisfies Kind,
        sessionId,
        isHeld,
        body: { session: this.#nameOf(sessionId), at, messages: parts },
      },
    ];
  }

  /** Mirrored entries are conclusions about the user's peer. */
  readonly #conclusions: Pick<Entries, "add" | "remove" | "find"> = {
    add: async (entry, signal) => {
      await arrival(entry, signal);
      const { target, text, attempt } = entry;
      const [known] = this.#context.outbox.mirrors.find(target, text);
      if (known !== undefined) return known.remoteId;
      const [stored] = attempt > 1 ? await this.#conclusions.find(entry, signal) : [];
      if (stored !== undefined) return stored;
      const session = textIn(entry.body.session);
      return await this.wire.addConclusion(await this.#viewOfUser(session, signal), text, {
        session,
        signal,
      });
    },
    remove: async (id, signal) => void (await this.wire.deleteConclusion(id, signal)),
    find: async ({ text, body }, signal) => {
      const view = await this.#viewOfUser(textIn(body.session), signal);
      const conclusions = await this.wire.conclusions(view, signal);
      return conclusions.filter(({ content }) => content === conclusionText(text)).map(({ id }) => id);
    },
  };

  deliveryOf({ kind, message }: HttpFailure): Delivery | undefined {
    if (kind === "not-found") this.#sessions.clear(); // a session or peer is gone: the next attempt creates it again
    // The user has to change the server or its address; until then nothing is given up.
    return message === OLD_API ? { kind: "blocked", reason: OLD_API } : undefined;
  }

  async deliver(batch: Batch, signal: AbortSignal): Promise<undefined> {
    await arrival(batch, signal);
    if (batch.kind === "upload") return await this.#upload(batch, signal);
    if (batch.kind !== "turn") throw new Error(`Honcho has no item of the kind '${batch.kind}'.`);
    for (const [name, items] of Map.groupBy(batch.items, (each) => textIn(fieldsOf(each.body).session)))
      await this.#postMessages(name, items, batch, signal);
  }

  async #postMessages(
    session: string,
    items: readonly OutboxItem[],
    batch: Batch,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#ready(signal, session);
    const messages = items.flatMap((item) => this.#messagesOf(item, batch));
    const known = await this.#delivered(session, batch, messages.length, signal);
    const missing = messages.filter(({ metadata }) => !known.has(metadata[OUTBOX_KEY]));
    for (let start = 0; start < missing.length; start += MESSAGES_PER_POST)
      await this.wire.addMessages(session, missing.slice(start, start + MESSAGES_PER_POST), signal);
  }

  #messagesOf(item: OutboxItem, batch: Batch) {
    const { messages, at } = fieldsOf(item.body);
    const startMs = Date.parse(textIn(at));
    const isLate = this.#context.clock.now().getTime() - startMs > LATE_MS;
    return recordsOf(messages).map(({ peer, content }, index) => ({
      peer_id: textIn(peer),
      content: textIn(content),
      metadata: { [OUTBOX_KEY]: `${markOf(batch, item)}/${index}` },
      // A millisecond apart, so that a server that sorts by time keeps their order.
      ...(isLate ? { created_at: new Date(startMs + index).toISOString() } : {}),
    }));
  }

  /** Marks at the end of the session, if an earlier attempt may have stored something. */
  async #delivered(
    session: string,
    batch: Batch,
    count: number,
    signal: AbortSignal,
  ): Promise<ReadonlySet<string | undefined>> {
    if (batch.attempt <= 1) return new Set();
    const pages = TAIL_PAGES + Math.ceil(count / MESSAGES_PER_POST);
    const tail = await this.wire.newestMessages(session, pages, signal);
    return new Set(tail.map(({ metadata }) => textIn(metadata[OUTBOX_KEY])));
  }

  /** Each file once for its peer, whatever sessions begin later: entries that are written from now on are mirrored. */
  async #queuePriorFiles({ name, isEmpty }: ReadySession): Promise<void> {
    const { savesMessages, sessionStrategy, workspace, publicUrl } = this.settings;
    const { home, options, isWriting, outbox, log } = this.#context;
    if (!isEmpty || !isWriting || !this.#mayMigrate || !savesMessages || sessionStrategy === "per-session")
      return;
    const ai = memoriesDirectory(home);
    const { platform = "cli", user_id = "" } = options;
    const user = user_id === "" ? ai : userMemoriesDirectory(home, platform, user_id);
    for (const { file, upload } of priorFiles({ user, ai })) {
      const peer = this.peers[file.peer];
      const key = `${publicUrl} ${workspace} ${peer} ${file.name}`;
      if (outbox.mirrors.find(UPLOADED, key).length > 0) continue;
      const added = await outbox.add({
        kind: "upload" satisfies Kind,
        sessionId: "",
        dedupeKey: `honcho-upload ${key}`,
        body: { session: name, peer, key, ...upload },
      });
      if (added.kind === "full" || added.kind === "failed")
        log.warn(`${file.name} was not sent to Honcho. ${added.reason}`, { provider: "honcho" });
    }
  }

  async #upload(batch: Batch, signal: AbortSignal): Promise<undefined> {
    const [item] = batch.items;
    const { peer, key, fileName, text, metadata, ...body } = fieldsOf(item.body);
    const session = textIn(body.session);
    const mark = markOf(batch, item);
    const upload = {
      peerId: textIn(peer),
      fileName: textIn(fileName),
      text: textIn(text),
      metadata: { ...fieldsOf(metadata), [OUTBOX_KEY]: mark },
    };
    if (!(await this.#delivered(session, batch, 1, signal)).has(mark))
      await this.wire.upload(session, upload, signal);
    this.#context.outbox.mirrors.add({ target: UPLOADED, text: textIn(key), remoteId: session });
  }

  async #viewOfUser(session: string, signal: AbortSignal): Promise<View> {
    return viewOf(this.peers.user, this.peers, (await this.#ready(signal, session)).observation);
  }

  onEntryChange(isRemoved: boolean): void {
    this.#dropRecalls(isRemoved);
  }

  /** What was recalled before a curated write: all of it may hold an entry that is gone now, or only the base lacks a new one. */
  #dropRecalls(isAll: boolean): void {
    for (const recall of this.#recalls.values()) {
      if (isAll) recall.drop();
      else recall.dropBase();
    }
  }

  // ---- Checks and erasing ----

  async check(signal: AbortSignal): Promise<string> {
    await this.wire.ensureWorkspace(signal);
    const { publicUrl, workspace } = this.settings;
    return `Honcho answers at ${publicUrl}. Workspace: ${workspace}, user: ${this.peers.user}, agent: ${this.peers.ai}.`;
  }

  get subject(): Subject {
    const { user, isByPlatform } = this.#runtime;
    return { peers: this.peers, hasOwnAgent: user === undefined || isByPlatform };
  }

  async forget(text: string, isDryRun: boolean, signal: AbortSignal): Promise<ForgetReport> {
    const report = await forgetText(this.wire, this.subject, { text, isDryRun, signal });
    if (!isDryRun) this.#dropRecalls(true);
    return report;
  }

  async eraseUser(isDryRun: boolean, signal: AbortSignal): Promise<ForgetReport> {
    if (this.#userPeer.isShared) {
      const remaining =
        "All users share one peer at Honcho (pinUserPeer), so nothing was erased there. The owner of the home can erase it.";
      return { erased: 0, remaining };
    }
    const report = await eraseEverything(this.wire, this.subject, { isDryRun, signal });
    if (isDryRun) return report;
    this.#mayMigrate = false;
    this.#sessions.clear();
    this.#recalls.clear();
    return report;
  }
}

function runtimeOf({ user, options }: ConnectionContext, { userScope }: HonchoSettings): Runtime {
  const { user_id = "", user_id_alt = "" } = options;
  const ids = userScope === "shared" ? [] : [user ?? "", user_id, user_id_alt];
  return { user, isByPlatform: userScope === "platform", ids: ids.filter((id) => id !== "") };
}

async function arrival(
  { attempt }: Pick<Batch | QueuedEntry, "attempt">,
  signal: AbortSignal,
): Promise<void> {
  if (attempt > 1) await sleep(ARRIVAL_MS, undefined, { signal });
}

function markOf(batch: Batch, item: OutboxItem): string {
  return `${batch.id}/${item.id}`;
}
