// What a conversation and its two peers are called at Honcho. Pure, apart from looking for the repository.
import { existsSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { sha256 } from "@hermes-memory/core/internal/lib";
import { type HonchoSettings, type SessionStrategy, serverId } from "./settings.ts";

const MAX_KEY_CHARS = 100;
const HASH_CHARS = 8;

/** What decides the name of a session. */
export type NameSources = {
  readonly cwd: string;
  /** The root of the git repository around `cwd`, for `per-repo`. */
  readonly repository: string | undefined;
  readonly title: string | undefined;
  readonly gatewayKey: string | undefined;
  readonly sessionId: string;
};

export type SessionName = {
  /** Before foreign characters are replaced. */
  readonly key: string;
  /** Whether each Hermes session has its own Honcho session. */
  readonly isPerSession: boolean;
};

type NameSettings = Pick<
  HonchoSettings,
  "sessions" | "hasSessionPrefix" | "peerName" | "sessionStrategy" | "workspace"
>;

export function sessionKey(settings: NameSettings, sources: NameSources): SessionName {
  const { sessionStrategy: strategy, peerName } = settings;
  const fixed = (key: string): SessionName => ({ key, isPerSession: false });
  const prefixed = (name: string): string =>
    settings.hasSessionPrefix && peerName !== "" && name !== "" ? `${peerName}-${name}` : name;
  const orId = (name: string): SessionName => fixed(name || sources.sessionId || "hermes-default");

  const mapped = settings.sessions[sources.cwd];
  if (mapped !== undefined) return fixed(mapped);
  const title = joined(sources.title ?? "");
  if (title !== "") return fixed(withinLimit(prefixed(title), prefixed(sources.title ?? "")));
  const gateway = joined(sources.gatewayKey ?? "");
  if (gateway !== "") return fixed(withinLimit(gateway, sources.gatewayKey ?? ""));
  if (strategy === "per-session" && sources.sessionId !== "")
    return { key: prefixed(sources.sessionId), isPerSession: true };
  if (strategy === "global") return orId(settings.workspace);
  const directory = strategy === "per-repo" ? (sources.repository ?? sources.cwd) : sources.cwd;
  return orId(prefixed(basename(directory)));
}

/** Runs of foreign characters become one `-`. */
export function joined(text: string): string {
  return text.replace(/[^A-Za-z0-9_-]+/gu, "-").replace(/^-+|-+$/g, "");
}

/** At most 100 characters; a longer name ends with a hash of the original. */
function withinLimit(name: string, original: string): string {
  if (name.length <= MAX_KEY_CHARS) return name;
  const head = name.slice(0, MAX_KEY_CHARS - HASH_CHARS - 1).replace(/-+$/, "");
  return `${head}-${sha256(original).slice(0, HASH_CHARS)}`;
}

/** The nearest directory with `.git`, as `git rev-parse --show-toplevel` finds it; only for `per-repo`. */
export function findRepository(strategy: SessionStrategy, cwd: string): string | undefined {
  if (strategy !== "per-repo") return undefined;
  for (let directory = resolve(cwd); ; directory = dirname(directory)) {
    if (existsSync(join(directory, ".git"))) return directory;
    if (directory === dirname(directory)) return undefined;
  }
}

// ---- Peers ----

export type Runtime = {
  /** The user for the server, by `user_scope`; undefined: the owner of the home. */
  readonly user: string | undefined;
  /** Whether `user` holds platform and id; else it is the bare id of the Python edition. */
  readonly isByPlatform: boolean;
  /** Ids that an alias may name, in this order. */
  readonly ids: readonly string[];
};

export type UserPeer = {
  readonly id: string;
  /** Other users have the same peer, because the configuration pins all to one. */
  readonly isShared: boolean;
};

type PeerSettings = Pick<HonchoSettings, "isPinned" | "peerName" | "aliases" | "peerPrefix" | "aiPeer">;

export function userPeer(settings: PeerSettings, runtime: Runtime, key: string): UserPeer {
  const own = (id: string): UserPeer => ({ id, isShared: false });
  const { peerName } = settings;
  const { user } = runtime;
  if (settings.isPinned && peerName !== "") return { id: serverId(peerName), isShared: user !== undefined };
  // An id may be `constructor`, which every object has.
  const known = runtime.ids.find((id) => Object.hasOwn(settings.aliases, id));
  if (known !== undefined) return own(serverId(settings.aliases[known] ?? ""));
  if (user !== undefined) {
    const name = settings.peerPrefix + user;
    const isTaken = isOthers(serverId(name), settings);
    const isDistinct = runtime.isByPlatform || settings.peerPrefix !== "" || isTaken;
    return own(isDistinct ? distinctId(name, isTaken, takenIds(settings)) : serverId(name));
  }
  if (peerName !== "") return own(serverId(peerName));
  const [channel, ...chat] = key.split(":");
  return own(serverId(chat.length === 0 ? `user-default-${key}` : `user-${channel}-${chat.join(":")}`));
}

/** Of a user with an own scope: what the agent learns in that user's sessions is not shown to others. */
export function aiPeer(settings: PeerSettings, runtime: Runtime, peer: UserPeer): string {
  const id = serverId(settings.aiPeer);
  return runtime.user !== undefined && runtime.isByPlatform && !peer.isShared
    ? distinctId(`${id}-with-${peer.id}`, false, new Set())
    : id;
}

/**
 * Whether a user with this id would be the owner, the agent or the target of an alias, or has an id that looks like one of these with a
 * hash, which a user of that name gets. An owner without a name is called after the session, `user-...`.
 */
function isOthers(id: string, settings: PeerSettings): boolean {
  if (settings.peerName === "" && id.startsWith("user-")) return true;
  const taken = takenIds(settings);
  const head = /^(.*)-[0-9a-f]{8,64}$/.exec(id)?.[1];
  return taken.has(id) || (head !== undefined && taken.has(head));
}

function takenIds({ peerName, aliases, aiPeer }: PeerSettings): ReadonlySet<string> {
  // Programs in JavaScript lose an object's key with this name, and peers are such keys.
  const unusable = "__proto__";
  return new Set([peerName, aiPeer, unusable, ...Object.values(aliases)].map(serverId));
}

/** The text itself if the server takes it and nobody else has it; else with as much of its hash as is needed. */
function distinctId(text: string, isTaken: boolean, taken: ReadonlySet<string>): string {
  const id = serverId(text);
  if (id === text && !isTaken && id.length <= MAX_KEY_CHARS) return id;
  const hash = sha256(text);
  const head = id.slice(0, MAX_KEY_CHARS - HASH_CHARS - 1);
  const candidates = [8, 12, 16, 24, 32, 64].map((length) => `${head}-${hash.slice(0, length)}`);
  return candidates.find((candidate) => !taken.has(candidate)) ?? `${head}-${hash}`;
}

/**
 * The id of the session at the server. Two users never share one: the name gets the user's peer, unless the chat's own key names the
 * user already and the names of the Python edition are asked for.
 */
export function honchoSession(
  name: SessionName,
  { user, isByPlatform }: Runtime,
  { peer, gatewayKey }: { readonly peer: UserPeer; readonly gatewayKey: string | undefined },
): string {
  const id = serverId(name.key);
  if (user === undefined) return id;
  const namesUser = name.isPerSession || (gatewayKey ?? "").split(":").includes(user);
  if (!isByPlatform && namesUser) return id;
  const suffix = sha256(JSON.stringify([user, peer.id, id])).slice(0, 2 * HASH_CHARS);
  return `${id.slice(0, MAX_KEY_CHARS - suffix.length - 1)}-${suffix}`;
}

/** What the owner of the home is called in a session that starts in this directory. */
export function ownerNames(settings: NameSettings & PeerSettings, cwd: string) {
  const runtime = { user: undefined, isByPlatform: true, ids: [] };
  const repository = findRepository(settings.sessionStrategy, cwd);
  const sources = { cwd, repository, title: undefined, gatewayKey: undefined, sessionId: "" };
  const name = sessionKey(settings, sources);
  const user = userPeer(settings, runtime, name.key);
  return {
    peers: { user: user.id, ai: aiPeer(settings, runtime, user) },
    session: honchoSession(name, runtime, { peer: user, gatewayKey: undefined }),
  };
}
