// Which entry a text or an id means, and where an id leads after its text was replaced.
import { describe, expect, it } from "vitest";
import { entryId, entryIds } from "../../src/curated/entries.ts";
import { memoryTool } from "../../src/index.ts";
import { addAll, done, MemoryHome, memoryWith, refused } from "../fakes/memory-home.ts";

async function homeWith(...texts: string[]) {
  const { home, store } = await memoryWith();
  await addAll(store, texts);
  return { home, store };
}

const id = (text: string): string => entryId("memory", text);

describe("an entry equal to the text", () => {
  it("wins over entries that contain it, for remove, replace and pin", async () => {
    const { home, store } = await homeWith("Debian 12 on port 2222", "port 2222", "2");
    expect(done(await store.pin("memory", "port 2222"))).toBe("port 2222");
    done(await store.apply("memory", { action: "replace", oldText: "port 2222", content: "port 80" }));
    expect(done(await store.apply("memory", { action: "remove", oldText: "2" })).removed).toEqual(["2"]);
    expect(home.text()).toBe("Debian 12 on port 2222\n§\nport 80");
  });

  it("is the only one meant when a whole entry is named: an entry that merely contains it stays", async () => {
    const { home, store } = await homeWith("Debian 12");
    const gone = { action: "remove", oldText: "2", match: "entry" } as const;
    expect(refused(await store.apply("memory", gone), "no_match").message).toContain("not stored any more");
    expect(home.text()).toBe("Debian 12");
  });
});

describe("a change that takes something away", () => {
  it("tells the whole text that went: remove, replace, merge, undo, reset, tidying, a group", async () => {
    const { store } = await homeWith("one", "two", "three", "four");
    const apply = async (op: Parameters<typeof store.apply>[1]) =>
      done(await store.apply("memory", op)).removed;
    expect(await apply({ action: "remove", oldText: "on" })).toEqual(["one"]);
    expect(await apply({ action: "replace", oldText: "tw", content: "2" })).toEqual(["two"]);
    expect(await apply({ action: "replace", oldText: "2", content: "three" })).toEqual(["2"]);
    expect(await apply({ action: "add", content: "five" })).toBeUndefined();
    expect(done(await store.undo()).removed).toEqual(["five"]);
    expect(done(await store.curate("memory", { remove: ["four"] })).removed).toEqual(["four"]);
    expect(done(await store.reset("memory")).removed).toEqual(["three"]);
    const home = new MemoryHome();
    const other = await home.open();
    await addAll(other, ["a", "b"]);
    const group = done(
      await other.applyAll("memory", [
        { action: "remove", oldText: "a" },
        { action: "add", content: "c" },
        { action: "remove", oldText: "c" },
      ]),
    );
    expect(group.removed).toEqual(["a", "c"]);
  });
});

