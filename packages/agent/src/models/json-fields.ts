// Reading fields of JSON that a server sent, of which nothing is known yet.
import { isRecord } from "@hermes-memory/core/internal/lib";

/** An empty record for anything that is not an object. */
export function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

/** An empty list for anything that is not a list. */
export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Undefined for anything that is not a text, and for an empty one. */
export function someText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

const LEAST_WINDOW = 1_024;
const MOST_WINDOW = 10_000_000;

/** Whether a number can be the context window of a model, in tokens. */
export function isPlausibleWindow(value: unknown): value is number {
  return (
    typeof value === "number" && Number.isSafeInteger(value) && value >= LEAST_WINDOW && value <= MOST_WINDOW
  );
}
