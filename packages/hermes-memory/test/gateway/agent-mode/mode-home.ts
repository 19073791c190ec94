// Agent mode in a temporary home, with a fake model server behind it and a wire that says everything as JSON.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "@hermes-memory/core/internal/config";
import { silentLogger } from "@hermes-memory/core/internal/logger";
import { type Memory, openMemory } from "@hermes-memory/core/internal/memory";
import { type Message, newMessage, readRow } from "@hermes-memory/core/internal/message";
import type { ToolDefinition } from "@hermes-memory/core/internal/tools";
import { onTestFinished } from "vitest";
import { stringify } from "yaml";
import { modelSection } from "../../../../agent/test/agent/agent-home.ts";
import type { Script } from "../../../../agent/test/fakes/wires/script.ts";
import { type Wire as ModelServer, startWire } from "../../../../agent/test/fakes/wires/wire-in-test.ts";
import { tempDirectory } from "../../../../core/test/fakes/temp-directory.ts";
import {
  type AgentMode,
  type AgentModeDeps,
  createAgentMode,
} from "../../../src/gateway/agent-mode/agent-mode.ts";
import { type LiveIndex, liveIndexOf } from "../../../src/gateway/agent-mode/live-index.ts";
import type { Gateway, GatewayEvent, ModelTurn, SessionRef, UserRef } from "../../../src/gateway/types.ts";
import type { Reply, ReplyEvent, Wire } from "../../../src/gateway/wires/wire.ts";

/** Says everything as JSON. Reading is for the proxy, which these tests do not have. */
const JSON_WIRE: Wire = {
  name: "chat",
  parse: () => {
    throw new Error("not used");
  },
  newReplyId: () => "reply-1",
  render: (reply) => ({ ...reply }),
  writer: (start) => ({
    open: () => `${JSON.stringify({ type: "open", ...start })}\n`,
    write: (event) => `${JSON.stringify(event)}\n`,
  }),
  reader: () => {
    throw new Error("not used");
  },
  renderProblem: (problem) => ({ ...problem }),
};

export type Question = {
  /** The list, or its last message. */
  readonly messages?: readonly Message[];
  readonly text?: string;
  readonly stream?: boolean;
  readonly tools?: readonly ToolDefinition[];
  readonly system?: string;
  readonly model?: string;
  readonly chatId?: string;
  readonly session?: Partial<SessionRef>;
  readonly user?: UserRef;
  readonly retryKey?: string;
  readonly signal?: AbortSignal;
  readonly unsupported?: readonly string[];
};

export type Answered = {
  readonly response: Response;
  readonly reply: Reply;
  readonly sessionId: string | null;
};

export type ModeHome = {
  readonly home: string;
  readonly server: ModelServer;
  readonly memory: Memory;
  readonly gateway: Gateway;
  readonly mode: AgentMode;
  readonly index: LiveIndex;
  readonly events: GatewayEvent[];
  readonly clock: { atMs: number };
  turn(question: Question): ModelTurn;
  ask(question: Question): Promise<Answered>;
  /** The events of a streamed answer. */
  stream(question: Question): Promise<readonly ReplyEvent[]>;
  /** Another mode on the same home, as after a restart. */
  restart(deps?: AgentModeDeps): Promise<AgentMode>;
  lines(chatId?: string, user?: UserRef): Promise<readonly string[]>;
};

export type ModeSetting = {
  readonly config?: Readonly<Record<string, unknown>>;
  readonly home?: string;
  readonly deps?: AgentModeDeps;
  readonly isWithoutModel?: boolean;
};

const CHAT = "conversation-1";

