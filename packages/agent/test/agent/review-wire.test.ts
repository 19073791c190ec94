// The requests of a review: byte for byte the parent's, plus one message.
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { RECORDER, writeRecorder } from "../fakes/recording-plugin.ts";
import { type RecordedRequest, serverError, type WireKind } from "../fakes/wires/script.ts";
import { isReview, type ReviewSetting, remember, reviewHome } from "./review-home.ts";
import { lookTool } from "./turns.ts";

const KINDS: readonly WireKind[] = ["chat", "responses", "anthropic", "google"];
const RECALLED = "The user drinks oolong.";
const FENCE = "<memory-context>";

/** A request without its messages and cache markers. */
function surroundings({ body }: RecordedRequest): string {
  const { messages: _chat, input: _responses, contents: _google, ...rest } = body;
  return JSON.stringify(rest, (key, value: unknown) => (key === "cache_control" ? undefined : value));
}

/** Checks that the later request begins with the earlier one's messages, key order included, and returns the added ones. */
function addedTo(parent: RecordedRequest, later: RecordedRequest): readonly unknown[] {
  const beginning = JSON.stringify(parent.messages).slice(0, -1);
  expect(JSON.stringify(later.messages).slice(0, beginning.length)).toBe(beginning);
  expect(later.system).toBe(parent.system);
  expect(surroundings(later)).toBe(surroundings(parent));
  return later.messages.slice(parent.messages.length);
}

function at<T>(list: readonly T[], index: number): T {
  const item = list.at(index);
  if (item === undefined) throw new Error(`there is no ${index}`);
  return item;
}

async function recalling(setting: ReviewSetting = {}, home = tempDirectory()) {
  const recorder = writeRecorder(home, {
    prefetch: RECALLED,
    getToolSchemas: [{ name: "tea_find", description: "Finds tea.", parameters: { type: "object" } }],
  });
  const { config = {} } = setting;
  const memory = { provider: RECORDER, ...(config.memory as object) };
  return { ...(await reviewHome({ ...setting, home, config: { ...config, memory } })), recorder };
}

describe("the reviewer's request", () => {
  it.each(KINDS)(
    "begins with the parent's on the %s wire, tools and provider's recall included",
    async (kind) => {
      const { tools } = lookTool();
      const made = await recalling({
        kind,
        config: { memory: { nudge_interval: 2 } },
        options: {
          tools,
          ephemeralSystemPrompt: "Be brief.",
          hooks: { preModelCall: () => "It is raining." },
        },
        turn: (_request, nth) =>
          nth === 1
            ? { text: "Looking.", toolCalls: [{ name: "look", arguments: { b: 1, a: "é" } }] }
            : { text: "So." },
        review: [remember("Drinks tea")],
      });
      await made.agent.run("question one");
      await made.agent.run("question two");
      await made.reviewed();
      const parent = at(made.turnRequests, -1);
      const [first, second] = [at(made.reviewRequests, 0), at(made.reviewRequests, 1)];
      expect(parent.tools).toEqual(expect.arrayContaining(["memory", "tea_find", "look"]));
      expect(addedTo(parent, first)).toHaveLength(2); // the reply and the review prompt
      expect(addedTo(first, second).length).toBeGreaterThan(0);
      for (const request of [parent, first, second]) {
        expect(request.raw.split(FENCE)).toHaveLength(2);
        const holder = request.messages.findIndex((message) => JSON.stringify(message).includes(FENCE));
        expect(JSON.stringify(request.messages[holder])).toContain("question two");
      }
    },
  );
});

describe("what is asked", () => {
  const WORDS = {
    memory: "with the memory tool",
    skills: "put it into a skill",
    both: "look after two things",
  };

  it.each([
    ["memory", 1, 0, WORDS.memory, [WORDS.skills, WORDS.both, "skill_view"]],
    ["skills", 0, 1, WORDS.skills, [WORDS.memory, WORDS.both]],
    ["both", 1, 1, WORDS.both, []],
  ])("is about %s when that is due", async (_name, memory, skills, has, hasNot) => {
    const made = await reviewHome({
      config: { memory: { nudge_interval: memory }, skills: { creation_nudge_interval: skills } },
    });
    await made.agent.run("hello");
    await made.reviewed();
    const asked = String(at(made.reviewRequests, 0).messages.at(-1)?.content);
    expect(asked).toContain(has);
    if (has === WORDS.both) for (const words of [WORDS.memory, WORDS.skills]) expect(asked).toContain(words);
    for (const words of hasNot) expect(asked).not.toContain(words);
    expect(asked).toContain("Nothing to save.");
    expect(asked).toMatch(/Only the memory and skill tools may be called now.*refused/);
    expect(made.events.find(({ type }) => type === "review-start")).toMatchObject({
      memory: memory === 1,
      skills: skills === 1,
    });
  });
});

it("a review leaves the next turn's request as if there had been none", async () => {
  const made = await reviewHome({
    config: { memory: { nudge_interval: 2 } },
    review: [remember("Likes tea"), serverError()],
  });
  for (const text of ["one", "two"]) await made.agent.run(text);
  await made.reviewed();
  await made.agent.run("three");
  const [before, after] = [at(made.turnRequests, 1), at(made.turnRequests, 2)];
  expect(addedTo(before, after)).toEqual([
    expect.objectContaining({ role: "assistant", content: "Answer 1." }),
    expect.objectContaining({ role: "user", content: "three" }),
  ]);
  expect(made.turnRequests.some(isReview)).toBe(false);
});
