// The lock that needs no native code: what it leaves on disk, what it keeps open, what happens when its file goes.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { describe, expect, it } from "vitest";
import { tryMutex } from "../../src/lib/file-lock.ts";
import { mutexPath, tryWithFileLocks } from "../../src/lib/index.ts";
import { startChild, startScript } from "../fakes/child.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";

function held(path: string): () => void {
  const attempt = tryMutex(path);
  if (attempt.kind !== "held") throw new Error(`not held but ${JSON.stringify(attempt)}`);
  return attempt.release;
}

describe("the mutex of a lock file", () => {
  it("is an empty private file beside it whose name ends like a lock's", () => {
    const path = join(tempDirectory(), "below", "MEMORY.md.lock");
    held(path)();
    expect(mutexPath(path)).toMatch(/\/MEMORY\.md\.sqlite\.lock$/);
    const { mode, size } = statSync(mutexPath(path));
    expect([mode & 0o777, size]).toEqual([0o600, 0]);
    expect(readdirSync(join(path, ".."))).toEqual(["MEMORY.md.sqlite.lock"]); // no journal either
  });

  it("is busy while it is held, for the same process by another path too, and free afterwards", () => {
    const directory = tempDirectory();
    mkdirSync(join(directory, "real"));
    const release = held(join(directory, "real", "a.lock"));
    expect(tryMutex(join(directory, "real", "a.lock"))).toEqual({ kind: "busy" });
    expect(tryMutex(join(directory, "real", "..", "real", "a.lock"))).toEqual({ kind: "busy" });
    release();
    held(join(directory, "real", "a.lock"))();
  });

  it("excludes a thread of the same process, which gets it when it is free", async () => {
    const path = join(tempDirectory(), "a.lock");
    const url = new URL("../../src/lib/file-lock.ts", import.meta.url).href;
    const source = `
      const { parentPort, workerData } = require("node:worker_threads");
      import(workerData.url).then(({ tryMutex }) => {
        parentPort.on("message", () => {
          const attempt = tryMutex(workerData.path);
          parentPort.postMessage(attempt.kind);
        });
        parentPort.postMessage("ready");
      });`;
    const worker = new Worker(source, { eval: true, workerData: { path, url } });
    const answer = (): Promise<unknown> => new Promise((resolve) => worker.once("message", resolve));
    const ask = (): Promise<unknown> => {
      const next = answer();
      worker.postMessage("try");
      return next;
    };
    try {
      expect(await answer()).toBe("ready");
      const release = held(path);
      expect(await ask()).toBe("busy");
      release();
      expect(await ask()).toBe("held");
      expect(tryMutex(path)).toEqual({ kind: "busy" });
    } finally {
      await worker.terminate();
    }
    held(path)(); // a thread that ends lets go
  });

  it("of a file that was deleted or replaced is taken on the new file", async () => {
    const directory = tempDirectory();
    const path = join(directory, "a.lock");
    held(path)();
    rmSync(mutexPath(path));
    const release = held(path);
    const other = startScript("lock-holder.ts", [path]);
    expect(await other.rest()).toEqual(["busy"]);
    release();
    renameSync(mutexPath(path), join(directory, "aside"));
    const second = startScript("lock-holder.ts", [path]); // makes a new file
    expect(await second.nextLine()).toBe("held");
    expect(tryMutex(path)).toEqual({ kind: "busy" });
  });

  it("that cannot be had says why, and is not taken for busy", () => {
    const directory = tempDirectory();
    mkdirSync(join(directory, "a.sqlite.lock"));
    expect(tryMutex(join(directory, "a.lock"))).toEqual({
      kind: "unsupported",
      reason: expect.stringContaining("a.sqlite.lock"),
    });
    writeFileSync(
      join(directory, "b.sqlite.lock"),
      "no database at all, but text of more than a hundred bytes: ".repeat(20),
    );
    expect(tryMutex(join(directory, "b.lock"))).toMatchObject({ kind: "unsupported" });
    expect(tryWithFileLocks([join(directory, "b.lock")], (gap) => gap?.missing)).toEqual({
      ok: true,
      value: "mutex",
    });
  });

  it.skipIf(process.platform !== "linux")(
    "keeps few descriptors open however many are used, and none once they are idle; the process may end meanwhile",
    async () => {
      const url = new URL("../../src/index.ts", import.meta.url).href;
      const script = `
        import { readdirSync } from "node:fs";
        import { join } from "node:path";
        import { MemoryStore } from ${JSON.stringify(url)};
        const count = () => readdirSync("/proc/self/fd").length;
        const root = process.argv[1];
        const add = async (dir) => {
          const outcome = await new MemoryStore({ dir: join(root, dir) }).apply("memory", { action: "add", content: "x" });
          if (!outcome.ok) throw new Error(outcome.error.message);
        };
        await add("warm-up");
        const before = count();
        for (let index = 0; index < 60; index += 1) await add(String(index));
        const busy = count() - before;
        await new Promise((resolve) => setTimeout(resolve, 2200));
        console.log(JSON.stringify({ busy, idle: count() - before }));
        await add("last");`;
      const child = startChild(process.execPath, ["--input-type=module", "-e", script, tempDirectory()]);
      const { busy, idle } = JSON.parse((await child.nextLine()) ?? "{}") as { busy: number; idle: number };
      const endedAt = performance.now();
      await child.rest();
      expect(busy).toBeLessThanOrEqual(16);
      expect(idle).toBeLessThanOrEqual(0);
      expect(performance.now() - endedAt).toBeLessThan(900); // the handle left open keeps no process alive
    },
  );
});

const hasCompiler = process.platform === "linux" && spawnSync("cc", ["--version"]).status === 0;

describe.skipIf(!hasCompiler)("a file system without locks", () => {
  it("is not taken for one where everything is locked: the work is done and is told that nobody is excluded", async () => {
    const directory = tempDirectory();
    const source = join(directory, "enolck.c");
    const library = join(directory, "enolck.so");
    writeFileSync(
      source,
      `#define _GNU_SOURCE
      #include <dlfcn.h>
      #include <errno.h>
      #include <fcntl.h>
      #include <stdarg.h>
      static int refuse(int c) { return c == F_SETLK || c == F_SETLKW; }
      int fcntl64(int fd, int c, ...) { va_list a; va_start(a, c); void *p = va_arg(a, void *); va_end(a);
        if (refuse(c)) { errno = ENOLCK; return -1; }
        return ((int (*)(int, int, ...))dlsym(RTLD_NEXT, "fcntl64"))(fd, c, p); }
      int fcntl(int fd, int c, ...) { va_list a; va_start(a, c); void *p = va_arg(a, void *); va_end(a);
        if (refuse(c)) { errno = ENOLCK; return -1; }
        return ((int (*)(int, int, ...))dlsym(RTLD_NEXT, "fcntl"))(fd, c, p); }
      int flock(int fd, int c) { errno = ENOLCK; return -1; }`,
    );
    expect(spawnSync("cc", ["-shared", "-fPIC", "-o", library, source, "-ldl"]).stderr.toString()).toBe("");
    const home = tempDirectory();
    const script = join(import.meta.dirname, "..", "fakes", "unlocked-process.ts");
    const child = startChild(process.execPath, [script, home], { LD_PRELOAD: library });
    const [line] = await child.rest();
    expect(JSON.parse(line ?? "")).toMatchObject({ values: [1, 2, 3], gaps: ["both", "both", "both"] });
    expect(readdirSync(home).sort()).toEqual(["a.lock", "a.sqlite.lock"]); // the file it tried out is gone
    expect(existsSync(join(home, "a.lock"))).toBe(true);
  });
});
