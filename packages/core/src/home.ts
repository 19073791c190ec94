// Where a home is: the default place, HERMES_HOME, profiles, per-user scopes. Environment and platform come in as a
// value; the only things looked at on disk are `active_profile` and whether a profile's directory exists.
import { chmodSync, mkdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join, type PlatformPath, posix, resolve, win32 } from "node:path";
import { describeCause, err, HermesError, ok, pyStrip, type Result, sha256 } from "./lib/index.ts";

export type HomeContext = {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** As `process.platform` has it. */
  readonly platform: string;
  readonly userHome: string;
};

export type ProfileNameError = {
  readonly kind: "invalid-name" | "reserved-name";
  readonly name: string;
  readonly message: string;
};

export type HomeError =
  | ProfileNameError
  | {
      readonly kind: "missing-profile";
      readonly name: string;
      readonly path: string;
      readonly message: string;
    };

export type SelectedHome = {
  readonly home: string;
  readonly root: string;
  /** `default` for the root itself, `custom` for a directory inside the default home that is no profile. */
  readonly profile: string;
  readonly notice?: string;
};

export const DEFAULT_PROFILE = "default";

const PROFILE_NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const RESERVED_NAMES = new Set(["hermes", "test", "tmp", "root", "sudo"]);
const HOME_FOLDERS = ["memories", "pending", "skills", "logs"];

export function systemHomeContext(): HomeContext {
  return { env: process.env, platform: process.platform, userHome: homedir() };
}

export function defaultHome(context: HomeContext): string {
  if (context.platform !== "win32") return posix.join(context.userHome, ".hermes");
  const local = pyStrip(context.env.LOCALAPPDATA ?? "");
  return win32.join(local === "" ? win32.join(context.userHome, "AppData", "Local") : local, "hermes");
}

/** Library rule: a sticky profile is not followed, but the caller is told (and prints the notice once, to stderr). */
export function resolveHome(context: HomeContext): { home: string; notice?: string } {
  const fromEnvironment = environmentHome(context);
  if (fromEnvironment !== undefined) return { home: fromEnvironment };
  const home = defaultHome(context);
  const active = readActiveProfile(home);
  if (active === undefined) return { home };
  const notice =
    `[HERMES_HOME fallback] HERMES_HOME is not set while the active profile is "${active}"; using ${home}. ` +
    "Export HERMES_HOME to use the profile (see #18594).";
  return { home, notice };
}

export function rootOf(home: string, context: HomeContext): string {
  const path = pathOf(context);
  const standard = defaultHome(context);
  if (isInside(home, standard, path)) return standard;
  return isUnderProfiles(home, path) ? path.dirname(path.dirname(path.resolve(home))) : home;
}

export function parseProfileName(name: string): Result<string, ProfileNameError> {
  const folded = pyStrip(name).toLowerCase();
  if (!PROFILE_NAME.test(folded)) {
    const message = `'${name}' cannot be a profile name. Use 1 to 64 letters, digits, '-' or '_', starting with a letter or digit.`;
    return err({ kind: "invalid-name", name, message });
  }
  if (RESERVED_NAMES.has(folded)) {
    const message = `The profile name '${folded}' is reserved. Choose another one.`;
    return err({ kind: "reserved-name", name: folded, message });
  }
  return ok(folded);
}

export function profileHome(root: string, name: string): string {
  return name === DEFAULT_PROFILE ? root : join(root, "profiles", name);
}

/** The command line's order: flag, HERMES_HOME below `profiles/`, sticky profile, HERMES_HOME or the default. */
export function selectHome(
  context: HomeContext,
  flags: { profile?: string },
): Result<SelectedHome, HomeError> {
  const resolved = resolveHome(context);
  const root = rootOf(resolved.home, context);
  if (flags.profile !== undefined) return namedProfile(root, flags.profile, "flag");

  const path = pathOf(context);
  const base = { home: resolved.home, root };
  if (environmentHome(context) !== undefined && isUnderProfiles(resolved.home, path)) {
    return ok({ ...base, profile: path.basename(resolved.home) });
  }
  // A supervised service is started for one fixed home; what the user chose for the terminal must not move it.
  const sticky = context.env.HERMES_S6_SUPERVISED_CHILD ? undefined : readActiveProfile(root);
  if (sticky !== undefined) return namedProfile(root, sticky, "sticky");

  const profile = isSamePath(resolved.home, root, path) ? DEFAULT_PROFILE : "custom";
  return ok({ ...base, profile, notice: resolved.notice });
}

/** The sticky profile, or undefined when there is none, it is the default, or the file cannot be read as text. */
export function readActiveProfile(root: string): string | undefined {
  try {
    const name = pyStrip(
      new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(join(root, "active_profile"))),
    );
    return name === "" || name.toLowerCase() === DEFAULT_PROFILE ? undefined : name;
  } catch {
    return undefined; // missing or undecodable: without a warning, as in the Python program; the default home is always right
  }
}

export function memoriesDirectory(home: string): string {
  return join(home, "memories");
}

/** Every conversation; the Python original uses the same file. */
export function sessionDatabasePath(home: string): string {
  return join(home, "state.db");
}

