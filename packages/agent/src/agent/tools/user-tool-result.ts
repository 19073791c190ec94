// What a tool of the AI SDK returned, as the text a model reads.
import { errorOutcome, type ToolOutcome } from "@hermes-memory/core/tools";

/** Of `toModelOutput`. */
export type ModelOutput = { readonly type: string; readonly value?: unknown; readonly reason?: unknown };

/** `shaped` counts where there is one. Throws for what no JSON can hold. */
export function asOutcome(shaped: ModelOutput | undefined, output: unknown): ToolOutcome {
  switch (shaped?.type) {
    case "text":
    case "json":
      return { text: asText(shaped.value) };
    case "error-text":
    case "error-json":
      return { text: asText(shaped.value), isError: true };
    case "execution-denied":
      return errorOutcome(
        typeof shaped.reason === "string" ? shaped.reason : "The tool was not allowed to run.",
      );
    case "content":
      return { text: (Array.isArray(shaped.value) ? shaped.value : []).map(partText).join("\n") };
    default:
      return { text: asText(output) };
  }
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "null");
}

/** Pictures and files have no place in a tool result of ours; that there was one has. */
function partText(part: unknown): string {
  if (typeof part !== "object" || part === null) return "";
  if ("text" in part && typeof part.text === "string") return part.text;
  const kind = "mediaType" in part ? part.mediaType : "type" in part ? part.type : "something";
  return `[${String(kind)}: not shown]`;
}
