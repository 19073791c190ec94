// A reviewer that does what it must not: nothing changes, the user's turn is untouched, and it is told once.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import {
  countsOf,
  notices,
  type ReviewHome,
  remember,
  reviewHome,
  toolResults,
} from "../../../agent/test/agent/review-home.ts";
import { lookTool, storedLines } from "../../../agent/test/agent/turns.ts";
import { type RecordedRequest, type Step, serverError } from "../../../agent/test/fakes/wires/script.ts";
import { runHere } from "../cli/run.ts";

const RULE = "Never deploy on Fridays";
const FAILED = "Auxiliary background review failed: ";

function call(name: string, args: Readonly<Record<string, unknown>> | string): Step {
  return { toolCalls: [{ name, arguments: args }] };
}

async function withRule(made: ReviewHome): Promise<ReviewHome> {
  await made.agent.memory?.apply("memory", { action: "add", content: RULE });
  return made;
}

/** Everything below the home that a review could have changed. */
function photograph({ home }: ReviewHome): Record<string, string> {
  return Object.fromEntries(
    ["memories", "skills"].flatMap((folder) =>
      filesIn(join(home, folder)).map((file) => [file, readFileSync(file, "utf8")]),
    ),
  );
}

function filesIn(directory: string): string[] {
  try {
    return readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !/\.lock$/.test(entry.name))
      .map(({ parentPath, name }) => join(parentPath, name));
  } catch {
    return [];
  }
}

async function expectUntouched(made: ReviewHome, before: Record<string, string>): Promise<void> {
  expect(photograph(made)).toEqual(before);
  expect(made.agent.memory?.entries("memory")).toEqual([RULE]);
  expect(await storedLines(made.agent)).toEqual(["user: hello", "assistant: Answer 0."]);
  expect(await made.agent.run("again")).toMatchObject({ completed: true, final_response: "Answer 1." });
}

function last(made: ReviewHome): RecordedRequest {
  return made.reviewRequests.at(-1) ?? expect.fail("there was no review");
}

describe("a call that a review has no right to", () => {
  const remove = { action: "remove", target: "memory", old_text: "Fridays" };
  it.each([
    ["memory", remove, "may not use 'memory' with action 'remove'"],
    ["memory", { action: "add", content: "x", operations: JSON.stringify([remove]) }, "with no action"],
    ["look", {}, "denied non-whitelisted tool: look."],
  ])("is refused: %s %j", async (name, args, answer) => {
    const { tools, given } = lookTool();
    const made = await withRule(await reviewHome({ options: { tools }, review: [call(name, args)] }));
    const before = photograph(made);
    await made.agent.run("hello");
    expect(await made.reviewed()).toMatchObject({ summary: null, failed: false });
    const [result] = toolResults(last(made));
    expect(JSON.parse(String(result)).error).toContain(answer);
    expect(given).toEqual([]);
    await expectUntouched(made, before);
  });

  it("goes with a right one without keeping it from being done", async () => {
    const step: Step = {
      toolCalls: [
        { name: "memory", arguments: remove },
        { name: "memory", arguments: { action: "add", target: "user", content: "Likes tea" } },
      ],
    };
    const made = await withRule(await reviewHome({ review: [step] }));
    await made.agent.run("hello");
    expect(await made.reviewed()).toMatchObject({ summary: expect.stringContaining("User profile updated") });
    expect(made.agent.memory?.entries("memory")).toEqual([RULE]);
    expect(made.agent.memory?.entries("user")).toEqual(["Likes tea"]);
  });
});

