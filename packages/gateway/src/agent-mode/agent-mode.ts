// Agent mode: our loop, tools and memory answer a client's model request. The story of a request: wait for the turn before it, find the
// session (a new one if it has expired), get the live agent, follow the client's list, make room, run the turn, answer in the client's
// wire.
import {
  type Agent,
  createAgent,
  type RunOptions,
  type TurnResult,
} from "@hermes-memory/agent/internal/agent";
import { chooseModel, curatorModel } from "@hermes-memory/agent/internal/models";
import { environmentOf } from "@hermes-memory/core/internal/config";
import { hygieneDecision } from "@hermes-memory/core/internal/context";
import { describeCause, HermesError, preview } from "@hermes-memory/core/internal/lib";
import type { Home } from "@hermes-memory/core/internal/memory";
import { type Content, newMessage, textOf } from "@hermes-memory/core/internal/message";
import { type LiveSession, newSessionId, type SessionStore } from "@hermes-memory/core/internal/sessions";
import { admit, charge, refuseModel } from "../allowance.ts";
import { servedHomes } from "../gateway.ts";
import { sourceOf } from "../identity.ts";
import { stoppedProblem } from "../problem.ts";
import { replyMarks } from "../proxy/chain.ts";
import { noteRecall } from "../proxy/turn-memory.ts";
import { isOwnModelName } from "../proxy/upstream.ts";
import { refuseForUsers } from "../proxy/users-may.ts";
import { ReplyStream } from "../reply-stream.ts";
import { type Answer, type Gateway, type GatewayEvent, type ModelTurn, ProblemError } from "../types.ts";
import { refuseLost } from "../wires/body-fields.ts";
import { hermesHeaders } from "../wires/fields.ts";
import {
  type Asked,
  answeringStored,
  findEarlier,
  followClient,
  openNamedChat,
  readAsked,
  requestId,
  showsChat,
  takeBack,
} from "./follow.ts";
import { LiveAgents } from "./live-agents.ts";
import { type Ended, endOf, problemOf, ReplySoFar } from "./reply.ts";
import {
  expiryOf,
  finalise,
  type LiveIndex,
  liveIndexOf,
  liveKey,
  notTold,
  resetNotice,
  resetPolicy,
  SessionWatcher,
} from "./session-life.ts";

export type AgentModeDeps = {
  /** How long a request waits for the one before it. Default: 30 seconds. */
  readonly waitMs?: number;
  /** Silence after which a stream sends a ping. Default: 15 seconds. */
  readonly pingMs?: number;
  /** Added to the options of every agent, for tests. */
  readonly agent?: Pick<
    Parameters<typeof createAgent>[0],
    "waitForRetry" | "tools" | "contextLength" | "titles" | "review"
  >;
};

/** One request while it is answered. */
type Work = {
  readonly turn: ModelTurn;
  readonly asked: Asked;
  /** Of the live agent: home and conversation. */
  readonly key: string;
  readonly signal: AbortSignal;
  readonly reply: ReplySoFar;
  readonly replyId: string;
  /** Set as soon as the session is known. */
  agent: Agent | undefined;
};

type Conversation = {
  readonly index: LiveIndex;
  /** Null: nobody has spoken in it yet. */
  readonly live: LiveSession | null;
  /** The session, where the chat id does not name it: after a reset. */
  readonly sessionId: string | undefined;
};

type Recalled = Parameters<NonNullable<RunOptions["onRecall"]>>[0];

const NEW_SESSION: ReadonlySet<string> = new Set(["/new", "/reset"]);

/** Starts the watcher of expired sessions; it does not keep the process alive. */
export class AgentMode {
  readonly answer: Answer = (turn) => this.#answer(turn);
  readonly #gateway: Gateway;
  readonly #deps: AgentModeDeps;
  readonly #agents: LiveAgents;
  readonly #watcher: SessionWatcher;
  /** The name of a model for which another one answers, told once in a conversation while its agent is live. */
  readonly #toldModels = new WeakMap<Agent, string>();
  /** Aborted when the mode is closed. */
  readonly #closing = new AbortController();
  /** Of the turns that run, and of the curator. `AbortSignal.any` with a signal that lives as long as the server would keep each turn. */
  readonly #running = new Set<AbortController>();
  /** Reviews that have ended and are being charged. */
  readonly #charging = new Set<Promise<void>>();
  /** The scheduled run of the curator, or the check whether it is due. */
  #curating: Promise<void> | undefined;
  #curateAgainAtMs = 0;

