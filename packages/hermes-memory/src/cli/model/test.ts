// `hermes model test`: does it answer, does it call tools, how fast, and what would a conversation get.

import {
  type ChosenModel,
  type ContextWindow,
  chooseModel,
  openModel,
  promptTokens,
  resolveContextWindow,
  type Usage,
} from "@hermes-memory/agent/models";
import { groupThousands } from "@hermes-memory/core/lib";
import type { Logger } from "@hermes-memory/core/lib/logger";
import { redactSecrets } from "@hermes-memory/core/security";
import {
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandOutcome,
  type Terminal,
  unwrap,
} from "../command.ts";
import { oneLine, printable } from "../printing.ts";
import {
  cachingJson,
  cachingText,
  choiceFailure,
  identityJson,
  type ModelSources,
  modelSources,
  modelText,
  windowJson,
  windowText,
} from "./resolution.ts";
import { wantedFlags } from "./set.ts";
import { type CallReport, type Trial, type TrialFailure, tryModel } from "./trial.ts";

type Tried = { readonly trial: Trial; readonly window: ContextWindow };

export const test: CommandBody = async (input, context) => {
  const { io } = context;
  const sources = await modelSources(context);
  const { provider, baseUrl, apiMode } = wantedFlags(input);
  const model = typeof input.flags.model === "string" ? input.flags.model : undefined;
  const chosen = unwrap(
    chooseModel({ flags: { model, provider, baseUrl, apiMode }, env: sources.env, config: sources.config }),
    choiceFailure,
  );
  const notes: string[] = [];
  try {
    const tried = await stoppable(io, (signal) => tryOut(chosen, sources, { signal, log: noting(notes) }));
    if (tried === undefined) return interrupted();
    return outcomeOf(chosen, tried, { sources, notes: notes.map(printable), context });
  } finally {
    io.endWithoutWaiting();
  }
};

/** Undefined when Ctrl-C ended it. */
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

export function interrupted(): CommandOutcome {
  return { json: { success: false, kind: "interrupted" }, lines: ["Interrupted."], exitCode: 130 };
}

/** What the SDK warns about is shown here instead of being logged: somebody is looking. */
export function noting(notes: string[]): Logger {
  const note = (message: string): void => void notes.push(redactSecrets(message));
  return { debug: () => {}, info: () => {}, warn: note, error: note, dropped: 0 };
}

/** In one or two sentences. */
export function explainFailure(failure: TrialFailure): string {
  if (failure.kind === "failed") {
    const place = failure.step === "answer" ? "" : "It answers, but a call with a tool fails. ";
    return `${place}${failure.failure.message}`;
  }
  return `It answers, but did not call the tool it was asked to call: ${failure.saw}. Memory and search need tools.`;
}

async function tryOut(
  chosen: ChosenModel,
  { home, config }: ModelSources,
  { signal, log }: { readonly signal: AbortSignal; readonly log: Logger },
): Promise<Tried> {
  signal.throwIfAborted();
  const model = await openModel(chosen, { log });
  const trial = await tryModel(model, signal);
  // Afterwards, because a local server only knows what it serves once the model is loaded.
  const window = await resolveContextWindow(chosen, { home, config, signal });
  return { trial, window };
}

type Told = {
  readonly sources: ModelSources;
  readonly notes: readonly string[];
  readonly context: CommandContext;
};

function outcomeOf(
  chosen: ChosenModel,
  { trial, window }: Tried,
  { sources: { config }, notes, context: { io } }: Told,
): CommandOutcome {
  const { answer, toolCall, failure } = trial;
  const ttl = config.promptCaching.cacheTtl;
  const details = {
    ...identityJson(chosen),
    key_source: chosen.keySource,
    answer: answer === undefined ? null : callJson(answer),
    tool_call: toolCall === undefined ? null : callJson(toolCall),
    window: windowJson(window),
    prompt_caching: cachingJson(chosen, ttl),
  };
  const lines = [
    row("model", modelText(chosen)),
    row("key", printable(chosen.keySource)),
    ...(answer === undefined ? [] : [row("answer", callText(answer))]),
    ...(toolCall === undefined ? [] : [row("tool call", callText(toolCall))]),
    row("window", windowText(window)),
    row("caching", cachingText(chosen, ttl)),
  ];
  if (failure !== undefined) {
    for (const line of notes) io.note(`${line}\n`);
    if (answer !== undefined) io.note(`${lines.join("\n")}\n`);
    const kind = failure.kind === "failed" ? failure.failure.kind : failure.kind;
    throw new CommandFailure(explainFailure(failure), { details: { kind, step: failure.step, ...details } });
  }
  return { json: { success: true, ...details }, lines: [...lines, io.paint("green", "It works.")], notes };
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

function callText({ firstMs, totalMs, usage, finish, text }: CallReport): string {
  const said = text.trim() === "" ? "" : `"${oneLine(text.trim(), 40)}", `;
  const first = firstMs === undefined ? "" : `first token after ${groupThousands(firstMs)} ms, `;
  const cut = finish === "length" ? ", cut off at the limit of this test" : "";
  return `${said}${first}${groupThousands(totalMs)} ms in all${cut}; ${usageText(usage)}`;
}

function usageText(usage: Usage | undefined): string {
  if (usage === undefined) return "the server does not tell how many tokens";
  const cached = usage.cacheRead === 0 ? "" : ` (${groupThousands(usage.cacheRead)} from the cache)`;
  return `${groupThousands(promptTokens(usage))} tokens in${cached}, ${groupThousands(usage.output)} out`;
}

function row(name: string, value: string): string {
  return `${name.padEnd(10)} ${value}`;
}
