// /usage, /status, /prompt: where the conversation stands and what it has cost.
import { estimateText } from "@hermes-memory/core/context";
import { codePointLength, groupThousands, percentOf } from "@hermes-memory/core/lib";
import { promptHash } from "@hermes-memory/core/prompt";
import { type CacheSavings, promptTokens, totalTokens } from "../../models/index.ts";
import type { AgentStatus } from "../surface.ts";
import type { SlashCommand } from "./command.ts";
import { counted, money, row } from "./format.ts";
import { windowText } from "./model.ts";
import { told, wrongUsage } from "./reply.ts";

export const usageCommand: SlashCommand = {
  name: "usage",
  group: "model",
  summary: "show tokens, cost, cache savings and how full the context is",
  usage: "",
  async run({ agent, args }) {
    if (args !== "") return wrongUsage(usageCommand);
    const status = await agent.status();
    const { usage, api_calls, cost_usd, caching, savings, context } = status;
    const count = groupThousands;
    const parts = [
      `${count(usage.input)} sent`,
      `${count(usage.cacheRead)} read from cache`,
      `${count(usage.cacheWrite)} written to cache`,
    ];
    const thoughts = usage.reasoning === 0 ? "" : `, ${count(usage.reasoning)} of them reasoning`;
    return told(
      [
        row("Calls", count(api_calls)),
        row("Prompt", `${counted(promptTokens(usage), "token")}: ${parts.join(", ")}`),
        row("Replies", `${counted(usage.output, "token")}${thoughts}`),
        row("Total", counted(totalTokens(usage), "token")),
        row("Cost", costText(status)),
        row("Caching", `${cachingText(caching)}${savings === null ? "" : `; ${savingsText(savings)}`}`),
        row("Context", contextText(status)),
      ],
      {
        usage: {
          input_tokens: usage.input,
          cache_read_tokens: usage.cacheRead,
          cache_write_tokens: usage.cacheWrite,
          output_tokens: usage.output,
          reasoning_tokens: usage.reasoning,
        },
        api_calls,
        cost_usd,
        caching,
        savings: savings && { hit_rate: savings.hitRate, saved_usd: savings.saved },
        context,
      },
    );
  },
};

export const statusCommand: SlashCommand = {
  name: "status",
  group: "session",
  summary: "show session, model, context and memory at a glance",
  usage: "",
  async run({ agent, args }) {
    if (args !== "") return wrongUsage(statusCommand);
    const status = await agent.status();
    const { session_id, title, turns, messages, model, provider, caching } = status;
    const name = title === null ? "" : `  ${title}`;
    return told(
      [
        row("Session", `${session_id}${name}`),
        row("Talk", `${counted(turns, "turn")}, ${counted(messages, "message")}`),
        row("Model", `${model} (${provider}), window ${windowText(agent.window)}`),
        row("Context", contextText(status)),
        row("Memory", memoryText(status)),
        row("Caching", cachingText(caching)),
        row("Cost", costText(status)),
        ...(agent.store === undefined ? [row("Database", "not available: nothing is stored")] : []),
        ...(agent.isRunning ? ["A turn is running."] : []),
      ],
      { ...status, window: { tokens: agent.window.tokens, source: agent.window.source } },
    );
  },
};

export const promptCommand: SlashCommand = {
  name: "prompt",
  group: "model",
  summary: "show how large the system prompt of this session is, and its hash",
  usage: "",
  run({ agent, args }) {
    if (args !== "") return wrongUsage(promptCommand);
    const { systemPrompt: text } = agent;
    if (text === undefined)
      return told(["The system prompt is made with the first message."], { system_prompt: null });
    const size = {
      chars: codePointLength(text),
      bytes: Buffer.byteLength(text),
      tokens: estimateText(text),
      hash: promptHash(text),
    };
    return told(
      [
        row("Size", `${groupThousands(size.chars)} characters, about ${counted(size.tokens, "token")}`),
        row("Hash", size.hash),
        "It stays as it is until compaction, another model or a new session. 'hermes prompt-size' shows its parts.",
      ],
      { system_prompt: size },
    );
  },
};

function contextText({ context }: AgentStatus): string {
  const { used_tokens, limit_tokens, percent, threshold_tokens, engine, compactions } = context;
  const done = compactions === 0 ? "" : `, compacted ${counted(compactions, "time")}`;
  return `${groupThousands(used_tokens)} of ${groupThousands(limit_tokens)} tokens (${Math.round(percent)}%), compacts at ${groupThousands(threshold_tokens)} (${engine})${done}`;
}

function memoryText({ memory }: AgentStatus): string {
  const parts = (["memory", "user"] as const).map((target) => {
    const budget = memory[target];
    return budget === null ? `${target} off` : `${target} ${percentOf(budget.used, budget.limit)}%`;
  });
  return [...parts, ...(memory.provider === null ? [] : [`provider ${memory.provider}`])].join(", ");
}

function costText({ cost_usd, api_calls }: AgentStatus): string {
  if (api_calls === 0) return "nothing yet";
  if (cost_usd === null) return "unknown: there are no prices for this model";
  return cost_usd === 0 ? "nothing: the model runs on a server of your own" : `about ${money(cost_usd)}`;
}

function cachingText({ enabled, ttl }: AgentStatus["caching"]): string {
  return enabled ? `on, kept ${ttl}` : "off";
}

function savingsText({ hitRate, saved }: CacheSavings): string {
  const rate = `${Math.round(hitRate * 100)}% of the prompt came from it`;
  return saved < 0 ? `${rate}, ${money(-saved)} more than without` : `${rate}, ${money(saved)} saved`;
}
