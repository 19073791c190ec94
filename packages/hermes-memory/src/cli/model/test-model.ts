// `hermes model test`: whether the model answers and calls tools, how fast, and its window and caching.
import {
  type ChatModel,
  type ChosenModel,
  callModel,
  chooseModel,
  type ModelFailure,
  type ModelRequest,
  openModel,
  resolveContextWindow,
  type Usage,
} from "@hermes-memory/agent/internal/models";
import { err, isRecord, ok, outsideJsonOr, type Result } from "@hermes-memory/core/internal/lib";
import type { Logger } from "@hermes-memory/core/internal/logger";
import { type AssistantMessage, newMessage, textOf } from "@hermes-memory/core/internal/message";
import { redactSecrets } from "@hermes-memory/core/internal/security";
import type { ToolDefinition } from "@hermes-memory/core/internal/tools";
import { Cancelled, type CommandBody, failureOf, type Terminal, unwrap } from "../command.ts";
import { printable } from "../printing.ts";
import {
  cachingJson,
  choiceFailure,
  identityJson,
  type ModelSources,
  modelSources,
  windowJson,
} from "./resolution.ts";
import { modelFlagsOf } from "./set-model.ts";

/** One call, as `--json` prints it. `first_token_ms` is null when neither text nor reasoning came; `answered_by` is the name that the server reports. */
type CallReport = Extract<Awaited<ReturnType<typeof timedCall>>, { ok: true }>["value"]["report"];

type TrialFailure = {
  readonly step: "answer" | "tool_call";
  readonly kind: ModelFailure["kind"] | "no_tool_call";
  readonly message: string;
};

export const test: CommandBody = async (input, context) => {
  const { io } = context;
  const sources = await modelSources(context);
  const { provider, baseUrl, apiMode } = modelFlagsOf(input);
  const model = typeof input.flags.model === "string" ? input.flags.model : undefined;
  const chosen = unwrap(
    chooseModel({ flags: { model, provider, baseUrl, apiMode }, env: sources.env, config: sources.config }),
    choiceFailure,
  );
  const notes: string[] = [];
  try {
    const tried = await stoppable(io, (signal) => tryOut(chosen, sources, { signal, log: noting(notes) }));
    if (tried === undefined) throw new Cancelled("interrupt", "Interrupted.");
    const ttl = sources.config.promptCaching.cacheTtl;
    const { answer = null, toolCall = null, failure, window } = tried;
    const details = {
      ...identityJson(chosen),
      key_source: chosen.keySource,
      answer,
      tool_call: toolCall,
      window: windowJson(window),
      prompt_caching: cachingJson(chosen, ttl),
    };
    if (failure === undefined)
      return { json: { success: true, message: "It works.", ...details }, notes: notes.map(printable) };
    const hint = notes.length === 0 ? undefined : notes.map(printable).join("\n");
    throw failureOf({ ...failure, ...details }, hint);
  } finally {
    io.endWithoutWaiting();
  }
};

/** Undefined when Ctrl-C stopped the work. */
export function stoppable<T>(
  io: Terminal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
  return io.untilInterrupted(async (signal) => {
    try {
      return await work(signal);
    } catch (cause) {
      if (signal.aborted) return undefined;
      throw cause;
    }
  });
}

/** Warnings of the SDK become notes on the terminal instead of lines in the log. */
export function noting(notes: string[]): Logger {
  const note = (message: string): void => void notes.push(redactSecrets(message));
  return { debug: () => {}, info: () => {}, warn: note, error: note, dropped: 0 };
}

async function tryOut(
  chosen: ChosenModel,
  { home, config }: ModelSources,
  { signal, log }: { readonly signal: AbortSignal; readonly log: Logger },
) {
  signal.throwIfAborted();
  const model = await openModel(chosen, { log });
  const trial = await tryModel(model, signal);
  // After the calls: a local server knows its window only once the model is loaded.
  const window = await resolveContextWindow(chosen, { home, config, signal });
  return { ...trial, window };
}

