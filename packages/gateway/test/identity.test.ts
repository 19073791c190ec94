import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  credentialOf,
  type IdentitySettings,
  identify,
  isAdministrator,
  parseUserRef,
  personOf,
} from "../src/identity.ts";
import type { Caller, TokenRights } from "../src/types.ts";
import type { WireRequest } from "../src/wires/wire.ts";
import { attempt, requestWith } from "./attempt.ts";

const NOW = new Date("2026-11-17T12:00:00Z");
const SETTINGS: IdentitySettings = { identityProfiles: {}, jwtSecret: "" };
const UUID = "0f8fad5b-d9cb-469f-a165-70867728950e";
const LOCAL: Caller = { kind: "local" };

function holder(rights: TokenRights): Caller {
  return { kind: "token", id: "1f9a3c07", rights };
}

const OWNER = holder({ kind: "owner" });
const ALICE = holder({ kind: "user", user: { platform: "api", id: "alice" } });
const WEB_UI = holder({ kind: "names-users", platform: "web" });
const ADMIN = holder({ kind: "admin" });

/** Lines such as `X-Hermes-User-Id: bob`. */
type Given = {
  readonly caller?: Caller;
  readonly headers?: readonly string[];
  readonly wire?: WireRequest["wire"];
  readonly ids?: WireRequest["ids"];
  readonly settings?: Partial<IdentitySettings>;
  readonly env?: Readonly<Record<string, string>>;
};

const rawOf = (lines: readonly string[]): readonly string[] =>
  lines.flatMap((line) => {
    const colon = line.indexOf(": ");
    return [line.slice(0, colon), line.slice(colon + 2)];
  });

/** As Node receives it: each byte of UTF-8 as one character. */
function bytes(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}

function asked({ caller = LOCAL, headers = [], wire = "chat", ids = {}, settings, env = {} }: Given) {
  const request = requestWith(wire, ids);
  return {
    caller,
    rawHeaders: rawOf(headers),
    request,
    settings: { ...SETTINGS, ...settings },
    env,
    now: NOW,
  };
}

const SECONDS = NOW.getTime() / 1000;

function jwt(claims: object, secret = "s3cret"): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = `${part({ alg: "HS256", typ: "JWT" })}.${part(claims)}`;
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
}

const CAROL = jwt({ sub: "carol", iss: "open-webui", iat: SECONDS, exp: SECONDS + 300 });

function identityOf(given: Given) {
  const found = attempt(() => identify(asked(given)));
  if (!found.ok) throw new Error(`${found.error.code}: ${found.error.message}`);
  return found.value;
}

/** Status and code of the refusal, or the user. */
function userOf(given: Given): string {
  const found = attempt(() => identify(asked(given)));
  if (!found.ok) return `${found.error.status} ${found.error.code}`;
  const { user } = found.value;
  return user === undefined ? "owner" : `${user.platform}:${user.id}`;
}

