// Compactions that fail: the session is unchanged, the user gets a notice, the conversation goes on.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, it } from "vitest";
import type { AgentEvent } from "../../src/agent/index.ts";
import { isSummaryRequest } from "../fakes/long-conversation.ts";
import { type Gate, gate } from "../fakes/wires/script.ts";
import {
  type CompactionHome,
  type CompactionSetting,
  compactionHome,
  longText,
  memoryFile,
  SUMMARY,
} from "./compaction-home.ts";
import { call, lookTool } from "./turns.ts";

/** The session before, to be compared with the one after. */
async function snapshot({ agent, store }: CompactionHome) {
  const rows = await store.getMessages(agent.sessionId);
  return {
    id: agent.sessionId,
    prompt: agent.systemPrompt,
    said: agent.messages.map(({ role, content }) => [role, content]),
    stored: rows.map(({ role, content }) => [role, content]),
    ended: (await store.getSession(agent.sessionId))?.ended_at,
    sessions: (await store.listSessionIds()).length,
    locked: await store.getCompressionLockHolder(agent.sessionId),
    leased: await store.getSessionLease(agent.sessionId),
  };
}

/** After a first exchange, so that everything is stored and there is a prompt. */
async function spoken(setting: CompactionSetting): Promise<CompactionHome> {
  const made = await compactionHome({ provider: {}, ...setting });
  await made.agent.run("begin");
  return made;
}

async function expectToGoOn(
  { agent, wire, journal }: CompactionHome,
  system: string | undefined,
): Promise<void> {
  const id = agent.sessionId;
  expect(journal.argsOf("provider.onSessionSwitch")).toEqual([]);
  const result = await agent.run("go on");
  expect(result).toMatchObject({ completed: true, session_id: id });
  expect(wire.requests.at(-1)?.system).toBe(system);
}

/** As another program would. */
function remember(home: string, entry: string): void {
  mkdirSync(dirname(memoryFile(home)), { recursive: true });
  writeFileSync(memoryFile(home), entry);
}

function ends(events: readonly AgentEvent[]): readonly string[] {
  return events.flatMap((event) => (event.type === "compaction-end" ? [event.kind] : []));
}

function notices(events: readonly AgentEvent[]): string {
  return events.flatMap((event) => (event.type === "notice" ? [event.text] : [])).join("\n");
}

describe("a compaction whose transaction fails", () => {
  it("keeps the old id, list and prompt, skips both switch hooks, and the conversation goes on", async () => {
    const made = await spoken({
      engine: "",
      store: () => ({ continueSession: () => Promise.reject(new Error("the disk is full")) }),
    });
    const { agent, events, journal } = made;
    remember(made.home, "The pier is green.");
    const before = await snapshot(made);
    const starts = journal.argsOf("engine.onSessionStart").length;
    const report = await agent.compress();
    expect(report).toMatchObject({ kind: "failed", sessionId: before.id, feedback: { noop: true } });
    expect(report.notices.join()).toContain("the disk is full");
    expect(await snapshot(made)).toEqual(before);
    expect(ends(events)).toEqual(["failed"]);
    expect(notices(events)).toContain("the disk is full");
    expect(journal.argsOf("engine.onSessionStart")).toHaveLength(starts);
    await expectToGoOn(made, before.prompt);
  });
});

describe("a compaction that came to nothing", () => {
  const ROUNDS = 5;

  /** Every turn takes several tool rounds, each of which is too long. */
  async function failing(store: CompactionSetting["store"]) {
    const { tools } = lookTool(() => longText("log", 14_000));
    let round = 0;
    const made = await compactionHome({
      turns: 3,
      provider: {},
      options: { tools },
      store,
      answer: (request) => {
        if (isSummaryRequest(request)) return undefined;
        round += 1;
        return round % (ROUNDS + 1) === 0 ? { text: "All seen." } : call("look", { at: round });
      },
    });
    return made;
  }

  const COSTS = ["provider.onPreCompress", "model.summary", "provider.onSessionEnd"];

  it("is not tried again by itself in the same turn; in the next one, and by hand, it is", async () => {
    const { agent, journal, events } = await failing(() => ({
      continueSession: () => Promise.reject(new Error("the disk is full")),
    }));
    expect(await agent.run("look around")).toMatchObject({ completed: true, api_calls: ROUNDS + 1 });
    expect(journal.order(...COSTS)).toEqual(COSTS);
    expect(ends(events)).toEqual(["failed"]);
    expect(await agent.compress()).toMatchObject({ kind: "failed" });
    expect(ends(events)).toEqual(["failed", "failed"]);
    await agent.run("look again");
    expect(ends(events)).toEqual(["failed", "failed", "failed"]);
  });
});

it("a summary that fails leaves everything as it was when config wants it so", async () => {
  const made = await spoken({
    config: { compression: { abort_on_summary_failure: true } },
    answer: (request) =>
      isSummaryRequest(request) ? { status: 400, message: "no summaries today" } : undefined,
  });
  const before = await snapshot(made);
  expect(await made.agent.compress()).toMatchObject({ kind: "aborted", sessionId: before.id });
  expect(await snapshot(made)).toEqual(before);
  expect(made.journal.argsOf("provider.onSessionEnd")).toEqual([]);
  expect(ends(made.events)).toEqual(["aborted"]);
  expect(notices(made.events)).toMatch(/no summaries today/);
  await expectToGoOn(made, before.prompt);
});

