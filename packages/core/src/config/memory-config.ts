// The `memory:` settings as the rest of the program sees them. Loads neither zod nor yaml: `hermes memory show` has to
// start about as fast as node itself.

export type MemoryConfig = {
  readonly memoryEnabled: boolean;
  readonly userProfileEnabled: boolean;
  readonly memoryCharLimit: number;
  readonly userCharLimit: number;
  readonly writeApproval: boolean;
  readonly provider: string;
  readonly nudgeInterval: number;
  readonly overflow: "refuse" | "archive";
  readonly scanAllow: readonly string[];
  /** Texts that look like credentials may be stored. */
  readonly allowSecrets: boolean;
  readonly historyMaxBytes: number;
  readonly historyKeep: number;
  readonly lockTimeoutSeconds: number;
  readonly recallMaxChars: number;
  /** For turn start and recall together; 0 for no limit. */
  readonly prefetchTimeoutS: number;
  /** How many turns a recall that came too late stays usable. */
  readonly prefetchMaxAgeTurns: number;
  readonly mirrorRemove: boolean;
  /** A resumed session gets a new prompt with memory as it is now, instead of the one it was stored with. */
  readonly refreshOnResume: boolean;
};

export const DEFAULT_MEMORY_CONFIG: MemoryConfig = Object.freeze({
  memoryEnabled: true,
  userProfileEnabled: true,
  memoryCharLimit: 2200,
  userCharLimit: 1375,
  writeApproval: false,
  provider: "",
  nudgeInterval: 10,
  overflow: "refuse",
  scanAllow: Object.freeze([]),
  allowSecrets: false,
  historyMaxBytes: 1_048_576,
  historyKeep: 200,
  lockTimeoutSeconds: 10,
  recallMaxChars: 16_000,
  prefetchTimeoutS: 3,
  prefetchMaxAgeTurns: 2,
  mirrorRemove: true,
  refreshOnResume: false,
});

export type WholeNumberBounds = { readonly min: number; readonly max: number };

/** Settings that are whole numbers, by their name in the file. The quick reader and the schema share these bounds. */
export const WHOLE_NUMBERS = {
  memory_char_limit: { min: 0, max: Number.MAX_SAFE_INTEGER },
  user_char_limit: { min: 0, max: Number.MAX_SAFE_INTEGER },
  nudge_interval: { min: 0, max: Number.MAX_SAFE_INTEGER },
  history_max_bytes: { min: 65_536, max: Number.MAX_SAFE_INTEGER }, // less would compact after every few changes
  history_keep: { min: 1, max: Number.MAX_SAFE_INTEGER },
  recall_max_chars: { min: 0, max: Number.MAX_SAFE_INTEGER },
  prefetch_max_age_turns: { min: 0, max: Number.MAX_SAFE_INTEGER },
} as const satisfies Record<string, WholeNumberBounds>;

/** Longest wait for another process: past ten minutes a caller has given up anyway. */
export const MAX_LOCK_TIMEOUT_SECONDS = 600;

/** A turn that waits longer than this for recall has lost its user. */
export const MAX_PREFETCH_TIMEOUT_SECONDS = 120;

/** The words that switch `write_approval` on, besides `true`. Every other text means off, as in the reference. */
export const APPROVAL_WORDS: readonly string[] = ["on", "true", "yes", "1", "approve", "enabled"];

/** Booleans count as they are, the words above count as on, everything else as off. */
export function isApprovalOn(value: unknown): boolean {
  if (typeof value === "boolean") return value;
  return typeof value === "string" && APPROVAL_WORDS.includes(value.trim().toLowerCase());
}
