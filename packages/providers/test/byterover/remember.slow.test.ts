import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { userScopeName } from "../../../core/src/home.ts";
import type { Logger } from "../../../core/src/lib/logger.ts";
import type { ByteroverOptions } from "../../src/byterover/provider.ts";
import { isGone } from "../fakes/brv.ts";
import { startProvider, storedNotes } from "./started.ts";

const DETACHED = ["curate", "--format", "json", "--detach", "--"];

describe("a note for ByteRover", () => {
  it("is a finished turn, queued in the provider's directory without input", async () => {
    const { provider, brv, directory } = startProvider();
    await provider.syncTurn("remember the port, it is 5433", "I will.");
    const note = "User: remember the port, it is 5433\nAssistant: I will.";
    expect(brv.calls()).toMatchObject([{ argv: [...DETACHED, note], cwd: directory, stdin: "closed" }]);
    expect(storedNotes(directory)).toEqual([note]);
  });

  it("is kept apart for one user of several, on their platform", async () => {
    const { provider, brv, home } = startProvider();
    const users = [
      { platform: "telegram", user_id: "7" },
      { platform: "discord", user_id: "7" },
    ];
    for (const user of users) {
      provider.initialize("s", { hermes_home: home, ...user });
      await provider.onMemoryWrite("add", "user", `likes ${user.platform}`);
    }
    const places = brv.calls().map(({ cwd }) => cwd);
    expect(places).toEqual(
      users.map(({ platform, user_id }) => join(home, "byterover-users", userScopeName(platform, user_id))),
    );
  });

  it("is a change of the built-in memory, but no removal", async () => {
    const { provider, directory } = startProvider();
    await provider.onMemoryWrite("add", "user", "likes tea");
    await provider.onMemoryWrite("remove", "user", "");
    await provider.onMemoryWrite("replace", "memory", "the port is 5433");
    expect(storedNotes(directory)).toEqual(["[User profile] likes tea", "[Agent memory] the port is 5433"]);
  });

  it("has the messages before a compaction, which does not wait for it", async () => {
    const { provider, brv, directory } = startProvider({ plan: { mode: "waiting" } });
    const messages = [
      { role: "user", content: "the port is 5433" },
      { role: "assistant", content: "noted" },
    ];
    expect(provider.onPreCompress(messages)).toBe("");
    await brv.called(1);
    brv.go();
    await vi.waitFor(() =>
      expect(storedNotes(directory)).toEqual([
        "[Pre-compression context]\nuser: the port is 5433\nassistant: noted",
      ]),
    );
  });

  it("is nothing of short turns, of empty compressions, or of agents the user does not talk to", async () => {
    const short = startProvider();
    await short.provider.syncTurn("hello", "Hello, how can I help?");
    expect(short.provider.onPreCompress([{ role: "tool", content: "output" }])).toBe("");
    for (const context of ["subagent", "cron", "flush"] as const) {
      const { provider, brv } = startProvider({ context });
      await provider.syncTurn("remember the port, it is 5433", "I will.");
      await provider.onMemoryWrite("add", "user", "likes tea");
      provider.onPreCompress([{ role: "user", content: "the port is 5433" }]);
      expect(brv.calls()).toEqual([]);
    }
    expect(short.brv.calls()).toEqual([]);
  });

  it("is reported when brv refuses it, although brv ends with exit code 0", async () => {
    const { provider } = startProvider({ plan: { isConnected: false } });
    await expect(provider.syncTurn("remember the port, it is 5433", "")).rejects.toThrow(
      "No provider connected",
    );
  });

  it("is reported when brv takes too long, and the next note goes on", async () => {
    const limits = { queueMs: 400 };
    const { provider, brv } = startProvider({ plan: { mode: "hang" }, options: { limits } });
    const lost = provider.syncTurn("remember the port, it is 5433", "");
    await expect(lost).rejects.toThrow("brv timed out after 0.4s");
    brv.plan({ mode: "offline" });
    await expect(provider.syncTurn("remember the port, it is 5433", "")).rejects.toThrow("daemon");
  });

  it("is refused when too much waits already", async () => {
    const limits = { queueLength: 2 };
    const { provider, brv } = startProvider({ plan: { mode: "waiting" }, options: { limits } });
    const accepted = [1, 2].map((turn) => provider.syncTurn(`this is turn number ${turn}`, "yes"));
    await expect(provider.syncTurn("this is turn number 3", "yes")).rejects.toThrow("Too many notes");
    brv.go();
    await Promise.all(accepted);
  });
});

describe("shutting ByteRover down", () => {
  it("ends the running call after 2 s, and logs how many notes were lost", async () => {
    const warnings: string[] = [];
    const { provider, brv } = startProvider({ plan: { mode: "hang" }, options: logging(warnings) });
    const lost = [1, 2].map((turn) => provider.syncTurn(`this is turn number ${turn}`, "yes"));
    const outcomes = Promise.allSettled(lost);
    const [call] = await brv.called(1);
    const controller = new AbortController();
    const down = provider.shutdown({ signal: controller.signal });
    controller.abort();
    await down;
    expect((await outcomes).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await vi.waitFor(() =>
      expect([call?.pid, call?.childPid].map((pid) => isGone(pid ?? 0))).toEqual([true, true]),
    );
    expect(warnings).toEqual(["Notes for ByteRover were lost at shutdown."]);
    expect(brv.calls()).toHaveLength(1);
  });

  it("is the end: nothing is stored, recalled or answered afterwards, and doing it twice is harmless", async () => {
    const { provider, brv } = startProvider({ notes: ["The port is 5433."] });
    await provider.shutdown({});
    await provider.shutdown({});
    await provider.syncTurn("remember the port, it is 5433", "");
    expect(await provider.prefetch("what is the port", { session_id: "s-1" })).toBe("");
    expect(JSON.parse(await provider.handleToolCall("brv_status", {}))).toHaveProperty("error");
    expect(brv.calls()).toEqual([]);
  });

  it("ends a tool call that still runs", async () => {
    const { provider, brv } = startProvider({ plan: { mode: "hang" } });
    const answer = provider.handleToolCall("brv_status", {});
    await brv.called(1);
    await provider.shutdown({});
    expect(JSON.parse(await answer)).toEqual({ error: "brv status was called off" });
  });
});

function logging(warnings: string[]): ByteroverOptions {
  const logger: Logger = {
    debug() {},
    info() {},
    warn: (message) => warnings.push(message),
    error() {},
    dropped: 0,
  };
  return { logger };
}
