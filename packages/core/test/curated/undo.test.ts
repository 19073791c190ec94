// Taking changes back: bytes as before, and a reason where that is not possible.
import { describe, expect, it } from "vitest";
import { addAll, done, MemoryHome, memoryWith, refused, tickingClock } from "../fakes/memory-home.ts";

async function homeWith(...texts: string[]) {
  const { home, store } = await memoryWith([], { clock: tickingClock() });
  const ids = await addAll(store, texts);
  return { home, store, ids };
}

describe("undo gives back the bytes before", () => {
  it("an add", async () => {
    const { home, store } = await homeWith("one", "two");
    const outcome = done(await store.undo());
    expect([home.text(), outcome.entries, store.entries("memory")]).toEqual(["one", ["one"], ["one"]]);
    expect(home.journal().at(-1)).toMatchObject({ action: "undo", before: "two", after: null });
  });

  it("a reset, in the old order", async () => {
    const { home, store } = await homeWith("one", "two", "three");
    done(await store.reset("memory"));
    expect(home.text()).toBeUndefined();
    done(await store.undo());
    expect(home.text()).toBe("one\n§\ntwo\n§\nthree");
  });

  it("an edit by another program", async () => {
    const { home, store } = await homeWith("one", "two", "three");
    home.write("zero\n§\ntwo\n§\n3");
    await store.load();
    done(await store.undo());
    expect(home.text()).toBe("one\n§\ntwo\n§\nthree");
  });

  it("an add that moved others to the archive, which then no longer lists them", async () => {
    const { home, store } = await memoryWith(["first one", "second"], {
      memoryCharLimit: 20,
      overflow: "archive",
    });
    done(await store.apply("memory", { action: "add", content: "a third, long" }));
    expect(store.archived().map(({ text }) => text)).toEqual(["first one", "second"]);
    done(await store.undo());
    expect(home.text()).toBe("first one\n§\nsecond");
    done(await store.apply("memory", { action: "remove", oldText: "first" }));
    expect(store.archived()).toEqual([]); // removed on purpose, so it does not come back into the list
  });

  it("a restore from the archive", async () => {
    const { home, store } = await memoryWith(["first one", "second"], {
      memoryCharLimit: 12,
      overflow: "archive",
    });
    done(await store.apply("memory", { action: "remove", oldText: "second" }));
    done(await store.restore(String(store.archived()[0]?.id)));
    expect(home.text()).toBe("first one");
    done(await store.undo());
    expect(home.text()).toBe("");
  });
});

describe("undo, repeated", () => {
  it("steps further back each time", async () => {
    const { home, store } = await homeWith("one", "two", "three");
    const texts: (string | undefined)[] = [];
    for (let step = 0; step < 3; step += 1) {
      done(await store.undo());
      texts.push(home.text());
    }
    expect(texts).toEqual(["one\n§\ntwo", "one", ""]);
    expect(refused(await store.undo(), "no_match").message).toBe("There is no change to take back.");
  });

  it("of an undo brings the change back, and that can be undone again", async () => {
    const { home, store, ids } = await homeWith("one", "two");
    const undone = done(await store.undo());
    const redone = done(await store.undo({ id: String(undone.changeId) }));
    expect(home.text()).toBe("one\n§\ntwo");
    expect(store.history().find(({ id }) => id === ids[1])).toMatchObject({ status: "committed" });
    expect(store.history().find(({ id }) => id === undone.changeId)).toMatchObject({
      status: "undone",
      undone_by: redone.changeId,
    });
    done(await store.undo());
    expect(home.text()).toBe("one");
  });

  it("of an undo that had emptied the archive puts the entries back into it", async () => {
    const { home, store } = await memoryWith(["first one", "second"], {
      memoryCharLimit: 20,
      overflow: "archive",
    });
    done(await store.apply("memory", { action: "add", content: "a third, long" }));
    const undone = done(await store.undo());
    done(await store.undo({ id: String(undone.changeId) }));
    expect(home.text()).toBe("a third, long");
    expect(store.archived().map(({ text }) => text)).toEqual(["first one", "second"]);
  });

  it("by id leaves later changes alone", async () => {
    const { home, store, ids } = await homeWith("one", "two", "three");
    done(await store.undo({ id: String(ids[0]) }));
    expect(home.text()).toBe("two\n§\nthree");
  });

  it("finds the newest change of either target, or of the one asked for", async () => {
    const { home, store } = await homeWith("note");
    await addAll(store, ["trait"], "user");
    expect(store.undoCandidate()).toMatchObject({ target: "user" });
    expect(store.undoCandidate({ target: "memory" })).toMatchObject({ target: "memory" });
    done(await store.undo({ target: "memory" }));
    expect([home.text(), home.text("user")]).toEqual(["", "trait"]);
  });
});

describe("undo is refused with a reason", () => {
  it("when no change has that id", async () => {
    const { store } = await homeWith("one");
    expect(refused(await store.undo({ id: "ffffffff" }), "no_match").message).toContain("'ffffffff'");
  });

  it("when the change is taken back already", async () => {
    const { store, ids } = await homeWith("one");
    const by = done(await store.undo()).changeId;
    expect(refused(await store.undo({ id: String(ids[0]) }), "no_match").message).toContain(
      `already, by ${by}`,
    );
  });

  it("when the entry is gone or was changed since", async () => {
    const { home, store, ids } = await homeWith("one", "two");
    done(await store.apply("memory", { action: "replace", oldText: "one", content: "uno" }));
    const { message } = refused(await store.undo({ id: String(ids[0]) }), "no_match");
    expect(message).toContain("'one' is not in memory any more");
    expect(home.text()).toBe("uno\n§\ntwo");
  });

  it("when the old text is stored again", async () => {
    const { store } = await homeWith("one");
    const removed = done(await store.apply("memory", { action: "remove", oldText: "one" })).changeId;
    await addAll(store, ["one"]);
    expect(refused(await store.undo({ id: String(removed) }), "no_match").message).toContain("stored again");
  });

  it("when only half of a group still applies, and then none of it is taken back", async () => {
    const { home, store } = await homeWith("one");
    const group = done(
      await store.applyAll("memory", [
        { action: "add", content: "two" },
        { action: "add", content: "three" },
      ]),
    ).changeId;
    done(await store.apply("memory", { action: "remove", oldText: "two" }));
    refused(await store.undo({ id: String(group) }), "no_match");
    expect(home.text()).toBe("one\n§\nthree");
  });

  it("when the old text no longer fits", async () => {
    const { home } = await homeWith("a long enough entry");
    const store = await home.open({ memoryCharLimit: 10 });
    done(await store.apply("memory", { action: "remove", oldText: "long" }));
    refused(await store.undo(), "over_limit");
    expect(home.text()).toBe("");
  });

  it("when the old text is blocked by now", async () => {
    const home = new MemoryHome();
    const lenient = await home.open({ scanAllow: ["known_c2_framework"] });
    await addAll(lenient, ["Havoc the cat"]);
    done(await lenient.apply("memory", { action: "remove", oldText: "Havoc" }));
    const strict = await home.open();
    expect(refused(await strict.undo(), "blocked").ids).toEqual(["known_c2_framework"]);
    expect(home.text()).toBe("");
    done(await lenient.undo());
  });

  it("when the change was a forgetting", async () => {
    const { store } = await homeWith("one", "two");
    done(await store.forget("one"));
    const forget = store.history().find(({ action }) => action === "forget");
    refused(await store.undo({ id: String(forget?.id) }), "no_match");
    expect(store.undoCandidate()).toMatchObject({ changes: [{ after: "two" }] });
  });
});
