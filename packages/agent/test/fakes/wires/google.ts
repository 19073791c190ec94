// Google's wire, `/v1beta/models/<model>:streamGenerateContent?alt=sse`.
import { parsed } from "./anthropic.ts";
import { vendorError } from "./failures.ts";
import {
  charsIn,
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

export const googleFormat: WireFormat = {
  basePath: "/v1beta",
  callIdPrefix: "fc_",
  call(path) {
    const [, model, method] = /^\/models\/(.+):(streamGenerateContent|generateContent)$/.exec(path) ?? [];
    if (model === undefined) return undefined;
    return { model: decodeURIComponent(model), isStream: method === "streamGenerateContent" };
  },
  frames,
  whole,
  failure,
  failureFrame: (cause, model) => ({ data: failure(cause, model).body }),
  modelList: (models, contextLength) => ({
    models: models.map((id) => ({
      name: `models/${id}`,
      displayName: id,
      supportedGenerationMethods: ["generateContent"],
      inputTokenLimit: contextLength,
    })),
    // Beside Google's own list the one of its compatible endpoint, which is what windows are read from.
    data: models.map((id) => ({ id, context_length: contextLength })),
  }),
  messages: (body) => listOf(body.contents).map(toMessage),
  system: (body) => textOf(recordOf(body.systemInstruction).parts),
  tools: (body) =>
    listOf(body.tools)
      .flatMap((tool) => listOf(recordOf(tool).functionDeclarations))
      .map((declaration) => String(recordOf(declaration).name)),
};

function toMessage(value: unknown): Json {
  const { role, parts, ...rest } = recordOf(value);
  return cleaned({ role: role === "model" ? "assistant" : role, content: parts, ...rest });
}

function failure(cause: Failure, model: string): { status: number; body: unknown } {
  const { status, type, code: reason, message } = vendorError("google", cause, model);
  const { retryAfterSeconds: wait } = cause;
  const info = (name: string, fields: Json): Json => ({
    "@type": `type.googleapis.com/google.rpc.${name}`,
    ...fields,
  });
  const details = [
    ...(reason === undefined ? [] : [info("ErrorInfo", { reason, domain: "googleapis.com" })]),
    ...(wait === undefined ? [] : [info("RetryInfo", { retryDelay: `${wait}s` })]),
  ];
  return {
    status,
    body: { error: { code: status, message, status: type, ...(details.length > 0 ? { details } : {}) } },
  };
}

const FINISH_REASONS = {
  stop: "STOP",
  length: "MAX_TOKENS",
  tool_calls: "STOP",
  content_filter: "SAFETY",
} as const;

function* frames(reply: ReadyReply, pieces: Pieces): Iterable<Frame> {
  if (isBlocked(reply)) {
    yield { data: blocked(reply), ends: true };
    return;
  }
  const part = (value: Json): Json => chunk(reply, { content: { role: "model", parts: [value] }, index: 0 });
  yield* spread(pieces(reply.reasoning), (text) => ({ data: part({ text, thought: true }) }));
  yield* spread(pieces(reply.text), (text) => ({ data: part({ text }) }));
  for (const [index, { arguments: json }] of reply.toolCalls.entries())
    yield { data: part(callPart(reply, index)), chars: charsIn(json) };
  const content = { role: "model", parts: lastParts(reply) };
  yield { data: finished(reply, content), ends: true };
}

function whole(reply: ReadyReply): unknown {
  if (isBlocked(reply)) return blocked(reply);
  const { reasoning, text, toolCalls } = reply;
  const parts = [
    ...(reasoning === "" ? [] : [{ text: reasoning, thought: true }]),
    ...(text === "" ? [] : [{ text }]),
    ...toolCalls.map((_, index) => callPart(reply, index)),
    ...lastParts(reply).filter(({ thoughtSignature }) => thoughtSignature !== undefined),
  ];
  return finished(reply, { role: "model", parts });
}

/** Arguments come whole. Text that is no JSON stays text, as no real server would send it. */
function callPart({ toolCalls, reasoning, signature }: ReadyReply, index: number): Json {
  const { id = "", name, arguments: json = "{}" } = toolCalls[index] ?? {};
  const isSigned = index === 0 && reasoning !== "";
  return {
    functionCall: { ...(id === "" ? {} : { id }), name, args: parsed(json) },
    ...(isSigned ? { thoughtSignature: signature } : {}),
  };
}

/** Without a call the signature comes with an empty text at the end. */
function lastParts({ reasoning, signature, toolCalls }: ReadyReply): Json[] {
  const isSigned = reasoning !== "" && toolCalls.length === 0;
  return [{ text: "", ...(isSigned ? { thoughtSignature: signature } : {}) }];
}

/** A refusal before anything was written. */
function isBlocked({ finish, text, reasoning, toolCalls }: ReadyReply): boolean {
  return finish === "content_filter" && `${text}${reasoning}` === "" && toolCalls.length === 0;
}

function blocked(reply: ReadyReply): Json {
  const { candidates: _, ...rest } = chunk(reply, {});
  return { ...rest, promptFeedback: { blockReason: "PROHIBITED_CONTENT" }, ...usageOf(reply) };
}

function finished(reply: ReadyReply, content: Json): Json {
  const candidate = { content, finishReason: FINISH_REASONS[reply.finish], index: 0 };
  return { ...chunk(reply, candidate), ...usageOf(reply) };
}

function chunk({ tag, model }: ReadyReply, candidate: Json): Json {
  return { candidates: [candidate], modelVersion: model, responseId: tag };
}

function usageOf({ usage }: ReadyReply): Json {
  if (usage === null) return {};
  const prompt = usage.input + usage.cacheRead + usage.cacheWrite; // writes have no figure of their own here
  return {
    usageMetadata: {
      promptTokenCount: prompt,
      cachedContentTokenCount: usage.cacheRead,
      candidatesTokenCount: usage.output - usage.reasoning,
      thoughtsTokenCount: usage.reasoning,
      totalTokenCount: prompt + usage.output,
    },
  };
}
