// Whether a model takes cache markers, and in which layout. First match of the table wins.

export type CachingPolicy =
  | { readonly enabled: false }
  | { readonly enabled: true; readonly native: boolean };

export type Endpoint = {
  /** `anthropic_messages`, `chat_completions`, `responses`, ... */
  readonly apiMode: string;
  readonly provider: string;
  readonly baseUrl: string;
  readonly model: string;
};

const OFF: CachingPolicy = { enabled: false };
const NATIVE: CachingPolicy = { enabled: true, native: true };
const ENVELOPE: CachingPolicy = { enabled: true, native: false };

const MINIMAX_PROVIDERS = ["minimax", "minimax-cn"];
const MINIMAX_HOSTS = ["api.minimax.io", "api.minimaxi.com"];
const QWEN_PROVIDERS = ["opencode", "opencode-zen", "opencode-go", "alibaba"];

export function cachingPolicy(endpoint: Endpoint): CachingPolicy {
  const provider = endpoint.provider
    .trim()
    .toLowerCase()
    .replace(/^custom:/, ""); // an entry of the user's own, by its name
  const model = endpoint.model.toLowerCase();
  const address = endpoint.baseUrl.toLowerCase();
  const host = hostOf(address);
  const isAnthropicWire = endpoint.apiMode === "anthropic_messages";
  const isClaude = model.includes("claude");
  const isQwen = model.includes("qwen");
  const isNous = address.includes("nousresearch");

  if (isAnthropicWire && (provider === "anthropic" || host === "api.anthropic.com")) return NATIVE;
  if ((isHostOrBelow(host, "openrouter.ai") || isNous) && isClaude) return ENVELOPE;
  if (isNous && isQwen) return ENVELOPE;
  if (isAnthropicWire && isClaude) return NATIVE;
  if (isAnthropicWire && (MINIMAX_PROVIDERS.includes(provider) || MINIMAX_HOSTS.includes(host)))
    return NATIVE;
  if (QWEN_PROVIDERS.includes(provider) && isQwen) return ENVELOPE;
  return OFF;
}

/** Config `prompt_caching.cache_ttl`; anything unknown means the short one. */
export function cacheTtl(configured: unknown): "5m" | "1h" {
  return configured === "1h" ? "1h" : "5m";
}

function hostOf(address: string): string {
  try {
    return new URL(address.includes("://") ? address : `https://${address}`).hostname;
  } catch {
    return "";
  }
}

function isHostOrBelow(host: string, domain: string): boolean {
  return host === domain || host.endsWith(`.${domain}`);
}
