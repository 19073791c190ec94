import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { createByteroverProvider } from "../../src/byterover/provider.ts";
import { isGone } from "../fakes/brv.ts";
import { type Started, startProvider, storedNotes } from "./started.ts";

const call = async ({ provider }: Started, name: string, args: Record<string, unknown> = {}) =>
  JSON.parse(await provider.handleToolCall(name, args));

describe("the tools of ByteRover", () => {
  it("are there unless the mode is context, also before it has started", () => {
    const names = (settings?: object) =>
      startProvider(settings === undefined ? {} : { settings })
        .provider.getToolSchemas()
        .map(({ name }) => name);
    const all = ["brv_query", "brv_curate", "brv_status"];
    expect(names()).toEqual(all);
    expect(names({ mode: "tools" })).toEqual(all);
    expect(names({ mode: "context" })).toEqual([]);
    expect(createByteroverProvider().getToolSchemas?.()).toHaveLength(3);
  });

  it("ask a question and give the answer without progress and footer", async () => {
    const started = startProvider({ notes: ["The database port is 5433."] });
    expect(await call(started, "brv_query", { query: " what is the database port " })).toEqual({
      result: "The database port is 5433.",
    });
    expect(started.brv.calls()[0]?.argv).toEqual(
      ["query", "--format", "json", "--timeout", "10", "--"].concat("what is the database port"),
    );
  });

  it("say that nothing was found, and cut a long answer", async () => {
    const none = startProvider();
    expect(await call(none, "brv_query", { query: "zebra" })).toEqual({
      result: "No relevant memories found.",
    });
    const long = startProvider({ plan: { answer: "x".repeat(9_000) } });
    expect(await call(long, "brv_query", { query: "everything" })).toEqual({
      result: `${"x".repeat(8_000)}\n\n[... truncated]`,
    });
  });

  it("give a question as much time as the settings say", async () => {
    const started = startProvider({ settings: { query_timeout: 45 } });
    await call(started, "brv_query", { query: "zebra" });
    expect(started.brv.calls()[0]?.argv.slice(3, 5)).toEqual(["--timeout", "45"]);
  });

  it("store a note and wait until it is stored", async () => {
    const started = startProvider();
    expect(await call(started, "brv_curate", { content: "The port is 5433." })).toEqual({
      result: "Memory curated successfully.",
    });
    expect(storedNotes(started.directory)).toEqual(["The port is 5433."]);
    expect(started.brv.calls()[0]?.argv).not.toContain("--detach");
  });

  it("do not call it stored when brv failed with exit code 0", async () => {
    const started = startProvider({ plan: { isConnected: false } });
    for (const [name, args] of [
      ["brv_curate", { content: "The port is 5433." }],
      ["brv_query", { query: "what is the port" }],
    ] as const)
      expect(await call(started, name, args)).toEqual({
        error: expect.stringContaining("No provider connected"),
      });
  });

  it("refuse missing or too long arguments without starting brv", async () => {
    const started = startProvider();
    expect(await call(started, "brv_query", { query: "  " })).toEqual({ error: "query is required" });
    expect(await call(started, "brv_query", { query: 7 })).toEqual({ error: "query is required" });
    expect(await call(started, "brv_curate")).toEqual({ error: "content is required" });
    expect(await call(started, "brv_curate", { content: "x".repeat(25_001) })).toEqual({
      error: expect.stringContaining("at most 25000"),
    });
    expect(await call(started, "brv_forget")).toEqual({ error: "Unknown tool: brv_forget" });
    expect(started.brv.calls()).toEqual([]);
  });

  it("tell the state of brv and of its model provider", async () => {
    const connected = startProvider({ notes: [], plan: { isLoggedIn: true } });
    expect(await call(connected, "brv_status")).toEqual({
      status: [
        "Version: 3.14.0",
        "Account: logged in",
        `Project: ${connected.directory}`,
        "Context tree: no changes",
        "Model provider: openai-compatible (m1)",
      ].join("\n"),
      model_provider: { connected: true, id: "openai-compatible", model: "m1" },
    });
    const alone = startProvider({ plan: { isConnected: false } });
    expect(await call(alone, "brv_status")).toMatchObject({
      status: expect.stringContaining("Model provider: none. No model provider is connected"),
      model_provider: { connected: false },
    });
  });

  it("tell the state also when the model provider cannot be asked, and fail when brv cannot", async () => {
    const half = startProvider({ plan: { modes: { providers: "offline" } } });
    expect(await call(half, "brv_status")).toMatchObject({
      status: expect.stringContaining("Version: 3.14.0"),
      model_provider: { connected: false, hint: expect.stringContaining("not known") },
    });
    const down = startProvider({ plan: { mode: "offline" } });
    expect(await call(down, "brv_status")).toEqual({ error: expect.stringContaining("daemon") });
    expect(down.brv.calls()).toHaveLength(1);
  });

  it("tell that the settings file was not used", async () => {
    const { provider, home } = startProvider();
    writeFileSync(join(home, "byterover.json"), "{ mode: tools");
    provider.initialize("s-2", { hermes_home: home });
    const { status } = JSON.parse(await provider.handleToolCall("brv_status", {}));
    expect(status).toMatch(/\nSettings: .*byterover\.json cannot be read/);
  });

  it("end with the call of the manager", async () => {
    const { provider, brv } = startProvider({ plan: { mode: "hang" } });
    const controller = new AbortController();
    const answer = provider.handleToolCall("brv_query", { query: "anything" }, { signal: controller.signal });
    const [started] = await brv.called(1);
    controller.abort();
    expect(JSON.parse(await answer)).toEqual({ error: "brv query was called off" });
    expect(isGone(started?.pid ?? 0)).toBe(true);
  });

  it("answer with an error before the provider has started", async () => {
    const answer = await createByteroverProvider().handleToolCall?.("brv_query", { query: "anything" }, {});
    expect(JSON.parse(answer ?? "")).toHaveProperty("error");
  });
});

