// Finds a text that is to be forgotten in values, JSON lines and raw bytes, and takes it out of them.
import { readFileSync } from "node:fs";
import { errnoCode, sha256 } from "../lib/index.ts";
import { cleanText } from "./entries.ts";
import { decodeRecord, encodeRecord } from "./journal.ts";
import type { JournalRecord } from "./journal-replay.ts";

/** The text to forget. */
export type Needle = {
  readonly text: string;
  /** Written where the text was. Does not contain the text itself. */
  readonly standIn: string;
  /** True when a decoded value contains the text. */
  isIn(value: string | null | undefined): boolean;
  /** True when raw content contains it literally or in its JSON spelling. */
  isInRaw(bytes: Uint8Array): boolean;
  /** The content with the text cut out, whatever its line ends; undefined when it does not contain the text. */
  cutFrom(bytes: Uint8Array): Uint8Array | undefined;
};

const STAND_INS = ["[forgotten]", "[…]", "[*]"] as const;

/** Undefined for a text that is empty once it is stripped: it would be found everywhere. */
export function makeNeedle(asked: string): Needle | undefined {
  const text = cleanText(asked);
  if (text === "") return undefined;
  const standIn = STAND_INS.find((each) => !each.includes(text)) ?? "";
  const plain = patternOf(text);
  const inJson = patternOf(JSON.stringify(text).slice(1, -1));
  return {
    text,
    standIn,
    isIn: (value) => value?.includes(text) ?? false,
    isInRaw: (bytes) => [plain, inJson].some((each) => cut(bytes, each, "") !== undefined),
    cutFrom: (bytes) => cut(bytes, plain, standIn),
  };
}

// One character per byte, so that any bytes survive.
const latin1 = (text: string): string => Buffer.from(text, "utf8").toString("latin1");

function patternOf(text: string): RegExp {
  const lines = latin1(text).split("\n");
  const escaped = lines.map((line) => line.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&"));
  return new RegExp(escaped.join("(?:\\r\\n|\\r|\\n)"), "g");
}

function cut(bytes: Uint8Array, where: RegExp, standIn: string): Uint8Array | undefined {
  const before = Buffer.from(bytes).toString("latin1");
  const after = before.replace(where, () => latin1(standIn));
  return after === before ? undefined : Buffer.from(after, "latin1");
}

// ---- Journal and archive. Lines without the text stay byte for byte, unreadable lines too ----

export type Scrubbed = { readonly lines: readonly string[]; readonly hits: number };

/** A line that contained the text loses it, or is dropped where nothing else in it is worth keeping. */
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
    const kept = scrub(line, parseLine(line));
    if (kept[0] !== line) hits += 1;
    lines.push(...kept);
  }
  return { lines, hits };
}

/** The same object when it does not contain the text; undefined when the whole record has to go. */
function scrubRecord(record: JournalRecord, { text, isIn, standIn }: Needle): JournalRecord | undefined {
  if (record.kind === "refusal")
    return record.sha256 === sha256(text) || isIn(record.reason) || isIn(record.sessionId)
      ? undefined
      : record;
  if (record.kind === "checkpoint") {
    const known = record.known.filter((entry) => !isIn(entry.text) && !isIn(entry.sessionId));
    return known.length === record.known.length ? record : { ...record, known, isIncomplete: true };
  }
  const { changes, entries = [], archived = [], reason, sessionId } = record;
  const steps = changes.flatMap(({ before, after, into }) => [before, after, into]);
  if (![...steps, ...entries, ...archived, reason, sessionId].some(isIn)) return record;
  const clean = <T extends string | null | undefined>(value: T): T | string =>
    isIn(value) ? standIn : value;
  return {
    ...record,
    changes: changes.map(({ at, before, after, into }) => ({
      at,
      before: clean(before),
      after: clean(after),
      into: clean(into),
    })),
    entries: record.entries?.map(clean),
    archived: record.archived?.map(clean),
    reason: clean(reason),
    sessionId: isIn(sessionId) ? undefined : sessionId,
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

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined; // half a line; searched as raw text
  }
}
