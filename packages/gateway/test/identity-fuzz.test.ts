// 10,000 random requests: two of them share a conversation only if they say the same, and nobody becomes somebody else.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { credentialOf, identify, personOf } from "../src/identity.ts";
import type { Caller, Identity } from "../src/types.ts";
import type { WireRequest } from "../src/wires/wire.ts";
import { attempt, requestWith } from "./attempt.ts";

const RUNS = 10_000;
const SEED = 22;
const UUIDS = ["0f8fad5b-d9cb-469f-a165-70867728950e", "7c9e6679-7425-40de-944b-e07fc1f90ae7"];

/** Few and similar, so that they meet often; among them the texts that other kinds turn ids into. */
const id = fc.oneof(
  fc.constantFrom("a", "b"),
  fc.constantFrom(
    ...[
      "a",
      "b",
      "A",
      "a ",
      "a-b",
      "a:b",
      "api:a",
      "open-webui-a",
      "codex-a",
      "claude-code-a",
      "key-a",
      "~a",
    ],
    ...[
      "a-agent-b",
      "conversation-a",
      "litellm-a",
      "opencode-a",
      "Jos\u00e9",
      "Jose\u0301",
      "é",
      "\u00c3\u00a9",
    ],
    ...[...UUIDS, `${UUIDS[0]}-agent-b`, `~${"0f".repeat(32)}`, "x".repeat(4_095), "x".repeat(4_096)],
    ...[
      "",
      " ",
      "\0",
      "a\u0007",
      "\u0085",
      "\ud800",
      "{{CHAT_ID}}",
      "local:a",
      "*",
      "__proto__",
      "x".repeat(4_097),
    ],
  ),
  fc.string({ unit: "grapheme", maxLength: 6 }),
);

const HEADERS = [
  "x-hermes-user-id",
  "X-OpenWebUI-User-Id",
  "x-sm-user-id",
  "x-openwebui-user-jwt",
  "X-Hermes-Session-Id",
  "x-hermes-session-key",
  "x-claude-code-session-id",
  "x-claude-code-agent-id",
  "session-id",
  "session_id",
  "thread-id",
  "x-opencode-session",
  "x-openwebui-chat-id",
  "X_Hermes_User_Id",
  "user-agent",
  "authorization",
];

const header = fc.tuple(fc.constantFrom(...HEADERS), id, fc.boolean()).map(([name, value, isUtf8]) => [
  name,
  // As Node gives it: mostly UTF-8, sometimes bytes of another encoding.
  Buffer.from(value, isUtf8 || !/^[\u0000-\u00ff]*$/.test(value) ? "utf8" : "latin1").toString("latin1"),
]);

const caller: fc.Arbitrary<Caller> = fc.constantFrom<Caller>(
  { kind: "local" },
  { kind: "token", id: "1", rights: { kind: "owner" } },
  { kind: "token", id: "2", rights: { kind: "admin" } },
  { kind: "token", id: "3", rights: { kind: "names-users", platform: "web" } },
  { kind: "token", id: "4", rights: { kind: "names-users", platform: "open-webui" } },
  { kind: "token", id: "5", rights: { kind: "user", user: { platform: "api", id: "a" } } },
  { kind: "token", id: "6", rights: { kind: "user", user: { platform: "web", id: "b" } } },
);

/** Rarely present, because the first of them hides the others. */
const optionalId = fc.oneof({ arbitrary: fc.constant(undefined), weight: 5 }, { arbitrary: id, weight: 1 });
const ids: fc.Arbitrary<WireRequest["ids"]> = fc.record({
  user: optionalId,
  conversation: optionalId,
  previousResponseId: optionalId,
  litellmSessionId: optionalId,
  promptCacheKey: optionalId,
  metadataUserId: fc.oneof(
    { arbitrary: fc.constant(undefined), weight: 8 },
    { arbitrary: id, weight: 1 },
    { arbitrary: fc.constantFrom(...UUIDS).map((uuid) => `user_ab_account__session_${uuid}`), weight: 1 },
    {
      arbitrary: fc
        .constantFrom(...UUIDS)
        .map((uuid) => JSON.stringify({ device_id: "d", session_id: uuid })),
      weight: 1,
    },
  ),
});

const asking = fc.record({
  caller,
  rawHeaders: fc.array(header, { maxLength: 3 }).map((pairs) => pairs.flat()),
  ids,
  wire: fc.constantFrom<WireRequest["wire"]>("chat", "responses", "messages"),
});

const SETTINGS = {
  identityProfiles: { "api:a": "work", "web:*": "shared", "open-webui:a": "shared" },
  jwtSecret: "",
};

type Asking = typeof asking extends fc.Arbitrary<infer T> ? T : never;

function inputOf({ caller, rawHeaders, ids, wire }: Asking) {
  const request = requestWith(wire, ids);
  const now = new Date("2026-11-17T12:00:00Z");
  return { caller, rawHeaders, request, settings: SETTINGS, env: {}, now };
}

