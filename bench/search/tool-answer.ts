// Reads the answer of the search tool. The tool never throws, so a benchmark has to check for errors.
import { z } from "zod";

/** The sessions of a `discover`, best first. */
export function foundSessions(answer: object): string[] {
  const parsed = discovered.safeParse(answer);
  if (!parsed.success) throw new Error(`The search tool failed: ${JSON.stringify(answer).slice(0, 500)}`);
  return parsed.data.results.map(({ session_id }) => session_id);
}

export function checkScrolled(answer: object): void {
  if (!scrolled.safeParse(answer).success)
    throw new Error(`The search tool failed to scroll: ${JSON.stringify(answer).slice(0, 500)}`);
}

const discovered = z.object({
  success: z.literal(true),
  mode: z.literal("discover"),
  results: z.array(z.object({ session_id: z.string() })),
});
const scrolled = z.object({ success: z.literal(true), messages: z.array(z.unknown()).min(1) });
