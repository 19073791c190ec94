// Pieces the sections of the schema are made of. A key without a value counts as not set.
import * as z from "zod";
import { isApprovalOn, type WholeNumberBounds } from "./memory-config.ts";

export const SECTION = "must be a section with keys of its own";
export const POSITIVE = "must be a number above 0";
const BOOLEAN = "must be true or false";
const TEXT = "must be text";

export const AT_LEAST_0: WholeNumberBounds = { min: 0, max: Number.MAX_SAFE_INTEGER };
export const AT_LEAST_1: WholeNumberBounds = { min: 1, max: Number.MAX_SAFE_INTEGER };

// YAML 1.1, which the reference reads, has these words for booleans; 1.2 hands them over as text.
const booleanWords = z.stringbool({ truthy: ["true", "yes", "on"], falsy: ["false", "no", "off"] });

export function boolean(standard: boolean) {
  return z
    .union([z.boolean(), booleanWords], BOOLEAN)
    .nullish()
    .transform((value) => value ?? standard);
}

export function wholeNumber(bounds: WholeNumberBounds, standard: number) {
  return wholeNumberOrNone(bounds).transform((value) => value ?? standard);
}

export function wholeNumberOrNone(bounds: WholeNumberBounds) {
  const message = `must be a whole number of at least ${bounds.min}`;
  return z.int(message).min(bounds.min, message).max(bounds.max, message).nullish();
}

export function seconds(standard: number) {
  return z
    .number(POSITIVE)
    .gt(0, POSITIVE)
    .nullish()
    .transform((value) => value ?? standard);
}

export function text(standard: string) {
  return z
    .string(TEXT)
    .nullish()
    .transform((value) => value ?? standard);
}

/** Anything but `true` and the known words means off, as in the reference; `check` tells what looks like a mistake. */
export const approval = z.unknown().transform((value) => (value == null ? undefined : isApprovalOn(value)));

/** Never refused, because a refusal would show it. */
export const secret = z.coerce
  .string()
  .nullish()
  .transform((value) => value ?? "");
