// What a reader finds in a fixture, as plain data: without a database, so that a format is tested on its own.
import type {
  Place,
  Reading,
  ReadOptions,
  SessionFacts,
  TranscriptMessage,
  TranscriptReader,
  Unit,
} from "../../src/transcripts/reader.ts";

export type Found = {
  readonly sessions: readonly FoundSession[];
  readonly malformed: readonly string[];
  readonly unknown: Readonly<Record<string, number>>;
  readonly unreadable: readonly string[];
};
type FoundSession = {
  facts: SessionFacts;
  skipped?: string;
  readonly inactive: string[];
  readonly messages: TranscriptMessage[];
};

const ALL: ReadOptions = {
  includeBranches: true,
  includeReasoning: true,
  includeSystem: true,
  tools: "full",
};

/** Reads every unit at the reader's own roots, or below `path`. Paths are shown with `~` for the home. */
export async function readHome(
  reader: TranscriptReader,
  home: string,
  { path, options = ALL }: { path?: string; options?: ReadOptions } = {},
): Promise<Found> {
  const place: Place = { home, env: {}, platform: "linux", cwd: home };
  const signal = new AbortController().signal;
  const shown = (text: string): string => text.replaceAll(home, "~");
  const malformed: string[] = [];
  const unreadable: string[] = [];
  const unknown: Record<string, number> = {};
  const sessions = new Map<string, FoundSession>();
  const notRead = (where: string, reason: string): void => void unreadable.push(shown(`${where}: ${reason}`));
  const units: Unit[] = [];
  for (const root of path === undefined ? reader.roots(place) : [path])
    for await (const unit of reader.units(root, { signal, unreadable: notRead })) units.push(unit);
  units.sort((a, b) => (a.order ?? 0) - (b.order ?? 0) || (a.path < b.path ? -1 : 1));
  for (const unit of units) {
    const reading: Reading = {
      signal,
      options,
      advanced: () => {},
      malformed: (line, reason) => void malformed.push(shown(`${unit.path}:${line} ${reason}`)),
      unknown: (type) => {
        unknown[type] = (unknown[type] ?? 0) + 1;
      },
      unreadable: notRead,
      isUnchanged: () => false,
      sessionBeginningWith: (id, except) =>
        [...sessions.values()].find(
          ({ facts, messages }) => facts.nativeId !== except && messages[0]?.id === id,
        )?.facts.nativeId,
      messageIdsOf: (nativeId) =>
        new Set(sessions.get(nativeId)?.messages.flatMap(({ id }) => (id === undefined ? [] : [id]))),
    };
    let current: FoundSession | undefined;
    for await (const event of reader.read(unit, reading)) {
      if (event.kind === "session") {
        const { nativeId } = event.facts;
        current = sessions.get(nativeId) ?? { facts: event.facts, inactive: [], messages: [] };
        current.facts = { ...current.facts, ...defined(event.facts) };
        sessions.set(nativeId, current);
      } else if (current === undefined) throw new Error(`a reader gave '${event.kind}' before a session`);
      else if (event.kind === "message") current.messages.push(event.message);
      else if (event.kind === "inactive") current.inactive.push(...event.ids);
      else if (event.kind === "skip") current.skipped = event.reason;
    }
  }
  return JSON.parse(
    shown(JSON.stringify({ sessions: [...sessions.values()], malformed, unknown, unreadable })),
  );
}

function defined(facts: SessionFacts): SessionFacts {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)) as SessionFacts;
}
