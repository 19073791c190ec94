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
const NO_LOSSES = { dropped_tasks: 0, stray_errors: 0 };

export function emptyHealth(provider: string, now: string): ProviderHealth {
  return { provider, since: now, updated_at: now, hooks: {}, texts: NO_TEXTS, ...NO_LOSSES };
}

export function addHealth(health: ProviderHealth, delta: HealthDelta, now: string): ProviderHealth {
  const hooks = { ...health.hooks };
  for (const [hook, counts] of Object.entries(delta.hooks ?? {}))
    hooks[hook] = sum(hooks[hook] ?? NO_CALLS, counts);
  return {
    ...health,
    updated_at: now,
    hooks,
    texts: sum(health.texts, delta.texts ?? NO_TEXTS),
    dropped_tasks: health.dropped_tasks + (delta.dropped_tasks ?? 0),
    stray_errors: health.stray_errors + (delta.stray_errors ?? 0),
    last_error: delta.last_error ?? health.last_error,
    availability: delta.availability ?? health.availability,
    connection: delta.connection ?? health.connection,
  };
}

/** Of every count; `max_ms` is the larger one. */
function sum<T extends object>(one: T, other: T): T {
  const counts = Object.entries(one) as [keyof T, number][];
  const added = counts.map(([name, count]) => {
    const more = other[name] as number;
    return [name, name === "max_ms" ? Math.max(count, more) : Math.round((count + more) * 1000) / 1000];
  });
  return Object.fromEntries(added) as T;
}

/** From a file that a user may have edited: unusable values are replaced by 0 or left out. Throws when the value is no object. */
export function parseHealth(value: unknown, provider: string): ProviderHealth {
  if (!isRecord(value)) throw new TypeError("Not a health record.");
  const { since: from, updated_at, hooks, texts, last_error, availability, connection } = value;
  const since = typeof from === "string" ? from : new Date(0).toISOString();
  const counted = Object.entries(isRecord(hooks) ? hooks : {});
  return {
    provider,
    since,
    updated_at: typeof updated_at === "string" ? updated_at : since,
    hooks: Object.fromEntries(counted.map(([hook, counts]) => [hook, countsLike(NO_CALLS, counts)])),
    texts: countsLike(NO_TEXTS, texts),
    ...countsLike(NO_LOSSES, value),
    last_error: ifText(last_error, "message", "at"),
    availability: ifText(availability, "checked_by", "checked_at"),
    connection: ifText(connection, "message", "checked_at"),
  };
}

function countsLike<T extends object>(names: T, value: unknown): T {
  const given = isRecord(value) ? value : {};
  const count = (item: unknown) =>
    typeof item === "number" && Number.isFinite(item) && item >= 0 ? item : 0;
  return Object.fromEntries(Object.keys(names).map((name) => [name, count(given[name])])) as T;
}

/** A record as this program wrote it; undefined for one whose fields of these names are no texts. */
function ifText<T>(value: unknown, ...names: readonly string[]): T | undefined {
  return isRecord(value) && names.every((name) => typeof value[name] === "string") ? (value as T) : undefined;
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
  #unwritten: ProviderHealth | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** `provider` names the file. Without a home nothing is written. */
  constructor(home: string | undefined, provider: string, clock: Clock) {
    this.#home = home;
    this.#provider = provider;
    this.#clock = clock;
  }

  call(hook: string, { outcome, ms = 0, message }: CallRecord): void {
    const counts: HookCounts = {
      calls: outcome === "skipped" ? 0 : 1,
      failures: outcome === "failed" ? 1 : 0,
      timeouts: outcome === "timeout" ? 1 : 0,
      skipped: outcome === "skipped" ? 1 : 0,
      total_ms: ms,
      max_ms: Math.round(ms * 1000) / 1000,
    };
    this.#add(
      { hooks: { [hook]: counts } },
      outcome === "ok" ? undefined : { hook, message: message ?? outcome },
    );
  }

  text(change: { wasCut: boolean; wasFenced: boolean; blockedParagraphs: number }): void {
    const { wasCut, wasFenced, blockedParagraphs: blocked } = change;
    this.#add({ texts: { cut: wasCut ? 1 : 0, unfenced: wasFenced ? 1 : 0, blocked } });
    if (wasCut || wasFenced || blocked > 0) this.#writeSoon();
  }

  dropped(tasks: number): void {
    this.#add({ dropped_tasks: tasks }, { hook: "worker", message: `${tasks} background task(s) dropped` });
  }

  stray(message: string): void {
    this.#add({ stray_errors: 1 }, { hook: "stray", message });
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

  #add(delta: HealthDelta, error?: { readonly hook: string; readonly message: string }): void {
    if (this.#unwritten === undefined && this.#home !== undefined) writeWhenProcessExits(this);
    const at = this.#clock.now().toISOString();
    const last_error = error && {
      hook: error.hook,
      message: preview(redactSecrets(error.message), MESSAGE_CHARS),
      at,
    };
    this.#unwritten = addHealth(
      this.#unwritten ?? emptyHealth(this.#provider, at),
      { ...delta, last_error },
      at,
    );
    if (error !== undefined) this.#writeSoon();
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
