// `hermes memory setup hindsight`: its own questions, what they save, and that an empty answer keeps what is there.
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { createHindsightProvider } from "../../src/hindsight/provider.ts";

type Asked = { readonly question: string; readonly secret: boolean; readonly default: string };

type Setup = {
  readonly home?: string;
  readonly userHome?: string;
  /** By the beginning of the question; others are answered with nothing. Several answers are given one after the other. */
  readonly answers?: Readonly<Record<string, string | readonly string[]>>;
  /** Without a terminal. */
  readonly values?: Readonly<Record<string, string>>;
};

async function setUp({ home = tempDirectory(), userHome = tempDirectory(), answers, values = {} }: Setup) {
  const env: Record<string, string> = { HOME: userHome, PATH: "" };
  const provider = createHindsightProvider({ home, env });
  const asked: Asked[] = [];
  const printed: string[] = [];
  const left = new Map(Object.entries(answers ?? {}).map(([start, given]) => [start, [given].flat()]));
  const ask = async (question: string, options: { secret?: boolean; default?: string } = {}) => {
    asked.push({ question, secret: options.secret === true, default: options.default ?? "" });
    const [, given] = [...left].find(([start]) => question.startsWith(start)) ?? [];
    return given?.shift() || (options.default ?? "");
  };
  await provider.postSetup?.(
    home,
    {},
    {
      print: (line) => void printed.push(line),
      values,
      ...(answers === undefined ? {} : { ask }),
    },
  );
  const config = () => JSON.parse(readFileSync(join(home, "hindsight", "config.json"), "utf8"));
  return { home, userHome, env, provider, asked, printed, config };
}

const envFile = (home: string) => readFileSync(join(home, ".env"), "utf8");

describe("the questions", () => {
  it("for the cloud: mode and key, then bank, mode of the model and budget", async () => {
    const { home, provider, asked, config } = await setUp({ answers: { "API key": "hs-key-1" } });
    expect(asked.map(({ question }) => question.split(/[:;( ]/)[0])).toEqual([
      "Where",
      "API",
      "The",
      "What",
      "How",
    ]);
    expect(asked.map(({ secret }) => secret)).toEqual([false, true, false, false, false]);
    expect(config()).toEqual({
      mode: "cloud",
      bank_id: "hermes",
      memory_mode: "hybrid",
      recall_budget: "mid",
    });
    expect(statSync(join(home, "hindsight", "config.json")).mode & 0o777).toBe(0o600);
    expect(envFile(home)).toContain("HINDSIGHT_API_KEY=hs-key-1");
    expect(readFileSync(join(home, "config.yaml"), "utf8")).toMatch(/provider: hindsight/);
    expect(await provider.isAvailable()).toBe(true);
  });

  it("keep every value and the key when they are answered with nothing", async () => {
    const first = await setUp({
      answers: {
        Where: "local_external",
        Address: "http://a",
        "API key": "hs-key-1",
        "The memory bank": "b",
      },
    });
    const before = [first.config(), envFile(first.home)];
    const { asked } = await setUp({ home: first.home, userHome: first.userHome, answers: {} });
    expect(asked.map(({ default: standard }) => standard)).toEqual([
      "local_external",
      "http://a",
      "",
      "b",
      "hybrid",
      "mid",
    ]);
    expect([first.config(), envFile(first.home)]).toEqual(before);
  });

  it("for the daemon: the model follows the vendor, and what is missing is said", async () => {
    const { config, printed, asked, home, provider } = await setUp({
      answers: { Where: "local", Whose: "groq", "API key of the model": "llm-key", "Name of": "work" },
    });
    expect(asked.find(({ question }) => question.startsWith("The model"))?.default).toBe(
      "openai/gpt-oss-120b",
    );
    expect(config()).toMatchObject({
      mode: "local_embedded",
      llm_provider: "groq",
      llm_model: "openai/gpt-oss-120b",
      profile: "work",
    });
    expect(envFile(home)).toContain("HINDSIGHT_LLM_API_KEY=llm-key");
    expect(printed.join("\n")).toContain("Neither hindsight-embed nor uvx");
    expect(printed.join("\n")).not.toContain("llm-key");
    expect(await provider.isAvailable()).toBe(false);
  });
});

describe("without a terminal", () => {
  it("takes values, saves numbers as such, and variables for those that have one", async () => {
    const { home, config } = await setUp({
      values: {
        mode: "local_external",
        api_key: "hs-key-1",
        timeout: "9",
        idle_timeout: "0",
        retain_tags: "a,b",
        recall_types: "",
      },
    });
    expect(config()).toMatchObject({
      mode: "local_external",
      timeout: 9,
      idle_timeout: 0,
      retain_tags: "a,b",
      recall_types: "",
    });
    expect(config()).not.toHaveProperty("api_key");
    expect(envFile(home)).toContain("HINDSIGHT_TIMEOUT=9");
    expect(envFile(home)).toContain("HINDSIGHT_IDLE_TIMEOUT=0");
  });

  it.each([
    [{ colour: "blue" }, "colour is no setting of Hindsight"],
    [{ timeout: "soon" }, "timeout must be a whole number from 1 to 3600"],
    [{ timeout: " " }, "timeout must not be empty"],
    [{ recall_budget: "huge" }, "recall_budget must be one of low, mid, high"],
    [{ recall_budget: "" }, "recall_budget must not be empty"],
  ])("refuses %j and saves nothing", async (values, reason) => {
    const home = tempDirectory();
    await expect(setUp({ home, values: values as Record<string, string> })).rejects.toThrow(reason);
    expect(existsSync(join(home, "hindsight"))).toBe(false);
    expect(existsSync(join(home, ".env"))).toBe(false);
  });
});

it("takes over the settings of an older installation, and a new key replaces the one in the file", async () => {
  const userHome = tempDirectory();
  mkdirSync(join(userHome, ".hindsight"));
  writeFileSync(
    join(userHome, ".hindsight", "config.json"),
    '{"apiKey":"old-key","retain_source":"cli","bank_id":"old"}',
  );
  const first = await setUp({ userHome, answers: {} });
  expect(first.config()).toMatchObject({ apiKey: "old-key", retain_source: "cli", bank_id: "old" });
  const { config, home } = await setUp({ userHome, home: first.home, answers: { "API key": "new-key" } });
  expect(config()).toMatchObject({ retain_source: "cli", bank_id: "old" });
  expect(config()).not.toHaveProperty("apiKey");
  expect(envFile(home)).toContain("HINDSIGHT_API_KEY=new-key");
});
