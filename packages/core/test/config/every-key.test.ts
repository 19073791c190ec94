import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Document, stringify } from "yaml";
import {
  CONFIG_KEYS,
  checkConfig,
  DEFAULT_MEMORY_CONFIG,
  getConfigValue,
  type HermesConfig,
  setConfigValue,
} from "../../src/config/index.ts";
import { quickReadMemoryConfig } from "../../src/config/load.ts";
import { readConfig } from "../../src/config/read.ts";
import { fullRead } from "../../src/config/yaml-file.ts";
import { tempHome } from "./support.ts";

type Row = (typeof CONFIG_KEYS)[number];

/** What the reference page says is allowed, as values: those it allows, and some it does not. */
function samplesOf({ kind, allowed }: Row): { valid: fc.Arbitrary<unknown>; invalid: readonly unknown[] } {
  const whole = /^whole number(?:, at least (\d+)| (above) 0)?(?:; above (\d+) counts)?/.exec(allowed);
  if (whole) {
    const least = whole[1] === undefined ? Number(whole[2] !== undefined) : Number(whole[1]);
    const isFloor = allowed.includes("below");
    const more = fc.integer({ min: least, max: Number(whole[3] ?? least + 2_000_000) });
    const valid = fc.oneof(fc.constant(least), more);
    return { valid, invalid: [...(isFloor ? [] : [least - 1]), least + 0.5, "lots", true, []] };
  }
  const range = /^number (above|from) ([\d.]+)(?:(?:, at most| to) ([\d.]+))?/.exec(allowed);
  if (range) {
    const [least, most] = [Number(range[2]), Number(range[3] ?? 1e6)];
    const isClamped = allowed.includes("nearer end");
    const outside = [range[1] === "above" ? least : least - 1, ...(range[3] === undefined ? [] : [most + 1])];
    const between = fc.double({ min: least, max: most, minExcluded: range[1] === "above", noNaN: true });
    const valid = fc.oneof(fc.constant(most), fc.constantFrom(Math.ceil(least + 0.001)), between);
    return {
      valid: valid.filter((value) => value <= most),
      invalid: [...(isClamped ? [] : outside), "soon", true, Number.NaN, [1]],
    };
  }
  if (kind === "boolean") return { valid: fc.boolean(), invalid: ["maybe", 7, [true], {}] };
  if (kind === "approval") return { valid: fc.boolean(), invalid: [] };
  if (kind === "choice") {
    const words = [...allowed.matchAll(/`(\w+)`/g)].map((match) => match[1]);
    const more = allowed.includes("list") ? [true, false, [], ["gpt", "qwen"]] : [];
    return { valid: fc.constantFrom(...words, ...more), invalid: ["nonsense", 7, [1], { a: 1 }] };
  }
  if (kind === "list")
    return {
      valid: fc.array(fc.stringMatching(/^[a-z_]{1,9}$/), { maxLength: 3 }),
      invalid: [7, [1], { a: 1 }],
    };
  if (kind === "text")
    return { valid: fc.stringMatching(/^[A-Za-z0-9/:.]{1,12}$/), invalid: [[1], { a: 1 }, true] };
  return { valid: fc.constant({ seed: 1, name: "x" }), invalid: [7, "text", [1]] };
}

const SET = "tel"; // stands for every `*`
const pathOf = ({ key }: Row): string[] => key.split(".").map((part) => part.replace("*", SET));

function settingOf(config: HermesConfig, row: Row): unknown {
  return pathOf(row).reduce<unknown>((held, part) => {
    const name = part === SET ? part : part.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    return (held as Record<string, unknown> | undefined)?.[name];
  }, config);
}

/** Structures with rules of their own, tried in sections.test.ts. */
const isStructure = ({ key }: Row) =>
  /^(mcp_servers|plugins|models\.prices|custom_providers|gateway\.identity_profiles)\b/.test(key);
const isSecret = ({ key }: Row) => /(api_key|jwt_secret)$/.test(key);
const isOldName = ({ meaning }: Row) => meaning.startsWith("Old name");
const SETTINGS = CONFIG_KEYS.filter((row) => row.kind !== "unused" && !isStructure(row) && !isOldName(row));

function fileWith(row: Row, value: unknown): string {
  return stringify(pathOf(row).reduceRight<unknown>((below, part) => ({ [part]: below }), value));
}

const PAGE = readFileSync(join(import.meta.dirname, "../../../../docs/config.md"), "utf8");

