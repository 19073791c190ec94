// Finds the OpenClaw folder of a user and reads what the planner starts from: the config, `.env`, and where the workspaces are.
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { basename, isAbsolute, join, resolve } from "node:path";
import { parseEnv } from "node:util";
import {
  describeCause,
  isDirectory,
  isRecord,
  isWithin,
  outsideJsonProblem,
} from "@hermes-memory/core/internal/lib";
import JSON5 from "json5";
import { STATE_FOLDERS } from "../transcripts/formats/openclaw.ts";
import { openSource as openDatabase } from "../transcripts/kit/sqlite-source.ts";
import { type Json, jsonOf, listOf, recordOf, textOf } from "../transcripts/kit/values.ts";
import { distinct, foldersAt, namesOf, realpathOf, SourceFiles } from "./source-files.ts";

export type Surroundings = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
};

const CONFIG_FILES = ["openclaw.json", "clawdbot.json", "moltbot.json", "moldbot.json"];
const FIRST_WORKSPACES = ["workspace", "workspace-main", "workspace-assistant"];
const NOTES = ["MEMORY.md", "USER.md", "SOUL.md", "AGENTS.md", "memory", "skills"];
/** The only workspace that is not searched for folders such as `memory/` and `skills/`. */
const FILES_ONLY_WORKSPACE = "workspace.default";

export type OpenClawSource = Awaited<ReturnType<typeof openSource>>;

export type Workspace = { readonly path: string; readonly hasFolders: boolean; readonly agent?: string };

/** The folder to migrate from; it need not exist. */
export function sourceFolder(given: string | undefined, { env, userHome }: Surroundings): string {
  if (given !== undefined) return resolve(expanded(given, userHome));
  const override = env.OPENCLAW_STATE_DIR || env.CLAWDBOT_STATE_DIR;
  if (override) return resolve(expanded(override, userHome));
  const home = openClawHome({ env, userHome });
  const found = STATE_FOLDERS.map((name) => join(home, name)).find(isDirectory);
  return found ?? join(home, ".openclaw");
}

/** Every state folder that exists; for the cleanup. */
export function stateFolders(surroundings: Surroundings): string[] {
  return STATE_FOLDERS.map((name) => join(openClawHome(surroundings), name)).filter(isDirectory);
}

/** One OpenClaw folder, opened for reading. */
export async function openSource(
  root: string,
  surroundings: Surroundings,
  options: { readonly agent?: string } = {},
) {
  const files = new SourceFiles(root);
  const { config, configPath, problems: configProblems } = readConfig(root, files, surroundings);
  const envText = files.readCredentials(join(root, ".env"));
  const agents = agentIds(root, config);
  const { profiles, problems } = await readProfiles(root, files, agents);
  return {
    root,
    files,
    config,
    configPath,
    /** Why a config file or a database could not be used. */
    problems: [...configProblems, ...problems],
    /** Variables of `.env`. Secrets: never printed. */
    env: new Map(Object.entries(parseEnv((envText.ok && envText.value) || "")) as [string, string][]),
    /** In the order in which they are searched. */
    workspaces: workspacesOf(root, config, agents, { ...surroundings, ...options }),
    /** Ids of agents, from the config and from the folder `agents`. */
    agents,
    /** Keys by name, `vendor:name`, of the agent `main` first. Secrets: never printed. */
    profiles,
  };
}

type Problem = { readonly path: string; readonly reason: string };

/** Rows of one of OpenClaw's databases; none where there is no such file or, in an older layout, no such table. */
async function rowsOf(root: string, path: string, table: string, sql: string): Promise<Json[]> {
  const real = realpathOf(path);
  if (real === undefined || !isWithin(realpathOf(root) ?? root, real)) return [];
  using database = await openDatabase(real, { signal: new AbortController().signal });
  return database.hasTable(table) ? database.all(sql) : [];
}

function openClawHome({ env, userHome }: Surroundings): string {
  return env.OPENCLAW_HOME ? resolve(expanded(env.OPENCLAW_HOME, userHome)) : userHome;
}

export function expanded(path: string, userHome: string): string {
  if (path === "~") return userHome;
  return /^~[/\\]/.test(path) ? join(userHome, path.slice(2)) : path;
}

// ---- Config and .env ----

function readConfig(
  root: string,
  files: SourceFiles,
  { env, userHome }: Surroundings,
): { readonly config: Json; readonly configPath: string | undefined; readonly problems: Problem[] } {
  const override = env.OPENCLAW_CONFIG_PATH || env.CLAWDBOT_CONFIG_PATH;
  const candidates = CONFIG_FILES.map((name) => join(root, name));
  if (override) candidates.unshift(resolve(expanded(override, userHome)));
  const problems: Problem[] = [];
  for (const path of candidates) {
    const text = files.readText(path, override && path === candidates[0] ? resolve(path, "..") : root);
    if (text.ok && text.value === undefined) continue;
    const parsed = text.ok ? parsedConfig(text.value ?? "") : { reason: text.error };
    if ("config" in parsed) return { config: parsed.config, configPath: path, problems };
    problems.push({ path, reason: parsed.reason });
  }
  return { config: {}, configPath: undefined, problems };
}

function parsedConfig(text: string): { readonly config: Json } | { readonly reason: string } {
  try {
    const config = recordOf(JSON5.parse(text));
    if (outsideJsonProblem(config) !== undefined) return { reason: "It has too many levels" };
    return config === undefined ? { reason: "It holds no object" } : { config };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.replace(/^JSON5: /, "") : "unknown";
    return { reason: `It is not JSON5: ${why}` };
  }
}

// ---- Agents, their keys and their workspaces ----

