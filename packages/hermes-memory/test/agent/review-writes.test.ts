// What a review leaves behind: in memory, in the journal, in the database, with the provider and with the user.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { SessionRow } from "@hermes-memory/core/internal/sessions";
import { describe, expect, it } from "vitest";
import {
  eventsOf,
  memoryHistory,
  NOTHING,
  remember,
  reviewHome,
  toolResults,
} from "../../../agent/test/agent/review-home.ts";
import { storedLines } from "../../../agent/test/agent/turns.ts";
import { RECORDER, writeRecorder } from "../../../agent/test/fakes/recording-plugin.ts";
import type { Step } from "../../../agent/test/fakes/wires/script.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { runHere } from "../cli/run.ts";

const SAVED = "\u{1f4be} Self-improvement review: ";

function replace(old_text: string, content: string): Step {
  const args = { action: "replace", target: "memory", old_text, content };
  return { toolCalls: [{ name: "memory", arguments: args }] };
}

describe("after ten turns", () => {
  it("memory has what the review wrote, its origin and session in the history, and undo takes it back", async () => {
    const made = await reviewHome({
      config: { memory: { nudge_interval: 10 } },
      review: [remember("Likes tea"), NOTHING],
    });
    for (let turn = 1; turn <= 10; turn += 1) await made.agent.run(`turn ${turn}`);
    expect(await made.reviewed()).toMatchObject({ failed: false, summary: `${SAVED}User profile updated` });
    expect(made.agent.memory?.entries("user")).toEqual(["Likes tea"]); // the parent's own store
    const { home } = made;
    const [line] = await memoryHistory(home);
    expect(line).toMatchObject({ action: "add", origin: "review", session: made.agent.sessionId });
    expect((await runHere(["memory", "history"], { home })).stdout).toContain("  review  add\n  + Likes tea");
    expect(made.events.filter(({ type }) => type === "memory-write")).toEqual([
      { type: "memory-write", action: "add", target: "user" },
    ]);
    await runHere(["memory", "undo", String(line?.id)], { home });
    expect(readFileSync(join(home, "memories", "USER.md"), "utf8").trim()).toBe("");
    expect((await memoryHistory(home))[1]).toMatchObject({ origin: "review", status: "undone" });
  });
});

it("the prompt of the session stays, and the next one has what was written", async () => {
  const made = await reviewHome({ review: [remember("Likes tea")] });
  await made.agent.run("hello");
  await made.reviewed();
  await made.agent.run("again");
  const [first, second] = made.turnRequests;
  expect(second?.system).toBe(first?.system);
  expect(first?.system).not.toContain("Likes tea");
  await made.agent.newSession();
  await made.agent.run("new");
  expect(made.turnRequests.at(-1)?.system).toContain("Likes tea");
});

it("no provider hears of a review, and nothing of it is stored or in the conversation", async () => {
  const home = tempDirectory();
  const recorder = writeRecorder(home, { prefetch: "The user drinks oolong." });
  const made = await reviewHome({
    home,
    config: { memory: { provider: RECORDER } },
    review: [remember("Likes tea"), replace("nothing like it", "x"), NOTHING],
  });
  const handedOver = recorder.calls.length;
  const turn = await made.agent.run("which tea is it?");
  const heard = (): readonly string[] => recorder.calls.slice(handedOver).map(({ hook }) => hook);
  await made.reviewed();
  await made.agent.close();
  expect(heard().toSorted()).toEqual(
    // of the turn and of closing, once each
    ["onSessionEnd", "onTurnStart", "prefetch", "queuePrefetch", "shutdown", "syncTurn", "systemPromptBlock"],
  );
  expect(JSON.stringify(recorder.calls)).not.toContain("Likes tea");
  expect(made.agent.messages).toEqual(turn.messages);
  const store = await made.another();
  expect(await store.store?.listSessionsRich({ limit: 10, includeChildren: true })).toHaveLength(1);
  const rows = await store.store?.getMessages(turn.session_id);
  expect(rows?.map(({ role, content }) => `${role}: ${content}`)).toEqual([
    "user: which tea is it?",
    "assistant: Answer 0.",
  ]);
});

describe("usage", () => {
  const USED = { input: 1_000, output: 200, cacheRead: 5_000 };
  const PRICES = { input: 10, output: 20, cache_read: 1 };
  const COST = (1_000 * 10 + 200 * 20 + 5_000 * 1) / 1e6;

  it("of a review is charged to the session's row and added to the agent's costs", async () => {
    const made = await reviewHome({
      config: { models: { prices: { "test-model": PRICES } } },
      turn: () => ({ text: "So.", usage: USED }),
      review: [
        { ...remember("Likes tea"), usage: USED },
        { text: "Done.", usage: USED },
      ],
    });
    const { estimated_cost_usd: before } = await made.agent.run("hello");
    await made.reviewed();
    expect(before).toBeCloseTo(COST, 10);
    const row: SessionRow | null | undefined = await made.agent.store?.getSession(made.agent.sessionId);
    expect(row).toMatchObject({
      input_tokens: 3_000,
      output_tokens: 600,
      cache_read_tokens: 15_000,
      api_call_count: 3,
    });
    expect(row?.estimated_cost_usd).toBeCloseTo(3 * COST, 10);
    expect((await made.agent.status()).cost_usd).toBeCloseTo(3 * COST, 10);
    expect((await made.agent.status()).api_calls).toBe(1); // the conversation's own
  });
});

