// `hermes sessions repair`, `optimize`, `stats` and `path`: the database file.
import {
  describeLoss,
  type RepairReport,
  repairDatabase,
  type StoreStats,
} from "@hermes-memory/core/internal/sessions";
import {
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandOutcome,
  usageFailure,
} from "../command.ts";
import { counted, printable, sizeText } from "../printing.ts";
import { render } from "../render.ts";
import { progressDisplay } from "./progress.ts";
import { databasePath, noDatabaseNote, openSessions } from "./session-command.ts";

export const repair: CommandBody = async (input, context) => {
  const isLookOnly = input.flags["check-only"] === true;
  const isHiding = input.flags["hide-orphans"] === true;
  if (isLookOnly && isHiding)
    throw usageFailure("Give either --check-only or --hide-orphans: the first changes nothing.");
  if (isLookOnly) return check(context);
  const report = await repairDatabase(databasePath(context), {
    backup: input.flags["no-backup"] !== true,
    isAlone: input.flags.alone === true,
  });
  if (!report.repaired) throw notRepaired(report, context);
  const store = await openSessions(context, "write"); // rebuilds the index if the repair dropped it
  const health = (await store?.file?.checkHealth()) ?? { ok: true, problems: [] };
  const hidden = isHiding && store ? await store.file?.hideOrphanedDelegates() : undefined;
  const count = (await store?.sessionCount({ includeArchived: true })) ?? 0;
  const { problems: found = [], strategy } = report;
  return {
    json: { success: health.ok, ...report, sessions: count, found, problems: health.problems, hidden },
    shown: {
      message: health.ok ? `The database is sound: ${counted(count, "session")}.` : "Still not sound.",
      found,
      strategy: found.length === 0 ? undefined : strategy,
      ...reportOf(report),
      problems: health.problems,
      hidden_as_runs_of_subagents: hidden,
    },
    exitCode: health.ok ? 0 : 1,
  };
};

async function check(context: CommandContext): Promise<CommandOutcome> {
  const report = await repairDatabase(databasePath(context), { checkOnly: true });
  const problems = report.problems ?? (report.error === null ? [] : [report.error]);
  const isSound = problems.length === 0;
  return {
    json: { success: isSound, path: databasePath(context), problems, sessions: report.sessions },
    lines: isSound ? [`No problems found: ${counted(report.sessions ?? 0, "session")}.`] : undefined,
    notes: isSound
      ? []
      : ["'hermes sessions repair' keeps a copy of the file and repairs what can be repaired."],
    exitCode: isSound ? 0 : 1,
  };
}

/** What a repair left behind and lost, for a person. */
function reportOf({ backup_path, strategy, lost = [], ...report }: RepairReport): object {
  const { stand_ins, left_out, notes } = report;
  return {
    backup: backup_path,
    lost:
      strategy === "salvage" && lost.length === 0
        ? "nothing: every row could be read"
        : lost.map(describeLoss),
    sessions_with_a_new_row: stand_ins,
    indexes_that_are_built_anew: left_out,
    notes,
  };
}

function notRepaired(report: RepairReport, context: CommandContext): CommandFailure {
  const { error, ...others } = report;
  const { backup_path, beside } = others;
  const isMissing = error?.endsWith("does not exist") ?? false;
  const kept = backup_path === null ? "" : ` The file as it was: ${printable(backup_path)}.`;
  const message = printable(error ?? "The database could not be repaired").replace(/\.?$/, ".");
  const losses = beside === undefined ? [] : render(reportOf(report), (_style, text) => text);
  return new CommandFailure([`${message}${kept}`, ...losses].join("\n"), {
    hint: isMissing
      ? noDatabaseNote(context)
      : "'hermes sessions export FILE' writes every conversation that can be read, and 'hermes sessions import FILE' brings them into a new database.",
    details: {
      kind: isMissing ? "missing" : beside === undefined ? "not-repaired" : "not-replaced",
      ...others,
    },
  });
}

export const optimize: CommandBody = async (input, context) => {
  const store = await openSessions(context, "write");
  if (!store)
    return {
      json: { success: true, message: "Nothing to optimize.", exists: false },
      notes: [noDatabaseNote(context)],
    };
  const isVacuum = input.flags["no-vacuum"] !== true;
  const progress = progressDisplay(context.io, { isVerbose: input.flags.verbose === true });
  const done = await context.io.untilInterrupted(async (signal) => {
    try {
      const work = { signal, onProgress: progress.show, vacuum: isVacuum };
      const outcome = await store.file?.optimize(work);
      return outcome?.finished ? outcome : undefined;
    } finally {
      progress.clear();
    }
  });
  if (done === undefined) {
    return {
      json: { success: false, kind: "interrupted" },
      lines: [],
      notes: ["Stopped. The next 'hermes sessions optimize' goes on where this one stopped."],
      exitCode: 130,
    };
  }
  const { bytesBefore: before, bytesAfter: after, vacuum } = done;
  const reclaimed = Math.max(0, before - after);
  const sizes = { bytes_before: before, bytes_after: after, bytes_reclaimed: reclaimed };
  return {
    json: { success: true, indexes: 1, vacuum, ...sizes },
    lines: [
      "Optimized the search index.",
      `Database size: ${sizeText(before)} -> ${sizeText(after)} (reclaimed ${sizeText(reclaimed)})`,
    ],
    notes:
      vacuum === "in-use"
        ? [
            "Another process has the database open, so free space stays in the file. Close it and run this again.",
          ]
        : [],
  };
};

export const stats: CommandBody = async (_input, context) => {
  const store = await openSessions(context, "read");
  const { oldestStartedAt: oldest_started_at, ...counts } = (await store?.stats()) ?? NOTHING;
  return {
    json: { path: databasePath(context), exists: store !== undefined, ...counts, oldest_started_at },
    notes: store ? [] : [noDatabaseNote(context)],
  };
};

const NOTHING: StoreStats = {
  ...{ sessions: 0, archived: 0, messages: 0, bytes: 0 },
  ...{ oldestStartedAt: null, sources: [], index: "missing" },
};

export const path: CommandBody = (_input, context) => ({ json: { path: databasePath(context) } });
