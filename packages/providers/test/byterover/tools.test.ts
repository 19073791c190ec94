import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { createByteroverProvider } from "../../src/byterover/provider.ts";
import { isGone } from "../fakes/brv.ts";
import { type Started, startProvider, storedNotes } from "./started.ts";

const call = async ({ provider }: Started, name: string, args: Record<string, unknown> = {}) =>
  JSON.parse(await provider.handleToolCall(name, args));

describe("the tools of ByteRover", () => {
  it("ask a question and give the answer without progress and footer", async () => {
    const started = startProvider({ notes: ["The database port is 5433."] });
    expect(await call(started, "brv_query", { query: " what is the database port " })).toEqual({
      result: "The database port is 5433.",
    });
    expect(started.brv.calls()[0]?.argv).toEqual(
      ["query", "--format", "json", "--timeout", "10", "--"].concat("what is the database port"),
    );
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
    const { status } = await call(connected, "brv_status");
    for (const line of [
      "cliVersion: 3.14.0",
      "authStatus: logged_in",
      "Model provider: openai-compatible (m1)",
    ])
      expect(status.split("\n")).toContain(line);
    const alone = startProvider({ plan: { isConnected: false } });
    expect(await call(alone, "brv_status")).toMatchObject({
      status: expect.stringContaining("Model provider: none"),
    });
  });

  it("tell the state also when the model provider cannot be asked, and fail when brv cannot", async () => {
    const half = startProvider({ plan: { modes: { providers: "offline" } } });
    expect(await call(half, "brv_status")).toMatchObject({
      status: expect.stringMatching(/Version: 3\.14\.0\n(?:.*\n)*Model provider: not known/),
    });
    const down = startProvider({ plan: { mode: "offline" } });
    expect(await call(down, "brv_status")).toEqual({ error: expect.stringContaining("daemon") });
    expect(down.brv.calls()).toHaveLength(1);
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

  it("keeps its settings for the next start", () => {
    const { provider, home } = startProvider();
    provider.saveConfig({ mode: "tools" }, home);
    expect(JSON.parse(readFileSync(join(home, "byterover.json"), "utf8"))).toEqual({
      mode: "tools",
    });
    expect(() => provider.saveConfig({ mode: "loud" }, home)).toThrow("mode must be one of");
    expect(() => provider.saveConfig({ volume: "11" }, home)).toThrow("no setting");
  });
});
