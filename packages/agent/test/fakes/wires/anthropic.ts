// Anthropic's wire, `/v1/messages`.
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
} from "./format.ts";
import type { Failure } from "./script.ts";

export const anthropicFormat: WireFormat = {
  basePath: "/v1",
  callIdPrefix: "toolu_",
  call: (path, body) =>
    path === "/messages" ? { model: String(body.model), isStream: body.stream === true } : undefined,
  frames,
  whole,
  failure,
  failureFrame: (cause, model) => ({ event: "error", data: failure(cause, model).body }),
  modelList: (models, contextLength) => ({
    data: models.map((id) => ({
      type: "model",
      id,
      display_name: id,
      created_at: "2025-01-01T00:00:00Z",
      max_input_tokens: contextLength,
    })),
    has_more: false,
    first_id: models[0] ?? null,
    last_id: models.at(-1) ?? null,
  }),
  messages: (body) => listOf(body.messages).map(cleaned),
  system: (body) => textOf(body.system),
  tools: (body) => listOf(body.tools).map((tool) => String(recordOf(tool).name)),
};

function failure(cause: Failure, model: string): { status: number; body: unknown } {
  const { status, type, message } = vendorError("anthropic", cause, model);
  return { status, body: { type: "error", error: { type, message }, request_id: "req_fake" } };
}

const STOP_REASONS = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  content_filter: "refusal",
} as const;

function* frames(reply: ReadyReply, pieces: Pieces): Iterable<Frame> {
  const usage = usageOf(reply);
  // At the start hardly anything has been written; the end tells the rest.
  const started = { ...envelope(reply, []), stop_reason: null, usage: { ...usage, output_tokens: 1 } };
  yield named({ type: "message_start", message: started });
  yield named({ type: "ping" });
  for (const [index, block] of blocksOf(reply).entries()) {
    const delta = (value: Json): Frame => named({ type: "content_block_delta", index, delta: value });
    yield named({ type: "content_block_start", index, content_block: block.start });
    yield* spread(pieces(block.text), (piece) => delta(block.delta(piece)));
    if (block.last !== undefined) yield delta(block.last);
    yield named({ type: "content_block_stop", index });
  }
  const ending = { stop_reason: STOP_REASONS[reply.finish], stop_sequence: null };
  yield { ...named({ type: "message_delta", delta: ending, usage }), ends: true };
  yield { ...named({ type: "message_stop" }), ends: true };
}

function whole(reply: ReadyReply): unknown {
  const content = blocksOf(reply).map(({ whole: block }) => block);
  return { ...envelope(reply, content), stop_reason: STOP_REASONS[reply.finish], usage: usageOf(reply) };
}

type Block = {
  readonly start: Json;
  readonly text: string;
  delta(piece: string): Json;
  readonly last?: Json;
  readonly whole: Json;
};

function blocksOf({ reasoning, signature, text, toolCalls }: ReadyReply): Block[] {
  const blocks: Block[] = [];
  if (reasoning !== "")
    blocks.push({
      start: { type: "thinking", thinking: "", signature: "" },
      text: reasoning,
      delta: (thinking) => ({ type: "thinking_delta", thinking }),
      last: { type: "signature_delta", signature },
      whole: { type: "thinking", thinking: reasoning, signature },
    });
  if (text !== "")
    blocks.push({
      start: { type: "text", text: "" },
      text,
      delta: (piece) => ({ type: "text_delta", text: piece }),
      whole: { type: "text", text },
    });
  for (const { id, name, arguments: json } of toolCalls) {
    const call = { type: "tool_use", id, name };
    blocks.push({
      start: { ...call, input: {} },
      text: json,
      delta: (partial_json) => ({ type: "input_json_delta", partial_json }),
      whole: { ...call, input: parsed(json) },
    });
  }
  return blocks;
}

/** Text that is no JSON stays text. */
export function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}

function envelope({ tag, model }: ReadyReply, content: readonly Json[]): Json {
  return { id: `msg_${tag}`, type: "message", role: "assistant", model, content, stop_sequence: null };
}

function usageOf({ usage }: ReadyReply): Json {
  return {
    input_tokens: usage?.input ?? 0,
    cache_creation_input_tokens: usage?.cacheWrite ?? 0,
    cache_read_input_tokens: usage?.cacheRead ?? 0,
    output_tokens: usage?.output ?? 0,
    ...(usage?.reasoning ? { output_tokens_details: { thinking_tokens: usage.reasoning } } : {}),
  };
}

function named(data: Json & { readonly type: string }): Frame {
  return { event: data.type, data };
}
