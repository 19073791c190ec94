// Agent mode: our loop, tools and memory answer a client's model request. The story of a request, from top to bottom: wait for the turn
// before it, find the session (a new one if it has expired), get the live agent, follow the client's list, make room, run the turn, and
// keep what the next request needs. The answer goes out in the client's wire while the turn runs.
import {
  type Agent,
  createAgent,
  type RunOptions,
  type TurnResult,
} from "@hermes-memory/agent/internal/agent";
import { chooseModel } from "@hermes-memory/agent/internal/models";
import { environmentOf } from "@hermes-memory/core/internal/config";
import { hygieneDecision } from "@hermes-memory/core/internal/context";
import { describeCause, HermesError, preview } from "@hermes-memory/core/internal/lib";
import { type Content, newMessage, textOf } from "@hermes-memory/core/internal/message";
import type { LiveSession, SessionStore } from "@hermes-memory/core/internal/sessions";
import { admit, charge, refuseModel } from "../allowance.ts";
import { sourceOf } from "../identity.ts";
import { stoppedProblem } from "../problem.ts";
import { replyMarks } from "../proxy/chain.ts";
import { noteRecall } from "../proxy/turn-memory.ts";
import { isOwnModelName } from "../proxy/upstream.ts";
import { refuseForUsers } from "../proxy/users-may.ts";
import { ReplyStream, type Said } from "../reply-stream.ts";
import { type Answer, type Gateway, type GatewayEvent, type ModelTurn, ProblemError } from "../types.ts";
import { refuseLost } from "../wires/body-fields.ts";
import { hermesHeaders } from "../wires/fields.ts";
import { Caretaker } from "./caretaker.ts";
import {
  type Asked,
  answeringStored,
  findEarlier,
  followRequest,
  openNamedChat,
  readAsked,
  requestId,
} from "./follow.ts";
import { LiveAgents } from "./live-agents.ts";
import { type Ended, endOf, problemOf, ReplySoFar } from "./reply.ts";
import {
  agentKey,
  beginNext,
  expiryOf,
  type LiveIndex,
  liveIndexOf,
  liveKey,
  resetNotice,
  resetPolicy,
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
  readonly reply: ReplySoFar;
  readonly replyId: string;
  readonly startedAtMs: number;
  // Known as the turn goes on
  conversation?: Conversation;
  agent?: Agent;
  /** Of the agent's run; absent if it was not needed. */
  result?: TurnResult | undefined;
  /** Absent: the turn failed. */
  ended?: Ended;
};

type Conversation = {
  readonly index: LiveIndex;
  /** Null: nobody has spoken in it yet. */
  readonly live: LiveSession | null;
  /** The session, where the chat id does not name it: after a reset. */
  readonly sessionId?: string;
};

type Running = { readonly work: Work; readonly agent: Agent; readonly conversation: Conversation };

const NEW_SESSION: ReadonlySet<string> = new Set(["/new", "/reset"]);
const BEGUN = "A new session has begun. The one before is stored, and session search finds it.";
const MODEL_NAME_CHARS = 100;

export class AgentMode {
  readonly answer: Answer = (turn) => this.#answer(turn);
  readonly #gateway: Gateway;
  readonly #deps: AgentModeDeps;
  readonly #agents: LiveAgents;
  readonly #caretaker: Caretaker;
  /** The name of a model for which another one answers, told once in a conversation while its agent is live. */
  readonly #toldModels = new WeakMap<Agent, string>();
  /** Reviews that have ended and are being charged. */
  readonly #charging = new Set<Promise<void>>();

