import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { PostSetupOptions } from "../../../core/src/providers/contract.ts";
import { type Started, startProvider } from "./started.ts";

const KEY = "brv-key-0123456789";

describe("setting ByteRover up", () => {
  it("saves settings and switches it on without a terminal", async () => {
    const started = startProvider();
    const lines = await setUp(started, { values: { mode: "tools" } });
    expect(settingsOf(started)).toEqual({ mode: "tools" });
    expect(readFileSync(join(started.home, "config.yaml"), "utf8")).toMatch(/provider: byterover/);
    expect(lines.at(-1)).toBe("Model provider: openai-compatible (m1)");
    expect(commandsOf(started)).toEqual(["providers"]);
  });

  it("asks at a terminal, again after an unusable answer, and offers the saved values", async () => {
    const started = startProvider({ settings: { mode: "context", theirs: 1 } });
    const { ask, asked } = person("loud", "tools", "");
    const lines = await setUp(started, { ask });
    expect(asked.map(({ standard, isSecret }) => [standard, isSecret])).toEqual([
      ["context", false],
      ["context", false],
      [undefined, true],
    ]);
    expect(lines).toContain("mode must be one of hybrid, context, tools.");
    expect(settingsOf(started)).toMatchObject({ mode: "tools", theirs: 1 });
    expect(commandsOf(started)).toEqual(["providers"]);
  });

  it.each([
    ["typed at the terminal", {}, person("", KEY).ask],
    ["given as a value", { api_key: KEY }, undefined],
  ])("hands a key %s to brv once, and keeps it nowhere", async (_how, values, ask) => {
    const started = startProvider({ plan: { apiKey: KEY } });
    const lines = await setUp(started, { values, ask });
    expect(started.brv.calls()[0]?.argv).toEqual(["login", "--format", "json", `--api-key=${KEY}`]);
    expect(lines).toContain("brv is logged in.");
    expect(lines.join()).not.toContain(KEY);
    const files = readdirSync(started.home, { recursive: true, withFileTypes: true }).filter((item) =>
      item.isFile(),
    );
    const texts = files.map((file) => readFileSync(join(file.parentPath, file.name), "utf8"));
    expect(texts.length).toBeGreaterThan(1);
    expect(texts.join()).not.toContain(KEY);
  });

  it("uses a key from the environment or from .env, where the Python edition asks for it", async () => {
    const fromFile = startProvider({ plan: { apiKey: KEY } });
    writeFileSync(join(fromFile.home, ".env"), `BRV_API_KEY=${KEY}\n`);
    expect(await setUp(fromFile, {})).toContain("brv is logged in.");
    const fromEnvironment = startProvider({ plan: { apiKey: KEY }, env: { BRV_API_KEY: KEY } });
    expect(await setUp(fromEnvironment, {})).toContain("brv is logged in.");
    const silent = startProvider({ plan: { apiKey: KEY } });
    writeFileSync(join(silent.home, ".env"), `BRV_API_KEY=${KEY}\n`);
    await setUp(silent, { values: { api_key: "" } });
    expect(commandsOf(silent)).toEqual(["providers"]);
  });

  it("goes on when the login fails, and does not repeat the key that brv repeats", async () => {
    const started = startProvider({ plan: { apiKey: "another" } });
    const lines = await setUp(started, { values: { api_key: KEY } });
    expect(lines).toContain("brv login failed: bad key [the key].");
    expect(lines.join()).not.toContain(KEY);
    expect(readFileSync(join(started.home, "config.yaml"), "utf8")).toContain("byterover");
  });

  it("says how to install brv where it is missing, and starts nothing", async () => {
    const started = startProvider();
    rmSync(join(started.brv.bin, "brv"));
    const lines = await setUp(started, { values: { api_key: KEY } });
    expect(lines.join("\n")).toContain("npm install -g byterover-cli");
    expect(lines.join("\n")).toContain("The API key was not used");
    expect(settingsOf(started)).toHaveProperty("mode", "hybrid");
    expect(started.brv.calls()).toEqual([]);
  });

  it("saves nothing when a value is wrong or a file is in the way", async () => {
    const wrong = startProvider();
    await expect(setUp(wrong, { values: { mode: "loud" } })).rejects.toThrow("mode must be one of");
    await expect(setUp(wrong, { values: { volume: "11" } })).rejects.toThrow("volume is no setting");
    expect(existsSync(join(wrong.home, "config.yaml"))).toBe(false);
    const broken = startProvider();
    mkdirSync(join(broken.home, "byterover.json"));
    await expect(setUp(broken, {})).rejects.toThrow("Nothing was saved");
    expect(existsSync(join(broken.home, "config.yaml"))).toBe(false);
    const invalid = startProvider();
    writeFileSync(join(invalid.home, "config.yaml"), "memory: [\n");
    await expect(setUp(invalid, {})).rejects.toThrow("config.yaml");
  });
});

type Given = { readonly values?: Record<string, string>; readonly ask?: PostSetupOptions["ask"] | undefined };

/** The lines that setup printed. */
async function setUp({ provider, home }: Started, { values = {}, ask }: Given): Promise<string[]> {
  const lines: string[] = [];
  const print = (line: string) => void lines.push(line);
  await provider.postSetup(home, {}, { print, values, ask });
  return lines;
}

type Asked = { readonly standard: string | undefined; readonly isSecret: boolean };

function person(...answers: string[]): { ask: NonNullable<PostSetupOptions["ask"]>; asked: Asked[] } {
  const asked: Asked[] = [];
  return {
    asked,
    ask: async (_question, options = {}) => {
      asked.push({ standard: options.default, isSecret: options.secret === true });
      return answers[asked.length - 1] ?? "";
    },
  };
}

function settingsOf({ home }: Started): unknown {
  return JSON.parse(readFileSync(join(home, "byterover.json"), "utf8"));
}

function commandsOf({ brv }: Started): (string | undefined)[] {
  return brv.calls().map(({ argv }) => argv[0]);
}
