// Values of outside JSON, read without trusting their types.
import { isRecord } from "@hermes-memory/core/internal/lib";
import type { Reading } from "../reader.ts";

export type Json = Record<string, unknown>;

/** The words of a text, for lists of names in another product's files. */
export function names(text: string): ReadonlySet<unknown> {
  return new Set(text.trim().split(/\s+/));
}

export function recordOf(value: unknown): Json | undefined {
  return isRecord(value) ? value : undefined;
}

/** Empty for anything that is no list. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The objects of a list, without its other items. */
export function recordsOf(value: unknown): Json[] {
  return listOf(value).filter(isRecord);
}

/** The objects of a list with their numbers, counted from 1. Other items are reported. */
export function* numbered(
  value: unknown,
  { malformed }: Pick<Reading, "malformed">,
): Generator<{ readonly line: number; readonly value: Json }> {
  for (const [index, item] of listOf(value).entries())
    if (isRecord(item)) yield { line: index + 1, value: item };
    else malformed(index + 1, "not a JSON object");
}

/** Undefined for anything that is no text, and for empty text. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** A finite number, also when it is written as text. */
export function numberOf(value: unknown): number | undefined {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}

const MILLISECONDS_FROM = 1e11;
const MICROSECONDS_FROM = 1e14;
const NANOSECONDS_FROM = 1e17;

/** Seconds since 1970 from ISO 8601 text or a number in seconds, milliseconds, microseconds or nanoseconds. */
export function timeOf(value: unknown): number | undefined {
  if (typeof value === "string" && Number.isNaN(Number(value))) {
    const parsed = Date.parse(value);
    return Number.isNaN(parsed) ? undefined : parsed / 1000;
  }
  const number = numberOf(value);
  if (number === undefined || number <= 0) return undefined;
  if (number >= NANOSECONDS_FROM) return number / 1e9;
  if (number >= MICROSECONDS_FROM) return number / 1e6;
  return number > MILLISECONDS_FROM ? number / 1000 : number;
}

/** The same where a time without a zone, as SQLite writes it, is in UTC. */
export function utcTimeOf(value: unknown): number | undefined {
  const isBare = typeof value === "string" && /^\d{4}-\d\d-\d\d[ T][\d:.]+$/.test(value);
  return timeOf(isBare ? `${value.replace(" ", "T")}Z` : value);
}

/** Parsed JSON, or undefined. */
export function jsonOf(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return parsedJson(text);
  } catch {
    return undefined;
  }
}

const MAX_DEPTH = 500;

/** Throws for values nested so deeply that writing them as JSON again, or any other recursion over them, would overflow the stack. */
export function parsedJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  // Each level takes two characters at least.
  if (text.length > 2 * MAX_DEPTH && isDeeper(value, MAX_DEPTH)) throw new Error("nested too deeply");
  return value;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((item) => isDeeper(item, levels - 1));
}
