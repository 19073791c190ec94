// Starting the provider that config selects: for an agent, or for one piece of work outside a conversation. Nothing here rejects: when the
// provider cannot be used, the agent goes on with its built-in memory.
import { type MemoryConfig, useEnvFile } from "../../config/index.ts";
import { type Clock, randomHex, systemClock } from "../../lib/index.ts";
import { type Logger, silentLogger } from "../../lib/logger.ts";
import { DEADLINES_MS, type Deadlines, type MemoryProvider } from "../contract.ts";
import { activeProviderName, BUNDLED_NAMES, bundledProviders } from "../discovery/find-providers.ts";
import { checkAvailability, isOwnFault, loadProvider } from "../discovery/load-provider.ts";
import { describeForeign, withDeadline } from "../kit/foreign-code.ts";
import { recordAvailability } from "./health.ts";
import { type EraseRules, MemoryManager } from "./manager.ts";
import { type MirroredWrite, type ProviderForgot, writeMetadata } from "./memory-writes.ts";
import type { InitializeAllOptions } from "./options.ts";

/** The session that the configured provider is started for. */
export type ActivationRequest = {
  readonly home: string;
  readonly config: MemoryConfig;
  readonly sessionId: string;
  /** Used instead of the provider that config selects. */
  readonly provider?: MemoryProvider;
  /** Passed to the provider's `initialize`. */
  readonly options?: InitializeAllOptions;
  readonly log?: Logger;
  readonly clock?: Clock;
  /** Called once, with a text for the user, when the provider fails or misses a deadline for the first time. */
  readonly onTrouble?: (text: string) => void;
  /** For callers outside a conversation. */
  readonly deadlinesMs?: Partial<Deadlines>;
};

/** The provider that is active for a session, or why there is none. */
export type Activation =
  /** `provider` is the external one. */
  | { readonly kind: "active"; readonly manager: MemoryManager; readonly provider: MemoryProvider }
  | { readonly kind: "none" }
  | { readonly kind: "unavailable"; readonly name: string; readonly reason: string };

/** Never rejects. First puts the variables of the home's `.env` into the environment, where providers look for their keys. */
export async function activateProvider(request: ActivationRequest): Promise<Activation> {
  const name = request.provider?.name ?? activeProviderName(request.config.provider);
  if (name === "") return { kind: "none" };
  const { log = silentLogger } = request;
  useEnvFile(request.home);
  const outcome = await attempt(name, request, log).catch((cause: unknown) => `${describeForeign(cause)}.`);
  if (typeof outcome !== "string") return outcome;
  log.warn(`The memory provider '${name}' is not used: ${outcome}`, { provider: name });
  await warnIfNotInstalled(name, outcome);
  return { kind: "unavailable", name, reason: outcome };
}

let hasWarned = false;

/** Who forgot to install a package has to see it; the log is a file of the home. */
async function warnIfNotInstalled(name: string, reason: string): Promise<void> {
  if (hasWarned || !BUNDLED_NAMES.includes(name) || (await bundledProviders()) !== undefined) return;
  hasWarned = true;
  process.emitWarning(reason, { code: "HERMES_PROVIDERS_NOT_INSTALLED" });
}

/** A string is the reason why the provider cannot be used. */
async function attempt(name: string, request: ActivationRequest, log: Logger): Promise<Activation | string> {
  const { home, config, sessionId, options, onTrouble, deadlinesMs, clock = systemClock } = request;
  const provider = request.provider ?? (await load(name, home, clock));
  if (typeof provider === "string") return provider;
  const found = await checkAvailability(provider);
  recordAvailability(home, name, found, "activation", clock);
  if (!found.available) return found.reason ?? "it says that it is not available.";
  const manager = new MemoryManager({
    home,
    selectedAs: name,
    log,
    clock,
    recallMaxChars: config.recallMaxChars,
    allowSecrets: config.allowSecrets,
    prefetchTimeoutS: config.prefetchTimeoutS,
    prefetchMaxAgeTurns: config.prefetchMaxAgeTurns,
    mirrorRemove: config.mirrorRemove,
    onTrouble,
    deadlinesMs,
  });
  if (!manager.addProvider(provider)) return "the manager did not take it; the log says why.";
  await manager.initializeAll(sessionId, {
    platform: "cli",
    agent_context: "primary",
    outbox: config.outbox,
    outbox_max_items: config.outboxMaxItems,
    ...options,
  });
  return { kind: "active", manager, provider };
}

