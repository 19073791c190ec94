// Writes that fail on the way: the old file stays, the live list stays, the next write works.
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { writeFileAtomic } from "../../src/lib/index.ts";
import { addAll, done, MemoryHome, memoryWith, refused } from "../fakes/memory-home.ts";
import { callMounted, startMounted, whyNoMounts } from "../fakes/mounts.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";

/** A disk that fails while told to, before or after `beforeReplace`. */
function faultyDisk(): { writeFile: typeof writeFileAtomic; fail: "no" | "early" | "late" } {
  const disk: ReturnType<typeof faultyDisk> = {
    fail: "no",
    writeFile: (path, data, options) => {
      if (disk.fail === "no") return writeFileAtomic(path, data, options);
      if (disk.fail === "late") options?.beforeReplace?.();
      throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    },
  };
  return disk;
}

describe.each(["early", "late"] as const)("a write that fails %s", (moment) => {
  it("is an error that names the file, with file and live entries as they were", async () => {
    const home = new MemoryHome();
    const disk = faultyDisk();
    const store = await home.open({ writeFile: disk.writeFile });
    await addAll(store, ["old one", "old two"]);
    disk.fail = moment;
    const ops = [
      { action: "add", content: "new" },
      { action: "replace", oldText: "one", content: "new" },
      { action: "remove", oldText: "two" },
    ] as const;
    for (const op of ops) {
      const { message } = refused(await store.apply("memory", op), "io");
      expect(message).toContain(`Failed to write memory file ${home.path("MEMORY.md")}: ENOSPC`);
      expect(store.entries("memory")).toEqual(["old one", "old two"]);
    }
    expect(home.text()).toBe("old one\n§\nold two");
    disk.fail = "no";
    await addAll(store, ["new"]);
    expect(home.text()).toBe("old one\n§\nold two\n§\nnew");
  });

  it("does not count as a change: it is not undone, and its line is shown as aborted", async () => {
    const home = new MemoryHome();
    const disk = faultyDisk();
    const store = await home.open({ writeFile: disk.writeFile });
    await addAll(store, ["kept"]);
    disk.fail = moment;
    refused(await store.apply("memory", { action: "add", content: "lost" }), "io");
    const expected = moment === "late" ? ["aborted", "committed"] : ["committed"];
    expect(store.history().map(({ status }) => status)).toEqual(expected);
    disk.fail = "no";
    done(await store.undo());
    expect(home.text()).toBe("");
  });
});

