// Results as JSON text, and whether one tells of a failure.
import { outsideJsonOr } from "../lib/index.ts";
import type { ToolOutcome } from "./tool.ts";

/** A result of a tool of ours: `success: false`, or an `error`, is a failure. */
export function jsonOutcome(value: object): ToolOutcome {
  const text = JSON.stringify(value);
  return isFailure(value) ? { text, isError: true } : { text };
}

export function errorOutcome(error: string): ToolOutcome {
  return { text: JSON.stringify({ error }), isError: true };
}

/** For texts that should be JSON and come from elsewhere. */
export function textOutcome(text: string): ToolOutcome {
  const value = outsideJsonOr(text, undefined); // plain text says nothing about failure
  return typeof value === "object" && value !== null && isFailure(value) ? { text, isError: true } : { text };
}

function isFailure(value: object): boolean {
  if ("success" in value) return value.success === false;
  return "error" in value && value.error !== undefined && value.error !== null && value.error !== "";
}
