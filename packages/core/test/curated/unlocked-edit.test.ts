// Another program edits a file without taking the lock, between our reading and our replacing it.
import { appendFileSync, linkSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { MemoryStoreOptions } from "../../src/curated/index.ts";
import { HeldFile, openMemoryFile } from "../../src/curated/memory-file.ts";
import { sha256, writeFileAtomic } from "../../src/lib/index.ts";
import { addAll, done, MemoryHome } from "../fakes/memory-home.ts";

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
    const home = new MemoryHome();
    await addAll(await home.open(), ["one"]);
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
    const home = new MemoryHome();
    await addAll(await home.open(), ["one"]);
    const edit = () => writeFileSync(home.path("MEMORY.md"), "uno");
    const store = await home.open({ writeFile: justBeforeRename(edit) });
    done(await store.apply("memory", { action: "add", content: "two" }));
    expect(home.backups().map((name) => readFileSync(home.path(name), "utf8"))).toEqual(["uno"]);
  });

  it("by a program that is still writing ends up whole in the backup", async () => {
    const home = new MemoryHome();
    await addAll(await home.open(), ["one"]);
    const edit = () => writeFileSync(home.path("MEMORY.md"), "half");
    const store = await home.open({ writeFile: justBeforeRename(edit) });
    linkSync(home.path("MEMORY.md"), home.path("open-in-editor")); // stands for a descriptor it still has
    done(await store.apply("memory", { action: "add", content: "two" }));
    appendFileSync(home.path("open-in-editor"), " and the rest");
    expect(readFileSync(home.path(home.backups()[0] ?? ""), "utf8")).toBe("half and the rest");
  });

  it("before a reset is kept too", async () => {
    const home = new MemoryHome();
    const store = await home.open();
    await addAll(store, ["one"]);
    const meta = whileJournalling(() => appendFileSync(home.path("MEMORY.md"), " more"));
    done(await store.reset("memory", meta));
    expect(home.text()).toBeUndefined();
    expect(home.backups().map((name) => readFileSync(home.path(name), "utf8"))).toEqual(["one more"]);
  });

  it("that did not happen leaves no backup, no warning and no leftovers", async () => {
    const home = new MemoryHome();
    const store = await home.open();
    await addAll(store, ["one", "two"]);
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
    const home = new MemoryHome();
    const store = await home.open();
    await addAll(store, ["the secret one", "two"]);
    linkSync(home.path("MEMORY.md"), home.path(".mem_memory_0badbeef.old.tmp"));
    done(await store.forget("secret"));
    expect([home.filesWith("secret"), leftovers(home), home.text()]).toEqual([[], [], "two"]);
  });
});

describe("another file put in its place, after the journal has our change", () => {
  it("is taken into account: the change is done again on top of it, and the first try counts as aborted", async () => {
    const home = new MemoryHome();
    const store = await home.open();
    await addAll(store, ["one"]);
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

  it("also where there was no file before", async () => {
    const home = new MemoryHome();
    const store = await home.open();
    const meta = whileJournalling(() => home.write("from the editor"));
    const outcome = done(await store.apply("memory", { action: "add", content: "two" }, meta));
    expect(outcome.entries).toEqual(["from the editor", "two"]);
  });
});

describe("the old file of a writer that was killed", () => {
  const later = { now: () => new Date(Date.now() + 3_600_000) };

  it("is dropped when the journal knows its content", async () => {
    const home = new MemoryHome();
    const store = await home.open();
    await addAll(store, ["one"]);
    linkSync(home.path("MEMORY.md"), home.path(".mem_memory_0badbeef.old.tmp"));
    await addAll(store, ["two"]);
    await addAll(await home.open({ clock: later }), ["three"]);
    expect([leftovers(home), home.backups()]).toEqual([[], []]);
  });

  it("becomes a backup, with a note in the journal, when it holds an edit that is nowhere else", async () => {
    const home = new MemoryHome();
    await addAll(await home.open(), ["one"]);
    writeFileSync(home.path(".mem_memory_0badbeef.old.tmp"), "one, edited");
    const soon = await home.open();
    await addAll(soon, ["two"]); // its writer may be alive
    expect(leftovers(home)).toHaveLength(1);
    const store = await home.open({ clock: later });
    await addAll(store, ["three"]);
    expect(home.backups().map((name) => readFileSync(home.path(name), "utf8"))).toEqual(["one, edited"]);
    expect(leftovers(home)).toEqual([]);
    expect(
      store
        .history()
        .map(({ reason }) => reason)
        .join(),
    ).toContain(home.backups()[0]);
    expect(home.text()).toBe("one\n§\ntwo\n§\nthree");
  });
});

describe("where hard links do not work", () => {
  it("the open file tells of the edit, and a warning says what that does not cover", async () => {
    const home = new MemoryHome();
    await addAll(await home.open(), ["one"]);
    const warnings: string[] = [];
    using opened = openMemoryFile(home.path("MEMORY.md"));
    // The directory does not exist; any other reason that prevents a link has the same effect.
    using held = new HeldFile(opened, home.path("MEMORY.md"), home.path("none", "\0"), (line) =>
      warnings.push(line),
    );
    expect(held.take()).toBe(true);
    expect(warnings).toEqual([expect.stringMatching(/hard link .* could not be made/)]);
    writeFileSync(home.path("MEMORY.md"), "uno");
    const backup = held.keepIfEdited(Buffer.from("new"), home.path("MEMORY.md"), new Date());
    expect(readFileSync(String(backup), "utf8")).toBe("uno");
  });
});

it("the hash of a file that was overwritten in place is that of our own content, not an edit", async () => {
  const home = new MemoryHome();
  await addAll(await home.open(), ["one"]);
  const inPlace: MemoryStoreOptions["writeFile"] = (path, data, options = {}) => {
    options.beforeReplace?.();
    writeFileSync(path, data);
    return path;
  };
  const store = await home.open({ writeFile: inPlace });
  done(await store.apply("memory", { action: "add", content: "two" }));
  expect([home.backups(), sha256(String(home.text()))]).toEqual([[], sha256("one\n§\ntwo")]);
});
