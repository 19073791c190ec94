// Deliveries that are repeated: the server has no idempotency keys, so what an earlier attempt stored is looked for.
import { describe, expect, it } from "vitest";
import { HonchoConnection } from "../../src/honcho/provider.ts";
import { readHonchoSettings } from "../../src/honcho/settings.ts";
import type { NewItem } from "../../src/kit/outbox/outbox.ts";
import { batchOf, contextOf, deliver, entryOf } from "../kit/deliver.ts";
import { type HonchoHome, honchoHome, until, WORKSPACE } from "./honcho-home.ts";

const signal = AbortSignal.timeout(30_000);

function connect({ home }: HonchoHome): HonchoConnection {
  const settings = readHonchoSettings({ home, env: {}, userHome: home });
  return new HonchoConnection(settings, contextOf("Honcho", home), { cwd: "/projects/kiln" });
}

function turn(connection: HonchoConnection, user: string, at = new Date().toISOString()): readonly NewItem[] {
  return connection.turnItems({ sessionId: "s1", user, assistant: "yes", at, number: 1 });
}

function contents({ server }: HonchoHome): readonly string[] {
  return server.messagesOf(WORKSPACE, "kiln").map(({ content }) => content);
}

describe("a repeated delivery", () => {
  it("of messages that arrived stores nothing again, and sends the rest", async () => {
    const at = await honchoHome();
    const connection = connect(at);
    const items = [...turn(connection, "one"), ...turn(connection, "two")];
    await connection.deliver(batchOf(items.slice(0, 1), 1), signal);
    await connection.deliver(batchOf(items, 2), signal);
    await connection.deliver(batchOf(items, 3), signal);
    expect(contents(at)).toEqual(["one", "yes", "two", "yes"]);
  });

  it("of a turn of which a part arrived sends the rest of it", async () => {
    const at = await honchoHome({ messageMaxChars: 50 });
    const connection = connect(at);
    const items = turn(connection, "word ".repeat(2_000));
    await connection.deliver(batchOf(turn(connection, "zero"), 1, "other"), signal);
    at.server.delayNext(0); // the first post arrives
    at.server.dropNext();
    await expect(connection.deliver(batchOf(items, 1), signal)).rejects.toThrow();
    expect(contents(at)).toHaveLength(102);
    await connection.deliver(batchOf(items, 2), signal);
    const words = contents(at).slice(2, -1).join(" ").match(/word/g);
    expect(words).toHaveLength(2_000);
  });

  it("waits until the request of a killed process has arrived", async () => {
    const at = await honchoHome();
    const [killed, successor] = [connect(at), connect(at)];
    for (const [index, each] of [killed, successor].entries())
      await each.deliver(batchOf(turn(each, "zero"), 1, `other-${index}`), signal);
    const items = turn(killed, "one");
    at.server.delayNext(500);
    const late = killed.deliver(batchOf(items, 1), signal);
    await successor.deliver(batchOf(items, 2), signal);
    await late;
    expect(contents(at).filter((content) => content === "one")).toHaveLength(1);
  });

  it("with the same texts as another turn is not taken for it", async () => {
    const at = await honchoHome();
    const connection = connect(at);
    await connection.deliver(batchOf(turn(connection, "same"), 1, "batch-1"), signal);
    await connection.deliver(batchOf(turn(connection, "same"), 2, "batch-2"), signal);
    expect(contents(at)).toEqual(["same", "yes", "same", "yes"]);
  });

  it("of a conclusion finds the one that is there", async () => {
    const at = await honchoHome();
    const connection = connect(at);
    const items = entryOf(connection, "Likes tea");
    at.server.addConclusion(WORKSPACE, { content: "Likes tea", observer_id: "bot", observed_id: "ann" });
    await deliver(connection, batchOf(items, 2), signal);
    expect(at.server.conclusionsOf(WORKSPACE, "bot", "ann")).toHaveLength(1);
  });
});

describe("a late delivery", () => {
  it("carries the time of the turn, a prompt one leaves it to the server", async () => {
    const at = await honchoHome();
    const connection = connect(at);
    await connection.deliver(batchOf(turn(connection, "old", "2026-01-02T03:04:05.000Z"), 1), signal);
    await connection.deliver(batchOf(turn(connection, "new"), 1, "b2"), signal);
    const posts = at.server.requests.filter(({ path }) => path.endsWith("/messages"));
    const times = posts.flatMap(({ body }) =>
      (body as { messages: { created_at?: string }[] }).messages.map(({ created_at }) => created_at),
    );
    expect(times).toEqual(["2026-01-02T03:04:05.000Z", "2026-01-02T03:04:05.001Z", undefined, undefined]);
  });
});

describe("a server with an older API", () => {
  it("blocks the outbox, so that nothing is given up", async () => {
    const at = await honchoHome();
    at.server.speaksV3 = false;
    const connection = connect(at);
    expect(await deliver(connection, batchOf(turn(connection, "one"), 1), signal)).toMatchObject({
      kind: "blocked",
    });
  });
});

describe("a provider", () => {
  const FAST = { pauses: { firstMs: 20, longestMs: 100, blockedMs: 100 }, breakerMs: 100 };

  it.each([[{ hello: 1 }], [[]], [null]])(
    "stores a turn once whose messages are looked for and %j comes",
    async (body) => {
      const at = await honchoHome();
      const provider = await at.start({}, { limits: FAST });
      await provider.syncTurn?.("zero", "yes", { session_id: "s1" });
      await until(() => contents(at).length === 2);
      at.server.dropAnswerNext(); // stored, and its sender does not know
      at.server.replyNext(1, { status: 200, body });
      await provider.syncTurn?.("one", "yes", { session_id: "s1" });
      await provider.syncTurn?.("two", "yes", { session_id: "s1" });
      await until(() => contents(at).includes("two"));
      expect(contents(at)).toEqual(["zero", "yes", "one", "yes", "two", "yes"]);
    },
  );

  it("does not take a list with fewer messages than were sent for a delivery", async () => {
    const at = await honchoHome();
    const provider = await at.start({}, { limits: FAST });
    await provider.syncTurn?.("zero", "yes", { session_id: "s1" });
    await until(() => contents(at).length === 2);
    at.server.replyNext(1, { status: 201, body: [{ id: "m1" }] });
    await provider.syncTurn?.("one", "yes", { session_id: "s1" });
    await until(() => contents(at).length === 4);
  });
});
