// Reading answers of a server, which may hold anything: every reader returns a usable value for every input.
import { isRecord } from "@hermes-memory/core/internal/lib";

export type Fields = Readonly<Record<string, unknown>>;

/** {} for anything that is not an object. */
export function fieldsOf(value: unknown): Fields {
  return isRecord(value) ? value : {};
}

/** The objects in a list; [] for anything else. */
export function recordsOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** "" for anything that is not a text. */
export function textIn(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Undefined for anything that is not a finite number. */
export function numberIn(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** The texts in a list. */
export function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}
