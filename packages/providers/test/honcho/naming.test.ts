import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import {
  aiPeer,
  findRepository,
  honchoSession,
  type NameSources,
  type Runtime,
  sessionKey,
  userPeer,
} from "../../src/honcho/naming.ts";
import { serverId } from "../../src/honcho/settings.ts";

const SETTINGS = {
  sessions: {} as Record<string, string>,
  hasSessionPrefix: false,
  peerName: "",
  sessionStrategy: "per-directory" as "per-directory" | "per-session" | "per-repo" | "global",
  workspace: "hermes",
  isPinned: false,
  aliases: {} as Record<string, string>,
  peerPrefix: "",
  aiPeer: "hermes",
};
const SOURCES: NameSources = {
  cwd: "/projects/harbour crane",
  repository: undefined,
  title: undefined,
  gatewayKey: undefined,
  sessionId: "s1",
};

function key(settings: Partial<typeof SETTINGS>, sources: Partial<NameSources> = {}): string {
  return sessionKey({ ...SETTINGS, ...settings }, { ...SOURCES, ...sources }).key;
}

describe("a session's name", () => {
  it("comes from the first of seven sources that has one", () => {
    const all = { title: "Blue: crane!", gatewayKey: "agent:main:telegram:dm:42" };
    const strategy = "per-session" as const;
    expect(key({ sessions: { [SOURCES.cwd]: "My map" }, sessionStrategy: strategy }, all)).toBe("My map");
    expect(key({ sessionStrategy: strategy }, all)).toBe("Blue-crane");
    expect(key({ sessionStrategy: strategy }, { ...all, title: "!?" })).toBe("agent-main-telegram-dm-42");
    expect(key({ sessionStrategy: strategy })).toBe("s1");
    expect(key({ sessionStrategy: strategy }, { sessionId: "" })).toBe("harbour crane");
    expect(key({ sessionStrategy: "per-repo" }, { repository: "/projects/repo" })).toBe("repo");
    expect(key({ sessionStrategy: "per-repo" })).toBe("harbour crane");
    expect(key({})).toBe("harbour crane");
    expect(key({ sessionStrategy: "global" })).toBe("hermes");
    expect(key({}, { cwd: "/" })).toBe("s1");
    expect(key({}, { cwd: "/", sessionId: "" })).toBe("hermes-default");
  });

  it("gets the user's name in front where that is asked for", () => {
    const prefixed = { hasSessionPrefix: true, peerName: "ann" };
    expect(key(prefixed)).toBe("ann-harbour crane");
    expect(key(prefixed, { title: "Crane" })).toBe("ann-Crane");
    expect(key({ ...prefixed, sessionStrategy: "per-session" })).toBe("ann-s1");
    expect(key(prefixed, { gatewayKey: "a:b" })).toBe("a-b");
    expect(key({ ...prefixed, sessionStrategy: "global" })).toBe("hermes");
  });

  it("has at most 100 characters; a longer key ends with its hash", () => {
    const whole = "k".repeat(100);
    expect(key({}, { gatewayKey: whole })).toBe(whole);
    const names = ["x", "y"].map((end) => key({}, { gatewayKey: whole + end }));
    for (const name of names) expect(name).toMatch(/^k{91}-[0-9a-f]{8}$/);
    expect(new Set(names).size).toBe(2);
    expect(key({}, { gatewayKey: `${whole}x` })).toBe(names[0]);
    expect(key({}, { title: "t".repeat(300) })).toHaveLength(100);
  });

  it("is that of the repository around the directory", () => {
    const root = tempDirectory();
    const inner = join(root, "repo", "src", "deep");
    mkdirSync(inner, { recursive: true });
    mkdirSync(join(root, "repo", ".git"));
    expect(findRepository("per-repo", inner)).toBe(join(root, "repo"));
    expect(findRepository("per-directory", inner)).toBeUndefined();
  });
});

const OWNER: Runtime = { user: undefined, isByPlatform: true, ids: [] };

function user(id: string, platform = "telegram", more: readonly string[] = []): Runtime {
  const whole = `${platform}:${id}`;
  return { user: whole, isByPlatform: true, ids: [whole, id, ...more] };
}

/** As the Python edition sees a user. */
function bare(id: string): Runtime {
  return { user: id, isByPlatform: false, ids: [id] };
}

function peer(settings: Partial<typeof SETTINGS>, runtime: Runtime, name = "crane"): string {
  return userPeer({ ...SETTINGS, ...settings }, runtime, name).id;
}

