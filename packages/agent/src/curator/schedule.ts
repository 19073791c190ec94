// Whether the curator's time has come. Pure.
import type { CuratorConfig } from "@hermes-memory/core/config";
import type { CuratorState } from "./curator-state.ts";

export type Due =
  | { readonly kind: "due" }
  /** It never ran: the first run waits for one interval, so that nobody's files are tidied the moment they arrive. */
  | { readonly kind: "first" }
  | {
      readonly kind: "not-due";
      readonly reason: "disabled" | "paused" | "too-early" | "busy";
      readonly nextAt?: Date;
    };

const HOUR_MS = 3_600_000;

/** `idleHours`: how long nobody has used the agent; Infinity where that cannot be told. */
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
  // A last run in the future is a clock that was set back. Waiting for it could take years.
  const nextAt = new Date(Math.min(last, now.getTime()) + config.intervalHours * HOUR_MS);
  if (nextAt > now) return { kind: "not-due", reason: "too-early", nextAt };
  return idleHours < config.minIdleHours ? { kind: "not-due", reason: "busy" } : { kind: "due" };
}
