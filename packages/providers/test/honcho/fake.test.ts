// The fake Honcho is what the provider is tested against, so it is tested first: with recorded requests, wrong requests and trouble.
// `fake-sdk.test.ts` tests it with the official client.
import { describe, expect, it, onTestFinished } from "vitest";
import { FakeHoncho } from "../fakes/servers/honcho.ts";
import {
  readRecordings,
  replay,
  request,
  shapeDifferences,
  successesOf,
} from "../fakes/servers/recordings.ts";

const KEY = "test-key";

async function startFake(): Promise<FakeHoncho> {
  const fake = await new FakeHoncho().start();
  onTestFinished(() => fake.stop());
  fake.requireAuth(KEY);
  return fake;
}

/** Sends JSON with the key and answers with status and body. */
function send(fake: FakeHoncho, method: string, path: string, body?: unknown) {
  return request(`${fake.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

// ---- Recorded requests

/** Why a recorded success is none. */
const NOT_VALID: Readonly<Record<string, string>> = {
  "honcho-017": "an empty list of messages",
  "honcho-101": "a success that is no JSON is trouble, not an answer of the service",
};
/** Parts of an answer of older servers that 06a does not have. */
const OLD_KEYS = ["explicit", "deductive"];
const FIRST = "nanoid_00000000000001";

/** What the recordings take for granted. */
function fill(fake: FakeHoncho): void {
  for (const peer of ["user-1", "user-2", "hermes"]) fake.addPeer("hermes", peer);
  fake.addPeer("other", "someone");
  fake.addMessage("hermes", "s1", { id: FIRST, peer_id: "user-1", content: "I like tea" });
  fake.join("hermes", "s1", "user-1", { observe_me: true, observe_others: false });
  fake.setSummary("hermes", "s1", "They spoke about tea.");
  fake.chatAnswer = "They like tea.";
  const pairs = [["hermes", "user-1"] as const, ["user-1", "user-1"] as const, ["user-1", "hermes"] as const];
  for (const [observer_id, observed_id] of pairs) {
    fake.setCard("hermes", observer_id, observed_id, ["Name: Ann"]);
    fake.addConclusion("hermes", { observer_id, observed_id, content: "likes tea", session_id: "s1" });
  }
  fake.addConclusion("hermes", {
    id: FIRST,
    observer_id: "hermes",
    observed_id: "user-1",
    content: "lives in Oslo",
  });
}

const recordings = readRecordings("honcho");

describe.skipIf(!recordings)("a recorded request of the official client", () => {
  const valid = (recordings ?? []).filter((each) => !(each.id in NOT_VALID) && successesOf(each).length > 0);
  const current = valid.filter((each) => !each.request?.path.startsWith("/v2/"));
  const older = valid.filter((each) => each.request?.path.startsWith("/v2/"));

  it("is there to be sent again", () => {
    expect(current.length).toBeGreaterThan(100);
    expect(older).toHaveLength(11);
  });

  it.each(current.map((each) => [each.id, each.op, each] as const))(
    "%s %s is accepted",
    async (_id, _op, recording) => {
      const fake = await startFake();
      fill(fake);
      for (const recorded of successesOf(recording)) {
        if (!("authorization" in recorded.request.headers)) fake.requireAuth(undefined);
        const answer = await replay(fake.url, recorded.request, KEY);
        expect(Math.floor(answer.status / 100), JSON.stringify(answer.body)).toBe(
          Math.floor(recorded.status / 100),
        );
        const differences = shapeDifferences(recorded.body, answer.body);
        expect(
          differences.filter((each) => !OLD_KEYS.some((key) => each.endsWith(`.${key} is missing`))),
        ).toEqual([]);
      }
    },
  );

  it.each(older.map((each) => [each.id, each] as const))(
    "%s of API v2 is answered with 404",
    async (_id, recording) => {
      const fake = await startFake();
      for (const { request: recorded } of successesOf(recording))
        expect(await replay(fake.url, recorded, KEY)).toEqual({ status: 404, body: { detail: "Not Found" } });
    },
  );
});

// ---- Wrong requests

const W = "/v3/workspaces/hermes";
const message = { peer_id: "user-1", content: "x" };
const conclusion = { content: "x", observer_id: "user-1", observed_id: "user-1" };

type Refused = {
  readonly status: number;
  readonly what: string;
  readonly call: string;
  readonly body?: unknown;
};

const REFUSED: readonly Refused[] = [
  { status: 422, what: "body.id: string_pattern_mismatch", call: "POST /v3/workspaces", body: { id: "a b" } },
  { status: 422, what: "body.id: missing", call: "POST /v3/workspaces", body: {} },
  { status: 422, what: "body.name: extra_forbidden", call: "POST W/peers", body: { id: "p", name: "x" } },
  { status: 422, what: "body.id: string_too_long", call: "POST W/peers", body: { id: "p".repeat(513) } },
  { status: 422, what: "body.id: string_type", call: "POST W/sessions", body: { id: 1 } },
  {
    status: 422,
    what: "path.session_id: string_pattern_mismatch",
    call: "POST W/sessions/a%20b/messages",
    body: { messages: [message] },
  },
  {
    status: 422,
    what: "body.p.observe_me: boolean_type",
    call: "POST W/sessions/s1/peers",
    body: { p: { observe_me: "yes" } },
  },
  {
    status: 422,
    what: "body.p.observeMe: extra_forbidden",
    call: "POST W/sessions/s1/peers",
    body: { p: { observeMe: true } },
  },
  {
    status: 422,
    what: "body.messages: too_short",
    call: "POST W/sessions/s1/messages",
    body: { messages: [] },
  },
  {
    status: 422,
    what: "body.messages: too_long",
    call: "POST W/sessions/s1/messages",
    body: { messages: Array(101).fill(message) },
  },
  {
    status: 422,
    what: "body.messages.0.role: extra_forbidden",
    call: "POST W/sessions/s1/messages",
    body: { messages: [{ ...message, role: "user" }] },
  },
  {
    status: 422,
    what: "body.messages.0.peer_id: missing",
    call: "POST W/sessions/s1/messages",
    body: { messages: [{ content: "x" }] },
  },
  {
    status: 422,
    what: "body.messages.0.content: string_too_long",
    call: "POST W/sessions/s1/messages",
    body: { messages: [{ ...message, content: "x".repeat(25_001) }] },
  },
  { status: 422, what: "query.tokens: less_than_equal", call: "GET W/sessions/s1/context?tokens=100001" },
  {
    status: 422,
    what: "query.peer_perspective: value_error",
    call: "GET W/sessions/s1/context?peer_perspective=hermes",
  },
  { status: 422, what: "query.query: extra_forbidden", call: "GET W/peers/user-1/context?query=tea" },
  { status: 422, what: "body.peer_card: missing", call: "PUT W/peers/user-1/card", body: { card: [] } },
  {
    status: 422,
    what: "body.query: string_too_short",
    call: "POST W/peers/user-1/chat",
    body: { query: "" },
  },
  {
    status: 422,
    what: "body.query: string_too_long",
    call: "POST W/peers/user-1/chat",
    body: { query: "x".repeat(10_001) },
  },
  {
    status: 422,
    what: "body.reasoning_level: literal_error",
    call: "POST W/peers/user-1/chat",
    body: { query: "q", reasoning_level: "huge" },
  },
  { status: 422, what: "body.conclusions: too_short", call: "POST W/conclusions", body: { conclusions: [] } },
  {
    status: 422,
    what: "body.conclusions.0.content: string_too_short",
    call: "POST W/conclusions",
    body: { conclusions: [{ ...conclusion, content: "" }] },
  },
  {
    status: 422,
    what: "body.filters.peer: value_error",
    call: "POST W/sessions/s1/messages/list",
    body: { filters: { peer: "user-1" } },
  },
  {
    status: 404,
    what: "Session nowhere not found in workspace hermes",
    call: "POST W/conclusions",
    body: { conclusions: [{ ...conclusion, session_id: "nowhere" }] },
  },
  { status: 404, what: "Peer nobody not found in workspace hermes", call: "GET W/peers/nobody/context" },
  { status: 404, what: "Conclusion none not found", call: "DELETE W/conclusions/none" },
  { status: 404, what: "Not Found", call: "GET /v3/workspace" },
  { status: 405, what: "Method Not Allowed", call: "PATCH /v3/workspaces" },
];

describe("a wrong request", () => {
  it.each(REFUSED)("is answered with $status $what ($call)", async ({ status, what, call, body }) => {
    const fake = await startFake();
    fill(fake);
    const before = fake.stored();
    const [method = "", path = ""] = call.split(" ");
    const answer = await send(fake, method, path.replace(/^W/, W), body);
    const { detail } = answer.body as { detail: string | { loc: string[]; type: string }[] };
    const told =
      typeof detail === "string" ? detail : detail.map(({ loc, type }) => `${loc.join(".")}: ${type}`)[0];
    expect([answer.status, told]).toEqual([status, what]);
    expect(fake.stored()).toEqual(before);
  });

  it("creates nothing", async () => {
    const fake = await startFake();
    for (const call of [
      "PUT W",
      "PUT W/peers/p",
      "PUT W/sessions/s",
      "POST W/sessions/s/peers",
      "POST W/sessions/s/messages",
    ]) {
      const [method = "", path = ""] = call.split(" ");
      expect((await send(fake, method, path.replace(/^W/, W), { nonsense: 1 })).status).toBe(422);
    }
    expect((await send(fake, "POST", `${W}/sessions/a%20b/messages`, { messages: [message] })).status).toBe(
      422,
    );
    expect(fake.stored()).toEqual({});
  });

  it("is refused when a file is too large, of another type, or without its author", async () => {
    const fake = await startFake();
    const upload = async (content: string, type: string, fields: Record<string, string>) => {
      const form = new FormData();
      form.append("file", new Blob([content], { type }), "a.txt");
      for (const [name, value] of Object.entries(fields)) form.append(name, value);
      const init = { method: "POST", headers: { authorization: `Bearer ${KEY}` }, body: form };
      return (await request(`${fake.url}${W}/sessions/s1/messages/upload`, init)).status;
    };
    const peer_id = "user-1";
    expect(await upload("x".repeat(5 * 2 ** 20 + 1), "text/plain", { peer_id })).toBe(413);
    expect(await upload("x", "image/png", { peer_id })).toBe(415);
    expect(await upload("x", "text/plain", {})).toBe(422);
    expect(await upload("x", "text/plain", { peer_id, metadata: "[1]" })).toBe(422);
    expect(fake.messagesOf("hermes", "s1")).toEqual([]);
    expect(await upload("{}", "application/json", { peer_id })).toBe(201);
    expect(fake.messagesOf("hermes", "s1").map(({ content }) => content)).toEqual(["{}"]);
  });
});

// ---- State, trouble, background

describe("the fake", () => {
  const post = (fake: FakeHoncho, content: string) =>
    send(fake, "POST", `${W}/sessions/s1/messages`, { messages: [{ peer_id: "user-1", content }] });

  it("says whether it created or found, and creates what a message names", async () => {
    const fake = await startFake();
    expect((await post(fake, "hello")).status).toBe(201);
    expect(fake.stored()).toMatchObject({
      hermes: {
        peers: ["user-1"],
        sessions: { s1: { messages: [{ peer_id: "user-1", content: "hello", metadata: {} }] } },
      },
    });
    expect((await send(fake, "POST", "/v3/workspaces", { id: "hermes" })).status).toBe(200);
    expect((await send(fake, "POST", `${W}/peers`, { id: "hermes" })).status).toBe(201);
    expect((await send(fake, "POST", `${W}/sessions`, { id: "s1" })).status).toBe(200);
    expect((await send(fake, "GET", `${W}/sessions/s1/peers/user-1/config`)).body).toEqual({
      observe_me: null,
      observe_others: null,
    });
    expect((await send(fake, "GET", `${W}/sessions/unknown/context`)).body).toMatchObject({
      messages: [],
      summary: null,
    });
    expect(fake.sessionsOf("hermes")).toEqual(["s1"]);
  });

  it("gives the newest messages that fit into the tokens", async () => {
    const fake = await startFake();
    for (const content of ["a".repeat(40), "b".repeat(40), "c".repeat(40)]) await post(fake, content);
    const { body } = await send(fake, "GET", `${W}/sessions/s1/context?tokens=20`);
    expect((body as { messages: { content: string }[] }).messages.map(({ content }) => content[0])).toEqual([
      "b",
      "c",
    ]);
  });

  it("derives conclusions for those who observe, by itself or by hand", async () => {
    const fake = await startFake();
    fake.derive = ({ content }) => [`said: ${content}`];
    await send(fake, "POST", `${W}/sessions/s1/peers`, {
      "user-1": { observe_me: true },
      ai: { observe_others: true },
      deaf: {},
    });
    await post(fake, "one");
    expect(fake.conclusionsOf("hermes", "ai", "user-1").map(({ content }) => content)).toEqual(["said: one"]);
    expect(fake.conclusionsOf("hermes", "deaf", "user-1")).toEqual([]);
    fake.settleByHand = true;
    await post(fake, "two");
    expect(fake.conclusionsOf("hermes", "user-1", "user-1")).toHaveLength(1);
    expect((await send(fake, "GET", `${W}/queue/status`)).body).toMatchObject({ pending_work_units: 1 });
    fake.settle();
    expect(fake.conclusionsOf("hermes", "user-1", "user-1")).toHaveLength(2);
  });

  it("deletes a session with its messages and conclusions", async () => {
    const fake = await startFake();
    fill(fake);
    expect((await send(fake, "DELETE", `${W}/sessions/s1`)).status).toBe(202);
    expect(fake.sessionsOf("hermes")).toEqual([]);
    expect(fake.conclusionsOf("hermes", "hermes", "user-1").map(({ content }) => content)).toEqual([
      "lives in Oslo",
    ]);
  });

  it("fails, drops and restarts on demand and keeps its data", async () => {
    const fake = await startFake();
    fake.failNext(1, 503, { detail: "unavailable" });
    expect(await post(fake, "lost")).toEqual({ status: 503, body: { detail: "unavailable" } });
    fake.dropNext();
    await expect(post(fake, "lost as well")).rejects.toThrow("fetch failed");
    fake.dropAnswerNext();
    await expect(post(fake, "stored")).rejects.toThrow("fetch failed");
    await fake.restart();
    expect((await post(fake, "later")).status).toBe(201);
    expect(fake.messagesOf("hermes", "s1").map(({ content }) => content)).toEqual(["stored", "later"]);
  });

  it("needs the key for everything but its health, and can be a server with an older API", async () => {
    const fake = await startFake();
    expect(await request(`${fake.url}/health`)).toEqual({ status: 200, body: { status: "ok" } });
    expect(await request(`${fake.url}${W}/queue/status`)).toEqual({
      status: 401,
      body: { detail: "Invalid JWT" },
    });
    fake.speaksV3 = false;
    expect((await send(fake, "POST", "/v3/workspaces", { id: "hermes" })).status).toBe(404);
  });
});
