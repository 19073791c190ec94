// The provider that a command is about, and the commands that start it: `hermes memory recall`, `test` and `upload`.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { type MemoryConfig, nearest, useEnvFile } from "@hermes-memory/core/internal/config";
import { MEMORY_TARGETS, type MemoryStore, type MemoryTarget } from "@hermes-memory/core/internal/curated";
import { codePointLength, groupThousands, isRecord, randomHex } from "@hermes-memory/core/internal/lib";
import type { Logger } from "@hermes-memory/core/internal/logger";
import { type Home, ifUsable, type Person } from "@hermes-memory/core/internal/memory";
import {
  activeProviderName,
  buildMemoryContextBlock,
  type CuratedEntry,
  checkAvailability,
  type FoundProvider,
  fieldsOf,
  findProvider,
  findProviders,
  isOwnFault,
  type LoadedProvider,
  type LoadFailure,
  loadProvider,
  type MemoryManager,
  type MemoryProvider,
  notYetSent,
  readProviderHealth,
  recordAvailability,
  recordConnection,
  runForeign,
  setupHint,
} from "@hermes-memory/core/internal/providers";
import { redactSecrets } from "@hermes-memory/core/internal/security";
import { Cancelled, type CommandBody, type CommandContext, CommandFailure } from "../../command.ts";
import { counted, printable } from "../../printing.ts";
import { progressDisplay } from "../../sessions/progress.ts";
import { nonEmptyText, openStore, targetsFlag } from "../memory-command.ts";

// Which provider: the one that was named, or the active one.

/** "" when no provider is active. */
export async function activeName(context: CommandContext): Promise<string> {
  return activeProviderName((await context.memory.memoryConfig()).provider);
}

/** Ends the command when no name was given and no provider is active. */
export async function namedOrActive(given: string | undefined, context: CommandContext): Promise<string> {
  const name = given ?? (await activeName(context));
  if (name !== "") return name;
  throw new CommandFailure("No external memory provider is active.", {
    hint: "Choose one with 'hermes memory setup'; 'hermes memory providers' lists what there is.",
    details: { kind: "no-provider" },
  });
}

/** Runs none of its code. Ends the command when there is no such provider. */
export async function findNamed(home: string, name: string): Promise<FoundProvider> {
  const found = await findProvider(home, name);
  if (found !== undefined && found.problem === undefined) return found;
  const refused = await loadProvider(home, name); // fails before it loads code, with the reason
  if (refused.ok) return refused.value.found;
  throw await loadFailure(home, name, refused.error);
}

/** Records a plugin whose own code fails: `status`, which does not run that code, shows it. */
export async function loadNamed(
  home: string,
  name: string,
  command: "setup" | "test",
): Promise<LoadedProvider> {
  const loaded = await loadProvider(home, name);
  if (loaded.ok) return loaded.value;
  if (isOwnFault(loaded.error))
    recordAvailability(home, name, { available: false, reason: loaded.error.message }, command);
  throw await loadFailure(home, name, loaded.error);
}

async function loadFailure(
  home: string,
  name: string,
  { kind, message }: LoadFailure,
): Promise<CommandFailure> {
  const names = (await findProviders(home)).providers.map((provider) => provider.name);
  const meant = kind === "not-found" ? nearest(name, names) : undefined;
  return new CommandFailure(message, {
    details: { kind, provider: name },
    hint: meant === undefined ? undefined : `Did you mean '${meant}'?`,
  });
}

export type Settings = Readonly<Record<string, unknown>>;

/** `memory.<name>` of config.yaml; empty when the file cannot be used. */
export async function providerSection(memory: Home, name: string): Promise<Settings> {
  const sections = (await ifUsable(memory.config()))?.raw.memory;
  const section = isRecord(sections) && Object.hasOwn(sections, name) ? sections[name] : undefined;
  return isRecord(section) ? section : {};
}

/** The settings that setup asks for. For a user's plugin, whose code runs only once it is chosen, its description. */
export async function hintOf(home: string, { name, source, manifest }: FoundProvider): Promise<string> {
  if (source === "user") return manifest.description === "" ? "your plugin" : manifest.description;
  const loaded = await loadProvider(home, name);
  return loaded.ok ? setupHint(fieldsOf(loaded.value.provider).fields) : "cannot be loaded";
}

// Running it

