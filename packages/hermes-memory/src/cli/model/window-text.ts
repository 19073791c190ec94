// Context window and prompt caching of a model, in words and for programs.

import type { ContextWindow, ModelIdentity } from "@hermes-memory/agent/models";
import { type CachingPolicy, cachingPolicy } from "@hermes-memory/core/context";
import { groupThousands } from "@hermes-memory/core/lib";

export function windowText(window: ContextWindow): string {
  return `${groupThousands(window.tokens)} tokens, ${sourceText(window)}`;
}

export function windowJson({ tokens, source, server, isProvisional }: ContextWindow): object {
  return { tokens, source, server: server ?? null, provisional: isProvisional };
}

export function cachingText(identity: ModelIdentity, ttl: string): string {
  const policy = cachingPolicy(identity);
  if (!policy.enabled) return "not by markers; a server may still cache on its own";
  return `on, ${layoutOf(policy)} layout, kept ${ttl}`;
}

export function cachingJson(identity: ModelIdentity, ttl: string): object {
  const policy = cachingPolicy(identity);
  return { enabled: policy.enabled, layout: policy.enabled ? layoutOf(policy) : null, ttl };
}

function layoutOf(policy: Extract<CachingPolicy, { enabled: true }>): string {
  return policy.native ? "native" : "envelope";
}

function sourceText({ source, server, isProvisional }: ContextWindow): string {
  switch (source) {
    case "config":
      return "set in config.yaml (model.context_length)";
    case "custom_provider":
      return "set in config.yaml (custom_providers)";
    case "server":
      return isProvisional ? `the most that ${server} could serve` : `served by ${server}`;
    case "cache":
      return "told earlier by the server (context_length_cache.yaml)";
    case "table":
    case "catalogue":
      return "known of this model";
    case "default":
      return "assumed: nothing is known of this model";
    default:
      return source satisfies never;
  }
}