describe("the user of a request", () => {
  it("is the owner for a local caller, an owner's token and an admin that name nobody", () => {
    for (const caller of [LOCAL, OWNER, ADMIN]) expect(userOf({ caller })).toBe("owner");
    expect([LOCAL, ADMIN, OWNER].map(isAdministrator)).toEqual([true, true, false]);
  });

  it("is the token's own, whatever the body says, and never another", () => {
    expect(userOf({ caller: ALICE, ids: { user: "bob" } })).toBe("api:alice");
    expect(userOf({ caller: OWNER, ids: { user: "bob" } })).toBe("owner");
    for (const header of ["X-Hermes-User-Id", "X-OpenWebUI-User-Id", "x-sm-user-id"]) {
      for (const caller of [ALICE, OWNER])
        expect(userOf({ caller, headers: [`${header}: bob`] })).toBe("403 not-your-user");
      expect(userOf({ caller: ALICE, headers: [`${header}: alice`] })).toBe("api:alice");
    }
  });

  it.each<[Given, string, string]>([
    [{ headers: ["X-Hermes-User-Id: bob"] }, "api", "bob"],
    [{ headers: ["X-OpenWebUI-User-Id: bob"] }, "open-webui", "bob"],
    [{ headers: ["x-sm-user-id: bob"] }, "api", "bob"],
    [{ ids: { user: "bob" } }, "api", "bob"],
    [{ headers: ["x-hermes-user-id: a:b"] }, "api", "a:b"],
    [{ headers: ["x-hermes-user-id: bob"], ids: { user: "bob" } }, "api", "bob"],
  ])("is named by a program that may: %j", (given, platform, id) => {
    for (const caller of [LOCAL, ADMIN]) expect(userOf({ ...given, caller })).toBe(`${platform}:${id}`);
    expect(userOf({ ...given, caller: WEB_UI })).toBe(`web:${id}`);
  });

  it("must be named by a program with users of its own", () => {
    expect(userOf({ caller: WEB_UI })).toBe("400 no-user");
  });

  it.each<[string, Given, string]>([
    ["two disagree", { headers: ["x-hermes-user-id: alice", "x-openwebui-user-id: bob"] }, "users-disagree"],
    ["the body disagrees", { headers: ["x-hermes-user-id: a"], ids: { user: "b" } }, "users-disagree"],
    ["it is twice", { headers: ["X-Hermes-User-Id: a", "x-hermes-user-id: a"] }, "repeated-header"],
    ["it has underscores", { headers: ["X_Hermes_User_Id: a"] }, "bad-header"],
    ["it has both", { headers: ["X-Hermes-User-Id: a", "X_Hermes-User_Id: b"] }, "bad-header"],
    ["it is blank", { headers: ["x-hermes-user-id: "] }, "bad-id"],
    ["it has a control character", { headers: ["x-hermes-user-id: a\u0007"] }, "bad-id"],
    ["it has a C1 character", { headers: [`x-hermes-user-id: ${bytes("a\u0085b")}`] }, "bad-id"],
    ["it is Latin-1", { headers: ["x-hermes-user-id: Jos\u00e9"] }, "bad-id"],
    ["it is too long", { headers: [`x-hermes-user-id: ${"a".repeat(4_097)}`] }, "bad-id"],
    ["it is a placeholder", { headers: ["x-hermes-user-id: {{LIBRECHAT_USER_ID}}"] }, "bad-id"],
    ["it is a variable", { headers: ["x-openwebui-user-id: \u0024{USER_ID}"] }, "bad-id"],
    ...["\ud800", "a\0b", "", "  "].map((user): [string, Given, string] => [
      `the body says ${JSON.stringify(user)}`,
      { ids: { user } },
      "bad-id",
    ]),
  ])("is refused when %s", (_how, given, code) => {
    for (const caller of [LOCAL, ADMIN, WEB_UI]) expect(userOf({ caller, ...given })).toBe(`400 ${code}`);
  });

  it("may have any letters, and each spelling is a user of its own", () => {
    const names = ["Jos\u00e9", "Jose\u0301", "李雷", "🦊", "JOS\u00c9", "a b", "a+b%40"];
    const found = names.map((name) => userOf({ headers: [`x-hermes-user-id: ${bytes(name)}`] }));
    expect(found).toEqual(names.map((name) => `api:${name}`));
    expect(userOf({ ids: { user: "Jos\u00e9" } })).toBe(found[0]);
  });
});

describe("Open WebUI's signed user", () => {
  const settings = { jwtSecret: "s3cret" };
  const signed = [`X-OpenWebUI-User-Jwt: ${CAROL}`];

  it("is believed when the signature is right, and never ignored when it is not", () => {
    expect(userOf({ headers: signed, settings })).toBe("open-webui:carol");
    expect(userOf({ caller: WEB_UI, headers: signed, settings })).toBe("web:carol");
    expect(userOf({ caller: ALICE, headers: signed, settings })).toBe("403 not-your-user");
    const forged = jwt({ sub: "carol", iss: "open-webui", exp: SECONDS + 300 }, "guess");
    for (const token of [forged, "x", "", `${CAROL}x`])
      expect(userOf({ headers: [`x-openwebui-user-jwt: ${token}`], settings })).toBe("401 bad-user-jwt");
    expect(userOf({ headers: signed })).toBe("403 jwt-not-configured");
  });

  it("is the only one that Open WebUI's own token may name", () => {
    const caller = holder({ kind: "names-users", platform: "open-webui" });
    expect(userOf({ caller, headers: signed, settings })).toBe("open-webui:carol");
    expect(userOf({ caller, headers: signed, ids: { user: "x" }, settings })).toBe("open-webui:carol");
    for (const name of ["x-hermes-user-id: carol", "x-sm-user-id: carol"])
      for (const headers of [[name], [...signed, name]])
        expect(userOf({ caller, headers, settings })).toBe("403 unsigned-user");
    expect(userOf({ caller, ids: { user: "carol" }, settings })).toBe("403 unsigned-user");
    expect(userOf({ caller: WEB_UI, ids: { user: "carol" }, settings })).toBe("web:carol");
  });

  it("makes the unsigned header worthless, also while the secret's variable is missing", () => {
    const missing = { jwtSecret: "$OPEN_WEBUI_SECRET" };
    for (const each of [settings, missing])
      expect(userOf({ headers: ["x-openwebui-user-id: carol"], settings: each })).toBe("403 unsigned-user");
    expect(userOf({ headers: signed, settings: missing })).toBe("503 jwt-not-configured");
    const env = { OPEN_WEBUI_SECRET: "s3cret\n" };
    expect(userOf({ headers: signed, settings: missing, env })).toBe("open-webui:carol");
  });
});