describe("with memory.write_approval on", () => {
  it("nobody is asked, the write is staged, and the summary says so", async () => {
    let asked = 0;
    const made = await reviewHome({
      config: { memory: { write_approval: true } },
      options: {
        approve: async () => {
          asked += 1;
          return "once";
        },
      },
      review: [remember("Likes tea"), remember("Deploys on Friday", "memory"), remember("Likes oolong")],
    });
    await made.agent.run("hello");
    expect(await made.reviewed()).toMatchObject({
      summary: `${SAVED}User profile staged for approval · Memory staged for approval`,
    });
    expect(asked).toBe(0);
    expect(made.agent.memory?.entries("user")).toEqual([]);
    const directory = join(made.home, "pending", "memory");
    const records = readdirSync(directory).map((name) =>
      JSON.parse(readFileSync(join(directory, name), "utf8")),
    );
    expect(records.map(({ origin }) => origin)).toEqual(Array(3).fill("background_review"));
    expect((await runHere(["memory", "pending"], { home: made.home })).stdout).toContain("[auto]");
  });
});

describe("display.memory_notifications", () => {
  const steps = [remember("Likes tea"), replace("crane", "The crane is red")];
  const VERBOSE = `${SAVED}User profile + Likes tea · Memory ✏ The crane is red`;

  it.each([
    [{}, "cli", `${SAVED}User profile updated · Memory updated`],
    [{ memory_notifications: "off" }, "cli", null],
    [{ memory_notifications: "verbose" }, "cli", VERBOSE],
    [{ platforms: { telegram: { memory_notifications: "verbose" } } }, "telegram", VERBOSE],
    [
      { memory_notifications: "verbose", platforms: { telegram: { memory_notifications: "off" } } },
      "telegram",
      null,
    ],
    [
      { memory_notifications: "off", platforms: { telegram: { memory_notifications: "on" } } },
      "discord",
      null,
    ],
  ])("%j on %s", async (display, platform, summary) => {
    const made = await reviewHome({ config: { display }, options: { platform }, review: steps });
    await made.agent.memory?.apply("memory", { action: "add", content: "The crane is blue" });
    await made.agent.run("hello");
    expect(await made.reviewed()).toMatchObject({ summary, failed: false });
    expect(made.agent.memory?.entries("memory")).toEqual(["The crane is red"]);
  });
});

it("a program's preToolCall hook holds for the review, and hears only of what could run", async () => {
  const heard: string[] = [];
  const made = await reviewHome({
    options: {
      hooks: {
        preToolCall: ({ name, taskId }) => {
          heard.push(`${taskId.split("-")[0]}: ${name}`);
          return name === "memory" ? { block: "Memory is closed today." } : undefined;
        },
      },
    },
    review: [{ toolCalls: [{ name: "todo", arguments: {} }] }, remember("Likes tea")],
  });
  await made.agent.run("hello");
  expect(await made.reviewed()).toMatchObject({ summary: null, failed: false });
  expect(heard).toEqual(["review: memory"]);
  expect(toolResults(made.reviewRequests.at(-1) ?? expect.fail())).toEqual([
    expect.stringContaining("denied non-whitelisted tool: todo"),
    JSON.stringify({ error: "Memory is closed today." }),
  ]);
  expect(made.agent.memory?.entries("user")).toEqual([]);
});

it("without a session database a review works as well", async () => {
  const made = await reviewHome({ options: { store: null }, review: [remember("Likes tea")] });
  await made.agent.run("hello");
  expect(await made.reviewed()).toMatchObject({ failed: false });
  expect(made.agent.memory?.entries("user")).toEqual(["Likes tea"]);
});

it("the words of a review are not streamed to whoever watches", async () => {
  const made = await reviewHome({
    review: [{ ...remember("Likes tea"), text: "Let me see." }, { text: "Saved." }],
  });
  await made.agent.run("hello");
  await made.reviewed();
  const [turnEnd] = await eventsOf(made, "turn-end");
  const after = made.events.slice(turnEnd === undefined ? 0 : made.events.indexOf(turnEnd) + 1);
  expect(after.map(({ type }) => type)).toEqual(["memory-write", "review-end"]);
  expect(await storedLines(made.agent)).toEqual(["user: hello", "assistant: Answer 0."]);
});
