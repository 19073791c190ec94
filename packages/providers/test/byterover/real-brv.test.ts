// Against the real byterover-cli (3.14.0 when this was written), offline. Run it with
// HERMES_TEST_BRV=/path/to/brv npx vitest run test/providers/byterover/real-brv.test.ts
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runChild } from "../../../core/src/providers/kit/child-process.ts";
import { ByteroverProvider } from "../../src/byterover/provider.ts";
import {
  findRealBrv,
  isolatedEnvironment,
  MODEL_ANSWER,
  type RealBrv,
  startRealBrv,
  stopDaemon,
} from "../fakes/brv/real.ts";

const binary = findRealBrv();
const QUESTION = "what is the database port in production";
const SLOW_MS = 120_000; // a cold daemon on a busy machine

if (binary === undefined)
  console.warn("The tests against the real brv are skipped: none on PATH. Set HERMES_TEST_BRV to run them.");

describe.skipIf(binary === undefined)("the real brv", { timeout: SLOW_MS }, () => {
  let root: string;
  let home: string;
  let real: RealBrv;
  let provider: ByteroverProvider;

  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), "hermes-test-"));
    home = join(root, "home");
    real = await startRealBrv(binary ?? "", root);
    provider = start(real.env);
    await brv("status", "--format", "json"); // the daemon is warm
  }, SLOW_MS);

  afterAll(async () => {
    await provider?.shutdown({});
    await real?.stop();
    rmSync(root, { recursive: true, force: true, maxRetries: 5 });
  }, SLOW_MS);

  it.each([
    ["search", ["--format", "--limit"]],
    ["query", ["--format", "--timeout"]],
    ["curate", ["--format", "--timeout", "--detach"]],
    ["status", ["--format"]],
    ["providers", ["--format"]],
    ["login", ["--format", "--api-key"]],
  ])("knows the flags of %s that we use", async (command, flags) => {
    const help = await brv(command, "--help");
    expect(flags.filter((flag) => !help.includes(flag))).toEqual([]);
  });

  it("tells its state, and that no model is connected", async () => {
    const { status } = await tool("brv_status");
    expect(status).toMatch(/^cliVersion: \d+\.\d+(?:.*\n)*Model provider: none/m);
  });

  it("fails with exit code 0 when no model is connected, which we report", async () => {
    await expect(provider.syncTurn("remember the port, it is 5433", "I will.")).rejects.toThrow(
      "No provider",
    );
    expect(await tool("brv_query", { query: QUESTION })).toEqual({
      error: expect.stringContaining("provider"),
    });
    expect(existsSync(join(home, "byterover", ".brv", "config.json"))).toBe(true);
  });

  it("refuses a key that is not one, and setup does not repeat it", async () => {
    const lines: string[] = [];
    await provider.postSetup(
      home,
      {},
      { print: (line) => lines.push(line), values: { api_key: "no-such-key" } },
    );
    expect(lines).toContainEqual(expect.stringMatching(/^brv login failed: /));
    expect(lines.join()).not.toContain("no-such-key");
  });

  it("searches its tree without a model", async () => {
    expect(await provider.prefetch(QUESTION, { session_id: "s" })).toBe("");
    const topic = join(home, "byterover", ".brv", "context-tree", "infra", "database");
    mkdirSync(topic, { recursive: true });
    writeFileSync(join(topic, "ports.md"), "# Database ports\n\nThe database port in production is 5433.\n");
    // Its index is a few seconds behind the files.
    await expect
      .poll(() => provider.prefetch(QUESTION, { session_id: "s" }), { timeout: 30_000 })
      .toBe(
        "## ByteRover Context\n**Database ports** (infra/database/ports.md)\nThe database port in production is 5433.",
      );
  });

  it("passes its own test", async () => {
    const { steps } = await provider.selfTest(AbortSignal.timeout(SLOW_MS));
    expect(steps.map(({ name }) => name)).toEqual(["status", "recall", "write"]);
  });

  it("answers, stores and queues with a model", async () => {
    await brv(
      "providers",
      "connect",
      "openai-compatible",
      "--base-url",
      real.modelUrl,
      "-k",
      "none",
      "-m",
      "m1",
    );
    expect((await tool("brv_status")).status).toContain("Model provider: openai-compatible (m1)");
    expect(await tool("brv_query", { query: QUESTION })).toEqual({ result: MODEL_ANSWER });
    expect(await tool("brv_query", { query: "zebras in the savannah" })).toEqual({
      result: "No relevant memories found.",
    });
    expect(await tool("brv_curate", { content: "The mail port is 2525." })).toEqual({
      result: "Memory curated successfully.",
    });
    await provider.syncTurn("remember the port, it is 5433", "I will.");
  });

  it("is given up at our time limit where its daemon cannot start", async () => {
    const offline = join(root, "offline");
    const limits = { prefetchMs: 3_000 };
    const nowhere = isolatedEnvironment(real.binary, offline, "http://127.0.0.1:9");
    const cut = new ByteroverProvider({ env: nowhere, userHome: offline, limits });
    cut.initialize("s", { hermes_home: home });
    await expect(cut.prefetch(QUESTION, { session_id: "s" })).rejects.toThrow("brv timed out after 3s");
    await cut.shutdown({});
    await stopDaemon(offline);
  });

  function start(env: Readonly<Record<string, string>>): ByteroverProvider {
    const started = new ByteroverProvider({ env, userHome: root, limits: { prefetchMs: 60_000 } });
    started.initialize("s", { hermes_home: home });
    return started;
  }

  async function tool(name: string, args: Record<string, unknown> = {}) {
    return JSON.parse(await provider.handleToolCall(name, args));
  }

  async function brv(...args: string[]): Promise<string> {
    const cwd = join(home, "byterover");
    mkdirSync(cwd, { recursive: true });
    const end = await runChild({
      command: real.binary,
      args,
      cwd,
      env: real.env,
      timeoutMs: SLOW_MS,
      outputBytes: 1_000_000,
    });
    if (end.kind !== "exited" || end.code !== 0) throw new Error(JSON.stringify(end));
    return end.stdout;
  }
});
