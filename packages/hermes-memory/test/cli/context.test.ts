import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { deadAddress, modelServer, ollamaAnswers } from "../../../agent/test/fakes/model-server.ts";
import { registering, writeEngine } from "../../../core/test/fakes/engine-plugins.ts";
import { writePlugin } from "../../../core/test/fakes/plugins.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { runHere, runHermes, runJson } from "./run.ts";

function homeWith(config: string): string {
  const home = tempDirectory();
  writeFileSync(join(home, "config.yaml"), config);
  return home;
}

/** In this process, because starting a child takes most of the time. */
async function statusOf(home: string): Promise<Record<string, unknown>> {
  const { stdout, code } = await runHere(["context", "status", "--json"], { home });
  expect(code).toBe(0);
  return JSON.parse(stdout) as Record<string, unknown>;
}

describe("hermes context status", () => {
  it("shows the budgets that follow from the model's window", async () => {
    const home = homeWith(
      "model: {default: anthropic/claude-sonnet-4, provider: openrouter, base_url: https://openrouter.ai/api/v1}\n",
    );
    const { stdout, stderr, code } = await runHere(["context", "status"], { home });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("engine            compressor\n");
    expect(await statusOf(home)).toEqual({
      engine: "compressor",
      engine_installed: true,
      engine_source: "built-in",
      model: "anthropic/claude-sonnet-4",
      provider: "openrouter",
      base_url: "https://openrouter.ai/api/v1",
      window: { tokens: 200_000, source: "table", server: null, provisional: false },
      compression: {
        enabled: true,
        threshold: 0.5,
        threshold_tokens: 100_000,
        tail_tokens: 20_000,
        max_summary_tokens: 10_000,
        protect_first_n: 3,
        protect_last_n: 20,
      },
      hygiene: { threshold_tokens: 170_000, message_limit: 5000 },
      summary_model: { model: "anthropic/claude-sonnet-4", provider: "auto", is_main: true, window: 200_000 },
      prompt_caching: { enabled: true, layout: "envelope", ttl: "5m" },
      notices: [],
    });
  });

  it("works without a home, and says that no model is set", async () => {
    const home = join(tempDirectory(), "none");
    const { stdout, code } = await runHermes(["context", "status"], { home });
    expect(code).toBe(0);
    expect(stdout).toContain("No model is set");
    expect(existsSync(home)).toBe(false);
  });

  it("asks a server on this machine for the window it really serves, and warns of a small one", async () => {
    const { url } = await modelServer(ollamaAnswers("llama3.1:8b", { loaded: 8192 }));
    const home = homeWith(`model: {default: 'llama3.1:8b', provider: ollama, base_url: '${url}/v1'}\n`);
    expect(await statusOf(home)).toMatchObject({
      window: { tokens: 8192, source: "server", server: "Ollama" },
      compression: { threshold_tokens: 6963 },
      prompt_caching: { enabled: false },
      notices: [expect.stringContaining("so the conversation will be compacted often.")],
    });
  });

  it("says when the server has not loaded the model, and when it is not there", async () => {
    const { url } = await modelServer(ollamaAnswers("m", { most: 131_072 }));
    const idle = await statusOf(homeWith(`model: {default: m, base_url: '${url}/v1'}\n`));
    expect(idle).toMatchObject({
      window: { tokens: 131_072, source: "server", server: "Ollama", provisional: true },
      notices: [expect.stringContaining("has not loaded the model")],
    });
    const gone = await statusOf(homeWith(`model: {default: qwen3, base_url: '${await deadAddress()}/v1'}\n`));
    expect(gone).toMatchObject({
      window: { tokens: 131_072, source: "table" },
      notices: [expect.stringContaining("did not say")],
    });
  });

  it("follows the settings: lossless tail, summary model, caching, switched off", async () => {
    const home = homeWith(`model: {default: claude-opus-4-5, provider: anthropic, context_length: 300000}
context: {engine: lcm, lcm: {fresh_tail_ratio: 0.4}}
compression: {enabled: no, threshold: 0.4, protect_first_n: 0}
auxiliary: {compression: {provider: openrouter, model: small-one, context_length: 48000}}
prompt_caching: {cache_ttl: 1h}
`);
    expect(await statusOf(home)).toMatchObject({
      engine: "lcm",
      window: { tokens: 300_000, source: "config" },
      compression: { enabled: false, threshold_tokens: 120_000, tail_tokens: 48_000, protect_first_n: 0 },
      summary_model: { model: "small-one", provider: "openrouter", is_main: false, window: 48_000 },
      prompt_caching: { enabled: true, layout: "native", ttl: "1h" },
      notices: [],
    });
  });

  it("warns about a summary model with a small window", async () => {
    const config = (length: number) => `model: {default: claude-opus-4-5}
auxiliary: {compression: {model: small-one, context_length: ${length}}}
`;
    const lowered = await statusOf(homeWith(config(70_000)));
    expect(lowered.notices).toEqual([
      expect.stringContaining("auto-lowered compression threshold to 70,000"),
    ]);
    const replaced = await statusOf(homeWith(config(8000)));
    expect(replaced.notices).toEqual([
      expect.stringContaining("'claude-opus-4-5' writes the summaries instead"),
    ]);
  });

  it("shows neither keys nor passwords", async () => {
    const home = homeWith(
      "model: {default: m, api_key: topsecret1, base_url: 'https://me:topsecret2@models.example/v1'}\nauxiliary: {compression: {model: s, api_key: topsecret3}}\n",
    );
    const text = await runHere(["context", "status"], { home });
    expect(text.stdout + text.stderr + JSON.stringify(await statusOf(home))).not.toContain("topsecret");
  });

  it("says what is wrong with the engine or the settings", async () => {
    const gone = await statusOf(homeWith("model: gpt-5\ncontext: {engine: nirvana}\n"));
    expect(gone).toMatchObject({
      engine_installed: false,
      engine_source: null,
      notices: [expect.stringContaining("'nirvana' is not installed; 'compressor' takes its place")],
    });
    const ignored = await statusOf(homeWith("model: {default: gpt-5, context_length: 256K}\n"));
    expect(ignored.notices).toEqual([expect.stringContaining("model.context_length is ignored")]);
    const broken = homeWith("compression: {threshold: 50}\n");
    const { stdout, code } = await runHere(["context", "status", "--json"], { home: broken });
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      success: false,
      error: expect.stringContaining("compression.threshold must be a number above 0 and at most 1"),
      hint: expect.stringContaining("hermes config check"),
    });
  });
});

