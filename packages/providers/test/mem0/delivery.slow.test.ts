// How queued writes come to Mem0: once, also when an answer was lost, and what becomes of those that Mem0 does not take.
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { Mem0Connection } from "../../src/mem0/provider.ts";
import { MEM0_SETTINGS } from "../../src/mem0/settings.ts";
import type { FakeMem0 } from "../fakes/servers/mem0.ts";
import { batchOf, contextOf, DELIVERED, deliver, entryOf } from "../kit/deliver.ts";
import { KEY, requestsTo, serve } from "./harness.ts";

const signal = new AbortController().signal;
const TURN = { sessionId: "s", at: "2026-11-16T10:00:00.000Z", number: 1 };

/** A connection as a new process makes it. */
function connect(fake: FakeMem0): Mem0Connection {
  const home = tempDirectory();
  const settings = MEM0_SETTINGS.read({ home, env: { MEM0_HOST: fake.url, MEM0_API_KEY: KEY } });
  return new Mem0Connection({ ...settings, edition: fake.edition }, contextOf("Mem0", home));
}

const turn = (connection: Mem0Connection, attempt: number) =>
  batchOf(connection.turnItems({ ...TURN, user: "I like tea", assistant: "Noted." }), attempt);
const entry = (connection: Mem0Connection, attempt: number) =>
  batchOf(entryOf(connection, "Likes tea"), attempt);

describe.each(["platform", "oss"] as const)("on %s", (edition) => {
  it.each([
    ["a turn", turn, ["I like tea", "Noted."]],
    ["an entry", entry, ["Likes tea"]],
  ])("%s whose answer was lost is not stored twice", async (_, make, texts) => {
    const fake = await serve(edition);
    const before = connect(fake);
    fake.dropAnswerNext();
    expect(await deliver(before, make(before, 1), signal)).toMatchObject({ kind: "later" });
    const next = connect(fake);
    expect(await deliver(next, make(next, 2), signal)).toEqual(DELIVERED);
    expect(fake.table.all().map(({ memory }) => memory)).toEqual(texts);
  });
});

describe("a repeated attempt", () => {
  it("waits for a turn that Mem0 still works on", async () => {
    const fake = await serve();
    fake.settleByHand = true;
    const before = connect(fake);
    await deliver(before, turn(before, 1), signal);
    const next = connect(fake);
    const delivered = deliver(next, turn(next, 2), signal);
    await expect.poll(() => requestsTo(fake, "/v3/memories/").length).toBeGreaterThan(0);
    fake.settle();
    expect(await delivered).toEqual(DELIVERED);
    expect(requestsTo(fake, "/v3/memories/add/")).toHaveLength(1);
  });

  it("finds the turn on a server that refuses filters by metadata", async () => {
    const fake = await serve();
    const before = connect(fake);
    await deliver(before, turn(before, 1), signal);
    fake.failNext(1, 400, { error: "Invalid filters" });
    const next = connect(fake);
    expect(await deliver(next, turn(next, 2), signal)).toEqual(DELIVERED);
    expect(requestsTo(fake, "/v3/memories/add/")).toHaveLength(1);
  });

  it.each([
    [429, true],
    [401, true],
    [503, true],
    [500, false], // it may have been stored
  ])("counts unless Mem0 has surely not stored the turn (%i: %j)", async (status, isUnsent) => {
    const fake = await serve();
    const connection = connect(fake);
    fake.failNext(1, status);
    expect(await deliver(connection, turn(connection, 1), signal)).toMatchObject({ isUnsent });
  });

  it("is not taken for delivered while Mem0 cannot be asked", async () => {
    const fake = await serve();
    const connection = connect(fake);
    fake.failNext(1, 500);
    expect(await deliver(connection, turn(connection, 2), signal)).toMatchObject({ kind: "later" });
    expect(fake.table.all()).toEqual([]);
  });
});

describe("a write that Mem0 does not take", () => {
  it.each([
    ["a wrong address", 404, { detail: "Not found." }, "blocked"],
    ["a used-up quota", 413, { error: "quota" }, "blocked"],
    ["a revoked key", 401, { detail: "Given token not valid" }, "blocked"],
    ["a plan that ended", 402, { detail: "Payment required" }, "blocked"],
    ["a text that is too long", 413, { detail: "Request body too large" }, "refused"],
    ["a wrong field", 400, { error: "Invalid request" }, "refused"],
    ["too many requests", 429, { detail: "Request was throttled." }, "later"],
    ["an error of the server", 500, { error: "server" }, "later"],
    ["a failed extraction", 200, { status: "FAILED", event_id: "e", message: "no" }, "refused"],
  ])("because of %s (%i)", async (_, status, body, kind) => {
    const fake = await serve();
    const connection = connect(fake);
    fake.replyNext(1, { status, body });
    expect(await deliver(connection, turn(connection, 1), signal)).toMatchObject({ kind });
  });
});
