// The planner: reads the OpenClaw folder and the Hermes home and returns everything that a migration would do, in order. Writes
// nothing. The preview prints this list, and `apply.ts` executes exactly this list.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describeCause } from "@hermes-memory/core/internal/lib";
import { openSource, readGenerated } from "./discover.ts";
import { OPTION_IDS, OPTIONS, type OptionId } from "./options.ts";
import {
  planAgentDefaults,
  planModel,
  planProviderKeys,
  planProviders,
  planSecretSettings,
  planSessionConfig,
} from "./plan-config.ts";
import {
  type ArchivedFile,
  archivedCopy,
  archiveItem,
  archiveName,
  findFiles,
  findFolder,
  type MigrationDeps,
  type MigrationRequest,
  type PlanContext,
  type PlannedItem,
  planned,
  toArchive,
} from "./plan-context.ts";
import { planAgentsFile, planDailyMemory, planMemory, planSoul, planUserProfile } from "./plan-memory.ts";
import { planSharedSkills, planWorkspaceSkills } from "./plan-skills.ts";
import { archiveFolders, outputFolder } from "./runs.ts";
import { redactorFor } from "./secrets.ts";

export type Plan = Awaited<ReturnType<typeof planMigration>>;

const PLANNERS: Record<OptionId, (context: PlanContext) => PlannedItem[] | Promise<PlannedItem[]>> = {
  soul: planSoul,
  "workspace-agents": planAgentsFile,
  memory: planMemory,
  "user-profile": planUserProfile,
  "secret-settings": planSecretSettings,
  "provider-keys": planProviderKeys,
  "model-config": planModel,
  skills: planWorkspaceSkills,
  "shared-skills": planSharedSkills,
  "daily-memory": planDailyMemory,
  sessions: planSessions,
  archive: planArchive,
  "agent-config": planAgentDefaults,
  "session-config": planSessionConfig,
  "full-providers": planProviders,
};

export async function planMigration(request: MigrationRequest, deps: MigrationDeps) {
  const source = await openSource(request.sourceRoot, deps, { agent: request.agent });
  const redactor = redactorFor(source);
  const { folder, isContinued } = outputFolder({ ...request, now: deps.now });
  const { store } = deps;
  const context: PlanContext = {
    request,
    deps,
    source,
    redactor,
    output: folder,
    archives: archiveFolders(request.home, folder),
    entries: { memory: store.readEntries("memory"), user: store.readEntries("user") },
    plannedSkills: new Map(),
    isGenerated: await readGenerated(source.root),
  };
  const items: PlannedItem[] = source.problems.map(({ path, reason }) =>
    planned("source", "error", reason, { source: path }),
  );
  if ("$include" in source.config) {
    const reason = "Its parts that are named by $include are not read";
    items.push(planned("source", "skipped", reason, { source: source.configPath }));
  }
  for (const option of OPTION_IDS) items.push(...(await planOption(option, context)));
  return {
    request,
    items,
    /** The folder that applying writes its report, archive and backups to. */
    output: folder,
    /** True when an earlier run of the same source was interrupted; applying continues in its folder. */
    isContinued,
    source,
    redactor,
  };
}

/** An option that fails does not stop the others. */
async function planOption(option: OptionId, context: PlanContext): Promise<PlannedItem[]> {
  if (!context.request.selection.selected.has(option)) {
    const details = { option_label: OPTIONS[option].label };
    return [planned(option, "skipped", "Not selected for this run", { details })];
  }
  try {
    return await PLANNERS[option](context);
  } catch (cause) {
    return [planned(option, "error", describeCause(cause))];
  }
}

/** The transcripts of every agent, one item each. */
async function planSessions({ source, deps }: PlanContext): Promise<PlannedItem[]> {
  const kind = "sessions";
  const items: PlannedItem[] = [];
  for (const agent of source.agents) {
    const path = join(source.root, "agents", agent);
    if (!source.files.isFolderIn(path, source.root)) continue;
    const outcome = await deps.importSessions([path], { isDryRun: true });
    if (!outcome.ok) {
      items.push(planned(kind, "skipped", outcome.error, { source: path, details: { agent } }));
      continue;
    }
    const where = { source: path, details: { agent, ...outcome.value } };
    const { sessions_added: added, sessions_updated: updated, messages_added: messages } = outcome.value;
    const operation = { action: "import-sessions" as const, paths: [path] };
    items.push(
      added + updated + messages === 0
        ? planned(kind, "skipped", "No new messages to import", where)
        : planned(kind, "migrated", "Would import transcripts", { ...where, operation }),
    );
  }
  return items.length > 0 ? items : [planned(kind, "skipped", "No agents/ with transcripts found")];
}

