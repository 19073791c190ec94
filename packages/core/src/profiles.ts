// Profiles are separate homes below `<root>/profiles`. A new one is built in a temporary directory and renamed, so that a
// half-copied profile is never visible.
import {
  chmodSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import {
  DEFAULT_PROFILE,
  ensureHome,
  memoriesDirectory,
  type ProfileNameError,
  parseProfileName,
  profileHome,
  readActiveProfile,
} from "./home.ts";
import {
  describeCause,
  err,
  errnoCode,
  HermesError,
  isDirectory,
  isWithin,
  namesIn,
  ok,
  type Result,
  randomHex,
  writeFileAtomic,
} from "./lib/index.ts";

export type ProfileSummary = {
  readonly name: string;
  readonly home: string;
  readonly active: boolean;
  readonly hasMemory: boolean;
};

export type ProfileError =
  | ProfileNameError
  | {
      readonly kind: "exists" | "missing-profile";
      readonly name: string;
      readonly path: string;
      readonly message: string;
    };

export type CreateProfileOptions = {
  /** `config` copies settings, curated memory and skills; `all` copies everything but history. Absent: an empty home. */
  readonly clone?: "config" | "all";
  /** The profile to copy from. Default: `default`. */
  readonly from?: string;
};

export type CreatedProfile = {
  readonly name: string;
  readonly home: string;
  readonly copied: readonly string[];
};

const CLONED = [
  "memories/MEMORY.md",
  "memories/USER.md",
  "config.yaml",
  ".env",
  "SOUL.md",
  "skills",
] as const;

export function listProfiles(root: string): ProfileSummary[] {
  const active = readActiveProfile(root)?.toLowerCase() ?? DEFAULT_PROFILE;
  return [DEFAULT_PROFILE, ...namedProfiles(root)].map((name) => {
    const home = profileHome(root, name);
    return { name, home, active: name === active, hasMemory: hasMemory(home) };
  });
}

export function createProfile(
  root: string,
  name: string,
  options: CreateProfileOptions = {},
): Result<CreatedProfile, ProfileError> {
  const parsed = parseProfileName(name);
  if (!parsed.ok) return parsed;
  if (parsed.value === DEFAULT_PROFILE) {
    const message = "The profile 'default' is the root home itself and always exists. Choose another name.";
    return err({ kind: "reserved-name", name: parsed.value, message });
  }
  const home = profileHome(root, parsed.value);
  if (lstatSync(home, { throwIfNoEntry: false })) {
    const message = `The profile '${parsed.value}' exists already (${home}). Switch to it with 'hermes profile use ${parsed.value}', or choose another name.`;
    return err({ kind: "exists", name: parsed.value, path: home, message });
  }
  const source = existingProfile(root, options.from ?? DEFAULT_PROFILE);
  if (!source.ok) return source;

  const building = join(dirname(home), `.creating-${parsed.value}-${randomHex(4)}`);
  try {
    ensureHome(building);
    const copied = options.clone === undefined ? [] : copyInto(source.value.home, building, options.clone);
    renameSync(building, home);
    return ok({ name: parsed.value, home, copied });
  } catch (cause) {
    rmSync(building, { recursive: true, force: true });
    if (cause instanceof HermesError) throw cause;
    const message = `Cannot create the profile '${parsed.value}': ${describeCause(cause)}.`;
    const hint = "Nothing was left behind. Check free space and permissions, then try again.";
    throw new HermesError("profile-not-created", message, { hint, cause });
  }
}

/** The default profile is selected by deleting `active_profile`, as the Python original expects. */
export function useProfile(root: string, name: string): Result<ProfileSummary, ProfileError> {
  const profile = existingProfile(root, name);
  if (!profile.ok) return profile;
  const path = join(root, "active_profile");
  if (profile.value.name === DEFAULT_PROFILE) rmSync(path, { force: true });
  else writeFileAtomic(path, `${profile.value.name}\n`);
  return ok({ ...profile.value, active: true, hasMemory: hasMemory(profile.value.home) });
}

function existingProfile(root: string, name: string): Result<{ name: string; home: string }, ProfileError> {
  const parsed = parseProfileName(name);
  if (!parsed.ok) return parsed;
  const home = profileHome(root, parsed.value);
  if (parsed.value === DEFAULT_PROFILE || isDirectory(home)) return ok({ name: parsed.value, home });
  const message = `There is no profile '${parsed.value}'. Create it with 'hermes profile create ${parsed.value}', or list the others with 'hermes profile list'.`;
  return err({ kind: "missing-profile", name: parsed.value, path: home, message });
}

function namedProfiles(root: string): string[] {
  try {
    return readdirSync(join(root, "profiles"), { withFileTypes: true })
      .filter((item) => item.isDirectory() || item.isSymbolicLink())
      .map((item) => item.name)
      .filter((name) => isListable(root, name))
      .sort();
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT") return [];
    const message = `Cannot list the profiles in ${root}: ${describeCause(cause)}.`;
    throw new HermesError("profiles-not-readable", message, { cause });
  }
}

function isListable(root: string, name: string): boolean {
  const parsed = parseProfileName(name);
  if (!parsed.ok || parsed.value !== name || name === DEFAULT_PROFILE) return false;
  return isDirectory(profileHome(root, name));
}

function hasMemory(home: string): boolean {
  return ["MEMORY.md", "USER.md"].some(
    (file) => (statSync(join(memoriesDirectory(home), file), { throwIfNoEntry: false })?.size ?? 0) > 0,
  );
}

function copyInto(source: string, target: string, clone: "config" | "all"): string[] {
  const names = clone === "config" ? CLONED : namesIn(source).filter((name) => !isHistory(name));
  const copied = names.filter((name) => copyTree(join(source, name), join(target, name), { source, name }));
  if (copied.includes(".env")) chmodSync(join(target, ".env"), 0o600);
  return copied;
}

/** True for history, and for files of running processes of the copied profile. Paths are relative to the home, with `/`. */
function isHistory(path: string): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const isNested = path.includes("/");
  if (name.endsWith(".sqlite.lock")) return true; // locks of this library, in any directory
  if (path === "gateway/local-token") return true; // each home makes its own: replacing one must shut out its old holders
  if (isNested && !path.startsWith("memories/")) return false; // `uv.lock` of a skill belongs to the skill
  if (/\.(lock|tmp|pid)$/.test(name)) return true;
  if (isNested) return name === ".history";
  // An outbox holds unsent data: a copy would send it twice.
  return (
    /^(state|memory_outbox|\w+_queue)\.db/.test(name) ||
    ["sessions", "logs", "pending", "profiles", "active_profile"].includes(name)
  );
}

