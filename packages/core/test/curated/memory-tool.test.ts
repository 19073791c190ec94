// The `memory` tool as a model sees it: schema, checks in their order, JSON down to the order of keys.
import { describe, expect, it } from "vitest";
import { memoryToolPreview } from "../../src/curated/index.ts";
import { memoryTool, memoryToolSchema } from "../../src/index.ts";
import { addAll, MemoryHome, memoryWith } from "../fakes/memory-home.ts";

const json = async (home: MemoryHome, args: unknown): Promise<string> =>
  JSON.stringify(await memoryTool(await home.open(), args));

const startsWith = (text: string): RegExp => new RegExp(`^${text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}`);

describe("the schema", () => {
  it("is a plain object that the strictest backend accepts", () => {
    const { parameters, name } = memoryToolSchema;
    expect(name).toBe("memory");
    expect(parameters.type).toBe("object");
    for (const key of ["allOf", "anyOf", "oneOf", "not", "enum"]) expect(parameters).not.toHaveProperty(key);
    expect(parameters.required).toEqual(["target"]);
    const { operations, ...texts } = parameters.properties as Record<string, Record<string, unknown>>;
    expect(Object.keys(texts)).toEqual(["action", "target", "content", "old_text", "id"]);
    expect(texts.action?.enum).toEqual(["add", "replace", "remove"]);
    expect(texts.target?.enum).toEqual(["memory", "user"]);
    for (const property of Object.values(texts)) expect(property.type).toBe("string");
    expect(operations).toMatchObject({
      type: "array",
      items: {
        type: "object",
        properties: { action: { enum: ["add", "replace", "remove"] } },
        required: ["action"],
      },
    });
  });
});

describe("a call is checked in this order", () => {
  it("there is a store", async () => {
    expect(JSON.stringify(await memoryTool(undefined, { target: "nowhere" }))).toBe(
      '{"error":"Memory is not available. It may be disabled in config or this environment.","success":false}',
    );
  });

  it.each([
    ["nowhere", "nowhere"],
    ["", ""],
    [5, "5"],
    [["memory"], '["memory"]'],
    [{ a: 1 }, '{"a":1}'],
    [10n, "10"],
  ])("the target is known: %o", async (target, shown) => {
    expect(await json(new MemoryHome(), { action: "dance", target })).toBe(
      JSON.stringify({ error: `Invalid target '${shown}'. Use 'memory' or 'user'.`, success: false }),
    );
  });

  it.each([
    [{ action: "add" }, "Content is required for 'add' action."],
    [{ action: "add", content: null }, "Content is required for 'add' action."],
    [{ action: "add", content: "" }, "Content is required for 'add' action."],
    [{ action: "replace", old_text: "x" }, "content is required for 'replace' action."],
    [{ action: "replace", old_text: "x", content: null }, "content is required for 'replace' action."],
  ])("its arguments are there: %o", async (args, error) => {
    expect(await json(new MemoryHome(), args)).toBe(JSON.stringify({ error, success: false }));
  });

  it.each([
    [{ action: "replace" }, "replace"],
    [{ action: "replace", old_text: "", content: "x" }, "replace"],
    [{ action: "remove", content: "x" }, "remove"],
  ])("an entry is named, and the answer shows which there are: %o", async (args, action) => {
    const { home } = await memoryWith(["red hat"]);
    expect(await json(home, args)).toBe(
      `{"error":"old_text is required for '${action}' action.","success":false,"current_entries":["red hat"],"usage":"7/2,200","current_entry_ids":["e697f3aa"]}`,
    );
  });

  it.each([
    [{ action: "add", content: 7 }, "content must be a string, but is 7."],
    [{ action: "add", content: ["x"] }, 'content must be a string, but is ["x"].'],
    [{ action: "remove", old_text: { a: 1 } }, 'old_text must be a string, but is {"a":1}.'],
    [{ action: "remove", old_text: true }, "old_text must be a string, but is true."],
    [{ action: "add", content: 7n }, "content must be a string, but is 7."],
  ])("its arguments are text: %o", async (args, error) => {
    expect(await json(new MemoryHome(), args)).toBe(JSON.stringify({ error, success: false }));
  });

  it.each([
    [{ action: "read" }, "read"],
    [{ action: "ADD", content: "x" }, "ADD"],
    [{}, "undefined"],
    [{ action: null }, "null"],
    [undefined, "undefined"],
    [null, "undefined"],
    ["add", "undefined"],
    [[], "undefined"],
  ])("its action is known: %o", async (args, shown) => {
    expect(await json(new MemoryHome(), args)).toBe(
      JSON.stringify({ error: `Unknown action '${shown}'. Use: add, replace, remove`, success: false }),
    );
  });

  it("the text is not blank, which is the store's answer and has the store's key order", async () => {
    expect(await json(new MemoryHome(), { action: "add", content: " \n" })).toBe(
      '{"success":false,"error":"Content cannot be empty."}',
    );
  });

  it("a wrong argument is shown in the answer, but not at any length", async () => {
    const result = await json(new MemoryHome(), { action: "add", content: ["x".repeat(5000)] });
    expect(result).toContain("content must be a string, but is");
    expect(result.length).toBeLessThan(200);
  });

  it("arguments that refer to themselves are refused like others", async () => {
    const loop: Record<string, unknown> = {};
    loop.self = loop;
    expect(await memoryTool(await new MemoryHome().open(), { action: "add", content: loop })).toMatchObject({
      success: false,
      error: expect.stringContaining("content must be a string"),
    });
  });
});

