// What a review leaves behind: in memory, in the journal, in the database, with the provider and with the user.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { memoryHistory, NOTHING, remember, reviewHome } from "../../../agent/test/agent/review-home.ts";
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
