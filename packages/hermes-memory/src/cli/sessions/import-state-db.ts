// `hermes sessions import --from hermes --path HOME`: the session database of another home or profile.
import { describeCause } from "@hermes-memory/core/internal/lib";
import {
  importStateDatabase,
  isSameFile,
  type StateImported,
  stateDatabaseAt,
} from "@hermes-memory/import/internal";
import {
  type CommandContext,
  CommandFailure,
  type CommandInput,
  type CommandOutcome,
  usageFailure,
} from "../command.ts";
import { counted, printable } from "../printing.ts";
import { filtersOf, importLock, namesOf, pathsOf } from "./import-transcripts.ts";
import { progressDisplay } from "./progress.ts";
import { databasePath, filesOf, openOrMakeSessions, openSessions } from "./session-command.ts";

const SOURCE = "hermes";
const LISTED = 20;

/** The databases among the paths of `--from hermes`; none when its own JSON files are meant. */
export async function databasesOf(input: CommandInput, context: CommandContext): Promise<string[]> {
  if (!namesOf(input).includes(SOURCE)) return [];
  const paths = await pathsOf(input, context);
  const found = await Promise.all(paths.map((path) => stateDatabaseAt(path)));
  const databases = found.filter((path) => path !== undefined);
  if (databases.length > 0 && (databases.length < paths.length || namesOf(input).length > 1))
    throw usageFailure("Databases of Hermes and other files are imported one after the other.", {
      hint: `First: hermes sessions import --from hermes --path ${printable(databases[0] ?? "")}`,
    });
  return databases;
}

export async function importDatabases(
  paths: readonly string[],
  input: CommandInput,
  context: CommandContext,
): Promise<CommandOutcome> {
  if (input.flags.watch === true)
    throw usageFailure("A database cannot be watched.", { hint: "Repeat the command: it adds what is new." });
  for (const path of paths) await refuseOwn(path, context);
  const isDry = input.flags["dry-run"] === true;
  using _lock = isDry ? undefined : await importLock(context);
  const target = isDry ? await openSessions(context, "read") : await openOrMakeSessions(context);
  const { since, until, project, limit } = filtersOf(input);
  const progress = progressDisplay(context.io, { isVerbose: input.flags.verbose === true });
  const done: { readonly path: string; readonly imported: StateImported }[] = [];
  await context.io.untilInterrupted(async (signal) => {
    for (const path of paths) {
      if (signal.aborted) return;
      const imported = await importStateDatabase(path, {
        target,
        isDry,
        resultsDir: filesOf(context).resultsDir,
        since,
        until,
        isWanted: project?.has,
        limit,
        signal,
        onProgress: (read, total) => progress.show({ step: "importing sessions", done: read, total }),
      })
        .catch((cause: unknown) => {
          throw failureOf(path, cause);
        })
        .finally(progress.clear);
      done.push({ path, imported });
    }
  });
  return reported(done, isDry);
}

async function refuseOwn(path: string, context: CommandContext): Promise<void> {
  if (!(await isSameFile(path, databasePath(context)))) return;
  throw new CommandFailure(`${printable(path)} is the session database of this home itself.`, {
    hint: "Name another home, or the profile to import into: hermes -p NAME sessions import ...",
    details: { kind: "same-database" },
  });
}

function failureOf(path: string, cause: unknown): CommandFailure {
  return new CommandFailure(
    `Cannot import ${printable(path)}: ${printable(describeCause(cause)).replace(/\.$/, "")}.`,
    {
      hint: "Sessions that were imported before stay; the same command goes on from there.",
      details: { kind: "unreadable", path },
    },
  );
}

function reported(
  done: readonly { readonly path: string; readonly imported: StateImported }[],
  isDry: boolean,
): CommandOutcome {
  const isStopped = done.some(({ imported }) => imported.isStopped);
  return {
    json: {
      success: !isStopped,
      ...(isDry ? { dry_run: true } : {}),
      ...(isStopped ? { kind: "interrupted" } : {}),
      databases: done.map(({ path, imported: one }) => ({
        path,
        sessions_read: one.sessionsRead,
        imported: one.imported,
        messages: one.messages,
        extended: one.extended,
        skipped: one.skipped,
        renamed: one.renamed,
        results_copied: one.resultsCopied,
        changed_meanwhile: one.hasChanged,
      })),
    },
    lines: [
      ...done.flatMap(({ path, imported }) => linesOf(path, imported)),
      ...(isDry ? ["Nothing was written (--dry-run)."] : []),
    ],
    notes: [
      ...done.flatMap(({ path, imported }) =>
        imported.hasChanged
          ? [`${printable(path)} was written to meanwhile. The same command imports what is new.`]
          : [],
      ),
      ...(isStopped ? ["Stopped. The same command goes on where this stopped."] : []),
    ],
    exitCode: isStopped ? 130 : 0,
  };
}

function linesOf(
  path: string,
  { imported, messages, extended, skipped, renamed, resultsCopied }: StateImported,
): string[] {
  const parts = [
    `${counted(imported, "new session")} with ${counted(messages, "message")}`,
    ...(extended.sessions > 0
      ? [`${counted(extended.messages, "new message")} in ${counted(extended.sessions, "known session")}`]
      : []),
    ...(extended.unchanged > 0 ? [`${extended.unchanged} unchanged`] : []),
    ...(resultsCopied > 0 ? [counted(resultsCopied, "long tool result")] : []),
  ];
  return [
    `${printable(path)}: ${parts.join(", ")}.`,
    ...(skipped.length > 0 ? [`  Left alone: ${counted(skipped.length, "session")}`] : []),
    ...listed(skipped.map(({ id, reason }) => `${id}  ${reason}`)),
    ...(renamed.length > 0 ? ["  Renamed, because the title was taken or too long:"] : []),
    ...listed(renamed.map(({ id, title }) => `${id}  ${title ?? "(no title)"}`)),
  ];
}

function listed(lines: readonly string[]): string[] {
  const rest = lines.length - LISTED;
  return [
    ...lines.slice(0, LISTED).map((line) => `    ${printable(line).replaceAll("\n", " ")}`),
    ...(rest > 0 ? [`    and ${rest} more`] : []),
  ];
}
