// Counts of what happened to a provider's calls, summed over all processes: the manager counts, `hermes memory status` shows. One small
// file per provider, `<home>/provider-health/<provider>.json`; each process adds its counts under a lock. Counting must never
// disturb the calls that are counted: an unreadable file is replaced by a new one, and a file that cannot be written is left unchanged.
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  type Clock,
  isRecord,
  preview,
  systemClock,
  withFileLockSync,
  writeFileAtomic,
} from "../../lib/index.ts";
import { redactSecrets } from "../../security/index.ts";

/** How often a hook was called, failed and timed out. */
export type HookCounts = {
  readonly calls: number;
  readonly failures: number;
  readonly timeouts: number;
  /** Calls not made because an earlier one had not returned, or because the queue was full. */
  readonly skipped: number;
  readonly total_ms: number;
  readonly max_ms: number;
};

/** Counts of a provider over all processes of a home. */
export type ProviderHealth = {
  readonly provider: string;
  /** ISO time of the first count. */
  readonly since: string;
  readonly updated_at: string;
  readonly hooks: Readonly<Record<string, HookCounts>>;
  /** Texts on their way into a prompt. */
  readonly texts: {
    /** Texts cut to the limit. */
    readonly cut: number;
    /** Texts that came with a fence, which was removed. */
    readonly unfenced: number;
    /** Paragraphs replaced by a blocked note. */
    readonly blocked: number;
  };
  /** Background tasks lost at shutdown or because the queue was full. */
  readonly dropped_tasks: number;
  /** Failures of work that the provider did not await. */
  readonly stray_errors: number;
  readonly last_error?: { readonly hook: string; readonly message: string; readonly at: string };
  readonly availability?: {
    readonly available: boolean;
    readonly reason?: string;
    /** What its setup asks for, if it was not available. */
    readonly variables?: readonly string[];
    readonly checked_at: string;
    readonly checked_by: "setup" | "test" | "activation";
  };
  /** The last time that a command asked the provider's service whether it can be reached. */
  readonly connection?: {
    readonly ok: boolean;
    /** The provider's line, or the reason of the failure. */
    readonly message: string;
    readonly checked_at: string;
  };
};

/** The counts that one process adds. */
export type HealthDelta = Partial<Omit<ProviderHealth, "provider" | "since" | "updated_at">>;

// ---- Adding and parsing, pure ----

const NO_CALLS: HookCounts = { calls: 0, failures: 0, timeouts: 0, skipped: 0, total_ms: 0, max_ms: 0 };
const NO_TEXTS: ProviderHealth["texts"] = { cut: 0, unfenced: 0, blocked: 0 };

export function emptyHealth(provider: string, now: string): ProviderHealth {
  return {
    provider,
    since: now,
    updated_at: now,
    hooks: {},
    texts: NO_TEXTS,
    dropped_tasks: 0,
    stray_errors: 0,
  };
}

export function addHealth(health: ProviderHealth, delta: HealthDelta, now: string): ProviderHealth {
  const hooks = { ...health.hooks };
  for (const [hook, counts] of Object.entries(delta.hooks ?? {})) {
    hooks[hook] = addCounts(hooks[hook] ?? NO_CALLS, counts);
  }
  const texts = delta.texts ?? NO_TEXTS;
  return {
    ...health,
    updated_at: now,
    hooks,
    texts: {
      cut: health.texts.cut + texts.cut,
      unfenced: health.texts.unfenced + texts.unfenced,
      blocked: health.texts.blocked + texts.blocked,
    },
    dropped_tasks: health.dropped_tasks + (delta.dropped_tasks ?? 0),
    stray_errors: health.stray_errors + (delta.stray_errors ?? 0),
    last_error: delta.last_error ?? health.last_error,
    availability: delta.availability ?? health.availability,
    connection: delta.connection ?? health.connection,
  };
}

function addCounts(a: HookCounts, b: HookCounts): HookCounts {
  return {
    calls: a.calls + b.calls,
    failures: a.failures + b.failures,
    timeouts: a.timeouts + b.timeouts,
    skipped: a.skipped + b.skipped,
    total_ms: Math.round((a.total_ms + b.total_ms) * 1000) / 1000,
    max_ms: Math.max(a.max_ms, b.max_ms),
  };
}

