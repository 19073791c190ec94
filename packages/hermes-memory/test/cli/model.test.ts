import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { modelServer } from "../../../agent/test/fakes/model-server.ts";
import type { Script } from "../../../agent/test/fakes/wires/script.ts";
import { startWire } from "../../../agent/test/fakes/wires/wire-in-test.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { KEYS, startInPty, whyNoPty } from "../fakes/pty.ts";
import { runHere } from "./run.ts";

const reason = await whyNoPty();
const KEY = "sk-test-5d1f0c77b2a94e";
const READY = { text: "ready", usage: { input: 20, output: 3 } };
const CALLED = { toolCalls: [{ name: "report_number", arguments: { number: 7 } }] };

function homeWith(config: string, env = ""): string {
  const home = tempDirectory();
  if (config !== "") writeFileSync(join(home, "config.yaml"), config);
  if (env !== "") writeFileSync(join(home, ".env"), env);
  return home;
}

const configOf = (home: string): string => readFileSync(join(home, "config.yaml"), "utf8");
const jsonOf = (outcome: { stdout: string }): unknown => JSON.parse(outcome.stdout);

describe("hermes model set", () => {
  it("removes another server's key from the file only when the user agrees", async () => {
    const before = `model:\n  default: old\n  provider: custom\n  base_url: http://127.0.0.1:1/v1\n  api_key: ${KEY}\n`;
    const home = homeWith(before);
    const args = ["model", "set", "gpt-5.5", "--provider", "openai"];
    const silent = await runHere([...args, "--json"], { home });
    expect({ code: silent.code, kept: configOf(home) }).toEqual({ code: 1, kept: before });
    expect(jsonOf(silent)).toMatchObject({ kind: "unconfirmed", removes: ["model.api_key"] });
    const declined = await runHere(args, { home, answers: [false] });
    expect({ questions: declined.questions, kept: configOf(home) }).toEqual({
      questions: ["Remove it?"],
      kept: before,
    });
    const agreed = await runHere([...args, "--yes"], { home });
    expect(agreed.code).toBe(0);
    expect(configOf(home)).toBe("model:\n  default: gpt-5.5\n  provider: openai\n");
    expect([silent, declined, agreed].map(({ stdout, stderr }) => stdout + stderr).join()).not.toContain(KEY);
  });
});

describe("hermes model", () => {
  it("shows model, address, window and where the key is, never the key", async () => {
    const home = homeWith(
      "model:\n  default: claude-sonnet-5-5\n  provider: anthropic\n",
      `ANTHROPIC_API_KEY=${KEY}\n`,
    );
    const { code, stdout, stderr } = await runHere(["model"], { home });
    expect(code).toBe(0);
    expect(stdout).toContain("source  ANTHROPIC_API_KEY\n");
    expect(stdout + stderr).not.toContain(KEY);
    expect(await runHere(["model", "show"], { home })).toMatchObject({ stdout });
  });
});

describe("hermes model list", () => {
  it("asks a custom server with its own key, and no other", async () => {
    const server = await modelServer({ "/v1/models": { data: [{ id: "mine" }] }, "/lab/models": 401 });
    const config = [
      `model: { default: mine, provider: custom, base_url: "${server.url}/v1", api_key: ${KEY} }`,
      `custom_providers: [{ name: lab, base_url: "${server.url}/lab" }]\n`,
    ].join("\n");
    const listed = (provider: string) => {
      const args = ["model", "list", "--provider", provider, "--json"];
      return runHere(args, { home: homeWith(config), env: { OPENAI_API_KEY: "sk-other" } });
    };
    expect(jsonOf(await listed("custom"))).toMatchObject({
      servers: [{ provider: "custom", base_url: `${server.url}/v1`, models: ["mine"] }],
      providers: [],
    });
    expect(jsonOf(await listed("lab"))).toMatchObject({
      servers: [{ provider: "custom:lab", models: null }],
      providers: [{ name: "custom:lab", base_url: `${server.url}/lab`, has_key: false }],
    });
    const keys = server.asked.map(({ path, headers }) => [path, headers.authorization]);
    expect(keys).toEqual([
      ["/v1/models", `Bearer ${KEY}`],
      ["/lab/models", undefined],
    ]);
  });
});

describe("hermes model test", () => {
  async function tried(script: Script, args: readonly string[] = []) {
    const wire = await startWire("chat", script, { models: ["mine"], contextLength: 32_768 });
    const home = homeWith(
      `model:\n  default: mine\n  provider: custom\n  base_url: ${wire.url}\n  api_key: ${KEY}\n`,
    );
    const outcome = await runHere(["model", "test", ...args], { home });
    expect(outcome.stdout + outcome.stderr).not.toContain(KEY);
    return { ...outcome, wire };
  }

  it("asks for a word and a tool call and reports both as JSON", async () => {
    const { code, stdout, wire } = await tried([READY, CALLED], ["--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      success: true,
      model: "mine",
      provider: "custom",
      base_url: wire.url,
      key_source: "config",
      answer: {
        first_token_ms: expect.any(Number),
        total_ms: expect.any(Number),
        text: "ready",
        finish_reason: "stop",
        usage: { input: 20, output: 3 },
      },
      tool_call: { finish_reason: "tool_calls" },
      window: { tokens: 32_768, source: "server" },
      prompt_caching: { enabled: false },
    });
    expect(wire.requests.map(({ tools }) => tools)).toEqual([[], ["report_number"]]);
    expect(wire.requests[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
  });

  it.skipIf(reason !== undefined)("Ctrl-C ends the request and the command", async () => {
    const wire = await startWire("chat", [{ ...READY, pauseBefore: "forever" }]);
    const home = homeWith(`model:\n  default: mine\n  provider: custom\n  base_url: ${wire.url}\n`);
    const pty = await startInPty(["model", "test"], { home });
    await wire.waitForRequest(0);
    pty.send(KEYS.interrupt);
    await wire.waitForAbort(0);
    expect(await pty.ended()).toBe(130);
  });
});
