// OpenClaw's database of one agent: one row per record, in windows that follow each other in a chat.
import { zstdDecompressSync } from "node:zlib";
import type { Said } from "../../declare.ts";
import { openSource, type SourceDatabase } from "../../kit/sqlite-source.ts";
import { type Json, jsonOf, recordOf, textOf, timeOf } from "../../kit/values.ts";
import type { Reading, SessionFacts } from "../../reader.ts";
import { PiRecords, piHeader } from "../pi/records.ts";
import { kindOf } from "./index-file.ts";
import { OPENCLAW_RULES } from "./text.ts";

/** As for a line of a file. */
const MAX_EVENT_BYTES = 64 * 1024 ** 2;

export async function* readOpenClawDatabase(
  path: string,
  agent: string,
  reading: Reading,
): AsyncGenerator<Said> {
  using db = await openSource(path, reading);
  if (!db.hasTable("transcript_events")) throw new Error("has no table transcript_events");
  const sessions = db.all(
    `SELECT session_id, COUNT(*) AS events, MAX(seq) AS last, MAX(created_at) AS time FROM transcript_events
     GROUP BY session_id ORDER BY MIN(created_at), session_id`,
  );
  for (const { session_id: id, events, last, time } of sessions) {
    reading.signal.throwIfAborted();
    if (typeof id !== "string" || id === "") continue;
    const nativeId = `${agent}-${id}`;
    const mark = `${events} ${last} ${time}`;
    if (reading.isUnchanged(nativeId, mark)) continue;
    yield { ...windowFacts(db, id, agent), nativeId, mark };
    const records = new PiRecords(nativeId, reading, OPENCLAW_RULES);
    // One statement sees one state of the database, so the session needs no transaction around it.
    for (const row of db.each("SELECT * FROM transcript_events WHERE session_id = :id ORDER BY seq", {
      id,
    })) {
      const seq = Number(row.seq);
      const event = eventOf(row);
      if (event === undefined) reading.malformed(seq, `no readable record in session ${id}`);
      else yield* takeEvent(records, event, nativeId, seq);
    }
    yield* records.end();
    yield { kind: "end" };
  }
  if (db.changedMeanwhile()) throw new Error("was changed by another program while it was read");
}

function* takeEvent(records: PiRecords, event: Json, nativeId: string, seq: number): Generator<Said> {
  const header = piHeader(event);
  if (header === undefined) return yield* records.take(event, seq);
  const { id: _, ...facts } = header;
  yield { ...facts, nativeId };
}

/** From schema 23 on, the text of a large record is compressed. */
function eventOf(row: Json): Json | undefined {
  if (typeof row.event_json === "string") return recordOf(jsonOf(row.event_json));
  if (!(row.event_zstd instanceof Uint8Array)) return undefined;
  try {
    const text = zstdDecompressSync(row.event_zstd, { maxOutputLength: MAX_EVENT_BYTES }).toString();
    return recordOf(jsonOf(text));
  } catch {
    return undefined; // damaged, or larger than the limit
  }
}

function windowFacts(db: SourceDatabase, id: string, agent: string): Partial<SessionFacts> {
  if (!db.hasTable("session_windows")) return {};
  const window = db.get("SELECT * FROM session_windows WHERE session_id = :id", { id });
  if (window === undefined) return {};
  const key = textOf(window.session_key) ?? "";
  const node = nodeOf(db, key);
  const spawnedBy = textOf(window.spawned_by) ?? textOf(window.parent_session_key);
  const parent = spawnedBy === undefined ? undefined : sessionOf(db, spawnedBy, window.created_at);
  const kind = kindOf(key, parent && `${agent}-${parent}`);
  const previous = textOf(window.previous_session_id);
  const isCompaction = previous !== undefined && /compact/i.test(textOf(window.reason) ?? "");
  return {
    title: textOf(node?.label) ?? textOf(node?.display_name) ?? textOf(window.display_name),
    model: textOf(window.model),
    provider: textOf(window.model_provider),
    startedAt: timeOf(window.started_at) ?? timeOf(window.created_at),
    endedAt: timeOf(window.ended_at),
    ...(textOf(window.spawned_by) === undefined
      ? kind
      : { visibility: "subagent", parent: parent && `${agent}-${parent}` }),
    ...(isCompaction && { continues: { how: "compaction", session: `${agent}-${previous}` } }),
  };
}

function nodeOf(db: SourceDatabase, key: string): Json | undefined {
  if (!db.columnsOf("session_nodes").has("session_key")) return undefined;
  return db.get("SELECT * FROM session_nodes WHERE session_key = :key", { key });
}

/** The session that a chat was in at that time: a subagent names the chat that started it, not the session. */
function sessionOf(db: SourceDatabase, key: string, time: unknown): string | undefined {
  const sql = `SELECT session_id FROM session_windows WHERE session_key = :key AND created_at <= :time
    ORDER BY created_at DESC`;
  return textOf(db.get(sql, { key, time: Number(time) })?.session_id);
}
