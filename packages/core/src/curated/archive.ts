// The archive of one target: entries that had to make room. Appended to; an entry leaves it by a line that says so.
import { appendJsonLines, GrowingLines, randomHex } from "../lib/index.ts";
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

export class Archive {
  readonly #path: string;
  readonly #lines: GrowingLines;
  /** By id, oldest first, without what has been restored since. */
  readonly #waiting = new Map<string, ArchivedEntry>();
  readonly #idsByText = new Map<string, Set<string>>();

  constructor(path: string) {
    this.#path = path;
    this.#lines = new GrowingLines(path);
  }

  /** Oldest first, without what has been restored since. */
  entries(): ArchivedEntry[] {
    this.#readOn();
    return [...this.#waiting.values()];
  }

  /** On disk before this returns: the caller is about to take these entries out of the file. */
  add(
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
    appendJsonLines(this.#path, lines, { isDurable: true });
  }

  /** Notes that entries with these texts live in the file again. */
  take(texts: readonly string[], time: string): void {
    if (texts.length === 0) return;
    this.#readOn();
    const found = texts.flatMap((text) => [...(this.#idsByText.get(text) ?? [])]);
    if (found.length > 0)
      appendJsonLines(
        this.#path,
        found.map((id) => ({ restored: id, time })),
      );
  }

  #readOn(): void {
    const { values, isRestart } = this.#lines.next();
    if (isRestart) {
      this.#waiting.clear();
      this.#idsByText.clear();
    }
    for (const line of values.flatMap(readLine)) {
      this.#drop("restored" in line ? line.restored : line.id);
      if ("restored" in line) continue;
      this.#waiting.set(line.id, line);
      const ids = this.#idsByText.get(line.text);
      if (ids) ids.add(line.id);
      else this.#idsByText.set(line.text, new Set([line.id]));
    }
  }

  #drop(id: string): void {
    const entry = this.#waiting.get(id);
    if (!entry) return;
    this.#waiting.delete(id);
    this.#idsByText.get(entry.text)?.delete(id);
  }
}

function readLine(value: unknown): ArchiveLine[] {
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
}