describe("a journal that cannot be written", () => {
  it("stops the change, because a change without a trace could not be undone", async () => {
    const home = new MemoryHome();
    await home.open();
    writeFileSync(home.path(".history"), "a file where the directory should be");
    home.write("by hand");
    const store = await home.open();
    expect(store.entries("memory")).toEqual(["by hand"]);
    expect(store.renderSnapshot("memory")).toContain("by hand");
    refused(await store.apply("memory", { action: "add", content: "new" }), "io");
    expect([home.text(), store.entries("memory")]).toEqual(["by hand", ["by hand"]]);
    expect(readdirSync(home.dir).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });
});

describe.skipIf(whyNoMounts)(`a full disk${whyNoMounts ? ` (${whyNoMounts})` : ""}`, () => {
  it("refuses the write, keeps the file and takes writes again when there is room", async () => {
    const home = new MemoryHome();
    mkdirSync(home.dir, { recursive: true });
    const script = `
      import { MemoryStore } from ${JSON.stringify(new URL("../../src/index.ts", import.meta.url).href)};
      import { readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
      const dir = process.argv[1];
      const store = new MemoryStore({ dir, memoryCharLimit: 1e6 });
      await store.load();
      await store.apply("memory", { action: "add", content: "precious" });
      let size = 1 << 20;
      for (let fd = 0; size >= 1; ) try { writeFileSync(dir + "/ballast" + fd++, Buffer.alloc(size)); } catch { size >>= 1; }
      const full = await store.apply("memory", { action: "add", content: "x".repeat(20000) });
      const small = await store.apply("memory", { action: "add", content: "y".repeat(3000) });
      const text = readFileSync(dir + "/MEMORY.md", "utf8");
      const temps = readdirSync(dir).filter((name) => name.endsWith(".tmp"));
      for (const name of readdirSync(dir)) if (name.startsWith("ballast")) rmSync(dir + "/" + name);
      const again = await store.apply("memory", { action: "add", content: "after" });
      console.log(JSON.stringify({ full, small, text, temps, again, history: store.history().map((line) => line.status) }));`;
    const child = startMounted(
      'mount -t tmpfs -o size=128k tmpfs "$1"',
      [home.dir],
      [process.execPath, "--input-type=module", "-e", script, home.dir],
    );
    const found = JSON.parse((await child.rest()).at(-1)!) as Record<string, unknown>;
    const enospc = { ok: false, error: { kind: "io", message: expect.stringContaining("ENOSPC") } };
    expect(found).toMatchObject({
      full: enospc,
      small: enospc,
      text: "precious",
      temps: [],
      again: { ok: true, value: { entries: ["precious", "after"] } },
    });
  });

  it("below a file mounted on its own names the copy that holds the whole new content", async () => {
    const { home } = await memoryWith(["precious"]);
    const setUp =
      'mount -t tmpfs -o size=16k tmpfs "$2"; cp "$1" "$2/real"; head -c 9000 /dev/zero > "$2/ballast"; mount --bind "$2/real" "$1"';
    const op = { action: "add", content: "n".repeat(9000) } as const;
    const [outcome] = await callMounted(
      setUp,
      [home.path("MEMORY.md"), tempDirectory()],
      { dir: home.dir, options: { memoryCharLimit: 100_000 } },
      [{ call: "apply", target: "memory", op }],
    );
    const { error } = outcome as { error: { kind: string; message: string } };
    expect(error.kind).toBe("io");
    const [, copy] = /Copy (\S+) over it/.exec(error.message) ?? [];
    expect(error.message).not.toContain("Nothing was changed");
    expect(home.filesWith(`precious\n§\n${"n".repeat(9000)}`)).toEqual([copy]);
  });
});

describe("another program that writes without the lock", () => {
  it("between our reading and our writing makes us start again, and both changes stay", async () => {
    const home = new MemoryHome();
    let interruptions = 1;
    const store = await home.open({
      writeFile: (path, data, options) => {
        if (interruptions-- > 0) appendFileSync(path, "\n§\nfrom an editor");
        return writeFileAtomic(path, data, options);
      },
    });
    interruptions = 0;
    await addAll(store, ["ours"]);
    interruptions = 1;
    const outcome = done(await store.apply("memory", { action: "add", content: "ours too" }));
    expect(outcome.entries).toEqual(["ours", "from an editor", "ours too"]);
    expect(home.text()).toBe("ours\n§\nfrom an editor\n§\nours too");
    // The second line is about the try that was given up.
    expect(home.journal().map(({ action }) => action)).toEqual(["add", "add", "external", "add"]);
  });

  it("again and again is given up on, with an error and nothing overwritten", async () => {
    const home = new MemoryHome();
    let count = 0;
    const store = await home.open({
      writeFile: (path, data, options) => {
        count += 1;
        writeFileSync(path, `edit ${count}`);
        return writeFileAtomic(path, data, options);
      },
    });
    home.write("edit 0");
    const { message } = refused(await store.apply("memory", { action: "add", content: "ours" }), "io");
    expect(message).toContain("keeps changing it");
    expect(home.text()).toBe(`edit ${count}`);
  });
});

describe("a linked memory file", () => {
  it("stays a link; its target is written, locked and reset", async () => {
    const home = new MemoryHome();
    const shared = tempDirectory();
    await home.open();
    symlinkSync(join(shared, "notes.md"), home.path("MEMORY.md"));
    const store = await home.open();
    await addAll(store, ["through the link"]);
    expect(readdirSync(shared).sort()).toEqual(["notes.md", "notes.md.lock", "notes.md.sqlite.lock"]);
    done(await store.reset("memory"));
    expect(readdirSync(shared).sort()).toEqual(["notes.md.lock", "notes.md.sqlite.lock"]);
    await addAll(store, ["again"]);
    expect((await home.open()).entries("memory")).toEqual(["again"]);
  });
});

describe("temporary files of killed writers", () => {
  it("are removed by the next writer once they are old, never while they are fresh", async () => {
    const home = new MemoryHome();
    await home.open();
    const [old, fresh] = [".mem_memory_00000000aaaa.tmp", ".mem_memory_00000000bbbb.tmp"];
    for (const name of [old, fresh]) writeFileSync(home.path(name), "half a te");
    utimesSync(home.path(old), new Date(), new Date(Date.now() - 3_600_000));
    await addAll(await home.open(), ["note"]);
    expect(readdirSync(home.dir).filter((name) => name.endsWith(".tmp"))).toEqual([fresh]);
    rmSync(home.path(fresh));
  });
});