/** A string is the reason why it cannot be loaded. */
async function load(name: string, home: string, clock: Clock): Promise<MemoryProvider | string> {
  const loaded = await loadProvider(home, name);
  if (loaded.ok) return loaded.value.provider;
  const { message: reason } = loaded.error;
  if (isOwnFault(loaded.error))
    recordAvailability(home, name, { available: false, reason }, "activation", clock);
  return reason;
}

// ---- One piece of work outside a conversation: the provider is started for it and shut down afterwards ----

export type OneOffRequest = {
  readonly home: string;
  readonly config: MemoryConfig;
  /** One user of several; absent: the owner of the home. */
  readonly user?: { readonly platform: string; readonly userId: string };
  readonly log?: Logger;
  readonly clock?: Clock;
};

export type None = { readonly kind: "none" };
/** `reason` is a sentence. */
export type Failed = { readonly kind: "failed"; readonly provider: string; readonly reason: string };

/** A user waits in front of the command, so starting and stopping are shorter than in an agent. */
const ONE_OFF_DEADLINES_MS = { initialize: 5_000, drain: 0, shutdown: 2_000 };
/** Added to the time of the work itself for loading, the availability check, starting and shutting down. */
const START_AND_STOP_MS = 10_000;

export type Mirrored =
  /** No provider is active, or there was nothing to hand over. */
  | None
  | {
      readonly kind: "mirrored";
      readonly provider: string;
      readonly writes: number;
      /** The provider reported each write as stored. */
      readonly isStored: boolean;
      /** One sentence for each write that the provider reported as not stored. */
      readonly refused: readonly string[];
      /** One sentence for each write that the provider keeps and sends later: why it is not at the server yet. */
      readonly queued: readonly string[];
    }
  /** The provider may have taken a part of the writes. */
  | Failed;

/**
 * Hands committed writes to the active provider as an agent would: `onMemoryWrite`, in order. `origin` is who wrote: `cli`, `mcp`,
 * `curator`. This runs the code of a user's plugin too, because it is the active provider and the memory has changed.
 */
export async function mirrorWrites(
  request: OneOffRequest & { readonly writes: readonly MirroredWrite[]; readonly origin: string },
): Promise<Mirrored> {
  const { writes, origin, user } = request;
  if (writes.length === 0) return { kind: "none" };
  const platform = user?.platform ?? "cli";
  const deadlineMs = DEADLINES_MS.mirror;
  return withProvider(request, deadlineMs, async (manager, provider): Promise<Mirrored> => {
    const metadataOf = (oldText: string | undefined) => writeMetadata({ origin, platform, oldText });
    const { failed, reports } = await manager.mirrorNow(writes, metadataOf, deadlineMs);
    if (failed !== undefined) return { kind: "failed", provider, reason: failed };
    const reasons = (kind: "refused" | "queued") =>
      reports.flatMap((each) => (each.kind === kind ? [each.reason] : []));
    const isStored = reports.every(({ kind }) => kind === "stored");
    return {
      kind: "mirrored",
      provider,
      writes: writes.length,
      isStored,
      refused: reasons("refused"),
      queued: reasons("queued"),
    };
  });
}

export type Forgot = None | (ProviderForgot & { readonly provider: string }) | Failed;

/** Erases a text in the active provider's store; with `isDryRun` only counts what would be erased. */
export async function forgetInProvider(
  request: OneOffRequest & { readonly text: string; readonly isDryRun: boolean },
): Promise<Forgot> {
  return erasing(request, (manager, rules) => manager.forget(request.text, rules));
}

/** Erases everything of the user, or of the owner, in the active provider's store; with `isDryRun` only counts it. */
export async function eraseInProvider(
  request: OneOffRequest & { readonly isDryRun: boolean },
): Promise<Forgot> {
  return erasing(request, (manager, rules) => manager.eraseUser(rules));
}

