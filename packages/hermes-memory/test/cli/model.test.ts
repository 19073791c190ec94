import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { deadAddress, modelServer } from "../../../agent/test/fakes/model-server.ts";
import { badKey, modelNotFound, type Script } from "../../../agent/test/fakes/wires/script.ts";
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
  it("writes the model and the provider of its name, and keeps the rest of the file", async () => {
    const home = homeWith("# mine\nmemory:\n  provider: x # keep\n");
    const { code, stdout, stderr } = await runHere(["model", "set", "claude-sonnet-5-5"], { home });
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: "The model is now claude-sonnet-5-5, by anthropic.\n",
    });
    expect(stderr).toContain("No key for Anthropic was found.");
    expect(configOf(home)).toBe(
      "# mine\nmemory:\n  provider: x # keep\nmodel:\n  provider: anthropic\n  default: claude-sonnet-5-5\n",
    );
  });

  it("understands a file that has only the name", async () => {
    const home = homeWith("model: gpt-5.5 # short\n");
    const args = ["model", "set", "qwen3:8b", "--provider", "ollama", "--json"];
    expect(jsonOf(await runHere(args, { home }))).toMatchObject({
      success: true,
      model: "qwen3:8b",
      provider: "ollama",
      base_url: "http://127.0.0.1:11434/v1",
      has_key: true,
      written: ["model.provider", "model.default"],
    });
    expect(jsonOf(await runHere(["model", "--json"], { home }))).toMatchObject({
      model: "qwen3:8b",
      provider: "ollama",
    });
    expect(configOf(home)).toContain("# short");
  });

  it("removes the settings of another server, and says so", async () => {
    const home = homeWith(
      "model:\n  default: old # why\n  provider: vllm\n  base_url: http://127.0.0.1:1/v1\n  context_length: 4096\n",
    );
    const env = { ANTHROPIC_API_KEY: KEY };
    const args = ["model", "set", "claude-sonnet-5-5", "--provider", "anthropic"];
    const { code, stderr } = await runHere(args, { home, env });
    expect(code).toBe(0);
    expect(stderr).toContain("about another model: model.base_url, model.context_length.");
    expect(configOf(home)).toBe("model:\n  default: claude-sonnet-5-5 # why\n  provider: anthropic\n");
  });

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

  it("another model of a custom server keeps the server and its key", async () => {
    const home = homeWith(
      `model:\n  default: old\n  provider: custom\n  base_url: http://127.0.0.1:1/v1\n  api_key: ${KEY}\n`,
    );
    const { code, stderr } = await runHere(["model", "set", "claude-like"], { home });
    expect(code).toBe(0);
    expect(stderr).toContain("It still runs at custom. For anthropic, add --provider anthropic.");
    expect(configOf(home)).toContain(`default: claude-like`);
    expect(configOf(home)).toContain(KEY);
  });

  it("says when a variable overrides what was written", async () => {
    const env = { HERMES_MODEL: "gpt-5.5", OPENAI_API_KEY: KEY, ANTHROPIC_API_KEY: KEY };
    const { stderr } = await runHere(["model", "set", "claude-sonnet-5-5"], { home: homeWith(""), env });
    expect(stderr).toContain("HERMES_MODEL is set and overrides config.yaml.");
  });

  it.each([
    [["x", "--provider", "anthropc"], 2, "There is no provider called 'anthropc'."],
    [["x", "--base-url", "ftp://here"], 2, "is not the address"],
    [["x", "--api-mode", "chat"], 2, "chat_completions"],
    [["x", "--context-length", "0"], 2, "at least 1"],
    [["some-model"], 2, "No key for any model provider was found."],
  ])("answers %j with exit code %i and writes nothing", async (args, expected, message) => {
    const home = homeWith("memory:\n  provider: x\n");
    const { code, stderr } = await runHere(["model", "set", ...args], { home });
    expect(code).toBe(expected);
    expect(stderr).toContain(message);
    expect(configOf(home)).toBe("memory:\n  provider: x\n");
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

  it("shows a model whose key is missing, and what to do about it", async () => {
    const home = homeWith("model:\n  default: claude-sonnet-5-5\n");
    const { code, stdout, stderr } = await runHere(["model"], { home });
    expect(code).toBe(0);
    expect(stdout).toContain("No key for Anthropic was found.");
    expect(stderr).toContain("Set ANTHROPIC_API_KEY");
  });

  it("without any model says how to get one", async () => {
    const { code, stderr } = await runHere(["model"], { home: homeWith("") });
    expect(code).toBe(1);
    expect(stderr).toContain("hermes setup");
  });
});

