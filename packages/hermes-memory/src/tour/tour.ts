// Building blocks for the steps of the tour: a step and its report, the state they share, and a session of a real agent.
import { EventEmitter, once } from "node:events";
import {
  type Agent,
  type AgentEvent,
  type AgentOptions,
  createAgent,
  type TurnResult,
} from "@hermes-memory/agent/agent";
import type { CacheSavings, Usage } from "@hermes-memory/agent/models";
import type { HistoryLine } from "@hermes-memory/core/curated";
import { describeCause } from "@hermes-memory/core/lib";
import { toolCallsOf } from "@hermes-memory/core/message";
import { configure } from "./home.ts";
import { isReview, MODELS } from "./scripted-model.ts";
import { type Json, jsonIn, type ScriptedServer, type ServedRequest } from "./scripted-server.ts";

/** One thing the tour shows: what a layer did, with which values, and whether its promises were kept. */
export type Step = {
  readonly id: string;
  readonly session: number;
  readonly layer: string;
  /** The event, in one sentence. */
  readonly title: string;
  readonly ok: boolean;
  /** Statements, and whether they are true. */
  readonly checks: Readonly<Record<string, boolean>>;
  /** The error that ended the step early. */
  readonly problem: string | null;
  readonly facts: Readonly<Record<string, unknown>>;
  /** Text below the title. */
  readonly lines: readonly string[];
};

type Shown = Pick<Step, "checks" | "facts" | "lines">;
type StepName = Pick<Step, "id" | "session" | "layer" | "title">;

/** Throws when an earlier step did not leave the value it should have. */
export function needed<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`${what} is missing.`);
  return value;
}

/** Told about the tour while it runs. */
export interface Narrator {
  session(number: number, about: string): void;
  said(who: "you" | "model", text: string): void;
  step(step: Step): void;
}

/** The `hermes memory` commands, bound to the home of the tour. */
export type MemoryCommands = {
  /** Newest change first. */
  readonly history: () => Promise<readonly HistoryLine[]>;
  /** Returns the lines that the command prints. */
  readonly undo: (id: string) => Promise<readonly string[]>;
};

export type TourOptions = {
  readonly home: string;
  readonly server: ScriptedServer;
  readonly signal: AbortSignal;
  readonly narrator: Narrator;
  readonly memoryCommands: MemoryCommands;
  /** Changes to the agent; for tests that break a layer. */
  readonly agent?: Partial<AgentOptions>;
};

/** Values a step hands to later ones. Absent when the step that finds them out failed. */
type Known = {
  firstSession?: string;
  firstPrompt?: string;
  entry?: string;
  reviewChange?: string;
};

/** Usage of one session, as its agent counted it. */
type Spent = {
  readonly session: number;
  readonly calls: readonly Usage[];
  readonly costUsd: number | null;
  readonly savings: CacheSavings | null;
};

export class Tour {
  readonly home: string;
  readonly memoryCommands: MemoryCommands;
  readonly steps: Step[] = [];
  readonly known: Known = {};
  readonly spent: Spent[] = [];
  readonly #options: TourOptions;

  constructor(options: TourOptions) {
    this.home = options.home;
    this.memoryCommands = options.memoryCommands;
    this.#options = options;
  }

  /** Requests of conversations, without those of reviews, titles and summaries. */
  get conversation(): readonly ServedRequest[] {
    return this.#requests.filter((request) => !isReview(request));
  }

  get reviews(): readonly ServedRequest[] {
    return this.#requests.filter(isReview);
  }

