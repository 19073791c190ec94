// Commands that start a provider: `hermes memory recall` and `test`. `withActiveProvider` starts it for one command and shuts it down.
import { resolve } from "node:path";
import { type MemoryConfig, useEnvFile } from "@hermes-memory/core/internal/config";
import { codePointLength, groupThousands, randomHex } from "@hermes-memory/core/internal/lib";
import type { Logger } from "@hermes-memory/core/internal/logger";
import type { Person } from "@hermes-memory/core/internal/memory";
import {
  buildMemoryContextBlock,
  checkAvailability,
  type MemoryManager,
  type MemoryProvider,
  readProviderHealth,
  recordAvailability,
  recordConnection,
  runForeign,
  type SelfTestReport,
} from "@hermes-memory/core/internal/providers";
import { redactSecrets } from "@hermes-memory/core/internal/security";
import {
  Cancelled,
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandOutcome,
} from "../../command.ts";
import { printable } from "../../printing.ts";
import { nonEmptyText } from "../memory-command.ts";
import { activeName, loadNamed, namedOrActive } from "./find-provider.ts";

type Running = {
  readonly name: string;
  readonly manager: MemoryManager;
  readonly sessionId: string;
};

/** For the owner of the home unless a person is given, and the active provider unless one is named. `notes` are the lines that the provider's calls logged, `trouble` its first failure. */
export async function withActiveProvider<T>(
  context: CommandContext,
  purpose: string,
  work: (running: Running) => Promise<T>,
  {
    person = context.memory.administrator,
    name: named,
  }: { readonly person?: Person; readonly name?: string } = {},
): Promise<{ readonly value: T; readonly notes: readonly string[]; readonly trouble: string | undefined }> {
  const active = await activeName(context);
  const name = await namedOrActive(named, context);
  useEnvFile(context.memory.home);
  const provider =
    name === active ? undefined : (await loadNamed(context.memory.home, name, "test")).provider;
  const notes: string[] = [];
  const troubles: string[] = [];
  const sessionId = `${purpose}-${randomHex(6)}`;
  try {
    const started = await person.provider.activate({
      sessionId,
      provider,
      log: noting(notes),
      onTrouble: (text) => troubles.push(text),
      // The user asked for it now, so a pause that the server has asked for earlier does not count.
      ...(purpose === "outbox" ? { options: { outbox_send_now: true } } : {}),
    });
    if (started.kind !== "active") {
      const reason = started.kind === "unavailable" ? started.reason : "";
      throw new CommandFailure(`'${name}' cannot be asked. ${reason}`, {
        hint: "'hermes memory status' shows what it needs.",
        details: { kind: "unavailable", provider: name },
      });
    }
    try {
      const value = await work({ name, manager: started.manager, sessionId });
      return { value, notes: notes.map(printable), trouble: troubles[0] };
    } finally {
      await started.manager.shutdownAll();
    }
  } finally {
    context.io.endWithoutWaiting();
  }
}

/** Log lines become notes on the terminal. */
function noting(notes: string[]): Logger {
  const note = (message: string): void => void notes.push(redactSecrets(message));
  return { debug: note, info: note, warn: note, error: note, dropped: 0 };
}

// recall: the text that the active provider adds to a prompt, and how long that takes

export const recall: CommandBody = async (input, context) => {
  const query = await nonEmptyText(input, context, "text");
  const { value, notes, trouble } = await withActiveProvider(
    context,
    "recall",
    async ({ name, manager, sessionId }) => {
      const startedAt = performance.now();
      await manager.onTurnStart(1, query);
      const text = await manager.prefetchAll(query, { session_id: sessionId });
      return { name, text, ms: Math.round((performance.now() - startedAt) * 10) / 10 };
    },
  );
  const { name, text, ms } = value;
  const block = buildMemoryContextBlock(text);
  const size = `${groupThousands(codePointLength(text))} characters`;
  if (block === "" && trouble !== undefined)
    throw new CommandFailure(printable(trouble.replace(/ The conversation goes on without it.*$/s, "")), {
      hint: "'hermes doctor --network' checks the connection; 'hermes memory status' shows more.",
      details: { kind: "recall-failed", provider: name, ms, text, block },
    });
  if (block !== "") recordAnswer(context.memory.home, name, "A recall was answered.");
  return {
    json: { success: true, provider: name, ms, text, block },
    lines: block === "" ? ["Nothing is recalled for this text."] : [printable(block)],
    notes: [...notes, `${name}: ${block === "" ? "" : `${size}, `}${ms} ms`],
  };
};

