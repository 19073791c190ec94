// The slash commands about the model and its costs: /model, /provider, /usage, /status, /prompt. None of them shows or takes an API key.
import { parseArgs } from "node:util";
import { estimateText } from "@hermes-memory/core/internal/context";
import { codePointLength, groupThousands, percentOf } from "@hermes-memory/core/internal/lib";
import { promptHash } from "@hermes-memory/core/internal/prompt";
import {
  type CacheSavings,
  type ContextWindow,
  type ModelIdentity,
  promptTokens,
  safeAddress,
  totalTokens,
  type WindowSource,
} from "../../models/index.ts";
import type { AgentSurface } from "../agent.ts";
import type { AgentStatus } from "../surface.ts";
import { counted, failed, money, problemReply, row, type SlashCommand, told } from "./command.ts";

const modelCommand: SlashCommand = {
  name: "model",
  group: "model",
  summary: "show the model, or go on with another one",
  usage: "[--provider name] [--base-url address] [model]",
  words: ["--provider", "--base-url"],
  needsIdle: "with_arguments",
  async run({ agent, args }) {
    if (args === "") return told(modelLines(agent), modelJson(agent));
    const options = readOptions(args);
    if (options === undefined)
      return failed(
        "usage",
        "An option cannot be used here, or lacks its value.",
        "Usage: /model [--provider name] [--base-url address] [model]. Keys are set with 'hermes setup'.",
      );
    const { provider, "base-url": baseUrl } = options.values;
    const [model, ...more] = options.positionals;
    if (more.length > 0) return undefined;
    const outcome = await agent.switchModel({ model, provider, baseUrl });
    if (!outcome.ok) return problemReply(outcome.error);
    return told(
      [
        `Now with ${outcome.value.model} (${outcome.value.provider}, ${addressText(outcome.value.baseUrl)}), from here on in this chat.`,
        "'hermes model set' makes it the model of every new one.",
      ],
      modelJson(agent, outcome.value),
    );
  },
};

const providerCommand: SlashCommand = {
  name: "provider",
  group: "model",
  summary: "show who serves the model, and which external memory is in use",
  usage: "",
  async run({ agent }) {
    const { memory } = await agent.status();
    const { provider, apiMode, baseUrl } = agent.model;
    const json = { model_provider: provider, api_mode: apiMode, base_url: safeAddress(baseUrl) };
    return told(
      [
        row("Model", `${provider}, ${apiMode}, ${addressText(baseUrl)}`),
        row("Memory", memory.provider ?? "built-in files only; 'hermes memory setup' adds a provider"),
      ],
      { ...json, memory_provider: memory.provider },
    );
  },
};

/** The window and the source of the figure. */
function windowText({ tokens, source, server, isProvisional }: ContextWindow): string {
  const from =
    source === "server" && server !== undefined ? `told by the server, ${server}` : SOURCES[source];
  return `${groupThousands(tokens)} tokens (${from}${isProvisional ? ", may change" : ""})`;
}

const SOURCES: Readonly<Record<WindowSource, string>> = {
  option: "given by the program",
  config: "from config",
  custom_provider: "from config",
  server: "told by the server",
  cache: "seen before",
  table: "known for this model",
  catalogue: "known for this model",
  default: "a guess: this model is unknown",
};

/** The model's name may stand before or after the options. The typed values are never shown: one may be an API key. */
function readOptions(args: string) {
  try {
    return parseArgs({
      args: args.split(/\s+/),
      options: { provider: { type: "string" }, "base-url": { type: "string" } },
      allowPositionals: true,
    });
  } catch {
    return undefined;
  }
}

function modelLines(agent: AgentSurface): string[] {
  const { model, provider, apiMode, baseUrl } = agent.model;
  return [
    row("Model", model),
    row("Provider", `${provider}, ${apiMode}, ${addressText(baseUrl)}`),
    row("Window", windowText(agent.window)),
    "'/model <name>' goes on with another one; 'hermes model list' shows what there is.",
  ];
}

function modelJson(agent: AgentSurface, identity: ModelIdentity = agent.model): object {
  const { model, provider, apiMode, baseUrl } = identity;
  return {
    model,
    provider,
    api_mode: apiMode,
    base_url: safeAddress(baseUrl),
    context_length: agent.window.tokens,
    context_source: agent.window.source,
  };
}

function addressText(baseUrl: string): string {
  return baseUrl === "" ? "the vendor's own address" : safeAddress(baseUrl);
}

// /usage, /status, /prompt

const usageCommand: SlashCommand = {
  name: "usage",
  group: "model",
  summary: "show tokens, cost, cache savings and how full the context is",
  usage: "",
  async run({ agent }) {
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

const statusCommand: SlashCommand = {
  name: "status",
  group: "session",
  summary: "show session, model, context and memory at a glance",
  usage: "",
  async run({ agent }) {
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

const promptCommand: SlashCommand = {
  name: "prompt",
  group: "model",
  summary: "show how large the system prompt of this session is, and its hash",
  usage: "",
  run({ agent }) {
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
        "It does not change until compaction, another model or a new session. 'hermes prompt-size' shows its parts.",
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

export const MODEL_COMMANDS: readonly SlashCommand[] = [
  statusCommand,
  modelCommand,
  providerCommand,
  usageCommand,
  promptCommand,
];
