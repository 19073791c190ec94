import { codePointLength, takeCodePoints } from "../../lib/index.ts";

// How much of a provider reaches the model: both ways, recall only, or tools only.
export type ProviderMode = "hybrid" | "context" | "tools";

export const PROVIDER_MODES: readonly ProviderMode[] = ["hybrid", "context", "tools"];

/** Anything unknown means `hybrid`. */
export function parseMode(value: unknown): ProviderMode {
  const word = typeof value === "string" ? value.trim().toLowerCase() : value;
  return PROVIDER_MODES.find((mode) => mode === word) ?? "hybrid";
}

export function hasContext(mode: ProviderMode): boolean {
  return mode !== "tools";
}

export function hasTools(mode: ProviderMode): boolean {
  return mode !== "context";
}

/** One sentence for the system prompt block: how recall arrives in this mode. */
export function modeSentence(mode: ProviderMode): string {
  switch (mode) {
    case "hybrid":
      return "Relevant memories are added to a turn by themselves; use the tools to look further or to store.";
    case "context":
      return "Relevant memories are added to a turn by themselves; there are no tools for it.";
    case "tools":
      return "Nothing is added by itself: look things up and store them with the tools.";
    default:
      return mode satisfies never;
  }
}

// ----
// Keeping a text within its share of the prompt.

/** Characters one token stands for. */
const CHARS_PER_TOKEN = 4;

const ELLIPSIS = " …";
/** A word is cut rather than losing more than this share of the room. */
const LEAST_KEPT = 0.8;

/** At most `limit` code points, mark included; cut at a blank where that does not cost too much. 0: nothing at all. */
export function fitChars(text: string, limit: number): string {
  const maxChars = Math.floor(limit);
  if (!(maxChars > 0)) return "";
  // Beyond two units for each character it cannot fit, and a flood need not be counted.
  if (text.length <= maxChars || (text.length <= 2 * maxChars && codePointLength(text) <= maxChars))
    return text;
  const room = maxChars - ELLIPSIS.length;
  if (room <= 0) return takeCodePoints(text, maxChars);
  const head = takeCodePoints(text, room);
  const blank = head.lastIndexOf(" ");
  return (blank > head.length * LEAST_KEPT ? head.slice(0, blank) : head) + ELLIPSIS;
}

export function fitTokens(text: string, maxTokens: number): string {
  return fitChars(text, maxTokens * CHARS_PER_TOKEN);
}
