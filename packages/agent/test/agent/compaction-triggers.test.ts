// When an agent compacts by itself: before a turn, between two calls of a turn, and after the server refused a request as too long.
import { describe, expect, it } from "vitest";
import { isSummaryRequest } from "../fakes/long-conversation.ts";
import { overflow, type RecordedRequest } from "../fakes/wires/script.ts";
import { compactionHome, longText, SUMMARY } from "./compaction-home.ts";
import { call, lookTool } from "./turns.ts";

const RECALL = "Ada painted it last year.";

function asked(requests: readonly RecordedRequest[]): readonly RecordedRequest[] {
  return requests.filter((request) => !isSummaryRequest(request));
}

function lastUser({ messages }: RecordedRequest): string {
  return String(messages.findLast(({ role }) => role === "user")?.content);
}

describe("before a turn", () => {
  it("a list that no longer fits is compacted; the model gets summary, question and recall", async () => {
    const { agent, wire, store, journal } = await compactionHome({
      turns: 20,
      provider: { prefetch: RECALL },
    });
    const old = agent.sessionId;
    const question = longText("lastquestion", 4_000);
    expect(await agent.run(question)).toMatchObject({ completed: true, session_id: agent.sessionId });
    expect(agent.sessionId).not.toBe(old);
    const [request, ...more] = asked(wire.requests);
    expect(more).toEqual([]);
    expect(wire.requests.find((each) => each !== request)?.body).toMatchObject({ temperature: 0.1 });
    expect(request?.raw).toContain(JSON.stringify(SUMMARY).slice(1, -1));
    expect(lastUser(request as RecordedRequest)).toContain(question);
    expect(lastUser(request as RecordedRequest)).toContain(RECALL);
    expect(journal.argsOf("provider.prefetch").map(([text]) => text)).toEqual([question]);
    // In the old session since before the compaction, in the new one as a copy of that.
    const stored = (await store.getMessages(old)).at(-1);
    expect(stored).toMatchObject({ role: "user", content: question });
    const copy = (await store.getMessages(agent.sessionId)).find(({ origin_id }) => origin_id === stored?.id);
    expect(copy).toMatchObject({ role: "user", content: question });
  });
});

describe("between the calls of a turn", () => {
  const WORDS = ["amber", "birch", "cedar", "denim", "ebony", "fern", "grape", "hazel"];

  async function longTurn() {
    const { tools } = lookTool(({ at }) => `${String(WORDS[Number(at)])}stone. ${longText("log", 14_000)}`);
    let round = 0;
    const made = await compactionHome({
      turns: 3,
      provider: { prefetch: RECALL },
      options: { tools },
      answer: (request) => {
        if (isSummaryRequest(request)) return undefined;
        if (lastUser(request).includes("Find ")) {
          const [, word] = /Find (\w+)/.exec(lastUser(request)) ?? [];
          const isDone = request.messages.at(-1)?.role === "tool";
          return isDone ? { text: "Found." } : call("session_search", { query: word, scope: "lineage" });
        }
        round += 1;
        return round <= WORDS.length ? call("look", { at: round - 1 }) : { text: "All seen." };
      },
    });
    const question = "Look at everything in the harbour.";
    const result = await made.agent.run(question);
    return { ...made, question, result };
  }

  it("big tool results are compacted away, and the question and the recall stay in every request", async () => {
    const { agent, wire, question, result, journal } = await longTurn();
    expect(result).toMatchObject({
      completed: true,
      final_response: "All seen.",
      api_calls: WORDS.length + 1,
    });
    expect(journal.order("store.continueSession").length).toBeGreaterThanOrEqual(2);
    expect(result.session_id).toBe(agent.sessionId);
    for (const request of asked(wire.requests)) {
      const users = request.messages
        .filter(({ role }) => role === "user")
        .map(({ content }) => String(content));
      expect(users.filter((text) => text.includes(question) && text.includes(RECALL))).toHaveLength(1);
      expect(request.raw.length / 4).toBeLessThan(20_000);
    }
    expect(journal.argsOf("provider.prefetch")).toHaveLength(1);
    const rows = (
      await Promise.all(
        ((await agent.store?.listContinued(agent.sessionId)) ?? []).map((id) => agent.store?.getMessages(id)),
      )
    ).flat();
    expect(rows.filter((row) => String(row?.content).includes(RECALL))).toEqual([]);
  });

  it("the model's own count decides, where it has given one", async () => {
    const { tools } = lookTool();
    const { agent, journal } = await compactionHome({
      options: { tools },
      answer: ({ index }) =>
        index === 0 ? { ...call("look"), usage: { input: 17_500, output: 10 } } : undefined,
    });
    await agent.run("look");
    expect(journal.order("model.reply", "model.summary")).toEqual([
      "model.reply",
      "model.summary",
      "model.reply",
    ]);
  });
});

describe("when the server says that a request is too long", () => {
  it("while another process compacts, the turn fails without calling the session exhausted", async () => {
    const { agent, store } = await compactionHome({ answer: () => overflow() });
    await store.tryAcquireCompressionLock(agent.sessionId, "somebody else", { ttl: 300 });
    const result = await agent.run("what now?");
    expect(result).toMatchObject({ exit: "context_overflow", compression_exhausted: false });
    expect(result.hint).toContain("Try again");
  });
});
