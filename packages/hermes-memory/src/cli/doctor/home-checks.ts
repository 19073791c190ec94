// Checks of the environment of the stored data: Node.js, the home directory, config.yaml, .env and the external provider.
import { accessSync, constants, rmSync, statfsSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  checkConfig,
  configPath,
  envFilePath,
  readEnvFile,
  useEnvFile,
} from "@hermes-memory/core/internal/config";
import {
  directoryMode,
  memoriesDirectory,
  pendingWritesDirectory,
  readActiveProfile,
} from "@hermes-memory/core/internal/home";
import { describeCause, randomHex } from "@hermes-memory/core/internal/lib";
import { listProfiles } from "@hermes-memory/core/internal/profiles";
import {
  activeProviderName,
  checkAvailability,
  findProvider,
  ifReadable,
  inspectConnection,
  loadProvider,
  recordConnection,
} from "@hermes-memory/core/internal/providers";
import { isFindingId } from "@hermes-memory/core/internal/security";
import { readLocalToken } from "@hermes-memory/gateway/internal";
import { readOutbox, unreadableOutboxes } from "@hermes-memory/providers/internal";
import { issueText, unreadKeyText } from "../config/config-values.ts";
import { isDirectory, statOf } from "../inspect-files.ts";
import { describeActive } from "../memory/provider/provider-status.ts";
import { counted, localTime, sizeText } from "../printing.ts";
import { type CheckedHome, type Finding, fail, fine, quoted, warn } from "./finding.ts";

// Node.js and its SQLite

/** The launcher refuses a version that is too old. */
export function checkNode(): Finding[] {
  return [fine("node", `Node.js ${process.versions.node}`)];
}

/** Makes a full-text table in a database in memory: a build of Node.js can have SQLite without FTS5. */
export async function checkSqlite(): Promise<Finding[]> {
  try {
    const { DatabaseSync } = await import("node:sqlite");
    using database = new DatabaseSync(":memory:");
    const row = database.prepare("SELECT sqlite_version() AS version").get();
    database.exec("CREATE VIRTUAL TABLE probe USING fts5(body)");
    return [fine("sqlite", `SQLite ${String(row?.version)} with full-text search`)];
  } catch (cause) {
    const message = `There is no SQLite with full-text search (FTS5): ${describeCause(cause)}.`;
    return [fail("sqlite", message, "Use an official build of Node.js, from https://nodejs.org.")];
  }
}

// The home directory and its profile

export function checkProfile({ root }: CheckedHome): Finding[] {
  const active = readActiveProfile(root)?.toLowerCase();
  if (active === undefined) return [fine("profile", "The default profile is active.")];
  if (listProfiles(root).some(({ name }) => name === active))
    return [fine("profile", `The profile '${active}' is active.`)];
  const remedy = "hermes profile use default";
  return [fail("profile", `The active profile '${active}' does not exist in ${root}.`, remedy)];
}

export function checkHome({ home }: CheckedHome): Finding[] {
  const stats = statOf(home);
  if (stats === undefined) return [futureHome(home)];
  if (!stats.isDirectory())
    return [fail("home", `${home} is not a directory.`, "Move it away, or set HERMES_HOME.")];
  const directories = [home, memoriesDirectory(home), pendingWritesDirectory(home)].filter(isDirectory);
  return directories.map((directory) => {
    const trouble = writeProbe(directory);
    if (trouble === undefined) return fine("home", `${directory} can be written.`);
    const remedy = `Let your user write there: ls -ld ${quoted(directory)} shows owner and mode.`;
    return fail("home", `${directory} cannot be written: ${trouble}.`, remedy);
  });
}

/** Does not make the home: the first write does. */
function futureHome(home: string): Finding {
  const parent = nearestDirectory(dirname(home));
  try {
    accessSync(parent, constants.W_OK);
    return fine("home", `${home} does not exist yet; the first write makes it.`);
  } catch {
    const remedy = `Make ${parent} writable, or set HERMES_HOME to a directory of your own.`;
    return fail("home", `${home} does not exist and cannot be made in ${parent}.`, remedy);
  }
}