it("what cannot be stored is not compacted either: nothing may leave the list before it is in the database", async () => {
  const made = await compactionHome({
    provider: {},
    store: () => ({ appendMany: () => Promise.reject(new Error("the disk is full")) }),
  });
  const { agent, wire, journal } = made;
  const count = agent.messages.length;
  expect(await agent.compress()).toMatchObject({ kind: "failed" });
  expect(agent.messages).toHaveLength(count);
  expect(wire.requests).toEqual([]);
  expect(journal.order("provider.onPreCompress", "store.continueSession")).toEqual([]);
});

describe("the lock of a compaction", () => {
  it("keeps a second process from it, which says so once, asks no model and goes on", async () => {
    const made = await spoken({});
    const { agent, store, events, wire } = made;
    await store.tryAcquireCompressionLock(agent.sessionId, "somebody else", { ttl: 300 });
    const before = await snapshot(made);
    expect(await agent.compress()).toMatchObject({ kind: "busy", sessionId: before.id });
    expect(await agent.compress()).toMatchObject({ kind: "busy" });
    expect(await snapshot(made)).toEqual(before);
    expect(events.filter(({ type }) => type === "notice").length).toBe(2); // and the one about the small window
    expect(notices(events)).toContain("another process compacts this session");
    expect(wire.requests).toHaveLength(1);
    await expectToGoOn(made, before.prompt);
  });

  it("is looked at again after the summary: who lost it meanwhile changes nothing", async () => {
    let take = async (): Promise<void> => {};
    const made = await spoken({
      answer: async (request) => {
        if (isSummaryRequest(request)) await take();
        return undefined;
      },
    });
    const { agent, store, journal } = made;
    const before = await snapshot(made);
    take = async () => {
      const holder = (await store.getCompressionLockHolder(before.id)) ?? "";
      await store.releaseCompressionLock(before.id, holder);
      await store.tryAcquireCompressionLock(before.id, "somebody else", { ttl: 300 });
    };
    expect(await agent.compress()).toMatchObject({ kind: "failed" });
    expect(await snapshot(made)).toEqual({ ...before, locked: "somebody else" });
    expect(journal.order("provider.onSessionEnd", "store.continueSession")).toEqual([]);
    await expectToGoOn(made, before.prompt);
  });
});

describe("an interrupt while the summary is written", () => {
  async function interrupted(run: (made: CompactionHome) => Promise<unknown>) {
    const asked: Gate = gate();
    const made = await spoken({
      turns: 13,
      answer: (request) => {
        if (!isSummaryRequest(request)) return undefined;
        asked.open();
        return { text: SUMMARY, pauseBefore: "forever" };
      },
    });
    const before = await snapshot(made);
    const running = run(made);
    await asked.opened;
    made.agent.interrupt();
    return { made, before, result: await running };
  }

  it("leaves the session unchanged, with the new message in it, and tells listeners", async () => {
    const question = longText("lastquestion", 12_000);
    const { made, before, result } = await interrupted(({ agent }) => agent.run(question));
    expect(result).toMatchObject({ interrupted: true, exit: "interrupted_by_user", session_id: before.id });
    expect(await snapshot(made)).toEqual({
      ...before,
      said: [...before.said, ["user", question]],
      stored: [...before.stored, ["user", question]],
    });
    expect(ends(made.events)).toEqual(["aborted"]);
    expect(made.journal.order("provider.onSessionEnd", "store.continueSession")).toEqual([]);
    await made.wire.waitForAbort(1);
  });
});

describe("with compression.checkpoint_required", () => {
  const config = { compression: { checkpoint_required: true } };

  it("nothing is compacted unless the provider promises to store the messages first", async () => {
    const home = await spoken({ config, provider: { onPreCompress: "Remember the pier." } });
    const before = await snapshot(home);
    const report = await home.agent.compress();
    expect(report.kind).toBe("failed");
    expect(report.notices.join()).toMatch(
      /not compacted, because .*checkpoint_required.*'noting' does not promise/,
    );
    expect(await snapshot(home)).toEqual(before);
    expect(home.journal.order("model.summary")).toEqual([]);
    await expectToGoOn(home, before.prompt);
  });
});

it("a prompt that is not stored yet is stored later, also after a compaction that failed", async () => {
  let isAway = true;
  const { agent, store } = await compactionHome({
    store: (real) => ({
      saveOwnPrompt: (...args) =>
        isAway ? Promise.reject(new Error("database is locked")) : real.saveOwnPrompt(...args),
      continueSession: () => Promise.reject(new Error("database is locked")),
    }),
  });
  await agent.run("begin");
  expect(await agent.compress()).toMatchObject({ kind: "failed" });
  expect(await store.getOwnPrompt(agent.sessionId)).toBeNull();
  isAway = false;
  await agent.run("go on");
  expect(await store.getOwnPrompt(agent.sessionId)).toMatchObject({ text: agent.systemPrompt });
});