type CopyOrigin = { readonly source: string; readonly name: string };

/** True if something was copied. A link to a file is copied as a file, or the two profiles would share memory. */
function copyTree(from: string, to: string, origin: CopyOrigin): boolean {
  const link = lstatSync(from, { throwIfNoEntry: false });
  const stats = link?.isSymbolicLink() ? statSync(from, { throwIfNoEntry: false }) : link;
  if (stats === undefined) return false; // missing, or a dangling link
  if (stats.isFile()) {
    mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
    copyFileSync(from, to);
    chmodSync(to, stats.mode & 0o777);
    return true;
  }
  if (!stats.isDirectory()) return false; // sockets and pipes belong to a running process
  if (link?.isSymbolicLink()) {
    symlinkSync(linkTarget(from, origin.source), to);
    return true;
  }
  mkdirSync(to, { recursive: true, mode: stats.mode & 0o777 });
  for (const name of readdirSync(from)) {
    const path = `${origin.name}/${name}`;
    if (!isHistory(path)) copyTree(join(from, name), join(to, name), { source: origin.source, name: path });
  }
  return true;
}

/** A link to a path inside the copied home points inside the copy; any other link is unchanged. */
function linkTarget(link: string, source: string): string {
  const text = readlinkSync(link);
  const target = resolve(dirname(link), text);
  return isWithin(source, target) && !isAbsolute(text) ? text : target;
}
