// OpenAI's chat wire, `/v1/chat/completions`, as all compatible servers speak it.
import { vendorError } from "./failures.ts";
import {
  cleaned,
  type Frame,
  type Json,
  listOf,
  type Pieces,
  type ReadyReply,
  recordOf,
  spread,
  textOf,
  type WireFormat,
  withoutSystem,
} from "./format.ts";
import type { Failure } from "./script.ts";

export const chatFormat: WireFormat = {
  basePath: "/v1",
  callIdPrefix: "call_",
  call: (path, body) =>
    path === "/chat/completions" ? { model: String(body.model), isStream: body.stream === true } : undefined,
  frames,
  whole,
  failure: openaiFailure,
  failureFrame: (failure, model) => ({ data: openaiFailure(failure, model).body }),
  modelList: openaiModelList,
  messages: (body) => withoutSystem(listOf(body.messages)).rest.map(cleaned),
  system: (body) =>
    withoutSystem(listOf(body.messages))
      .system.map((message) => textOf(recordOf(message).content))
      .join("\n"),
  tools: (body) => listOf(body.tools).map((tool) => String(recordOf(recordOf(tool).function).name)),
};

export function openaiFailure(failure: Failure, model: string): { status: number; body: unknown } {
  const { status, message, type, code = null } = vendorError("openai", failure, model);
  return { status, body: { error: { message, type, param: null, code } } };
}

export function openaiModelList(models: readonly string[], contextLength: number | undefined): unknown {
  return {
    object: "list",
    data: models.map((id) => ({
      id,
      object: "model",
      created: 0,
      owned_by: "fake",
      context_length: contextLength,
    })),
  };
}

function* frames(reply: ReadyReply, pieces: Pieces): Iterable<Frame> {
  const delta = (value: Json): Json => chunk(reply, [{ index: 0, delta: value, finish_reason: null }]);
  // A reply that only calls tools has no content at all.
  yield { data: delta({ role: "assistant", content: reply.text === "" ? null : "" }) };
  yield* spread(pieces(reply.reasoning), (piece) => ({ data: delta({ reasoning_content: piece }) }));
  yield* spread(pieces(reply.text), (piece) => ({ data: delta({ content: piece }) }));
  for (const [index, { id, name, arguments: text }] of reply.toolCalls.entries()) {
    const call = (value: Json): Json => delta({ tool_calls: [{ index, ...value }] });
    yield { data: call({ id: id || undefined, type: "function", function: { name, arguments: "" } }) };
    yield* spread(pieces(text), (piece) => ({ data: call({ function: { arguments: piece } }) }));
  }
  yield { data: chunk(reply, [{ index: 0, delta: {}, finish_reason: reply.finish }]), ends: true };
  const wantsUsage = recordOf(reply.request.stream_options).include_usage === true;
  if (wantsUsage && reply.usage !== null)
    yield { data: { ...chunk(reply, []), usage: usageOf(reply) }, ends: true };
  yield { data: "[DONE]", ends: true };
}

function whole(reply: ReadyReply): unknown {
  const { reasoning, toolCalls } = reply;
  const message = {
    role: "assistant",
    content: reply.text === "" ? null : reply.text,
    reasoning_content: reasoning === "" ? undefined : reasoning,
    tool_calls: toolCalls.length === 0 ? undefined : toolCalls.map(toWireCall),
  };
  return {
    ...chunk(reply, [{ index: 0, message, finish_reason: reply.finish }]),
    object: "chat.completion",
    usage: reply.usage === null ? undefined : usageOf(reply),
  };
}

function toWireCall({ id, name, arguments: text }: ReadyReply["toolCalls"][number]): Json {
  return { id: id || undefined, type: "function", function: { name, arguments: text } };
}

function chunk(reply: ReadyReply, choices: readonly Json[]): Json {
  const { tag, createdAtSeconds: created, model } = reply;
  return { id: `chatcmpl-${tag}`, object: "chat.completion.chunk", created, model, choices };
}

function usageOf({ usage }: ReadyReply): Json {
  if (usage === null) return {};
  const prompt = usage.input + usage.cacheRead + usage.cacheWrite;
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.output,
    total_tokens: prompt + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cacheRead, cache_write_tokens: usage.cacheWrite },
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
  };
}
