// One small call with what was just saved.
import { type ModelChoiceError, openModel } from "@hermes-memory/agent/models";
import { openMemory } from "@hermes-memory/core/memory";
import type { CommandContext } from "../command.ts";
import { modelSources, resolveModel, withoutChoice } from "../model/resolution.ts";
import { explainFailure, noting, stoppable } from "../model/test.ts";
import { tryAnswer } from "../model/trial.ts";
import type { SetupOrder } from "./order.ts";
import type { SavedSetup, SetupTest } from "./outcome.ts";

type Trying = { readonly saved: SavedSetup; readonly context: CommandContext; readonly mayAsk: boolean };

export async function settleTest(order: SetupOrder, { saved, context, mayAsk }: Trying): Promise<SetupTest> {
  const { io } = context;
  if (!order.wantsTest) return { kind: "skipped" };
  if (!saved.resolved.hasKey) return failed(saved.resolved.problem);
  if (mayAsk) {
    const answer = await io.ask("Try it now with one small call? [Y/n] ").catch(() => "n"); // what is saved stays saved
    if (/^n/i.test(answer.trim())) return { kind: "skipped" };
  }
  if (io.isInteractive) io.note(`Asking ${saved.resolved.identity.provider} ...\n`);
  // The home as it is now: the command's own was opened before anything was saved.
  const sources = await modelSources({ io, memory: openMemory({ home: context.memory.home }) });
  const resolved = resolveModel({ ...sources, env: withoutChoice(sources.env) });
  if (!resolved.ok) return failed(resolved.error);
  if (!resolved.value.hasKey) return failed(resolved.value.problem);
  const { chosen } = resolved.value;
  const notes: string[] = [];
  const tried = await stoppable(io, async (signal) => {
    signal.throwIfAborted();
    return tryAnswer(await openModel(chosen, { log: noting(notes) }), signal);
  });
  if (tried === undefined) return { kind: "interrupted" };
  if (tried.ok) return { kind: "worked", report: tried.value };
  const failureKind = tried.error.kind === "failed" ? tried.error.failure.kind : tried.error.kind;
  return { kind: "failed", reason: explainFailure(tried.error), failureKind };
}

function failed({ kind, message, hint }: ModelChoiceError): SetupTest {
  return { kind: "failed", reason: `${message} ${hint}`, failureKind: kind };
}