/** An agent has profiles of its own, in a database or in the file of older versions, and uses those that all agents share. */
async function readProfiles(root: string, files: SourceFiles, agents: readonly string[]) {
  const problems: Problem[] = [];
  const profiles: [string, Json][] = [];
  const add = (text: unknown): void => {
    const parsed = recordOf(jsonOf(textOf(text)));
    for (const [name, profile] of Object.entries(recordOf(parsed?.profiles) ?? parsed ?? {}))
      if (isRecord(profile)) profiles.push([name, profile]);
  };
  const addRows = async (path: string, table: string, sql: string): Promise<void> => {
    try {
      for (const { json } of await rowsOf(root, path, table, sql)) add(json);
    } catch (cause) {
      problems.push({ path, reason: describeCause(cause) });
    }
  };
  const addAgent = async (agent: string): Promise<void> => {
    const folder = join(root, "agents", agent, "agent");
    const own = "SELECT store_json AS json FROM auth_profile_store";
    await addRows(join(folder, "openclaw-agent.sqlite"), "auth_profile_store", own);
    const text = files.readCredentials(join(folder, "auth-profiles.json"));
    if (text.ok) add(text.value);
  };
  await addAgent("main");
  const shared = "SELECT value_json AS json FROM config_machine_state WHERE state_key = 'authProfiles.store'";
  await addRows(join(root, "state", "openclaw.sqlite"), "config_machine_state", shared);
  for (const agent of agents) if (agent !== "main") await addAgent(agent);
  return { profiles, problems };
}

function agentIds(root: string, config: Json): string[] {
  const listed = agentList(config).flatMap(({ id }) => textOf(id) ?? []);
  return [...new Set([...listed, ...foldersAt(join(root, "agents")).map((path) => basename(path))])];
}

/** From `agents.list`, or from `agents.entries` of newer versions, where the id is the key. */
function agentList(config: Json): Json[] {
  const { list, entries } = recordOf(config.agents) ?? {};
  const named = Object.entries(recordOf(entries) ?? {});
  return [...listOf(list), ...named.map(([id, entry]) => ({ ...recordOf(entry), id }))].filter(isRecord);
}

/** With `agent`, only the workspace of that agent. */
function workspacesOf(
  root: string,
  config: Json,
  agents: readonly string[],
  { userHome, agent }: Pick<Surroundings, "userHome"> & { readonly agent?: string },
): Workspace[] {
  const inRoot = (name: string): Workspace => {
    const id = name.startsWith("workspace-") ? name.slice("workspace-".length) : undefined;
    return { path: join(root, name), hasFolders: name !== FILES_ONLY_WORKSPACE, agent: id };
  };
  const custom = (value: unknown, id?: string): Workspace[] => {
    const given = textOf(value);
    if (given === undefined) return [];
    const path = resolve(isAbsolute(given) ? given : expanded(given, userHome));
    const holdsRoot = isWithin(path, realpathOf(root) ?? root); // not a workspace, and it has the credentials
    return !holdsRoot && isDirectory(path) ? [{ path, hasFolders: true, agent: id }] : [];
  };
  const own = agentList(config).flatMap(({ id, workspace }) => custom(workspace, textOf(id)));
  const standard = recordOf(recordOf(config.agents)?.defaults)?.workspace;
  if (agent !== undefined) {
    const all = [...own, inRoot(`workspace-${agent}`)].filter((each) => each.agent === agent);
    if (agent === "main") all.push(inRoot("workspace"), ...custom(standard));
    return distinct(all.filter(({ path }) => isDirectory(path)));
  }
  const rank = ({ agent: id = "" }: Workspace): number =>
    agents.includes(id) ? agents.indexOf(id) : agents.length;
  const others = namesOf(root)
    .filter((name) => name.startsWith("workspace-") && !FIRST_WORKSPACES.includes(name))
    .map(inRoot)
    .toSorted((a, b) => rank(a) - rank(b));
  const named = [...FIRST_WORKSPACES.map(inRoot), ...others, inRoot(FILES_ONLY_WORKSPACE)];
  const found = [...named, ...custom(standard), ...own].filter(({ path }) => isDirectory(path));
  const isOlder = standard === undefined && !found.some(hasNotes);
  return distinct(isOlder ? [...found, ...olderDefaults(userHome)] : found);
}

function hasNotes({ path }: Workspace): boolean {
  return NOTES.some((name) => existsSync(join(path, name)));
}

/** Before its renaming the product kept its workspace in `~/clawd` or `~/clawd-<profile>`. */
function olderDefaults(userHome: string): Workspace[] {
  return foldersAt(userHome)
    .filter((path) => /^clawd(?:-|$)/.test(basename(path)))
    .map((path) => ({ path, hasFolders: true }));
}

// ---- Files that nobody changed ----

/** Decides whether a file of this name still has the bytes that OpenClaw wrote. */
export type IsGenerated = (name: string, bytes: Uint8Array) => boolean;

/** OpenClaw notes hashes since it keeps its state in a database; without one nothing counts as generated. */
export async function readGenerated(root: string): Promise<IsGenerated> {
  const path = join(root, "state", "openclaw.sqlite");
  try {
    const table = "workspace_generated_bootstrap_hashes";
    const rows = await rowsOf(root, path, table, `SELECT filename, sha256 FROM ${table}`);
    const noted = new Set(rows.map(({ filename, sha256 }) => `${filename} ${sha256}`));
    return (name, bytes) => noted.has(`${name} ${createHash("sha256").update(bytes).digest("hex")}`);
  } catch {
    return () => false; // damage, which the profiles' reader reports: the form of the text decides alone
  }
}
