// Takes a text out of the line files, journal and archive. Lines it is not in stay byte for byte, also those we cannot read.
import { readFileSync } from "node:fs";
import { errnoCode, sha256 } from "../../lib/index.ts";
import { decodeRecord, encodeRecord, type JournalRecord } from "../journal/record.ts";
import type { Needle } from "./needle.ts";

export type Scrubbed = { readonly lines: readonly string[]; readonly hits: number };

/** A line that held the text loses it, or goes whole where nothing would be left to say. */
export function scrubJournal(path: string, needle: Needle): Scrubbed {
  return scrubLines(path, (line, value) => {
    const record = decodeRecord(value);
    if (!record) return needle.isInRaw(Buffer.from(line)) ? [] : [line];
    const clean = scrubRecord(record, needle);
    if (clean === record) return [line];
    return clean ? [JSON.stringify(encodeRecord(clean))] : [];
  });
}

export function scrubArchive(path: string, needle: Needle): Scrubbed {
  return scrubLines(path, (line, value) => {
    const fields = typeof value === "object" && value !== null ? Object.values(value) : [];
    const isHit =
      fields.some((field) => typeof field === "string" && needle.isIn(field)) ||
      needle.isInRaw(Buffer.from(line));
    return isHit ? [] : [line];
  });
}

function scrubLines(path: string, scrub: (line: string, value: unknown) => readonly string[]): Scrubbed {
  const lines: string[] = [];
  let hits = 0;
  for (const line of readLines(path)) {
    const kept = scrub(line, parse(line));
    if (kept[0] !== line) hits += 1;
    lines.push(...kept);
  }
  return { lines, hits };
}

/** The same record when it holds nothing of the text; undefined when nothing of it may stay. */
function scrubRecord(record: JournalRecord, { text, isIn, standIn }: Needle): JournalRecord | undefined {
  const clean = (value: string): string => (isIn(value) ? standIn : value);
  if (record.kind === "refusal")
    return record.sha256 === sha256(text) || isIn(record.reason) || isIn(record.sessionId)
      ? undefined
      : record;
  if (record.kind === "checkpoint") {
    const known = record.known.filter((entry) => !isIn(entry.text) && !isIn(entry.sessionId));
    return known.length === record.known.length ? record : { ...record, known, isIncomplete: true };
  }
  const steps = record.changes.flatMap(({ before, after, into }) => [before, after, into]);
  const texts = [
    ...steps,
    ...(record.entries ?? []),
    ...(record.archived ?? []),
    record.reason,
    record.sessionId,
  ];
  if (!texts.some(isIn)) return record;
  return {
    ...record,
    changes: record.changes.map(({ at, before, after, into }) => ({
      at,
      before: before === null ? null : clean(before),
      after: after === null ? null : clean(after),
      ...(into === undefined ? {} : { into: clean(into) }),
    })),
    ...(record.entries ? { entries: record.entries.map(clean) } : {}),
    archived: record.archived?.map(clean),
    reason: record.reason === undefined ? undefined : clean(record.reason),
    sessionId: isIn(record.sessionId) ? undefined : record.sessionId,
    isIncomplete: true,
  };
}

function readLines(path: string): string[] {
  try {
    return readFileSync(path, "utf8")
      .split("\n")
      .filter((line) => line !== "");
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT") return [];
    throw cause;
  }
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined; // half a line; looked at as it is
  }
}
