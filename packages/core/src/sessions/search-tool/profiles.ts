// Other profiles' databases, opened read-only for one call.
import { existsSync, realpathSync, statSync } from "node:fs";
import { basename, resolve } from "node:path";
import {
  DEFAULT_PROFILE,
  parseProfileName,
  profileHome,
  rootOf,
  sessionDatabasePath,
  systemHomeContext,
} from "../../home.ts";
import { err, ok, type Result } from "../../lib/index.ts";
import { listProfiles } from "../../profiles.ts";
import { openSessionStore } from "../open.ts";
import type { SearchableStore } from "./port.ts";
import { explain } from "./shapes.ts";

export type ProfileSettings = {
  readonly home: string | undefined;
  /** The conversation belongs to one user of several. */
  readonly isOneOfSeveral: boolean;
  readonly crossProfile: boolean;
};

/** A store for as long as one call takes. */
export type OpenProfile = AsyncDisposable & {
  readonly name: string;
  readonly store: SearchableStore;
};

/** The reason why no other profile may be looked at, if there is one. */
export function profilesRefusal({ home, isOneOfSeveral, crossProfile }: ProfileSettings): string | undefined {
  if (isOneOfSeveral)
    return "other profiles are off, because this conversation belongs to one of several users";
  if (!crossProfile) return "other profiles are off (session_search.cross_profile is false)";
  if (home === undefined) return "other profiles are off, because no home directory is known here";
  return undefined;
}

/** True when the name stands for the database that is open already. */
export function isOwnProfile(home: string | undefined, name: string, own: SearchableStore): boolean {
  const parsed = parseProfileName(name);
  if (home === undefined || !parsed.ok) return false;
  return isSameFile(databaseOf(rootOf(home, systemHomeContext()), parsed.value), own.location);
}

/** The name of the profile a home is. */
export function profileNameOf(home: string | undefined): string {
  if (home === undefined) return DEFAULT_PROFILE;
  const isRoot = resolve(rootOf(home, systemHomeContext())) === resolve(home);
  return isRoot ? DEFAULT_PROFILE : basename(resolve(home));
}

export async function openProfile(
  home: string,
  name: string,
  own: SearchableStore | undefined,
): Promise<Result<OpenProfile, string>> {
  const parsed = parseProfileName(name);
  if (!parsed.ok) return err(parsed.error.message);
  const root = rootOf(home, systemHomeContext());
  const directory = profileHome(root, parsed.value);
  const isThere = statSync(directory, { throwIfNoEntry: false })?.isDirectory() ?? false;
  if (!isThere && parsed.value !== DEFAULT_PROFILE)
    return err(`there is no such profile. List them with 'hermes profile list'.`);
  return openDatabase(root, parsed.value, own);
}

/** Every profile that has a database, the default one first. One that cannot be opened is passed over. */
export async function* eachProfile(
  home: string,
  own: SearchableStore | undefined,
): AsyncGenerator<OpenProfile> {
  const root = rootOf(home, systemHomeContext());
  for (const { name } of listProfiles(root)) {
    const opened = await openDatabase(root, name, own);
    if (opened.ok) yield opened.value;
  }
}

async function openDatabase(
  root: string,
  name: string,
  own: SearchableStore | undefined,
): Promise<Result<OpenProfile, string>> {
  const path = databaseOf(root, name);
  if (!existsSync(path)) return err("it has no session database yet.");
  if (own !== undefined && isSameFile(path, own.location))
    return ok({ name, store: own, [Symbol.asyncDispose]: async () => {} }); // its owner closes it
  try {
    const store = await openSessionStore({ path, readOnly: true });
    return ok({ name, store, [Symbol.asyncDispose]: () => store.close() });
  } catch (cause) {
    return err(explain(cause));
  }
}

function databaseOf(root: string, name: string): string {
  return sessionDatabasePath(profileHome(root, name));
}

function isSameFile(one: string, other: string): boolean {
  try {
    return realpathSync(one) === realpathSync(other);
  } catch {
    return one === other; // one of them is gone, or is no file
  }
}
