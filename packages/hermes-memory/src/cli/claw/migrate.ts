// `hermes claw migrate`: plan, preview, question, snapshot, apply, report. Nothing is written before the user agreed.
import { existsSync, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { committedWrites, type MemoryOpOutcome } from "@hermes-memory/core/internal/curated";
import { memoriesDirectory } from "@hermes-memory/core/internal/home";
import { err, holdFileLock, isDirectory, ok } from "@hermes-memory/core/internal/lib";
import {
  applyPlan,
  connectedPlatforms,
  DEFAULT_PREPARE,
  dryTarget,
  expanded,
  hasConflict,
  type ImportSessions,
  type Item,
  importTranscripts,
  lookInto,
  type MigrationRequest,
  openClawProcesses,
  openclaw,
  type Plan,
  planMigration,
  type Report,
  reportOf,
  type Status,
  selectOptions,
  snapshotHome,
  sourceFolder,
  storeTarget,
  systemProcesses,
  writeReport,
} from "@hermes-memory/import/internal";
import {
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandInput,
  type CommandOutcome,
  type Paint,
  usageFailure,
} from "../command.ts";
import { userHome } from "../mcp/clients.ts";
import { mirrorToProvider } from "../memory/memory-command.ts";
import { counted, printable } from "../printing.ts";
import { render } from "../render.ts";
import { holdImportLock } from "../sessions/import.ts";
import { placeOf } from "../sessions/import-sources.ts";
import { databasePath, listFlag, openOrMakeSessions, textFlag } from "../sessions/session-command.ts";

const REFUSED = 3;

export const migrate: CommandBody = async (input, context) => {
  const { io, memory, isJson } = context;
  const surroundings = { env: io.env, userHome: userHome(io.env) };
  const request = await requestOf(input, context, surroundings);
  if (!isDirectory(request.sourceRoot))
    throw new CommandFailure(`There is no OpenClaw folder at ${request.sourceRoot}.`, {
      hint: "Pass the folder with --source. Nothing was written.",
      details: { kind: "no-source", path: request.sourceRoot },
    });
  if (!isJson) io.note(`${settingsLines(request, surroundings.userHome, io.paint).join("\n")}\n\n`);
  if (!(await goesOnDespiteProcesses(input, context, request.home)))
    return stopped("Cancelled. Nothing was written.", 0);

  const store = await memory.administrator.curatedIn(memoriesDirectory(request.home), { isLoaded: false });
  const importSessions = importOpenClawSessions(context);
  const now = memory.clock.now();
  const plan = await planMigration(request, {
    ...surroundings,
    store,
    config: await memory.config(),
    importSessions,
    now,
  });
  if (request.agent !== undefined && plan.source.workspaces.length === 0)
    throw usageFailure(`The agent '${request.agent}' has no workspace in ${request.sourceRoot}.`, {
      hint: `Agents: ${plan.source.agents.join(", ") || "none"}.`,
    });

  const preview = reportOf(
    plan,
    plan.items.map(({ item }) => item),
    { mode: "dry-run", state: "finished", now },
  );
  const show = (report: Report): string[] => reportLines(report, surroundings.userHome, io.paint);
  const ended = await endsWithPreview({ input, context, plan, preview, show });
  if (ended !== undefined) return ended;

  const { report, added, notes } = await applied(plan, { input, context, importSessions });
  const mirrored = await mirrorToProvider(input, context, added.flatMap(committedWrites));
  return {
    json: { ...report, ...mirrored.json },
    lines: show(report),
    notes: [...notes, ...mirrored.notes],
    exitCode: report.summary.error > 0 ? 1 : 0,
  };
};

/** OpenClaw's transcripts, into the session database of the home. */
function importOpenClawSessions(context: CommandContext): ImportSessions {
  return async (paths, { isDryRun }) => {
    const isLocked = isDryRun ? undefined : holdImportLock(context);
    if (isLocked?.ok === false) return err("Skipped: another import into this home is running");
    using _lock = isLocked?.value;
    const path = databasePath(context);
    await using looked = isDryRun && existsSync(path) ? await lookInto(path) : undefined;
    const store = isDryRun ? looked?.store : await openOrMakeSessions(context);
    // Awaited here, because the lock goes when this function returns.
    return await context.io.untilInterrupted(async (signal) => {
      const { sources, isStopped } = await importTranscripts(
        [{ reader: openclaw, paths }],
        {},
        {
          target: isDryRun || store === undefined ? dryTarget(store) : storeTarget(store),
          prepare: DEFAULT_PREPARE,
          place: placeOf(context),
          now: Date.now,
          signal,
        },
      );
      const [report] = sources;
      if (report === undefined || isStopped) return err("Skipped: interrupted");
      return ok({
        files: report.files,
        sessions_added: report.sessionsAdded,
        sessions_updated: report.sessionsUpdated,
        messages_added: report.messagesAdded,
        unchanged: report.unchanged,
        malformed_lines: report.malformedLines,
        errors: report.errors.map(({ path, message }) => `${path}: ${message}`),
      });
    });
  };
}

// ---- The request ----

async function requestOf(
  input: CommandInput,
  { home, memory }: CommandContext,
  surroundings: { readonly env: CommandContext["io"]["env"]; readonly userHome: string },
): Promise<MigrationRequest> {
  const text = (name: string): string | undefined => textFlag(input, name) || undefined;
  const path = (name: string): string | undefined => {
    const given = text(name);
    return given === undefined ? undefined : resolve(expanded(given, surroundings.userHome));
  };
  const { flags } = input;
  const include = listFlag(input, "include");
  const given = text("preset") as "full" | "user-data" | undefined; // the parser refuses other words
  const preset = given ?? (include.length === 0 ? "full" : undefined);
  const selection = selectOptions({ preset, include, exclude: listFlag(input, "exclude") });
  if (!selection.ok) throw usageFailure(selection.error);
  const { raw } = await memory.config();
  const configured = (raw.migration as { markdown_parser?: unknown } | undefined)?.markdown_parser;
  return {
    sourceRoot: sourceFolder(text("source"), surroundings),
    home: home.home,
    selection: selection.value,
    isOverwriting: flags.overwrite === true,
    withSecrets: flags["migrate-secrets"] === true,
    skillConflict: (text("skill-conflict") as MigrationRequest["skillConflict"] | undefined) ?? "skip", // the parser refuses other words
    isRebranding: flags["no-rebrand"] !== true,
    parser: (text("parser") ?? configured) === "smart" ? "smart" : "compat",
    workspaceTarget: path("workspace-target"),
    outputDirectory: path("output-dir"),
    agent: text("agent"),
  };
}

function settingsLines(request: MigrationRequest, home: string, paint: Paint): string[] {
  const { skillConflict, workspaceTarget, selection } = request;
  const settings = {
    source: shownPath(request.sourceRoot, home),
    target: shownPath(request.home, home),
    preset: `${selection.preset ?? "none"} (${counted(selection.selected.size, "option")})`,
    overwrite: request.isOverwriting,
    secrets: request.withSecrets ? "into .env" : false,
    skills: skillConflict === "skip" ? undefined : skillConflict,
    workspace_target: workspaceTarget && shownPath(workspaceTarget, home),
  };
  return render(settings, paint);
}

// ---- Questions ----

/** A bot's token allows one connection, so a running OpenClaw or gateway deserves a question. */
async function goesOnDespiteProcesses(
  { flags }: CommandInput,
  { io }: CommandContext,
  home: string,
): Promise<boolean> {
  const warnings: string[] = [];
  const running = await openClawProcesses(systemProcesses);
  if (running.length > 0)
    warnings.push(
      `OpenClaw is running (${running.map(printable).join("; ")}). A bot's token allows one active connection, and OpenClaw may still write to its files. It is better to stop it first.`,
    );
  const platforms = connectedPlatforms(home);
  if (platforms.length > 0)
    warnings.push(
      `The Hermes gateway is connected to ${platforms.map(printable).join(", ")}. It is better to stop it first and to start it again afterwards.`,
    );
  for (const warning of warnings) {
    io.note(`${io.paint("yellow", "warning:")} ${warning}\n`);
    if (flags.yes === true || flags["dry-run"] === true || !io.isInteractive) continue;
    if (!(await io.confirm("Go on anyway?", { short: true }))) return false;
  }
  return true;
}

type Previewed = {
  readonly input: CommandInput;
  readonly context: CommandContext;
  readonly plan: Plan;
  readonly preview: Report;
  readonly show: (report: Report) => string[];
};

/** The outcome when nothing is to be written; undefined when the user agreed. */
async function endsWithPreview({
  input,
  context,
  plan,
  preview,
  show,
}: Previewed): Promise<CommandOutcome | undefined> {
  const { flags } = input;
  const { io, isJson } = context;
  const { error } = preview.summary;
  const conflict = preview.items.filter(hasConflict).length;
  const isEmpty = plan.items.every(({ operation }) => operation === undefined);
  const only = (notes: readonly string[], exitCode: 0 | 1 | 3): CommandOutcome => ({
    json: preview,
    lines: show(preview),
    notes,
    exitCode,
  });
  if (isEmpty && (conflict === 0 || flags["dry-run"] !== true)) {
    const note =
      conflict === 0 ? "Nothing to migrate: everything is already there." : "Only conflicts are left.";
    return only([note], error > 0 ? 1 : conflict > 0 ? REFUSED : 0);
  }
  if (flags["dry-run"] === true) return only(["Dry run: nothing was written."], 0);
  if (conflict > 0 && flags["on-conflict"] === "refuse" && flags.overwrite !== true) {
    const note = `Refused: ${counted(conflict, "item")} would conflict. Nothing was written. --overwrite replaces them, --on-conflict skip leaves them alone.`;
    return only([note], REFUSED);
  }
  if (flags.yes === true) return undefined;
  if (!io.isInteractive)
    return only(["Only a preview: there is no terminal to ask at. Pass --yes to migrate."], REFUSED);
  if (!isJson) io.note(`${show(preview).join("\n")}\n\n`);
  if (await io.confirm("Migrate this?", { short: true })) return undefined;
  return stopped("Cancelled. Nothing was written.", REFUSED);
}

function stopped(line: string, exitCode: 0 | 3): CommandOutcome {
  return { json: { success: false, kind: "cancelled" }, lines: [line], exitCode };
}

// ---- Writing ----

type Running = {
  readonly input: CommandInput;
  readonly context: CommandContext;
  readonly importSessions: ImportSessions;
};

async function applied(
  plan: Plan,
  { input, context, importSessions }: Running,
): Promise<{
  readonly report: Report;
  readonly added: readonly MemoryOpOutcome[];
  readonly notes: readonly string[];
}> {
  const { io, memory } = context;
  const { home } = plan.request;
  const folder = join(home, "migration", "openclaw");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const lock = holdFileLock(join(folder, ".run.lock"));
  if (!lock.ok)
    throw new CommandFailure("Another migration into this home is running.", {
      hint: "Wait until it has ended, then run the command again.",
      details: { kind: "locked" },
    });
  using _held = lock.value;
  const notes: string[] = [];
  const snapshot =
    input.flags["no-backup"] === true ? undefined : await snapshotHome(home, memory.clock.now());
  if (snapshot?.path !== undefined) io.note(`Snapshot of the home: ${printable(snapshot.path)}\n`);
  if (snapshot !== undefined && snapshot.leftOut.length > 0)
    notes.push(
      `warning: ${counted(snapshot.leftOut.length, "file")} could not be read and is not in the snapshot.`,
    );
  const told = { mode: "execute" as const, snapshot: snapshot?.path };
  const planned = plan.items.map(({ item }) => item);
  writeReport(plan, reportOf(plan, planned, { ...told, state: "started", now: memory.clock.now() }));
  const added: MemoryOpOutcome[] = [];
  const store = await memory.administrator.curatedIn(memoriesDirectory(home));
  const items = await applyPlan(plan, { store, importSessions, onAdded: (outcome) => added.push(outcome) });
  const report = reportOf(plan, items, { ...told, state: "finished", now: memory.clock.now() });
  writeReport(plan, report);
  return { report, added, notes };
}

// ---- The report as lines ----

/** Options for which OpenClaw has nothing are only counted, in the summary. */
function reportLines(report: Report, userHome: string, paint: Paint): string[] {
  const groups = Map.groupBy(
    report.items.filter(({ status, source }) => status !== "skipped" || source !== null),
    ({ status }) => (report.mode === "dry-run" && ENDED.has(status) ? `would be ${status}` : status),
  );
  const rows = [...groups].map(([title, items]) => [title, items.map((item) => itemRow(item, userHome))]);
  const { summary, warnings, next_steps, output_dir } = report;
  const rest = { summary, warnings, report: output_dir && shownPath(output_dir, userHome), next_steps };
  return render({ ...Object.fromEntries(rows), ...rest }, paint);
}

const ENDED: ReadonlySet<Status> = new Set(["migrated", "archived"]);

/** Numbers that are zero, empty lists and the longest texts are left to `--json`. */
function itemRow({ kind, source, destination, reason, details, status }: Item, userHome: string): object {
  const paths = [source, status === "skipped" ? null : destination].filter((path) => path !== null);
  const facts = Object.entries(details).flatMap(([name, value]) => {
    const text = [value ?? 0].flat().join(", ");
    const isTold = !["", "0", "false"].includes(text) && !/preview|limit|count|backup|file$/.test(name);
    return isTold ? `${name.replaceAll("_", " ")} ${text}` : [];
  });
  const about = [...(reason.startsWith("Would ") ? [] : [reason]), ...facts].filter((text) => text !== "");
  return { kind, path: paths.map((path) => shownPath(path, userHome)).join(" -> "), about: about.join("; ") };
}

/** With `~` for the home folder. */
export function shownPath(path: string, userHome: string): string {
  const isBelow = path === userHome || path.startsWith(`${userHome}/`) || path.startsWith(`${userHome}\\`);
  return printable(isBelow ? `~${path.slice(userHome.length)}` : path);
}
