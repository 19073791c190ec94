// Removing rows of one lane: undone turns, texts that must be forgotten, everything; and the names that mirrored entries have at the
// server. Every function runs within one transaction of the caller.
import { isRecord } from "@hermes-memory/core/internal/lib";
import { dissolveBatch, membersOf } from "./batches.ts";
import { findLane, type LaneKey, makeLane } from "./queue.ts";
import type { Sql } from "./sql.ts";
import type { Mirrored } from "./types.ts";

/** Only items that no batch contains. */
export function deleteUnsent(sql: Sql, ids: readonly number[]): number {
  return ids.reduce(
    (sum, id) =>
      sum + sql.run("DELETE FROM items WHERE id = :id AND in_batch = 0 AND state <> 'dead'", { id }),
    0,
  );
}

/** Ids of items of the lane, dead ones included, that contain the text: in a string, key or number of the body, or in the error. */
export function idsWith(sql: Sql, key: LaneKey, text: string): readonly number[] {
  const lane = findLane(sql, key)?.id;
  if (lane === undefined) return [];
  // The JSON of a text is part of the JSON of every text that contains it. The reverse is not true: "n" is part of "\\n".
  const rows = sql.all<{ id: number; body: string; error: string | null; dedupe_key: string | null }>(
    `SELECT id, body, error, dedupe_key FROM items
     WHERE lane = :lane AND (instr(body, :json) > 0 OR instr(error, :text) > 0 OR instr(dedupe_key, :text) > 0) ORDER BY id`,
    { lane, text, json: JSON.stringify(text).slice(1, -1) },
  );
  const holds = (body: string) => textsIn(body).some((part) => part.includes(text));
  return rows
    .filter(
      ({ body, error, dedupe_key }) => error?.includes(text) || dedupe_key?.includes(text) || holds(body),
    )
    .map(({ id }) => id);
}

/** All strings, numbers and, unless left out, keys of a JSON text, in order; of a text that is not JSON, the text. */
export function textsIn(json: string, withKeys = true): readonly string[] {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return [json];
  }
  const texts: string[] = [];
  const waiting: unknown[] = [value];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (typeof next === "string" || typeof next === "number") texts.push(String(next));
    else if (Array.isArray(next)) for (let at = next.length - 1; at >= 0; at -= 1) waiting.push(next[at]);
    else if (isRecord(next))
      for (const [name, part] of Object.entries(next).reverse()) {
        waiting.push(part);
        if (withKeys) waiting.push(name);
      }
  }
  return texts;
}

/** Also out of the batch that is being sent, whose other items then go into new batches. Returns how many items were erased. */
export function eraseText(sql: Sql, key: LaneKey, text: string): number {
  const lane = findLane(sql, key)?.id;
  if (lane === undefined) return 0;
  const count = eraseItems(sql, lane, idsWith(sql, key, text));
  sql.run("DELETE FROM delivered_keys WHERE lane = :lane AND instr(dedupe_key, :text) > 0", { lane, text });
  for (const column of ["last_error", "blocked"])
    sql.run(`UPDATE lanes SET ${column} = NULL WHERE id = :lane AND instr(${column}, :text) > 0`, {
      lane,
      text,
    });
  return count;
}

/** Of any state, also out of the batch that is being sent. */
export function eraseItems(sql: Sql, lane: number, ids: readonly number[]): number {
  const members = new Set(membersOf(sql, lane).map(({ id }) => id));
  for (const id of ids) sql.run("DELETE FROM items WHERE id = :id", { id });
  if (ids.some((id) => members.has(id))) {
    dissolveBatch(sql, lane);
    takeLeaseAway(sql, lane);
  }
  return ids.length;
}

/** A process that sends finds out when it renews its lease, and ends the delivery. */
function takeLeaseAway(sql: Sql, lane: number): void {
  sql.run("UPDATE lanes SET lease_owner = NULL WHERE id = :lane", { lane });
}

/** Who sends a batch with one of these items now, or with any; undefined: nobody. */
export function senderOf(sql: Sql, key: LaneKey, ids?: readonly number[]): string | undefined {
  const lane = findLane(sql, key);
  if (lane === undefined || lane.lease_owner === null) return undefined;
  const isSent = membersOf(sql, lane.id).some(({ id }) => ids?.includes(id) ?? true);
  return isSent ? lane.lease_owner : undefined;
}

/** Items of all states, and mirrors. */
export function countAll(sql: Sql, key: LaneKey): number {
  const lane = findLane(sql, key);
  return lane === undefined ? 0 : lane.waiting + lane.held + lane.dead; // mirrors only name what the server counts
}

export function eraseLane(sql: Sql, key: LaneKey): number {
  const lane = findLane(sql, key)?.id;
  if (lane === undefined) return 0;
  const count = countAll(sql, key);
  for (const table of ["items", "batches", "delivered_keys", "mirrors"])
    sql.run(`DELETE FROM ${table} WHERE lane = :lane`, { lane });
  takeLeaseAway(sql, lane);
  sql.run(
    "UPDATE lanes SET last_error = NULL, last_error_at = NULL, blocked = NULL, pause_kind = NULL, failures = 0 WHERE id = :lane",
    { lane },
  );
  return count;
}

// ---- Mirrors ----

type MirrorRow = { readonly target: string; readonly text: string; readonly remote_id: string };

export function addMirror(sql: Sql, key: LaneKey, { target, text, remoteId }: Mirrored): void {
  sql.run(
    "INSERT OR IGNORE INTO mirrors (lane, target, text, remote_id) VALUES (:lane, :target, :text, :remoteId)",
    {
      lane: makeLane(sql, key).id,
      target,
      text,
      remoteId,
    },
  );
}

export function findMirrors(sql: Sql, key: LaneKey, target: string, text: string): readonly Mirrored[] {
  return mirrorsContaining(sql, key, text).filter((each) => each.target === target && each.text === text);
}

export function mirrorsContaining(sql: Sql, key: LaneKey, text: string): readonly Mirrored[] {
  const lane = findLane(sql, key)?.id;
  if (lane === undefined) return [];
  return sql
    .all<MirrorRow>(
      "SELECT target, text, remote_id FROM mirrors WHERE lane = :lane AND instr(text, :text) > 0 ORDER BY id",
      { lane, text },
    )
    .map(({ remote_id: remoteId, ...row }) => ({ target: row.target, text: row.text, remoteId }));
}

export function removeMirror(sql: Sql, key: LaneKey, { target, text, remoteId }: Mirrored): number {
  const lane = findLane(sql, key)?.id;
  if (lane === undefined) return 0;
  const where = "lane = :lane AND target = :target AND text = :text AND remote_id = :remoteId";
  return sql.run(`DELETE FROM mirrors WHERE ${where}`, { lane, target, text, remoteId });
}
