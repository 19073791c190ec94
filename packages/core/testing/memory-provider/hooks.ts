// What a provider is told comes in every shape the agent has it in. It has to take all of them.

import type { MemoryProvider } from "../../src/providers/index.ts";
import type { Suite } from "../runner.ts";
import { FULL_METADATA, HOSTILE_TEXTS, HUGE_TEXT, MESSAGES } from "./inputs.ts";
import { close, type ProviderHarness, start } from "./support.ts";

const OPTIONS = { session_id: "session-1" };

export function hooksContract({ it, expect }: Suite, harness: ProviderHarness): void {
  it("takes finished turns with and without their messages", async (test) => {
    const { provider } = await start(test, harness);
    await provider.syncTurn?.("How hot is the kiln?", "1240 degrees.", OPTIONS);
    await provider.syncTurn?.("And which glaze is it?", "Celadon.", { ...OPTIONS, messages: MESSAGES });
    await provider.syncTurn?.("hm", "", { session_id: "" });
    for (let at = 0; at < HOSTILE_TEXTS.length; at += 2)
      await provider.syncTurn?.(HOSTILE_TEXTS[at] ?? "", HOSTILE_TEXTS[at + 1] ?? "", OPTIONS);
    await provider.syncTurn?.(HUGE_TEXT, HUGE_TEXT, OPTIONS);
  });

  it("takes every kind of memory write, whatever is known about it", async (test) => {
    const { provider } = await start(test, harness);
    for (const target of ["memory", "user"] as const) {
      await provider.onMemoryWrite?.("add", target, `Fires the kiln (${target})`, {});
      await provider.onMemoryWrite?.("add", target, `Fires the kiln (${target})`, FULL_METADATA);
      const known = { ...FULL_METADATA, old_text: "kiln" };
      await provider.onMemoryWrite?.("replace", target, `Fires two kilns (${target})`, known);
      await provider.onMemoryWrite?.("remove", target, "", { ...FULL_METADATA, old_text: "two kilns" });
      await provider.onMemoryWrite?.("replace", target, "Nobody knows what this replaces", {});
      await provider.onMemoryWrite?.("remove", target, "", { old_text: "what was never there" });
      await provider.onMemoryWrite?.("remove", target, "", {});
    }
    for (const text of HOSTILE_TEXTS) await provider.onMemoryWrite?.("add", "memory", text, {});
    await provider.onMemoryWrite?.("add", "memory", HUGE_TEXT, FULL_METADATA);
  });

  it("takes turn starts with all that is known and with nothing", async (test) => {
    const { provider } = await start(test, harness);
    const all = { remaining_tokens: 1000, model: "m", platform: "cli", tool_count: 3 };
    await provider.onTurnStart?.(1, "How hot is the kiln?", all);
    await provider.onTurnStart?.(2, "", {});
    await provider.onTurnStart?.(1_000_000, HUGE_TEXT, {});
  });

  it("takes what a subagent did", async (test) => {
    const { provider } = await start(test, harness);
    await provider.onDelegation?.("Find the glaze", "It is celadon.", { child_session_id: "child-1" });
    await provider.onDelegation?.("", "", { child_session_id: "" });
  });

  it("answers with a text when messages are about to be summarised", async (test) => {
    const { provider } = await start(test, harness);
    expect(typeof ((await provider.onPreCompress?.(MESSAGES, {})) ?? "")).toBe("string");
    expect(typeof ((await provider.onPreCompress?.([], {})) ?? "")).toBe("string");
  });

  it("takes every way a session can change", async (test) => {
    const { provider } = await start(test, harness);
    const parent = { parent_session_id: "session-1" };
    await provider.onSessionSwitch?.("session-2", { ...parent, reset: true, reason: "new_session" });
    await provider.onSessionSwitch?.("session-1", { ...parent, reset: false, reason: "resume" });
    await provider.onSessionSwitch?.("session-3", { ...parent, reset: false, reason: "branch" });
    await provider.onSessionSwitch?.("session-4", { ...parent, reset: false, reason: "compression" });
    await provider.onSessionSwitch?.("session-4", { parent_session_id: "", reset: false, rewound: true });
    expect(typeof ((await provider.prefetch?.("how hot is the kiln?", OPTIONS)) ?? "")).toBe("string");
  });

  it("takes the end of a conversation, with list contents and without any", async (test) => {
    const { provider } = await start(test, harness);
    await provider.onSessionEnd?.([], {});
    await provider.onSessionEnd?.(MESSAGES, {});
  });

  for (const agent of ["subagent", "cron", "flush"] as const) {
    it(`keeps nothing of what an agent in the context '${agent}' does`, async (test) => {
      const { provider, home } = await start(test, harness);
      await close(provider);
      const before = harness.stored(home);
      const { provider: other } = await start(test, harness, { home, agent_context: agent });
      await tellEverything(other);
      await close(other);
      expect(harness.stored(home)).toEqual(before);
    });
  }
}

async function tellEverything(provider: MemoryProvider): Promise<void> {
  await provider.syncTurn?.("I prefer stoneware over porcelain", "Noted.", OPTIONS);
  await provider.onMemoryWrite?.("add", "user", "Prefers stoneware", FULL_METADATA);
  await provider.onDelegation?.("Find the glaze", "It is celadon.", { child_session_id: "child-1" });
  await provider.onPreCompress?.(MESSAGES, {});
  await provider.onSessionEnd?.(MESSAGES, {});
}
