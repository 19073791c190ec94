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