describe("an id", () => {
  it("is eight digits of a hash of target and text, the same wherever and whenever that text is stored", async () => {
    expect(id("Uses zsh")).toMatch(/^[0-9a-f]{8}$/);
    expect(entryId("user", "Uses zsh")).not.toBe(id("Uses zsh"));
    const { store } = await homeWith("Uses zsh");
    done(await store.apply("memory", { action: "remove", oldText: "zsh" }));
    await addAll(store, ["other", "Uses zsh"]);
    const shown = (await memoryTool(store, { action: "add", target: "memory", content: "other" })) as {
      entry_ids: string[];
    };
    expect(shown.entry_ids).toEqual([id("other"), id("Uses zsh")]);
  });

  it("is longer where two entries of a file begin alike, and the short one is then refused", async () => {
    // Two texts whose hashes share their first eight digits, found by search.
    const [one, other] = ["note 56021", "note 195254"];
    const ids = entryIds("memory", [one, other]);
    expect([id(one), ids]).toEqual([
      id(other),
      [expect.stringMatching(/^.{12}$/), expect.stringMatching(/^.{12}$/)],
    ]);
    expect(new Set(ids).size).toBe(2);
    const { store } = await homeWith(one, other);
    const op = { action: "remove", oldText: id(one), match: "id" } as const;
    expect(refused(await store.apply("memory", op), "ambiguous").entries).toEqual([one, other]);
    done(await store.apply("memory", { ...op, oldText: String(ids[1]) }));
    expect(store.entries("memory")).toEqual([one]);
  });

  it("names an entry for remove, replace and pin, also where a text is expected", async () => {
    const { home, store } = await homeWith("one", "two", "three");
    done(await store.apply("memory", { action: "remove", oldText: id("one") }));
    done(await store.apply("memory", { action: "replace", oldText: id("two"), content: "2", match: "id" }));
    expect(done(await store.pin("memory", id("three")))).toBe("three");
    expect(home.text()).toBe("2\n§\nthree");
  });

  it("gives way to an entry that holds the same digits as text", async () => {
    const { home, store } = await homeWith("one", `commit ${id("one")}`);
    done(await store.apply("memory", { action: "remove", oldText: id("one") }));
    expect(home.text()).toBe("one");
  });

  it("of a replaced text leads to the new one through the journal, over several changes and an undo", async () => {
    const { home, store } = await homeWith("one", "x");
    const first = done(await store.apply("memory", { action: "replace", oldText: "one", content: "two" }));
    const second = done(await store.apply("memory", { action: "replace", oldText: "two", content: "three" }));
    const undone = done(await store.undo());
    const outcome = done(
      await store.apply("memory", { action: "replace", oldText: id("one"), content: "four" }),
    );
    expect(outcome.followed).toEqual([first.changeId]);
    expect(home.text()).toBe("four\n§\nx");
    const last = done(await store.apply("memory", { action: "remove", oldText: id("three"), match: "id" }));
    expect(last.followed).toEqual([undone.changeId, outcome.changeId]);
    expect([last.removed, second.changeId !== undefined]).toEqual([["four"], true]);
  });

  it("of a text that was merged into another entry leads there", async () => {
    const { store } = await homeWith("tabs", "uses tabs", "spaces");
    done(await store.apply("memory", { action: "replace", oldText: "tabs", content: "uses tabs" }));
    const merged = { remove: ["uses tabs", "spaces"], text: "tabs in code, spaces in docs" };
    done(await store.curate("memory", merged));
    for (const text of ["tabs", "spaces"])
      expect(done(store.resolve("memory", { oldText: id(text), match: "id" })).op.oldText).toBe(merged.text);
  });

  it("of a removed text says by which change; an unknown id says so", async () => {
    const { store } = await homeWith("one");
    const { changeId } = done(await store.apply("memory", { action: "remove", oldText: "one" }));
    const op = { action: "remove", oldText: id("one"), match: "id" } as const;
    expect(refused(await store.apply("memory", op), "no_match").message).toContain(`by change ${changeId}`);
    const unknown = refused(await store.apply("memory", { ...op, oldText: "0badbeef" }), "no_match");
    expect(unknown.message).toContain("No entry has the id '0badbeef'");
    // Without `match: "id"` the answer is the usual one.
    const plain = refused(await store.apply("memory", { action: "remove", oldText: "0badbeef" }), "no_match");
    expect(plain.message).toBe("No entry matched '0badbeef'.");
  });
});

describe("the memory tool", () => {
  it("takes an id in place of old_text, and says what went", async () => {
    const { store } = await homeWith("one", "two");
    const call = { action: "remove", target: "memory", id: ` ${id("two")} ` };
    expect(await memoryTool(store, call)).toMatchObject({
      success: true,
      message: "Entry removed.",
      entries: ["one"],
      entry_ids: [id("one")],
      removed: ["two"],
    });
    expect(await memoryTool(store, { ...call, id: 7 })).toMatchObject({
      error: "id must be a string, but is 7.",
    });
  });
});
