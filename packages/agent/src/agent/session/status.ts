// Where a conversation stands: room, memory, use, cost.
import { percentOf } from "@hermes-memory/core/lib";
import type { AgentCore } from "../core.ts";
import type { AgentStatus } from "../surface.ts";
import { requestTokens } from "./compaction.ts";

const BUILTIN = "builtin";

export async function agentStatus(core: AgentCore): Promise<AgentStatus> {
  const { engine, totals, memory, manager, transcript, store } = core.parts;
  const { model, provider } = core.model.identity;
  const { ttl } = core;
  const used = engine.lastPromptTokens > 0 ? engine.lastPromptTokens : requestTokens(core);
  const usageOf = (target: "memory" | "user") => {
    if (memory === undefined || !memory.isEnabled(target)) return null;
    const { used: chars, limit } = memory.usage(target);
    return { used: chars, limit };
  };
  return {
    session_id: core.sessionId,
    title: core.queuedTitle ?? (await store?.getSessionTitle(core.sessionId).catch(() => null)) ?? null,
    model,
    provider,
    // Counted with the first turn; before that, of a resumed session, by its messages.
    turns: core.turns || transcript.messages.filter(({ role }) => role === "user").length,
    messages: transcript.messages.length,
    context: {
      used_tokens: used,
      limit_tokens: core.window.tokens,
      percent: percentOf(used, core.window.tokens),
      threshold_tokens: engine.thresholdTokens,
      engine: engine.name,
      compactions: engine.compressionCount,
    },
    memory: {
      memory: usageOf("memory"),
      user: usageOf("user"),
      provider: manager?.providers.map(({ name }) => name).find((name) => name !== BUILTIN) ?? null,
    },
    usage: totals.usage,
    api_calls: totals.apiCalls,
    cost_usd: totals.costUsd,
    caching: { enabled: core.caching.enabled, ttl },
    savings: await totals.savings(core.model.identity, ttl),
  };
}
