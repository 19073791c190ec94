// OpenAI's Responses wire, `/v1/responses`.
import { openaiFailure, openaiModelList } from "./chat.ts";
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

export const responsesFormat: WireFormat = {
  basePath: "/v1",
  callIdPrefix: "call_",
  call: (path, body) =>
    path === "/responses" ? { model: String(body.model), isStream: body.stream === true } : undefined,
  frames,
  whole: (reply) =>
    finished(
      reply,
      itemsOf(reply).map(({ done }) => done),
    ),
  failure: openaiFailure,
  failureFrame: (failure, model) => {
    const { code = "server_error", message } = vendorError("openai", failure, model);
    const response = { id: "resp_failed", object: "response", status: "failed", error: { code, message } };
    return { event: "response.failed", data: { type: "response.failed", sequence_number: 0, response } };
  },
  modelList: openaiModelList,
  messages: (body) => withoutSystem(inputOf(body)).rest.map(cleaned),
  system: (body) =>
    [body.instructions, ...withoutSystem(inputOf(body)).system.map((item) => recordOf(item).content)]
      .map(textOf)
      .filter((text) => text !== "")
      .join("\n"),
  tools: (body) => listOf(body.tools).map((tool) => String(recordOf(tool).name)),
};

function inputOf({ input }: Json): readonly unknown[] {
  return typeof input === "string" ? [{ role: "user", content: input }] : listOf(input);
}

function* frames(reply: ReadyReply, pieces: Pieces): Iterable<Frame> {
  let sequence = 0;
  const event = (type: string, fields: Json): Frame => {
    const data = { type, sequence_number: sequence, ...fields };
    sequence += 1;
    return { event: type, data };
  };
  const started = { ...envelope(reply), status: "in_progress", output: [] };
  yield event("response.created", { response: started });
  yield event("response.in_progress", { response: started });
  for (const [output_index, item] of itemsOf(reply).entries()) {
    const about = { output_index, item_id: item.done.id, ...item.place };
    yield event("response.output_item.added", { output_index, item: item.added });
    if (item.part !== undefined)
      yield event(`response.${item.part.name}.added`, { ...about, part: item.part.empty });
    yield* spread(pieces(item.text), (delta) => event(`response.${item.stream}.delta`, { ...about, delta }));
    if (item.text !== "" || item.part === undefined)
      yield event(`response.${item.stream}.done`, { ...about, [item.whole]: item.text });
    if (item.part !== undefined)
      yield event(`response.${item.part.name}.done`, { ...about, part: item.part.full });
    yield event("response.output_item.done", { output_index, item: item.done });
  }
  const type = isComplete(reply) ? "response.completed" : "response.incomplete";
  const output = itemsOf(reply).map(({ done }) => done);
  yield { ...event(type, { response: finished(reply, output) }), ends: true };
}

type Item = {
  /** The item when it begins, and when it is finished. */
  readonly added: Json;
  readonly done: Json & { readonly id: string };
  readonly text: string;
  /** Names of the events that carry the text, and of the field that has all of it. */
  readonly stream: string;
  readonly whole: string;
  readonly place: Json;
  readonly part?: { readonly name: string; readonly empty: Json; readonly full: Json };
};

function itemsOf(reply: ReadyReply): Item[] {
  const { tag, reasoning, text, toolCalls } = reply;
  const items = reasoning === "" ? [] : [reasoningItem(reply)];
  if (text !== "") items.push(messageItem(`msg_${tag}`, text));
  for (const [index, { id: call_id, name, arguments: json }] of toolCalls.entries()) {
    const call = { type: "function_call", id: `fc_${tag}x${index}`, call_id, name };
    items.push({
      added: { ...call, arguments: "", status: "in_progress" },
      done: { ...call, arguments: json, status: "completed" },
      text: json,
      stream: "function_call_arguments",
      whole: "arguments",
      place: {},
    });
  }
  return items;
}

function reasoningItem({ tag, reasoning, signature, request }: ReadyReply): Item {
  // Only for those who ask: without it the item cannot be sent again when nothing is stored.
  const isAsked = listOf(request.include).includes("reasoning.encrypted_content");
  const secret = (value: string): Json => (isAsked ? { encrypted_content: value } : {});
  const item = { type: "reasoning", id: `rs_${tag}` };
  const summary = (value: string): Json => ({ type: "summary_text", text: value });
  return {
    added: { ...item, summary: [], ...secret(`${signature}-begun`) },
    done: { ...item, summary: [summary(reasoning)], ...secret(signature) },
    text: reasoning,
    stream: "reasoning_summary_text",
    whole: "text",
    place: { summary_index: 0 },
    part: { name: "reasoning_summary_part", empty: summary(""), full: summary(reasoning) },
  };
}

function messageItem(id: string, text: string): Item {
  const item = { type: "message", id, role: "assistant" };
  const part = (value: string): Json => ({ type: "output_text", text: value, annotations: [] });
  return {
    added: { ...item, status: "in_progress", content: [] },
    done: { ...item, status: "completed", content: [part(text)] },
    text,
    stream: "output_text",
    whole: "text",
    place: { content_index: 0 },
    part: { name: "content_part", empty: part(""), full: part(text) },
  };
}

function isComplete({ finish }: ReadyReply): boolean {
  return finish === "stop" || finish === "tool_calls";
}

function finished(reply: ReadyReply, output: readonly Json[]): Json {
  const reason = reply.finish === "length" ? "max_output_tokens" : "content_filter";
  return {
    ...envelope(reply),
    status: isComplete(reply) ? "completed" : "incomplete",
    incomplete_details: isComplete(reply) ? null : { reason },
    output,
    usage: usageOf(reply),
  };
}

function envelope({ tag, createdAtSeconds: created_at, model }: ReadyReply): Json {
  return { id: `resp_${tag}`, object: "response", created_at, model, error: null, usage: null };
}

function usageOf({ usage }: ReadyReply): Json | null {
  if (usage === null) return null;
  const input = usage.input + usage.cacheRead + usage.cacheWrite;
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: usage.cacheRead, cache_write_tokens: usage.cacheWrite },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: input + usage.output,
  };
}
