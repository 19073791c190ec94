// Several writers on one conversation, and writers that die: no message gets two summaries, none is lost.
import { describe, expect, it } from "vitest";
import { LosslessEngine } from "../../../src/context/lossless/lossless-engine.ts";
import { listedNodes } from "../../../src/context/lossless/overview.ts";
import { openSessionStore, type SessionStore } from "../../../src/sessions/index.ts";
import { alternating } from "../../../testing/context-engine/lists.ts";
import { modelThat } from "../../../testing/context-engine/summarisers.ts";
import { startScript } from "../../fakes/child.ts";
import { newPath } from "../../fakes/session-index.ts";
import { Conversation, SMALL } from "./conversation.ts";

async function longTalk(store?: SessionStore): Promise<Conversation> {
  const talk = await Conversation.begin(
    { ...SMALL, summarizer: modelThat((_, call) => `summary ${call}`) },
    store ? { store } : {},
  );
  await talk.say(alternating(80, 400));
  return talk;
}

describe("two engines on one conversation", () => {
  it("at the same moment: the second one uses what the first one stored", async () => {
    const path = newPath();
    await using one = await openSessionStore({ path });
    await using other = await openSessionStore({ path });
    const talk = await longTalk(one);
    // Both have read the database and written their summaries before the first one stores.
    const both = Promise.withResolvers<void>();
    let waiting = 0;
    const meet = modelThat(async () => {
      waiting += 1;
      if (waiting === 8) both.resolve();
      await both.promise;
      return "short";
    });
    const engines = [one, other].map(
      (store) => new LosslessEngine({ ...SMALL, store, sessionId: "root", summarizer: meet }),
    );
    const outcomes = await Promise.all(engines.map((engine) => engine.compress(talk.live)));
    expect(outcomes.map(({ kind }) => kind)).toEqual(["compacted", "compacted"]);
    await talk.expectWhole();
    const ids = (await talk.nodes()).map(({ node_id }) => node_id);
    const [first, second] = outcomes.map(({ summary = "" }) => listedNodes(summary));
    expect(second).toEqual(first);
    expect(ids).toEqual(expect.arrayContaining([...(first ?? [])]));
    // Leaves and merged nodes of the loser were discarded, not stored.
    const leaves = (await talk.nodes()).filter(({ depth }) => depth === 0).length;
    const above = [3, 9, 27, 81].reduce((sum, size) => sum + Math.floor(leaves / size), 0);
    expect(ids).toHaveLength(leaves + above);
  });

  it("a chain that another program split in two is no obstacle", async () => {
    const talk = await longTalk();
    await using _store = talk.store;
    const { store } = talk;
    await store.endSession("root", "compression");
    const copies = talk.live.map(({ role, content, meta }) => ({ role, content, originId: meta.rowId ?? 0 }));
    const twins: Conversation[] = [];
    for (const id of ["left", "right"]) {
      const twin = await Conversation.begin(talk.setting, { store, id: `${id} alone` });
      await store.createSession(id, { source: "cli", parentSessionId: "root" });
      const ids = await store.appendMany(id, copies);
      for (const row of await store.getMessagesById(ids)) twin.written.set(row.id, row);
      for (const row of await store.getMessages("root")) twin.written.set(row.id, row);
      twin.sessionId = id;
      await twin.resume();
      twins.push(twin);
    }
    for (const twin of twins) {
      expect((await twin.compact()).kind).toBe("compacted");
      await twin.expectWhole();
      expect(await twin.expectReadable()).toBeGreaterThan(3);
    }
  });
});

describe("processes", () => {
  it("three of them compact one session together", async () => {
    const path = newPath();
    await using store = await openSessionStore({ path });
    const talk = await longTalk(store);
    const children = [1, 2, 3].map(() => startScript("lossless-process.ts", [path, "root"]));
    for (const child of children) expect(await child.nextLine()).toBe("ready");
    for (const child of children) child.say("go");
    const listed: string[][] = [];
    for (const child of children) {
      const outcome = JSON.parse((await child.nextLine()) ?? "{}") as { kind: string; listed: string[] };
      expect(outcome.kind).toBe("compacted");
      listed.push(outcome.listed);
      child.say("end");
      await child.rest();
    }
    expect(listed[1]).toEqual(listed[0]);
    expect(listed[2]).toEqual(listed[0]);
    await talk.expectWhole();
    await talk.expectReadable();
  });

  it("one that dies between storing its summaries and the rotation leaves a conversation that goes on", async () => {
    const path = newPath();
    await using store = await openSessionStore({ path });
    const talk = await longTalk(store);
    const child = startScript("lossless-process.ts", [path, "root"]);
    expect(await child.nextLine()).toBe("ready");
    child.say("go");
    expect(JSON.parse((await child.nextLine()) ?? "{}")).toMatchObject({ kind: "compacted" });
    await child.kill();
    const nodes = await talk.nodes();
    expect(nodes.length).toBeGreaterThan(5);
    await talk.resume();
    expect(talk.live).toHaveLength(80);
    await talk.expectWhole();
    await talk.say(alternating(30, 400));
    const outcome = await talk.compact();
    expect(outcome.kind).toBe("compacted");
    expect((await talk.nodes()).slice(0, nodes.length)).toEqual(nodes);
    await talk.expectWhole();
    await talk.expectReadable();
  });

  it("one that dies while a model is writing leaves nothing behind", async () => {
    const path = newPath();
    await using store = await openSessionStore({ path });
    const talk = await longTalk(store);
    const child = startScript("lossless-process.ts", [path, "root", "hang"]);
    expect(await child.nextLine()).toBe("ready");
    child.say("go");
    expect(await child.nextLine()).toBe("hanging");
    await child.kill();
    expect(await talk.nodes()).toEqual([]);
    expect((await talk.compact()).kind).toBe("compacted");
    await talk.expectWhole();
  });
});
