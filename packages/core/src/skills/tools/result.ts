// The JSON shapes the three tools share.
import { describeCause } from "../../lib/index.ts";
import type { SkillError } from "../types.ts";

export function failure({ message, details }: SkillError): object {
  return { success: false, error: message, ...details };
}

/** A tool answers whatever happens. */
export async function answered(work: () => Promise<object>): Promise<object> {
  try {
    return await work();
  } catch (cause) {
    return { success: false, error: `Skills are not available: ${describeCause(cause)}.` };
  }
}

export const UNAVAILABLE = {
  success: false,
  error: "Skills are not available. They may be switched off in this environment.",
} as const;

export function textArgument(args: unknown, name: string): string | undefined {
  if (typeof args !== "object" || args === null) return undefined;
  const value = (args as Readonly<Record<string, unknown>>)[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}
