// Follows running sessions of other agents: looks for changed files again and again, and imports what they have got.
import { setTimeout as sleep } from "node:timers/promises";
import { HermesError } from "@hermes-memory/core/internal/lib";
import {
  type Filters,
  type ImportDeps,
  type ImportReport,
  importTranscripts,
  type Wanted,
} from "./import-transcripts.ts";

/** Between two looks. A look costs one `stat` per file. */
const PAUSE_MS = 1000;
/** A round may take at most this share of the time, so that a huge file that grows all the time does not keep a core busy. */
const SHARE = 1 / 8;
const LONGEST_PAUSE_MS = 60_000;

type WatchEvent = { readonly report: ImportReport; readonly at: number };

/** What passes by itself: the next round tries again. */
const PASSING: ReadonlySet<string> = new Set(["session-db-locked", "session-db-full"]);

type Watching = {
  readonly onChange: (event: WatchEvent) => void;
  readonly onTrouble: (reason: string) => void;
  /** Held for a round. Undefined while another import holds it: the round is left out. */
  readonly lock: () => Disposable | undefined;
};

/**
 * Ends when the signal aborts. `onChange` is called after every round that stored something or met new errors, `onTrouble` when the
 * database could not take a round.
 */
export async function watchTranscripts(
  wanted: readonly Wanted[],
  filters: Filters,
  deps: ImportDeps,
  { onChange, onTrouble, lock }: Watching,
): Promise<void> {
  let known = "";
  const pauseFor = (ms: number) => sleep(ms, undefined, { signal: deps.signal }).catch(() => {});
  while (!deps.signal.aborted) {
    const start = performance.now();
    try {
      using held = lock();
      if (held === undefined) {
        await pauseFor(PAUSE_MS);
        continue;
      }
      // `force` is for the first import only: later it would read every file in every round.
      const report = await importTranscripts(wanted, { ...filters, force: false }, deps);
      const troubles = JSON.stringify(report.sources.map(({ errors }) => errors));
      const isNews = report.sources.some(
        ({ sessionsAdded, sessionsUpdated }) => sessionsAdded + sessionsUpdated > 0,
      );
      if (isNews || troubles !== known) onChange({ report, at: deps.now() });
      known = troubles;
    } catch (cause) {
      if (!(cause instanceof HermesError) || !PASSING.has(cause.code)) throw cause;
      onTrouble(cause.message);
    }
    const took = performance.now() - start;
    const pause = Math.min(LONGEST_PAUSE_MS, Math.max(PAUSE_MS, took / SHARE));
    await pauseFor(pause);
  }
}
