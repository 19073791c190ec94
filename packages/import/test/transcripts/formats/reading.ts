// Reads one unit with a reader and gives its events back, for tests that need more than a fixture.
import type { Reading, TranscriptEvent, TranscriptReader } from "../../../src/transcripts/reader.ts";

export async function eventsOf(
  reader: TranscriptReader,
  path: string,
  told: Partial<Reading> = {},
): Promise<TranscriptEvent[]> {
  const signal = new AbortController().signal;
  const reading: Reading = {
    signal,
    options: {
      includeBranches: false,
      includeReasoning: false,
      includeSystem: false,
      tools: "brief" as const,
    },
    advanced: () => {},
    malformed: () => {},
    unknown: () => {},
    unreadable: () => {},
    isUnchanged: () => false,
    sessionBeginningWith: () => undefined,
    messageIdsOf: () => new Set(),
    ...told,
  };
  const events: TranscriptEvent[] = [];
  for await (const unit of reader.units(path, { signal, unreadable: () => {} }))
    for await (const event of reader.read(unit, reading)) events.push(event);
  return events;
}

export function textsOf(events: readonly TranscriptEvent[]): string[] {
  return events.flatMap((event) => (event.kind === "message" ? [event.message.text] : []));
}