describe("the profile of a request", () => {
  const settings = { identityProfiles: { "api:alice": "work", "open-webui:*": "Shared", "api:": "broken" } };

  it("is the identity's own, then the platform's, and none for the owner", () => {
    const profile = (given: Given) => identityOf({ ...given, settings }).profile;
    expect(profile({ ids: { user: "alice" } })).toBe("work");
    expect(profile({ ids: { user: "bob" } })).toBeUndefined();
    expect(profile({ headers: ["x-openwebui-user-id: bob"] })).toBe("shared");
    expect(profile({})).toBeUndefined();
    expect(profile({ caller: ALICE })).toBe("work");
    const odd = holder({ kind: "user", user: { platform: "constructor", id: "x" } });
    expect(profile({ caller: odd })).toBeUndefined();
  });

  it("is never the served home when config names an impossible one", () => {
    for (const name of ["../up", "", 7, "test"]) {
      const identityProfiles = { "api:alice": name } as IdentitySettings["identityProfiles"];
      expect(userOf({ caller: ALICE, settings: { identityProfiles } })).toBe("503 bad-profile");
    }
  });
});

describe("the conversation of a request", () => {
  const session = (given: Given) => identityOf(given).session;
  const at = (...headers: string[]) => session({ headers });
  const CLAUDE = `x-claude-code-session-id: ${UUID}`;
  const CODEX = "user-agent: codex_cli_rs/0.144.0";

  it("is the first that is present, in the order of the list", () => {
    const headers = [
      ...["X-Hermes-Session-Id: mine", CLAUDE, "session-id: s", "x-opencode-session: o"],
      ...["X-OpenWebUI-Chat-Id: w", "X-Hermes-Session-Key: k"],
    ];
    const ids = { conversation: "c", previousResponseId: "resp_1", litellmSessionId: "l" };
    const found = headers.map((_, from) =>
      session({ headers: headers.slice(from), ids: from === 0 ? ids : {} }),
    );
    expect(found.map(({ kind, chatId, history }) => [kind, chatId, history])).toEqual([
      ["hermes-session-id", "mine", "server"],
      ["claude-code", `claude-code-${UUID}`, "client"],
      ["codex", "codex-s", "client"],
      ["opencode", "opencode-o", "client"],
      ["open-webui", "open-webui-w", "client"],
      ["session-key", "key-k", "server"],
    ]);
    expect(found.every(({ sessionKey }) => sessionKey === "k")).toBe(true);
    const inBody = session({ headers: headers.slice(-1), ids });
    expect(inBody).toMatchObject({ kind: "conversation", chatId: "conversation-c", history: "server" });
    expect(session({})).toEqual({ kind: "prefix", chatId: undefined, history: "client" });
  });

  it("is found in the body", () => {
    const previous = { kind: "previous-response", history: "server", previousResponseId: "resp_1" };
    const ids = { previousResponseId: "resp_1", litellmSessionId: "l" };
    expect(session({ ids })).toEqual({ ...previous, chatId: undefined });
    expect(session({ ids: { litellmSessionId: "l" } })).toMatchObject({ chatId: "litellm-l" });
  });

  it("of Claude Code has the id that its import has, for the owner only", () => {
    const id = `claude-code-${UUID}`;
    expect(at(CLAUDE)).toMatchObject({ sessionId: id, platformChatId: UUID });
    expect(session({ caller: ALICE, headers: [CLAUDE] }).sessionId).toBeUndefined();
    const subagent = `${id}-agent-a17b`;
    const found = at(CLAUDE, "x-claude-code-agent-id: a17b");
    expect(found).toMatchObject({ chatId: subagent, sessionId: subagent, parentChatId: id });
    const tricked = at(`${CLAUDE}-agent-a17b`);
    expect(tricked.chatId).not.toBe(subagent);
    expect(tricked.sessionId).toBeUndefined();
  });

  it.each([
    `user_${"ab".repeat(32)}_account_${UUID}_session_${UUID}`,
    `user_${"ab".repeat(32)}_account__session_${UUID}`,
    JSON.stringify({ device_id: "d", account_uuid: "", session_id: UUID }),
  ])("of an older Claude Code is read from its metadata: %s", (metadataUserId) => {
    const found = identityOf({ wire: "messages", ids: { metadataUserId } });
    expect(found).toMatchObject({ client: "claude-code", session: { chatId: `claude-code-${UUID}` } });
    expect(found.user).toBeUndefined();
    expect(session({ wire: "chat", ids: { metadataUserId } }).kind).toBe("prefix");
  });

  it("is not read from metadata of another form", () => {
    const others = ["user-123", "{", '{"session_id":"x"}', '{"device_id":"d","session_id":7}'];
    for (const metadataUserId of [...others, "user_x_account_y_session_z"])
      expect(session({ wire: "messages", ids: { metadataUserId } }).kind).toBe("prefix");
  });

  it("of Codex is the thread, because subagents share their parent's session", () => {
    const root = at(CODEX, "session-id: s", "thread-id: s");
    expect(root).toMatchObject({ kind: "codex", chatId: "codex-s" });
    expect(root.parentChatId).toBeUndefined();
    const child = at(CODEX, "session-id: s", "thread-id: t");
    expect(child).toMatchObject({ chatId: "codex-t", parentChatId: "codex-s" });
    expect(at("session_id: s").chatId).toBe("codex-s");
    expect(at("session_id: s", "session-id: s").chatId).toBe("codex-s");
    for (const twice of [
      ["session_id: s", "session-id: t"],
      ["session_id: s", "session_id: s"],
    ])
      expect(userOf({ headers: twice })).toBe("400 repeated-header");
    const ids = { promptCacheKey: "p" };
    expect(session({ headers: ["originator: codex_vscode"], ids }).chatId).toBe("codex-p");
    expect(session({ ids }).kind).toBe("prefix"); // others share one between conversations
  });

  it.each([
    ["opencode/1.18.33", "ses_1", "opencode-ses_1", "opencode-ses_1"],
    ["Kilo-Code/7.7.7", "ses_1", "kilo-ses_1", "kilo-ses_1"],
    ["Kilo-Code/7.7.7", "title-ses_1", "kilo-title-ses_1", undefined],
    ["other/1", "ses_1", undefined, undefined],
  ])("of %s is that of an import: %s", (agent, id, chatId, sessionId) => {
    const found = at(`user-agent: ${agent}`, `x-session-affinity: ${id}`);
    expect([found.chatId, found.sessionId]).toEqual([chatId, sessionId]);
  });

  it("is found by the next id when one is empty, or that of a temporary chat, which such chats share", () => {
    expect(at("x-openwebui-chat-id: local:AbC").kind).toBe("prefix");
    expect(at("x-openwebui-chat-id: ", "x-hermes-session-key: k").kind).toBe("session-key");
  });

  it("is refused when its header is repeated or not an id", () => {
    const names =
      "x-hermes-session-id x-claude-code-session-id thread-id x-opencode-session x-hermes-session-key";
    for (const name of names.split(" ")) {
      expect(userOf({ headers: [`${name}: a`, `${name}: b`] }), name).toBe("400 repeated-header");
      for (const id of ["a\u0000", "{{CHAT_ID}}"])
        expect(userOf({ headers: [`${name}: ${id}`] }), name).toBe("400 bad-id");
    }
  });

  it("stays within the length of a chat id, and long ids do not meet short ones", () => {
    const long = "x".repeat(4_096);
    const chats = [long, `${long.slice(1)}y`].map((id) => at(`thread-id: ${id}`).chatId ?? "");
    expect(new Set(chats).size).toBe(2);
    for (const chat of chats) {
      expect(chat.length).toBeLessThanOrEqual(4_096);
      expect(at(`thread-id: ${chat.slice("codex-".length)}`).chatId).not.toBe(chat);
    }
  });
});

