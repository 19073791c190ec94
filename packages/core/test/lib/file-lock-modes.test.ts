// Processes that come by their locks in different ways exclude each other; those that can, exclude Python too.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tryWithFileLocks, withFileLocks } from "../../src/lib/index.ts";
import { type Child, startChild, startScript } from "../fakes/child.ts";
import { LOCK_MODES, TESTABLE_MODES } from "../fakes/lock-modes.ts";
import { hasPython, PYTHON_HOLDS } from "../fakes/python-writer.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";

async function holder(path: string, flags: readonly string[]): Promise<Child> {
  const child = startScript("lock-holder.ts", [path], flags);
  expect(await child.nextLine()).toBe("held");
  return child;
}

describe.each(TESTABLE_MODES)("a process with $name", ({ flags, kernel, name }) => {
  it("excludes every other mode, and is free at once after kill -9", async () => {
    const path = join(tempDirectory(), "a.lock");
    const other = await holder(path, flags);
    for (const mode of TESTABLE_MODES)
      expect(await startScript("lock-holder.ts", [path], mode.flags).rest()).toEqual(["busy"]);
    await other.kill();
    expect(tryWithFileLocks([path], () => 1)).toEqual({ ok: true, value: 1 });
    expect(readdirSync(join(path, ".."))).not.toContain("a.sqlite.lock-journal");
  });

  it.skipIf(!hasPython)(`${kernel ? "waits" : "does not wait"} for Python's fcntl.flock`, async () => {
    const path = join(tempDirectory(), "a.lock");
    const python = startChild("python3", ["-c", PYTHON_HOLDS, path]);
    expect(await python.nextLine()).toBe("held");
    const mine = startScript("lock-holder.ts", [path], flags);
    expect(await mine.nextLine()).toBe(kernel ? "busy" : "held");
  });

  it.skipIf(!hasPython)(`${kernel ? "makes" : "does not make"} Python wait`, async () => {
    const path = join(tempDirectory(), "a.lock");
    const mine = await holder(path, flags);
    const python = startChild("python3", [
      "-c",
      PYTHON_HOLDS.replace("LOCK_EX", "LOCK_EX | fcntl.LOCK_NB"),
      path,
    ]);
    expect(await python.nextLine()).toBe(kernel ? undefined : "held");
    mine.closeInput();
  });

  it("is told whom its lock does not exclude", async () => {
    const [line] = await startScript("unlocked-process.ts", [tempDirectory()], flags).rest();
    const gap = kernel ? null : "kernel";
    expect(JSON.parse(line ?? "")).toEqual({
      values: [1, 2, 3],
      gaps: [gap, gap, gap],
      ...(kernel
        ? {}
        : { reason: expect.stringMatching(/^koffi cannot be loaded: .*; flock\(1\) is not installed$/) }),
    });
    expect(name).not.toBe("");
  });
});

it("a lock held by a process without native code is waited for, no longer than asked", async () => {
  const path = join(tempDirectory(), "a.lock");
  const other = await holder(path, LOCK_MODES[2].flags);
  const late = await withFileLocks([path], { timeoutMs: 60 }, () => 1);
  expect(late).toMatchObject({ ok: false, error: { kind: "locked", path } });
  const waiting = withFileLocks([path], { timeoutMs: 20_000 }, () => "mine");
  other.closeInput();
  expect(await waiting).toEqual({ ok: true, value: "mine" });
});
