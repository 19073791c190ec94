// Requests and replies of the OpenAI chat wire, as far as the scripted server needs them.
import { isRecord } from "@hermes-memory/core/lib";
import { parseContent, parseToolCalls, textOf } from "@hermes-memory/core/message";

export type WireMessage = {
  readonly role: string;
  readonly text: string;
  /** Names and arguments, of an assistant's message. */
  readonly calls: readonly { readonly name: string; readonly arguments: string }[];
};

export type WireRequest = {
  readonly model: string;
  readonly messages: readonly WireMessage[];
  readonly isStream: boolean;
  /** Everything a prompt cache goes by, in the order in which it does: tools, then messages. */
  readonly promptText: string;
};

export type ScriptedReply =
  | { readonly kind: "text"; readonly text: string }
  | {
      readonly kind: "call";
      readonly name: string;
      readonly arguments: Readonly<Record<string, string | number>>;
    };

export type WireUsage = { readonly prompt: number; readonly cached: number; readonly completion: number };

export type Json = Readonly<Record<string, unknown>>;

/** Undefined when it is no such request. */
export function parseRequest(body: string): WireRequest | undefined {
  const parsed = jsonIn(body);
  if (parsed === undefined || !Array.isArray(parsed.messages)) return undefined;
  const messages = parsed.messages.map(recordOf);
  return {
    model: String(parsed.model ?? ""),
    messages: messages.map(toMessage),
    isStream: parsed.stream === true,
    promptText: [parsed.tools ?? [], ...messages].map((part) => JSON.stringify(part)).join("\n"),
  };
}

/** The JSON object in a text, whatever stands around it. */
export function jsonIn(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1));
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The chunks of a stream, in order; the text comes word by word. */
export function streamed(reply: ScriptedReply, usage: WireUsage, tag: string): readonly Json[] {
  const chunk = (delta: Json, finish: string | null = null): Json => ({
    ...head(tag, "chat.completion.chunk"),
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const deltas =
    reply.kind === "text"
      ? (reply.text.match(/\S+\s*/g) ?? []).map((content) => ({ content }))
      : [{ tool_calls: [{ index: 0, ...toCall(reply, tag) }] }];
  return [
    chunk({ role: "assistant", content: "" }),
    ...deltas.map((delta) => chunk(delta)),
    chunk({}, finishOf(reply)),
    { ...head(tag, "chat.completion.chunk"), choices: [], usage: toUsage(usage) },
  ];
}

export function whole(reply: ScriptedReply, usage: WireUsage, tag: string): Json {
  const message =
    reply.kind === "text"
      ? { role: "assistant", content: reply.text }
      : { role: "assistant", content: null, tool_calls: [toCall(reply, tag)] };
  return {
    ...head(tag, "chat.completion"),
    choices: [{ index: 0, message, finish_reason: finishOf(reply) }],
    usage: toUsage(usage),
  };
}

function toMessage(message: Json): WireMessage {
  return {
    role: String(message.role ?? ""),
    text: textOf(parseContent(message.content)),
    calls: parseToolCalls(message.tool_calls),
  };
}

function toCall({ name, arguments: args }: ScriptedReply & { kind: "call" }, tag: string): Json {
  return { id: `call_${tag}`, type: "function", function: { name, arguments: JSON.stringify(args) } };
}

function toUsage({ prompt, cached, completion }: WireUsage): Json {
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cached },
  };
}

function head(tag: string, object: string): Json {
  return { id: `chatcmpl-${tag}`, object, created: Math.trunc(Date.now() / 1000), model: "scripted" };
}

function finishOf({ kind }: ScriptedReply): string {
  return kind === "text" ? "stop" : "tool_calls";
}

export function recordOf(value: unknown): Json {
  return isRecord(value) ? value : {};
}
