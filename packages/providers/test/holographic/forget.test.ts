// Erasing a text from the fact database in the process that has it open.
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import type { MemoryProvider } from "../../../core/src/providers/index.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { createHolographicProvider } from "../../src/holographic/provider.ts";

async function opened(home = tempDirectory()) {
  const provider: MemoryProvider = createHolographicProvider();
  await provider.initialize("s", { hermes_home: home });
  onTestFinished(async () => provider.shutdown?.({}));
  const tool = async (args: Record<string, unknown>): Promise<Record<string, unknown>> =>
    JSON.parse((await provider.handleToolCall?.("fact_store", args, {})) ?? "") as Record<string, unknown>;
  return {
    home,
    provider,
    tool,
    add: (content: string, more = {}) => tool({ action: "add", content, ...more }),
  };
}

describe("forget", () => {
  it("takes facts by content and by tags, and entities that nothing else is about", async () => {
    const { home, provider, tool, add } = await opened();
    await add("Jane Smith works with John Doe");
    await add("John Doe keeps bees");
    await add("A quiet street", { tags: "jane,home" });
    expect(await provider.forget?.("Jane Smith", {})).toEqual({ erased: 1 });
    expect(await provider.forget?.("jane", {})).toEqual({ erased: 1 });
    expect(await tool({ action: "list" })).toMatchObject({ facts: [{ content: "John Doe keeps bees" }] });
    using db = new DatabaseSync(join(home, "memory_store.db"), { readOnly: true });
    expect(db.prepare("SELECT name FROM entities").all()).toEqual([{ name: "John Doe" }]);
  });

  it("says so while another process keeps deleted text in the log", async () => {
    const { home, provider, add } = await opened();
    await add("Jane Smith lives in Ghent");
    using reader = new DatabaseSync(join(home, "memory_store.db"), { readOnly: true });
    reader.exec("BEGIN");
    reader.prepare("SELECT count(*) FROM facts").get();
    const report = await provider.forget?.("Ghent", {});
    expect(report).toEqual({ erased: 1, remaining: expect.stringContaining("another process") });
    expect(report?.remaining).not.toContain("Ghent");
    reader.exec("COMMIT");
    expect(await provider.forget?.("Ghent", {})).toEqual({ erased: 0 });
  });
});
