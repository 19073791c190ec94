// What a reader may ask, answered as in an import without anything imported before. Tests change single answers.
import type {
  Reading,
  TranscriptEvent,
  TranscriptMessage,
  TranscriptReader,
  Unit,
} from "../../../src/transcripts/reader.ts";

/** Nothing that an import leaves out unless asked. */
export const OFF = {
  includeBranches: false,
  includeReasoning: false,
  includeSystem: false,
  tools: "brief",
} as const;

export function plainReading(answers: Partial<Reading> = {}): Reading {
  return {
    signal: new AbortController().signal,
    options: { includeBranches: true, includeReasoning: true, includeSystem: true, tools: "brief" as const },
    advanced: () => {},
    malformed: () => {},
    unknown: () => {},
    unreadable: () => {},
    isUnchanged: () => false,
    sessionBeginningWith: () => undefined,
    messageIdsOf: () => new Set(),
    ...answers,
  };
}

export async function unitsBelow(reader: TranscriptReader, root: string): Promise<Unit[]> {
  const units: Unit[] = [];
  const walking = { signal: new AbortController().signal, unreadable: () => {} };
  for await (const unit of reader.units(root, walking)) units.push(unit);
  return units;
}

/** The events of every unit at or below the path, with all options off. */
export async function eventsOf(
  reader: TranscriptReader,
  path: string,
  answers: Partial<Reading> = {},
): Promise<TranscriptEvent[]> {
  const events: TranscriptEvent[] = [];
  for (const unit of await unitsBelow(reader, path))
    for await (const event of reader.read(unit, plainReading({ options: OFF, ...answers })))
      events.push(event);
  return events;
}

export function textsOf(events: readonly TranscriptEvent[]): string[] {
  return events.flatMap((event) => (event.kind === "message" ? [event.message.text] : []));
}

/** The messages by native id of their session, with `isActive` after all `inactive` events. */
export async function messagesIn(
  reader: TranscriptReader,
  path: string,
  answers: Partial<Reading> = {},
): Promise<Record<string, TranscriptMessage[]>> {
  const sessions: Record<string, TranscriptMessage[]> = {};
  const inactive = new Set<string>();
  let current: TranscriptMessage[] = [];
  for await (const event of reader.read({ path }, plainReading(answers))) {
    if (event.kind === "session") {
      current = sessions[event.facts.nativeId] ?? [];
      sessions[event.facts.nativeId] = current;
    } else if (event.kind === "message") current.push(event.message);
    else if (event.kind === "inactive") for (const id of event.ids) inactive.add(id);
  }
  for (const messages of Object.values(sessions))
    for (const [at, message] of messages.entries())
      if (inactive.has(message.id ?? "")) messages[at] = { ...message, isActive: false };
  return sessions;
}
