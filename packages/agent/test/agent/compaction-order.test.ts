// The steps of a compaction and their order, and the calls that engine, provider and listeners get.
import { expect, it } from "vitest";
import { compactionHome, type Journal, SUMMARY } from "./compaction-home.ts";

const FROM_LOCK_TO_UNLOCK = [
  "store.tryAcquireCompressionLock",
  "store.appendMany",
  "provider.onPreCompress",
  "model.summary",
  "engine.compress",
  "store.getCompressionLockHolder",
  "provider.onSessionEnd",
  "engine.onSessionEnd",
  "provider.systemPromptBlock",
  "store.continueSession",
  "engine.onSessionStart",
  "provider.onSessionSwitch",
  "engine.onCompacted",
  "store.releaseCompressionLock",
];

function fromTheLock(journal: Journal): readonly string[] {
  const all = journal.order(...FROM_LOCK_TO_UNLOCK);
  return all.slice(all.indexOf("store.tryAcquireCompressionLock"));
}

it("the lock encloses flush, providers, summary, prompt and transaction, in this order", async () => {
  const { agent, journal } = await compactionHome({ provider: {} });
  expect((await agent.compress()).kind).toBe("compacted");
  expect(fromTheLock(journal)).toEqual(FROM_LOCK_TO_UNLOCK.filter((what) => !what.startsWith("engine.")));
});

it("an engine is told of the end of the old session before the transaction and of the new one after it", async () => {
  const { agent, journal, events, home } = await compactionHome({
    engine: "",
    provider: { onPreCompress: "Remember the pier." },
  });
  const old = agent.sessionId;
  const count = agent.messages.length;
  await agent.compress();
  expect(agent.warnings).toEqual([]);
  expect(fromTheLock(journal)).toEqual(FROM_LOCK_TO_UNLOCK.filter((what) => what !== "model.summary"));
  expect(journal.argsOf("engine.compress")).toEqual([[count, "Remember the pier."]]);
  expect(journal.argsOf("engine.onSessionEnd").map(([id]) => id)).toEqual([old]);
  expect(journal.argsOf("engine.onSessionStart").at(-1)).toEqual([
    agent.sessionId,
    {
      boundaryReason: "compression",
      oldSessionId: old,
      hermesHome: home,
      platform: "cli",
      model: "test-model",
      contextLength: 20_000,
    },
  ]);
  expect(events).toContainEqual({
    type: "session-switch",
    from: old,
    to: agent.sessionId,
    reason: "compression",
  });
});

it("the continuation has summary and tail, says where it comes from, and takes the next number of the title", async () => {
  const { agent, store, wire } = await compactionHome({
    options: { user: { platform: "cli", id: "ada" }, cwd: "/harbour" },
  });
  await agent.run("paint it");
  await agent.setTitle("Harbour");
  const ids = [agent.sessionId];
  for (const number of [2, 3]) {
    await agent.compress();
    ids.push(agent.sessionId);
    expect(await agent.title()).toBe(`Harbour #${number}`);
    for (const question of ["still?", "really?", "sure?"]) await agent.run(question);
  }
  const rows = await Promise.all(ids.map((id) => store.getSession(id)));
  expect(rows.map((row) => [row?.parent_session_id, row?.end_reason, row?.user_id, row?.cwd])).toEqual([
    [null, "compression", "ada", "/harbour"],
    [ids[0], "compression", "ada", "/harbour"],
    [ids[1], null, "ada", "/harbour"],
  ]);
  const marks = rows.map((row) => JSON.parse(row?.model_config ?? "{}"));
  expect(marks[1]).toEqual({ ...marks[0], _compressed_from: ids[0] });
  expect(marks[2]).toEqual({ ...marks[0], _compressed_from: ids[1] });
  const texts = agent.messages.map(({ content }) => String(content));
  expect(texts.filter((text) => text.includes(SUMMARY))).toHaveLength(1);
  expect(texts).toContain("sure?");
  const stored = (await store.getMessages(agent.sessionId)).map(({ id, content }) => [id, content]);
  expect(agent.messages.map(({ meta, content }) => [meta.rowId, content])).toEqual(stored);
  expect(wire.requests.at(-1)?.messages).toHaveLength(agent.messages.length - 1);
});

it("the lease of a turn moves along: the old session is free, the new one is taken until the turn ends", async () => {
  const holders: unknown[] = [];
  let id = "";
  const { agent, store } = await compactionHome({
    turns: 20,
    answer: async (request) => {
      const isSummary = request.messages.length === 1;
      const ids = isSummary ? [id] : [id, agent.sessionId];
      holders.push(await Promise.all(ids.map(async (each) => (await store.getSessionLease(each)) !== null)));
      return undefined;
    },
  });
  id = agent.sessionId;
  await agent.run(`${"long ".repeat(3_000)}question`);
  expect(agent.sessionId).not.toBe(id);
  expect(holders[0]).toEqual([true]);
  expect(holders.at(-1)).toEqual([false, true]);
  expect(await store.getSessionLease(agent.sessionId)).toBeNull();
});