describe("a user's peer", () => {
  it("of the owner is the configured name, or follows from the session", () => {
    expect(peer({ peerName: "Ann B." }, OWNER)).toBe("Ann-B-");
    expect(peer({}, OWNER)).toBe("user-default-crane");
    expect(peer({}, OWNER, "telegram:42")).toBe("user-telegram-42");
  });

  it("is pinned, or an alias by any of the user's ids, before anything else", () => {
    const aliases = { 42: "ann", "discord:9": "bo", alt: "cy d" };
    expect(userPeer({ ...SETTINGS, isPinned: true, peerName: "ann" }, user("7"), "")).toEqual({
      id: "ann",
      isShared: true,
    });
    expect(peer({ isPinned: true }, user("7"))).toMatch(/^telegram-7-[0-9a-f]{8}$/);
    expect(peer({ aliases }, user("42"))).toBe("ann");
    expect(peer({ aliases }, user("9", "discord"))).toBe("bo");
    expect(peer({ aliases }, user("9"))).not.toBe("bo");
    expect(peer({ aliases }, user("1", "telegram", ["alt"]))).toBe("cy-d");
  });

  it("is different for every platform and id, however they are spelled", () => {
    const words = ["4-2", "4:2", "4 2", "é", "constructor", "__proto__", "toString"];
    const ids = [user("42"), user("42", "discord"), ...words.map((word) => user(word))];
    const peers = ids.map((each) => peer({}, each));
    expect(new Set(peers).size).toBe(ids.length);
    for (const id of peers) expect(id).toMatch(/^[A-Za-z0-9_-]{1,100}$/);
    expect(ids.map((each) => peer({}, each))).toEqual(peers);
  });

  it("keeps a plain id with the ids of the Python edition, and is hashed only with a prefix", () => {
    expect(peer({}, bare("42"))).toBe("42");
    expect(peer({}, bare("a:b"))).toBe("a-b");
    expect(peer({ peerPrefix: "tg_" }, bare("42"))).toBe("tg_42");
    expect(peer({ peerPrefix: "tg_" }, bare("a:b"))).toMatch(/^tg_a-b-[0-9a-f]{8}$/);
  });

  it("never takes the name of the owner or of an alias, and takes more of its hash when that is taken too", () => {
    const settings = { peerPrefix: "u", peerName: "u1", aliases: {} as Record<string, string> };
    const first = peer(settings, bare("1"));
    expect(first).toMatch(/^u1-[0-9a-f]{8}$/);
    const second = peer({ ...settings, aliases: { x: first } }, bare("1"));
    expect(second).toMatch(/^u1-[0-9a-f]{12}$/);
    const third = peer({ ...settings, aliases: { x: first, y: second } }, bare("1"));
    expect(third).toMatch(/^u1-[0-9a-f]{16}$/);
  });

  it("by its bare id is never the owner, the agent or an alias, unless it is pinned or aliased to them", () => {
    const settings = { peerName: "ann", aiPeer: "bot", aliases: { 7: "bo" } };
    const hashed = peer(settings, bare("ann"));
    expect(hashed).toMatch(/^ann-[0-9a-f]{8}$/);
    for (const id of ["bot", "bo", "__proto__", hashed]) expect(peer(settings, bare(id))).not.toBe(id);
    expect(peer(settings, bare("7"))).toBe("bo");
    expect(peer({ ...settings, isPinned: true }, bare("ann"))).toBe("ann");
    expect(peer({ ...settings, aliases: { ann: "ann" } }, bare("ann"))).toBe("ann");
    expect(peer({}, bare("user-default-crane"))).not.toBe(peer({}, OWNER));
  });

  it("has an agent of its own, so that one user's conversations do not show in another's", () => {
    const agent = (runtime: Runtime): string =>
      aiPeer(SETTINGS, runtime, userPeer(SETTINGS, runtime, "crane"));
    expect(agent(OWNER)).toBe("hermes");
    expect(agent(bare("42"))).toBe("hermes");
    expect(agent(user("42"))).not.toBe(agent(user("43")));
    expect(agent(user("42"))).toMatch(/^hermes-with-telegram-42-/);
  });
});

describe("a session at the server", () => {
  const of = (runtime: Runtime, gatewayKey?: string, name = "crane"): string => {
    const found = { key: gatewayKey === undefined ? name : serverId(gatewayKey), isPerSession: false };
    return honchoSession(found, runtime, { peer: userPeer(SETTINGS, runtime, name), gatewayKey });
  };

  it("is never shared by two users, whatever names it", () => {
    const users = [OWNER, user("42"), user("43"), user("42", "discord")];
    expect(new Set(users.map((each) => of(each))).size).toBe(users.length);
    const group = "agent:main:telegram:group:77";
    expect(of(user("42"), group)).not.toBe(of(user("43"), group));
    expect(of(bare("42"), group)).not.toBe(of(bare("43"), group));
    expect(of(user("42"), undefined, "n".repeat(300))).toHaveLength(100);
    expect(of(user("42"), undefined, `${"n".repeat(300)}1`)).not.toBe(
      of(user("42"), undefined, `${"n".repeat(300)}2`),
    );
  });

  it("has the name of the Python edition where that names the user", () => {
    expect(of(bare("42"), "agent:main:telegram:dm:42")).toBe("agent-main-telegram-dm-42");
    expect(of(bare("42"), "agent:main:telegram:dm:142")).not.toBe("agent-main-telegram-dm-142");
    expect(of(OWNER)).toBe("crane");
  });
});
