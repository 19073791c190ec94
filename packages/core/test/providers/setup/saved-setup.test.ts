import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadMemoryConfig } from "../../../src/config/index.ts";
import type { MemoryProvider } from "../../../src/providers/contract.ts";
import type { EnvAnswer } from "../../../src/providers/setup/setup.ts";
import { deactivate, saveSetup } from "../../../src/providers/setup/setup.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";

function provider(members: Partial<MemoryProvider> = {}): MemoryProvider {
  const saveConfig = (values: Readonly<Record<string, string>>, home: string) =>
    writeFileSync(join(home, "notes.json"), JSON.stringify(values));
  return {
    name: "notes",
    isAvailable: () => true,
    initialize() {},
    getToolSchemas: () => [],
    saveConfig,
    ...members,
  };
}

const TOKEN: EnvAnswer = { key: "token", variable: "NOTES_TOKEN", value: "t #1", isSecret: true };
const read = (home: string, file: string) => readFileSync(join(home, file), "utf8");

async function activeIn(home: string): Promise<string | undefined> {
  const config = await loadMemoryConfig(home);
  return config.ok ? config.value.provider : undefined;
}

describe("saving a setup", () => {
  it("writes settings, secrets and the activation, and says so", async () => {
    const home = join(tempDirectory(), "mein Heim – 家");
    mkdirSync(home);
    writeFileSync(join(home, "config.yaml"), "# my notes\nmemory:\n  provider: old # for now\n");
    writeFileSync(join(home, ".env"), "OTHER=1\nexport NOTES_TOKEN=old\n", { mode: 0o644 });
    const outcome = await saveSetup({
      home,
      name: "notes",
      provider: provider(),
      settings: { mode: "local" },
      secrets: [TOKEN],
    });
    expect(outcome).toEqual({
      activated: true,
      written: [
        { step: "settings", keys: ["mode"] },
        { step: "secrets", path: join(home, ".env"), variables: ["NOTES_TOKEN"] },
        { step: "activation", path: join(home, "config.yaml") },
      ],
      failed: [],
      unsaved: [],
    });
    expect(JSON.parse(read(home, "notes.json"))).toEqual({ mode: "local" });
    expect(read(home, ".env")).toBe("OTHER=1\nexport NOTES_TOKEN='t #1'\n");
    if (process.platform !== "win32") expect(statSync(join(home, ".env")).mode & 0o777).toBe(0o600);
    expect(read(home, "config.yaml")).toBe("# my notes\nmemory:\n  provider: notes # for now\n");
  });

  it("takes an old secret out of the provider's file, where it could win over the new one", async () => {
    const home = tempDirectory();
    writeFileSync(join(home, "notes.json"), JSON.stringify({ token: "old", mode: "cloud" }));
    const silent = provider({ saveConfig: () => {} });
    const setup = { home, name: "notes", provider: silent, settings: { mode: "cloud" }, secrets: [] };
    await saveSetup(setup);
    expect(JSON.parse(read(home, "notes.json"))).toEqual({ token: "old", mode: "cloud" });
    expect(await saveSetup({ ...setup, secrets: [TOKEN] })).toMatchObject({ activated: true });
    expect(JSON.parse(read(home, "notes.json"))).toEqual({ mode: "cloud" });
  });

  it.each([
    ["throws", { saveConfig: () => Promise.reject(new Error("disk full, key sk-ant-abc123def456ghi789")) }],
    ["hangs", { saveConfig: () => new Promise<void>(() => {}) }],
  ])(
    "a provider whose saveConfig %s is not switched on; secrets are kept for the next attempt",
    async (_how, members) => {
      const home = tempDirectory();
      writeFileSync(join(home, "config.yaml"), "memory:\n  provider: old\n");
      const setup = {
        home,
        name: "notes",
        provider: provider(members),
        settings: { a: "b" },
        secrets: [TOKEN],
      };
      const outcome = await saveSetup(setup, { timeoutMs: 100 });
      expect(outcome).toMatchObject({
        activated: false,
        written: [{ step: "secrets" }],
        failed: [
          { step: "settings", message: expect.stringMatching(/not saved: it (failed|did not finish)/) },
        ],
      });
      expect(JSON.stringify(outcome)).not.toContain("abc123");
      expect(await activeIn(home)).toBe("old");
    },
  );

  it("a secret that cannot be kept is named, never shown, and stops the activation", async () => {
    const home = tempDirectory();
    mkdirSync(join(home, ".env"));
    const many = { ...TOKEN, variable: "NOTES_PEM", value: "line one\nline two" };
    const outcome = await saveSetup({
      home,
      name: "notes",
      provider: provider(),
      settings: { a: "b" },
      secrets: [TOKEN, many],
    });
    expect(outcome).toMatchObject({ activated: false, written: [{ step: "settings" }] });
    expect(outcome.failed.map(({ step, message }) => [step, message.split(" ")[0]])).toEqual([
      ["secrets", "NOTES_TOKEN"],
      ["secrets", "NOTES_PEM"],
    ]);
    expect(JSON.stringify(outcome)).not.toMatch(/t #1|line one/);
    expect(existsSync(join(home, "config.yaml"))).toBe(false);
  });

  it("a config that cannot be changed keeps the saved settings and reports the failed step", async () => {
    const home = tempDirectory();
    writeFileSync(join(home, "config.yaml"), "memory: [broken\n");
    const outcome = await saveSetup({
      home,
      name: "notes",
      provider: provider(),
      settings: { a: "b" },
      secrets: [],
    });
    expect(outcome).toMatchObject({
      activated: false,
      written: [{ step: "settings", keys: ["a"] }],
      failed: [
        { step: "activation", message: expect.stringMatching(/^'notes' is not switched on\. config\.yaml/) },
      ],
    });
    expect(read(home, "config.yaml")).toBe("memory: [broken\n");
  });

  it("settings that the provider keeps nowhere are named, unless their variable holds them", async () => {
    const home = tempDirectory();
    const { saveConfig: _, ...without } = provider();
    const url: EnvAnswer = { key: "url", variable: "NOTES_URL", value: "u", isSecret: false };
    const outcome = await saveSetup({
      home,
      name: "notes",
      provider: without,
      settings: { url: "u", mode: "local" },
      secrets: [url],
    });
    expect(outcome).toMatchObject({ activated: true, unsaved: ["mode"], failed: [] });
    expect(outcome.written.map(({ step }) => step)).toEqual(["secrets", "activation"]);
  });
});

it("deactivating leaves the rest of config and all settings", async () => {
  const home = tempDirectory();
  writeFileSync(
    join(home, "config.yaml"),
    "memory:\n  # which one\n  provider: notes\n  nudge_interval: 7\n",
  );
  writeFileSync(join(home, "notes.json"), "{}");
  expect(await deactivate(home)).toMatchObject({ ok: true, value: { changed: true, previous: "notes" } });
  expect(await activeIn(home)).toBe("");
  expect(read(home, "config.yaml")).toContain("# which one");
  expect(read(home, "config.yaml")).toContain("nudge_interval: 7");
  expect(existsSync(join(home, "notes.json"))).toBe(true);
});