// ---- The archive: the config without credentials, and everything else without a place in Hermes. One item. ----

const DOCUMENTS = [
  ["IDENTITY.md"],
  ["TOOLS.md"],
  ["HEARTBEAT.md"],
  ["BOOTSTRAP.md"],
  ["BOOT.md"],
  ["DREAMS.md", "dreams.md"],
];
const FOLDERS_OF_WORKSPACE = [".learnings", "hooks", "memory", "tts"];
const FOLDERS_OF_STATE = ["cron", "extensions"];
const APPROVALS = "exec-approvals.json";
/** Folders that a tool can make again. */
const REMADE = /(?:^|\/)(?:node_modules|\.git)(?:\/|$)/;
const NOT_COPIED = {
  "raw-config-skip": ["openclaw.json", "credentials/telegram-default-allowFrom.json"],
  "sensitive-skip": ["memory/main.sqlite", "credentials", "devices", "identity", "workspace.zip"],
};

/** A file or folder of OpenClaw, with the names of links in it that were not followed. */
type Part = { readonly name: string; readonly files: readonly ArchivedFile[]; readonly leftOut: string[] };

function planArchive(context: PlanContext): PlannedItem[] {
  const { source } = context;
  const { root } = source;
  const documents = DOCUMENTS.flatMap((names) => findFiles(context, names).slice(0, 1));
  const folders = FOLDERS_OF_WORKSPACE.flatMap((name) => findFolder(context, name) ?? []);
  const parts = [
    ...(Object.keys(source.config).length > 0 ? [configPart(context)] : []),
    ...(existsSync(join(root, APPROVALS)) ? [filePart(context, join(root, APPROVALS), root)] : []),
    ...FOLDERS_OF_STATE.map((name) => folderPart(context, join(root, name), root)),
    ...documents.map(({ path, workspace }) => filePart(context, path, workspace.path)),
    ...folders.map(({ path, workspace }) => folderPart(context, path, workspace.path)),
  ].filter(({ files }) => files.length > 0);
  const left = Object.entries(NOT_COPIED).flatMap(([kind, names]) =>
    names
      .map((name) => join(root, name))
      .filter((path) => existsSync(path))
      .map((path): PlannedItem => planned(kind, "skipped", NOT_COPIED_REASON, { source: path })),
  );
  if (parts.length === 0) return [planned("archive", "skipped", "OpenClaw has nothing else"), ...left];
  const links = parts.flatMap(({ leftOut }) => leftOut).slice(0, 20);
  const details = {
    parts: parts.map(({ name }) => name),
    ...(links.length > 0 ? { links_not_followed: links } : {}),
  };
  const files = parts.flatMap((part) => part.files);
  return [archiveItem(context, "archive", { source: root, name: "", files, details }), ...left];
}

const NOT_COPIED_REASON = "It may hold credentials and is never copied as it is";

/** Two spaces, final newline, without credentials and comments. */
function configPart({ source, redactor }: PlanContext): Part {
  const name = "openclaw.json";
  const text = `${JSON.stringify(redactor.json(source.config), null, 2)}\n`;
  return { name, files: [{ name, content: () => Buffer.from(text) }], leftOut: [] };
}

function filePart(context: PlanContext, path: string, bound: string): Part {
  return { ...toArchive(context, path, bound), leftOut: [] };
}

function folderPart(context: PlanContext, path: string, bound: string): Part {
  const { files, leftOut } = context.source.files.tree(path, bound, (file) => !REMADE.test(file));
  const name = archiveName(context, path);
  const copies = files.map((file) => archivedCopy(context, file, path, `${name}/${file.name}`));
  return { name, files: copies, leftOut: leftOut.map((each) => `${name}/${each}`) };
}