describe("the ByteRover provider", () => {
  it("is available when there is a program to run, which it does not run to find out", async () => {
    const { provider, brv } = startProvider();
    expect(provider.isAvailable()).toBe(true);
    expect(brv.calls()).toEqual([]);
    const missing = createByteroverProvider({ env: {}, userHome: tempDirectory(), systemPlaces: [] });
    expect(await missing.isAvailable()).toBe(false);
    expect(await missing.unavailableReason?.()).toContain("npm install -g byterover-cli");
  });

  it("explains itself in the prompt as its mode is, and not at all without brv", async () => {
    const block = (mode: string) => startProvider({ settings: { mode } }).provider.systemPromptBlock();
    const [hybrid, context, tools] = ["hybrid", "context", "tools"].map(block);
    expect(hybrid).toMatch(/^# ByteRover Memory\n.*brv_query.*brv_curate.*brv_status.*by themselves/);
    expect(context).toMatch(/^# ByteRover Memory\n.*by themselves/);
    expect(context).not.toContain("brv_");
    expect(tools).toMatch(/brv_query.*Nothing is added by itself/);
    const none = createByteroverProvider({ env: {}, userHome: tempDirectory(), systemPlaces: [] });
    await none.initialize("s", { hermes_home: tempDirectory() });
    expect(await none.systemPromptBlock?.({})).toBe("");
  });

  it("tests itself without leaving anything behind", async () => {
    const { provider, brv, directory } = startProvider({ notes: ["something about this project"] });
    const report = await provider.selfTest(new AbortController().signal);
    expect(report.steps.map(({ name, detail }) => [name, detail])).toEqual([
      ["status", "brv 3.14.0"],
      ["recall", "search works, 1 found"],
      ["model", "Model provider: openai-compatible (m1)"],
      ["write", "left out: brv cannot remove a note again"],
    ]);
    expect(brv.calls().map(({ argv }) => argv[0])).toEqual(["status", "search", "providers"]);
    expect(storedNotes(directory)).toEqual(["something about this project"]);
  });

  it("reports the failure when its self-test fails", async () => {
    const { provider, brv } = startProvider({ plan: { modes: { search: "crash" } } });
    await expect(provider.selfTest(new AbortController().signal)).rejects.toThrow("something broke");
    brv.plan({ mode: "hang" });
    await expect(provider.selfTest(AbortSignal.abort())).rejects.toThrow("called off");
    const { provider: other } = startProvider();
    await other.shutdown({});
    await expect(other.selfTest(new AbortController().signal)).rejects.toThrow("not been started");
  });

  it("keeps its settings for the next start", () => {
    const { provider, home } = startProvider();
    provider.saveConfig({ mode: "tools", search_limit: "7" }, home);
    expect(JSON.parse(readFileSync(join(home, "byterover.json"), "utf8"))).toEqual({
      mode: "tools",
      search_limit: 7,
    });
    expect(() => provider.saveConfig({ mode: "loud", search_limit: "8" }, home)).toThrow(
      "mode must be one of",
    );
    expect(() => provider.saveConfig({ volume: "11" }, home)).toThrow("no setting");
    expect(readFileSync(join(home, "byterover.json"), "utf8")).toContain('"search_limit": 7');
  });
});