/** A user with list permission on a directory sees its names; one with enter permission can read files in it that are not private. */
export function checkModes({ home, env }: CheckedHome): Finding[] {
  if (process.platform === "win32") return []; // no POSIX modes
  const memories = memoriesDirectory(home);
  const directories = [
    home,
    memories,
    join(memories, ".history"),
    join(memories, ".archive"),
    dirname(pendingWritesDirectory(home)),
    pendingWritesDirectory(home),
  ].filter(isDirectory);
  const allowed = directoryMode(env.HERMES_HOME_MODE);
  const open = directories.filter((directory) => (modeOf(directory) & 0o077 & ~allowed) !== 0);
  if (open.length === 0)
    return directories.length === 0 ? [] : [fine("modes", "Other users cannot look into the home.")];
  return open.map((directory) => {
    const message = `Other users may enter ${directory} (mode ${modeOf(directory).toString(8)}).`;
    return warn("modes", message, `chmod 700 ${quoted(directory)}`);
  });
}

/** Nobody is let in by a local token that cannot be used, and everybody on this machine by one that others can read. */
export function checkLocalToken({ home }: CheckedHome): Finding[] {
  const { path, token, problem, isExposed } = readLocalToken(home);
  const remedy = "hermes token local --new";
  if (problem !== undefined)
    return [fail("gateway", `The gateway's local token ${path} cannot be used: ${problem}.`, remedy)];
  if (isExposed) return [warn("gateway", `Other users can read the gateway's local token ${path}.`, remedy)];
  return token === undefined ? [] : [fine("gateway", "Only you can read the gateway's local token.")];
}

const TIGHT_BYTES = 100 * 1024 ** 2;
const FULL_BYTES = 1024 ** 2; // with less, a journal line or a backup may not fit

export function checkDisk({ home }: CheckedHome): Finding[] {
  const directory = nearestDirectory(home);
  const { bavail, bsize } = statfsSync(directory);
  const free = bavail * bsize;
  const message = `${sizeText(free)} free for ${home}`;
  const remedy = "Free some space on this file system: writes fail when it is full.";
  if (free < FULL_BYTES) return [fail("disk", `Only ${message}.`, remedy)];
  return [free < TIGHT_BYTES ? warn("disk", `Only ${message}.`, remedy) : fine("disk", message)];
}

function writeProbe(directory: string): string | undefined {
  const probe = join(directory, `.doctor-${randomHex(6)}.tmp`);
  try {
    writeFileSync(probe, "", { flag: "wx", mode: 0o600 });
    rmSync(probe);
    return undefined;
  } catch (cause) {
    return describeCause(cause);
  }
}

function modeOf(path: string): number {
  return (statOf(path)?.mode ?? 0) & 0o777;
}

function nearestDirectory(path: string): string {
  let current = path;
  while (!isDirectory(current) && dirname(current) !== current) current = dirname(current);
  return current;
}

// config.yaml and .env

export async function checkSettings({ home }: CheckedHome): Promise<Finding[]> {
  const { exists, errors, warnings, unknownKeys } = await checkConfig(home, { isThreatId: isFindingId });
  if (!exists) return [fine("config", "There is no config.yaml; the defaults apply.")];
  const remedy = `Edit ${configPath(home)}; 'hermes config check' checks it again.`;
  const findings = [
    ...errors.map((issue) => fail("config", `config.yaml: ${issueText(issue)}.`, remedy)),
    ...warnings.map((issue) => warn("config", `config.yaml: ${issueText(issue)}.`, remedy)),
    ...unknownKeys
      .filter(({ suggestion }) => suggestion !== undefined) // without one, the key belongs to another program that shares the file
      .map((unknown) => warn("config", `config.yaml: ${unreadKeyText(unknown)}`, remedy)),
  ];
  return findings.length > 0 ? findings : [fine("config", "config.yaml has no mistakes.")];
}

export function checkEnvFile({ home }: CheckedHome): Finding[] {
  const path = envFilePath(home);
  const stats = statOf(path);
  if (stats === undefined) return [];
  const file = readEnvFile(path);
  if (!file.ok) return [fail("env-file", file.error.message, "Make it a text file that your user can read.")];
  const findings: Finding[] = [];
  const mode = stats.mode & 0o777;
  if (process.platform !== "win32" && (mode & 0o077) !== 0) {
    const message = `Other users may read the secrets in ${path} (mode ${mode.toString(8)}).`;
    findings.push(warn("env-file", message, `chmod 600 ${quoted(path)}`));
  }
  const { malformedLines } = file.value;
  if (malformedLines.length > 0) {
    const lines = `${malformedLines.length === 1 ? "line" : "lines"} ${malformedLines.join(", ")}`;
    findings.push(warn("env-file", `.env: ${lines} cannot be read as NAME=value.`, `Edit ${path}.`));
  }
  const names = counted(file.value.values.size, "variable");
  return findings.length > 0 ? findings : [fine("env-file", `.env is private and holds ${names}.`)];
}