describe("every config key", () => {
  it.each(SETTINGS.map((row) => [row.key, row] as const))("%s reads back what was set", async (_key, row) => {
    let quickAnswers = 0;
    await fc.assert(
      fc.asyncProperty(samplesOf(row).valid, async (value) => {
        using temp = tempHome();
        const key = pathOf(row).join(".");
        const outcome = await setConfigValue(temp.home, key, JSON.stringify(value));
        if (!outcome.ok) throw new Error(outcome.error.message);
        expect(await getConfigValue(temp.home, key)).toMatchObject({ value: { source: "file", value } });
        const text = temp.readConfig();
        const full = fullRead(text, temp.configFile, readConfig);
        if (!full.ok) throw new Error(full.error.message);
        expect(settingOf(full.value, row)).toEqual(value);
        const quick = quickReadMemoryConfig(text);
        if (quick === undefined) return;
        quickAnswers += 1;
        expect(quick).toEqual(full.value.memory);
      }),
      { numRuns: 6 },
    );
    if (row.key.startsWith("memory.")) expect(quickAnswers).toBeGreaterThan(0);
  });

  const strict = SETTINGS.filter((row) => !isSecret(row)).flatMap((row) =>
    samplesOf(row).invalid.map((value) => [row.key, JSON.stringify(value), row, value] as const),
  );

  it.each(strict)("%s takes no %s", async (_key, _shown, row, value) => {
    using temp = tempHome();
    temp.writeConfig(fileWith(row, value));
    const full = fullRead(temp.readConfig(), temp.configFile, readConfig);
    const { errors, warnings } = await checkConfig(temp.home);
    const told = full.ok ? warnings : errors;
    expect(told).toHaveLength(1);
    expect(told[0]?.key).toMatch(new RegExp(`^${pathOf(row).join("\\.")}(\\.\\d+)?$`));
    expect(told[0]?.message).toMatch(full.ok ? /^must be .+; .+ is ignored$/ : /^must be .+, but is .+$/);
    // What is ignored counts as not set.
    if (full.ok) expect(settingOf(full.value, row)).toEqual(row.default);
    else expect(full.error.issues).toEqual(errors);
    if (row.kind === "text") return; // `set` takes every value for a text
    using other = tempHome();
    const set = await setConfigValue(other.home, pathOf(row).join("."), stringify(value).trim());
    const message = told[0]?.message.replace(/; (.+) is ignored$/, ", but is $1");
    if (row.kind === "boolean") expect(set).toMatchObject({ ok: false });
    else expect(set).toMatchObject({ ok: false, error: { issues: [{ key: told[0]?.key, message }] } });
  });

  it("takes anything for a key that is only accepted, and lists none of them as unknown", async () => {
    const only = CONFIG_KEYS.filter(({ kind }) => kind === "unused");
    expect(only.length).toBeGreaterThan(5);
    for (const value of [7, "text", true, [1], { a: { b: 1 } }, null]) {
      using temp = tempHome();
      const file = new Document({});
      for (const row of only) file.setIn(pathOf(row), value);
      temp.writeConfig(file.toString());
      expect(await checkConfig(temp.home)).toMatchObject({ errors: [], warnings: [], unknownKeys: [] });
    }
  });

  it("has its default when the file is empty", () => {
    const empty = fullRead("", "config.yaml", readConfig);
    if (!empty.ok) throw new Error(empty.error.message);
    expect(empty.value.memory).toEqual(DEFAULT_MEMORY_CONFIG);
    const memoryKeys = SETTINGS.map(pathOf).filter(([section]) => section === "memory");
    expect(memoryKeys).toHaveLength(Object.keys(empty.value.memory).length);
    for (const row of SETTINGS) expect(settingOf(empty.value, row), row.key).toEqual(row.default);
  });

  it("is what the reference page shows, each key once, default and meaning included", () => {
    const rows = PAGE.split("\n");
    for (const { label, default: standard, meaning, isOurs } of CONFIG_KEYS) {
      const [row, ...more] = rows.filter((line) => line.startsWith(`| \`${label}\` |`));
      expect(more, label).toEqual([]);
      expect(row, label).toContain(standard === undefined ? "| - |" : `\`${JSON.stringify(standard)}\``);
      expect(row, label).toContain(isOurs ? "| hermes-memory |" : "| Hermes |");
      expect(row, label).toContain(meaning);
    }
  });
});
