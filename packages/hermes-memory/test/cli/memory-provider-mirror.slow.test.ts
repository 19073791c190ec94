// A provider that never answers, or a fact store that another process reads, delays a command by seconds but does not fail it.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { writePlugin } from "../../../core/test/fakes/plugins.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
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

it("forget reports, each time, while a reader keeps the bytes in the fact store", async () => {
  const home = tempDirectory();
  const secret = "the vault code is nineteen seventy";
  const path = join(home, "memory_store.db");
  const bytes = (): string =>
    [path, `${path}-wal`].map((each) => (existsSync(each) ? readFileSync(each, "latin1") : "")).join("");
  const forget = () => runHermes(["memory", "forget", "vault code", "--yes", "--json"], { home });
  writeFileSync(join(home, "config.yaml"), "memory:\n  provider: holographic\n");
  await runHermes(["memory", "add", secret], { home });
  using reader = new DatabaseSync(path);
  reader.exec("BEGIN");
  reader.prepare("SELECT count(*) FROM facts").get();
  for (const erased of [1, 0]) {
    const { code, stdout } = await forget();
    expect(JSON.parse(stdout)).toMatchObject({
      success: false,
      provider: { status: "forgot", erased, remaining: expect.stringContaining("another process") },
    });
    expect(code).toBe(1);
  }
  reader.exec("COMMIT");
  expect(bytes()).toContain(secret);
  expect((await forget()).code).toBe(0);
  expect(bytes()).not.toContain(secret);
  expect((await runHermes(["memory", "forget", "vault code"], { home })).stdout).toContain("No trace");
}, 30_000);
