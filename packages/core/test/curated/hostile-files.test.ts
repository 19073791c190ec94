// Damaged or unexpected files in the memory directory.
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readPendingWrites } from "../../src/curated/index.ts";
import { addAll, MemoryHome, memoryWith, refused } from "../fakes/memory-home.ts";

describe("a journal or archive that cannot be read", () => {
  it("makes undo and restore fail as a result, not as an exception", async () => {
    const { home, store } = await memoryWith(["one"]);
    rmSync(home.path(".history", "memory.jsonl"));
    mkdirSync(home.path(".history", "memory.jsonl"));
    refused(await store.undo(), "io");
    mkdirSync(home.path(".archive", "memory.jsonl"), { recursive: true });
    refused(await store.restore("0a0a0a0a"), "io");
  });
});

describe("lines with names made to move a terminal's cursor", () => {
  it("are not taken for ours", async () => {
    const { home, store } = await memoryWith(["one"]);
    const line = {
      v: 1,
      kind: "change",
      at: 0,
      before: null,
      after: "x",
      file_before: null,
      file_after: null,
    };
    const time = "2026-01-01T00:00:00.000Z";
    for (const fields of [
      { id: "\u001b[2J", time, action: "add" },
      { id: "0a0a0a0a", time: "yesterday\u0007", action: "add" },
      { id: "0a0a0a0a", time, action: "\u001b]0;owned\u0007" },
    ])
      appendFileSync(home.path(".history", "memory.jsonl"), `${JSON.stringify({ ...line, ...fields })}\n`);
    expect(store.history()).toHaveLength(1);
  });
});

describe("pending writes", () => {
  it("with an impossible time do not stop explain", async () => {
    const { home, store } = await memoryWith();
    mkdirSync(home.pending, { recursive: true });
    const payload = { action: "add", target: "memory", content: "odd time", old_text: null };
    const record = { id: "0a0a0a0a", action: "add", summary: "s", origin: "x", created_at: 1.7e18, payload };
    writeFileSync(join(home.pending, "0a0a0a0a.json"), JSON.stringify(record));
    expect(store.explain("odd time", { pendingDirectory: home.pending }).pending).toHaveLength(1);
  });

  it("in a directory that cannot be listed are not the same as none", () => {
    const home = new MemoryHome();
    mkdirSync(join(home.home, "pending"));
    writeFileSync(home.pending, "a file in its place");
    expect(() => readPendingWrites(home.pending)).toThrow(/ENOTDIR/);
  });
});

describe("a home that others write and we only read", () => {
  it("keeps its journal within the cap", async () => {
    const home = new MemoryHome();
    const options = { historyMaxBytes: 65_536, historyKeep: 5 };
    mkdirSync(home.dir, { recursive: true });
    for (let i = 0; i < 80; i += 1) {
      home.write(`version ${i} ${"x".repeat(2000)}`);
      await home.open(options);
    }
    expect(home.journalText().length).toBeLessThan(2 * 65_536);
    expect((await home.open(options)).entries("memory")[0]).toContain("version 79");
  });
});

it("a change behind an entry that ends with a lone section sign is journalled as it will be read back", async () => {
  const home = new MemoryHome();
  mkdirSync(home.dir, { recursive: true });
  home.write("a\n§");
  const store = await home.open();
  await addAll(store, ["NEW"]);
  const again = await home.open();
  expect(again.entries("memory")).toEqual(["a", "§\nNEW"]);
  expect(again.explain("NEW").stored).toMatchObject([{ entry: "§\nNEW", origin: "tool" }]);
  const undone = await again.undo();
  expect(undone.ok || undone.error.message).not.toContain("any more");
});
