// The output of an earlier run on a smaller database, to see how times grow with size.
import { z } from "zod";
import { readJsonFile } from "./json-file.ts";

export type Baseline = z.infer<typeof baselineFile>;

export function readBaseline(file: string): Baseline {
  return readJsonFile(file, baselineFile, "It holds the JSON line an earlier run has printed.");
}

const baselineFile = z
  .object({ bench: z.literal("search"), messages: z.number() })
  .catchall(z.unknown())
  .transform(({ messages, ...figures }) => ({
    messages,
    p95: new Map(
      Object.entries(figures).flatMap(([key, value]) => {
        const timed = z.object({ p95_ms: z.number() }).safeParse(value);
        return timed.success ? [[key, timed.data.p95_ms] as const] : [];
      }),
    ),
  }));
