import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
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

it("docs/context.md shows what examples/compact.ts prints", () => {
  const { stdout } = spawnSync(process.execPath, [join(examples, "compact.ts")], { encoding: "utf8" });
  const page = readFileSync(resolve(examples, "../docs/context.md"), "utf8");
  const blocks = [...page.matchAll(/^```text\n(.*?)\n```$/gms)].map(([, block = ""]) => block);
  const withoutIds = (text: string): string => text.replaceAll(/lcm_[0-9a-f]{12}/g, "lcm_id");
  expect(withoutIds(blocks.join("\n\n"))).toBe(withoutIds(stdout.trimEnd()));
});
