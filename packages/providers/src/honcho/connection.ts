// One agent's connection to Honcho: names, session, recall, tools and checks.
import type { ForgetReport, SessionSwitchOptions } from "@hermes-memory/core/internal/providers";
import { type HttpFailure, ServiceError } from "../kit/http.ts";
import type {
  Connection,
  ConnectionContext,
  Entries,
  RecallAsk,
  Recalled,
  ServiceTool,
  Turn,
} from "../kit/networked/service.ts";
import { ToolRefusal } from "../kit/networked/service.ts";
import type { Batch, Delivery, NewItem } from "../kit/outbox/outbox.ts";
import { hasContext } from "../kit/provider-mode.ts";
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
import { HANGING_MS, HonchoRecall, type RecallSource } from "./recall.ts";
import { inspectSession, type Peers, type ReadySession, startSession, viewOf } from "./session.ts";
import type { HonchoSettings } from "./settings.ts";
import { honchoPromptBlock } from "./texts.ts";
import { honchoTools } from "./tools.ts";
import { HonchoWire, honchoHttpOptions, type View } from "./wire.ts";
import { HonchoWrites, TURNS_PER_BATCH } from "./writes.ts";

/** A tool call waits so long for the first requests of a session. */
const TOOL_WAIT_MS = 5_000;
/** Conversations whose recall is kept; more only in a process that serves many chats through one provider. */
const MAX_RECALLS = 32;

type Starting = {
  readonly ready: Promise<ReadySession>;
  readonly startedAt: number;
  readonly stop: AbortController;
  isReady: boolean;
};

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
  readonly #writes: HonchoWrites;
  readonly #runtime: Runtime;
  readonly #userPeer: UserPeer;
  readonly #repository: string | undefined;
  readonly #cwd: string;
  /** By the name of the Honcho session. A failed start is not kept. */
  readonly #sessions = new Map<string, Starting>();
  /** By the id of the Hermes session. */
  readonly #recalls = new Map<string, HonchoRecall>();
  #sessionId: string;

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
    this.#writes = new HonchoWrites({
      settings,
      context,
      wire: this.wire,
      peers: this.peers,
      ready: (session, signal) => this.#ready(signal, session),
      forgetSessions: () => this.#sessions.clear(),
    });
    const { agent_context = "primary", platform } = context.options;
    const isOff = platform === "cron" || agent_context === "cron" || agent_context === "flush";
    this.inactive = isOff ? "Honcho is not active (cron context)." : undefined;
    this.awaitsTurns = settings.writeFrequency.kind === "turn";
    this.tools = isOff ? [] : honchoTools(this);
    this.entries = {
      ...this.#writes.entries,
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

  /** Starts the session once. After a failure, and when the start hangs, the next call starts it again. */
  #ready(signal: AbortSignal, name = this.sessionName): Promise<ReadySession> {
    const known = this.#sessions.get(name);
    const isHanging =
      known !== undefined && !known.isReady && performance.now() - known.startedAt >= HANGING_MS;
    if (known !== undefined && !isHanging) return untilAborted(known.ready, signal);
    known?.stop.abort(new DOMException("The start of the session is begun again.", "AbortError"));
    const started = this.#start(name);
    this.#sessions.set(name, started);
    started.ready.then(
      () => {
        started.isReady = true;
      },
      () => {
        if (this.#sessions.get(name) === started) this.#sessions.delete(name);
      },
    );
    return untilAborted(started.ready, signal);
  }

  #start(name: string): Starting {
    const { log, isWriting } = this.#context;
    const deps = { wire: this.wire, peers: this.peers, settings: this.settings, log };
    // Not ended by the signal of the first caller: others wait for it too. Its requests end at their timeouts and at shutdown.
    const stop = new AbortController();
    const starting = (isWriting ? startSession : inspectSession)(name, deps, stop.signal);
    const ready = starting.then(async (session) => {
      await this.#writes.queuePriorFiles(session);
      return session;
    });
    return { ready, startedAt: performance.now(), stop, isReady: false };
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

  // ---- What is written: see writes.ts ----

  turnItems(turn: Turn): readonly NewItem[] {
    return this.inactive === undefined ? this.#writes.turnItems(turn, this.#nameOf(turn.sessionId)) : [];
  }

  async deliver(batch: Batch, signal: AbortSignal): Promise<undefined> {
    await this.#writes.deliver(batch, signal);
  }

  deliveryOf(failure: HttpFailure): Delivery | undefined {
    return this.#writes.deliveryOf(failure);
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
    this.#writes.stopMigrating();
    this.#sessions.clear();
    this.#recalls.clear();
    return report;
  }
}

async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const end = (): void => reject(signal.reason);
  signal.addEventListener("abort", end, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", end);
  }
}

function runtimeOf({ user, options }: ConnectionContext, { userScope }: HonchoSettings): Runtime {
  const { user_id = "", user_id_alt = "" } = options;
  const ids = userScope === "shared" ? [] : [user ?? "", user_id, user_id_alt];
  return { user, isByPlatform: userScope === "platform", ids: ids.filter((id) => id !== "") };
}
