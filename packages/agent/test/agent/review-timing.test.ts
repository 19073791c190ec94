// When a review runs: after the reply, without delaying it, one at a time, and never in child agents.
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type AgentOptions, createAgent } from "../../src/agent/index.ts";
import { gate, type Step, serverError } from "../fakes/wires/script.ts";
import { longText } from "./compaction-home.ts";
import { countsOf, eventsOf, memoryHistory, NOTHING, notices, remember, reviewHome } from "./review-home.ts";
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

  it("what becomes due for skills joins what is due for memory", async () => {
    const { open, review } = held();
    const made = await reviewHome({
      config: { memory: { nudge_interval: 1 }, skills: { creation_nudge_interval: 2 } },
      review,
    });
    await made.agent.run("one");
    await made.agent.run("two");
    open();
    await made.reviewed();
    await made.agent.run("three");
    await made.reviewed(2);
    expect(made.events.filter(({ type }) => type === "review-start")).toMatchObject([
      { memory: true, skills: false },
      { memory: true, skills: true },
    ]);
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

  it("that was interrupted starts none and keeps what is due for the next one", async () => {
    const made = await reviewHome({
      ...interrupting,
      turn: (_request, nth) =>
        nth === 1 ? { text: "half an answer", stallAfterChars: 4 } : { text: `Answer ${nth}.` },
    });
    await made.agent.run("one");
    const two = made.agent.run("two", {
      onEvent: ({ type }) => {
        if (type === "text-delta") made.agent.interrupt();
      },
    });
    expect(await two).toMatchObject({ interrupted: true });
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

  it("gives a review more time than a title", async () => {
    const { open, review } = held(remember("Likes tea"));
    const made = await reviewHome({ review });
    await made.agent.run("hello");
    await made.wire.waitForRequest(1);
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    const closed = made.agent.close();
    await vi.advanceTimersByTimeAsync(3_000);
    vi.useRealTimers();
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

  it("a compaction harms neither", async () => {
    const { open, review } = held(remember("Likes tea"));
    const made = await reviewHome({
      config: { memory: { nudge_interval: 6 }, compression: { target_ratio: 0.1, protect_last_n: 2 } },
      review,
      turn: ({ tools }, nth) =>
        tools.length === 0 ? { text: "## Goal\nPaint." } : { text: longText(`answer${nth}`) },
    });
    for (let turn = 1; turn <= 6; turn += 1) await made.agent.run(longText(`question${turn}`));
    await vi.waitFor(() => expect(made.reviewRequests).toHaveLength(1));
    const reviewed = made.agent.sessionId;
    expect(await made.agent.compress()).toMatchObject({ kind: "compacted" });
    const compacted = made.agent.messages;
    expect(made.agent.sessionId).not.toBe(reviewed);
    open();
    expect(await made.reviewed()).toMatchObject({ sessionId: reviewed, failed: false });
    expect(await memoryHistory(made.home)).toMatchObject([{ origin: "review", session: reviewed }]);
    expect(made.agent.messages).toEqual(compacted);
    expect(await made.agent.run("goes on")).toMatchObject({ completed: true });
    const second = made.reviewRequests[1];
    expect(JSON.stringify(second?.messages)).toContain("question1"); // the conversation at its start
  });

  it("undo takes turns back, and the review goes on with what it was given", async () => {
    const { open, review } = held(remember("Likes tea"));
    const made = await reviewHome({ review });
    await made.agent.run("one");
    await made.wire.waitForRequest(1);
    expect(await made.agent.undo()).toMatchObject({ ok: true });
    open();
    expect(await made.reviewed()).toMatchObject({ failed: false });
    expect(made.agent.messages).toEqual([]);
  });
});

describe("the cadence", () => {
  it("fires on turns 10 and 20 of a conversation", async () => {
    const made = await reviewHome({ config: { memory: { nudge_interval: 10 } } });
    const fired: number[] = [];
    for (let turn = 1; turn <= 20; turn += 1) {
      const before = started(made.events);
      await made.agent.run(`turn ${turn}`);
      if (started(made.events) > before) {
        fired.push(turn);
        await made.reviewed(fired.length);
      }
    }
    expect(fired).toEqual([10, 20]);
  });

  it.each([
    [7, 3],
    [13, 7],
    [19, 1],
  ])("goes on after a resume: with %i turns it fires on the %ith from then", async (before, then) => {
    const earlier = Array.from({ length: before - 1 }, (_, turn) => [
      { role: "user", content: `question ${turn}` },
      { role: "assistant", content: `answer ${turn}` },
    ]).flat();
    const made = await reviewHome({ config: { memory: { nudge_interval: 10 } }, options: { review: false } });
    const first = await made.another({ history: earlier });
    await first.run("question");
    await first.close();
    const agent = await made.another({ resume: first.sessionId, review: true });
    for (let turn = 1; turn < then; turn += 1) await agent.run("later");
    expect(started(made.events)).toBe(0);
    await agent.run("now");
    expect(started(made.events)).toBe(1);
    await eventsOf({ agent, events: made.events }, "review-end");
  });

  it("starts over when the model itself has used memory", async () => {
    const made = await reviewHome({
      config: { memory: { nudge_interval: 2 } },
      turn: (_request, nth) => (nth === 1 ? remember("Likes tea") : { text: "So." }),
    });
    await made.agent.run("one");
    await made.agent.run("two"); // due, and memory was written in the same turn: by the specification the flag stays set
    await made.reviewed();
    await made.agent.run("three");
    expect(started(made.events)).toBe(1);
    await made.agent.run("four");
    await made.reviewed(2);
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

  it("where a program looks after it itself, by the hook reviewDue", async () => {
    const due: unknown[] = [];
    const made = await reviewHome({ options: { hooks: { reviewDue: (what) => due.push(what) } } });
    await made.agent.run("hello");
    await made.agent.close();
    expect(due).toEqual([{ sessionId: made.agent.sessionId, memory: true, skills: false }]);
    expect(made.reviewRequests).toEqual([]);
  });
});

it("a review that fails keeps no turn from running", async () => {
  const made = await reviewHome({ review: () => serverError() });
  for (const text of ["one", "two"]) expect(await made.agent.run(text)).toMatchObject({ completed: true });
  await made.agent.close();
  expect(notices(made.events)).toHaveLength(1);
});
