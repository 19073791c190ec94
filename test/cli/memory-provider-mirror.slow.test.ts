// A memory provider that never answers costs a command seconds, and nothing else.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { writePlugin } from "../fakes/plugins.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";
import { runHermes } from "./run.ts";

const HANGING = `export default () => ({
  name: "wedged",
  isAvailable: () => true,
  initialize() { setInterval(() => {}, 1000); },
  getToolSchemas: () => [],
  onMemoryWrite: () => new Promise(() => {}),
  forget: () => new Promise(() => {}),
  shutdown: () => new Promise(() => {}),
});
// registerMemoryProvider`;

it("a write through a provider that hangs ends within seconds, saved, with a warning", async () => {
  const home = tempDirectory();
  writeFileSync(join(home, "config.yaml"), "memory:\n  provider: wedged\n");
  writePlugin(home, "wedged", { "index.mjs": HANGING });
  const startedAt = performance.now();
  const { code, stdout, stderr } = await runHermes(["memory", "add", "Drinks tea"], { home });
  expect(performance.now() - startedAt).toBeLessThan(15_000);
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("Entry added.") });
  expect(stderr).toContain("no answer within 5 s");
}, 30_000);
