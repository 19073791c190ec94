// `hermes sessions repair`, `optimize`, `stats` and `path`: the database file.
import {
  describeLoss,
  type RepairReport,
  repairDatabase,
  type StoreStats,
} from "@hermes-memory/core/internal/sessions";
import { type CommandBody, type CommandContext, CommandFailure, type CommandOutcome } from "../command.ts";
import { counted, printable } from "../printing.ts";
import { progressDisplay } from "./progress.ts";
import { databasePath, noDatabaseNote, openSessions } from "./session-command.ts";
import { flat, megabytes } from "./text-layout.ts";

export const repair: CommandBody = async (input, context) => {
  const isLookOnly = input.flags["check-only"] === true;
  const isHiding = input.flags["hide-orphans"] === true;
  if (isLookOnly && isHiding)
    throw new CommandFailure("Give either --check-only or --hide-orphans: the first changes nothing.", {
      exitCode: 2,
    });
  if (isLookOnly) return check(context);
  const report = await repairDatabase(databasePath(context), {
    backup: input.flags["no-backup"] !== true,
    isAlone: input.flags.alone === true,
  });
  if (!report.repaired) throw notRepaired(report, context);
  const store = await openSessions(context, "write"); // rebuilds the index if the repair dropped it
  const health = (await store?.checkHealth()) ?? { ok: true, problems: [] };
  const hidden = isHiding && store ? await store.hideOrphanedDelegates() : undefined;
  const count = (await store?.sessionCount({ includeArchived: true })) ?? 0;
  const found = report.problems ?? [];
  return {
    json: {
      success: health.ok,
      ...report,
      sessions: count,
      found,
      problems: health.problems,
      hidden,
    },
    lines: [
      ...(found.length === 0 ? [] : problemLines(found)),
      ...(report.backup_path === null ? [] : [`Backup: ${printable(report.backup_path)}`]),
      ...(found.length === 0 ? [] : [`Strategy: ${report.strategy}`]),
      ...lossLines(report),
      ...(health.ok
        ? [`The database is sound: ${counted(count, "session")}.`]
        : ["Still not sound:", ...problemLines(health.problems)]),
      ...(hidden === undefined ? [] : [`Hidden as runs of subagents: ${counted(hidden, "session")}.`]),
    ],
    exitCode: health.ok ? 0 : 1,
  };
};

async function check(context: CommandContext): Promise<CommandOutcome> {
  const report = await repairDatabase(databasePath(context), { checkOnly: true });
  const problems = report.problems ?? (report.error === null ? [] : [report.error]);
  const isSound = problems.length === 0;
  return {
    json: { success: isSound, path: databasePath(context), problems, sessions: report.sessions },
    lines: isSound
      ? [`No problems found: ${counted(report.sessions ?? 0, "session")}.`]
      : problemLines(problems),
    notes: isSound
      ? []
      : ["'hermes sessions repair' keeps a copy of the file and repairs what can be repaired."],
    exitCode: isSound ? 0 : 1,
  };
}

function problemLines(problems: readonly string[]): string[] {
  return [`${counted(problems.length, "problem")}:`, ...problems.map((problem) => `  ${printable(problem)}`)];
}

/** Rows that a salvage lost, and sessions for which it made a new row. */
function lossLines({
  strategy,
  lost = [],
  stand_ins = [],
  left_out = [],
  notes = [],
}: RepairReport): string[] {
  if (strategy !== "salvage") return notes.map(printable);
  return [
    ...(lost.length === 0
      ? ["Every row could be read."]
      : ["Lost:", ...lost.map((loss) => `  ${printable(describeLoss(loss))}`)]),
    ...(stand_ins.length === 0
      ? []
      : [
          `Sessions with a new row, made from what indexes and messages tell: ${printable(someOf(stand_ins))}`,
        ]),
    ...(left_out.length === 0
      ? []
      : [`Search indexes that are built anew: ${printable(left_out.join(", "))}`]),
    ...notes.map(printable),
  ];
}

const SHOWN = 20;

function someOf(names: readonly string[]): string {
  const more = names.length > SHOWN ? ` and ${names.length - SHOWN} more` : "";
  return `${names.slice(0, SHOWN).join(", ")}${more}`;
}

function notRepaired(report: RepairReport, context: CommandContext): CommandFailure {
  const { error, ...others } = report;
  const { backup_path, beside } = others;
  const isMissing = error?.endsWith("does not exist") ?? false;
  const kept = backup_path === null ? "" : ` The file as it was: ${printable(backup_path)}.`;
  const message = printable(error ?? "The database could not be repaired").replace(/\.?$/, ".");
  const losses = lossLines(report).join("\n");
  return new CommandFailure(`${message}${kept}${beside === undefined ? "" : `\n${losses}`}`, {
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
      json: { success: true, exists: false },
      lines: ["Nothing to optimize."],
      notes: [noDatabaseNote(context)],
    };
  const isVacuum = input.flags["no-vacuum"] !== true;
  const progress = progressDisplay(context.io, { isVerbose: input.flags.verbose === true });
  const done = await context.io.untilInterrupted(async (signal) => {
    try {
      const work = { signal, onProgress: progress.show, vacuum: isVacuum };
      const outcome = await store.optimize(work);
      return outcome.finished ? outcome : undefined;
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
      `Database size: ${megabytes(before)} MB -> ${megabytes(after)} MB (reclaimed ${megabytes(reclaimed)} MB)`,
    ],
    notes:
      vacuum === "in-use"
        ? [
            "Another process has the database open, so free space stays in the file. Close it and run this again.",
          ]
        : [],
  };
};

const NOTHING: StoreStats = {
  sessions: 0,
  archived: 0,
  messages: 0,
  oldestStartedAt: null,
  sources: [],
  bytes: 0,
  index: "missing",
};

const INDEXES: Record<StoreStats["index"], string> = {
  ready: "ready",
  building: "being built; 'hermes sessions optimize' finishes it now",
  missing: "none yet; the first command that writes to this file builds it",
};

export const stats: CommandBody = async (_input, context) => {
  const store = await openSessions(context, "read");
  const counts = store ? await store.stats() : NOTHING;
  const { oldestStartedAt: oldest_started_at, ...named } = counts;
  const { sessions, archived, messages, sources, bytes, index } = named;
  return {
    json: { path: databasePath(context), exists: store !== undefined, ...named, oldest_started_at },
    lines: [
      `Total sessions: ${sessions}`,
      ...(archived > 0 ? [`Archived sessions: ${archived}`] : []),
      `Total messages: ${messages}`,
      ...sources.map((each) => `  ${flat(each.source)}: ${each.sessions} sessions`),
      `Database size: ${megabytes(bytes)} MB`,
      ...(store ? [`Search index: ${INDEXES[index]}`] : []),
    ],
    notes: store ? [] : [noDatabaseNote(context)],
  };
};

export const path: CommandBody = (_input, context) => {
  const location = databasePath(context);
  return { json: { path: location }, lines: [location] };
};