  get #requests(): readonly ServedRequest[] {
    return this.#options.server.requests.filter(({ model }) => model === MODELS.chat);
  }

  /** An error fails the step and the tour goes on; only an interrupt is thrown. */
  async step(name: StepName, show: () => Promise<Shown>): Promise<void> {
    const { signal, narrator } = this.#options;
    const shown = await show().catch((cause: unknown) => {
      signal.throwIfAborted();
      return { checks: {}, facts: {}, lines: [], problem: describeCause(cause) };
    });
    const problem = "problem" in shown ? shown.problem : null;
    const isOk = problem === null && Object.values(shown.checks).every(Boolean);
    const step: Step = { ...name, ...shown, ok: isOk, problem };
    this.steps.push(step);
    narrator.step(step);
  }

  /** When the agent cannot be made, that is a failed step as well. */
  async session(
    number: number,
    setting: { readonly kind: "long" | "small"; readonly about: string },
    play: (session: TourSession) => Promise<void>,
  ): Promise<void> {
    const { home, server, signal, narrator } = this.#options;
    signal.throwIfAborted();
    narrator.session(number, setting.about);
    try {
      await configure(home, server.url, setting.kind);
      await using session = await TourSession.open(this.#options);
      await play(session);
      const { savings, cost_usd: costUsd } = await session.agent.status();
      const calls = session.all("usage").map(({ usage }) => usage);
      this.spent.push({ session: number, calls, costUsd, savings });
    } catch (cause) {
      signal.throwIfAborted();
      const name = { id: "session", session: number, layer: "session", title: "The session does not run." };
      await this.step(name, () => Promise.reject(cause));
    }
  }
}

/** The agent, the model and the disk are all on this machine: an event that takes longer will not come. */
const EVENT_TIMEOUT_MS = 10_000;

type EventOf<T extends AgentEvent["type"]> = Extract<AgentEvent, { type: T }>;

/** A real agent on the home of the tour, and the events it sent so far. */
export class TourSession implements AsyncDisposable {
  readonly agent: Agent;
  readonly #events: AgentEvent[];
  /** Emits each event under its type. */
  readonly #emitter: EventEmitter;
  readonly #options: TourOptions;

  private constructor(agent: Agent, events: AgentEvent[], emitter: EventEmitter, options: TourOptions) {
    this.agent = agent;
    this.#events = events;
    this.#emitter = emitter;
    this.#options = options;
  }

  /** The agent sees no keys or settings of the user's environment, and no context files of their directory. */
  static async open(options: TourOptions): Promise<TourSession> {
    const events: AgentEvent[] = [];
    const emitter = new EventEmitter();
    const agent = await createAgent({
      home: options.home,
      administrator: true,
      env: {},
      cwd: options.home,
      toolsets: null,
      titles: true,
      review: true,
      ...options.agent,
      onEvent: (event) => {
        events.push(event);
        emitter.emit(event.type, event);
      },
    });
    return new TourSession(agent, events, emitter, options);
  }

  /** One turn. `isTold: false` keeps a long text from the narrator. */
  async say(text: string, { isTold = true }: { readonly isTold?: boolean } = {}): Promise<TurnResult> {
    const { signal } = this.#options;
    if (isTold) this.tell("you", text);
    const result = await this.agent.run(text, { signal });
    signal.throwIfAborted();
    if (result.failed || result.exit !== "text_response")
      throw new Error(`The turn ended with '${result.exit}': ${result.error ?? result.turn_exit_reason}`);
    if (isTold) this.tell("model", result.final_response);
    return result;
  }

  tell(who: "you" | "model", text: string): void {
    this.#options.narrator.said(who, text);
  }

  /** The first event of this type, past or to come. */
  async until<T extends AgentEvent["type"]>(type: T): Promise<EventOf<T>> {
    const [past] = this.all(type);
    if (past !== undefined) return past;
    const { signal } = this.#options;
    const late = AbortSignal.timeout(EVENT_TIMEOUT_MS);
    try {
      const [event] = await once(this.#emitter, type, { signal: AbortSignal.any([signal, late]) });
      return event;
    } catch (cause) {
      signal.throwIfAborted();
      if (!late.aborted) throw cause;
      throw new Error(`The agent sent no '${type}' within ${EVENT_TIMEOUT_MS / 1000} s.`);
    }
  }

  all<T extends AgentEvent["type"]>(type: T): readonly EventOf<T>[] {
    return this.#events.filter((event): event is EventOf<T> => event.type === type);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.agent.close();
  }
}

/** The newest call of a tool in a conversation, and its result. */
export function lastToolUse(
  { messages }: Pick<TurnResult, "messages">,
  tool: string,
): { readonly arguments: Json; readonly result: Json } | undefined {
  const made = messages.flatMap((message) => toolCallsOf(message)).findLast(({ name }) => name === tool);
  const answered = messages.findLast((message) => message.role === "tool" && message.toolCallId === made?.id);
  if (made === undefined || typeof answered?.content !== "string") return undefined;
  return { arguments: jsonIn(made.arguments) ?? {}, result: jsonIn(answered.content) ?? {} };
}
