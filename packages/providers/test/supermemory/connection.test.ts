// What the outbox may do to a connection: deliver a batch again, deliver to a server in trouble, deliver what another process left.
import { writeFileSync } from "node:fs";
import { afterEach, beforeEach, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { ServiceError } from "../../src/kit/http.ts";
import { partsPath } from "../../src/supermemory/conversations.ts";
import { SupermemoryConnection } from "../../src/supermemory/provider.ts";
import { SUPERMEMORY_SETTINGS } from "../../src/supermemory/settings.ts";
import { FakeSupermemory } from "../fakes/servers/supermemory.ts";
import { batchOf, contextOf, deliver } from "../kit/deliver.ts";
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
  return new SupermemoryConnection(SUPERMEMORY_SETTINGS.read({ home, env }), contextOf("Supermemory", home));
}

const queued = (kind: string, ...bodies: readonly unknown[]) =>
  batchOf(
    bodies.map((body) => ({ kind, sessionId: "s1", body })),
    1,
  );
const turn = (text: string) => ({ key: text, messages: [{ role: "user", content: text }] });
const turns = (...texts: readonly string[]) => queued("turn", ...texts.map(turn));
const said = () => fake.conversation("hermes", "s1")?.messages.map(({ content }) => content);

it("adds a batch once that is delivered again, by this process or the next, because its delivery was not noted", async () => {
  const batch = turns("The first message of a user", "The second message");
  const connection = connect();
  await connection.deliver(batch, SIGNAL);
  await connection.deliver(batch, SIGNAL);
  await connect().deliver(batch, SIGNAL);
  expect(fake.requests).toHaveLength(1);
  await connect().deliver(turns("The third message"), SIGNAL);
  expect(said()).toEqual(["The first message of a user", "The second message", "The third message"]);
});

it("leaves refused turns out of what it sends next", async () => {
  fake.failNext(1, 422);
  const poison = turns("A message that the server will never take");
  await expect(connect().deliver(poison, SIGNAL)).rejects.toThrow(ServiceError);
  await connect().deliver(turns("A message that is welcome"), SIGNAL);
  expect(said()).toEqual(["A message that is welcome"]);
});

it("keeps turns while its file is damaged, and says what to do", async () => {
  writeFileSync(partsPath(home), "not a database, and long enough to be read as one ".repeat(100));
  const outcome = await connect().deliver(turns("A message of a user"), SIGNAL);
  expect(outcome).toMatchObject({ kind: "later", reason: expect.stringContaining("move it away") });
  expect(fake.requests).toEqual([]);
});

it("waits with an entry whose document the server is still working on", async () => {
  const connection = connect();
  const entry = { target: "memory", text: "The kiln is hot" };
  await deliver(connection, queued("mirror-add", entry), SIGNAL);
  fake.failNext(1, 409);
  const remove = queued("mirror-remove", entry);
  expect(await deliver(connection, remove, SIGNAL)).toMatchObject({ kind: "later" });
  await deliver(connection, remove, SIGNAL);
  expect(fake.documents("hermes")).toEqual([]);
});

it("does not add the messages of a session whose turns another process has sent", async () => {
  await connect().deliver(turns("A message of a user, as a turn"), SIGNAL);
  await connect().deliver(queued("session", turn("A message of a user, at the end")), SIGNAL);
  expect(said()).toEqual(["A message of a user, as a turn"]);
});