describe("an answer", () => {
  it("to a write has the entries, the usage, the count and the message", async () => {
    const home = new MemoryHome();
    expect(await json(home, { action: "add", content: "Kiln at 1240 °C" })).toBe(
      '{"success":true,"target":"memory","entries":["Kiln at 1240 °C"],"usage":"0% — 15/2,200 chars","entry_count":1,"message":"Entry added.","entry_ids":["e6bd1241"],"done":true,"note":"The change is complete; do not repeat it. Later sessions have it in their prompt; the prompt of this one stays as it is."}',
    );
    const replace = { action: "replace", target: "memory", old_text: "Kiln", content: "Oven" };
    expect(await json(home, replace)).toMatch(
      startsWith(
        '{"success":true,"target":"memory","entries":["Oven"],"usage":"0% — 4/2,200 chars","entry_count":1,"message":"Entry replaced.","removed":["Kiln at 1240 °C"],"entry_ids":["6c54ee39"],"done":true,',
      ),
    );
    expect(await json(home, { action: "remove", old_text: "Oven" })).toMatch(
      startsWith(
        '{"success":true,"target":"memory","entries":[],"usage":"0% — 0/2,200 chars","entry_count":0,"message":"Entry removed.","removed":["Oven"],"entry_ids":[],"done":true,',
      ),
    );
  });

  it("from 80 percent on carries a warning, and what was archived", async () => {
    const { store } = await memoryWith([], { userCharLimit: 10, overflow: "archive" });
    await addAll(store, ["123456"], "user");
    const result = await memoryTool(store, { action: "add", target: "user", content: "abcdefgh" });
    expect(Object.keys(JSON.parse(JSON.stringify(result)))).toEqual([
      "success",
      "target",
      "entries",
      "usage",
      "entry_count",
      "message",
      "warning",
      "archived",
      "entry_ids",
      "done",
      "note",
    ]);
    expect(result).toMatchObject({ archived: ["123456"], warning: expect.stringContaining("80%") });
  });

  it("to an ambiguous text shows the matches", async () => {
    const { home } = await memoryWith(["red hat", "red coat"]);
    expect(await json(home, { action: "remove", old_text: "red" })).toBe(
      '{"success":false,"error":"Multiple entries matched \'red\'. Be more specific.","matches":["red hat","red coat"],"match_ids":["e697f3aa","d5b2b3ba"]}',
    );
  });

  it("to a write on a drifted file names the backup and the remedy", async () => {
    const { home, store } = await memoryWith([], { memoryCharLimit: 10 });
    home.write("pasted text without end");
    const result = (await memoryTool(store, { action: "add", content: "x" })) as Record<string, unknown>;
    expect(Object.keys(result)).toEqual(["success", "error", "drift_backup", "remediation"]);
    expect(result.error).toContain(result.drift_backup);
  });

  it("to a blocked text names the pattern and keeps the text out", async () => {
    const home = new MemoryHome();
    const result = await json(home, { action: "add", content: "cat ~/.env for me" });
    expect(result).toMatch(
      /^\{"success":false,"error":"Blocked: content matches threat pattern 'read_secrets'\./,
    );
    expect(home.filesWith("for me")).toEqual([]);
  });
});

describe("a preview", () => {
  it.each([
    [{ action: "add", target: "user", content: "short" }, '+user: "short"'],
    [{ action: "add", content: "x".repeat(25) }, `+memory: "${"x".repeat(25)}"`],
    [{ action: "add", content: "🧶".repeat(26) }, `+memory: "${"🧶".repeat(25)}..."`],
    [
      { action: "replace", target: "memory", old_text: "y".repeat(21), content: "z" },
      `~memory: "${"y".repeat(20)}..."`,
    ],
    [{ action: "remove", target: "user", old_text: "old" }, '-user: "old"'],
    [{ action: "remove", target: "user" }, '-user: "<missing old_text>"'],
    [{ action: "replace", target: "user", old_text: "" }, '~user: "<missing old_text>"'],
    [{ action: "read", target: "user" }, "read user"],
    [undefined, "undefined memory"],
    [{ action: "add", content: 5 }, '+memory: "5"'],
  ])("of %o", (args, line) => {
    expect(memoryToolPreview(args)).toBe(line);
  });
});
