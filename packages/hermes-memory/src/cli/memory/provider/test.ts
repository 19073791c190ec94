// `hermes memory test`: starts the provider, lets it write, recall and clean up, and says how long each step took.

import { resolve } from "node:path";
import { useEnvFile } from "@hermes-memory/core/config";
import { randomHex } from "@hermes-memory/core/lib";
import {
  checkAvailability,
  type MemoryProvider,
  recordAvailability,
  runForeign,
  type SelfTestReport,
} from "@hermes-memory/core/providers";
import { type CommandBody, CommandFailure, type CommandOutcome } from "../../command.ts";
import { oneLine } from "../../printing.ts";
import { loadWanted, namedOrActive } from "./wanted.ts";

const INITIALIZE_MS = 10_000;
const SELF_TEST_MS = 60_000;
const SHUTDOWN_MS = 2_500;
/** A detail may say what to do. */
const DETAIL_CHARS = 200;

type Step = { readonly name: string; readonly ms: number; readonly detail?: string };

type Trial = {
  readonly steps: readonly Step[];
  /** False: the provider has no test of its own. */
  readonly isSupported: boolean;
  /** Which part failed, and how. */
  readonly failure?: string;
  readonly totalMs: number;
};

export const test: CommandBody = async ({ args }, context) => {
  const { io } = context;
  const home = resolve(context.home.home);
  const name = await namedOrActive(args.provider, context);
  useEnvFile(home);
  try {
    const { provider } = await loadWanted(home, name, "test");
    const availability = await checkAvailability(provider);
    recordAvailability(home, name, availability, "test");
    if (!availability.available) {
      const reason = availability.reason ?? "It gives no reason.";
      throw new CommandFailure(`'${name}' is not available. ${reason}`, {
        hint: "'hermes memory status' shows what it needs.",
        details: { kind: "unavailable", provider: name },
      });
    }
    const { trial, isInterrupted } = await io.untilInterrupted(async (signal) => ({
      trial: await tryOut(provider, home, signal),
      isInterrupted: signal.aborted,
    }));
    if (isInterrupted)
      return { json: { success: false, kind: "interrupted" }, lines: ["Interrupted."], exitCode: 130 };
    return outcomeOf(name, trial);
  } finally {
    io.endWithoutWaiting();
  }
};

/** Whatever happens in between, the provider is shut down. */
async function tryOut(provider: MemoryProvider, home: string, interrupted: AbortSignal): Promise<Trial> {
  const startedAt = performance.now();
  const steps: Step[] = [];
  const timed = async <T>(name: string, timeoutMs: number, work: (signal: AbortSignal) => T | Promise<T>) => {
    const at = performance.now();
    const outcome = await runForeign({ timeoutMs }, (deadline) => {
      const signal = AbortSignal.any([deadline, interrupted]);
      return Promise.race([Promise.resolve(work(signal)), stopped(interrupted)]);
    });
    return { outcome, step: { name, ms: since(at) } };
  };
  const session = `self-test-${randomHex(6)}`;
  const begun = await timed("initialize", INITIALIZE_MS, (signal) =>
    provider.initialize(session, {
      hermes_home: home,
      platform: "cli",
      agent_context: "primary",
      signal,
    }),
  );
  steps.push(begun.step);
  let failure = begun.outcome.ok ? undefined : `initialize ${begun.outcome.error.message}`;
  if (failure === undefined && provider.selfTest) {
    const tested = await timed("selfTest", SELF_TEST_MS, (signal) => provider.selfTest?.(signal));
    if (tested.outcome.ok) steps.push(...stepsOf(tested.outcome.value));
    else failure = `selfTest ${tested.outcome.error.message}`;
  }
  const at = performance.now();
  const ended = await runForeign({ timeoutMs: SHUTDOWN_MS }, (signal) => provider.shutdown?.({ signal }));
  steps.push({ name: "shutdown", ms: since(at) });
  if (!ended.ok) failure ??= `shutdown ${ended.error.message}`;
  return {
    steps,
    isSupported: provider.selfTest !== undefined,
    totalMs: since(startedAt),
    ...(failure === undefined ? {} : { failure }),
  };
}

/** Rejects when Ctrl-C was pressed: a provider may ignore its signal. */
function stopped(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(new Error("interrupted"));
    signal.addEventListener("abort", () => reject(new Error("interrupted")), { once: true });
  });
}

/** A plugin wrote it: only what is there counts. */
function stepsOf(report: SelfTestReport | undefined): Step[] {
  const given: unknown = report?.steps;
  return (Array.isArray(given) ? (given as unknown[]) : []).flatMap((step): Step[] => {
    if (typeof step !== "object" || step === null) return [];
    const { name, ms, detail } = step as Record<string, unknown>;
    const rest = typeof detail === "string" ? { detail } : {};
    return [{ name: String(name), ms: typeof ms === "number" ? rounded(ms) : 0, ...rest }];
  });
}

function outcomeOf(name: string, { steps, isSupported, failure, totalMs }: Trial): CommandOutcome {
  if (failure !== undefined)
    throw new CommandFailure(`The test of '${name}' failed after ${totalMs} ms: ${failure}.`, {
      hint: "'hermes memory status' shows settings and earlier errors.",
      details: { kind: "failed", provider: name, supported: isSupported, steps, total_ms: totalMs },
    });
  const verdict = isSupported
    ? `'${name}' works: ${totalMs} ms in all.`
    : `'${name}' is available and starts, but has no test of its own: writing and recalling is not supported here.`;
  return {
    json: {
      success: true,
      provider: name,
      available: true,
      supported: isSupported,
      steps,
      total_ms: totalMs,
    },
    lines: [...stepLines(steps), verdict],
  };
}

function stepLines(steps: readonly Step[]): string[] {
  const names = steps.map(({ name }) => oneLine(name));
  const width = Math.max(...names.map((name) => name.length));
  return steps.map(({ ms, detail }, index) => {
    const line = `  ${(names[index] ?? "").padEnd(width)} ${String(ms).padStart(8)} ms`;
    return detail === undefined ? line : `${line}  ${oneLine(detail, DETAIL_CHARS)}`;
  });
}

function since(startedAt: number): number {
  return rounded(performance.now() - startedAt);
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}
