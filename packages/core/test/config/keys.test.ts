import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CONFIG_KEYS, loadConfig } from "../../src/config/index.ts";
import { tempHome } from "./support.ts";

const page = readFileSync(join(import.meta.dirname, "../../../../docs/config.md"), "utf8");

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

describe("the table of config keys", () => {
  it("has the defaults the loader gives", async () => {
    using temp = tempHome();
    const config = await loadConfig(temp.home);
    if (!config.ok) throw new Error(config.error.message);
    for (const { key, default: standard } of CONFIG_KEYS) {
      if (standard === undefined) continue;
      let value: unknown = config.value;
      for (const part of key.split(".")) value = (value as Record<string, unknown>)[camelCase(part)];
      expect(value, key).toEqual(standard);
    }
  });

  it("covers every setting the loader gives", async () => {
    using temp = tempHome();
    const config = await loadConfig(temp.home);
    const memory = config.ok ? Object.keys(config.value.memory) : [];
    const listed = CONFIG_KEYS.map(({ key }) => key.split(".")).filter(([section]) => section === "memory");
    for (const name of memory) expect(listed.map((parts) => camelCase(parts[1] ?? ""))).toContain(name);
  });

  it("is what the reference page shows, each key once, default and meaning included", () => {
    const rows = page.split("\n");
    for (const { label, default: standard, meaning, isOurs } of CONFIG_KEYS) {
      const [row, ...more] = rows.filter((line) => line.startsWith(`| \`${label}\` |`));
      expect(more, label).toEqual([]);
      expect(row, label).toContain(standard === undefined ? "| - |" : `\`${JSON.stringify(standard)}\``);
      expect(row, label).toContain(isOurs ? "| hermes-memory |" : "| Hermes |");
      expect(row, label).toContain(meaning);
    }
  });
});
