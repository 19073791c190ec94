import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { badKey } from "../../../agent/test/fakes/wires/script.ts";
import { startWire } from "../../../agent/test/fakes/wires/wire-in-test.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { type PlayedOptions, type RunOutcome, runHere } from "./run.ts";

const KEY = "sk-test-5d1f0c77b2a94e";
const READY = { text: "ready" };

async function setUp(args: readonly string[], options: PlayedOptions): Promise<RunOutcome> {
  const outcome = await runHere(["setup", ...args], options);
  expect(outcome.stdout + outcome.stderr).not.toContain(KEY);
  return outcome;
}

const fileOf = (home: string, name: string): string =>
  existsSync(join(home, name)) ? readFileSync(join(home, name), "utf8") : "";
const modeOf = (home: string, name: string): number => statSync(join(home, name)).mode & 0o777;

describe("hermes setup without a terminal", () => {
  it("saves a vendor's key from a variable, then the model, and tries it", async () => {
    const wire = await startWire("anthropic", [READY]);
    const home = tempDirectory();
    const args = [
      "--provider",
      "anthropic",
      "--model",
      "claude-x",
      "--base-url",
      wire.url,
      "--key-env",
      "MINE",
    ];
    const { code, stdout } = await setUp([...args, "--yes", "--json"], { home, env: { MINE: ` ${KEY}\n` } });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      success: true,
      message: expect.stringContaining("The model is claude-x"),
      model: "claude-x",
      provider: "anthropic",
      base_url: wire.url,
      api_mode: "anthropic_messages",
      has_key: true,
      key_source: "ANTHROPIC_API_KEY",
      key_saved_as: "ANTHROPIC_API_KEY",
      written: ["model.base_url", "model.provider", "model.default"],
      removed: [],
      path: join(home, "config.yaml"),
      test: {
        outcome: "worked",
        first_token_ms: expect.any(Number),
        total_ms: expect.any(Number),
        text: "ready",
      },
    });
    expect(fileOf(home, ".env")).toBe(`ANTHROPIC_API_KEY=${KEY}\n`);
    expect(modeOf(home, ".env")).toBe(0o600);
    expect(fileOf(home, "config.yaml")).not.toContain(KEY);
    expect(wire.requests[0]?.headers["x-api-key"]).toBe(KEY);
  });

  it("replaces a key in config.yaml where it is", async () => {
    const home = tempDirectory();
    writeFileSync(join(home, "config.yaml"), "model: { provider: openai, default: gpt-5.5, api_key: old }\n");
    const args = ["--provider", "openai", "--model", "gpt-5.5", "--no-test", "--yes"];
    expect((await setUp(args, { home })).code).toBe(0);
    expect(fileOf(home, "config.yaml")).toContain("api_key: old");
    expect((await setUp([...args, "--key-stdin"], { home, input: KEY })).code).toBe(0);
    expect(fileOf(home, "config.yaml")).toContain(`api_key: ${KEY}`);
    expect(existsSync(join(home, ".env"))).toBe(false);
  });

  it("finds a local server and takes the only model it has", async () => {
    const wire = await startWire("chat", [READY], { models: ["qwen3:8b"] });
    const home = tempDirectory();
    const env = { OLLAMA_HOST: new URL(wire.url).host };
    const { code } = await setUp(["--local", "--provider", "ollama", "--yes"], { home, env });
    expect(code).toBe(0);
    expect(fileOf(home, "config.yaml")).toBe(
      `model:\n  base_url: ${JSON.stringify(wire.url)}\n  provider: ollama\n  default: "qwen3:8b"\n`,
    );
  });

  it("keeps the key of a custom server beside its address, in a private file", async () => {
    const wire = await startWire("chat", [READY], { models: ["mine"] });
    const home = tempDirectory();
    writeFileSync(join(home, "config.yaml"), "memory:\n  provider: x\n", { mode: 0o644 });
    const args = ["--base-url", wire.url, "--key-stdin", "--context-length", "8192", "--yes"];
    const { code } = await setUp(args, { home, input: KEY });
    expect(code).toBe(0);
    expect(wire.requests[0]).toMatchObject({
      body: { model: "mine" },
      headers: { authorization: `Bearer ${KEY}` },
    });
    expect(fileOf(home, "config.yaml")).toMatch(
      /^memory:\n {2}provider: x\nmodel:\n {2}base_url: .+\n {2}provider: custom\n {2}default: mine\n {2}context_length: 8192\n {2}api_key: .+\n$/,
    );
    expect({ mode: modeOf(home, "config.yaml"), env: fileOf(home, ".env") }).toEqual({
      mode: 0o600,
      env: "",
    });
  });

  it("keeps the saved settings when the test fails, and reports the failure", async () => {
    const wire = await startWire("chat", [badKey()]);
    const home = tempDirectory();
    const args = ["--base-url", wire.url, "--model", "mine", "--yes"];
    const { code, stdout } = await setUp(args, { home });
    expect(code).toBe(1);
    expect(stdout).toContain("refused the key (HTTP 401)");
    expect(stdout).toContain("What was set up stays. 'hermes model test' tries again");
    expect(fileOf(home, "config.yaml")).toContain("default: mine\n");
  });

  it.each([
    [[], "Say where the model runs: without a terminal, or with --json or --yes, no questions are asked."],
    [
      ["--provider", "anthropic", "--model", "m", "--yes"],
      "Anthropic needs a key, and ANTHROPIC_API_KEY is not set.",
    ],
    [["--provider", "anthropic", "--model", "m", "--key-env", "NOBODY"], "The key in NOBODY is empty."],
    [["--provider", "anthropic", "--model", "m", "--key-stdin"], "The key from standard input has a space"],
    [
      ["--provider", "anthropic", "--key-env", "MINE"],
      "Name the model: without a terminal, or with --json or --yes, no questions are asked.",
    ],
    [["--provider", "anthropc", "--model", "m"], "There is no provider called 'anthropc'."],
    [["--provider", "custom", "--model", "m"], "The address of the server is missing"],
    [["--base-url", "ftp://x", "--model", "m"], "The address of the server is missing or cannot be read."],
    [["--local", "--provider", "openai"], "'openai' is no server of this machine."],
    [["--local", "--base-url", "http://127.0.0.1:1"], "--local looks for a server itself"],
    [["--key-env", "MINE", "--key-stdin"], "not from both"],
  ])("answers %j with exit code 2 and writes nothing", async (args, message) => {
    const home = tempDirectory();
    const { code, stderr } = await setUp(args, { home, env: { MINE: KEY }, input: `${KEY}\nsecond\n` });
    expect(code).toBe(2);
    expect(stderr).toContain(message);
    expect(["config.yaml", ".env"].filter((name) => existsSync(join(home, name)))).toEqual([]);
  });

  it("a broken config.yaml ends the command before a question or a write", async () => {
    const home = tempDirectory();
    writeFileSync(join(home, "config.yaml"), "model: [\n");
    const args = ["--provider", "openai", "--model", "m", "--key-stdin", "--yes"];
    const { code, stderr } = await setUp(args, { home, input: KEY });
    expect(code).toBe(1);
    expect(stderr).toContain("hermes config check");
    expect(existsSync(join(home, ".env"))).toBe(false);
  });
});