/** Enough for a model that reasons first, and a bound for one that does not stop. */
const MOST_TOKENS = 1_024;
/** A local server may have to load the model before the first token. */
const STALE_MS = 180_000;
const NUMBER = 7;

const TOOL: ToolDefinition = {
  name: "report_number",
  description: "Reports a number to the user.",
  parameters: {
    type: "object",
    properties: { number: { type: "integer", description: "The number to report." } },
    required: ["number"],
  },
};

/** The first call alone, which shows that address, key and name are right. Rejects when the signal is aborted. */
export async function tryAnswer(
  model: ChatModel,
  signal: AbortSignal,
): Promise<Result<CallReport, TrialFailure>> {
  const answer = await timedCall(model, { ...asked("Answer with the single word: ready"), signal });
  if (answer.ok) return ok(answer.value.report);
  const { kind, message } = answer.error;
  return err({ kind, step: "answer", message });
}

type Trial = {
  readonly answer?: CallReport;
  readonly toolCall?: CallReport;
  readonly failure?: TrialFailure;
};

/** The second call is made only when the first succeeded. Rejects when the signal is aborted. */
async function tryModel(model: ChatModel, signal: AbortSignal): Promise<Trial> {
  const answer = await tryAnswer(model, signal);
  if (!answer.ok) return { failure: answer.error };
  const question = asked(`Call the tool ${TOOL.name} with the number ${NUMBER}.`);
  const called = await timedCall(model, { ...question, tools: [TOOL], signal });
  const failed = (kind: TrialFailure["kind"], message: string): Pick<Trial, "answer" | "failure"> => {
    return { answer: answer.value, failure: { kind, step: "tool_call", message } };
  };
  if (!called.ok)
    return failed(called.error.kind, `It answers, but a call with a tool fails. ${called.error.message}`);
  const { report: toolCall, message } = called.value;
  const saw = callProblem(message);
  if (saw === undefined) return { answer: answer.value, toolCall };
  const text = `It answers, but did not call the tool it was asked to call: ${saw}. Memory and search need tools.`;
  return { ...failed("no_tool_call", text), toolCall };
}

/** Why this is not the requested call; undefined when it is. */
export function callProblem({ toolCalls }: Pick<AssistantMessage, "toolCalls">): string | undefined {
  if (toolCalls.length === 0) return "it answered with text instead";
  const call = toolCalls.find(({ name }) => name === TOOL.name);
  if (call === undefined) return "it called a tool that does not exist";
  const given = outsideJsonOr(call.arguments, undefined);
  return isRecord(given) && given.number === NUMBER
    ? undefined
    : "the arguments of its call are not the ones it was given";
}

async function timedCall(model: ChatModel, request: ModelRequest) {
  const startedAt = performance.now();
  const since = (): number => Math.round(performance.now() - startedAt);
  let firstMs: number | undefined;
  const onDelta = (): void => {
    firstMs ??= since();
  };
  const reply = await callModel(model, { ...request, onDelta }, { attempts: 1 });
  if (!reply.ok) return reply;
  const { message, usage, finishReason, model: name } = reply.value;
  const report = {
    first_token_ms: firstMs ?? null,
    total_ms: since(),
    usage: usage === undefined ? null : usageJson(usage),
    finish_reason: finishReason,
    text: textOf(message.content),
    answered_by: name ?? null,
  };
  return ok({ report, message });
}

function asked(text: string): ModelRequest {
  return {
    messages: [
      newMessage({
        role: "system",
        content: "You are being tried out. Do exactly what is asked, nothing more.",
      }),
      newMessage({ role: "user", content: text }),
    ],
    maxOutputTokens: MOST_TOKENS,
    staleAfterMs: STALE_MS,
  };
}

function usageJson({ input, output, cacheRead, cacheWrite, reasoning }: Usage): object {
  return { input, output, cache_read: cacheRead, cache_write: cacheWrite, reasoning };
}
