// Overflow: the oldest entries make room, pinned ones stay, and archived ones can be restored.
import { statSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { addAll, done, MemoryHome, memoryWith, refused } from "../fakes/memory-home.ts";

const ARCHIVE = { memoryCharLimit: 30, overflow: "archive" } as const;
const texts = (entries: readonly { text: string }[]): string[] => entries.map(({ text }) => text);

describe("an add that does not fit", () => {
  it("moves the oldest entries to the archive and says so", async () => {
    const { home, store } = await memoryWith(["aaaaaaaa", "bbbbbbbb", "cccccccc"], ARCHIVE);
    const outcome = done(
      await store.apply(
        "memory",
        { action: "add", content: "dddddddddddd" },
        { origin: "cli", sessionId: "s" },
      ),
    );
    expect(outcome.archived).toEqual(["aaaaaaaa", "bbbbbbbb"]);
    expect(outcome.entries).toEqual(["cccccccc", "dddddddddddd"]);
    expect(outcome.message).toMatch(/^Entry added\. 2 older entries were moved to the archive/);
    expect(store.archived()).toMatchObject([
      { text: "aaaaaaaa", target: "memory", origin: "cli", sessionId: "s" },
      { text: "bbbbbbbb" },
    ]);
    expect(home.journal().at(-1)).toMatchObject({ action: "add", archived: ["aaaaaaaa", "bbbbbbbb"] });
    expect(statSync(home.path(".archive", "memory.jsonl")).mode & 0o777).toBe(0o600);
  });

  it("never moves a pinned entry", async () => {
    const { home, store } = await memoryWith(["aaaaaaaa", "bbbbbbbb"], ARCHIVE);
    done(await store.pin("memory", "aaa"));
    done(await store.apply("memory", { action: "add", content: "c".repeat(12) }));
    expect(home.text()).toBe(`aaaaaaaa\n§\n${"c".repeat(12)}`);
  });

  it("is refused, and nothing moves, when there is no room to be made", async () => {
    const { home, store } = await memoryWith(["aaaaaaaa", "bbbbbbbb"], ARCHIVE);
    done(await store.pin("memory", "aaa"));
    refused(await store.apply("memory", { action: "add", content: "c".repeat(31) }), "over_limit");
    refused(await store.apply("memory", { action: "add", content: "c".repeat(28) }), "over_limit");
    expect([home.text(), store.archived()]).toEqual(["aaaaaaaa\n§\nbbbbbbbb", []]);
  });

  it("in a group keeps what the group itself wrote", async () => {
    const { store } = await memoryWith(["aaaaaaaa", "bbbbbbbb"], ARCHIVE);
    const outcome = done(
      await store.applyAll("memory", [
        { action: "replace", oldText: "aaa", content: "AAAAAAAA" },
        { action: "add", content: "c".repeat(16) },
      ]),
    );
    expect(outcome.entries).toEqual(["AAAAAAAA", "c".repeat(16)]);
    expect(outcome.archived).toEqual(["bbbbbbbb"]);
  });

  it("is refused as ever when config says so, and a replace always is", async () => {
    const refusing = await new MemoryHome().open({ memoryCharLimit: 10 });
    await addAll(refusing, ["aaaaaaaa"]);
    refused(await refusing.apply("memory", { action: "add", content: "bbbbbbbb" }), "over_limit");
    const { store } = await memoryWith(["aaaaaaaa", "bbbbbbbb"], ARCHIVE);
    const replace = { action: "replace", oldText: "bbb", content: "c".repeat(25) } as const;
    refused(await store.apply("memory", replace), "over_limit");
  });
});

describe("an archived entry", () => {
  async function withArchived() {
    const { home, store } = await memoryWith(["aaaaaaaa", "bbbbbbbb", "c".repeat(16)], ARCHIVE);
    return { home, store, id: String(store.archived()[0]?.id) };
  }

  it("comes back to the end of its file and leaves the list", async () => {
    const { home, store, id } = await withArchived();
    done(await store.apply("memory", { action: "remove", oldText: "ccc" }));
    const outcome = done(await store.restore(id, { origin: "cli" }));
    expect(outcome.message).toBe("Entry restored from the archive.");
    expect(home.text()).toBe("bbbbbbbb\n§\naaaaaaaa");
    expect(home.journal().at(-1)).toMatchObject({ action: "restore", origin: "cli", after: "aaaaaaaa" });
    expect(texts(store.archived())).toEqual([]);
    expect(texts((await home.open(ARCHIVE)).archived())).toEqual([]);
  });

  it("is not listed while the same text is in the file", async () => {
    const { store } = await withArchived();
    done(await store.apply("memory", { action: "remove", oldText: "ccc" }));
    await addAll(store, ["aaaaaaaa"]);
    expect(store.archived()).toEqual([]);
  });

  it("is scanned again: a text that is blocked by now stays out", async () => {
    const home = new MemoryHome();
    const lenient = await home.open({ ...ARCHIVE, scanAllow: ["known_c2_framework"] });
    await addAll(lenient, ["Havoc the cat", "d".repeat(28)]);
    done(await lenient.apply("memory", { action: "remove", oldText: "ddd" }));
    const strict = await home.open(ARCHIVE);
    const id = String(strict.archived()[0]?.id);
    expect(refused(await strict.restore(id), "blocked").ids).toEqual(["known_c2_framework"]);
    expect(home.text()).toBe("");
  });

  it("of an unknown id is an error, and so is one of a switched-off target", async () => {
    const { home, store, id } = await withArchived();
    expect(refused(await store.restore("nothing0"), "no_match").message).toContain("'nothing0'");
    const off = await home.open({ ...ARCHIVE, disabled: ["memory"] });
    refused(await off.restore(id), "disabled");
  });
});

describe("a pin", () => {
  it("is found by a piece of text, kept across stores, and taken off again", async () => {
    const { home, store } = await memoryWith(["keep me", "not me"]);
    expect(done(await store.pin("memory", " keep "))).toBe("keep me");
    const other = await home.open();
    expect([other.isPinned("memory", "keep me"), other.isPinned("memory", "not me")]).toEqual([true, false]);
    expect(other.isPinned("user", "keep me")).toBe(false);
    done(await other.pin("memory", "keep", false));
    expect(store.isPinned("memory", "keep me")).toBe(false);
    expect(home.filesWith("keep me").some((path) => path.endsWith(".pins.json"))).toBe(false);
  });

  it("goes with an entry that is replaced, and back with an undo", async () => {
    const { store } = await memoryWith(["old words"]);
    done(await store.pin("memory", "old"));
    done(await store.apply("memory", { action: "replace", oldText: "old", content: "new words" }));
    expect(store.isPinned("memory", "new words")).toBe(true);
    done(await store.undo());
    expect(store.isPinned("memory", "old words")).toBe(true);
  });

  it("is refused for a text that fits no entry, several, or is blank", async () => {
    const { store } = await memoryWith(["red one", "red two"]);
    refused(await store.pin("memory", "blue"), "no_match");
    refused(await store.pin("memory", "red"), "ambiguous");
    refused(await store.pin("memory", " "), "empty");
  });

  it.each(["{", "[]", "null", "3", '{"memory":5}', '{"memory":["x",1]}'])(
    "file that cannot be understood (%s) stops an overflow rather than being taken for empty",
    async (damage) => {
      const { home, store } = await memoryWith(["aaaaaaaa", "bbbbbbbb"], ARCHIVE);
      writeFileSync(home.path(".pins.json"), damage);
      const { message } = refused(
        await store.apply("memory", { action: "add", content: "c".repeat(12) }),
        "io",
      );
      expect(message).toMatch(/\.pins\.json.*damaged.*delete/i);
      expect(home.text()).toBe("aaaaaaaa\n§\nbbbbbbbb");
    },
  );
});

it("undoing a restore puts the entry back where it was found", async () => {
  const { store } = await memoryWith(["aaaaaa", "bbbbbb"], {
    overflow: "archive",
    memoryCharLimit: 10,
  });
  done(await store.apply("memory", { action: "remove", oldText: "bbb" }));
  done(await store.restore(store.archived()[0]?.id ?? ""));
  done(await store.undo());
  expect(store.entries("memory")).toEqual([]);
  expect(store.archived().map(({ text }) => text)).toEqual(["aaaaaa"]);
});
