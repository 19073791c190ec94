import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { credentialOf, type IdentitySettings, identify, parseUserRef, personOf } from "../src/identity.ts";
import type { Caller, TokenRights } from "../src/types.ts";
import type { WireRequest } from "../src/wires/wire.ts";
import { attempt } from "./attempt.ts";

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

type Header = readonly [name: string, value: string];
type Given = {
  readonly caller?: Caller;
  readonly headers?: readonly Header[];
  readonly wire?: WireRequest["wire"];
  readonly ids?: WireRequest["ids"];
  readonly settings?: Partial<IdentitySettings>;
  readonly env?: Readonly<Record<string, string>>;
};

/** As Node receives it: each byte of UTF-8 as one character. */
function bytes(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}

function asked({ caller = LOCAL, headers = [], wire = "chat", ids = {}, settings, env = {} }: Given) {
  const request: WireRequest = {
    wire,
    model: "m",
    isStream: false,
    system: "",
    messages: [],
    tools: [],
    toolChoice: "auto",
    maxOutputTokens: undefined,
    temperature: undefined,
    includeUsage: false,
    ids,
    unsupported: [],
  };
  return {
    caller,
    headers: new Headers(),
    rawHeaders: headers.flat(),
    request,
    settings: { ...SETTINGS, ...settings },
    env,
    now: NOW,
  };
}

function identityOf(given: Given) {
  const found = attempt(() => identify(asked(given)));
  if (!found.ok) throw new Error(`${found.error.code}: ${found.error.message}`);
  return found.value;
}

function refusal(given: Given) {
  const found = attempt(() => identify(asked(given)));
  if (found.ok) throw new Error(`not refused: ${JSON.stringify(found.value)}`);
  return { status: found.error.status, code: found.error.code };
}

function jwt(claims: object, secret = "s3cret"): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = `${part({ alg: "HS256", typ: "JWT" })}.${part(claims)}`;
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
}

const SECONDS = NOW.getTime() / 1000;
const CAROL = jwt({ sub: "carol", iss: "open-webui", iat: SECONDS, exp: SECONDS + 300 });

