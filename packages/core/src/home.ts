// Finds the home directory: the default path, HERMES_HOME, profiles, per-user scopes. Environment and platform are passed in; on
// disk it reads only `active_profile` and whether a profile's directory exists.
import { chmodSync, mkdirSync, readFileSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join, type PlatformPath, posix, resolve, win32 } from "node:path";
import {
  describeCause,
  err,
  HermesError,
  isDirectory,
  isWithin,
  ok,
  pyStrip,
  type Result,
  sha256,
} from "./lib/index.ts";

/** The environment that decides where the home is. */
export type HomeContext = {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** A value of `process.platform`. */
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
  /** `default` for the root itself, `custom` for a directory inside the default home that is not a profile. */
  readonly profile: string;
  readonly notice?: string;
};

export const DEFAULT_PROFILE = "default";

const PROFILE_NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const RESERVED_NAMES = new Set(["hermes", "test", "tmp", "root", "sudo"]);
const HOME_FOLDERS = ["memories", "pending", "skills", "logs"];

/** The environment of this process. */
export function systemHomeContext(): HomeContext {
  return { env: process.env, platform: process.platform, userHome: homedir() };
}

export function defaultHome(context: HomeContext): string {
  if (context.platform !== "win32") return posix.join(context.userHome, ".hermes");
  const local = pyStrip(context.env.LOCALAPPDATA ?? "");
  return win32.join(local === "" ? win32.join(context.userHome, "AppData", "Local") : local, "hermes");
}

/** For library callers: does not follow a sticky profile, but returns a notice, which the caller prints once to stderr. */
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
  if (isWithin(realOrResolved(standard, path), realOrResolved(home, path), path)) return standard;
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

/** For the command line, in this order: flag, HERMES_HOME below `profiles/`, sticky profile, HERMES_HOME, default. */
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
  // A supervised service has a fixed home; the profile chosen for the terminal must not change it.
  const sticky = context.env.HERMES_S6_SUPERVISED_CHILD ? undefined : readActiveProfile(root);
  if (sticky !== undefined) return namedProfile(root, sticky, "sticky");

  const profile = isSamePath(resolved.home, root, path) ? DEFAULT_PROFILE : "custom";
  return ok({ ...base, profile, notice: resolved.notice });
}

/** The sticky profile, or undefined if there is none, it is the default, or the file cannot be read as text. */
export function readActiveProfile(root: string): string | undefined {
  try {
    const name = pyStrip(
      new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(join(root, "active_profile"))),
    );
    return name === "" || name.toLowerCase() === DEFAULT_PROFILE ? undefined : name;
  } catch {
    return undefined; // missing or undecodable: no warning, as in the Python original
  }
}

/** Where the owner's curated files are. */
export function memoriesDirectory(home: string): string {
  return join(home, "memories");
}

/** The session database, shared with the Python original. */
export function sessionDatabasePath(home: string): string {
  return join(home, "state.db");
}

/** The profile whose home contains the file; null for any other path. */
export function profileOfDatabase(path: string, context: HomeContext): string | null {
  const places = pathOf(context);
  const home = places.dirname(places.resolve(path));
  if (path !== "" && places.basename(path) !== "state.db") return null;
  if (isUnderProfiles(home, places)) return places.basename(home);
  const roots = [defaultHome(context), rootOf(resolveHome(context).home, context)];
  return roots.some((root) => isSamePath(home, root, places)) ? DEFAULT_PROFILE : null;
}

/** Files that belong to a session: contents too large for a row, and copies. Deleted with the session. */
export type SessionFiles = {
  /** JSON snapshots, and transcripts of the Python original. */
  readonly sessionsDir?: string;
  /** Tool results that were too long for the conversation. */
  readonly resultsDir?: string;
};

/** Where a home keeps files of sessions. */
export function sessionFiles(home: string): Required<SessionFiles> {
  return { sessionsDir: join(home, "sessions"), resultsDir: join(home, "tool-results") };
}

/** What the owner typed in the chat of the command line, for the arrow keys. Shared with the Python original. */
export function chatHistoryPath(home: string): string {
  return join(home, ".hermes_history");
}

/** Used by this program only; the Python original has other log files beside it. */
export function logPath(home: string): string {
  return join(home, "logs", "hermes-memory.log");
}

/**
 * Memory writes that wait for approval: of the owner, or of the user whose memory directory is `dir`. Each user has a separate
 * directory, so that one user cannot see or approve the writes of another.
 */
export function pendingWritesDirectory(home: string, dir = memoriesDirectory(home)): string {
  const own = join(home, "pending", "memory");
  const users = usersDirectory(home);
  return dirname(resolve(dir)) === resolve(users) ? join(own, basename(users), basename(dir)) : own;
}

/**
 * False for a platform or id that files and rows could not tell apart from another: UTF-8 encodes all lone surrogates alike, and
 * U+0000 separates platform and id in the hashed name.
 */
export function isDistinctName(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

/** Hashes the raw names, so that two users never share a scope, whatever their platform's spelling. */
export function userScopeName(platform: string, userId: string): string {
  const readable = platform.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 32);
  return `${readable === "" ? "unknown" : readable}-${sha256(`${platform}\0${userId}`).slice(0, 20)}`;
}

/** Where the curated files of one user are. */
export function userMemoriesDirectory(home: string, platform: string, userId: string): string {
  return join(usersDirectory(home), userScopeName(platform, userId));
}

export function usersDirectory(home: string): string {
  return join(memoriesDirectory(home), "users");
}

/** Existing directories keep their mode: the user may share them on purpose. */
export function ensureHome(home: string, env: HomeContext["env"] = process.env): void {
  const mode = directoryMode(env.HERMES_HOME_MODE);
  for (const directory of [home, ...HOME_FOLDERS.map((name) => join(home, name))]) {
    try {
      const created = mkdirSync(directory, { recursive: true, mode });
      if (created !== undefined) chmodSync(directory, mode); // the umask may have removed bits
    } catch (cause) {
      const message = `Cannot create ${directory}: ${describeCause(cause)}.`;
      const hint = "Make the parent directory writable, move away what is in the way, or set HERMES_HOME.";
      throw new HermesError("home-not-usable", message, { hint, cause });
    }
  }
}

/** What HERMES_HOME_MODE says; 700 where it says nothing. */
export function directoryMode(text: string | undefined): number {
  const trimmed = pyStrip(text ?? "");
  if (!/^(0o)?[0-7]{1,4}$/.test(trimmed)) return 0o700;
  const mode = Number.parseInt(trimmed.replace("0o", ""), 8);
  return (mode & 0o700) === 0o700 ? mode : 0o700; // the owner must be able to enter the home
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

function isSamePath(one: string, other: string, path: PlatformPath): boolean {
  return realOrResolved(one, path) === realOrResolved(other, path);
}

function realOrResolved(location: string, path: PlatformPath): string {
  const resolved = path.resolve(location);
  try {
    return realpathSync(resolved);
  } catch {
    return resolved; // does not exist yet: compare the path as written
  }
}
