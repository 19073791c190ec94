// `hermes model test`: whether the model answers and calls tools, how fast, and its window and caching.
import {
  type ChatModel,
  type ChosenModel,
  type ContextWindow,
  callModel,
  chooseModel,
  type FinishReason,
  type ModelFailure,
  type ModelReply,
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
import {
  Cancelled,
  type CommandBody,
  CommandFailure,
  type CommandOutcome,
  type Terminal,
  unwrap,
} from "../command.ts";
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

export type CallReport = {
  /** Time to the first text or reasoning; undefined when none came. */
  readonly firstMs: number | undefined;
  readonly totalMs: number;
  readonly usage: Usage | undefined;
  readonly finish: FinishReason;
  readonly text: string;
  /** The name that the server reports. */
  readonly model: string | undefined;
};

type TrialFailure =
  | { readonly step: "answer" | "tool_call"; readonly kind: "failed"; readonly failure: ModelFailure }
  /** It answered without the requested call. */
  | { readonly step: "tool_call"; readonly kind: "no_tool_call"; readonly saw: string };

type Trial = {
  /** Undefined when the first call failed. */
  readonly answer?: CallReport;
  readonly toolCall?: CallReport;
  readonly failure?: TrialFailure;
};

type Tried = { readonly trial: Trial; readonly window: ContextWindow };

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
    return outcomeOf(chosen, tried, { ttl, notes: notes.map(printable) });
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
): Promise<Tried> {
  signal.throwIfAborted();
  const model = await openModel(chosen, { log });
  const trial = await tryModel(model, signal);
  // After the calls: a local server knows its window only once the model is loaded.
  const window = await resolveContextWindow(chosen, { home, config, signal });
  return { trial, window };
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
  return answer.ok ? ok(answer.value.report) : err({ step: "answer", kind: "failed", failure: answer.error });
}

/** The second call is made only when the first succeeded. Rejects when the signal is aborted. */
async function tryModel(model: ChatModel, signal: AbortSignal): Promise<Trial> {
  const answer = await tryAnswer(model, signal);
  if (!answer.ok) return { failure: answer.error };
  const request = {
    ...asked(`Call the tool ${TOOL.name} with the number ${NUMBER}.`),
    tools: [TOOL],
    signal,
  };
  const called = await timedCall(model, request);
  if (!called.ok)
    return { answer: answer.value, failure: { step: "tool_call", kind: "failed", failure: called.error } };
  const { report, message } = called.value;
  const saw = callProblem(message);
  const both = { answer: answer.value, toolCall: report };
  return saw === undefined ? both : { ...both, failure: { step: "tool_call", kind: "no_tool_call", saw } };
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

type Timed = { readonly report: CallReport; readonly message: AssistantMessage };

async function timedCall(model: ChatModel, request: ModelRequest): Promise<Result<Timed, ModelFailure>> {
  const startedAt = performance.now();
  let firstMs: number | undefined;
  const onDelta = (): void => {
    firstMs ??= since(startedAt);
  };
  const reply = await callModel(model, { ...request, onDelta }, { attempts: 1 });
  return reply.ok
    ? ok({ report: reportOf(reply.value, firstMs, startedAt), message: reply.value.message })
    : reply;
}

function reportOf(reply: ModelReply, firstMs: number | undefined, startedAt: number): CallReport {
  const { message, usage, finishReason, model } = reply;
  const text = textOf(message.content);
  return { firstMs, totalMs: since(startedAt), usage, finish: finishReason, text, model };
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

function since(startedAt: number): number {
  return Math.round(performance.now() - startedAt);
}

export function explainFailure(failure: TrialFailure): string {
  if (failure.kind === "failed") {
    const place = failure.step === "answer" ? "" : "It answers, but a call with a tool fails. ";
    return `${place}${failure.failure.message}`;
  }
  return `It answers, but did not call the tool it was asked to call: ${failure.saw}. Memory and search need tools.`;
}

// The report

function outcomeOf(
  chosen: ChosenModel,
  { trial, window }: Tried,
  { ttl, notes }: { readonly ttl: string; readonly notes: readonly string[] },
): CommandOutcome {
  const { answer, toolCall, failure } = trial;
  const details = {
    ...identityJson(chosen),
    key_source: chosen.keySource,
    answer: answer === undefined ? null : callJson(answer),
    tool_call: toolCall === undefined ? null : callJson(toolCall),
    window: windowJson(window),
    prompt_caching: cachingJson(chosen, ttl),
  };
  if (failure === undefined) return { json: { success: true, message: "It works.", ...details }, notes };
  const kind = failure.kind === "failed" ? failure.failure.kind : failure.kind;
  throw new CommandFailure(explainFailure(failure), {
    hint: notes.length === 0 ? undefined : notes.join("\n"),
    details: { kind, step: failure.step, ...details },
  });
}

function callJson({ firstMs, totalMs, usage, finish, text, model }: CallReport): object {
  return {
    first_token_ms: firstMs ?? null,
    total_ms: totalMs,
    usage: usage === undefined ? null : usageJson(usage),
    finish_reason: finish,
    text,
    answered_by: model ?? null,
  };
}

function usageJson({ input, output, cacheRead, cacheWrite, reasoning }: Usage): object {
  return { input, output, cache_read: cacheRead, cache_write: cacheWrite, reasoning };
}
