// `operations` of the memory tool: several changes of a target in one call, all or nothing.
import { describe, expect, it } from "vitest";
import { memoryToolPreview } from "../../src/curated/index.ts";
import { memoryTool } from "../../src/index.ts";
import { addAll, MemoryHome } from "../fakes/memory-home.ts";

type Answer = Record<string, unknown>;

async function homeWith(...entries: string[]): Promise<MemoryHome> {
  const home = new MemoryHome();
  await addAll(await home.open(), entries);
  return home;
}

async function ask(home: MemoryHome, args: unknown, options = {}, context = {}): Promise<Answer> {
  return (await memoryTool(await home.open(options), args, { home: home.home, ...context })) as Answer;
}

describe("operations", () => {
  it("are applied in their order as one change, which undo takes back as one", async () => {
    const home = await homeWith("red hat", "blue coat");
    const answer = await ask(home, {
      target: "memory",
      operations: [
        { action: "replace", old_text: "red", new_text: "green hat" },
        { action: "remove", old_text: "coat" },
        { action: "add", content: "white scarf" },
        { action: "replace", old_text: "white", content: "grey scarf" },
      ],
    });
    expect(answer).toEqual({
      success: true,
      done: true,
      target: "memory",
      usage: expect.stringContaining("22/2,200 chars"),
      entry_count: 2,
      message: "4 operations applied.",
      removed: expect.arrayContaining(["red hat", "blue coat"]),
      note: expect.stringContaining("do not repeat it"),
    });
    expect(Object.keys(answer).slice(0, 3)).toEqual(["success", "done", "target"]);
    expect(home.text()).toBe("green hat\n§\ngrey scarf");
    const store = await home.open();
    await store.undo();
    expect(home.text()).toBe("red hat\n§\nblue coat");
  });

  it("name entries by their ids, too", async () => {
    const home = await homeWith("red hat", "blue coat");
    const { entry_ids } = await ask(home, { action: "add", content: "x" });
    const [id] = entry_ids as string[];
    expect(await ask(home, { operations: [{ action: "remove", id }] })).toMatchObject({ success: true });
    expect(home.text()).toBe("blue coat\n§\nx");
  });

  it.each([
    [{ operations: "add" }, "operations must be a list of operations, but is add."],
    [{ operations: {} }, "operations must be a list of operations, but is {}."],
    [{ operations: [] }, "operations is empty: there is nothing to do."],
    [
      { operations: Array(101).fill({ action: "add", content: "x" }) },
      "operations has 101 elements; at most 100 are possible.",
    ],
    [{ operations: ["add"] }, "Operation 1: an operation must be an object, but is add."],
    [{ operations: [{ action: "dance" }] }, "Operation 1: Unknown action 'dance'. Use: add, replace, remove"],
    [{ operations: [{ action: "search_archive" }] }, "Operation 1: Unknown action 'search_archive'."],
    [{ operations: [{ action: "add" }] }, "Operation 1: Content is required for 'add' action."],
    [{ operations: [{ action: "add", content: 7 }] }, "Operation 1: content must be a string, but is 7."],
    [{ operations: [{ action: "remove" }] }, "Operation 1: old_text is required for 'remove' action."],
    [
      { operations: [{ action: "add", content: "x", target: "user" }] },
      "Operation 1: it names target 'user', but one call changes one target, here 'memory'.",
    ],
  ])("that make no sense are refused: %j", async (args, error) => {
    const home = await homeWith("red hat");
    const answer = await ask(home, args);
    expect(answer).toMatchObject({ success: false, error: expect.stringContaining(error) });
    expect(home.text()).toBe("red hat");
  });

  it("are also taken as JSON text, and an empty list beside an action counts as none", async () => {
    const home = await homeWith();
    const operations = JSON.stringify([{ action: "add", content: "red hat" }]);
    expect(await ask(home, { operations })).toMatchObject({ success: true, message: "Entry added." });
    expect(await ask(home, { action: "add", content: "blue coat", operations: [] })).toMatchObject({
      entries: ["red hat", "blue coat"],
    });
  });

  it("of a review take nothing away, also when they add as much as they remove", async () => {
    const home = await homeWith("red hat");
    const operations = [
      { action: "remove", old_text: "red" },
      { action: "add", content: "white scarf" },
    ];
    expect(await ask(home, { operations }, {}, { origin: "background_review" })).toMatchObject({
      success: false,
      error: expect.stringContaining("would take one away"),
    });
    expect(home.text()).toBe("red hat");
  });

  it("are one line for a person", () => {
    expect(memoryToolPreview({ target: "user", operations: [{}, {}] })).toBe("*user: 2 operations");
  });
});

describe("a call", () => {
  it("takes new_text for content, and null for the target memory", async () => {
    const home = await homeWith("red hat");
    const args = { action: "replace", target: null, old_text: "red", new_text: "green hat" };
    expect(await ask(home, args)).toMatchObject({ success: true, target: "memory", entries: ["green hat"] });
  });

  it("that finds no entry shows those that are in the file now", async () => {
    const home = await homeWith("red hat");
    const store = await home.open();
    home.write("red hat\n§\nby hand");
    expect(await memoryTool(store, { action: "remove", old_text: "nowhere" })).toMatchObject({
      success: false,
      error: "No entry matched 'nowhere'.",
      current_entries: ["red hat", "by hand"],
    });
    home.write("another");
    expect(await memoryTool(store, { action: "remove" })).toMatchObject({ current_entries: ["another"] });
  });

  it("to a target that is off says so in words that other programs know", async () => {
    const home = await homeWith();
    for (const [target, file] of [
      ["memory", "MEMORY.md"],
      ["user", "USER.md"],
    ])
      expect(
        await ask(home, { action: "remove", target, old_text: "x" }, { disabled: ["memory", "user"] }),
      ).toMatchObject({ success: false, error: `Built-in ${file} writes are disabled in memory config.` });
  });

  it("that fails for the third time in a turn is told to stop", async () => {
    const home = await homeWith("red hat");
    const fail = (failedBefore: number) =>
      ask(home, { action: "remove", old_text: "nowhere" }, {}, { failedBefore });
    expect(await fail(1)).not.toHaveProperty("done");
    for (const before of [2, 5])
      expect(await fail(before)).toMatchObject({
        success: false,
        done: true,
        note: expect.stringMatching(/Stop calling memory in this turn/),
      });
    expect(await ask(home, { action: "add", content: "x" }, {}, { failedBefore: 2 })).toMatchObject({
      success: true,
      note: expect.not.stringContaining("Stop"),
    });
  });
});
