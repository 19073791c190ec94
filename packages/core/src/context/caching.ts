// Prompt caching: which models take cache markers, and where the markers go in a request.
import { isRecord } from "../lib/index.ts";
import {
  type Content,
  isMessage,
  type Message,
  type OpenAiMessage,
  type Part,
  roleOf,
} from "../message/index.ts";

// The first rule that matches decides.

/** Whether prompt caching is worth marking for an endpoint, and in which protocol. */
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

/** Decides by model, vendor and address whether `applyPromptCaching` should be used. */
export function cachingPolicy(endpoint: Endpoint): CachingPolicy {
  const provider = endpoint.provider
    .trim()
    .toLowerCase()
    .replace(/^custom:/, ""); // an entry the user added under this name
  const model = endpoint.model.toLowerCase();
  const address = endpoint.baseUrl.toLowerCase();
  const host = hostOf(address);
  const isAnthropicWire = endpoint.apiMode === "anthropic_messages";
  const isClaude = model.includes("claude");
  const isQwen = model.includes("qwen");
  const isNous = address.includes("nousresearch");

  if (isAnthropicWire && (provider === "anthropic" || host === "api.anthropic.com")) return NATIVE;
  if ((/(?:^|\.)openrouter\.ai$/.test(host) || isNous) && isClaude) return ENVELOPE;
  if (isNous && isQwen) return ENVELOPE;
  if (isAnthropicWire && isClaude) return NATIVE;
  if (isAnthropicWire && (MINIMAX_PROVIDERS.includes(provider) || MINIMAX_HOSTS.includes(host)))
    return NATIVE;
  if (QWEN_PROVIDERS.includes(provider) && isQwen) return ENVELOPE;
  return OFF;
}

/** Config `prompt_caching.cache_ttl`; an unknown value means `5m`. */
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

// Markers go behind the system prompt and behind the newest messages, so that the next request finds everything up to there in
// the cache. Only messages that get a marker are copied.

/** How long a vendor keeps the marked prefix, and which protocol the markers are for. */
export type CachingOptions = {
  /** How long the provider keeps the prefix. Default `5m`. */
  readonly ttl?: "5m" | "1h";
  /** True for Anthropic's own protocol, where tool results can carry a marker. */
  readonly native?: boolean;
};

type Marker = { readonly type: "ephemeral"; readonly ttl?: "1h" };

/** Anthropic accepts at most 4 markers in one request. */
const MOST_MARKERS = 4;

/**
 * Returns a list of the same length and kind; the input is not changed. The marker is `cache_control` in the vendor fields of a
 * message, or of its last part that has text: Anthropic refuses a marker on an empty text. Markers that the caller set elsewhere
 * stay and are not counted.
 */
export function applyPromptCaching(messages: readonly Message[], options?: CachingOptions): Message[];
export function applyPromptCaching(rows: readonly OpenAiMessage[], options?: CachingOptions): OpenAiMessage[];
export function applyPromptCaching(
  messages: readonly (Message | OpenAiMessage)[],
  { ttl = "5m", native = false }: CachingOptions = {},
): unknown[] {
  const cache_control: Marker = ttl === "1h" ? { type: "ephemeral", ttl } : { type: "ephemeral" };
  const marked = [...messages];
  let left = MOST_MARKERS;
  const mark = (index: number): void => {
    const message = marked[index];
    if (message === undefined || !isRecord(message)) return;
    const place = markerPlace(message, native);
    if (place === undefined) return; // it can carry no marker, so it uses none of the four
    marked[index] = isMessage(message)
      ? markMessage(message, place, cache_control)
      : markRow(message, place, cache_control);
    left -= 1;
  };
  if (roleAt(marked, 0) === "system") mark(0);
  for (let index = marked.length - 1; index >= 0 && left > 0; index -= 1)
    if (roleAt(marked, index) !== "system") mark(index);
  return marked;
}

/** Parts that must go back to the model exactly as it sent them. */
const REASONING_PARTS = ["thinking", "redacted_thinking"];

/** A number is the index of a part. */
type MarkerPlace = "message" | "text" | number;

/** Undefined when the message can carry no marker. */
function markerPlace(message: Message | OpenAiMessage, native: boolean): MarkerPlace | undefined {
  const content: unknown = message.content;
  if (isMessage(message) ? roleOf(message) === "tool" : message.role === "tool")
    return native ? "message" : undefined;
  if (content === null || content === undefined || content === "") return "message";
  if (typeof content === "string") return "text";
  if (!Array.isArray(content)) return undefined;
  const isOwn = isMessage(message);
  const wires = content.map((part: unknown) =>
    isOwn && isRecord(part) && part.type === "other" ? part.value : part,
  );
  const isEmptyText = (wire: unknown): boolean =>
    isRecord(wire) && wire.type === "text" && typeof wire.text === "string" && wire.text.trim() === "";
  const last = wires.findLastIndex((wire) => !isEmptyText(wire));
  const wire = wires[last];
  return isRecord(wire) && !REASONING_PARTS.includes(String(wire.type)) ? last : undefined;
}

function markMessage(message: Message, place: MarkerPlace, cache_control: Marker): Message {
  const { content, vendor } = message;
  if (place === "message" || content === null) return { ...message, vendor: { ...vendor, cache_control } };
  const marked: Content =
    typeof content === "string"
      ? [{ type: "text", text: content, vendor: { cache_control } }]
      : content.map((part, at) => (at === place ? markPart(part, cache_control) : part));
  return { ...message, content: marked };
}

function markPart(part: Part, cache_control: Marker): Part {
  if (part.type !== "other") return { ...part, vendor: { ...part.vendor, cache_control } };
  return isRecord(part.value) ? { ...part, value: { ...part.value, cache_control } } : part;
}

function markRow(row: OpenAiMessage, place: MarkerPlace, cache_control: Marker): OpenAiMessage {
  const { content } = row;
  if (place === "message") return { ...row, cache_control };
  const marked =
    typeof content === "string"
      ? [{ type: "text", text: content, cache_control }]
      : (content ?? []).map((part, at) => (at === place ? { ...part, cache_control } : part));
  return { ...row, content: marked as NonNullable<OpenAiMessage["content"]> };
}

function roleAt(messages: readonly (Message | OpenAiMessage)[], index: number): string | undefined {
  const message = messages[index];
  return isMessage(message) ? roleOf(message) : message?.role;
}