describe("a reviewer that fails", () => {
  const cut: Step = { text: "I will now", cutAfterChars: 4 };

  it.each([
    ["loops", () => call("skills_list", {}), 16, "did not come to an end within 16 calls"],
    [
      "loops with writes that are refused",
      (nth: number) => call("memory", { action: "remove", nth }),
      16,
      "within 16 calls",
    ],
    [
      "calls tools that do not exist",
      (nth: number) => call(`xq_${nth}_zw`, {}),
      undefined,
      "tools that do not exist",
    ],
    ["writes calls that are no JSON", () => call("memory", '{"action": "add", }'), 16, "within 16 calls"],
    ["answers with errors only", () => serverError(), undefined, "500"],
    ["breaks off again and again", () => cut, undefined, ""],
    ["says nothing", () => ({ text: "" }), undefined, ""],
  ])("leaves no trace but a notice and a count: it %s", async (_what, step, calls, why) => {
    const made = await withRule(await reviewHome({ review: (_request, nth) => step(nth) }));
    const before = photograph(made);
    await made.agent.run("hello");
    expect(await made.reviewed()).toMatchObject({ failed: true, summary: null });
    expect(made.reviewRequests.length).toBeLessThanOrEqual(48); // 16 calls, each tried three times
    if (calls !== undefined) expect(made.reviewRequests).toHaveLength(calls);
    const last_error = expect.stringContaining(why);
    expect(notices(made.events)).toEqual([expect.stringContaining(FAILED)]);
    expect(await countsOf(made.agent)).toMatchObject({ runs: 1, failures: 1, last_error });
    await expectUntouched(made, before);
  });

  it("again is told once a session, and counted each time; doctor shows it", async () => {
    const made = await reviewHome({
      review: () => ({ ...serverError(), message: "key sk-abcdefghijklmnopqrstuvwxyz012345 is unknown" }),
    });
    for (const nth of [1, 2, 3]) {
      await made.agent.run("hello");
      await made.reviewed(nth);
    }
    expect(notices(made.events)).toHaveLength(1);
    expect(await countsOf(made.agent)).toMatchObject({ runs: 3, failures: 3 });
    const { stdout } = await runHere(["doctor"], { home: made.home });
    expect(stdout).toMatch(
      /warn {2}review {7}3 background reviews, 3 failed\. So did the last one: .*is unknown/,
    );
    for (const text of [notices(made.events)[0], stdout])
      expect(text).not.toContain("abcdefghijklmnopqrstuvwxyz");
  });
});

it("a reviewer that never answers is left after ten minutes, its socket closed", async () => {
  const over = new AbortController();
  const real = AbortSignal.timeout.bind(AbortSignal);
  const timeout = vi
    .spyOn(AbortSignal, "timeout")
    .mockImplementation((ms) => (ms === 600_000 ? over.signal : real(ms)));
  const made = await withRule(
    await reviewHome({
      review: (_request, nth) => (nth === 0 ? { pauseBefore: "forever", text: "x" } : { text: "-" }),
    }),
  );
  const before = photograph(made);
  await made.agent.run("hello");
  await made.wire.waitForRequest(1);
  over.abort(new DOMException("late", "TimeoutError"));
  await made.wire.waitForAbort(1);
  expect(await made.reviewed()).toMatchObject({ failed: true, summary: null });
  timeout.mockRestore();
  expect(notices(made.events)).toEqual([`${FAILED}It took longer than 10 minutes.`]);
  await expectUntouched(made, before);
});

describe("a review that would take a rule away without saying remove", () => {
  it("by putting another entry's text in its place is refused", async () => {
    const made = await withRule(
      await reviewHome({
        review: [
          call("memory", {
            action: "replace",
            target: "memory",
            old_text: "Never deploy",
            content: "Coffee is black",
          }),
        ],
      }),
    );
    await made.agent.memory?.apply("memory", { action: "add", content: "Coffee is black" });
    await made.agent.run("hello");
    await made.reviewed();
    expect(made.agent.memory?.entries("memory")).toEqual([RULE, "Coffee is black"]);
  });

  it("by filling memory until old entries would be archived is refused", async () => {
    const made = await withRule(
      await reviewHome({
        config: { memory: { overflow: "archive", memory_char_limit: 200 } },
        review: [remember(`trivia ${"z".repeat(185)}`, "memory")],
      }),
    );
    await made.agent.run("hello");
    await made.reviewed();
    expect(made.agent.memory?.entries("memory")).toEqual([RULE]);
  });
});
