// The outbox for status and commands, without a provider: what waits, what died, where a text is.
import { basename, dirname, join } from "node:path";
import { HermesError, isRecord, namesIn, outsideJsonOr, preview } from "@hermes-memory/core/internal/lib";
import { silentLogger } from "@hermes-memory/core/internal/logger";
import type { KnownEntry, LostOutbox } from "@hermes-memory/core/internal/providers";
import { redactSecrets } from "@hermes-memory/core/internal/security";
import { OutboxDatabase, outboxPath, readOnly } from "./database.ts";
import { eraseItems, eraseText, idsWith, textsIn } from "./erase.ts";
import { findLane, type LaneKey, readStates } from "./queue.ts";
import type { Sql } from "./sql.ts";
import type { LaneState } from "./types.ts";

const PREVIEW_CHARS = 80;

export type OutboxEntry = LaneKey & { readonly state: LaneState };

/** All lanes of the home; none when there is no file. Changes and creates nothing. Throws `HermesError` when the file cannot be read. */
export function readOutbox(home: string): readonly OutboxEntry[] {
  return readOnly(home, readStates) ?? [];
}

/** A write that the server refused for good. */
export type DeadLetter = LaneKey & {
  readonly id: number;
  readonly kind: string;
  readonly sessionId: string;
  /** ISO, UTC. */
  readonly createdAt: string;
  readonly error: string;
  /** The first 80 characters of the texts in it, without secrets. */
  readonly preview: string;
};

type DeadRow = Omit<DeadLetter, "preview"> & { readonly body: string };

/** Oldest first. Throws `HermesError` when the file cannot be read. */
export function listDead(home: string, provider?: string): readonly DeadLetter[] {
  const rows = readOnly(home, (sql) =>
    sql.all<DeadRow>(
      `SELECT items.id, provider, user, kind, session_id AS sessionId, created_at AS createdAt, coalesce(error, '') AS error, body
       FROM items JOIN lanes ON lanes.id = items.lane
       WHERE state = 'dead' AND (:provider IS NULL OR provider = :provider) ORDER BY items.id`,
      { provider: provider ?? null },
    ),
  );
  return (rows ?? []).map(({ body, ...row }) => ({ ...row, preview: previewOf(body) }));
}

function previewOf(body: string): string {
  const text = redactSecrets(textsIn(body, false).join(" "));
  return preview(text.replace(/\s+/g, " ").trim(), PREVIEW_CHARS);
}

/** A write that was not delivered yet. */
export type WaitingWrite = Omit<DeadLetter, "error"> & { readonly state: "waiting" | "held" };

type WaitingRow = Omit<WaitingWrite, "preview"> & { readonly body: string };

/** The first `most` of each lane, oldest first. Throws `HermesError` when the file cannot be read. */
export function listWaiting(
  home: string,
  { provider, most }: { readonly provider?: string; readonly most?: number } = {},
): readonly WaitingWrite[] {
  const rows = readOnly(home, (sql) =>
    sql.all<WaitingRow>(
      `SELECT id, provider, user, state, kind, session_id AS sessionId, created_at AS createdAt, body FROM (
         SELECT items.*, provider, user, row_number() OVER (PARTITION BY lane ORDER BY items.id) AS place
         FROM items JOIN lanes ON lanes.id = items.lane
         WHERE state <> 'dead' AND (:provider IS NULL OR provider = :provider))
       WHERE :most IS NULL OR place <= :most ORDER BY provider, user, id`,
      { provider: provider ?? null, most: most ?? null },
    ),
  );
  return (rows ?? []).map(({ body, ...row }) => ({ ...row, preview: previewOf(body) }));
}

/** Which dead letters: of all providers, and all of them, unless said otherwise. */
export type DeadSelection = { readonly provider?: string; readonly ids?: readonly number[] };

/** They wait again, each by itself, before everything that was queued after them. Returns how many. Throws SQLite's errors. */
export function retryDead(home: string, selection: DeadSelection): number {
  const retry = "UPDATE items SET state = 'waiting', error = NULL, is_alone = 1 WHERE id = :id";
  return changeDead(home, selection, (sql, id) => sql.run(retry, { id }));
}

/** Erases writes in any state, also out of the batch that is being sent. Returns how many. Throws SQLite's errors. */
export function dropWrites(home: string, ids: readonly number[]): number {
  return change(home, (sql) => {
    const laneOf = "SELECT lane FROM items WHERE id = :id";
    const lanes = Map.groupBy(ids, (id) => sql.get<{ lane: number }>(laneOf, { id })?.lane);
    let count = 0;
    for (const [lane, members] of lanes) if (lane !== undefined) count += eraseItems(sql, lane, members);
    return count;
  });
}