/** The profile whose home the file stands in; null for any other place. */
export function profileOfDatabase(path: string, context: HomeContext): string | null {
  const places = pathOf(context);
  const home = places.dirname(places.resolve(path));
  if (path !== "" && places.basename(path) !== "state.db") return null;
  if (isUnderProfiles(home, places)) return places.basename(home);
  const roots = [defaultHome(context), rootOf(resolveHome(context).home, context)];
  return roots.some((root) => isSamePath(home, root, places)) ? DEFAULT_PROFILE : null;
}

/** Files that belong to sessions but are too large for their rows, or copies of them. They go with their session. */
export type SessionFiles = {
  /** JSON snapshots, and the transcripts the Python original keeps there. */
  readonly sessionsDir?: string;
  /** Tool results that were too long for the conversation. */
  readonly resultsDir?: string;
};

export function sessionFiles(home: string): Required<SessionFiles> {
  return { sessionsDir: join(home, "sessions"), resultsDir: join(home, "tool-results") };
}

/** Ours alone: the original keeps logs of its own beside it. */
export function logPath(home: string): string {
  return join(home, "logs", "hermes-memory.log");
}

/**
 * Memory writes that wait for approval: those for the home's own memory, or for the memory in `dir` where that is a user's of this
 * home. Each user has a place of their own, so that nobody is shown, or approves, what another's agent wants to write.
 */
export function pendingWritesDirectory(home: string, dir = memoriesDirectory(home)): string {
  const own = join(home, "pending", "memory");
  const users = usersDirectory(home);
  return dirname(resolve(dir)) === resolve(users) ? join(own, basename(users), basename(dir)) : own;
}

/**
 * Whether files and rows tell this platform or id from every other: UTF-8 writes all halves of surrogate pairs alike, and U+0000 is
 * what separates the two in a user's name.
 */
export function isDistinctName(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

/** The hash is over the raw names, so two users never share a scope however their platform is spelled. */
export function userScopeName(platform: string, userId: string): string {
  const readable = platform.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 32);
  return `${readable === "" ? "unknown" : readable}-${sha256(`${platform}\0${userId}`).slice(0, 20)}`;
}

export function userMemoriesDirectory(home: string, platform: string, userId: string): string {
  return join(usersDirectory(home), userScopeName(platform, userId));
}

export function usersDirectory(home: string): string {
  return join(memoriesDirectory(home), "users");
}

/** Directories that exist keep their mode: someone may share them on purpose. */
export function ensureHome(home: string, env: HomeContext["env"] = process.env): void {
  const mode = directoryMode(env.HERMES_HOME_MODE);
  for (const directory of [home, ...HOME_FOLDERS.map((name) => join(home, name))]) {
    try {
      const created = mkdirSync(directory, { recursive: true, mode });
      if (created !== undefined) chmodSync(directory, mode); // the umask may have taken bits away
    } catch (cause) {
      const message = `Cannot create ${directory}: ${describeCause(cause)}.`;
      const hint = "Make the parent directory writable, move away what is in the way, or set HERMES_HOME.";
      throw new HermesError("home-not-usable", message, { hint, cause });
    }
  }
}

function directoryMode(text: string | undefined): number {
  const trimmed = pyStrip(text ?? "");
  if (!/^(0o)?[0-7]{1,4}$/.test(trimmed)) return 0o700;
  const mode = Number.parseInt(trimmed.replace("0o", ""), 8);
  return (mode & 0o700) === 0o700 ? mode : 0o700; // a home its owner cannot enter would lock everything out
}

function namedProfile(
  root: string,
  asked: string,
  origin: "flag" | "sticky",
): Result<SelectedHome, HomeError> {
  const name = parseProfileName(asked);
  if (!name.ok) return name;
  const home = profileHome(root, name.value);
  if (name.value === DEFAULT_PROFILE || isDirectory(home)) return ok({ home, root, profile: name.value });
  const remedy =
    origin === "flag"
      ? `Create it with 'hermes profile create ${name.value}', or list the others with 'hermes profile list'.`
      : `It is the active profile: create it with 'hermes profile create ${name.value}', or leave it with 'hermes profile use default'.`;
  const message = `There is no profile '${name.value}' in ${root}. ${remedy}`;
  return err({ kind: "missing-profile", name: name.value, path: home, message });
}

function environmentHome(context: HomeContext): string | undefined {
  const value = pyStrip(context.env.HERMES_HOME ?? "");
  return value === "" ? undefined : value;
}

function pathOf(context: HomeContext): PlatformPath {
  return context.platform === "win32" ? win32 : posix;
}

function isUnderProfiles(home: string, path: PlatformPath): boolean {
  return path.basename(path.dirname(path.resolve(home))) === "profiles";
}

function isInside(inner: string, outer: string, path: PlatformPath): boolean {
  const relative = path.relative(realOrResolved(outer, path), realOrResolved(inner, path));
  return relative === "" || (!path.isAbsolute(relative) && relative.split(path.sep)[0] !== "..");
}

function isSamePath(one: string, other: string, path: PlatformPath): boolean {
  return realOrResolved(one, path) === realOrResolved(other, path);
}

function realOrResolved(location: string, path: PlatformPath): string {
  const resolved = path.resolve(location);
  try {
    return realpathSync(resolved);
  } catch {
    return resolved; // not there yet: its spelling is all there is to compare
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