describe("the program that sent a request", () => {
  it.each([
    ["user-agent: claude-cli/2.1.207 (external, cli)", "claude-code"],
    ["user-agent: codex_exec/0.150.0 (Linux)", "codex"],
    ["originator: codex_cli_rs", "codex"],
    ["user-agent: opencode/1.3.0", "opencode"],
    ["x-openwebui-chat-id: c", "open-webui"],
    ["x-title: LibreChat", "librechat"],
    ["x-title: Lobe Chat", "lobechat"],
    ["user-agent: OpenAI/JS 7.0", "unknown"],
  ])("is told by %j: %s", (header, client) => {
    expect(identityOf({ headers: [header] }).client).toBe(client);
  });
});

describe("the person of a request for data", () => {
  const person = (caller: Caller, query: string, headers: readonly string[] = []) => {
    const given = asked({ caller, headers });
    const found = attempt(() => personOf({ ...given, query: new URLSearchParams(query) }));
    if (!found.ok) return found.error.code;
    return found.value.user === undefined ? "owner" : Object.values(found.value.user).join(" ");
  };
  const bob = ["x-hermes-user-id: bob"];

  it("may be named in the address by an administrator", () => {
    for (const caller of [LOCAL, ADMIN]) {
      expect(person(caller, "user=web:a:b")).toBe("web a:b");
      expect(person(caller, "")).toBe("owner");
      expect(person(caller, "user=web:a", bob)).toBe("users-disagree");
      for (const [query, code] of [
        ["user=alice", "bad-user"],
        ["user=web:a&user=web:b", "bad-user"],
        ...["user=:x", "user=web:"].map((each) => [each, "bad-id"] as const),
      ] as const)
        expect(person(caller, query)).toBe(code);
    }
    expect(parseUserRef("a:b:c", "user")).toEqual({ platform: "a", id: "b:c" });
  });

  it.each<[Caller, string, readonly string[], string]>([
    [ALICE, "", [], "api alice"],
    [ALICE, "user=api:alice", [], "api alice"],
    [ALICE, "user=api:bob", [], "not-your-user"],
    [ALICE, "user=web:alice", [], "not-your-user"],
    [OWNER, "user=api:bob", [], "not-your-user"],
    [WEB_UI, "user=web:bob", [], "no-user"],
    [WEB_UI, "user=api:bob", bob, "not-your-user"],
    [WEB_UI, "user=web:bob", bob, "web bob"],
  ])("is nobody else for other tokens: %j %s %j", (caller, query, headers, expected) => {
    expect(person(caller, query, headers)).toBe(expected);
  });
});

