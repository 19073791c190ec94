// A provider in use: a conversation through the manager, two of them at once, and the end.

import { MemoryManager, readProviderHealth } from "../../src/providers/index.ts";
import type { Suite } from "../runner.ts";
import { FULL_METADATA, MESSAGES } from "./inputs.ts";
import { close, type ProviderHarness, settle, start } from "./support.ts";

const OPTIONS = { session_id: "session-1" };

export function conversationContract({ it, expect }: Suite, harness: ProviderHarness): void {
  it("goes through a conversation without one failed call", async (test) => {
    const home = test.directory();
    const manager = new MemoryManager({ home });
    const provider = harness.create(home);
    expect(manager.addProvider(provider)).toBe(true);
    await manager.initializeAll("session-1", { platform: "cli", agent_context: "primary" });
    await manager.buildSystemPrompt();
    for (const turn of [1, 2]) {
      await manager.onTurnStart(turn, "How hot is the kiln in the yard?", { model: "m" });
      await manager.prefetchAll("How hot is the kiln in the yard?", OPTIONS);
      const user = "How hot is the kiln in the yard?";
      manager.finishTurn({ ...OPTIONS, user, assistant: "1240 degrees.", messages: MESSAGES });
    }
    manager.onMemoryWrite("add", "memory", "The kiln is fired at 1240 degrees", FULL_METADATA);
    manager.onDelegation("Find the glaze", "Celadon.", { child_session_id: "child-1" });
    await manager.flushPending(20_000);
    await manager.onPreCompress(MESSAGES);
    await manager.onSessionEnd(MESSAGES);
    await manager.onSessionSwitch("session-2", { parent_session_id: "session-1", reason: "compression" });
    await manager.shutdownAll();
    const health = readProviderHealth(home, provider.name);
    const troubled = Object.entries(health?.hooks ?? {}).filter(
      ([, { failures, timeouts, skipped }]) => failures + timeouts + skipped > 0,
    );
    expect({ troubled, last_error: health?.last_error }).toEqual({ troubled: [] });
    expect(health).toMatchObject({ dropped_tasks: 0, stray_errors: 0 });
    expect(health?.hooks.initialize?.calls).toBe(1);
  });

  it("serves two agents in one home at the same time", async (test) => {
    const { provider: one, home } = await start(test, harness, { session: "session-1" });
    const { provider: other } = await start(test, harness, { home, session: "session-2" });
    await one.onMemoryWrite?.("add", "memory", "The kiln is fired at 1240 degrees", {});
    await other.onMemoryWrite?.("add", "user", "Owns a kiln called Vesuvius", {});
    await one.syncTurn?.("How hot is the kiln?", "1240 degrees.", OPTIONS);
    await close(one);
    const recalled = await other.prefetch?.("what is the kiln called?", { session_id: "session-2" });
    expect(recalled).toContain("Vesuvius");
    await close(other);
    const stored = JSON.stringify(harness.stored(home));
    expect(stored).toContain("The kiln is fired at 1240 degrees");
    expect(stored).toContain("Owns a kiln called Vesuvius");
  });

  it("can be shut down twice", async (test) => {
    const { provider } = await start(test, harness);
    await close(provider);
    await close(provider);
  });

  it("comes to an end with every call after its shutdown, and stores nothing more", async (test) => {
    const { provider, home } = await start(test, harness);
    await provider.onMemoryWrite?.("add", "memory", "The kiln is fired at 1240 degrees", {});
    await close(provider);
    const before = harness.stored(home);
    const [tool] = await provider.getToolSchemas();
    const calls: readonly (() => unknown)[] = [
      () => provider.systemPromptBlock?.({}),
      () => provider.onTurnStart?.(9, "How hot is the kiln?", {}),
      () => provider.prefetch?.("How hot is the kiln in the yard?", OPTIONS),
      () => provider.queuePrefetch?.("How hot is the kiln in the yard?", OPTIONS),
      () => provider.handleToolCall?.(tool?.name ?? "", {}, {}),
      () => provider.syncTurn?.("I prefer stoneware over porcelain", "Noted.", OPTIONS),
      () => provider.onMemoryWrite?.("add", "user", "Prefers stoneware", {}),
      () => provider.onDelegation?.("task", "result", { child_session_id: "child-1" }),
      () => provider.onPreCompress?.(MESSAGES, {}),
      () => provider.onSessionSwitch?.("session-2", { parent_session_id: "", reset: false }),
      () => provider.onSessionEnd?.(MESSAGES, {}),
      () => provider.selfTest?.(AbortSignal.abort()),
    ];
    for (const call of calls) expect(["answered", "failed"]).toContain(await settle(call));
    expect(harness.stored(home)).toEqual(before);
  });

  it("gives a new instance what the one before has stored", async (test) => {
    const { provider, home } = await start(test, harness);
    await provider.onMemoryWrite?.("add", "memory", "The kiln is fired at 1240 degrees", {});
    await close(provider);
    const before = harness.stored(home);
    const { provider: next } = await start(test, harness, { home, session: "session-2" });
    await close(next);
    expect(harness.stored(home)).toEqual(before);
  });
}