type Running = { readonly name: string; readonly manager: MemoryManager; readonly sessionId: string };

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
    if (started.kind !== "active")
      throw unavailable(
        name,
        `'${name}' cannot be asked. ${started.kind === "unavailable" ? started.reason : ""}`,
      );
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
      return { name, text, ms: since(startedAt) };
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
    if (!availability.available)
      throw unavailable(name, `'${name}' is not available. ${availability.reason ?? "It gives no reason."}`);
    const startedAt = performance.now();
    const steps: Step[] = [];
    const failure = await io.untilInterrupted(async (signal) => {
      const outcome = await tryOut(provider, steps, { home, config, interrupted: signal });
      if (signal.aborted) throw new Cancelled("interrupt", "Interrupted.");
      return outcome;
    });
    const supported = provider.selfTest !== undefined;
    const total_ms = since(startedAt);
    if (failure !== undefined)
      throw new CommandFailure(
        `The test of '${name}' failed after ${total_ms} ms. ${printable(failure)}${/[.!?]$/.test(failure) ? "" : "."}`,
        {
          hint: "'hermes memory status' shows settings and earlier errors.",
          details: { kind: "failed", provider: name, supported, steps, total_ms },
        },
      );
    if (supported) recordAnswer(home, name, "The test succeeded.");
    const message = supported
      ? `'${name}' works: ${total_ms} ms in all.`
      : `'${name}' is available and starts, but has no test of its own: writing and recalling is not supported here.`;
    return { json: { success: true, message, provider: name, available: true, supported, steps, total_ms } };
  } finally {
    io.endWithoutWaiting();
  }
};

function unavailable(provider: string, message: string): CommandFailure {
  return new CommandFailure(message, {
    hint: "'hermes memory status' shows what it needs.",
    details: { kind: "unavailable", provider },
  });
}

