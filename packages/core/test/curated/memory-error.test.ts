import { expect, it } from "vitest";
import { err, MemoryStore, ok, type Result } from "../../src/index.ts";
import { memoryWith } from "../fakes/memory-home.ts";

it("a refusal is an Error with its kind, and has the same JSON as a plain object", async () => {
  const { store } = await memoryWith();
  const loaded: Result<void, Error> = await store.load();
  expect(loaded).toEqual(ok(undefined));
  for (const ops of [
    [{ action: "add", content: " " }],
    [
      { action: "add", content: "a note" },
      { action: "remove", oldText: "nothing like it" },
    ],
  ] as const) {
    const refused = await store.applyAll("memory", ops);
    if (refused.ok) throw new Error("it was accepted");
    expect(refused.error).toBeInstanceOf(Error);
    expect(JSON.parse(JSON.stringify(err(refused.error)))).toEqual({
      ok: false,
      error: { kind: ops.length === 1 ? "empty" : "no_match", message: refused.error.message },
    });
  }
  expect(new MemoryStore({ dir: store.dir }).check({ action: "add", content: "" })).toBeInstanceOf(Error);
});