describe("the user of a request", () => {
  it("is the owner for a local caller, an owner's token and an admin that name nobody", () => {
    for (const caller of [LOCAL, OWNER, ADMIN]) expect(identityOf({ caller }).user).toBeUndefined();
    expect(identityOf({ caller: LOCAL }).isAdmin).toBe(true);
    expect(identityOf({ caller: ADMIN }).isAdmin).toBe(true);
    expect(identityOf({ caller: OWNER }).isAdmin).toBe(false);
  });

  it("is the token's own, whatever the body says", () => {
    expect(identityOf({ caller: ALICE, ids: { user: "bob" } }).user).toEqual({
      platform: "api",
      id: "alice",
    });
    expect(identityOf({ caller: OWNER, ids: { user: "bob" } }).user).toBeUndefined();
  });

  it.each(["X-Hermes-User-Id", "X-OpenWebUI-User-Id", "x-sm-user-id"])(
    "of a token for one person is never another: %s",
    (header) => {
      for (const caller of [ALICE, OWNER])
        expect(refusal({ caller, headers: [[header, "bob"]] })).toEqual({
          status: 403,
          code: "not-your-user",
        });
      expect(identityOf({ caller: ALICE, headers: [[header, "alice"]] }).user).toMatchObject({ id: "alice" });
    },
  );

  it.each([
    [{ headers: [["X-Hermes-User-Id", "bob"]] }, "api", "bob"],
    [{ headers: [["X-OpenWebUI-User-Id", "bob"]] }, "open-webui", "bob"],
    [{ headers: [["x-sm-user-id", "bob"]] }, "api", "bob"],
    [{ ids: { user: "bob" } }, "api", "bob"],
    [{ headers: [["x-hermes-user-id", "a:b"]] }, "api", "a:b"],
    [{ headers: [["x-hermes-user-id", "bob"]], ids: { user: "bob" } }, "api", "bob"],
  ] as [Given, string, string][])("is named by a program that may: %j", (given, platform, id) => {
    for (const caller of [LOCAL, ADMIN])
      expect(identityOf({ ...given, caller }).user).toEqual({ platform, id });
    expect(identityOf({ ...given, caller: WEB_UI }).user).toEqual({ platform: "web", id });
  });

  it("must be named by a program with users of its own", () => {
    expect(refusal({ caller: WEB_UI })).toEqual({ status: 400, code: "no-user" });
    expect(refusal({ caller: WEB_UI, headers: [["x-hermes-user-id", ""]] })).toEqual({
      status: 400,
      code: "bad-id",
    });
  });

  it("is refused when two names disagree", () => {
    const two: Header[] = [
      ["x-hermes-user-id", "alice"],
      ["x-openwebui-user-id", "bob"],
    ];
    for (const caller of [LOCAL, ADMIN, WEB_UI]) {
      expect(refusal({ caller, headers: two }).code).toBe("users-disagree");
      expect(refusal({ caller, headers: two.slice(0, 1), ids: { user: "bob" } }).code).toBe("users-disagree");
    }
  });

  it.each([
    [
      "twice",
      [
        ["X-Hermes-User-Id", "a"],
        ["x-hermes-user-id", "a"],
      ],
      "repeated-header",
    ],
    ["with underscores", [["X_Hermes_User_Id", "a"]], "bad-header"],
    [
      "with both separators",
      [
        ["X-Hermes-User-Id", "a"],
        ["X_Hermes-User_Id", "b"],
      ],
      "bad-header",
    ],
    ["blank", [["x-hermes-user-id", ""]], "bad-id"],
    ["with a control character", [["x-hermes-user-id", "a\u0007"]], "bad-id"],
    ["with a C1 control character", [["x-hermes-user-id", bytes("a\u0085b")]], "bad-id"],
    ["in Latin-1", [["x-hermes-user-id", "Jos\u00e9"]], "bad-id"],
    ["too long", [["x-hermes-user-id", "a".repeat(4_097)]], "bad-id"],
    ["as a placeholder", [["x-hermes-user-id", "{{LIBRECHAT_USER_ID}}"]], "bad-id"],
    ["as a variable", [["x-openwebui-user-id", "\u0024{USER_ID}"]], "bad-id"],
  ] as [string, Header[], string][])("is refused when a header names it %s", (_how, headers, code) => {
    for (const caller of [LOCAL, ADMIN, WEB_UI])
      expect(refusal({ caller, headers })).toEqual({ status: 400, code });
  });

  it("is refused when the body names it by half a surrogate pair, U+0000 or nothing", () => {
    for (const user of ["\ud800", "a\0b", "", "  "]) expect(refusal({ ids: { user } }).code).toBe("bad-id");
  });

  it("may have any letters, and each spelling is a user of its own", () => {
    const names = ["Jos\u00e9", "Jose\u0301", "李雷", "🦊", "JOS\u00c9", "a b", "a+b%40"];
    const found = names.map((name) => identityOf({ headers: [["x-hermes-user-id", bytes(name)]] }).user?.id);
    expect(found).toEqual(names);
    expect(identityOf({ ids: { user: "Jos\u00e9" } }).user?.id).toBe(found[0]);
  });
});

