// Marks where a model's prompt cache may end: behind the system prompt, and behind the newest messages, so that the next
// request finds everything up to the last one in the cache. Only what gets a marker is copied.
import { type ContextMessage, isRecord } from "../message.ts";

export type CachingOptions = {
  /** How long the provider keeps the prefix. Default `5m`. */
  readonly ttl?: "5m" | "1h";
  /** Anthropic's own wire, where tool results can carry a marker. */
  readonly native?: boolean;
};

type Marker = { readonly type: "ephemeral"; readonly ttl?: "1h" };

/** What Anthropic accepts in one request. */
const MOST_MARKERS = 4;

/** A list of the same length; the input stays as it is. A marker that the caller put elsewhere stays too, and is not counted. */
export function applyPromptCaching(
  messages: readonly ContextMessage[],
  { ttl = "5m", native = false }: CachingOptions = {},
): ContextMessage[] {
  const marker: Marker = ttl === "1h" ? { type: "ephemeral", ttl } : { type: "ephemeral" };
  const marked = [...messages];
  let left = MOST_MARKERS;
  const mark = (index: number): void => {
    const message = marked[index];
    const next = message && withMarker(message, marker, native);
    if (!next) return; // it cannot carry one, so it costs no slot
    marked[index] = next;
    left -= 1;
  };
  if (marked[0]?.role === "system") mark(0);
  for (let index = marked.length - 1; index >= 0 && left > 0; index -= 1)
    if (marked[index]?.role !== "system") mark(index);
  return marked;
}

/** Parts that come back to the model exactly as it sent them. */
const THOUGHTS = ["thinking", "redacted_thinking"];

/** Undefined when there is no place for a marker. */
function withMarker(message: ContextMessage, marker: Marker, native: boolean): ContextMessage | undefined {
  const { role, content } = message;
  if (role === "tool") return native ? { ...message, cache_control: marker } : undefined;
  if (content === null || content === undefined || content === "")
    return { ...message, cache_control: marker };
  if (typeof content === "string")
    return { ...message, content: [{ type: "text", text: content, cache_control: marker }] };
  if (!Array.isArray(content)) return undefined;
  const last: unknown = content.at(-1);
  if (!isRecord(last) || THOUGHTS.includes(String(last.type))) return undefined;
  return { ...message, content: [...content.slice(0, -1), { ...last, cache_control: marker }] };
}