/** The first of these headers, as it was sent. */
function sender(rawHeaders: readonly string[]) {
  return (...names: string[]) =>
    names.flatMap((name) => {
      const at = rawHeaders.findIndex((text, index) => index % 2 === 0 && text.toLowerCase() === name);
      const value = at < 0 ? "" : Buffer.from(rawHeaders[at + 1] ?? "", "latin1").toString("utf8");
      return value === "" ? [] : [value];
    })[0];
}

/** Whom the request names, read in another way than identity.ts does. */
function saidUser({ caller, rawHeaders, ids }: Asking): string {
  const sent = sender(rawHeaders);
  const rights = caller.kind === "token" ? caller.rights : { kind: "admin" };
  if (rights.kind === "owner" || rights.kind === "user") return JSON.stringify(rights);
  const hermes = sent("x-hermes-user-id");
  const webUi = sent("x-openwebui-user-id");
  const isWebUi = hermes === undefined && webUi !== undefined;
  const id = hermes ?? webUi ?? sent("x-sm-user-id") ?? ids.user;
  if (id === undefined) return JSON.stringify({ kind: "owner" });
  const platform = "platform" in rights ? rights.platform : isWebUi ? "open-webui" : "api";
  return JSON.stringify({ kind: "user", user: { platform, id } });
}

/** The ids of the kind that was found, as they were sent. */
function saidChat({ rawHeaders, ids }: Asking, { session }: Identity): string {
  const sent = sender(rawHeaders);
  switch (session.kind) {
    case "hermes-session-id":
      return JSON.stringify(["text", sent("x-hermes-session-id")]);
    case "claude-code": {
      const inBody = UUIDS.find((uuid) => ids.metadataUserId?.includes(uuid));
      return JSON.stringify([
        "claude",
        sent("x-claude-code-session-id") ?? inBody,
        sent("x-claude-code-agent-id"),
      ]);
    }
    case "codex":
      return JSON.stringify([
        "codex",
        sent("thread-id") ?? sent("session-id", "session_id") ?? ids.promptCacheKey,
      ]);
    case "opencode":
      return JSON.stringify(["opencode", sent("x-opencode-session")]);
    case "open-webui":
      return JSON.stringify(["open-webui", sent("x-openwebui-chat-id")]);
    case "conversation":
      return JSON.stringify(["conversation", ids.conversation]);
    case "litellm":
      return JSON.stringify(["litellm", ids.litellmSessionId]);
    case "session-key":
      return JSON.stringify(["key", sent("x-hermes-session-key")]);
    default:
      return "by content";
  }
}

describe("10,000 random requests", () => {
  it("have no two conversations in one, and nobody becomes somebody else", () => {
    /** (profile, user, chat) -> what was said. */
    const chats = new Map<string, { readonly words: string; readonly whom: string }>();
    let accepted = 0;
    let met = 0;
    fc.assert(
      fc.property(asking, (asked) => {
        const input = inputOf(asked);
        const found = attempt(() => identify(input));
        expect(attempt(() => identify(input))).toEqual(found);
        if (!found.ok) {
          expect([400, 401, 403, 503]).toContain(found.error.status);
          return;
        }
        accepted += 1;
        const { user, profile, session } = found.value;
        const rights = asked.caller.kind === "token" ? asked.caller.rights : undefined;
        if (rights?.kind === "user") expect(user).toEqual(rights.user);
        if (rights?.kind === "owner") expect(user).toBeUndefined();
        if (rights?.kind === "names-users") expect(user?.platform).toBe(rights.platform);
        if (session.sessionId !== undefined) expect(user).toBeUndefined();
        if (session.chatId === undefined) return;
        expect(session.chatId.length).toBeLessThanOrEqual(4_096);
        const chat = JSON.stringify([profile ?? null, user ?? null, session.chatId]);
        const words = saidChat(asked, found.value);
        const whom = saidUser(asked);
        const known = chats.get(chat);
        if (known !== undefined) met += 1;
        const before = known?.words ?? words;
        chats.set(chat, { words, whom });
        expect(whom).toBe(known?.whom ?? whom);
        // X-Hermes-Session-Id may spell the chat of another kind: that is how a client goes on with a session that it knows by its id.
        const isAddress = [before, words].includes(JSON.stringify(["text", session.chatId]));
        if (!isAddress) expect(words).toBe(before);
      }),
      { numRuns: RUNS, seed: SEED },
    );
    // Otherwise the test would prove little.
    expect(accepted).toBeGreaterThan(RUNS / 4);
    expect(met).toBeGreaterThan(RUNS / 20);
  });

  it("never give the data of another person, and never fail with an exception", () => {
    fc.assert(
      fc.property(asking, id, (asked, inQuery) => {
        const { rawHeaders, caller } = asked;
        attempt(() => credentialOf(rawHeaders));
        const query = new URLSearchParams([["user", `api:${inQuery.toWellFormed()}`]]);
        const found = attempt(() => personOf({ ...inputOf(asked), query }));
        if (!found.ok) return;
        const rights = caller.kind === "token" ? caller.rights : undefined;
        if (rights?.kind === "user") expect(found.value.user).toEqual(rights.user);
        expect(rights?.kind).not.toBe("owner"); // the query names a user
        if (rights?.kind === "names-users") expect(found.value.user?.platform).toBe(rights.platform);
      }),
      { numRuns: RUNS / 2, seed: SEED },
    );
  });
});