function erasing(
  request: OneOffRequest & { readonly isDryRun: boolean },
  erase: (manager: MemoryManager, rules: EraseRules) => Promise<ProviderForgot>,
): Promise<Forgot> {
  const rules = { isDryRun: request.isDryRun, deadlineMs: DEADLINES_MS.forget };
  return withProvider(request, rules.deadlineMs, async (manager, provider): Promise<Forgot> => {
    return { ...(await erase(manager, rules)), provider };
  });
}

export type Scrubbed =
  | None
  | {
      readonly kind: "scrubbed";
      readonly provider: string;
      /** How many of the texts are in the provider's own live records, which are kept. */
      readonly live: number;
      /** Why deleted text may be left in the store. */
      readonly remaining?: string;
    }
  | { readonly kind: "cannot"; readonly provider: string }
  | Failed;

/**
 * Makes the active provider erase the bytes of texts that it has already deleted; texts in its live records are kept. A provider that
 * erases one text may clean its whole file with it, so the other texts are erased only if the provider still finds them.
 */
export async function scrubInProvider(
  request: OneOffRequest & { readonly texts: readonly string[] },
): Promise<Scrubbed> {
  const texts = [...new Set(request.texts)];
  if (texts.length === 0) return { kind: "none" };
  const totalMs = DEADLINES_MS.forget;
  const until = performance.now() + totalMs;
  return withProvider(request, totalMs, async (manager, provider): Promise<Scrubbed> => {
    let live = 0;
    let isCleaned = false;
    let remaining: string | undefined;
    for (const text of texts) {
      const deadlineMs = until - performance.now();
      if (deadlineMs <= 0) return { kind: "failed", provider, reason: notFinishedWithin(totalMs) };
      const found = await manager.forget(text, { isDryRun: true, deadlineMs });
      if (found.kind !== "forgot") return { ...found, provider };
      if (found.erased > 0) live += 1;
      if (found.erased > 0 || (isCleaned && found.remaining === undefined)) continue;
      if (remaining !== undefined) continue; // another process has the store open, which has not changed
      const done = await manager.forget(text, { isDryRun: false, deadlineMs });
      if (done.kind !== "forgot") return { ...done, provider };
      isCleaned = true;
      remaining = done.remaining;
    }
    return { kind: "scrubbed", provider, live, remaining };
  });
}

/** Starts the active provider for `work`, which has `workMs`, and shuts it down. Never rejects, unless `work` does. */
export async function withProvider<T extends { readonly kind: string }>(
  { home, config, user, log, clock }: OneOffRequest,
  workMs: number,
  work: (manager: MemoryManager, provider: string) => Promise<T>,
): Promise<T | Failed | None> {
  const name = activeProviderName(config.provider);
  if (name === "") return { kind: "none" };
  const failed = (reason: string): Failed => ({ kind: "failed", provider: name, reason });
  const troubles: string[] = [];
  const totalMs = workMs + START_AND_STOP_MS;
  const timed = await withDeadline({ ms: totalMs }, async (): Promise<T | Failed> => {
    const active = await activateProvider({
      home,
      config,
      sessionId: `memory-${randomHex(6)}`,
      options: { platform: user?.platform ?? "cli", agent_context: "primary", user_id: user?.userId },
      deadlinesMs: ONE_OFF_DEADLINES_MS,
      onTrouble: (text) => troubles.push(text),
      log,
      clock,
    });
    if (active.kind !== "active") return failed(active.kind === "unavailable" ? active.reason : "It is off.");
    try {
      const [trouble] = troubles;
      if (trouble !== undefined) return failed(trouble); // `initialize` failed: later calls would do nothing without an error
      return await work(active.manager, name);
    } finally {
      await active.manager.shutdownAll();
    }
  });
  return timed.kind === "done" ? timed.value : failed(notFinishedWithin(totalMs));
}

function notFinishedWithin(ms: number): string {
  return `It did not finish within ${ms / 1000} s.`;
}
