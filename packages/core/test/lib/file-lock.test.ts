// Kernel locks between processes: one holder at a time, gone with the holder, never waited for without end.
import { existsSync, mkdirSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tryWithFileLocks, withFileLockSync, withFileLocks } from "../../src/lib/index.ts";
import { type Child, startScript } from "../fakes/child.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";

async function holder(...paths: string[]): Promise<Child> {
  const child = startScript("lock-holder.ts", paths);
  expect(await child.nextLine()).toBe("held");
  return child;
}

describe("a lock", () => {
  it("gives back what the work returned", async () => {
    const path = join(tempDirectory(), "a.lock");
    expect(await withFileLocks([path], { timeoutMs: 100 }, () => 42)).toEqual({ ok: true, value: 42 });
    expect(withFileLockSync(path, { timeoutMs: 100 }, () => "x")).toEqual({ ok: true, value: "x" });
    expect(existsSync(path)).toBe(true); // never deleted: another process may be about to open it
  });

  it("excludes another process until that one lets go", async () => {
    const path = join(tempDirectory(), "a.lock");
    const other = await holder(path);
    expect(tryWithFileLocks([path], () => 1)).toEqual({
      ok: false,
      error: { kind: "locked", path, waitedMs: 0 },
    });
    const waiting = withFileLocks([path], { timeoutMs: 20_000 }, () => "mine");
    other.closeInput();
    expect(await waiting).toEqual({ ok: true, value: "mine" });
  });

  it("of a killed process is free at once", async () => {
    const path = join(tempDirectory(), "a.lock");
    const other = await holder(path);
    await other.kill();
    expect(tryWithFileLocks([path], () => 1)).toEqual({ ok: true, value: 1 });
  });

  it("is waited for no longer than asked, and the answer says how long that was", async () => {
    const path = join(tempDirectory(), "a.lock");
    await holder(path);
    const waited = await withFileLocks([path], { timeoutMs: 60 }, () => 1);
    const blocked = withFileLockSync(path, { timeoutMs: 30 }, () => 1);
    for (const [outcome, timeoutMs] of [
      [waited, 60],
      [blocked, 30],
    ] as const) {
      if (outcome.ok) throw new Error("got a lock that was held");
      expect(outcome.error).toMatchObject({ kind: "locked", path });
      expect(outcome.error.waitedMs).toBeGreaterThanOrEqual(timeoutMs);
    }
  });

  it("cannot be taken twice from inside its own work", () => {
    const path = join(tempDirectory(), "a.lock");
    const inner = tryWithFileLocks([path], () => tryWithFileLocks([path], () => 1));
    expect(inner).toMatchObject({ ok: true, value: { ok: false } });
  });

  it("makes its directory, for what it protects may be about to come into being", () => {
    const path = join(tempDirectory(), "not", "yet", "a.lock");
    expect(tryWithFileLocks([path], () => 1)).toEqual({ ok: true, value: 1 });
    expect(statSync(join(path, "..")).mode & 0o777).toBe(0o700);
  });

  it("that cannot be opened is a system error, and the work is not done", () => {
    const path = join(tempDirectory(), "a.lock");
    mkdirSync(path);
    let isDone = false;
    const work = (): void => {
      isDone = true;
    };
    expect(() => tryWithFileLocks([path], work)).toThrow(/EISDIR/);
    expect(isDone).toBe(false);
  });
});

describe("several locks", () => {
  it("are all taken or none", async () => {
    const dir = tempDirectory();
    const [first, second] = [join(dir, "1.lock"), join(dir, "2.lock")];
    await holder(second);
    expect(tryWithFileLocks([first, second], () => 1)).toMatchObject({ error: { path: second } });
    expect(tryWithFileLocks([first], () => 1)).toMatchObject({ ok: true });
  });

  it("named twice are taken once", () => {
    const path = join(tempDirectory(), "a.lock");
    expect(tryWithFileLocks([path, path], () => 1)).toMatchObject({ ok: true });
  });

  it("on one file reached by two paths count as one holder too many", () => {
    const dir = tempDirectory();
    mkdirSync(join(dir, "real"));
    symlinkSync("real", join(dir, "alias"));
    const paths = [join(dir, "real", "a.lock"), join(dir, "alias", "a.lock")];
    expect(tryWithFileLocks(paths, () => 1)).toMatchObject({ ok: false });
  });
});
