// The start line and the status line.
import type { AgentStatus } from "@hermes-memory/agent/agent";
import type { ContextWindow, ModelIdentity } from "@hermes-memory/agent/models";
import { groupThousands, percentOf } from "@hermes-memory/core/lib";
import { counted, oneLine } from "../printing.ts";

export type StartFacts = {
  readonly sessionId: string;
  readonly model: ModelIdentity;
  readonly window: ContextWindow;
  readonly caching: AgentStatus["caching"];
  /** Of a session that existed before. */
  readonly resumed: { readonly title: string | null; readonly messages: number } | undefined;
};

const NAME_CHARS = 100;
const SEPARATOR = " · ";

export function startLines({ sessionId, model, window, caching, resumed }: StartFacts): string[] {
  const about = resumed && [
    ...(resumed.title === null ? [] : [`'${oneLine(resumed.title, NAME_CHARS)}'`]),
    counted(resumed.messages, "message"),
  ];
  return [
    [
      `${oneLine(model.model, NAME_CHARS)} (${oneLine(model.provider)})`,
      `context ${groupThousands(window.tokens)} tokens (${windowSource(window)})`,
      cachingText(model, caching),
    ].join(SEPARATOR),
    `session ${oneLine(sessionId)}${about ? `, resumed: ${about.join(", ")}` : ""}`,
  ];
}

/** Some vendors cache by themselves, without being asked. */
function cachingText({ provider }: ModelIdentity, { enabled, ttl }: AgentStatus["caching"]): string {
  if (enabled) return `prompt caching on, ttl ${ttl}`;
  return ["openai", "google"].includes(provider) ? "prompt caching by the vendor" : "prompt caching off";
}

/** One line: how full context and memory are, what it has cost, what the cache was worth. */
export function statusLine({ context, memory, cost_usd: cost, savings }: AgentStatus): string {
  const used = context.used_tokens;
  return [
    `context ${groupThousands(used)}/${groupThousands(context.limit_tokens)} (${percent(used, context.limit_tokens)})`,
    ...(memory.memory ? [`memory ${percent(memory.memory.used, memory.memory.limit)}`] : []),
    ...(memory.user ? [`user profile ${percent(memory.user.used, memory.user.limit)}`] : []),
    ...(cost === null || cost === 0 ? [] : [dollars(cost)]),
    ...(savings === null ? [] : [savingsText(savings)]),
  ].join(SEPARATOR);
}

function savingsText({ saved, hitRate }: NonNullable<AgentStatus["savings"]>): string {
  const read = `${Math.round(hitRate * 100)}% read from it`;
  return saved < 0
    ? `cache cost ${dollars(-saved)} so far, ${read}`
    : `cache saved ${dollars(saved)}, ${read}`;
}

/** Small sums are the rule here: four places below a dollar. */
function dollars(amount: number): string {
  return `$${amount.toFixed(amount >= 1 ? 2 : 4)}`;
}

function percent(used: number, limit: number): string {
  return `${percentOf(used, limit)}%`;
}

function windowSource({ source, server, isProvisional }: ContextWindow): string {
  if (isProvisional) return "the model's maximum; its server may serve less";
  switch (source) {
    case "config":
      return "from config.yaml";
    case "custom_provider":
      return "from custom_providers in config.yaml";
    case "server":
      return server === undefined ? "told by the server" : `told by the ${server} server`;
    case "cache":
      return "told by the server earlier";
    case "table":
      return "known for this model";
    case "catalogue":
      return "from the catalogue of models";
    case "default":
      return "assumed; set model.context_length if you know it";
    default:
      return source satisfies never;
  }
}
