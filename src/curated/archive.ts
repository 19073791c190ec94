// The archive of one target: entries that had to make room. Appended to; an entry leaves it by a line that says so.
import { appendJsonLines, randomHex, readJsonLines, writeFileAtomic } from "../lib/index.ts";
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
  for (const line of readLines(path).lines) {
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

/** Rewrites the archive without the entries that match and without torn lines. Returns how many entries went. */
export function eraseFromArchive(path: string, matches: (text: string) => boolean): number {
  const { lines, damaged } = readLines(path);
  const kept = lines.filter((line) => "restored" in line || !matches(line.text));
  if (kept.length === lines.length && damaged === 0) return 0;
  writeFileAtomic(path, kept.map((line) => `${JSON.stringify(encode(line))}\n`).join(""));
  return lines.length - kept.length;
}

function readLines(path: string): { lines: ArchiveLine[]; damaged: number } {
  const { values, damaged } = readJsonLines(path);
  const lines = values.flatMap((value): ArchiveLine[] => {
    if (typeof value !== "object" || value === null) return [];
    const line = value as Record<string, unknown>;
    const time = String(line.time);
    if (typeof line.restored === "string") return [{ restored: line.restored, time }];
    if (typeof line.id !== "string" || typeof line.text !== "string") return [];
    const session = typeof line.session === "string" ? { sessionId: line.session } : {};
    return [{ id: line.id, time, text: line.text, origin: String(line.origin) as WriteOrigin, ...session }];
  });
  return { lines, damaged };
}

function encode(line: ArchiveLine): Record<string, unknown> {
  if ("restored" in line) return { ...line };
  const { sessionId, ...rest } = line;
  return sessionId === undefined ? rest : { ...rest, session: sessionId };
}
