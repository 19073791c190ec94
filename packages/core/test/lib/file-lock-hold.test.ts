import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { holdFileLock, tryWithFileLocks } from "../../src/lib/index.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";

describe("a lock that is held for longer", () => {
  it("keeps others out until it is let go", () => {
    const path = join(tempDirectory(), "below", "held.lock");
    const held = holdFileLock(path);
    if (!held.ok) throw new Error("the lock was not free");
    expect(holdFileLock(path)).toMatchObject({ ok: false, error: { kind: "locked", path } });
    expect(tryWithFileLocks([path], () => 1)).toMatchObject({ ok: false });
    held.value[Symbol.dispose]();
    expect(tryWithFileLocks([path], () => 1)).toEqual({ ok: true, value: 1 });
    const again = holdFileLock(path);
    expect(again.ok).toBe(true);
    if (again.ok) again.value[Symbol.dispose]();
  });
});