describe("hermes model list", () => {
  it("lists servers of this machine with their models, and the vendors with a key", async () => {
    const wire = await startWire("chat", [], { models: ["qwen3:8b", "evil\u001b[2J"] });
    const env = { OLLAMA_HOST: new URL(wire.url).host, OPENAI_API_KEY: KEY };
    const config = `model:\n  default: qwen3:8b\n  provider: ollama\n  base_url: ${wire.url}\n`;
    const listed = await runHere(["model", "list", "--json"], { home: homeWith(config), env });
    const json = jsonOf(listed) as { servers: unknown; providers: unknown };
    expect(json).toMatchObject({ configured: { model: "qwen3:8b", provider: "ollama" } });
    expect(json.servers).toContainEqual({
      provider: "ollama",
      base_url: wire.url,
      asked: true,
      models: ["qwen3:8b", "evil\u001b[2J"],
    });
    const has = (name: string, has_key: boolean, key_in: string | null): unknown =>
      expect.objectContaining({ name, has_key, key_in });
    expect(json.providers).toContainEqual(has("openai", true, "OPENAI_API_KEY"));
    expect(json.providers).toContainEqual(has("anthropic", false, null));
    const shown = await runHere(["model", "list", "--provider", "ollama"], { home: homeWith(config), env });
    expect(shown.stdout).toContain(`ollama at ${wire.url}\n  * qwen3:8b\n    evil\\x1b[2J\n`);
    expect(shown.stdout).not.toContain("anthropic");
    expect(listed.stdout + shown.stdout).not.toContain(KEY);
  });

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

  it("suggests the nearest name for an unknown provider", async () => {
    const { code, stderr } = await runHere(["model", "list", "--provider", "olama"], { home: homeWith("") });
    expect(code).toBe(2);
    expect(stderr).toContain("Did you mean 'ollama'?");
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

  it("fails with the model's failure", async () => {
    const { code, stdout } = await tried([badKey()], ["--json"]);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ success: false, kind: "auth", step: "answer", answer: null });
  });

  it("fails for a model that answers but calls no tools", async () => {
    const { code, stderr } = await tried([READY, { text: "The number is 7." }]);
    expect(code).toBe(1);
    expect(stderr).toContain("did not call the tool it was asked to call: it answered with text instead");
    const refused = await tried([READY, modelNotFound()]);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("It answers, but a call with a tool fails.");
  });

  it.each([
    ["anthropic", "anthropic", "anthropic_messages", "ANTHROPIC_API_KEY"],
    ["responses", "openai", "responses", "OPENAI_API_KEY"],
    ["google", "google", "google", "GEMINI_API_KEY"],
  ] as const)(
    "tries a model on the %s wire that is not configured",
    async (kind, provider, mode, variable) => {
      const wire = await startWire(kind, [READY, CALLED]);
      const flags = [
        "--model",
        "some-model",
        "--provider",
        provider,
        "--base-url",
        wire.url,
        "--api-mode",
        mode,
      ];
      const outcome = await runHere(["model", "test", ...flags, "--json"], {
        home: homeWith(""),
        env: { [variable]: KEY },
      });
      expect(jsonOf(outcome)).toMatchObject({
        success: true,
        api_mode: mode,
        key_source: variable,
        answer: { text: "ready", usage: { input: 20, output: 3 } },
      });
      expect(JSON.stringify(wire.requests[0]?.headers)).toContain(KEY);
    },
  );

  it("says that a server on this machine does not run", async () => {
    const home = homeWith(
      `model:\n  default: m\n  provider: ollama\n  base_url: ${await deadAddress()}/v1\n`,
    );
    const { code, stdout } = await runHere(["model", "test", "--json"], { home });
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ kind: "connection" });
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
