// Whether a scheduled curator run is due. Pure.
import type { CuratorConfig } from "@hermes-memory/core/internal/config";
import type { CuratorState } from "./curator-state.ts";

/** Whether a scheduled run is due. */
export type Due =
  | { readonly kind: "due" }
  /** The curator never ran: the first run waits for one interval, so that a new home is not tidied at once. */
  | { readonly kind: "first" }
  | {
      readonly kind: "not-due";
      readonly reason: "disabled" | "paused" | "too-early" | "busy";
      readonly nextAt?: Date;
    };

const HOUR_MS = 3_600_000;

/** `idleHours`: how long the agent has not been used; Infinity when unknown. */
export function curatorDue(
  state: Pick<CuratorState, "lastRunAt" | "isPaused">,
  config: Pick<CuratorConfig, "enabled" | "intervalHours" | "minIdleHours">,
  now: Date,
  idleHours = Number.POSITIVE_INFINITY,
): Due {
  if (!config.enabled) return { kind: "not-due", reason: "disabled" };
  if (state.isPaused) return { kind: "not-due", reason: "paused" };
  const last = state.lastRunAt === null ? Number.NaN : Date.parse(state.lastRunAt);
  if (Number.isNaN(last)) return { kind: "first" };
  // A last run in the future means that the clock was set back; waiting for that time could take years.
  const nextAt = new Date(Math.min(last, now.getTime()) + config.intervalHours * HOUR_MS);
  if (nextAt > now) return { kind: "not-due", reason: "too-early", nextAt };
  return idleHours < config.minIdleHours ? { kind: "not-due", reason: "busy" } : { kind: "due" };
}
