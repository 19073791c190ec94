// The numbers of this provider in one place. Tests hand in smaller times.

export type Limits = {
  /** Recall on the user's path. The manager goes on sooner and keeps a late answer for the next turn. */
  readonly prefetchMs: number;
  /** `brv_curate`. Below the two minutes a tool call has, so that our own message arrives. */
  readonly curateMs: number;
  /** A curate that is only queued. Offline, brv gives up by itself after about 100 s. */
  readonly queueMs: number;
  readonly statusMs: number;
  readonly loginMs: number;
  /** brv is told the limit too; we end it this much later, so that it can say why by itself. */
  readonly graceMs: number;
  /** Of stdout and stderr together. */
  readonly outputBytes: number;
  readonly queueLength: number;
  /** Failed recalls in a row after which none is tried for `breakerMs`. */
  readonly breakerFailures: number;
  readonly breakerMs: number;
  /** A missing binary is looked for again after this time. */
  readonly recheckMs: number;
};

export const LIMITS: Limits = {
  prefetchMs: 10_000,
  curateMs: 115_000,
  queueMs: 120_000,
  statusMs: 15_000,
  loginMs: 30_000,
  graceMs: 3_000,
  outputBytes: 8 * 1024 * 1024,
  queueLength: 50,
  breakerFailures: 2,
  breakerMs: 120_000,
  recheckMs: 60_000,
};

/** Characters, in code points. */
export const QUERY_MIN_CHARS = 10;
export const QUERY_MAX_CHARS = 5_000;
export const TURN_MIN_CHARS = 10;
export const TURN_MAX_CHARS = 2_000;
export const MESSAGE_MAX_CHARS = 500;
export const PRE_COMPRESS_MESSAGES = 10;
export const ANSWER_MIN_CHARS = 20;
export const TOOL_RESULT_MAX_CHARS = 8_000;

/** Of a note to curate. Linux takes 128 KiB for one argument of a command, and a character has up to four bytes. */
export const NOTE_MAX_CHARS = 25_000;
