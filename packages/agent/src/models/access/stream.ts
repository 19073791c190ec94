// One request to a model of the AI SDK: sends it, watches the stream and puts the reply together. No retries, no tool calls are
// run, and no connection stays open.
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from "@ai-sdk/provider";
import { describeCause, err, ok, type Result, untilAborted } from "@hermes-memory/core/internal/lib";
import type { Logger } from "@hermes-memory/core/internal/logger";
import type { ApiMode, FinishReason, ModelDelta, ModelFailure, ModelReply, ModelRequest } from "../chat.ts";
import { asRecord, someText } from "../json-fields.ts";
import { normalizeUsage, type Usage, type Wire } from "../usage.ts";
import { Collector, weightOf } from "./collect-reply.ts";
import { classifyFailure, type FailurePlace, isEarlyEnd, ownFailure } from "./failures.ts";
import type { ReplyWatch } from "./reply-watch.ts";
import { toAssistantMessage, toSdkPrompt, type WireTraits } from "./sdk-messages.ts";

type StreamDeps = {
  readonly model: LanguageModelV4;
  readonly wire: WireTraits;
  readonly place: FailurePlace;
  readonly providerOptions: LanguageModelV4CallOptions["providerOptions"];
  /** For this request only. */
  readonly watch: ReplyWatch;
  readonly log: Logger | undefined;
};

/** After the reply is complete, wait at most this long for the server to close the connection. */
const CLOSE_WAIT_MS = 250;

/** The default; no model writes as much. */
const MOST_REPLY_CHARS = 8_000_000;

export function replyLimit({ maxReplyChars }: ModelRequest): number {
  return maxReplyChars ?? MOST_REPLY_CHARS;
}

/** Rejects only with the reason of the request's signal. */
export async function streamReply(
  request: ModelRequest,
  deps: StreamDeps,
): Promise<Result<ModelReply, ModelFailure>> {
  const { signal: outer, staleAfterMs } = request;
  outer?.throwIfAborted();
  const alarm = new Alarm(staleAfterMs);
  const signal = outer === undefined ? alarm.signal : AbortSignal.any([outer, alarm.signal]);
  const collector = new Collector(deps.wire);
  try {
    return await untilAborted(signal, readStream(request, { ...deps, collector, alarm, signal }));
  } catch (cause) {
    outer?.throwIfAborted();
    if (alarm.isStale) {
      const silence = `Nothing came for ${Math.round((staleAfterMs ?? 0) / 100) / 10} s.`;
      return err(ownFailure("stalled", silence, collector.text, deps.place));
    }
    return err(failureOf(cause, { ...deps, collector }));
  } finally {
    alarm.end();
  }
}

type Reading = StreamDeps & {
  readonly collector: Collector;
  readonly alarm: Alarm;
  readonly signal: AbortSignal;
};

async function readStream(
  request: ModelRequest,
  reading: Reading,
): Promise<Result<ModelReply, ModelFailure>> {
  const { model, collector, alarm, watch, signal, log } = reading;
  const { stream } = await model.doStream(callOptions(request, reading));
  const reader = stream.getReader();
  const cancel = (): void => void reader.cancel(signal.reason).catch(() => undefined);
  signal.addEventListener("abort", cancel, { once: true });
  if (signal.aborted) cancel(); // aborted before the answer began
  let endedEarly = false;
  try {
    for (;;) {
      const { done, value: part } = await within(reader.read(), collector.finish && CLOSE_WAIT_MS);
      signal.throwIfAborted();
      if (done) break;
      alarm.touch();
      if (part.type === "error") {
        endedEarly = isEarlyEnd(part.error);
        if (!endedEarly) return err(failureOf(part.error, reading));
      }
      if (!watch.take(weightOf(part))) return err(failureOf(undefined, reading));
      if (part.type === "stream-start") warn(part, log);
      for (const delta of collector.add(part)) tell(request.onDelta, delta, log);
    }
    return replyOf(reading, endedEarly || collector.finish?.finishReason.unified === "interrupted");
  } finally {
    signal.removeEventListener("abort", cancel);
    cancel();
  }
}

function failureOf(
  cause: unknown,
  { collector, watch, place }: Pick<Reading, "collector" | "watch" | "place">,
): ModelFailure {
  const { text } = collector;
  const { passed } = watch;
  return passed === undefined
    ? classifyFailure(cause, text, place)
    : ownFailure("reply_too_long", `Its reply was stopped at ${passed}.`, text, place);
}

function callOptions(
  request: ModelRequest,
  { wire, signal, providerOptions }: Reading,
): LanguageModelV4CallOptions {
  const { messages, tools = [], toolChoice, maxOutputTokens, temperature } = request;
  return {
    prompt: toSdkPrompt(messages, wire),
    tools:
      tools.length === 0
        ? undefined
        : tools.map(({ name, description, parameters }) => {
            return { type: "function", name, description, inputSchema: parameters };
          }),
    toolChoice: tools.length > 0 && toolChoice === "none" ? { type: "none" } : undefined,
    maxOutputTokens,
    temperature,
    providerOptions,
    // `RawEvents` in collect-reply.ts reads them.
    includeRawChunks: wire.apiMode === "chat_completions" || wire.apiMode === "google",
    abortSignal: signal,
  };
}

