// repair: the file first, without opening it as a store; then what a store can see and do.
import { describeLoss, type RepairReport, repairDatabase } from "@hermes-memory/core/sessions";
import { type CommandBody, type CommandContext, CommandFailure, type CommandOutcome } from "../command.ts";
import { counted, printable } from "../printing.ts";
import { databasePath, noDatabaseNote, openSessions } from "./open-store.ts";

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
  const store = await openSessions(context, "write"); // builds an index that had to go
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
      ...(hidden === undefined ? {} : { hidden }),
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
    json: { success: isSound, path: databasePath(context), problems, ...countOf(report) },
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

/** What a salvage could not save, and what it had to make up. */
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

function countOf({ sessions }: RepairReport): object {
  return sessions === undefined ? {} : { sessions };
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
