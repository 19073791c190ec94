import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { deadAddress, modelServer, ollamaAnswers } from "../../../agent/test/fakes/model-server.ts";
import { registering, writeEngine } from "../../../core/test/fakes/engine-plugins.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { jsonHere, runHere } from "./run.ts";

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

  it("shows neither keys nor passwords", async () => {
    const home = homeWith(
      "model: {default: m, api_key: topsecret1, base_url: 'https://me:topsecret2@models.example/v1'}\nauxiliary: {compression: {model: s, api_key: topsecret3}}\n",
    );
    const text = await runHere(["context", "status"], { home });
    expect(text.stdout + text.stderr + JSON.stringify(await statusOf(home))).not.toContain("topsecret");
  });
});

describe("hermes context engines", () => {
  it("says when the one in use is missing", async () => {
    const { stderr } = await runHere(["context", "engines"], { home: homeWith("context: {engine: gone}\n") });
    expect(stderr).toContain("context.engine is 'gone', which is not installed");
  });
});

describe("hermes context use", () => {
  it("takes a plugin, and creates config.yaml if needed", async () => {
    const home = tempDirectory();
    writeEngine(home, "mine", registering("mine"));
    expect(await jsonHere(["context", "use", "mine"], { home })).toMatchObject({
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
});