describe("Open WebUI's signed user", () => {
  const settings = { jwtSecret: "s3cret" };

  it("is believed when the signature is right", () => {
    const headers: Header[] = [["X-OpenWebUI-User-Jwt", CAROL]];
    expect(identityOf({ headers, settings }).user).toEqual({ platform: "open-webui", id: "carol" });
    expect(identityOf({ caller: WEB_UI, headers, settings }).user).toEqual({ platform: "web", id: "carol" });
    expect(refusal({ caller: ALICE, headers, settings }).code).toBe("not-your-user");
  });

  it("is refused when it is not, and never ignored", () => {
    const forged = jwt({ sub: "carol", iss: "open-webui", exp: SECONDS + 300 }, "guess");
    for (const token of [forged, "x", "", `${CAROL}x`])
      expect(refusal({ headers: [["x-openwebui-user-jwt", token]], settings })).toEqual({
        status: 401,
        code: "bad-user-jwt",
      });
    expect(refusal({ headers: [["x-openwebui-user-jwt", CAROL]] })).toEqual({
      status: 403,
      code: "jwt-not-configured",
    });
  });

  it("is the only one that Open WebUI's own token may name", () => {
    const caller = holder({ kind: "names-users", platform: "open-webui" });
    const signed: Header[] = [["x-openwebui-user-jwt", CAROL]];
    expect(identityOf({ caller, headers: signed, settings }).user?.id).toBe("carol");
    expect(identityOf({ caller, headers: signed, ids: { user: "someone" }, settings }).user?.id).toBe(
      "carol",
    );
    const unsigned = { status: 403, code: "unsigned-user" };
    for (const name of ["x-hermes-user-id", "x-sm-user-id"]) {
      expect(refusal({ caller, headers: [[name, "carol"]], settings })).toEqual(unsigned);
      expect(refusal({ caller, headers: [...signed, [name, "carol"]], settings })).toEqual(unsigned);
    }
    expect(refusal({ caller, ids: { user: "carol" }, settings })).toEqual(unsigned);
    expect(identityOf({ caller: WEB_UI, ids: { user: "carol" }, settings }).user?.id).toBe("carol");
  });

  it("makes the unsigned header worthless, also while the secret's variable is missing", () => {
    const headers: Header[] = [["x-openwebui-user-id", "carol"]];
    expect(refusal({ headers, settings })).toEqual({ status: 403, code: "unsigned-user" });
    const missing = { jwtSecret: "$OPEN_WEBUI_SECRET" };
    expect(refusal({ headers, settings: missing }).code).toBe("unsigned-user");
    expect(refusal({ headers: [["x-openwebui-user-jwt", CAROL]], settings: missing })).toEqual({
      status: 503,
      code: "jwt-not-configured",
    });
  });

  it("is verified with a secret from the environment", () => {
    for (const jwtSecret of ["$OPEN_WEBUI_SECRET", "\u0024{OPEN_WEBUI_SECRET}"]) {
      const given = { headers: [["x-openwebui-user-jwt", CAROL]] as Header[], settings: { jwtSecret } };
      expect(identityOf({ ...given, env: { OPEN_WEBUI_SECRET: "s3cret\n" } }).user?.id).toBe("carol");
    }
  });
});

describe("the profile of a request", () => {
  const settings = { identityProfiles: { "api:alice": "work", "open-webui:*": "Shared", "api:": "broken" } };

  it("is the identity's own, then the platform's, and none for the owner", () => {
    const profile = (given: Given) => identityOf({ ...given, settings }).profile;
    expect(profile({ ids: { user: "alice" } })).toBe("work");
    expect(profile({ ids: { user: "bob" } })).toBeUndefined();
    expect(profile({ headers: [["x-openwebui-user-id", "bob"]] })).toBe("shared");
    expect(profile({})).toBeUndefined();
    expect(profile({ caller: ALICE })).toBe("work");
  });

  it("is never the served home when config names an impossible one", () => {
    for (const name of ["../up", "", 7, "test"]) {
      const identityProfiles = { "api:alice": name } as IdentitySettings["identityProfiles"];
      expect(refusal({ caller: ALICE, settings: { identityProfiles } })).toEqual({
        status: 503,
        code: "bad-profile",
      });
    }
  });

  it("does not come from what every object has", () => {
    expect(
      identityOf({ caller: holder({ kind: "user", user: { platform: "constructor", id: "x" } }) }).profile,
    ).toBeUndefined();
  });
});

