// Times and sizes of a networked memory.
import type { LaneOptions } from "../outbox/outbox.ts";

export type Limits = {
  readonly breakerFailures: number;
  readonly breakerMs: number;
  /** How long a turn waits for recall. */
  readonly recallMs: number;
  /** How long a curated write waits until it is at the server; then it is reported as queued. */
  readonly mirrorMs: number;
  readonly sessionEndMs: number;
  readonly shutdownMs: number;
  /** For all requests of a check together: someone waits in front of a command. */
  readonly checkMs: number;
  /** Least time between two looks at the settings, while the server refuses the key. */
  readonly renewMs: number;
  readonly outboxItems: number;
  readonly outboxBytes: number;
  readonly pauses: LaneOptions["pauses"];
};

export const LIMITS: Limits = {
  breakerFailures: 5,
  breakerMs: 120_000,
  recallMs: 3_000,
  mirrorMs: 3_000,
  sessionEndMs: 8_000,
  shutdownMs: 2_000,
  checkMs: 8_000,
  renewMs: 5_000,
  outboxItems: 10_000,
  outboxBytes: 100 * 2 ** 20,
  pauses: undefined,
};
