// What happened to a provider's calls, across processes: the manager counts, `hermes memory status` shows.
// One small file per provider; whoever counts adds to what is there under a lock.

export type HookCounts = {
  readonly calls: number;
  readonly failures: number;
  readonly timeouts: number;
  /** Not called because an earlier call still hung, or the queue was full. */
  readonly skipped: number;
  readonly total_ms: number;
  readonly max_ms: number;
};

export type ProviderHealth = {
  readonly provider: string;
  /** ISO time of the first count. */
  readonly since: string;
  readonly updated_at: string;
  readonly hooks: Readonly<Record<string, HookCounts>>;
  /** Texts on their way into a prompt. */
  readonly texts: {
    /** Cut to the limit. */
    readonly cut: number;
    /** Fences of their own taken off. */
    readonly unfenced: number;
    /** Paragraphs replaced by a blocked note. */
    readonly blocked: number;
  };
  /** Background tasks lost at shutdown or because the queue was full. */
  readonly dropped_tasks: number;
  /** Promises nobody awaited that failed later. */
  readonly stray_errors: number;
  readonly last_error?: { readonly hook: string; readonly message: string; readonly at: string };
  readonly availability?: {
    readonly available: boolean;
    readonly reason?: string;
    readonly checked_at: string;
    readonly checked_by: "setup" | "test" | "activation";
  };
};

/** What one process has to add. */
export type HealthDelta = {
  readonly hooks?: Readonly<Record<string, HookCounts>>;
  readonly texts?: ProviderHealth["texts"];
  readonly dropped_tasks?: number;
  readonly stray_errors?: number;
  readonly last_error?: NonNullable<ProviderHealth["last_error"]>;
  readonly availability?: NonNullable<ProviderHealth["availability"]>;
};

export const NO_CALLS: HookCounts = Object.freeze({
  calls: 0,
  failures: 0,
  timeouts: 0,
  skipped: 0,
  total_ms: 0,
  max_ms: 0,
});

const NO_TEXTS: ProviderHealth["texts"] = Object.freeze({ cut: 0, unfenced: 0, blocked: 0 });

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
    ...(delta.last_error === undefined ? {} : { last_error: delta.last_error }),
    ...(delta.availability === undefined ? {} : { availability: delta.availability }),
  };
}

export function addCounts(a: HookCounts, b: HookCounts): HookCounts {
  return {
    calls: a.calls + b.calls,
    failures: a.failures + b.failures,
    timeouts: a.timeouts + b.timeouts,
    skipped: a.skipped + b.skipped,
    total_ms: Math.round((a.total_ms + b.total_ms) * 1000) / 1000,
    max_ms: Math.max(a.max_ms, b.max_ms),
  };
}

/** From a file that anybody may have edited. Throws on what is no object at all. */
export function readHealth(value: unknown, provider: string): ProviderHealth {
  if (typeof value !== "object" || value === null) throw new TypeError("Not a health record.");
  const given = value as Record<string, unknown>;
  const since = typeof given.since === "string" ? given.since : new Date(0).toISOString();
  const texts = record(given.texts);
  return {
    provider,
    since,
    updated_at: typeof given.updated_at === "string" ? given.updated_at : since,
    hooks: Object.fromEntries(
      Object.entries(record(given.hooks)).map(([hook, counts]) => [hook, readCounts(counts)]),
    ),
    texts: { cut: count(texts.cut), unfenced: count(texts.unfenced), blocked: count(texts.blocked) },
    dropped_tasks: count(given.dropped_tasks),
    stray_errors: count(given.stray_errors),
    ...readLastError(given.last_error),
    ...readAvailability(given.availability),
  };
}

function readCounts(value: unknown): HookCounts {
  const given = record(value);
  return {
    calls: count(given.calls),
    failures: count(given.failures),
    timeouts: count(given.timeouts),
    skipped: count(given.skipped),
    total_ms: count(given.total_ms),
    max_ms: count(given.max_ms),
  };
}

function readLastError(value: unknown): Pick<ProviderHealth, "last_error"> {
  const { hook, message, at } = record(value);
  if (typeof hook !== "string" || typeof message !== "string" || typeof at !== "string") return {};
  return { last_error: { hook, message, at } };
}

function readAvailability(value: unknown): Pick<ProviderHealth, "availability"> {
  const { available, reason, checked_at, checked_by } = record(value);
  const by = (["setup", "test", "activation"] as const).find((each) => each === checked_by);
  if (typeof available !== "boolean" || typeof checked_at !== "string" || by === undefined) return {};
  const because = typeof reason === "string" ? { reason } : {};
  return { availability: { available, ...because, checked_at, checked_by: by } };
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function count(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : 0;
}