  constructor(gateway: Gateway, deps: AgentModeDeps = {}) {
    const { clock, log, metrics } = gateway;
    this.#gateway = gateway;
    this.#deps = deps;
    this.#agents = new LiveAgents({ log, now: () => clock.now().getTime(), waitMs: deps.waitMs });
    this.#caretaker = new Caretaker(gateway, this.#agents);
    metrics.gauge("live_agents", () => this.#agents.size);
  }

  /** Agents that are kept in memory. */
  get size(): number {
    return this.#agents.size;
  }

  /** A round of the caretaker, now. Never rejects. */
  sweep(): Promise<void> {
    return this.#caretaker.sweep();
  }

  /** Waits for turns that were stopped and store what they have, and closes the agents. Their sessions go on. */
  async close(): Promise<void> {
    await this.#caretaker.stop();
    await this.#agents.close();
    await Promise.all(this.#charging);
  }

  // ---- One request ----

  async #answer(turn: ModelTurn): Promise<Response> {
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
    const stream = new ReplyStream(turn);
    const reply = new ReplySoFar((event) => stream.write(event));
    const replyId = turn.wire.newReplyId();
    const work: Work = { turn, asked, key, reply, replyId, startedAtMs: performance.now() };
    const said = this.#run(work).finally(() => {
      end();
      void this.#caretaker.tidy();
    });
    const start = () => {
      const createdAtSeconds = Math.floor(this.#gateway.clock.now().getTime() / 1000);
      const { agent } = work; // unknown while its provider is waited for
      const headers = hermesHeaders({ sessionId: agent?.sessionId ?? "", notices: [] });
      return { id: replyId, model: agent?.model.model ?? turn.request.model, createdAtSeconds, headers };
    };
    return stream.response(said, { start, pingMs: this.#deps.pingMs });
  }

  async #run(work: Work): Promise<Said> {
    const { reply, turn } = work;
    try {
      let ended = await this.#turn(work);
      if (ended === undefined) {
        // A conversation that was deleted while its agent was live begins anew, once.
        await this.#agents.release(work.key);
        work.result = undefined;
        ended = await this.#turn(work);
      }
      if (ended === undefined)
        throw new ProblemError(problemOf(work.result as TurnResult) ?? this.#stopped());
      work.ended = ended;
    } catch (cause) {
      if (!turn.signal.aborted || cause instanceof ProblemError || cause instanceof HermesError) throw cause;
      throw new ProblemError(this.#stopped(), { cause });
    } finally {
      await this.#finishTurn(work);
    }
    const { finish, calls: toolCalls, sessionId } = work.ended;
    const { text, reasoning, usage } = reply;
    return { text, reasoning, toolCalls, finish, usage, metadata: reply.metadata(sessionId) };
  }

  #stopped(): ProblemError["problem"] {
    return stoppedProblem(this.#gateway.isStopping);
  }

  // ---- The turn ----

  /** Undefined: the session is gone. */
  async #turn(work: Work): Promise<Ended | undefined> {
    const { turn, asked, reply } = work;
    const isCommand = turn.identity.session.kind === "session-key" && NEW_SESSION.has(commandIn(asked));
    const conversation = await this.#findConversation(work, isCommand);
    const agent = await this.#agentFor(work, conversation);
    Object.assign(work, { conversation, agent });
    await agent.storeUnsaved(); // before the client's list is compared with what is stored
    if (isCommand) {
      reply.fill(BEGUN);
      return { finish: "stop", calls: [], sessionId: agent.sessionId };
    }

    const earlier = await findEarlier(agent, turn);
    if (earlier?.kind === "answered") {
      reply.fill(earlier.text);
      const finish = earlier.calls.length > 0 ? "tool_calls" : earlier.isWhole ? "stop" : "length";
      return { finish, calls: earlier.calls, sessionId: agent.sessionId };
    }
    const chatId = conversation.sessionId === undefined ? turn.chatId : agent.sessionId;
    await followRequest(agent, turn, asked, { chatId, isRepeated: earlier?.isNewest === true });
    turn.signal.throwIfAborted();
    const running = { work, agent, conversation };
    if (asked.now.kind === "message") await this.#makeRoom(running);
    const result = await this.#runAgent(running);
    work.result = result;
    if (result.interrupted) throw new ProblemError(this.#stopped());
    if (result.exit === "session_gone") return undefined;
    const problem = problemOf(result);
    if (problem !== undefined) throw new ProblemError(problem);
    if (result.exit !== "client_tool_calls") reply.fill(result.final_response);
    if (result.error !== null)
      reply.note(turn.identity.user === undefined ? result.error : "The model could not finish this reply.");
    return endOf(result);
  }

  /** A conversation that a session key names begins a new session when the old one has expired or the user asks for it. */
  async #findConversation({ turn, reply, key }: Work, isCommand: boolean): Promise<Conversation> {
    const { clock, env } = this.#gateway;
    const index = await liveIndexOf(turn.memory.layers.memory);
    const live = await index.getLiveSession(liveKey(turn.memory, turn.chatId));
    if (turn.identity.session.kind !== "session-key" || live === null) return { index, live };
    const policy = resetPolicy(await this.#gateway.config(), env);
    const expiry = expiryOf(policy, live.last_active_at, clock.now());
    if (!isCommand && expiry === undefined) return { index, live, sessionId: live.session_id };
    await this.#agents.release(key);
    const next = await beginNext(turn, index, live);
    if (!isCommand && expiry !== undefined && policy.notify) reply.note(resetNotice(expiry, policy));
    return { index, live: next, sessionId: next.session_id };
  }

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
    const source = sourceOf(identity);
    const agent = await this.#agents.get(key, JSON.stringify([config.raw, model]), async () => {
      await openNamedChat(turn, source);
      return createAgent({
        memory,
        ...(sessionId === undefined ? { chatId } : { sessionId }),
        platform: source,
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
      const [name, used] = [preview(asked, MODEL_NAME_CHARS), agent.model.model];
      reply.note(
        `No provider with a key serves the model '${name}', so '${used}' of config.yaml answers. Ask for 'hermes', or set the provider's key.`,
      );
    }
    return agent;
  }

  /**
   * Before the agent runs: a conversation that grew too long while no agent was live, or for another model, is compacted in a new
   * session. Whatever fails here, the turn goes on.
   */
  async #makeRoom({ work: { reply, turn }, agent, conversation }: Running): Promise<void> {
    const stop = (): void => agent.interrupt();
    try {
      if (agent.store === undefined) return;
      const { compression } = await this.#gateway.config();
      const { fire } = hygieneDecision({
        enabled: compression.enabled,
        messages: agent.messages,
        lastPromptTokens: conversation.live?.last_prompt_tokens || (await agent.status()).context.used_tokens,
        window: agent.window.tokens,
        threshold: compression.hygieneThreshold,
        messageLimit: compression.hygieneHardMessageLimit,
        hasModel: true,
      });
      if (!fire) return;
      turn.signal.addEventListener("abort", stop, { once: true });
      const from = agent.sessionId;
      const report = await agent.compress({ kind: "full" }, { showsNotices: true });
      for (const notice of report.notices) reply.note(notice);
      if (report.sessionId !== from) reply.noteCompaction(from, report.sessionId);
    } catch (cause) {
      this.#gateway.log.warn(`A conversation was not compacted before its turn: ${describeCause(cause)}`);
    } finally {
      turn.signal.removeEventListener("abort", stop);
    }
  }

  async #runAgent(running: Running): Promise<TurnResult> {
    const { work, agent } = running;
    const { turn, asked, reply, replyId } = work;
    const { request, identity, signal } = turn;
    const saving: Promise<void>[] = [];
    const options: RunOptions = {
      signal,
      clientTools: request.toolChoice === "none" ? [] : request.tools,
      instructions: request.system,
      messageId: requestId(turn),
      maxOutputTokens: request.maxOutputTokens,
      temperature: request.temperature,
      onEvent: (event) => {
        // The vendor's error is for the owner; of a user's review it is only in the log.
        const isOwners = event.type === "notice" && event.cause === "review-failed";
        if (!isOwners || identity.user === undefined) reply.listen(event);
        if (event.type === "review-start") this.#chargeReview(turn, agent);
        if (event.type === "turn-start") {
          saving.push(this.#saveLive(running, { session_id: event.sessionId }));
          saving.push(
            this.#saved("By what its repetition is known", turn, async (store) => {
              await store.gateway.saveMarks(event.sessionId, turn.requestMarks ?? []);
              await store.gateway.saveAsk(event.sessionId, { token: replyId, request: requestId(turn) });
            }),
          );
          this.#tell(running, "turn-start", { mode: "agent" });
        }
        if (event.type === "memory-write")
          this.#tell(running, "memory-write", { action: event.action, target: event.target });
        if (event.type === "compaction-end")
          this.#tell(running, "compaction", { kind: event.kind, from: event.oldSessionId });
        // Causes may name a session or a title behind a colon.
        if (event.type === "notice") this.#tell(running, "notice", { cause: event.cause.split(":")[0] });
      },
      onRecall: (recalled) => noteRecall(turn, { ...recalled, mode: "agent" }),
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
    return result;
  }

  // ---- The end of a turn ----

  /** Every turn ends here, whether it failed or not: what the next request needs, what it cost, and what is told of it. Never rejects. */
  async #finishTurn(work: Work): Promise<void> {
    const { turn, reply, replyId, agent, conversation, result, ended } = work;
    const { metrics } = this.#gateway;
    if (agent !== undefined && conversation !== undefined && result !== undefined) {
      const running = { work, agent, conversation };
      const { session_id, last_prompt_tokens, exit, api_calls } = result;
      await this.#saveLive(running, { session_id, last_prompt_tokens });
      this.#tell(running, "turn-end", { exit, api_calls });
      metrics.count("agent_turns", { exit });
      if (!result.failed && agent.store !== undefined) metrics.count("turns_stored_total", { mode: "agent" });
    }
    const told = newMessage({ role: "assistant", content: reply.text, toolCalls: ended?.calls ?? [] });
    if (ended !== undefined) {
      const { sessionId } = ended;
      const noteDelivered = (store: SessionStore) => store.gateway.saveDelivered(sessionId, replyId);
      turn.onSent?.(() => void this.#saved("That a reply arrived", turn, noteDelivered));
      const marks = replyMarks(turn, told, [replyId]);
      const save = (store: SessionStore) => store.gateway.saveMarks(sessionId, marks);
      if (marks.length > 0) await this.#saved("By what its next request is known", turn, save);
    }
    const isPart = turn.signal.aborted;
    // A command is answered without a model.
    if (agent !== undefined && (reply.usage !== undefined || isPart))
      await charge(turn, agent.model, { usage: reply.usage, reply: told, isPart });
    metrics.observe("agent_turn_seconds", (performance.now() - work.startedAtMs) / 1000);
  }

  /** Charges a review to the budgets of the turn that started it. The listener must not keep the turn, whose body may be large. */
  #chargeReview({ gateway, caller, identity }: ModelTurn, agent: Agent): void {
    const stop = agent.onEvent((event) => {
      if (event.type !== "review-end") return;
      stop();
      const charging = charge({ gateway, caller, identity }, agent.model, { usage: event.usage });
      this.#charging.add(charging);
      void charging.finally(() => this.#charging.delete(charging));
    });
  }

  /** A session without a row, because the database cannot be written, has no record either. */
  async #saveLive(
    { work: { turn }, conversation: { index, live } }: Running,
    now: Pick<LiveSession, "session_id"> & Partial<LiveSession>,
  ): Promise<void> {
    const seconds = this.#gateway.clock.now().getTime() / 1000;
    const record: LiveSession = {
      source: sourceOf(turn.identity),
      started_at: seconds,
      last_prompt_tokens: 0,
      ...live,
      key: liveKey(turn.memory, turn.chatId),
      last_active_at: seconds,
      finalized_at: null,
      reset_reason: null,
      ...now,
    };
    await this.#saved("The record of a live session", turn, () => index.saveLiveSession(record));
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

  #tell({ work, agent }: Running, type: GatewayEvent["type"], fields: object): void {
    const { user, profile } = work.turn.identity;
    this.#gateway.events.emit({ type, user, profile, session_id: agent.sessionId, ...fields });
  }
}

function commandIn({ now }: Asked): string {
  if (now.kind === "results") return "";
  return textOf(now.own ?? now.content)
    .trim()
    .toLowerCase();
}

function inputOf(content: Content): Parameters<Agent["run"]>[0] {
  return content === null || typeof content === "string" ? (content ?? "") : [...content];
}