// The external memory provider. Code of a user's plugin does not run here: the result of its last run is reported instead.

const PROVIDER = "provider";
const CONNECTION = "connection";
const OUTBOX = "outbox";
const SEE_STATUS = "'hermes memory status' shows what it needs.";
const CHOOSE_ANOTHER = "Choose one with 'hermes memory setup', or switch it off with 'hermes memory off'.";

export async function checkProvider({ memory, home, config }: CheckedHome): Promise<Finding[]> {
  const name = activeProviderName(config.provider);
  if (name === "")
    return [fine(PROVIDER, "No external memory provider is chosen; the built-in memory needs none.")];
  const { installed, problem, availability } = await describeActive(
    memory,
    name,
    await findProvider(home, name),
  );
  const the = `The memory provider '${name}'`;
  if (!installed)
    return [warn(PROVIDER, `${the} is chosen in config.yaml but not installed.`, CHOOSE_ANOTHER)];
  if (problem !== undefined) return [warn(PROVIDER, `${the} cannot be loaded. ${problem}`, CHOOSE_ANOTHER)];
  if (availability === null)
    return [fine(PROVIDER, `${the} is installed. 'hermes memory test' tries it out.`)];
  const { available, reason = "It gives no reason.", checked_at: at } = availability;
  const when = at === undefined ? "" : ` when it was last asked (${localTime(at)})`;
  return available
    ? [fine(PROVIDER, `${the} ${at === undefined ? "is" : "was"} available${when}.`)]
    : [warn(PROVIDER, `${the} is not available${when}. ${reason}`, SEE_STATUS)];
}

/** Nothing when no provider with a server was ever used. */
export function checkOutbox({ home, config }: CheckedHome): Finding[] {
  const unreadable = unreadableOutboxes(home).map(({ problem, remedy }) =>
    warn(
      OUTBOX,
      `${problem} What waits in it is not sent, and 'forget' and 'erase' do not reach its texts.`,
      remedy,
    ),
  );
  return [...checkLanes(home, config), ...unreadable];
}

function checkLanes(home: string, config: CheckedHome["config"]): Finding[] {
  const lanes = ifReadable(() => readOutbox(home));
  if (lanes.length === 0) return [];
  const active = activeProviderName(config.provider);
  const sum = (count: (state: (typeof lanes)[number]["state"]) => number): number =>
    lanes.reduce((all, { state }) => all + count(state), 0);
  const dead = sum((state) => state.dead);
  const waiting = sum((state) => state.waiting + state.held);
  const findings = lanes.flatMap(({ provider, state: { blocked } }) =>
    blocked === undefined || provider !== active
      ? []
      : [warn(OUTBOX, `Nothing is sent to '${provider}': ${blocked}`, `hermes memory setup ${provider}`)],
  );
  if (dead > 0)
    findings.push(
      warn(
        OUTBOX,
        `${counted(dead, "write was", "writes were")} refused by a server.`,
        "hermes memory outbox list",
      ),
    );
  return [fine(OUTBOX, `${counted(waiting, "write waits", "writes wait")} for a server.`), ...findings];
}

/** Starts the active provider for inspection, also a user's plugin: the user asked for it. */
export async function checkService({ home, config }: CheckedHome): Promise<Finding[]> {
  const name = activeProviderName(config.provider);
  if (name === "") return [];
  useEnvFile(home);
  const loaded = await loadProvider(home, name);
  if (!loaded.ok) return []; // `checkProvider` says why
  const { provider } = loaded.value;
  if (!(await checkAvailability(provider)).available) return [];
  const connection = await inspectConnection(provider, { home, config });
  if (connection.kind === "unsupported")
    return [fine(CONNECTION, `The memory provider '${name}' has no service to ask.`)];
  const isReached = connection.kind === "reached";
  recordConnection(home, name, { ok: isReached, message: connection.message });
  return [
    isReached
      ? fine(CONNECTION, `The memory provider '${name}': ${connection.message}`)
      : fail(
          CONNECTION,
          `The memory provider '${name}': ${connection.message}`,
          `hermes memory setup ${name}, or wait until the service answers; turns are kept in the outbox.`,
        ),
  ];
}
