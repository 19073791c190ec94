// One line of an export, looked at before it is believed.

import type { ExportedSession } from "@hermes-memory/core/sessions";
import { z } from "zod";

// Lenient: other programs, and older versions of this one, write fewer columns. The store fills in what is missing.
const line = z.looseObject({
  id: z.string().min(1),
  source: z.string().optional(),
  started_at: z.number(),
  messages: z.array(z.looseObject({ role: z.string() })),
});

/** The session, or what is wrong with it in a few words. */
export function parseExported(value: unknown): ExportedSession | string {
  const parsed = line.safeParse(value);
  if (parsed.success) return { source: "unknown", ...parsed.data } as unknown as ExportedSession;
  const [issue] = parsed.error.issues;
  const field = issue?.path.join(".") ?? "";
  return `it is no exported session (${field === "" ? "" : `'${field}': `}${issue?.message ?? "unknown"})`;
}