describe("hermes context engines", () => {
  it("lists the engines without running a plugin, and marks the active one", async () => {
    const home = homeWith("context: {engine: mine}\n");
    const trace = join(home, "has-run");
    writeEngine(
      home,
      "mine",
      `import { writeFileSync } from "node:fs"; writeFileSync(${JSON.stringify(trace)}, "");`,
    );
    writePlugin(home, "python", { "plugin.yaml": "kind: context_engine\n", "__init__.py": "" });
    const { stdout, stderr, code } = await runHermes(["context", "engines"], { home });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("Keeps what matters");
    expect(await runJson(["context", "engines"], { home })).toMatchObject({
      active: "mine",
      engines: [
        { name: "compressor", source: "built-in", active: false },
        { name: "lcm", source: "built-in", active: false },
        { name: "mine", source: "plugin", active: true, directory: join(home, "plugins", "mine") },
        { name: "python", problem: expect.stringContaining("Python") },
      ],
      warnings: [],
    });
    expect(existsSync(trace)).toBe(false);
  });

  it("says when the one in use is missing", async () => {
    const { stderr } = await runHere(["context", "engines"], { home: homeWith("context: {engine: gone}\n") });
    expect(stderr).toContain("context.engine is 'gone', which is not installed");
  });
});

describe("hermes context use", () => {
  it("writes the engine's name, keeps the rest of the file, and says when it counts", async () => {
    const home = homeWith(
      "# mine\nmodel: gpt-5 # fast\ncontext:\n  # which one\n  engine: compressor # for now\n",
    );
    const { stdout, stderr, code } = await runHermes(["context", "use", "lcm"], { home });
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringContaining("The context engine is now lcm.\n"),
    });
    expect(stderr).toContain("A new session uses it");
    expect(readFileSync(join(home, "config.yaml"), "utf8")).toBe(
      "# mine\nmodel: gpt-5 # fast\ncontext:\n  # which one\n  engine: lcm # for now\n",
    );
    const again = await runHere(["context", "use", "lcm"], { home });
    expect(again).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("It was lcm already.\n"),
      stderr: "",
    });
  });

  it("takes a plugin, and creates config.yaml if needed", async () => {
    const home = tempDirectory();
    writeEngine(home, "mine", registering("mine"));
    expect(await runJson(["context", "use", "mine"], { home })).toMatchObject({
      success: true,
      engine: "mine",
      previous: "compressor",
      changed: true,
      path: join(home, "config.yaml"),
    });
    expect(await statusOf(home)).toMatchObject({
      engine: "mine",
      engine_source: "plugin",
      compression: { threshold_tokens: null },
    });
  });

  it("refuses an engine that is missing or cannot be loaded, and writes nothing", async () => {
    const home = tempDirectory();
    writePlugin(home, "python", { "plugin.yaml": "kind: context_engine\n", "__init__.py": "" });
    const unknown = await runHere(["context", "use", "lmc"], { home });
    expect(unknown).toMatchObject({ code: 1, stdout: "" });
    expect(unknown.stderr).toContain("There is no context engine 'lmc'. There are: compressor, lcm, python.");
    expect(unknown.stderr).toContain("Did you mean 'lcm'?");
    const { stdout, code } = await runHere(["context", "use", "python", "--json"], { home });
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ success: false, kind: "not-loadable", engine: "python" });
    expect(existsSync(join(home, "config.yaml"))).toBe(false);
    expect((await runHere(["context", "use"], { home })).code).toBe(2);
  });
});
