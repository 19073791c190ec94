// The background queue: syncs in the order of the turns, and a shutdown that runs as many queued tasks as time allows.
import { describe, expect, it } from "vitest";
import { readProviderHealth } from "../../../src/providers/manager/health.ts";
import { MemoryManager } from "../../../src/providers/manager/manager.ts";
import { pause, provider, recordingLogger, recordingProvider } from "../../fakes/providers.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";

describe("finished turns", () => {
  it("are handed over with session, texts and messages", async () => {
    const notes = recordingProvider();
    const manager = new MemoryManager();
    manager.addProvider(notes.provider);
    const messages = [{ role: "user", content: "tea?" }];
    manager.syncAll("tea?", "yes", { session_id: "s1", messages });
    manager.queuePrefetchAll("tea?", { session_id: "s1" });
    await manager.flushPending();
    const options = { session_id: "s1", signal: expect.any(AbortSignal) };
    expect(notes.argsOf("syncTurn")).toEqual([["tea?", "yes", { ...options, messages }]]);
    expect(notes.argsOf("queuePrefetch")).toEqual([["tea?", options]]);
  });

  it("have the messages of that moment", async () => {
    const start = pause();
    const lists: unknown[] = [];
    const manager = new MemoryManager();
    manager.addProvider(
      provider({
        syncTurn: async (_user, _assistant, { messages = [] }) => {
          await start.over;
          lists.push([...messages]);
        },
      }),
    );
    const live = [{ role: "user", content: "tea?" }];
    manager.syncAll("tea?", "yes", { messages: live });
    live.push({ role: "assistant", content: "later" });
    start.end();
    await manager.flushPending();
    expect(lists).toEqual([[{ role: "user", content: "tea?" }]]);
  });

  it("are kept in order over five turns, each sync before its own prefetch", async () => {
    const seen: string[] = [];
    const slowly = async (what: string): Promise<void> => {
      await new Promise((resolve) => setImmediate(resolve));
      seen.push(what);
    };
    const manager = new MemoryManager();
    manager.addProvider(
      provider({
        syncTurn: (user) => slowly(`sync ${user}`),
        queuePrefetch: (query) => slowly(`prefetch ${query}`),
      }),
    );
    const turns = ["1", "2", "3", "4", "5"];
    for (const turn of turns) manager.finishTurn({ session_id: "s1", user: turn, assistant: "ok" });
    await manager.flushPending();
    expect(seen).toEqual(turns.flatMap((turn) => [`sync ${turn}`, `prefetch ${turn}`]));
  });
});

describe("a queue that only grows", () => {
  it("drops tasks beyond its hundred, with one warning and a count", async () => {
    const home = tempDirectory();
    const log = recordingLogger();
    const manager = new MemoryManager({ home, log, deadlinesMs: { drain: 1 } });
    const hang = pause();
    manager.addProvider(provider({ syncTurn: () => hang.over }));
    manager.syncAll("first", "yes");
    await Promise.resolve(); // it runs now; a hundred may wait
    for (let turn = 0; turn < 103; turn += 1) manager.syncAll(`turn ${turn}`, "yes");
    expect(log.at("warn")).toEqual([expect.stringContaining("100 tasks wait already")]);
    hang.end();
    expect(await manager.flushPending(60_000)).toBe(true);
    await manager.shutdownAll();
    expect(readProviderHealth(home, "notes")).toMatchObject({
      dropped_tasks: 3,
      hooks: { syncTurn: { calls: 101, skipped: 3 } },
    });
  });
});

describe("the end of a session", () => {
  it("comes after the syncs that were handed in before it", async () => {
    const seen: string[] = [];
    const manager = new MemoryManager();
    manager.addProvider(
      provider({
        syncTurn: async (user) => {
          await new Promise((resolve) => setImmediate(resolve));
          seen.push(user);
        },
        onSessionEnd: () => void seen.push("end"),
      }),
    );
    manager.syncAll("1", "ok");
    manager.syncAll("2", "ok");
    await manager.onSessionEnd([]);
    expect(seen).toEqual(["1", "2", "end"]);
  });
});

describe("a shutdown", () => {
  it("gives up on a hanging task, logs how many were lost, and calls no provider after its shutdown", async () => {
    const home = tempDirectory();
    const log = recordingLogger();
    const manager = new MemoryManager({ home, log, deadlinesMs: { drain: 1 } });
    const seen: string[] = [];
    let stopped: AbortSignal | undefined;
    manager.addProvider(
      provider({
        syncTurn: (_user, _assistant, { signal }) => {
          stopped = signal;
          return new Promise(() => {});
        },
        shutdown: () => void seen.push("notes closed"),
      }),
    );
    manager.syncAll("1", "ok");
    manager.syncAll("2", "ok");
    await manager.shutdownAll();
    await new Promise((resolve) => setImmediate(resolve));
    expect(seen).toEqual(["notes closed"]);
    expect(stopped?.aborted).toBe(true); // or a socket it waits for would keep the process alive
    expect(log.at("warn")).toEqual([expect.stringMatching(/^2 background task/)]);
    expect(readProviderHealth(home, "notes")?.dropped_tasks).toBe(2);
  });

  it("ends a tool call that still waits", async () => {
    const manager = new MemoryManager();
    const notes = recordingProvider("notes", { handleToolCall: new Promise(() => {}) });
    manager.addProvider(notes.provider);
    const answer = manager.handleToolCall("notes_find", {});
    await manager.shutdownAll();
    expect(JSON.parse(await answer)).toEqual({
      error: expect.stringMatching(/^Memory tool 'notes_find' failed: .*shut down/),
    });
  });

  it("is the last thing a provider hears", async () => {
    const notes = recordingProvider();
    const log = recordingLogger();
    const manager = new MemoryManager({ log });
    manager.addProvider(notes.provider);
    await manager.shutdownAll();
    notes.calls.length = 0;
    manager.finishTurn({ session_id: "s1", user: "tea?", assistant: "yes" });
    manager.onMemoryWrite("add", "memory", "x");
    manager.onDelegation("task", "result");
    await manager.onTurnStart(2, "tea?");
    await manager.onSessionEnd([]);
    await manager.onSessionSwitch("s2");
    expect(await manager.prefetchAll("tea?")).toBe("");
    expect(await manager.buildSystemPrompt()).toBe("");
    expect(await manager.onPreCompress([])).toBe("");
    expect(JSON.parse(await manager.handleToolCall("notes_find", {}))).toHaveProperty("error");
    expect(await manager.flushPending()).toBe(true);
    expect(notes.calls).toEqual([]);
    expect([log.at("warn"), log.at("error")]).toEqual([[], []]);
    expect(log.at("debug")).toContainEqual(expect.stringContaining("after shutdown (syncTurn)"));
  });
});
