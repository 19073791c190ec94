// Fills in what a scripted reply leaves open: ids, finish reason, signature, usage.
import { charsIn, type ModelCall, type ReadyReply, type WireFormat, type WireOptions } from "./format.ts";
import type { RecordedRequest, Reply, ScriptedUsage } from "./script.ts";

export type ReplyContext = {
  readonly format: WireFormat;
  readonly call: ModelCall;
  readonly request: RecordedRequest;
  readonly tag: string;
  readonly options: WireOptions;
};

export function readyReply(reply: Reply, context: ReplyContext): ReadyReply {
  const { format, call, request, tag, options } = context;
  const toolCalls = (reply.toolCalls ?? []).map(({ name, arguments: given, id }, index) => ({
    name,
    arguments: typeof given === "string" ? given : JSON.stringify(given),
    id: id ?? `${format.callIdPrefix}${tag}x${index}`,
  }));
  const { text = "", reasoning = "" } = reply;
  const written = [reasoning, text, ...toolCalls.map((toolCall) => toolCall.arguments)];
  return {
    ...reply,
    text,
    reasoning,
    signature: reply.signature ?? Buffer.from(`signature of ${tag}`).toString("base64"),
    toolCalls,
    finish: reply.finish ?? (toolCalls.length > 0 ? "tool_calls" : "stop"),
    usage: reply.usage === null ? null : complete(reply.usage ?? estimate(request.raw, written)),
    model: call.model,
    tag,
    createdAtSeconds: Math.floor(Date.now() / 1000),
    request: request.body,
    options,
  };
}

function complete(usage: ScriptedUsage): Required<ScriptedUsage> {
  return { cacheRead: 0, cacheWrite: 0, reasoning: 0, ...usage };
}

/** Close enough for an agent that watches how full its window is. */
function estimate(raw: string, written: readonly string[]): ScriptedUsage {
  const tokens = (texts: readonly string[]): number =>
    Math.ceil(texts.reduce((sum, text) => sum + charsIn(text), 0) / 4);
  return { input: tokens([raw]), output: tokens(written), reasoning: tokens(written.slice(0, 1)) };
}
