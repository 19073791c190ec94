// Reading answers of a server, which may hold anything: every reader returns a usable value for every input. And texts on their way to it.
import { isRecord, pyStrip } from "@hermes-memory/core/internal/lib";
import { sanitizeContext } from "@hermes-memory/core/internal/security";

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

// ---- How an answer is recognised, for `shape` of a call ----

type Shape = (answer: unknown) => boolean;

export const isListOfRecords: Shape = (value) => Array.isArray(value) && value.every(isRecord);

/** An object whose field is a list of objects. */
export function hasList(key: string): Shape {
  return (answer) => isListOfRecords(fieldsOf(answer)[key]);
}

/** An object whose field is a text that is not empty. */
export function hasText(key: string): Shape {
  return (answer) => textIn(fieldsOf(answer)[key]) !== "";
}

// ---- On their way ----

/** Without fences and blanks at the ends, without half characters, which no JSON body can carry, and without NUL, which databases refuse. */
export function outgoing(text: string): string {
  return pyStrip(sanitizeContext(text.toWellFormed().replaceAll("\0", "")));
}