export async function modeHome(script: Script, setting: ModeSetting = {}): Promise<ModeHome> {
  const { home = tempDirectory() } = setting;
  const server = await startWire("chat", script);
  const model = setting.isWithoutModel ? {} : { model: modelSection("chat", server.url) };
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, "config.yaml"), stringify({ ...model, ...setting.config }));
  const clock = { atMs: Date.now() };
  const now = { now: () => new Date(clock.atMs) };
  const memory = await openMemory({ home, clock: now });
  onTestFinished(() => memory.close());
  const events: GatewayEvent[] = [];
  const gateway: Gateway = {
    home,
    clock: now,
    log: silentLogger,
    env: {},
    config: async () => {
      const loaded = await loadConfig(home);
      if (!loaded.ok) throw new Error(loaded.error.message);
      return loaded.value;
    },
    memory: () => memory,
    metrics: { count: () => undefined, observe: () => undefined, gauge: () => undefined },
    events: { emit: (event) => void events.push(event), listen: () => () => undefined },
    isStopping: false,
  };
  const index = await liveIndexOf(memory.administration);
  const start = (deps: AgentModeDeps = {}): AgentMode => {
    const made = createAgentMode(gateway, {
      ...setting.deps,
      ...deps,
      agent: { titles: false, review: false, waitForRetry: async () => undefined, ...setting.deps?.agent },
    });
    onTestFinished(() => made.close());
    return made;
  };
  let mode = start();
  const turn = (question: Question): ModelTurn => turnOf(gateway, memory, question);
  const parts = { home, server, memory, gateway, index, events, clock, turn };
  return {
    ...parts,
    get mode() {
      return mode;
    },
    async ask(question) {
      const response = await mode.answer(turn(question));
      const reply = (await response.json()) as Reply;
      return { response, reply, sessionId: response.headers.get("x-hermes-session-id") };
    },
    async stream(question) {
      const response = await mode.answer(turn({ ...question, stream: true }));
      const text = await response.text();
      return text
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as ReplyEvent);
    },
    async restart(deps) {
      await mode.close();
      mode = start(deps);
      return mode;
    },
    async lines(chatId = CHAT, user) {
      const person = user === undefined ? memory.owner : memory.user(user);
      const found = await person.transcript(chatId, { format: "hermes", limit: Number.POSITIVE_INFINITY });
      return (found?.messages ?? []).map(({ role, content }) => `${role}: ${String(content)}`);
    },
  };
}

/** Leaving the loop early closes the connection. */
export async function* eventsOf(response: Response): AsyncIterable<ReplyEvent | { readonly type: "open" }> {
  const decoder = new TextDecoder();
  for await (const bytes of response.body ?? [])
    for (const line of decoder.decode(bytes).split("\n")) if (line !== "") yield JSON.parse(line);
}

function turnOf(gateway: Gateway, memory: Memory, question: Question): ModelTurn {
  const messages = question.messages ?? [said("user", question.text ?? "hi")];
  const chatId = question.chatId ?? CHAT;
  const session: SessionRef = { kind: "hermes-session-id", chatId, history: "server", ...question.session };
  const body = { messages: messages.map(({ role, content }) => ({ role, content })), model: question.model };
  return {
    wire: JSON_WIRE,
    request: {
      wire: "chat",
      model: question.model ?? "hermes",
      isStream: question.stream ?? false,
      system: question.system ?? "",
      messages,
      tools: question.tools ?? [],
      toolChoice: "auto",
      maxOutputTokens: undefined,
      temperature: undefined,
      includeUsage: true,
      ids: {},
      unsupported: question.unsupported ?? [],
    },
    rawBody: new TextEncoder().encode(JSON.stringify(body)),
    body,
    headers: new Headers(),
    identity: { user: question.user, profile: undefined, isAdmin: false, client: "unknown", session },
    chatId,
    memory: question.user === undefined ? memory.owner : memory.user(question.user),
    clientCredential: undefined,
    retryKey: question.retryKey,
    signal: question.signal ?? new AbortController().signal,
    gateway,
  };
}

export function said(role: "user" | "assistant", content: string): Message {
  return role === "user" ? newMessage({ role, content }) : newMessage({ role, content, toolCalls: [] });
}

/** A reply that calls a tool, and its result, as a client sends them back. */
export function called(name: string, args: object, id: string, content = ""): Message {
  const tool_calls = [{ id, type: "function", function: { name, arguments: JSON.stringify(args) } }];
  return readRow({ role: "assistant", content, tool_calls }) as Message;
}

export function resulted(id: string, content: string): Message {
  return newMessage({ role: "tool", content, toolCallId: id });
}
