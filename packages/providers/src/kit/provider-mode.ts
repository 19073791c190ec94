// How much of a bundled provider reaches the model: its mode (recall, tools or both), and texts cut to a number of characters.
import { codePointLength, takeCodePoints } from "@hermes-memory/core/internal/lib";

export type ProviderMode = "hybrid" | "context" | "tools";

export const PROVIDER_MODES: readonly ProviderMode[] = ["hybrid", "context", "tools"];

/** An unknown value means `hybrid`. */
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

/** One sentence for the system prompt about recall in this mode. */
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

// ---- Cutting texts ----

/** Average number of characters in a token. */
const CHARS_PER_TOKEN = 4;

const ELLIPSIS = " …";
/** The cut is moved back to a blank only if at least this share of the limit is kept. */
const MIN_KEPT = 0.8;

/** At most `limit` code points, the ellipsis included; cut at a blank if that loses less than a fifth. "" for a limit of 0. */
export function fitChars(text: string, limit: number): string {
  const maxChars = Math.floor(limit);
  if (!(maxChars > 0)) return "";
  // A text of more than two UTF-16 units per allowed code point cannot fit, so its code points need not be counted.
  if (text.length <= maxChars || (text.length <= 2 * maxChars && codePointLength(text) <= maxChars))
    return text;
  const room = maxChars - ELLIPSIS.length;
  if (room <= 0) return takeCodePoints(text, maxChars);
  const head = takeCodePoints(text, room);
  const blank = head.lastIndexOf(" ");
  return (blank > head.length * MIN_KEPT ? head.slice(0, blank) : head) + ELLIPSIS;
}

export function fitTokens(text: string, maxTokens: number): string {
  return fitChars(text, maxTokens * CHARS_PER_TOKEN);
}
