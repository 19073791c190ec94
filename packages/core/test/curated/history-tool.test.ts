// The `memory_history` tool: its arguments and its JSON.
import { describe, expect, it } from "vitest";
import { memoryHistoryEntry } from "../../src/curated/history-tool.ts";
import type { MemoryStore } from "../../src/index.ts";
import { addAll, memoryWith } from "../fakes/memory-home.ts";
import { callContext } from "../fakes/tools.ts";

async function ask(store: MemoryStore | undefined, args: object): Promise<Record<string, unknown>> {
  const outcome = await memoryHistoryEntry((work) => work(store)).run({ ...args }, callContext());
  return JSON.parse(outcome.text) as Record<string, unknown>;
}

async function filled(): Promise<MemoryStore> {
  const { store } = await memoryWith(["one", "two"]);
  await addAll(store, ["three"], "user");
  return store;
}

describe("memory_history", () => {
  it("lists the newest changes first and counts the others", async () => {
    expect(await ask(await filled(), { limit: 1 })).toMatchObject({
      success: true,
      count: 1,
      total: 3,
      changes: [{ target: "user", action: "add", changes: [{ before: null, after: "three" }] }],
    });
  });

  it("shows one target, or one change by its id", async () => {
    const store = await filled();
    const { changes } = await ask(store, { target: "memory" });
    expect(changes).toMatchObject([{ changes: [{ after: "two" }] }, { changes: [{ after: "one" }] }]);
    const [{ id }] = changes as [{ id: string }];
    expect(await ask(store, { id })).toMatchObject({ count: 1, changes: [{ id }] });
  });

  it("takes null and an empty text for missing, and brings a limit into bounds", async () => {
    const store = await filled();
    expect(await ask(store, { target: null, id: "", limit: "" })).toMatchObject({ count: 3 });
    expect(await ask(store, { limit: "-4" })).toMatchObject({ count: 1 });
    expect(await ask(store, { limit: 1e9 })).toMatchObject({ count: 3 });
  });

  it.each([
    [{ target: "both" }, "Invalid target"],
    [{ id: 5 }, "id must be a string"],
    [{ limit: "many" }, "limit must be a whole number"],
    [{ id: "0000" }, "No change has the id '0000'"],
  ])("refuses %j", async (args, error) => {
    const answer = await ask(await filled(), args);
    expect(answer).toMatchObject({ success: false, error: expect.stringContaining(error) });
  });

  it("says so when memory is switched off", async () => {
    expect(await ask(undefined, {})).toMatchObject({
      success: false,
      error: expect.stringContaining("not available"),
    });
  });
});
