import { describe, expect, it } from "vitest";
import { flattenContent } from "../../../src/message/index.ts";
import { MemoryManager } from "../../../src/providers/manager/manager.ts";
import type { FinishedTurn } from "../../../src/providers/manager/options.ts";
import { withoutSkillScaffolding } from "../../../src/providers/manager/provider-text.ts";
import { recordingProvider } from "../../fakes/providers.ts";

async function handedOver(turn: Omit<FinishedTurn, "session_id">): Promise<unknown[]> {
  const notes = recordingProvider();
  const manager = new MemoryManager();
  manager.addProvider(notes.provider);
  notes.calls.length = 0;
  manager.finishTurn({ session_id: "s1", ...turn });
  await manager.flushPending();
  return notes.calls.map(({ hook, args }) => [hook, ...args.slice(0, -1)]);
}

describe("a turn that ended", () => {
  it.each([
    { interrupted: false, assistant: "yes", user: "tea?", times: 2 },
    { interrupted: false, assistant: "yes", user: "", times: 0 },
    { interrupted: false, assistant: "", user: "tea?", times: 0 },
    { interrupted: false, assistant: "", user: "", times: 0 },
    { interrupted: true, assistant: "yes", user: "tea?", times: 0 },
    { interrupted: true, assistant: "yes", user: "", times: 0 },
    { interrupted: true, assistant: "", user: "tea?", times: 0 },
    { interrupted: true, assistant: "", user: "", times: 0 },
  ])("$interrupted/$assistant/$user makes $times calls", async ({ times, ...turn }) => {
    expect(await handedOver(turn)).toHaveLength(times);
  });

  it("is synced, then prefetched for", async () => {
    expect(await handedOver({ user: "tea?", assistant: "yes" })).toEqual([
      ["syncTurn", "tea?", "yes"],
      ["queuePrefetch", "tea?"],
    ]);
  });

  it.each([null, undefined, [], [{ type: "audio" }], [{ type: "text", text: " " }], {}])(
    "without recoverable text (%j) is not handed over",
    async (nothing) => {
      expect(await handedOver({ user: nothing, assistant: "yes" })).toEqual([]);
      expect(await handedOver({ user: "tea?", assistant: nothing })).toEqual([]);
    },
  );

  it("in failure is not handed over", async () => {
    expect(await handedOver({ user: "tea?", assistant: "half an ans", failed: true })).toEqual([]);
  });

  it("of pictures and text is handed over as text", async () => {
    const user = [{ type: "image_url" }, { type: "text", text: "what is this?" }];
    expect(await handedOver({ user, assistant: [{ type: "output_text", text: "a cup" }] })).toEqual([
      ["syncTurn", "[1 image] what is this?", "a cup"],
      ["queuePrefetch", "[1 image] what is this?"],
    ]);
  });
});

describe("flattened content", () => {
  it.each([
    [null, ""],
    [undefined, ""],
    ["", ""],
    [" as it is \n", " as it is \n"],
    [7, "7"],
    [true, "true"],
    [{ text: "x" }, ""],
    [[], ""],
    [["a", "", "b"], "a\nb"],
    [
      [
        { type: "text", text: " a" },
        { type: "input_text", text: "b" },
        { type: "output_text", text: "c " },
      ],
      "a\nb\nc",
    ],
    [[{ type: "text" }, { type: "text", text: "" }, { type: "text", text: 7 }, null, 3], ""],
    [[{ type: "tool_result", text: "no" }, { text: "no" }, "yes"], "yes"],
    [[{ type: "image_url" }], "[1 image]"],
    [[{ type: "image_url" }, { type: "input_image" }], "[2 images]"],
    [[{ type: "image_url" }, "look"], "[1 image] look"],
    [["look", { type: "input_image" }, { type: "image_url" }, "there"], "[2 images] look\nthere"],
    [["\u0085 \u001f a \u3000"], "a"],
  ])("%j becomes %j", (content, text) => {
    expect(flattenContent(content)).toBe(text);
  });
});

const SINGLE =
  '[IMPORTANT: The user has invoked the "notes" skill. The full skill content is loaded below.]\n\n# Notes\n\nDo things.';
const TYPED = "The user has provided the following instruction alongside the skill invocation: ";
const BUNDLE = '[IMPORTANT: The user has invoked the "work" skill bundle, which loads 2 skills.]\n';

describe("the text that the user typed beside a skill", () => {
  it.each([
    ["plain text", "tea?", "tea?"],
    ["blank text", "  ", "  "],
    ["an instruction", `${SINGLE}\n\n${TYPED} tidy up \n`, "tidy up"],
    ["an instruction before a note", `${SINGLE}\n\n${TYPED}tidy up\n\n[Runtime note: x]`, "tidy up"],
    ["the last of two instructions", `${SINGLE}\n${TYPED}quoted\n\n${TYPED}mine`, "mine"],
    ["no instruction", SINGLE, null],
    ["an empty instruction", `${SINGLE}\n\n${TYPED} \n`, null],
    [
      "a bundle",
      `${BUNDLE}\nUser instruction: sort mail\n\n[Loaded as part of the "work" bundle]`,
      "sort mail",
    ],
    [
      "the first in a bundle",
      `${BUNDLE}\nUser instruction: mine\nUser instruction: theirs`,
      "mine\nUser instruction: theirs",
    ],
    ["a bundle alone", `${BUNDLE}\n[Loaded as part of the "work" bundle]`, null],
    ["an empty bundle instruction", `${BUNDLE}\nUser instruction: \n\n[Loaded as part of the x]`, null],
    ["neither kind", "[IMPORTANT: The user has invoked the moon]", null],
    ["the words further in", `look: ${SINGLE}`, `look: ${SINGLE}`],
    ["null", null, null],
    ["a list", [{ type: "text", text: "tea?" }], null],
  ])("of %s", (_what, message, typed) => {
    expect(withoutSkillScaffolding(message)).toBe(typed);
  });

  it("is passed to recall, prefetch and sync, which are not called when there is none", async () => {
    const notes = recordingProvider();
    const manager = new MemoryManager();
    manager.addProvider(notes.provider);
    notes.calls.length = 0;
    for (const message of [SINGLE, `${BUNDLE}\nno instruction`, null, [{ type: "text", text: "tea?" }], ""]) {
      manager.syncAll(message, "done");
      manager.queuePrefetchAll(message);
      await manager.prefetchAll(message);
    }
    await manager.flushPending();
    expect(notes.calls).toEqual([]);
    const message = `${SINGLE}\n\n${TYPED}tidy up`;
    manager.syncAll(message, "done");
    manager.queuePrefetchAll(message);
    await manager.flushPending();
    await manager.prefetchAll(message);
    expect(notes.calls.map(({ hook, args }) => [hook, args[0]])).toEqual([
      ["syncTurn", "tidy up"],
      ["queuePrefetch", "tidy up"],
      ["prefetch", "tidy up"],
    ]);
  });
});
