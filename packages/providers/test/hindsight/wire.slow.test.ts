// What Hindsight gets from us: the requests that its official client sends, and each write once, whatever happens to the answers.
import { randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { silentLogger } from "../../../core/src/lib/logger.ts";
import { Breaker } from "../../../core/src/providers/kit/breaker.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { readVectors } from "../../../core/test/golden/vectors.ts";
import { HindsightApi, type RetainItem } from "../../src/hindsight/api.ts";
import { HINDSIGHT_SETTINGS } from "../../src/hindsight/settings.ts";
import { Writes } from "../../src/hindsight/writes.ts";
import { createHttpClient } from "../../src/kit/http.ts";
import type { Batch, Delivery } from "../../src/kit/outbox/outbox.ts";
import type { FakeHindsight } from "../fakes/servers/hindsight.ts";
import { KEY, requestsTo, retains, startFake, storedTexts } from "./support.ts";

type RecordedRequest = {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
};

function apiOf(fake: FakeHindsight): HindsightApi {
  const closing = new AbortController();
  onTestFinished(() => closing.abort());
  const http = createHttpClient({
    service: "Hindsight",
    baseUrl: fake.url,
    headers: () => ({ authorization: `Bearer ${KEY}` }),
    timeoutMs: 2_000,
    breaker: new Breaker({ failures: 100 }),
    closing: closing.signal,
  });
  return new HindsightApi(http, 2_000, () => {});
}

const { signal } = new AbortController();

describe("a request equals the recorded one of the official client", () => {
  const recordings = readVectors<{ readonly id: string; readonly request: RecordedRequest }>(
    "wires/hindsight.jsonl",
  );
  const recorded = (id: string): RecordedRequest => {
    const found = recordings?.find((line) => line.id === `hindsight-${id}`);
    if (found === undefined) throw new Error(`There is no recording ${id}.`);
    return found.request;
  };
  const operation = "00000000-0000-4000-8000-0000000000aa";
  const turn = {
    content: "turn text",
    context: "conversation between Hermes Agent and the User",
    metadata: { session_id: "sess-1", message_count: "2" },
    document_id: "sess-1",
    tags: ["session:sess-1"],
    update_mode: "append",
  } as const;

  type RecordedBody = { readonly items: readonly [object & { readonly timestamp?: unknown }] };
  const withoutTime = ({ items: [{ timestamp: _, ...item }], ...rest }: RecordedBody) => ({
    items: [item],
    ...rest,
  });

  /** The recorded body, with changes that 06e or the options of the recording explain. */
  type Case = {
    readonly id: string;
    readonly send: (api: HindsightApi) => Promise<unknown>;
    readonly body?: (recorded: RecordedBody) => unknown;
    readonly version?: string;
  };

  const retain = (api: HindsightApi, item: RetainItem, isAsync: boolean) =>
    api.retain("hermes", { item, isAsync, operationId: operation }, signal);

  const cases: readonly Case[] = [
    { id: "002", send: (api) => api.server(signal) },
    // The client was given a time; ours is in the metadata and in each message.
    { id: "004", send: (api) => retain(api, turn, true), body: withoutTime },
    { id: "005", send: (api) => retain(api, { content: "x" }, false) },
    {
      id: "074",
      send: (api) => retain(api, { ...turn, context: "c", metadata: { a: "b" }, tags: ["t"] }, true),
      body: withoutTime,
      version: "0.6.2",
    },
    {
      id: "012",
      send: (api) =>
        api.recall(
          "hermes",
          {
            query: "tea",
            types: ["observation"],
            budget: "mid",
            max_tokens: 4096,
            tags: ["session:sess-1"],
            tags_match: "any",
          },
          signal,
        ),
    },
    // 06e: `{ entities: null }` instead of the client's `{}`, and always the number of tokens.
    {
      id: "014",
      send: (api) =>
        api.recall("bank with space/slash", { query: "tea", budget: "mid", max_tokens: 10 }, signal),
      body: (body) => ({ ...body, max_tokens: 10, include: { entities: null } }),
    },
    {
      id: "016",
      send: (api) => api.reflect("hermes", { query: "What does Ann like?", budget: "low" }, signal),
    },
    {
      id: "022",
      send: (api) => api.setMissions("hermes", { reflect_mission: "be brief" }, signal),
      version: "0.4.22",
    },
    {
      id: "025",
      send: (api) => api.setMissions("hermes", { reflect_mission: "m", retain_mission: "r" }, signal),
    },
    { id: "027", send: (api) => api.deleteBank("hermes", signal) },
    { id: "030", send: (api) => api.document("hermes", "a/b c", signal) },
    { id: "032", send: (api) => api.deleteDocument("hermes", "sess-1", signal) },
    { id: "036", send: (api) => api.checkKey(signal) },
    { id: "040", send: (api) => api.isPending("hermes", operation, signal) },
    { id: "042", send: (api) => api.cancel("hermes", operation, signal) },
    { id: "045", send: (api) => api.stats("hermes", signal) },
  ];

  it.each(cases)("$id", async ({ id, send, body = (same) => same, version = "0.9.1" }) => {
    const fake = await startFake({ version });
    fake.retain("hermes", { content: "Ann likes tea", document_id: "sess-1" });
    await send(apiOf(fake));
    const { method, path, query, body: sent, headers } = fake.requests.at(-1) ?? {};
    const expected = recorded(id);
    expect({ method, path, query, body: sent ?? null }).toEqual({
      method: expected.method,
      path: expected.path,
      query: expected.query,
      body: expected.body === null ? null : body(expected.body as RecordedBody),
    });
    expect(headers?.authorization).toBe(`Bearer ${KEY}`);
  });

  it("lists documents and facts by pages with the recorded parameters", async () => {
    const fake = await startFake();
    const api = apiOf(fake);
    await api.documents("hermes", signal);
    await api.factsWith("hermes", "tea", signal);
    const sent = fake.requests.map(({ method, path, query }) => ({
      method,
      path,
      query: Object.keys(query).sort(),
    }));
    const names = (id: string) => {
      const { method, path, query } = recorded(id);
      return { method, path, query: Object.keys(query).sort() };
    };
    expect(sent[0]).toEqual(names("028"));
    expect(sent[1]).toMatchObject({ method: names("019").method, path: names("019").path });
    for (const name of sent[1]?.query ?? []) expect(names("019").query).toContain(name);
  });
});

describe("a batch", () => {
  function start(fake: FakeHindsight, values: Record<string, unknown> = {}) {
    const home = tempDirectory();
    mkdirSync(join(home, "hindsight"));
    writeFileSync(join(home, "hindsight", "config.json"), JSON.stringify(values));
    const settings = HINDSIGHT_SETTINGS.read({ home, env: { PATH: "", HOME: "/nowhere" } });
    return new Writes(apiOf(fake), settings, silentLogger);
  }
  const batchOf = (
    texts: readonly string[],
    { sessionId = "session-1", banks = ["hermes"] } = {},
  ): Batch => ({
    id: randomUUID(),
    kind: "turn",
    sessionId,
    attempt: 1,
    items: texts.map((text, index) => ({
      id: index,
      kind: "turn",
      sessionId,
      createdAt: "2026-01-02T03:04:05.678Z",
      body: {
        bank: banks[index % banks.length],
        key: randomUUID(),
        messages: [{ role: "user", content: text, timestamp: "2026-01-02T03:04:05.678Z" }],
        tags: [`session:${sessionId}`],
        metadata: {
          retained_at: "2026-01-02T03:04:05.678Z",
          message_count: "1",
          turn_index: String(index + 1),
        },
      },
    })) as unknown as Batch["items"],
  });
  const deliver = async (writes: Writes, batch: Batch, attempt: number): Promise<Delivery | "failed"> => {
    try {
      return await writes.sendTurns({ ...batch, attempt }, signal);
    } catch {
      return "failed";
    }
  };

  it.each([
    ["0.9.1", true],
    ["0.9.1", false],
    ["0.6.2", true],
    ["0.6.2", false],
    ["0.4.22", true],
    ["0.4.22", false],
  ])("is stored once on %s with async %s when its answers are lost", async (version, isAsync) => {
    const fake = await startFake({ version });
    const batch = batchOf(["one", "two"]);
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      const writes = start(fake, { retain_async: isAsync }); // as another process would
      fake.delayNext(0); // the version
      if (attempt > 1 && version === "0.6.2")
        fake.delayNext(0, 1); // the look into the document
      else if (attempt > 1 && version === "0.9.1" && !isAsync) fake.delayNext(0, 1);
      if (attempt < 3) fake.dropAnswerNext(3);
      await deliver(writes, batch, attempt);
      fake.recover();
    }
    expect(await deliver(start(fake, { retain_async: isAsync }), batch, 4)).toEqual({ kind: "delivered" });
    expect(storedTexts(fake)).toEqual(["one", "two"]);
  });

  it("waits while an older server works on an earlier attempt, and is not sent again then", async () => {
    const fake = await startFake({ version: "0.6.2" });
    fake.settleByHand = true;
    const batch = batchOf(["one"]);
    fake.delayNext(0);
    fake.dropAnswerNext();
    expect(await deliver(start(fake), batch, 1)).toBe("failed");
    expect(await deliver(start(fake), batch, 2)).toMatchObject({ kind: "later", retryAfterMs: 2_000 });
    fake.settle();
    expect(await deliver(start(fake), batch, 3)).toEqual({ kind: "delivered" });
    expect(requestsTo(fake, "POST", "/memories")).toHaveLength(1);
    expect(storedTexts(fake)).toEqual(["one"]);
  });

  it("waits until the request of a killed process has arrived", async () => {
    const fake = await startFake({ version: "0.6.2" });
    const [killed, successor] = [start(fake), start(fake)];
    for (const each of [killed, successor]) await deliver(each, batchOf(["zero"]), 1); // both know the version
    fake.delayNext(500);
    const batch = batchOf(["one"]);
    const late = deliver(killed, batch, 1);
    await deliver(successor, batch, 2);
    await late;
    expect(storedTexts(fake).filter((text) => text === "one")).toHaveLength(1);
  });

  it("that was sent with other settings before counts as stored; a conflict of another kind does not", async () => {
    const fake = await startFake();
    const batch = batchOf(["one"]);
    expect(await deliver(start(fake), batch, 1)).toEqual({ kind: "delivered" });
    expect(await deliver(start(fake, { retain_context: "other" }), batch, 2)).toEqual({ kind: "delivered" });
    expect(storedTexts(fake)).toEqual(["one"]);
    const next = batchOf(["two"]);
    fake.delayNext(0);
    fake.failNext(1, 409, { detail: "no" });
    expect(await deliver(start(fake), next, 1)).toBe("failed");
  });

  it("whose turns belong to two banks is stored in both, once", async () => {
    const fake = await startFake();
    const batch = batchOf(["one", "two"], { banks: ["hermes", "other"] });
    for (const attempt of [1, 2])
      expect(await deliver(start(fake), batch, attempt)).toEqual({ kind: "delivered" });
    expect(storedTexts(fake)).toEqual(["one"]);
    expect(storedTexts(fake, "other")).toEqual(["two"]);
  });

  it("without a session is a document of its own", async () => {
    const fake = await startFake();
    const batch = batchOf(["one"], { sessionId: "" });
    await deliver(start(fake), batch, 1);
    expect(fake.documents("hermes").map(({ id }) => id)).toEqual([`turns-${batch.id}`]);
  });

  it("is not taken for one of an old server while the version cannot be asked", async () => {
    const fake = await startFake();
    const batch = batchOf(["one"]);
    for (const status of [200, 401, 500, 503]) {
      fake.fail(status, { detail: "trouble" }, { "retry-after-ms": "1" });
      expect(await deliver(start(fake), batch, 1)).toBe("failed");
    }
    await fake.stop();
    expect(await deliver(start(fake), batch, 1)).toBe("failed");
    expect(retains(fake)).toEqual([]);
  });
});
