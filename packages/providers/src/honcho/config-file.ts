// Honcho's configuration file, which it shares with other programs: where it is, and which block of it belongs to this profile. It is
// written only to `<home>/honcho.json`, with everything that was read.
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { DEFAULT_PROFILE, rootOf } from "@hermes-memory/core/internal/home";
import { HermesError, isRecord, pyStrip } from "@hermes-memory/core/internal/lib";
import { readSettings, writeSettings } from "@hermes-memory/core/internal/providers";
import type { Place, Values } from "../kit/networked/settings.ts";

export type { Values } from "../kit/networked/settings.ts";

/** Where this process looks for configuration. */
export type HonchoPlace = Place & {
  /** The user's home directory. Default: that of the process. */
  readonly userHome?: string;
};

export type HonchoFile = {
  /** Where it was read; without a file, where a user would look for it. */
  readonly path: string;
  /** False without a file, or when it cannot be used: then only the environment counts. */
  readonly isUsed: boolean;
  readonly root: Values;
  /** `hosts[hostKey]`, or its old spelling with a dot. */
  readonly host: Values;
  readonly hostKey: string;
  /** Why the file is not used, in one sentence. */
  readonly problem?: string;
};

const CONFIG_FILE = "honcho.json";
const HOST_PREFIX = "hermes_";
const OLD_HOST_PREFIX = "hermes.";

/** Never throws: a file that cannot be used counts as empty and has a `problem`. */
export function readHonchoFile(place: HonchoPlace): HonchoFile {
  const hostKey = hostKeyOf(place);
  const paths = configPaths(place);
  const path = paths.find((each) => existsSync(each));
  if (path === undefined) return { path: paths.at(-1) ?? "", isUsed: false, root: {}, host: {}, hostKey };
  const { values: root, problem } = readSettings(dirname(path), basename(path));
  return { path, isUsed: problem === undefined, root, host: hostBlock(root, hostKey), hostKey, problem };
}

export function writtenPath(home: string): string {
  return join(home, CONFIG_FILE);
}

/** Changes the file as it was read (undefined removes a key) and saves it in the home. Throws `HermesError`. */
export function editHonchoFile(place: HonchoPlace, change: (file: HonchoFile) => Values): string {
  const written = writeSettings(place.home, CONFIG_FILE, change(readHonchoFile(place)));
  if (!written.ok) throw new HermesError("settings-not-saved", written.error);
  return written.value.path;
}

/** The root with these values in the block of a host; undefined removes a key. An old spelling of the host is given up. */
export function withHostValues(root: Values, hostKey: string, changes: Values): Values {
  const { [oldHostKey(hostKey)]: _, ...hosts } = recordOf(root.hosts);
  const merged = { ...renamedPin(hostBlock(root, hostKey)), ...changes };
  const block = Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== undefined));
  return { ...root, hosts: { ...hosts, [hostKey]: block } };
}

/** `pinPeerName` is the old name of `pinUserPeer`. */
export function renamedPin({ pinPeerName, ...block }: Values): Values {
  return pinPeerName === undefined || block.pinUserPeer !== undefined
    ? block
    : { ...block, pinUserPeer: pinPeerName };
}

export function hostBlock(root: Values, hostKey: string): Values {
  const hosts = recordOf(root.hosts);
  const block = recordOf(hosts[hostKey]);
  return Object.keys(block).length > 0 ? block : recordOf(hosts[oldHostKey(hostKey)]);
}

/** `hermes` for the default profile, `hermes_<name>` for another. */
export function hostKeyOf({ home, env }: Place): string {
  const given = pyStrip(env.HERMES_HONCHO_HOST ?? "");
  return given === "" ? hostKeyOfProfile(profileOf(home)) : given;
}

export function hostKeyOfProfile(profile: string): string {
  if (profile === "" || profile === DEFAULT_PROFILE || profile === "custom") return "hermes";
  const cleaned = profile.replace(/[^A-Za-z0-9_-]/g, "_").replace(/^_+|_+$/g, "");
  return `${HOST_PREFIX}${cleaned === "" ? "profile" : cleaned}`;
}

/** The profile's name is that of its folder below `profiles`. */
export function profileOf(home: string): string {
  const path = resolve(home);
  return basename(dirname(path)) === "profiles" ? basename(path) : DEFAULT_PROFILE;
}

function configPaths({ home, env, userHome = homedir() }: HonchoPlace): readonly string[] {
  const root = rootOf(home, { env, platform: process.platform, userHome });
  const paths = [writtenPath(home), join(root, CONFIG_FILE), join(userHome, ".honcho", "config.json")];
  return [...new Set(paths)];
}

function oldHostKey(hostKey: string): string {
  return hostKey.startsWith(HOST_PREFIX) ? OLD_HOST_PREFIX + hostKey.slice(HOST_PREFIX.length) : "";
}

export function recordOf(value: unknown): Values {
  return isRecord(value) ? value : {};
}