/** From a file that a user may have edited: unusable values are replaced by 0 or left out. Throws when the value is no object. */
export function parseHealth(value: unknown, provider: string): ProviderHealth {
  if (typeof value !== "object" || value === null) throw new TypeError("Not a health record.");
  const given = value as Record<string, unknown>;
  const since = typeof given.since === "string" ? given.since : new Date(0).toISOString();
  const texts = recordOrEmpty(given.texts);
  const hooks = Object.entries(recordOrEmpty(given.hooks));
  return {
    provider,
    since,
    updated_at: typeof given.updated_at === "string" ? given.updated_at : since,
    hooks: Object.fromEntries(hooks.map(([hook, counts]) => [hook, parseCounts(counts)])),
    texts: { cut: count(texts.cut), unfenced: count(texts.unfenced), blocked: count(texts.blocked) },
    dropped_tasks: count(given.dropped_tasks),
    stray_errors: count(given.stray_errors),
    last_error: parseLastError(given.last_error),
    availability: parseAvailability(given.availability),
    connection: parseConnection(given.connection),
  };
}

function parseCounts(value: unknown): HookCounts {
  const given = recordOrEmpty(value);
  return {
    calls: count(given.calls),
    failures: count(given.failures),
    timeouts: count(given.timeouts),
    skipped: count(given.skipped),
    total_ms: count(given.total_ms),
    max_ms: count(given.max_ms),
  };
}

function parseLastError(value: unknown): ProviderHealth["last_error"] {
  const { hook, message, at } = recordOrEmpty(value);
  if (typeof hook !== "string" || typeof message !== "string" || typeof at !== "string") return undefined;
  return { hook, message, at };
}

function parseAvailability(value: unknown): ProviderHealth["availability"] {
  const { available, reason, variables, checked_at, checked_by } = recordOrEmpty(value);
  const by = (["setup", "test", "activation"] as const).find((each) => each === checked_by);
  if (typeof available !== "boolean" || typeof checked_at !== "string" || by === undefined) return undefined;
  return {
    available,
    reason: typeof reason === "string" ? reason : undefined,
    ...(Array.isArray(variables)
      ? { variables: variables.filter((name): name is string => typeof name === "string") }
      : {}),
    checked_at,
    checked_by: by,
  };
}

function parseConnection(value: unknown): ProviderHealth["connection"] {
  const { ok, message, checked_at } = recordOrEmpty(value);
  if (typeof ok !== "boolean" || typeof message !== "string" || typeof checked_at !== "string")
    return undefined;
  return { ok, message, checked_at };
}

function recordOrEmpty(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

function count(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : 0;
}

// ---- The file ----

const LOCK_WAIT_MS = 200;

export function healthFilePath(home: string, provider: string): string {
  return join(home, "provider-health", `${provider.replace(/[^A-Za-z0-9._-]/g, "_")}.json`);
}

/** Undefined when nothing was counted yet, or the file is unreadable. */
export function readProviderHealth(home: string, provider: string): ProviderHealth | undefined {
  try {
    return parseHealth(JSON.parse(readFileSync(healthFilePath(home, provider), "utf8")), provider);
  } catch {
    return undefined;
  }
}

/** False when it could not be written now; the caller keeps its counts and tries again later. */
export function addToHealthFile(
  home: string,
  provider: string,
  delta: HealthDelta,
  clock: Clock = systemClock,
): boolean {
  const path = healthFilePath(home, provider);
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const outcome = withFileLockSync(`${path}.lock`, { timeoutMs: LOCK_WAIT_MS }, () => {
      const now = clock.now().toISOString();
      const before = readProviderHealth(home, provider) ?? emptyHealth(provider, now);
      const after = addHealth(before, delta, now);
      writeFileAtomic(path, `${JSON.stringify(after, null, 2)}\n`, { mode: 0o600, forceMode: 0o600 });
    });
    return outcome.ok;
  } catch {
    return false;
  }
}

export function recordAvailability(
  home: string,
  provider: string,
  found: Pick<NonNullable<ProviderHealth["availability"]>, "available" | "reason" | "variables">,
  checkedBy: "setup" | "test" | "activation",
  clock: Clock = systemClock,
): void {
  const availability = { ...found, checked_at: clock.now().toISOString(), checked_by: checkedBy };
  addToHealthFile(home, provider, { availability }, clock);
}

