// One session of the tour: a real agent on the demo's home, what is said in it, and what the agent told meanwhile.
import {
  type Agent,
  type AgentEvent,
  type AgentOptions,
  createAgent,
  type TurnResult,
} from "@hermes-memory/agent/agent";
import { toolCallsOf } from "@hermes-memory/core/message";
import { type Json, jsonIn } from "./wire.ts";

/** Everything here happens on this machine; whatever takes so long does not happen at all. */
const PATIENCE_MS = 10_000;

type Watcher = { readonly isIt: (event: AgentEvent) => boolean; readonly tell: (event: AgentEvent) => void };

export type StageOptions = {
  readonly home: string;
  readonly signal: AbortSignal;
  /** Changes to the agent; for tests that break a layer. */
  readonly agent?: Partial<AgentOptions> | undefined;
  readonly said: (who: "you" | "model", text: string) => void;
};

export class Stage implements AsyncDisposable {
  readonly agent: Agent;
  readonly events: AgentEvent[];
  readonly #options: StageOptions;
  readonly #watchers: Set<Watcher>;

  private constructor(agent: Agent, events: AgentEvent[], watchers: Set<Watcher>, options: StageOptions) {
    this.agent = agent;
    this.events = events;
    this.#watchers = watchers;
    this.#options = options;
  }

  /** Neither keys nor settings of the user's environment reach the agent, nor the context files of their directory. */
  static async open(options: StageOptions): Promise<Stage> {
    const events: AgentEvent[] = [];
    const watchers = new Set<Watcher>();
    const agent = await createAgent({
      home: options.home,
      env: {},
      cwd: options.home,
      skipContextFiles: true,
      ...options.agent,
      onEvent: (event) => {
        events.push(event);
        for (const watcher of watchers) if (watcher.isIt(event)) watcher.tell(event);
      },
    });
    return new Stage(agent, events, watchers, options);
  }

  /** One turn. `isTold: false`: it is too long to be shown. */
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
    this.#options.said(who, text);
  }

  /** The first such event, also one that has been. */
  async until<T extends AgentEvent["type"]>(type: T): Promise<Extract<AgentEvent, { type: T }>> {
    const isIt = (event: AgentEvent): event is Extract<AgentEvent, { type: T }> => event.type === type;
    const past = this.events.find(isIt);
    if (past !== undefined) return past;
    const { promise, resolve, reject } = Promise.withResolvers<Extract<AgentEvent, { type: T }>>();
    const watcher: Watcher = { isIt, tell: (event) => isIt(event) && resolve(event) };
    const late = setTimeout(
      () => reject(new Error(`The agent told no '${type}' within ${PATIENCE_MS / 1000} s.`)),
      PATIENCE_MS,
    );
    const stop = (): void => reject(this.#options.signal.reason);
    this.#watchers.add(watcher);
    this.#options.signal.addEventListener("abort", stop, { once: true });
    try {
      return await promise;
    } finally {
      clearTimeout(late);
      this.#watchers.delete(watcher);
      this.#options.signal.removeEventListener("abort", stop);
    }
  }

  all<T extends AgentEvent["type"]>(type: T): readonly Extract<AgentEvent, { type: T }>[] {
    return this.events.filter((event): event is Extract<AgentEvent, { type: T }> => event.type === type);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.agent.close();
  }
}

export type ToolUse = { readonly arguments: Json; readonly result: Json };

/** The newest call of a tool in a conversation, and what it gave back. */
export function lastUse({ messages }: Pick<TurnResult, "messages">, tool: string): ToolUse | undefined {
  const made = messages.flatMap((message) => toolCallsOf(message)).findLast(({ name }) => name === tool);
  const answered = messages.findLast((message) => message.role === "tool" && message.toolCallId === made?.id);
  if (made === undefined || typeof answered?.content !== "string") return undefined;
  return { arguments: jsonIn(made.arguments) ?? {}, result: jsonIn(answered.content) ?? {} };
}