describe("the conversation of a request", () => {
  const session = (given: Given) => identityOf(given).session;

  it("is the first that is present, in the order of the list", () => {
    const headers: Header[] = [
      ["X-Hermes-Session-Id", "mine"],
      ["x-claude-code-session-id", UUID],
      ["session-id", "s"],
      ["x-opencode-session", "o"],
      ["X-OpenWebUI-Chat-Id", "w"],
      ["X-Hermes-Session-Key", "k"],
    ];
    const ids = { conversation: "c", previousResponseId: "resp_1", litellmSessionId: "l" };
    const kinds = headers.map((_, from) =>
      session({ headers: headers.slice(from), ids: from === 0 ? ids : {} }),
    );
    expect(kinds.map(({ kind, chatId }) => [kind, chatId])).toEqual([
      ["hermes-session-id", "mine"],
      ["claude-code", `claude-code-${UUID}`],
      ["codex", "codex-s"],
      ["opencode", "opencode-o"],
      ["open-webui", "open-webui-w"],
      ["session-key", "key-k"],
    ]);
    expect(kinds.every(({ sessionKey }) => sessionKey === "k")).toBe(true);
    expect(kinds.map(({ history }) => history)).toEqual([
      "server",
      "client",
      "client",
      "client",
      "client",
      "server",
    ]);
    expect(session({ headers: headers.slice(-1), ids })).toMatchObject({
      kind: "conversation",
      history: "server",
    });
    expect(session({})).toEqual({ kind: "prefix", chatId: undefined, history: "client" });
  });

  it("is found in the body", () => {
    expect(session({ ids: { conversation: "c1" } })).toMatchObject({
      kind: "conversation",
      chatId: "conversation-c1",
    });
    expect(session({ ids: { previousResponseId: "resp_1", litellmSessionId: "l" } })).toEqual({
      kind: "previous-response",
      chatId: undefined,
      history: "server",
      previousResponseId: "resp_1",
    });
    expect(session({ ids: { litellmSessionId: "l" } })).toMatchObject({
      kind: "litellm",
      chatId: "litellm-l",
    });
  });

  it("has only what is new when it continues a stored response", () => {
    const given: Given = { headers: [["x-openwebui-chat-id", "w"]], ids: { previousResponseId: "resp_1" } };
    expect(session(given)).toMatchObject({
      kind: "open-webui",
      history: "server",
      previousResponseId: "resp_1",
    });
  });

  it("of Claude Code has the id that its import has, for the owner only", () => {
    const headers: Header[] = [["X-Claude-Code-Session-Id", UUID]];
    expect(session({ headers })).toMatchObject({ sessionId: `claude-code-${UUID}`, platformChatId: UUID });
    expect(session({ caller: ALICE, headers }).sessionId).toBeUndefined();
    const subagent = session({ headers: [...headers, ["x-claude-code-agent-id", "a17b"]] });
    expect(subagent).toMatchObject({
      chatId: `claude-code-${UUID}-agent-a17b`,
      sessionId: `claude-code-${UUID}-agent-a17b`,
      parentChatId: `claude-code-${UUID}`,
    });
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

  it.each([
    "user-123",
    "{",
    '{"session_id":"x"}',
    '{"device_id":"d","session_id":7}',
    "user_x_account_y_session_z",
  ])("is not read from metadata of another form: %s", (metadataUserId) => {
    expect(session({ wire: "messages", ids: { metadataUserId } }).kind).toBe("prefix");
  });

  it("of Codex is the thread, because subagents share their parent's session", () => {
    const codex: Header = ["user-agent", "codex_cli_rs/0.144.0"];
    const root = session({ headers: [codex, ["session-id", "s"], ["thread-id", "s"]] });
    expect(root).toMatchObject({ kind: "codex", chatId: "codex-s" });
    expect(root.parentChatId).toBeUndefined();
    expect(session({ headers: [codex, ["session-id", "s"], ["thread-id", "t"]] })).toMatchObject({
      chatId: "codex-t",
      parentChatId: "codex-s",
    });
    expect(session({ headers: [["session_id", "s"]] }).chatId).toBe("codex-s");
    expect(
      session({
        headers: [
          ["session_id", "s"],
          ["session-id", "s"],
        ],
      }).chatId,
    ).toBe("codex-s");
    expect(
      refusal({
        headers: [
          ["session_id", "s"],
          ["session-id", "t"],
        ],
      }).code,
    ).toBe("repeated-header");
    expect(
      refusal({
        headers: [
          ["session_id", "s"],
          ["session_id", "s"],
        ],
      }).code,
    ).toBe("repeated-header");
  });

  it("is named by a prompt's cache key for Codex only: others share one between conversations", () => {
    const ids = { promptCacheKey: "p" };
    expect(session({ headers: [["originator", "codex_vscode"]], ids })).toMatchObject({ chatId: "codex-p" });
    expect(session({ ids }).kind).toBe("prefix");
  });

  it("of OpenCode with other vendors is in x-session-affinity", () => {
    const headers: Header[] = [
      ["user-agent", "opencode/1.2.3"],
      ["x-session-affinity", "ses_1"],
    ];
    expect(session({ headers })).toMatchObject({ kind: "opencode", chatId: "opencode-ses_1" });
    expect(session({ headers: headers.slice(1) }).kind).toBe("prefix");
  });

  it.each([
    ["opencode/1.18.33", "ses_1", "opencode-ses_1"],
    ["Kilo-Code/7.7.7", "ses_1", "kilo-ses_1"],
    ["Kilo-Code/7.7.7", "title-ses_1", undefined],
  ])("of %s is that of an import: %s", (agent, id, sessionId) => {
    const headers: Header[] = [
      ["user-agent", agent],
      ["x-session-affinity", id],
    ];
    expect(session({ headers }).sessionId).toBe(sessionId);
  });

  it("of a temporary chat of Open WebUI is told by its messages: such chats share an id", () => {
    expect(session({ headers: [["x-openwebui-chat-id", "local:AbC"]] }).kind).toBe("prefix");
  });

  it("is found by the next id when a header is empty, as in a client whose chat has none yet", () => {
    expect(
      session({
        headers: [
          ["x-openwebui-chat-id", ""],
          ["x-hermes-session-key", "k"],
        ],
      }).kind,
    ).toBe("session-key");
  });

  it.each([
    "x-hermes-session-id",
    "x-claude-code-session-id",
    "thread-id",
    "x-opencode-session",
    "x-hermes-session-key",
  ])("is refused when %s is repeated or not an id", (header) => {
    expect(
      refusal({
        headers: [
          [header, "a"],
          [header, "b"],
        ],
      }).code,
    ).toBe("repeated-header");
    expect(refusal({ headers: [[header, "a\u0000"]] }).code).toBe("bad-id");
    expect(refusal({ headers: [[header, "{{CHAT_ID}}"]] }).code).toBe("bad-id");
  });

  it("stays within the length of a chat id, and long ids do not meet short ones", () => {
    const long = "x".repeat(4_096);
    const chats = [long, `${long.slice(1)}y`].map(
      (id) => session({ headers: [["thread-id", id]] }).chatId ?? "",
    );
    expect(new Set(chats).size).toBe(2);
    for (const chat of chats) {
      expect(chat.length).toBeLessThanOrEqual(4_096);
      expect(session({ headers: [["thread-id", chat.slice("codex-".length)]] }).chatId).not.toBe(chat);
    }
  });

  it("of Claude Code does not confuse a session that is named like a subagent", () => {
    const plain = session({
      headers: [
        ["x-claude-code-session-id", UUID],
        ["x-claude-code-agent-id", "b"],
      ],
    });
    const tricked = session({ headers: [["x-claude-code-session-id", `${UUID}-agent-b`]] });
    expect(tricked.chatId).not.toBe(plain.chatId);
    expect(tricked.sessionId).toBeUndefined();
  });
});

describe("the program that sent a request", () => {
  it.each([
    [["user-agent", "claude-cli/2.1.207 (external, cli)"], "claude-code"],
    [["user-agent", "codex_exec/0.150.0 (Linux)"], "codex"],
    [["originator", "codex_cli_rs"], "codex"],
    [["user-agent", "opencode/1.3.0"], "opencode"],
    [["x-openwebui-chat-id", "c"], "open-webui"],
    [["x-title", "LibreChat"], "librechat"],
    [["x-title", "Lobe Chat"], "lobechat"],
    [["user-agent", "OpenAI/JS 7.0"], "unknown"],
  ] as [Header, string][])("is told by %j: %s", (header, client) => {
    expect(identityOf({ headers: [header] }).client).toBe(client);
  });
});

describe("the person of a request for data", () => {
  const person = (caller: Caller, query: string, headers: readonly Header[] = []) => {
    const found = attempt(() =>
      personOf({ ...asked({ caller, headers }), query: new URLSearchParams(query) }),
    );
    return found.ok ? found.value.user : found.error.code;
  };

  it("may be named in the address by an administrator", () => {
    for (const caller of [LOCAL, ADMIN]) {
      expect(person(caller, "user=web:a:b")).toEqual({ platform: "web", id: "a:b" });
      expect(person(caller, "")).toBeUndefined();
      expect(person(caller, "user=web:a", [["x-hermes-user-id", "b"]])).toBe("users-disagree");
      for (const bad of ["user=alice", "user=", "user=:x", "user=web:", "user=web:a&user=web:b"])
        expect(typeof person(caller, bad), bad).toBe("string");
    }
  });

  it("is nobody else for other tokens", () => {
    expect(person(ALICE, "")).toEqual({ platform: "api", id: "alice" });
    expect(person(ALICE, "user=api:alice")).toEqual({ platform: "api", id: "alice" });
    for (const other of ["user=api:bob", "user=web:alice"])
      expect(person(ALICE, other)).toBe("not-your-user");
    expect(person(OWNER, "user=api:bob")).toBe("not-your-user");
    expect(person(WEB_UI, "user=web:bob")).toBe("no-user");
    expect(person(WEB_UI, "user=api:bob", [["x-hermes-user-id", "bob"]])).toBe("not-your-user");
    expect(person(WEB_UI, "user=web:bob", [["x-hermes-user-id", "bob"]])).toEqual({
      platform: "web",
      id: "bob",
    });
  });

  it("is written as platform and id, and the id may have colons", () => {
    expect(parseUserRef("a:b:c", "user")).toEqual({ platform: "a", id: "b:c" });
  });
});

describe("the credential of a request", () => {
  const read = (...headers: Header[]) => attempt(() => credentialOf(new Headers(), headers.flat()));
  const TOKEN = `hm_${"a".repeat(43)}`;

  it.each([
    [["Authorization", `Bearer ${TOKEN}`]],
    [["authorization", `bearer  ${TOKEN}`]],
    [["authorization", TOKEN]],
    [["x-api-key", TOKEN]],
    [["X-Hermes-Token", TOKEN]],
  ] as [Header][])("is our token in %j", (header) => {
    expect(read(header)).toEqual({ ok: true, value: { token: TOKEN, client: undefined } });
  });

  it("may stand beside the client's own for a vendor", () => {
    const vendor = { header: "authorization", value: "Bearer sk-ant-oat" };
    expect(read(["x-hermes-token", TOKEN], ["authorization", "Bearer sk-ant-oat"])).toMatchObject({
      value: { token: TOKEN, client: vendor },
    });
    expect(read(["authorization", `Bearer ${TOKEN}`], ["x-api-key", "sk-ant"])).toMatchObject({
      value: { token: TOKEN, client: { header: "x-api-key", value: "sk-ant" } },
    });
    expect(read(["authorization", "Bearer sk-1"])).toMatchObject({ value: { token: undefined } });
  });

  it("is refused when there are two, and is never both", () => {
    expect(read(["x-hermes-token", TOKEN], ["x-api-key", `${TOKEN}b`])).toMatchObject({
      error: { code: "two-tokens" },
    });
    expect(read(["x-hermes-token", TOKEN], ["x-api-key", TOKEN])).toMatchObject({
      value: { client: undefined },
    });
    for (const name of ["authorization", "x-api-key", "x-hermes-token"])
      expect(read([name, "a"], [name, "a"])).toMatchObject({ error: { code: "repeated-header" } });
    expect(read(["x-hermes-token", "sk-1"])).toMatchObject({ value: { token: "sk-1", client: undefined } });
  });
});
