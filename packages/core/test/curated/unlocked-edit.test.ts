// Another program edits a file without taking the lock, between our reading and our replacing it.
import { appendFileSync, linkSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { MemoryStoreOptions } from "../../src/curated/index.ts";
import { sha256, writeFileAtomic } from "../../src/lib/index.ts";
import { done, type MemoryHome, memoryWith } from "../fakes/memory-home.ts";

/** Runs `edit` after every check, right before the rename. */
function justBeforeRename(edit: () => void): typeof writeFileAtomic {
  let isDone = false;
  return (path, data, options = {}) =>
    writeFileAtomic(path, data, {
      ...options,
      beforeReplace: () => {
        options.beforeReplace?.();
        if (!isDone) edit();
        isDone = true;
      },
    });
}

function leftovers(home: MemoryHome): string[] {
  return readdirSync(home.dir).filter((name) => name.endsWith(".tmp"));
}

describe("an edit in place, just before the rename", () => {
  it("is kept in a backup, told in the outcome and noted in the journal", async () => {
    const { home } = await memoryWith(["one"]);
    const edit = () => appendFileSync(home.path("MEMORY.md"), "\n§\nfrom the editor");
    const store = await home.open({ writeFile: justBeforeRename(edit) });
    const outcome = done(await store.apply("memory", { action: "add", content: "two" }));
    expect(home.text()).toBe("one\n§\ntwo");
    const [backup = ""] = home.backups();
    expect(readFileSync(home.path(backup), "utf8")).toBe("one\n§\nfrom the editor");
    expect(outcome.warning).toContain(backup);
    expect(store.warnings.join()).toContain(backup);
    expect(store.history()[0]).toMatchObject({ origin: "external", reason: expect.stringContaining(backup) });
    expect(leftovers(home)).toEqual([]);
    // The list continues from our write, which can be undone.
    expect(done(await store.undo()).entries).toEqual(["one"]);
  });

  it("of the same length within the same tick of the clock is noticed as well", async () => {
    const { home } = await memoryWith(["one"]);
    const edit = () => writeFileSync(home.path("MEMORY.md"), "uno");
    const store = await home.open({ writeFile: justBeforeRename(edit) });
    done(await store.apply("memory", { action: "add", content: "two" }));
    expect(home.backups().map((name) => readFileSync(home.path(name), "utf8"))).toEqual(["uno"]);
  });

  it("before a reset is kept too", async () => {
    const { home, store } = await memoryWith(["one"]);
    const meta = whileJournalling(() => appendFileSync(home.path("MEMORY.md"), " more"));
    done(await store.reset("memory", meta));
    expect(home.text()).toBeUndefined();
    done(await store.undo());
    expect(home.text()).toBe("one more");
  });

  it("that did not happen leaves no backup, no warning and no leftovers", async () => {
    const { home, store } = await memoryWith(["one", "two"]);
    expect([home.backups(), store.warnings, leftovers(home)]).toEqual([[], [], []]);
  });
});

/** Building the journal line happens after all checks of the file but the last. */
function whileJournalling(act: () => void): { sessionId: string } {
  let isDone = false;
  const sessionId = {
    toJSON: () => {
      if (!isDone) act();
      isDone = true;
      return "s";
    },
  };
  return { sessionId: sessionId as unknown as string };
}

describe("the old file of a forgetting that was killed", () => {
  it("goes with the text, also while it is the file itself under a second name", async () => {
    const { home, store } = await memoryWith(["the secret one", "two"]);
    linkSync(home.path("MEMORY.md"), home.path(".mem_memory_0badbeef.old.tmp"));
    done(await store.forget("secret"));
    expect([home.filesWith("secret"), leftovers(home), home.text()]).toEqual([[], [], "two"]);
  });
});

describe("another file put in its place, after the journal has our change", () => {
  it("is taken into account: the change is done again on top of it, and the first try counts as aborted", async () => {
    const { home, store } = await memoryWith(["one"]);
    const meta = whileJournalling(() => {
      writeFileSync(home.path("editor.tmp~"), "one\n§\nfrom the editor");
      renameSync(home.path("editor.tmp~"), home.path("MEMORY.md"));
    });
    const outcome = done(await store.apply("memory", { action: "add", content: "two" }, meta));
    expect(outcome.entries).toEqual(["one", "from the editor", "two"]);
    expect(home.text()).toBe("one\n§\nfrom the editor\n§\ntwo");
    const lines = store.history();
    expect(lines.map(({ action, status }) => `${action} ${status}`)).toEqual([
      "add committed",
      "external committed",
      "add aborted",
      "add committed",
    ]);
    expect(lines[1]?.changes).toMatchObject([{ before: null, after: "from the editor" }]);
    done(await store.undo());
    expect([home.text(), leftovers(home), home.backups()]).toEqual(["one\n§\nfrom the editor", [], []]);
  });
});

it("the hash of a file that was overwritten in place is that of our own content, not an edit", async () => {
  const { home } = await memoryWith(["one"]);
  const inPlace: MemoryStoreOptions["writeFile"] = (path, data, options = {}) => {
    options.beforeReplace?.();
    writeFileSync(path, data);
    return path;
  };
  const store = await home.open({ writeFile: inPlace });
  done(await store.apply("memory", { action: "add", content: "two" }));
  expect([home.backups(), sha256(String(home.text()))]).toEqual([[], sha256("one\n§\ntwo")]);
});