export function recordConnection(
  home: string,
  provider: string,
  found: { readonly ok: boolean; readonly message: string },
  clock: Clock = systemClock,
): void {
  const message = preview(redactSecrets(found.message), MESSAGE_CHARS);
  const connection = { ok: found.ok, message, checked_at: clock.now().toISOString() };
  addToHealthFile(home, provider, { connection }, clock);
}

// ---- The counts of this process ----

/** Failures reach the file soon, so that `hermes memory status` shows them while the agent still runs. */
const WRITE_DELAY_MS = 250;
const MESSAGE_CHARS = 600;

type Unwritten = {
  hooks: Record<string, HookCounts>;
  texts: { cut: number; unfenced: number; blocked: number };
  dropped_tasks: number;
  stray_errors: number;
  last_error?: ProviderHealth["last_error"];
};

export type CallRecord = {
  readonly outcome: "ok" | "failed" | "timeout" | "skipped";
  readonly ms?: number;
  readonly message?: string;
};

/** Counts for one provider and adds the counts to its file: 250 ms after a failure, at shutdown, or when the process exits. */
export class HealthRecorder {
  readonly #home: string | undefined;
  readonly #provider: string;
  readonly #clock: Clock;
  #unwritten: Unwritten | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** `provider` names the file. Without a home nothing is written. */
  constructor(home: string | undefined, provider: string, clock: Clock) {
    this.#home = home;
    this.#provider = provider;
    this.#clock = clock;
  }

  call(hook: string, { outcome, ms = 0, message }: CallRecord): void {
    const { hooks } = this.#counts();
    const rounded = Math.round(ms * 1000) / 1000;
    hooks[hook] = addCounts(hooks[hook] ?? NO_CALLS, {
      calls: outcome === "skipped" ? 0 : 1,
      failures: outcome === "failed" ? 1 : 0,
      timeouts: outcome === "timeout" ? 1 : 0,
      skipped: outcome === "skipped" ? 1 : 0,
      total_ms: rounded,
      max_ms: rounded,
    });
    if (outcome !== "ok") this.#note(hook, message ?? outcome);
  }

  text(change: { wasCut: boolean; wasFenced: boolean; blockedParagraphs: number }): void {
    const { texts } = this.#counts();
    texts.cut += change.wasCut ? 1 : 0;
    texts.unfenced += change.wasFenced ? 1 : 0;
    texts.blocked += change.blockedParagraphs;
    if (change.wasCut || change.wasFenced || change.blockedParagraphs > 0) this.#writeSoon();
  }

  dropped(tasks: number): void {
    this.#counts().dropped_tasks += tasks;
    this.#note("worker", `${tasks} background task(s) dropped`);
  }

  stray(message: string): void {
    this.#counts().stray_errors += 1;
    this.#note("stray", message);
  }

  /** Adds the counts to the file. Counts that cannot be written now are kept for the next time. */
  write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#home === undefined || this.#unwritten === undefined) return;
    if (!addToHealthFile(this.#home, this.#provider, this.#unwritten, this.#clock)) return;
    this.#unwritten = undefined;
    recordersToWrite.delete(this);
  }

  /** When the process exits. A home that was removed meanwhile is not created again. */
  writeAtExit(): void {
    if (this.#home !== undefined && existsSync(this.#home)) this.write();
  }

  #counts(): Unwritten {
    if (this.#unwritten === undefined && this.#home !== undefined) writeWhenProcessExits(this);
    this.#unwritten ??= { hooks: {}, texts: { ...NO_TEXTS }, dropped_tasks: 0, stray_errors: 0 };
    return this.#unwritten;
  }

  #note(hook: string, message: string): void {
    const at = this.#clock.now().toISOString();
    this.#counts().last_error = { hook, message: preview(redactSecrets(message), MESSAGE_CHARS), at };
    this.#writeSoon();
  }

  #writeSoon(): void {
    this.#timer ??= setTimeout(() => this.write(), WRITE_DELAY_MS).unref();
  }
}

/** Recorders with counts that are in no file yet: a process may exit before their timer fires, or without a shutdown. */
const recordersToWrite = new Set<HealthRecorder>();
let isListening = false;

function writeWhenProcessExits(recorder: HealthRecorder): void {
  recordersToWrite.add(recorder);
  if (isListening) return;
  isListening = true;
  process.once("exit", () => {
    for (const each of recordersToWrite) each.writeAtExit();
  });
}
