// The two forms of a refusal, for `toMatchObject`.
import { expect } from "vitest";

/** Of a tool: the answer that a model gets. */
export function refusedWith(error: string): object {
  return { success: false, error: expect.stringContaining(error) };
}

/** Of a store: a `Result`. */
export function failedAs(kind: string): object {
  return { ok: false, error: { kind } };
}
