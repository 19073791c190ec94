import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { CONFIG_KEYS } from "@hermes-memory/core/internal/config";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { runHermes, runJson } from "./run.ts";

function homeWith(config: string): string {
  const home = tempDirectory();
  writeFileSync(join(home, "config.yaml"), config);
  return home;
}

describe("hermes config get", () => {
  it("knows the value of every key that has a default", async () => {
    const { config } = (await runJson(["config", "get"], { home: tempDirectory() })) as { config: unknown };
    for (const { key, default: standard } of CONFIG_KEYS.filter((each) => each.default !== undefined)) {
      const value = key
        .split(".")
        .reduce<unknown>((at, part) => (at as Record<string, unknown>)[part], config);
      expect(value, key).toEqual(standard);
    }
  });

  it("shows settings under an old name and prices of a model with dots in its name, and hides keys", async () => {
    const home = homeWith(
      "model: some/model\nauxiliary: {compression: {api_key: topsecret}}\nmodels: {prices: {my-1.5: {input: 1, output: 2, cache_read: 0.1}}}\n",
    );
    const { stdout } = await runHermes(["config", "get"], { home });
    expect(stdout).toContain("model:\n  default: some/model\n");
    expect(stdout).toContain('    api_key: "[hidden]"\n');
    const { config } = (await runJson(["config", "get", "models"], { home })) as { config: unknown };
    expect(config).toEqual({ models: { prices: { "my-1.5": { input: 1, output: 2, cache_read: 0.1 } } } });
  });

  it("prints a section that this program does not read, also when the file has mistakes elsewhere", async () => {
    const home = homeWith("database: {journal_mode: wal}\ncontext_file_max_chars: lots\n");
    expect((await runHermes(["config", "get", "database"], { home })).stdout).toBe(
      '{"journal_mode":"wal"}\n',
    );
  });

  it("says when a section that this program does not read is not set", async () => {
    const home = homeWith("memory: {nudge_interval: 3}\n");
    const answer = await runHermes(["config", "get", "database"], { home });
    expect(answer).toEqual({ stdout: "", stderr: "database is not set.\n", code: 0 });
    expect(await runJson(["config", "get", "mcp_servers"], { home })).toMatchObject({ config: {}, set: [] });
  });
});
