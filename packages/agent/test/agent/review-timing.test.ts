// When a review runs: after the reply, without delaying it, one at a time, and never in child agents.
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type AgentOptions, createAgent } from "../../src/agent/index.ts";
import { gate, type Step, serverError } from "../fakes/wires/script.ts";
import { countsOf, memoryHistory, NOTHING, notices, remember, reviewHome } from "./review-home.ts";
import { storedLines } from "./turns.ts";

/** The first answer of the reviewer waits for the gate. */
function held(first: Step = NOTHING) {
  const open = gate();
  return {
    open: open.open,
    review: (_request: unknown, nth: number): Step => (nth === 0 ? { ...first, pauseBefore: open } : NOTHING),
  };
}

function started(events: readonly { readonly type: string }[]): number {
  return events.filter(({ type }) => type === "review-start").length;
}

describe("the reply", () => {
  it("is there, and the next turn runs, while the reviewer's model has not answered", async () => {
    const { open, review } = held(remember("Likes tea"));
    const made = await reviewHome({ config: { memory: { nudge_interval: 2 } }, review });
    await made.agent.run("one");
    expect(await made.agent.run("two")).toMatchObject({ final_response: "Answer 1." });
    await vi.waitFor(() => expect(made.reviewRequests).toHaveLength(1));
    expect(await made.agent.run("three")).toMatchObject({ final_response: "Answer 2." });
    expect(made.events.map(({ type }) => type)).not.toContain("review-end");
    open();
    await made.reviewed();
    expect(made.agent.memory?.entries("user")).toEqual(["Likes tea"]);
    expect(await storedLines(made.agent)).toHaveLength(6);
  });
});

describe("one at a time", () => {
  it("what becomes due meanwhile stays due, and the next turn starts it", async () => {
    const { open, review } = held();
    const made = await reviewHome({ review });
    await made.agent.run("one");
    await made.agent.run("two");
    await made.agent.run("three");
    expect(started(made.events)).toBe(1);
    open();
    await made.reviewed();
    await vi.waitFor(async () => expect((await countsOf(made.agent)).runs).toBe(1));
    expect(started(made.events)).toBe(1); // the review does not start another one
    await made.agent.run("four");
    await made.reviewed(2);
    expect(started(made.events)).toBe(2);
  });
});

describe("a turn without an answer", () => {
  const interrupting = { config: { memory: { nudge_interval: 2 } } };

  it("that failed starts none and keeps what is due for the next one", async () => {
    const made = await reviewHome({
      ...interrupting,
      turn: (_request, nth) => (nth === 1 ? { status: 401, kind: "bad_key" } : { text: `Answer ${nth}.` }),
    });
    await made.agent.run("one");
    expect(await made.agent.run("two")).toMatchObject({ failed: true });
    expect(started(made.events)).toBe(0);
    await made.agent.run("three");
    await made.reviewed();
    expect(started(made.events)).toBe(1);
  });
});

describe("close", () => {
  it("waits for a review that comes to its end", async () => {
    const { open, review } = held(remember("Likes tea"));
    const made = await reviewHome({ review });
    await made.agent.run("hello");
    await made.wire.waitForRequest(1);
    const closed = made.agent.close();
    open();
    await closed;
    expect(await made.reviewed()).toMatchObject({ failed: false });
    expect(await memoryHistory(made.home)).toMatchObject([{ origin: "review" }]);
  });

  it("breaks off one that does not, closes its socket and reports nothing", async () => {
    const made = await reviewHome({
      review: (_request, nth) => (nth === 0 ? remember("Likes tea") : { text: "x", pauseBefore: "forever" }),
    });
    await made.agent.run("hello");
    await made.wire.waitForRequest(2);
    let isAborted = false;
    const aborted = made.wire.waitForAbort(2).then(() => {
      isAborted = true;
    });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const closed = made.agent.close();
    while (!isAborted) {
      await vi.advanceTimersByTimeAsync(1_000);
      await new Promise(setImmediate); // sockets are real
    }
    vi.useRealTimers();
    await aborted;
    await closed;
    expect(notices(made.events)).toEqual([]);
    expect(await made.reviewed()).toMatchObject({ failed: true }); // its writes and its costs stay
    expect(await memoryHistory(made.home)).toMatchObject([{ origin: "review", action: "add" }]);
    const next = await made.another({ resume: made.agent.sessionId });
    expect(await countsOf(next)).toMatchObject({ runs: 1, failures: 1 }); // counted, but without a notice
    expect(await next.store?.getSession(next.sessionId)).toMatchObject({ api_call_count: 2 });
  });
});

describe("while a review runs", () => {
  it("/new begins another session; the write belongs to the one that was reviewed", async () => {
    const { open, review } = held(remember("Likes tea"));
    const made = await reviewHome({ config: { memory: { nudge_interval: 2 } }, review });
    await made.agent.run("one");
    await made.agent.run("two");
    const reviewed = made.agent.sessionId;
    await made.wire.waitForRequest(2);
    await made.agent.newSession();
    await made.agent.run("new");
    open();
    expect(await made.reviewed()).toMatchObject({ sessionId: reviewed, failed: false });
    expect(await memoryHistory(made.home)).toMatchObject([{ origin: "review", session: reviewed }]);
    expect(await made.agent.store?.getSession(reviewed)).toMatchObject({
      api_call_count: 4,
      end_reason: "new_session",
    });
    expect(await made.agent.store?.getSession(made.agent.sessionId)).toMatchObject({ api_call_count: 1 });
    expect(await storedLines(made.agent)).toEqual(["user: new", "assistant: Answer 2."]);
  });
});

describe("without being told, an agent", () => {
  const skills = { creation_nudge_interval: 1 };
  it.each<[string, number, Partial<AgentOptions>, Record<string, unknown>]>([
    ["starts no reviews", 0, {}, {}],
    ["starts reviews where they are switched on", 1, { review: true }, {}],
    ["starts none without memory", 0, { review: true, skipMemory: true }, { skills }],
    ["starts none where it is switched off", 0, { review: false }, { skills }],
    ["starts none with interval 0", 0, { review: true }, { memory: { nudge_interval: 0 } }],
    ["starts none without the memory tool", 0, { review: true, toolsets: ["todo"] }, {}],
    [
      "starts none with both files switched off",
      0,
      { review: true },
      { memory: { memory_enabled: false, user_profile_enabled: false } },
    ],
  ])("%s", async (_what, reviews, options, config) => {
    const { home, reviewRequests } = await reviewHome({ config });
    await using agent = await createAgent({ home, env: {}, cwd: home, titles: false, ...options });
    expect(await agent.run("hello")).toMatchObject({ completed: true });
    await agent.close();
    expect(reviewRequests).toHaveLength(reviews);
  });
});

it("a review that fails keeps no turn from running", async () => {
  const made = await reviewHome({ review: () => serverError() });
  for (const text of ["one", "two"]) expect(await made.agent.run(text)).toMatchObject({ completed: true });
  await made.agent.close();
  expect(notices(made.events)).toHaveLength(1);
});
