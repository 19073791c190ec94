// repair: the file first, without opening it as a store; then what a store can see and do.
import { describeCause } from "../../lib/index.ts";
import { type RepairReport, repairDatabase } from "../../sessions/index.ts";
import { type CommandBody, type CommandContext, CommandFailure, type CommandOutcome } from "../command.ts";
import { counted, printable } from "../printing.ts";
import { databasePath, noDatabaseNote, openExisting } from "./open-store.ts";

export const repair: CommandBody = async (input, context) => {
  const isLookOnly = input.flags["check-only"] === true;
  const isHiding = input.flags["hide-orphans"] === true;
  if (isLookOnly && isHiding)
    throw new CommandFailure("Give either --check-only or --hide-orphans: the first changes nothing.", {
      exitCode: 2,
    });
  if (isLookOnly) return check(context);
  const report = await repairDatabase(databasePath(context), { backup: input.flags["no-backup"] !== true });
  if (!report.repaired) throw notRepaired(report, context);
  await using store = await openExisting(context, "write"); // builds an index that had to go
  const health = (await store?.checkHealth()) ?? { ok: true, problems: [] };
  const hidden = isHiding && store ? await store.hideOrphanedDelegates() : undefined;
  const count = (await store?.sessionCount({ includeArchived: true })) ?? 0;
  return {
    json: {
      success: health.ok,
      ...report,
      sessions: count,
      problems: health.problems,
      ...(hidden === undefined ? {} : { hidden }),
    },
    lines: [
      ...(report.backup_path === null ? [] : [`Backup: ${printable(report.backup_path)}`]),
      ...(report.backup_path === null && report.healthy ? [] : [`Strategy: ${report.strategy}`]),
      ...(health.ok
        ? [`The database is sound: ${counted(count, "session")}.`]
        : problemLines(health.problems)),
      ...(hidden === undefined ? [] : [`Hidden as runs of subagents: ${counted(hidden, "session")}.`]),
    ],
    exitCode: health.ok ? 0 : 1,
  };
};

async function check(context: CommandContext): Promise<CommandOutcome> {
  const report = await repairDatabase(databasePath(context), { checkOnly: true });
  const problems = report.error === null ? [...(await problemsSeen(context))] : [report.error];
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

/** A file that cannot even be opened is what this command looks for, so it is a finding and no failure. */
async function problemsSeen(context: CommandContext): Promise<readonly string[]> {
  try {
    await using store = await openExisting(context, "read");
    return store ? (await store.checkHealth()).problems : [];
  } catch (cause) {
    return [describeCause(cause)];
  }
}

function problemLines(problems: readonly string[]): string[] {
  return [`${counted(problems.length, "problem")}:`, ...problems.map((problem) => `  ${printable(problem)}`)];
}

function countOf({ sessions }: RepairReport): object {
  return sessions === undefined ? {} : { sessions };
}

function notRepaired(report: RepairReport, context: CommandContext): CommandFailure {
  const { error, ...others } = report;
  const { backup_path } = others;
  const isMissing = error?.endsWith("does not exist") ?? false;
  const kept = backup_path === null ? "" : ` The file as it was: ${printable(backup_path)}.`;
  const message = printable(error ?? "The database could not be repaired").replace(/\.?$/, ".");
  return new CommandFailure(`${message}${kept}`, {
    hint: isMissing
      ? noDatabaseNote(context)
      : "Move the file away to start with an empty database; 'hermes sessions import FILE' brings exports back.",
    details: { kind: isMissing ? "missing" : "not-repaired", ...others },
  });
}