/** Adds the steps. Resolves to what failed, and why. The provider is shut down also after a failure. */
async function tryOut(
  provider: MemoryProvider,
  steps: Step[],
  run: { readonly home: string; readonly config: MemoryConfig; readonly interrupted: AbortSignal },
): Promise<string | undefined> {
  const { home, config, interrupted } = run;
  const options = { hermes_home: home, platform: "cli", agent_context: "primary" } as const;
  const limits = { outbox: config.outbox, outbox_max_items: config.outboxMaxItems };
  // A provider may ignore its signal, so Ctrl-C is not left to it.
  const stopped = new Promise<never>((_resolve, reject) => {
    const stop = (): void => reject(new Error("interrupted"));
    if (interrupted.aborted) stop();
    interrupted.addEventListener("abort", stop, { once: true });
  });
  const guarded = <T>(timeoutMs: number, work: (signal: AbortSignal) => T | Promise<T>) =>
    runForeign({ timeoutMs }, (deadline) =>
      Promise.race([Promise.resolve(work(AbortSignal.any([deadline, interrupted]))), stopped]),
    );
  const begun = performance.now();
  const started = await guarded(INITIALIZE_MS, (signal) =>
    provider.initialize(`self-test-${randomHex(6)}`, { ...options, ...limits, signal }),
  );
  steps.push({ name: "initialize", ms: since(begun) });
  let failure = started.ok ? undefined : `Starting it ${started.error.message}`;
  if (failure === undefined && provider.selfTest) {
    const tested = await guarded(SELF_TEST_MS, (signal) => provider.selfTest?.(signal));
    if (tested.ok) steps.push(...reportedSteps(tested.value?.steps));
    // A bundled provider's own message names the step.
    else
      failure = tested.error.message
        .replace(/^(?!failed: The step ')/, "Its own test ")
        .replace(/^failed: /, "");
  }
  const at = performance.now();
  const ended = await runForeign({ timeoutMs: SHUTDOWN_MS }, (signal) => provider.shutdown?.({ signal }));
  steps.push({ name: "shutdown", ms: since(at) });
  return failure ?? (ended.ok ? undefined : `Shutting it down ${ended.error.message}`);
}

/** They come from a plugin, so every field is checked. */
function reportedSteps(given: unknown): Step[] {
  return (Array.isArray(given) ? (given as unknown[]) : []).filter(isRecord).map(({ name, ms, detail }) => ({
    name: String(name),
    ms: typeof ms === "number" ? rounded(ms) : 0,
    detail: typeof detail === "string" ? detail : undefined,
  }));
}

function since(startedAt: number): number {
  return rounded(performance.now() - startedAt);
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}

// `hermes memory upload`: copies entries that the active provider does not have yet.

const BLOCKED = "The scanner keeps it out of the prompt, so it is not copied: 'hermes memory show' says why.";

export const upload: CommandBody = async (input, context) => {
  const provider = await namedOrActive(undefined, context);
  const isDryRun = input.flags["dry-run"] === true;
  const store = await openStore(input, context);
  const { entries, blocked } = uploadable(store, targetsFlag(input));
  const progress = progressDisplay(context.io);
  const { outcome, isInterrupted } = await context.io.untilInterrupted(async (signal) => ({
    outcome: await context.memory.administrator.provider.upload({
      entries,
      isDryRun,
      origin: "cli",
      signal,
      onProgress: (done, total) => progress.show({ step: isDryRun ? "asking" : "copying", done, total }),
    }),
    isInterrupted: signal.aborted,
  }));
  progress.clear();
  context.io.endWithoutWaiting();
  if (outcome.kind === "cannot")
    throw new CommandFailure(`Nothing was copied to '${provider}'. ${printable(outcome.reason)}`, {
      details: { kind: "cannot-upload", provider },
    });
  if (outcome.kind === "failed")
    throw new CommandFailure(
      `Nothing was copied: '${provider}' could not be asked which entries it has. ${printable(outcome.reason)}`,
      {
        hint: "'hermes doctor --network' checks the connection. When it answers, run the upload again.",
        details: { kind: "unavailable", provider, reason: outcome.reason },
      },
    );
  // "none": there is no entry.
  const none = { copied: [], present: [], waiting: [], refused: [], left: [], problem: undefined };
  const { copied, present, waiting, left, problem, ...done } = outcome.kind === "none" ? none : outcome;
  const refused = [...done.refused, ...blocked.map((entry) => ({ ...entry, reason: BLOCKED }))];
  const isDone = refused.length + left.length === 0;
  const isNothing = copied.length + waiting.length + refused.length + left.length === 0;
  const counts = (of: readonly unknown[]): string => counted(of.length, "entry", "entries");
  const moved = isDryRun
    ? `${counts(copied)} would be copied to '${provider}'.`
    : `Copied ${counts(copied)} to '${provider}'.`;
  return {
    json: {
      success: isDone,
      message: isNothing ? `Nothing to copy: '${provider}' has all ${counts(present)}.` : moved,
      provider,
      dry_run: isDryRun,
      copied: isDryRun ? 0 : copied.length,
      ...(isDryRun ? { missing: copied.length } : {}),
      present: present.length,
      waiting: waiting.length,
      refused: refused.length,
      left: left.length,
      entries: { [isDryRun ? "missing" : "copied"]: copied, present, waiting, refused, left },
      problem,
    },
    notes: [
      ...(waiting.length > 0
        ? ["An agent sends what waits; 'hermes memory outbox send' tries at once."]
        : []),
      ...(left.length > 0 ? ["What was not tried: run the command again, nothing is copied twice."] : []),
    ],
    exitCode: isInterrupted ? 130 : isDone ? 0 : 1,
  };
};

/** Entries of files that are switched off are left out. */
function uploadable(store: MemoryStore, targets: readonly MemoryTarget[] = MEMORY_TARGETS) {
  const all = targets
    .filter((target) => store.isEnabled(target))
    .flatMap((target) => {
      const blocked = new Set(store.blockedEntries(target).map(({ index }) => index));
      return store.entries(target).map((text, at) => ({ target, text, isBlocked: blocked.has(at) }));
    });
  const chosen = (wanted: boolean): CuratedEntry[] =>
    all.flatMap(({ isBlocked, ...entry }) => (isBlocked === wanted ? [entry] : []));
  return { entries: chosen(false), blocked: chosen(true) };
}

/** What setup says at its end. */
export async function uploadHint(
  name: string,
  { memory }: CommandContext,
): Promise<{ readonly count: number; readonly note?: string }> {
  const { directory } = memory.administrator;
  if (!existsSync(directory)) return { count: 0 };
  const { entries } = uploadable(await memory.administrator.curatedIn(directory));
  const count = (await notYetSent(memory.home, name, entries)).length;
  if (count === 0) return { count };
  const what = counted(count, "entry of MEMORY.md and USER.md was", "entries of MEMORY.md and USER.md were");
  return {
    count,
    note: `${what} not copied to '${name}' from here: 'hermes memory upload' copies what it does not have yet ('--dry-run' only counts).`,
  };
}
