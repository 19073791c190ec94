// `hermes claw cleanup`: renames OpenClaw folders that were migrated, after a question for each.
import { basename } from "node:path";
import { isDirectory } from "@hermes-memory/core/internal/lib";
import {
  describeLeftover,
  type Leftover,
  openClawProcesses,
  renameLeftover,
  sourceFolder,
  stateFolders,
  systemProcesses,
} from "@hermes-memory/import/internal";
import { type CommandBody, type CommandContext, CommandFailure, type CommandInput } from "../command.ts";
import { userHome } from "../mcp/clients.ts";
import { printable } from "../printing.ts";
import { textFlag } from "../sessions/session-command.ts";
import { shownPath } from "./migrate.ts";

type Outcome = "renamed" | "would-rename" | "kept" | "not-migrated" | "failed";
type Row = {
  readonly folder: string;
  readonly renamed_to: string;
  readonly outcome: Outcome;
  readonly problem?: string;
};

export const cleanup: CommandBody = async (input, context) => {
  const { io, home, memory } = context;
  const surroundings = { env: io.env, userHome: userHome(io.env) };
  const asked = textFlag(input, "source");
  const given = asked === undefined ? undefined : sourceFolder(asked, surroundings);
  if (given !== undefined && !isDirectory(given))
    throw new CommandFailure(`There is no folder at ${given}.`, {
      details: { kind: "no-source", path: given },
    });
  const folders = given === undefined ? stateFolders(surroundings) : [given];
  if (folders.length === 0)
    return { json: { folders: [] }, lines: ["There is no OpenClaw folder to clean up."] };
  const blocked = await blockedByProcess(input, context);
  if (blocked !== undefined) return { json: { folders: [], blocked }, lines: [blocked], exitCode: 3 };
  const rows: Row[] = [];
  for (const folder of folders) {
    const leftover = describeLeftover(folder, home.home, memory.clock.now());
    if (leftover.hasUnimportedSessions)
      io.note(
        `${shownPath(folder, surroundings.userHome)} has conversations that no migration imported: 'hermes sessions import --from openclaw' does.\n`,
      );
    rows.push(await cleaned(leftover, input, context));
  }
  const isStopped = rows.some(({ outcome }) => outcome === "not-migrated" || outcome === "kept");
  return {
    json: { folders: rows },
    exitCode: rows.some(({ outcome }) => outcome === "failed") ? 1 : isStopped ? 3 : 0,
  };
};

/** A running OpenClaw would make an empty folder of the old name. */
async function blockedByProcess(
  { flags }: CommandInput,
  { io }: CommandContext,
): Promise<string | undefined> {
  if (flags.yes === true || flags["dry-run"] === true) return undefined;
  const running = await openClawProcesses(systemProcesses);
  if (running.length === 0) return undefined;
  const what = `OpenClaw is running (${running.map(printable).join("; ")}) and would make a new, empty folder.`;
  io.note(`${io.paint("yellow", "warning:")} ${what}\n`);
  if (io.isInteractive && (await io.confirm("Go on anyway?", { short: true }))) return undefined;
  return `${what} Stop it first. Nothing was renamed.`;
}

async function cleaned(leftover: Leftover, { flags }: CommandInput, { io }: CommandContext): Promise<Row> {
  const row = { folder: leftover.folder, renamed_to: leftover.renamedTo };
  if (!leftover.isMigrated && flags.force !== true)
    return {
      ...row,
      outcome: "not-migrated",
      problem: "no migration of it has ended without errors; run 'hermes claw migrate', or pass --force",
    };
  if (flags["dry-run"] === true) return { ...row, outcome: "would-rename" };
  if (flags.yes !== true) {
    if (!io.isInteractive)
      return { ...row, outcome: "kept", problem: "there is no terminal to ask at; pass --yes" };
    const question = `Rename ${basename(leftover.folder)} to ${basename(leftover.renamedTo)}? OpenClaw stops working.`;
    if (!(await io.confirm(question, { short: true })))
      return { ...row, outcome: "kept", problem: "you declined" };
  }
  const problem = renameLeftover(leftover);
  return problem === undefined ? { ...row, outcome: "renamed" } : { ...row, outcome: "failed", problem };
}
