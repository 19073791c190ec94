// What the outbox may do to a connection: deliver a batch again, deliver to a server in trouble, deliver what another process left.
import { writeFileSync } from "node:fs";
import { afterEach, beforeEach, expect, it } from "vitest";
import { systemClock } from "../../../core/src/lib/index.ts";
import { silentLogger } from "../../../core/src/lib/logger.ts";
import { Breaker } from "../../../core/src/providers/kit/breaker.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { createHttpClient, ServiceError } from "../../src/kit/http.ts";
import { type Batch, type OutboxItem, openLane } from "../../src/kit/outbox/outbox.ts";
import { partsPath } from "../../src/supermemory/conversations.ts";
import { SupermemoryConnection } from "../../src/supermemory/provider.ts";
import { SUPERMEMORY_SETTINGS } from "../../src/supermemory/settings.ts";
import { FakeSupermemory } from "../fakes/servers/supermemory.ts";
import { deliver } from "../kit/deliver.ts";
import { KEY } from "./harness.ts";

const SIGNAL = AbortSignal.timeout(60_000);

let fake: FakeSupermemory;
let home: string;
beforeEach(async () => {
  fake = await new FakeSupermemory().start();
  home = tempDirectory();
});
afterEach(() => fake.stop());

function connect(): SupermemoryConnection {
  const env = { SUPERMEMORY_API_KEY: KEY, SUPERMEMORY_BASE_URL: fake.url };
  const lane = { isDurable: false, maxItems: 100, maxBytes: 2 ** 20, log: silentLogger };
  return new SupermemoryConnection(SUPERMEMORY_SETTINGS.read({ home, env }), {
    home,
    env,
    options: { hermes_home: home },
    sessionId: "sess-1",
    user: undefined,
    isWriting: true,
    http: (own) =>
      createHttpClient({
        ...own,
        service: "Supermemory",
        breaker: new Breaker({ failures: 99, openMs: 1 }),
        closing: new AbortController().signal,
      }),
    outbox: openLane({ ...lane, home, provider: "supermemory", user: "" }),
    log: silentLogger,
    clock: systemClock,
    inBackground: () => {},
  });
}

function batchOf(kind: string, ...bodies: readonly unknown[]): Batch {
  const items = bodies.map(
    (body, index): OutboxItem => ({ id: index + 1, kind, sessionId: "sess-1", body, createdAt: "" }),
  );
  const [first, ...others] = items;
  if (first === undefined) throw new Error("A batch has an item.");
  return { id: "batch-1", kind, sessionId: "sess-1", items: [first, ...others], attempt: 1 };
}

const turn = (text: string) => ({ key: text, messages: [{ role: "user", content: text }] });
const said = () => fake.conversation("hermes", "sess-1")?.messages.map(({ content }) => content);

it("adds a batch once that is delivered again, by this process or the next, because its delivery was not noted", async () => {
  const batch = batchOf("turn", turn("The first message of a user"), turn("The second message"));
  const connection = connect();
  await connection.deliver(batch, SIGNAL);
  await connection.deliver(batch, SIGNAL);
  await connect().deliver(batch, SIGNAL);
  expect(fake.requests).toHaveLength(1);
  await connect().deliver(batchOf("turn", turn("The third message")), SIGNAL);
  expect(said()).toEqual(["The first message of a user", "The second message", "The third message"]);
});

it("leaves refused turns out of what it sends next", async () => {
  fake.failNext(1, 422);
  const poison = batchOf("turn", turn("A message that the server will never take"));
  await expect(connect().deliver(poison, SIGNAL)).rejects.toThrow(ServiceError);
  await connect().deliver(batchOf("turn", turn("A message that is welcome")), SIGNAL);
  expect(said()).toEqual(["A message that is welcome"]);
});

it("keeps turns while its file is damaged, and says what to do", async () => {
  writeFileSync(partsPath(home), "not a database, and long enough to be read as one ".repeat(100));
  const outcome = await connect().deliver(batchOf("turn", turn("A message of a user")), SIGNAL);
  expect(outcome).toMatchObject({ kind: "later", reason: expect.stringContaining("move it away") });
  expect(fake.requests).toEqual([]);
});

it("waits with an entry whose document the server is still working on", async () => {
  const connection = connect();
  const entry = { target: "memory", text: "The kiln is hot" };
  await deliver(connection, batchOf("mirror-add", entry), SIGNAL);
  fake.failNext(1, 409);
  const remove = batchOf("mirror-remove", entry);
  expect(await deliver(connection, remove, SIGNAL)).toMatchObject({ kind: "later" });
  await deliver(connection, remove, SIGNAL);
  expect(fake.documents("hermes")).toEqual([]);
});

it("does not add the messages of a session whose turns another process has sent", async () => {
  await connect().deliver(batchOf("turn", turn("A message of a user, as a turn")), SIGNAL);
  await connect().deliver(batchOf("session", turn("A message of a user, at the end")), SIGNAL);
  expect(said()).toEqual(["A message of a user, as a turn"]);
});
