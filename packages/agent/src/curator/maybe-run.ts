// The scheduled run: for whoever starts a program or notices that nobody is using it.
import { describeCause } from "@hermes-memory/core/lib";
import { type CuratorOptions, runCurator } from "./run-curator.ts";
import { curatorDue, type Due } from "./schedule.ts";
import { changeState, readState } from "./state.ts";
import type { CuratorRun } from "./types.ts";

export type ScheduledOptions = Omit<CuratorOptions, "mode" | "scope" | "isScheduled"> & {
  /** How long nobody has used the agent; absent where that cannot be told. */
  readonly idleHours?: number;
};

export type ScheduledOutcome =
  | { readonly kind: "ran"; readonly run: CuratorRun }
  | { readonly kind: "put-off" }
  | { readonly kind: "not-due"; readonly due: Extract<Due, { kind: "not-due" }> }
  | { readonly kind: "failed"; readonly message: string };

/** Only ever proposes: what it finds waits in `pending/`. Never rejects, and looks at one small file when it is not due. */
export async function maybeRunCurator(options: ScheduledOptions): Promise<ScheduledOutcome> {
  const { memory, idleHours, log } = options;
  const { home, clock } = memory;
  try {
    const { curator } = await memory.config();
    const state = readState(home);
    if (!state.ok) return failed(state.error.message);
    const due = curatorDue(state.value, curator, clock.now(), idleHours);
    if (due.kind === "not-due") return { kind: "not-due", due };
    if (due.kind === "first") {
      // Whoever is first writes the time; another process that was faster keeps its own.
      const now = clock.now().toISOString();
      const noted = changeState(home, ({ lastRunAt }) => ({ lastRunAt: lastRunAt ?? now }));
      return noted.ok ? { kind: "put-off" } : failed(noted.error.message);
    }
    const scope = curator.memory ? "all" : "skills";
    const run = await runCurator({ ...options, mode: "propose", scope, isScheduled: true });
    return run.ok ? { kind: "ran", run: run.value } : failed(run.error.message);
  } catch (cause) {
    return failed(describeCause(cause));
  }

  function failed(message: string): ScheduledOutcome {
    log?.warn("The scheduled curator run did not happen", { reason: message });
    return { kind: "failed", message };
  }
}
