// The curator's state between runs: `skills/.curator_state`, in the format of the Python original.
import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  describeCause,
  err,
  errnoCode,
  isRecord,
  ok,
  outsideJsonOr,
  type Result,
  withFileLockSync,
  writeFileAtomic,
} from "@hermes-memory/core/internal/lib";

/** What the curator remembers between runs. */
export type CuratorState = {
  /** ISO time; null until the first scheduled run was put off. */
  readonly lastRunAt: string | null;
  readonly lastRunDurationSeconds: number | null;
  readonly lastRunSummary: string | null;
  readonly lastReportPath: string | null;
  readonly isPaused: boolean;
  readonly runCount: number;
  /** Hashes of earlier proposals, oldest first: a scheduled run proposes nothing twice. */
  readonly proposed: readonly string[];
};

export type StateProblem = { readonly kind: "io" | "locked"; readonly message: string };

const MOST_PROPOSED = 500;
const LOCK_WAIT_MS = 5000;

function statePath(home: string): string {
  return join(home, "skills", ".curator_state");
}

/** A missing file means that the curator never ran. A damaged file is an error. */
export function readState(home: string): Result<CuratorState, StateProblem> {
  const fields = readFields(home);
  return fields.ok ? ok(toState(fields.value)) : fields;
}

/** Reads, changes and writes under a lock. Keeps fields of other programs. */
export function changeState(
  home: string,
  change: (state: CuratorState) => Partial<CuratorState>,
): Result<CuratorState, StateProblem> {
  const path = statePath(home);
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const changed = withFileLockSync(`${path}.lock`, { timeoutMs: LOCK_WAIT_MS }, () => {
      const fields = readFields(home);
      if (!fields.ok) return fields;
      const state = toState(fields.value);
      const next = { ...state, ...change(state) };
      writeFileAtomic(path, `${JSON.stringify({ ...fields.value, ...toFields(next) }, null, 2)}\n`);
      return ok(next);
    });
    if (changed.ok) return changed.value;
    return err({ kind: "locked", message: `Another process kept ${path}.lock. Try again.` });
  } catch (cause) {
    return err({ kind: "io", message: `Cannot write ${path}: ${describeCause(cause)}.` });
  }
}

type Fields = Readonly<Record<string, unknown>>;

function readFields(home: string): Result<Fields, StateProblem> {
  const path = statePath(home);
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT") return ok({});
    return err({ kind: "io", message: `Cannot read ${path}: ${describeCause(cause)}.` });
  }
  const value = outsideJsonOr(text, undefined);
  if (isRecord(value)) return ok(value);
  // Not treated as missing: the user may have paused the curator in this file.
  return err({ kind: "io", message: `${path} is damaged. Repair the JSON, or delete the file.` });
}

function toState(fields: Fields): CuratorState {
  const text = (name: string): string | null => (typeof fields[name] === "string" ? fields[name] : null);
  const number = (name: string): number | null =>
    typeof fields[name] === "number" && Number.isFinite(fields[name]) ? fields[name] : null;
  const proposed: readonly unknown[] = Array.isArray(fields.proposed) ? fields.proposed : [];
  return {
    lastRunAt: text("last_run_at"),
    lastRunDurationSeconds: number("last_run_duration_seconds"),
    lastRunSummary: text("last_run_summary"),
    lastReportPath: text("last_report_path"),
    isPaused: fields.paused === true,
    runCount: number("run_count") ?? 0,
    proposed: proposed.filter((each): each is string => typeof each === "string"),
  };
}

function toFields(state: CuratorState): Fields {
  return {
    last_run_at: state.lastRunAt,
    last_run_duration_seconds: state.lastRunDurationSeconds,
    last_run_summary: state.lastRunSummary,
    last_report_path: state.lastReportPath,
    paused: state.isPaused,
    run_count: state.runCount,
    proposed: state.proposed.slice(-MOST_PROPOSED),
  };
}