describe("the credential of a request", () => {
  const read = (...lines: string[]) => attempt(() => credentialOf(rawOf(lines)));
  const TOKEN = `hm_${"a".repeat(43)}`;
  const AUTH = `authorization: Bearer ${TOKEN}`;

  it("is our token in any of the headers", () => {
    for (const value of [`Bearer ${TOKEN}`, `bearer  ${TOKEN}`, TOKEN])
      expect(read(`Authorization: ${value}`)).toEqual({
        ok: true,
        value: { token: TOKEN, client: undefined },
      });
    for (const name of ["x-api-key", "X-Hermes-Token"])
      expect(read(`${name}: ${TOKEN}`)).toEqual({ ok: true, value: { token: TOKEN, client: undefined } });
  });

  it("may stand beside the client's own for a vendor", () => {
    const bearer = { header: "authorization", value: "Bearer sk-ant-oat" };
    const beside = read(`x-hermes-token: ${TOKEN}`, "authorization: Bearer sk-ant-oat");
    expect(beside).toMatchObject({ value: { token: TOKEN, client: bearer } });
    const client = { header: "x-api-key", value: "sk-ant" };
    expect(read(AUTH, "x-api-key: sk-ant")).toMatchObject({ value: { token: TOKEN, client } });
    expect(read("authorization: Bearer sk-1")).toMatchObject({ value: { token: undefined } });
  });

  it("is refused when there are two, and is never both", () => {
    const two = read(`x-hermes-token: ${TOKEN}`, `x-api-key: ${TOKEN}b`);
    expect(two).toMatchObject({ error: { code: "two-tokens" } });
    const same = read(`x-hermes-token: ${TOKEN}`, `x-api-key: ${TOKEN}`);
    expect(same).toMatchObject({ value: { client: undefined } });
    for (const name of ["authorization", "x-api-key", "x-hermes-token"])
      expect(read(`${name}: a`, `${name}: a`)).toMatchObject({ error: { code: "repeated-header" } });
    expect(read("x-hermes-token: sk-1")).toMatchObject({ value: { token: "sk-1", client: undefined } });
  });
});
