// A staged tidying step as it comes back from its file.
import type { MemoryCuration } from "../types.ts";

/** Undefined for anything that is none. Half of one would remove without putting in place, so nothing is guessed. */
export function readCuration(value: unknown): MemoryCuration | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { remove, text, keep, archive } = value as Record<string, unknown>;
  if (!isTexts(remove) || !(text === undefined || typeof text === "string")) return undefined;
  if (!(keep === undefined || isTexts(keep)) || !(archive === undefined || typeof archive === "boolean"))
    return undefined;
  return {
    remove,
    ...(text === undefined ? {} : { text }),
    ...(keep === undefined ? {} : { keep }),
    ...(archive === undefined ? {} : { isArchived: archive }),
  };
}

/** As it is written. */
export function curationJson({ remove, text, keep, isArchived }: MemoryCuration): Record<string, unknown> {
  return { remove, text, keep, archive: isArchived };
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