/** `endedEarly`: the stream had no finish reason. One SDK reports that as an error, the others as an interruption. */
function replyOf(
  { collector, watch, wire, place }: Reading,
  endedEarly: boolean,
): Result<ModelReply, ModelFailure> {
  const { finish, text } = collector;
  const message = toAssistantMessage(collector.reply(), wire);
  const hasCalls = message.toolCalls.length > 0;
  // Some chat servers never send a finish reason. With `[DONE]` at its end, such a reply is complete.
  const isWhole = wire.apiMode === "chat_completions" && watch.hasDone && (text.trim() !== "" || hasCalls);
  if (finish === undefined || (endedEarly && !isWhole)) {
    const kind = text === "" ? "invalid_response" : "connection";
    return err(ownFailure(kind, "The stream ended before the reply was complete.", text, place));
  }
  const blocked = promptBlock(finish);
  if (blocked !== undefined && text === "")
    return err(ownFailure("content_policy", `The prompt was blocked (${blocked}).`, "", place));
  const finishReason = endedEarly ? "stop" : REASONS[finish.finishReason.unified];
  return ok({
    message,
    // Some servers send `stop` after a tool call.
    finishReason: hasCalls && ["stop", "other"].includes(finishReason) ? "tool_calls" : finishReason,
    usage: usageOf(finish.usage, wire.apiMode),
    model: collector.model,
  });
}

/** Google refuses a request with status 200 and this reason instead of a reply. A reply that it stops has another field. */
function promptBlock({ providerMetadata }: FinishPart): string | undefined {
  const { blockReason } = asRecord(asRecord(providerMetadata?.google).promptFeedback);
  return someText(blockReason);
}

type FinishPart = Extract<LanguageModelV4StreamPart, { type: "finish" }>;
type Unified = FinishPart["finishReason"]["unified"];

const REASONS: Readonly<Record<Unified, FinishReason>> = {
  stop: "stop",
  length: "length",
  "tool-calls": "tool_calls",
  "content-filter": "content_filter",
  error: "error",
  interrupted: "other",
  other: "other",
};

function tell(listener: ModelRequest["onDelta"], delta: ModelDelta, log: Logger | undefined): void {
  try {
    listener?.(delta);
  } catch (cause) {
    log?.error("A listener of a model's stream failed.", { cause: describeCause(cause) });
  }
}

function warn(
  { warnings }: Extract<LanguageModelV4StreamPart, { type: "stream-start" }>,
  log: Logger | undefined,
): void {
  for (const warning of warnings) {
    const about = "feature" in warning ? warning.feature : "setting" in warning ? warning.setting : "";
    const details = "message" in warning ? warning.message : (warning.details ?? "");
    log?.warn(`AI SDK, ${warning.type}: ${[about, details].filter((text) => text !== "").join(": ")}`);
  }
}

const ENDED = { done: true, value: undefined } as const;

/** Without `limitMs`, waits without a timeout. */
async function within<T>(read: Promise<T>, limitMs: number | undefined): Promise<T | typeof ENDED> {
  if (limitMs === undefined) return read;
  const late = Promise.withResolvers<typeof ENDED>();
  const timer = setTimeout(() => late.resolve(ENDED), limitMs);
  try {
    // An error after the end of the reply does not matter.
    return await Promise.race([read.catch(() => ENDED), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Aborts after `limitMs` without data, and when the call is over. */
class Alarm {
  readonly #controller = new AbortController();
  readonly #timer: ReturnType<typeof setTimeout> | undefined;
  isStale = false;

  constructor(limitMs: number | undefined) {
    if (limitMs === undefined) return;
    this.#timer = setTimeout(() => {
      this.isStale = true;
      this.#controller.abort();
    }, limitMs);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  touch(): void {
    if (!this.signal.aborted) this.#timer?.refresh();
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#controller.abort(); // ends an HTTP request that is still open
  }
}

// Usage: from the SDK's figures and the vendor's own, because the SDK does not report cache writes on every wire

const WIRES: Readonly<Partial<Record<ApiMode, Wire>>> = {
  anthropic_messages: "anthropic",
  chat_completions: "chat",
  responses: "responses",
};

/** Undefined when the server reported nothing. */
function usageOf(usage: LanguageModelV4Usage, apiMode: ApiMode): Usage | undefined {
  const { inputTokens, outputTokens, raw } = usage;
  if (inputTokens.total === undefined && outputTokens.total === undefined && raw === undefined)
    return undefined;
  const told = fromSdk(usage);
  const wire = WIRES[apiMode];
  if (wire === undefined || raw === undefined) return told;
  const own = normalizeUsage(raw, wire);
  // A model object that a program made may report in an unknown shape.
  if (own.input + own.cacheRead + own.cacheWrite + own.output === 0) return told;
  if (own.cacheWrite > 0 || told.cacheWrite === 0) return own;
  return { ...own, cacheWrite: told.cacheWrite, input: Math.max(0, own.input - told.cacheWrite) };
}

function fromSdk({ inputTokens, outputTokens }: LanguageModelV4Usage): Usage {
  const cacheRead = count(inputTokens.cacheRead);
  const cacheWrite = count(inputTokens.cacheWrite);
  const rest = count(inputTokens.total) - cacheRead - cacheWrite;
  return {
    input: inputTokens.noCache === undefined ? Math.max(0, rest) : count(inputTokens.noCache),
    cacheRead,
    cacheWrite,
    output: count(outputTokens.total),
    reasoning: count(outputTokens.reasoning),
  };
}

function count(value: number | undefined): number {
  return value !== undefined && Number.isFinite(value) && value > 0 ? Math.trunc(value) : 0;
}
