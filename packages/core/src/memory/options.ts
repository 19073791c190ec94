// Checks of the options that callers pass.
import { HermesError } from "../lib/index.ts";
import type { MessageFormat } from "./user-memory.ts";

export function isPositive(value: unknown): value is number {
  return typeof value === "number" && value > 0;
}

export function badOption(message: string, hint: string): HermesError {
  return new HermesError("bad-option", message, { hint });
}

export function badNumber(option: string, value: unknown): HermesError {
  return badOption(`'${option}' was passed as ${String(value)}.`, "Pass a positive number.");
}

export function checkLimit(limit: unknown, what: string): void {
  if (limit === Number.POSITIVE_INFINITY || (isPositive(limit) && Number.isInteger(limit))) return;
  throw new HermesError("bad-limit", `The limit ${String(limit)} is not a positive integer.`, {
    hint: `It counts ${what}. Pass Infinity for all of them.`,
  });
}

export function formatOf<F extends MessageFormat>(format: MessageFormat | undefined): F {
  if (format === undefined || FORMATS.has(format)) return (format ?? "ai-sdk") as F;
  throw badOption(`There is no format '${String(format)}'.`, `Pass one of ${[...FORMATS].join(", ")}.`);
}

const FORMATS: ReadonlySet<string> = new Set<MessageFormat>(["ai-sdk", "openai", "hermes"]);