/** A check that failed earlier is no longer true. */
function recordAnswer(home: string, name: string, message: string): void {
  if (readProviderHealth(home, name)?.connection?.ok === false)
    recordConnection(home, name, { ok: true, message });
}

// test: the provider writes, recalls and cleans up, and the time of each step is printed

const INITIALIZE_MS = 10_000;
const SELF_TEST_MS = 60_000;
const SHUTDOWN_MS = 2_500;

type Step = { readonly name: string; readonly ms: number; readonly detail?: string };

type Trial = {
  readonly steps: readonly Step[];
  /** False when the provider has no self-test. */
  readonly isSupported: boolean;
  /** Which step failed, and why. */
  readonly failure?: string;
  readonly totalMs: number;
};

export const test: CommandBody = async ({ args }, context) => {
  const { io } = context;
  const home = resolve(context.home.home);
  const name = await namedOrActive(args.provider, context);
  const config = await context.memory.memoryConfig();
  useEnvFile(home);
  try {
    const { provider } = await loadNamed(home, name, "test");
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
      trial: await tryOut(provider, { home, config, interrupted: signal }),
      isInterrupted: signal.aborted,
    }));
    if (isInterrupted) throw new Cancelled("interrupt", "Interrupted.");
    if (trial.isSupported && trial.failure === undefined) recordAnswer(home, name, "The test succeeded.");
    return outcomeOf(name, trial);
  } finally {
    io.endWithoutWaiting();
  }
};

/** The provider is shut down also after a failure. */
async function tryOut(
  provider: MemoryProvider,
  {
    home,
    config,
    interrupted,
  }: { readonly home: string; readonly config: MemoryConfig; readonly interrupted: AbortSignal },
): Promise<Trial> {
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
      outbox: config.outbox,
      outbox_max_items: config.outboxMaxItems,
      signal,
    }),
  );
  steps.push(begun.step);
  let failure = begun.outcome.ok ? undefined : `Starting it ${begun.outcome.error.message}`;
  if (failure === undefined && provider.selfTest) {
    const tested = await timed("selfTest", SELF_TEST_MS, (signal) => provider.selfTest?.(signal));
    if (tested.outcome.ok) steps.push(...testSteps(tested.outcome.value));
    else failure = testFailure(tested.outcome.error.message);
  }
  const at = performance.now();
  const ended = await runForeign({ timeoutMs: SHUTDOWN_MS }, (signal) => provider.shutdown?.({ signal }));
  steps.push({ name: "shutdown", ms: since(at) });
  if (!ended.ok) failure ??= `Shutting it down ${ended.error.message}`;
  return {
    steps,
    isSupported: provider.selfTest !== undefined,
    totalMs: since(startedAt),
    failure,
  };
}

/** A bundled provider's own message names the step. */
function testFailure(message: string): string {
  const own = /^failed: (The step '.*)$/s.exec(message)?.[1];
  return own ?? `Its own test ${message}`;
}

/** Rejects on Ctrl-C, since a provider may ignore its signal. */
function stopped(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(new Error("interrupted"));
    signal.addEventListener("abort", () => reject(new Error("interrupted")), { once: true });
  });
}

/** The report comes from a plugin, so every field is checked. */
function testSteps(report: SelfTestReport | undefined): Step[] {
  const given: unknown = report?.steps;
  return (Array.isArray(given) ? (given as unknown[]) : []).flatMap((step): Step[] => {
    if (typeof step !== "object" || step === null) return [];
    const { name, ms, detail } = step as Record<string, unknown>;
    return [
      {
        name: String(name),
        ms: typeof ms === "number" ? rounded(ms) : 0,
        detail: typeof detail === "string" ? detail : undefined,
      },
    ];
  });
}

function outcomeOf(name: string, { steps, isSupported, failure, totalMs }: Trial): CommandOutcome {
  if (failure !== undefined)
    throw new CommandFailure(
      `The test of '${name}' failed after ${totalMs} ms. ${printable(failure)}${/[.!?]$/.test(failure) ? "" : "."}`,
      {
        hint: "'hermes memory status' shows settings and earlier errors.",
        details: { kind: "failed", provider: name, supported: isSupported, steps, total_ms: totalMs },
      },
    );
  const verdict = isSupported
    ? `'${name}' works: ${totalMs} ms in all.`
    : `'${name}' is available and starts, but has no test of its own: writing and recalling is not supported here.`;
  return {
    json: {
      success: true,
      message: verdict,
      provider: name,
      available: true,
      supported: isSupported,
      steps,
      total_ms: totalMs,
    },
  };
}

function since(startedAt: number): number {
  return rounded(performance.now() - startedAt);
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}
