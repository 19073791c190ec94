// The archive of one target: entries that had to make room. Appended to; an entry leaves it by a line that says so.
import { appendJsonLines, randomHex, readJsonLines } from "../lib/index.ts";
import { isTime, isToken } from "./journal/record.ts";
import type { WriteOrigin } from "./types.ts";

export type ArchivedEntry = {
  readonly id: string;
  readonly time: string;
  readonly text: string;
  readonly origin: WriteOrigin;
  readonly sessionId?: string;
};

type ArchiveLine = ArchivedEntry | { readonly restored: string; readonly time: string };

/** Oldest first, without what has been restored since. */
export function readArchive(path: string): ArchivedEntry[] {
  const waiting = new Map<string, ArchivedEntry>();
  for (const line of readLines(path)) {
    if ("restored" in line) waiting.delete(line.restored);
    else waiting.set(line.id, line);
  }
  return [...waiting.values()];
}

/** On disk before this returns: the caller is about to take these entries out of the file. */
export function addToArchive(
  path: string,
  texts: readonly string[],
  meta: { time: string; origin: WriteOrigin; sessionId?: string | undefined },
): void {
  const lines = texts.map((text) => ({
    id: randomHex(4),
    time: meta.time,
    text,
    origin: meta.origin,
    ...(meta.sessionId === undefined ? {} : { session: meta.sessionId }),
  }));
  appendJsonLines(path, lines, { isDurable: true });
}

/** Notes that entries with these texts live in the file again. */
export function takeFromArchive(path: string, texts: readonly string[], time: string): void {
  const wanted = new Set(texts);
  const found = readArchive(path).filter(({ text }) => wanted.has(text));
  if (found.length > 0)
    appendJsonLines(
      path,
      found.map(({ id }) => ({ restored: id, time })),
    );
}

function readLines(path: string): ArchiveLine[] {
  return readJsonLines(path).values.flatMap((value): ArchiveLine[] => {
    if (typeof value !== "object" || value === null) return [];
    const line = value as Record<string, unknown>;
    const time = isTime(line.time) ? line.time : new Date(0).toISOString();
    if (typeof line.restored === "string") return [{ restored: line.restored, time }];
    if (!isToken(line.id) || typeof line.text !== "string") return [];
    const session = typeof line.session === "string" ? { sessionId: line.session } : {};
    return [
      {
        id: line.id,
        time,
        text: line.text,
        origin: (isToken(line.origin) ? line.origin : "tool") as WriteOrigin,
        ...session,
      },
    ];
  });
}
