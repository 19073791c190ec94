// What a test of agent mode needs without a test runner: a gateway on a home, a wire that says everything as JSON, and turns.
import { loadConfig } from "@hermes-memory/core/internal/config";
import { type Clock, sha256 } from "@hermes-memory/core/internal/lib";
import { silentLogger } from "@hermes-memory/core/internal/logger";
import type { Memory } from "@hermes-memory/core/internal/memory";
import { type Message, newMessage, readRow } from "@hermes-memory/core/internal/message";
import type { ToolDefinition } from "@hermes-memory/core/internal/tools";
import type { Gateway, GatewayEvent, ModelTurn, SessionRef, UserRef } from "../../src/types.ts";
import type { Wire } from "../../src/wires/wire.ts";

export const CHAT = "conversation-1";

export function gatewayFor(
  memory: Memory,
  { clock, events = [] }: { readonly clock: Clock; readonly events?: GatewayEvent[] },
): Gateway {
  const { home } = memory;
  return {
    home,
    clock,
    log: silentLogger,
    env: {},
    config: async () => {
      const loaded = await loadConfig(home);
      if (!loaded.ok) throw new Error(loaded.error.message);
      return loaded.value;
    },
    memory: () => memory,
    metrics: { count: () => undefined, observe: () => undefined, gauge: () => undefined },
    events: { emit: (event) => void events.push({ ...event, at: "" }), listen: () => () => undefined },
    isStopping: false,
  };
}

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
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly chatId?: string;
  readonly session?: Partial<SessionRef>;
  readonly user?: UserRef;
  readonly retryKey?: string;
  readonly signal?: AbortSignal;
  readonly unsupported?: readonly string[];
};

export function turnOf(gateway: Gateway, memory: Memory, question: Question): ModelTurn {
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
      maxOutputTokens: question.maxOutputTokens,
      temperature: question.temperature,
      includeUsage: true,
      ids: {},
      unsupported: question.unsupported ?? [],
    },
    rawBody: new TextEncoder().encode(JSON.stringify(body)),
    bodyHash: sha256(JSON.stringify(body)),
    body,
    headers: new Headers(),
    identity: { user: question.user, profile: undefined, client: "unknown", session },
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