function changeDead(
  home: string,
  { provider, ids }: DeadSelection,
  work: (sql: Sql, id: number) => void,
): number {
  const matching = `SELECT items.id FROM items JOIN lanes ON lanes.id = items.lane
    WHERE state = 'dead' AND (:provider IS NULL OR provider = :provider)`;
  return change(home, (sql) => {
    const dead = sql.all<{ id: number }>(matching, { provider: provider ?? null });
    const chosen = ids === undefined ? dead : dead.filter(({ id }) => ids.includes(id));
    for (const { id } of chosen) work(sql, id);
    return chosen.length;
  });
}

/** 0 when there is no file. No deleted byte stays in the log. */
function change(home: string, work: (sql: Sql) => number): number {
  const database = OutboxDatabase.use({ home, isDurable: true, log: silentLogger });
  try {
    const count = database.patiently(() => database.change(work));
    database.emptyLog();
    return count ?? 0;
  } finally {
    database.release();
  }
}

/**
 * Erases the writes with the text in the chosen lanes, so that it is not sent; returns how many. Names of mirrored entries stay: with them
 * the provider finds the entries at its server. Throws `HermesError` when the file cannot be read, and SQLite's errors.
 */
export function eraseInOutbox(home: string, text: string, isChosen: (lane: LaneKey) => boolean): number {
  const lanes = findInOutbox(home, text).filter((lane) => lane.items > 0 && isChosen(lane));
  if (lanes.length === 0) return 0;
  return change(home, (sql) => lanes.reduce((sum, lane) => sum + eraseText(sql, lane, text), 0));
}

/** Throws `HermesError` when the file cannot be read. */
export function knownEntries(home: string, provider: string): readonly KnownEntry[] {
  const find = (sql: Sql): readonly KnownEntry[] => {
    const lane = findLane(sql, { provider, user: "" })?.id;
    if (lane === undefined) return [];
    const sent = sql.all<{ target: string; text: string }>(
      "SELECT target, text FROM mirrors WHERE lane = :lane",
      { lane },
    );
    const queued = sql.all<{ state: string; body: string }>(
      "SELECT state, body FROM items WHERE lane = :lane AND kind = 'mirror-add' ORDER BY id",
      { lane },
    );
    return [
      ...sent.map(({ target, text }) => ({ target, text, state: "sent" as const })),
      ...queued.flatMap(({ state, body }) => {
        const fields = outsideJsonOr(body, undefined);
        const { target, text } = isRecord(fields) ? fields : {};
        const known = state === "dead" ? ("refused" as const) : ("waiting" as const);
        return typeof target === "string" && typeof text === "string" ? [{ target, text, state: known }] : [];
      }),
    ];
  };
  return readOnly(home, find) ?? [];
}

/** How many items (waiting, held and dead) and names of mirrored entries contain a text. */
export type LaneFinding = LaneKey & { readonly items: number; readonly mirrors: number };

/** The lanes that contain the text. Case-sensitive. Throws `HermesError` when the file cannot be read. */
export function findInOutbox(home: string, text: string): readonly LaneFinding[] {
  const find = (sql: Sql) =>
    sql
      .all<LaneKey & { id: number }>("SELECT id, provider, user FROM lanes ORDER BY provider, user")
      .map((lane) => ({
        provider: lane.provider,
        user: lane.user,
        items: idsWith(sql, lane, text).length,
        mirrors: Number(
          sql.get<{ n: number }>(
            "SELECT count(*) AS n FROM mirrors WHERE lane = :lane AND instr(text, :text) > 0",
            {
              lane: lane.id,
              text,
            },
          )?.n ?? 0,
        ),
      }));
  return (readOnly(home, find) ?? []).filter(({ items, mirrors }) => items + mirrors > 0);
}

/** The outbox of the home if it cannot be read, and those that were moved aside because they were damaged. */
export function unreadableOutboxes(home: string): readonly LostOutbox[] {
  const aside = damagedOutboxes(home).map((path) => ({
    path,
    problem: `${path} is an outbox that was damaged and moved aside.`,
    remedy: "Delete it, unless something in it is to be rescued first.",
  }));
  try {
    readOutbox(home);
    return aside;
  } catch (cause) {
    if (!(cause instanceof HermesError)) throw cause;
    return [{ path: outboxPath(home), problem: cause.message, remedy: cause.hint ?? "" }, ...aside];
  }
}

/** Files that were moved aside because they were damaged. Erasing does not reach the texts in them. Absolute paths. */
export function damagedOutboxes(home: string): readonly string[] {
  const path = outboxPath(home);
  const prefix = `${basename(path)}.damaged-`;
  return namesIn(dirname(path))
    .filter((name) => name.startsWith(prefix))
    .map((name) => join(dirname(path), name));
}
