// An agent whose turns the test controls, and a terminal in memory.
import type {
  AgentEvent,
  AgentStatus,
  AgentSurface,
  CommandReply,
  TurnResult,
} from "@hermes-memory/agent/internal/agent";
import { NO_USAGE } from "@hermes-memory/agent/internal/models";
import type { EditorKey } from "../../src/cli/chat/editor.ts";
import type { Tty, TtyEvent } from "../../src/cli/chat/tty.ts";
import { FakeTerminal } from "../fakes/vt.ts";

/** With the fields that a chat shows. */
export function turnResult(changes: Partial<TurnResult> = {}): TurnResult {
  return {
    ...{ final_response: "", messages: [], exit: "text_response", completed: true, failed: false },
    ...{ interrupted: false, error: null, hint: null, response_transformed: false, pending_steer: null },
    ...changes,
  } as unknown as TurnResult;
}

function agentStatus(changes: Partial<AgentStatus> = {}): AgentStatus {
  return {
    session_id: "20260101_090000_aaaaaa",
    title: null,
    model: "some-model",
    provider: "custom",
    turns: 1,
    messages: 2,
    context: {
      used_tokens: 1234,
      limit_tokens: 20_000,
      percent: 6,
      threshold_tokens: 10_000,
      engine: "compressor",
      compactions: 0,
    },
    memory: { memory: { used: 990, limit: 2200 }, user: null, provider: null },
    usage: NO_USAGE,
    api_calls: 1,
    cost_usd: null,
    caching: { enabled: false, ttl: "5m" },
    savings: null,
    ...changes,
  };
}

/** One turn of the fake agent, until the test ends it. */
type PlayedTurn = {
  readonly text: string;
  emit(event: AgentEvent): void;
  end(changes?: Partial<TurnResult>): void;
};

export type FakeAgent = {
  readonly agent: AgentSurface;
  readonly steered: readonly string[];
  readonly interrupts: () => number;
  /** Resolves when the agent is asked for its next turn. */
  nextTurn(): Promise<PlayedTurn>;
  listen(listener: (event: AgentEvent) => void): void;
};

export function fakeAgent(): FakeAgent {
  const steered: string[] = [];
  const turns: PlayedTurn[] = [];
  const waiting: ((turn: PlayedTurn) => void)[] = [];
  let listener: (event: AgentEvent) => void = () => {};
  let interrupts = 0;
  let isRunning = false;
  const run = (text: string, { signal }: { readonly signal?: AbortSignal } = {}): Promise<TurnResult> => {
    const { promise, resolve } = Promise.withResolvers<TurnResult>();
    isRunning = true;
    const end = (changes: Partial<TurnResult> = {}): void => {
      const result = turnResult(changes);
      isRunning = false;
      listener({ type: "turn-end", result });
      resolve(result);
    };
    signal?.addEventListener("abort", () => end({ interrupted: true, completed: false }));
    listener({ type: "turn-start", sessionId: "20260101_090000_aaaaaa", turn: 1 });
    const turn: PlayedTurn = { text, emit: (event) => listener(event), end };
    const first = waiting.shift();
    if (first) first(turn);
    else turns.push(turn);
    return promise;
  };
  const agent = {
    sessionId: "20260101_090000_aaaaaa",
    messages: [],
    get isRunning() {
      return isRunning;
    },
    run,
    interrupt: () => {
      interrupts += 1;
    },
    steer: (text: string) => {
      steered.push(text);
      return true;
    },
    status: async () => agentStatus(),
  } as unknown as AgentSurface; // the parts of it that a chat uses between start and end
  return {
    agent,
    steered,
    interrupts: () => interrupts,
    nextTurn: () => {
      const turn = turns.shift();
      return turn ? Promise.resolve(turn) : new Promise((resolve) => waiting.push(resolve));
    },
    listen: (next) => {
      listener = next;
    },
  };
}

export type FakeTty = {
  readonly tty: Tty;
  readonly terminal: FakeTerminal;
  press(...events: readonly TtyEvent[]): void;
  type(text: string): void;
  readonly isOpen: () => boolean;
};

export function fakeTty(columns = 80, rows = 24): FakeTty {
  const terminal = new FakeTerminal(columns, rows);
  let onEvents: ((events: readonly TtyEvent[]) => void) | undefined;
  const press = (...events: readonly TtyEvent[]): void => {
    onEvents?.(events);
  };
  return {
    terminal,
    press,
    type: (text) => press(...[...text].map((letter): EditorKey => ({ kind: "key", text: letter }))),
    isOpen: () => onEvents !== undefined,
    tty: {
      size: () => ({ columns: terminal.columns, rows: terminal.rows }),
      write: (text) => terminal.write(text),
      open: async (listener) => {
        onEvents = listener;
      },
      suspend: () => {},
      close: () => {
        onEvents = undefined;
      },
    },
  };
}

export const ENTER: EditorKey = { kind: "key", name: "return" };
export const CTRL_C: EditorKey = { kind: "key", name: "c", isCtrl: true };
export const CTRL_D: EditorKey = { kind: "key", name: "d", isCtrl: true };

/** Replies set by the test; any other line is a message. */
export function fakeCommands(replies: Readonly<Record<string, CommandReply>> = {}) {
  return {
    run: async (line: string): Promise<CommandReply | undefined> => replies[line],
    complete: (written: string): string[] =>
      ["/help", "/history", "/undo"].filter((name) => name.startsWith(written)),
  };
}
