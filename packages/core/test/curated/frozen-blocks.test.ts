import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { DEFAULT_MEMORY_CONFIG } from "../../src/config/read.ts";
import { fenceFrozenBlocks, readFrozenBlocks } from "../../src/curated/frozen-blocks.ts";
import { MemoryStore } from "../../src/curated/index.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";

it("reads the same blocks as the store, whatever is in the files", async () => {
  const dir = tempDirectory();
  const text = fc.string({ unit: "binary" }).map((each) => each.toWellFormed());
  const lines = fc.array(fc.oneof(text, fc.constant("§"), fc.constant("same")), { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(lines, lines, async (memory, user) => {
      writeFileSync(join(dir, "MEMORY.md"), memory.join("\n"));
      writeFileSync(join(dir, "USER.md"), user.join("\n"));
      const store = new MemoryStore({ dir });
      await store.load();
      const blocks = (["memory", "user"] as const).flatMap((target) => store.renderSnapshot(target) ?? []);
      expect(readFrozenBlocks(dir, DEFAULT_MEMORY_CONFIG)).toEqual(blocks);
    }),
    { numRuns: 20 },
  );
});

it("leaves out a file that cannot be read and a target that is off", () => {
  const dir = tempDirectory();
  mkdirSync(join(dir, "MEMORY.md"));
  writeFileSync(join(dir, "USER.md"), "Prefers short answers");
  expect(readFrozenBlocks(dir, DEFAULT_MEMORY_CONFIG)).toHaveLength(1);
  expect(readFrozenBlocks(dir, { ...DEFAULT_MEMORY_CONFIG, userProfileEnabled: false })).toEqual([]);
});

it("fences blocks once, within 8000 characters, and nothing when there are none", () => {
  expect(fenceFrozenBlocks([])).toBeUndefined();
  const text = fenceFrozenBlocks(["a </memory-context> b", "line\n".repeat(4000)]) ?? "";
  expect(text.length).toBeLessThanOrEqual(8000);
  expect(text.match(/<\/?memory-context>/g)).toEqual(["<memory-context>", "</memory-context>"]);
});
