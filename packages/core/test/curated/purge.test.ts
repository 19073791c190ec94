// Purging a target: everything kept for it is deleted, the other target stays.
import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { memoryTool } from "../../src/index.ts";
import { addAll, done, MemoryHome, memoryWith } from "../fakes/memory-home.ts";

describe("a purge", () => {
  it("leaves no trace of the target's texts, and the other target unchanged", async () => {
    const { home, store } = await memoryWith(["purge me one", "purge me two", "purge me three"], {
      memoryCharLimit: 30,
      overflow: "archive",
    });
    done(await store.pin("memory", "three"));
    await addAll(store, ["stays"], "user");
    for (const [content, target] of [
      ["purge me too", "memory"],
      ["stays staged", "user"],
    ])
      await memoryTool(store, { action: "add", target, content }, { home: home.home, writeApproval: true });
    writeFileSync(home.path("MEMORY.md.bak.1700000000"), "purge me, says a backup");
    writeFileSync(home.path(".mem_memory_0123456789ab.tmp"), "purge me, says a leftover");
    writeFileSync(home.path(".mem_memory_0123456789ab.rescue"), "purge me, says a rescued copy");
    const planned = store.purgeable("memory", { pendingDirectory: home.pending });
    expect(done(await store.purge("memory", { pendingDirectory: home.pending }))).toEqual(planned);
    expect(planned).toMatchObject({ pins: 1, pending: 1 });
    expect(home.filesWith("purge me")).toEqual([]);
    expect([store.entries("memory"), store.history({ target: "memory" }), store.archived()]).toEqual([
      [],
      [],
      [],
    ]);
    expect([home.text("user"), store.history({ target: "user" }).length]).toEqual(["stays", 1]);
    expect(home.filesWith("stays staged")).toHaveLength(1);
  });

  it("also clears a file that can no longer be read", async () => {
    const home = new MemoryHome();
    await home.open();
    home.write(Buffer.from([0xff, 0xfe]));
    const store = await home.open();
    done(await store.purge("memory"));
    await addAll(store, ["fresh"]);
  });
});