  constructor(gateway: Gateway, deps: AgentModeDeps = {}) {
    const { clock, log } = gateway;
    this.#gateway = gateway;
    this.#deps = deps;
    this.#agents = new LiveAgents({ log, now: () => clock.now().getTime(), waitMs: deps.waitMs });
    this.#watcher = new SessionWatcher({
      clock,
      log,
      homes: () => this.#watchedHomes(),
      policy: async () => resetPolicy(await gateway.config(), gateway.env),
      whileIdle: (home, key, work) => this.#whileIdle(home, key, work),
      onRound: () => {
        this.#curating ??= this.#curate().finally(() => {
          this.#curating = undefined;
        });
        return this.#tidy();
      },
      daily: async (home) => {
        const { recallTraceDays } = (await gateway.config()).gateway;
        await (await home.administrator.sessions({ mode: "write" }))?.pruneRecalls(recallTraceDays);
      },
    });
    this.#watcher.start();
    gateway.metrics.gauge("live_agents", () => this.#agents.size);
  }

  /** Agents that are kept in memory. */
  get size(): number {
    return this.#agents.size;
  }

  /** One round of the watcher, now: finalises expired sessions, closes idle agents, runs the curator if it is due. Never rejects. */
  async sweep(): Promise<void> {
    await this.#watcher.sweep();
    await this.#curating;
  }

  /** Interrupts running turns, which store what they have, and closes the agents. Their sessions go on. */
  async close(): Promise<void> {
    const reason = new DOMException("The server is stopping.", "AbortError");
    this.#closing.abort(reason);
    for (const each of this.#running) each.abort(reason);
    await this.#watcher.stop();
    await this.#agents.close();
    await Promise.all([...this.#charging, this.#curating]);
  }

  // ---- One request ----

  async #answer(turn: ModelTurn): Promise<Response> {
    if (this.#closing.signal.aborted) throw new ProblemError(stoppedProblem(true));
    refuseLost(
      turn.request,
      "The agent cannot do what the request asks for with these fields",
      "Leave them out, or use the proxy mode of this server (/proxy/v1), which forwards them.",
    );
    if (turn.identity.user !== undefined) refuseForUsers(turn.wire.name, turn.body, { isForwarded: false });
    await admit(turn);
    const asked = readAsked(turn.request.messages);
    const key = agentKey(turn.memory.layers.memory, liveKey(turn.memory, turn.chatId));
    const end = await this.#agents.begin(key, turn.signal);
    const gone = new AbortController();
    this.#running.add(gone);
    const signal = AbortSignal.any([turn.signal, gone.signal]);
    const stream = new ReplyStream(turn);
    const reply = new ReplySoFar((event) => stream.write(event));
    const replyId = turn.wire.newReplyId();
    const work: Work = { turn, asked, key, signal, reply, replyId, agent: undefined };
    const startedAt = performance.now();
    const running = this.#run(work).finally(async () => {
      end();
      this.#running.delete(gone);
      await this.#charge(work);
      this.#gateway.metrics.observe("agent_turn_seconds", (performance.now() - startedAt) / 1000);
      void this.#tidy();
    });
    const start = () => {
      const createdAtSeconds = Math.floor(this.#gateway.clock.now().getTime() / 1000);
      const { agent } = work;
      const headers = hermesHeaders({ sessionId: agent?.sessionId ?? "", notices: [] }); // unknown while its provider is waited for
      return { id: replyId, model: agent?.model.model ?? turn.request.model, createdAtSeconds, headers };
    };
    const said = running.then(
      ({ finish, calls: toolCalls, sessionId }) => {
        const { text, reasoning, usage } = reply;
        return { text, reasoning, toolCalls, finish, usage, metadata: reply.metadata(sessionId) };
      },
      (cause: unknown) => {
        if (!signal.aborted || cause instanceof ProblemError || cause instanceof HermesError) throw cause;
        throw new ProblemError(this.#stopped(), { cause });
      },
    );
    return stream.response(said, { start, onGone: () => gone.abort(), pingMs: this.#deps.pingMs });
  }

  #stopped(): ProblemError["problem"] {
    return stoppedProblem(this.#gateway.isStopping || this.#closing.signal.aborted);
  }

  // ---- The turn ----

  async #run(work: Work): Promise<Ended> {
    let ended = await this.#runOnce(work);
    if (ended === undefined) {
      // A conversation that was deleted while its agent was live begins anew, once.
      await this.#agents.release(work.key);
      ended = await this.#runOnce(work, true);
    }
    const { turn, replyId, reply } = work;
    const { calls, sessionId } = ended as Ended;
    turn.onSent?.(
      () =>
        void this.#saved("That a reply arrived", turn, (store) => store.saveDelivered(sessionId, replyId)),
    );
    const told = newMessage({ role: "assistant", content: reply.text, toolCalls: calls });
    const marks = replyMarks(turn, told, [replyId]);
    if (marks.length > 0)
      await this.#saved("By what its next request is known", turn, (store) =>
        store.saveMarks(sessionId, marks),
      );
    return ended as Ended;
  }

  /** Undefined: the session is gone. */
  async #runOnce(work: Work, isLast = false): Promise<Ended | undefined> {
    const { turn, asked, reply, signal } = work;
    const { session } = turn.identity;
    const isCommand = session.kind === "session-key" && NEW_SESSION.has(commandIn(asked));
    const conversation = await this.#conversation(work, isCommand);
    const agent = await this.#agentFor(work, conversation);
    work.agent = agent;
    await agent.storeUnsaved(); // before the client's list is compared with what is stored
    if (isCommand) {
      reply.fill("A new session has begun. The one before is stored, and session search finds it.");
      return { finish: "stop", calls: [], sessionId: agent.sessionId };
    }

    const earlier = await findEarlier(agent, turn);
    if (earlier?.kind === "answered") {
      reply.fill(earlier.text);
      const finish = earlier.calls.length > 0 ? "tool_calls" : earlier.isWhole ? "stop" : "length";
      return { finish, calls: earlier.calls, sessionId: agent.sessionId };
    }
    if (showsChat(turn.identity, asked))
      await followClient(turn, asked, {
        chatId: conversation.sessionId === undefined ? turn.chatId : agent.sessionId,
        hiddenTools: agent.toolNames,
        source: sourceOf(turn.identity),
      });
    else await this.#catchUp(work, agent, earlier?.isNewest ?? false);
    signal.throwIfAborted();
    if (asked.now.kind === "message") await this.#makeRoom(work, agent, conversation);
    const result = await this.#runTurn(work, agent, conversation);
    return result.exit === "session_gone" && !isLast ? undefined : this.#ended(work, result);
  }

  /** The request has only what is new: its own message if it was stored before, and results that came with the user's message. */
  async #catchUp({ turn, asked }: Work, agent: Agent, isRepeated: boolean): Promise<void> {
    if (asked.now.kind !== "message") return;
    if (isRepeated) return takeBack(agent);
    const from = asked.earlier.findLastIndex(({ role }) => role !== "tool") + 1;
    const results = asked.earlier.slice(from);
    if (results.length > 0) await turn.memory.remember(agent.sessionId, results);
  }

  async #runTurn(work: Work, agent: Agent, conversation: Conversation): Promise<TurnResult> {
    const { turn, asked, signal, reply } = work;
    const { request, identity } = turn;
    const saving: Promise<void>[] = [];
    const about = { user: identity.user, profile: identity.profile };
    const tell = (type: GatewayEvent["type"], fields: object = {}) =>
      this.#gateway.events.emit({ type, ...about, session_id: agent.sessionId, ...fields });
    const options = {
      signal,
      clientTools: request.toolChoice === "none" ? [] : request.tools,
      instructions: request.system,
      messageId: requestId(turn),
      maxOutputTokens: request.maxOutputTokens,
      temperature: request.temperature,
      onEvent: (event: Parameters<Parameters<Agent["onEvent"]>[0]>[0]) => {
        // The vendor's error is for the owner; of a user's review it is only in the log.
        const isOwners = event.type === "notice" && event.cause === "review-failed";
        if (!isOwners || identity.user === undefined) reply.listen(event);
        if (event.type === "review-start") this.#chargeReview(turn, agent);
        if (event.type === "turn-start") {
          saving.push(this.#saveLive(work, conversation, { session_id: event.sessionId }));
          saving.push(
            this.#saved("By what its repetition is known", turn, async (store) => {
              await store.saveMarks(event.sessionId, turn.requestMarks ?? []);
              await store.saveAsk(event.sessionId, { token: work.replyId, request: requestId(turn) });
            }),
          );
          tell("turn-start", { mode: "agent" });
        }
        if (event.type === "memory-write")
          tell("memory-write", { action: event.action, target: event.target });
        if (event.type === "compaction-end")
          tell("compaction", { kind: event.kind, from: event.oldSessionId });
        if (event.type === "notice") tell("notice", { cause: causeOf(event.cause) });
      },
      onRecall: (recalled: Recalled) => {
        saving.push(
          this.#saved("What was recalled", turn, () => noteRecall(turn, { ...recalled, mode: "agent" })),
        );
      },
    };
    const now = await answeringStored(agent, asked);
    turn.prepared?.();
    const result =
      now.kind === "results"
        ? await agent.continueWith(now.results, options)
        : await agent.run(inputOf(now.content), {
            ...options,
            ...(now.own !== undefined && { persistUserMessage: inputOf(now.own) }),
          });
    await Promise.all(saving);
    await this.#saveLive(work, conversation, {
      session_id: result.session_id,
      last_prompt_tokens: result.last_prompt_tokens,
    });
    tell("turn-end", { exit: result.exit, api_calls: result.api_calls });
    this.#gateway.metrics.count("agent_turns", { exit: result.exit });
    if (!result.failed && agent.store !== undefined)
      this.#gateway.metrics.count("turns_stored_total", { mode: "agent" });
    return result;
  }

  /** Of a request: a failure costs only this. */
  async #saved(
    what: string,
    { memory }: ModelTurn,
    save: (store: SessionStore) => Promise<unknown>,
  ): Promise<void> {
    try {
      await save(await memory.layers.sessions({ mode: "write", create: true }));
    } catch (cause) {
      this.#gateway.log.warn(`${what} was not stored: ${describeCause(cause)}`);
    }
  }

  #ended({ turn, reply }: Work, result: TurnResult): Ended {
    if (result.interrupted) throw new ProblemError(this.#stopped());
    const problem = problemOf(result);
    if (problem !== undefined) throw new ProblemError(problem);
    if (result.exit !== "client_tool_calls") reply.fill(result.final_response);
    if (result.error !== null)
      reply.note(turn.identity.user === undefined ? result.error : "The model could not finish this reply.");
    return endOf(result);
  }

  // ---- The session ----

  /** A conversation that a session key names begins a new session when the old one has expired or the user asks for it. */
  async #conversation({ turn, reply, key }: Work, isCommand: boolean): Promise<Conversation> {
    const { session } = turn.identity;
    const index = await liveIndexOf(turn.memory.layers.memory);
    const live = await index.getLiveSession(liveKey(turn.memory, turn.chatId));
    if (session.kind !== "session-key" || live === null) return { index, live, sessionId: undefined };
    const policy = resetPolicy(await this.#gateway.config(), this.#gateway.env);
    const expiry = expiryOf(policy, live.last_active_at, this.#gateway.clock.now());
    if (!isCommand && expiry === undefined) return { index, live, sessionId: live.session_id };
    await this.#agents.release(key);
    const next = await this.#beginNext(turn, index, live);
    if (!isCommand && expiry !== undefined && policy.notify) reply.note(resetNotice(expiry, policy));
    return { index, live: next, sessionId: next.session_id };
  }

  /** The provider is told of the end, the old row ends, and the new one refers to it. Each step may be repeated after a kill. */
  async #beginNext(turn: ModelTurn, index: LiveIndex, live: LiveSession): Promise<LiveSession> {
    const { clock, log, events } = this.#gateway;
    const person = turn.memory.layers;
    const { sessionKey } = turn.identity.session;
    if (live.finalized_at === null)
      await finalise(person, live, { chatId: turn.chatId, sessionKey }, { clock, log }).catch(
        (cause: unknown) => log.warn(notTold(live, cause)),
      );
    const now = clock.now().getTime() / 1000;
    const store = await person.sessions({ mode: "write", create: true });
    const old = await store.getNewestSession(live.session_id);
    if (old !== null) await store.endSession(old.id, "session_reset");
    const id = newSessionId(clock.now(), 8);
    await store.createSession(id, {
      source: live.source,
      ...(old === null ? {} : { parentSessionId: old.id, modelConfig: { _reset_from: old.id } }),
    });
    const next: LiveSession = {
      ...live,
      session_id: id,
      started_at: now,
      last_active_at: now,
      last_prompt_tokens: 0,
      finalized_at: null,
      reset_reason: null,
    };
    await index.saveLiveSession(next);
    const { user, profile } = turn.identity;
    const about = { user, profile };
    events.emit({ type: "session-end", ...about, session_id: live.session_id });
    events.emit({ type: "session-start", ...about, session_id: id });
    return next;
  }

  /** A session without a row, because the database cannot be written, has no record either. */
  async #saveLive(
    { turn }: Work,
    { index, live }: Conversation,
    now: Pick<LiveSession, "session_id"> & Partial<LiveSession>,
  ): Promise<void> {
    const seconds = this.#gateway.clock.now().getTime() / 1000;
    await this.#saved("The record of a live session", turn, () =>
      index.saveLiveSession({
        source: sourceOf(turn.identity),
        started_at: seconds,
        last_prompt_tokens: 0,
        ...live,
        key: liveKey(turn.memory, turn.chatId),
        last_active_at: seconds,
        finalized_at: null,
        reset_reason: null,
        ...now,
      }),
    );
  }

  async #charge({ turn, reply, agent }: Work): Promise<void> {
    const { usage, text } = reply;
    // A command is answered without a model.
    if (agent === undefined || (usage === undefined && !turn.signal.aborted)) return;
    const told = newMessage({ role: "assistant", content: text, toolCalls: [] });
    await charge(turn, agent.model, { usage, reply: told, isPart: turn.signal.aborted });
  }

  /** Charges a review to the budgets of the turn that started it. The listener must not keep the turn, whose body may be large. */
  #chargeReview({ gateway, caller, identity }: ModelTurn, agent: Agent): void {
    const stop = agent.onEvent((event) => {
      if (event.type !== "review-end") return;
      stop();
      const { usage } = event;
      const charging = charge({ gateway, caller, identity }, agent.model, { usage });
      this.#charging.add(charging);
      void charging.finally(() => this.#charging.delete(charging));
    });
  }

  // ---- The agent ----

  async #agentFor({ turn, key, reply }: Work, { sessionId }: Conversation): Promise<Agent> {
    const { memory, identity, chatId } = turn;
    const { session, user, profile } = identity;
    const { env: given, clock, log } = this.#gateway;
    const { memory: home } = memory.layers;
    const config = profile === undefined ? await this.#gateway.config() : await home.config();
    const env = environmentOf(home.home, given);
    const asked = turn.request.model.trim();
    const isServed = !isOwnModelName(asked) && chooseModel({ flags: { model: asked }, env, config }).ok;
    const model = isServed ? asked : undefined; // so for a name that nothing here can serve
    const chosen = chooseModel({ flags: { model }, env, config });
    if (chosen.ok) refuseModel(turn, chosen.value, !isServed);
    const isOwner = user === undefined;
    const agent = await this.#agents.get(key, [JSON.stringify(config.raw), model], async () => {
      await openNamedChat(turn, sourceOf(turn.identity));
      return createAgent({
        memory,
        ...(sessionId === undefined ? { chatId } : { sessionId }),
        platform: sourceOf(turn.identity),
        chat: {
          id: session.platformChatId ?? chatId,
          ...(session.threadId === undefined ? {} : { threadId: session.threadId }),
          ...(session.sessionKey === undefined ? {} : { gatewaySessionKey: session.sessionKey }),
        },
        ...(model === undefined ? {} : { selection: { model } }),
        // A user's agent has no skill tools, so its reviews are of the user's memory only.
        review: true,
        // As `hermes chat`: the owner has every toolset that config does not disable, and titles.
        ...(isOwner ? { toolsets: null, titles: true } : {}),
        // The owner's MCP servers act with the owner's credentials.
        config: isOwner ? config : { ...config, mcpServers: [] },
        env,
        clock,
        log,
        ...this.#deps.agent,
      });
    });
    if (model === undefined && !isOwnModelName(asked) && this.#toldModels.get(agent) !== asked) {
      this.#toldModels.set(agent, asked);
      reply.note(otherModelNotice(asked, agent.model.model));
    }
    return agent;
  }

  /**
   * Before the agent runs: a conversation that grew too long while no agent was live, or for another model, is compacted in a new
   * session. Whatever fails here, the turn goes on.
   */
  async #makeRoom({ reply, signal }: Work, agent: Agent, { live }: Conversation): Promise<void> {
    const { log } = this.#gateway;
    const { compression } = await this.#gateway.config();
    const stop = (): void => agent.interrupt();
    try {
      if (agent.store === undefined) return;
      const { tokens: window } = agent.window;
      const { fire } = hygieneDecision({
        enabled: compression.enabled,
        messages: agent.messages,
        lastPromptTokens: live?.last_prompt_tokens || (await agent.status()).context.used_tokens,
        window,
        threshold: compression.hygieneThreshold,
        messageLimit: compression.hygieneHardMessageLimit,
        hasModel: true,
      });
      if (!fire) return;
      signal.addEventListener("abort", stop, { once: true });
      const from = agent.sessionId;
      const report = await agent.compress({ kind: "full" }, { showsNotices: true });
      for (const notice of report.notices) reply.note(notice);
      if (report.sessionId !== from) reply.noteCompaction(from, report.sessionId);
      const { used_tokens: left } = (await agent.status()).context;
      if (left >= window * STILL_FULL)
        log.warn(
          `Session ${agent.sessionId} fills ${Math.round((left / window) * 100)} % of the window after a compaction.`,
        );
    } catch (cause) {
      log.warn(`A conversation was not compacted before its turn: ${describeCause(cause)}`);
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  // ---- Keeping house ----

  async #tidy(): Promise<void> {
    try {
      const { maxLiveAgents: most, idleAgentSeconds: idleSeconds } = (await this.#gateway.config()).gateway;
      this.#agents.tidy({ most, idleSeconds });
    } catch (cause) {
      this.#gateway.log.warn(`Idle agents were not closed: ${describeCause(cause)}`);
    }
  }

  /**
   * Runs the curator in the background when it is due, for the owner of the served home. After a run or a failure it waits a day: a
   * state file that cannot be written must not cost a run, or a line in the log, every 5 minutes.
   */
  async #curate(): Promise<void> {
    const { clock, log, env } = this.#gateway;
    const nowMs = clock.now().getTime();
    if (this.#closing.signal.aborted || nowMs < this.#curateAgainAtMs) return;
    const stop = new AbortController();
    this.#running.add(stop);
    try {
      const config = await this.#gateway.config();
      if (!chooseModel({ env, config }).ok) return;
      const { maybeRunCurator } = await import("@hermes-memory/agent/internal/curator");
      const { administration: memory } = this.#gateway.memory(undefined);
      const idleHours = async (): Promise<number> => {
        const [newest] =
          (await (await memory.owner.sessions({ mode: "read" }))?.searchSessions({ limit: 1 })) ?? [];
        return (nowMs / 1000 - (newest?.last_active ?? 0)) / 3600;
      };
      const model = () => curatorModel(config, env);
      const { kind } = await maybeRunCurator({ memory, log, signal: stop.signal, idleHours, model });
      if (kind === "ran" || kind === "failed") this.#curateAgainAtMs = nowMs + DAY_MS;
    } catch (cause) {
      this.#curateAgainAtMs = nowMs + DAY_MS;
      log.warn(`The curator was not started: ${describeCause(cause)}`);
    } finally {
      this.#running.delete(stop);
    }
  }

  async #watchedHomes(): Promise<readonly { readonly home: Home; readonly live: LiveIndex }[]> {
    const watched: { home: Home; live: LiveIndex }[] = [];
    for (const home of await servedHomes(this.#gateway))
      if ((await home.administrator.sessions({ mode: "write" })) !== undefined)
        watched.push({ home, live: await liveIndexOf(home) });
    return watched;
  }

  async #whileIdle(home: Home, liveSessionKey: string, work: () => Promise<void>): Promise<void> {
    const key = agentKey(home, liveSessionKey);
    if (this.#agents.isBusy(key)) return;
    const end = await this.#agents.begin(key);
    try {
      await this.#agents.release(key);
      await work();
    } finally {
      end();
    }
  }
}

const DAY_MS = 86_400_000;

/** A conversation that fills this share of the window after a compaction cannot grow any more. */
const STILL_FULL = 0.95;

function agentKey(home: Home, key: string): string {
  return `${home.home}\0${key}`;
}

function otherModelNotice(asked: string, used: string): string {
  const shown = preview(asked, MODEL_NAME_CHARS);
  return `No provider with a key serves the model '${shown}', so '${used}' of config.yaml answers. Ask for 'hermes', or set the provider's key.`;
}

const MODEL_NAME_CHARS = 100;

function commandIn({ now }: Asked): string {
  return now.kind === "message"
    ? textOf(now.own ?? now.content)
        .trim()
        .toLowerCase()
    : "";
}

function inputOf(content: Content): Parameters<Agent["run"]>[0] {
  return content === null || typeof content === "string" ? (content ?? "") : [...content];
}

/** Causes may name a session or a title behind a colon. */
function causeOf(cause: string): string {
  return cause.split(":")[0] ?? cause;
}
