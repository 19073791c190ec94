// Two small calls that show whether a model can carry a conversation here: one for words, one for a tool.

import {
  type ChatModel,
  callModel,
  type FinishReason,
  type ModelFailure,
  type ModelReply,
  type ModelRequest,
  type Usage,
} from "@hermes-memory/agent/models";
import { err, isRecord, ok, outsideJsonOr, type Result } from "@hermes-memory/core/lib";
import { type AssistantMessage, newMessage, textOf } from "@hermes-memory/core/message";
import type { ToolDefinition } from "@hermes-memory/core/tools";

export type CallReport = {
  /** Until the first piece of text or reasoning; undefined when none came. */
  readonly firstMs: number | undefined;
  readonly totalMs: number;
  readonly usage: Usage | undefined;
  readonly finish: FinishReason;
  readonly text: string;
  /** By its own name. */
  readonly model: string | undefined;
};

export type TrialFailure =
  | { readonly step: "answer" | "tool_call"; readonly kind: "failed"; readonly failure: ModelFailure }
  /** It answers, but not with the call it was asked for. */
  | { readonly step: "tool_call"; readonly kind: "no_tool_call"; readonly saw: string };

export type Trial = {
  /** Undefined when the first call failed. */
  readonly answer?: CallReport;
  readonly toolCall?: CallReport;
  readonly failure?: TrialFailure;
};

/** Room for a model that thinks first, and a bound for one that does not stop. */
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

/** The first call alone: enough to see that address, key and name are right. Rejects when the signal is aborted. */
export async function tryAnswer(
  model: ChatModel,
  signal: AbortSignal,
): Promise<Result<CallReport, TrialFailure>> {
  const answer = await timedCall(model, { ...asked("Answer with the single word: ready"), signal });
  return answer.ok ? ok(answer.value.report) : err({ step: "answer", kind: "failed", failure: answer.error });
}

/** Both calls; the second only when the first one worked. Rejects when the signal is aborted. */
export async function tryModel(model: ChatModel, signal: AbortSignal): Promise<Trial> {
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

/** Why this is not the call that was asked for; undefined when it is. */
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
