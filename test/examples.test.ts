import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";

const examples = resolve(import.meta.dirname, "../examples");

it.each(readdirSync(examples).filter((name) => name.endsWith(".ts")))(
  "examples/%s runs to its end",
  (name) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(examples, name)], {
      encoding: "utf8",
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).not.toBe("");
  },
);

it("the example shows what it says", () => {
  const { stdout } = spawnSync(process.execPath, [join(examples, "remember.ts")], { encoding: "utf8" });
  expect(stdout).toContain("this session: undefined");
  expect(stdout).toContain("USER PROFILE (who the user is)");
  expect(stdout).toContain("history: group curator moved house");
  expect(stdout).toMatch(/after undo: \[ 'Lives in Lisbon, prefers metric units' \]/);
});
