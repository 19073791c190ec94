// The outbox for status and commands, without a provider: what waits, what died, where a text is.
import { randomUUID } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { HermesError, isRecord, namesIn, outsideJsonOr, preview } from "@hermes-memory/core/internal/lib";
import { silentLogger } from "@hermes-memory/core/internal/logger";
import type { KnownEntry, LostOutbox } from "@hermes-memory/core/internal/providers";
import { redactSecrets } from "@hermes-memory/core/internal/security";
import type { SqliteFile } from "@hermes-memory/core/internal/sqlite";
import { OutboxFile, outboxPath, PATIENT_MS, readOnly } from "./database.ts";
import {
  eraseItems,
  eraseText,
  findLane,
  idsWith,
  type LaneKey,
  mirrorsContaining,
  readState,
  textsIn,
} from "./rows.ts";
import type { LaneState } from "./types.ts";

const PREVIEW_CHARS = 80;

type LaneOfHome = LaneKey & { readonly id: number };

function lanesOf(sql: SqliteFile): readonly LaneOfHome[] {
  return sql.all<LaneOfHome>("SELECT id, provider, user FROM lanes ORDER BY provider, user");
}

export type OutboxEntry = LaneKey & { readonly state: LaneState };

/** All lanes of the home; none when there is no file. Changes and creates nothing. Throws `HermesError` when the file cannot be read. */
export function readOutbox(home: string): readonly OutboxEntry[] {
  const read = (sql: SqliteFile) =>
    lanesOf(sql).map(({ id, provider, user }) => ({ provider, user, state: readState(sql, id) }));
  return readOnly(home, read) ?? [];
}

type StoredWrite = LaneKey & {
  readonly id: number;
  readonly kind: string;
  readonly sessionId: string;
  /** ISO, UTC. */
  readonly createdAt: string;
  /** The first 80 characters of the texts in it, without secrets. */
  readonly preview: string;
};

/** A write that the server refused for good. */
export type DeadLetter = StoredWrite & { readonly error: string };

/** A write that was not delivered yet. */
export type WaitingWrite = StoredWrite & { readonly state: "waiting" | "held" };

/** Of each lane the oldest first. Throws `HermesError` when the file cannot be read. */
export function listDead(home: string, provider?: string): readonly DeadLetter[] {
  return listItems<DeadLetter>(home, "coalesce(error, '') AS error", "state = 'dead'", { provider });
}

/** The first `most` of each lane, oldest first. Throws `HermesError` when the file cannot be read. */
export function listWaiting(home: string, selection: Selection = {}): readonly WaitingWrite[] {
  return listItems<WaitingWrite>(home, "state", "state IN ('waiting', 'held')", selection);
}

type Selection = { readonly provider?: string; readonly most?: number };

function listItems<Row extends StoredWrite>(
  home: string,
  column: string,
  which: string,
  { provider, most }: Selection,
): readonly Row[] {
  const rows = readOnly(home, (sql) =>
    sql.all<Row & { readonly body: string; readonly place: number }>(
      `SELECT items.id, provider, user, kind, session_id AS sessionId, created_at AS createdAt, ${column}, body,
         row_number() OVER (PARTITION BY lane ORDER BY items.id) AS place
       FROM items JOIN lanes ON lanes.id = items.lane
       WHERE ${which} AND (:provider IS NULL OR provider = :provider) ORDER BY provider, user, items.id`,
      { provider: provider ?? null },
    ),
  );
  return (rows ?? [])
    .filter(({ place }) => most === undefined || place <= most)
    .map(({ body, place: _, ...row }) => ({ ...(row as unknown as Row), preview: previewOf(body) }));
}

function previewOf(body: string): string {
  const text = redactSecrets(textsIn(body, false).join(" "));
  return preview(text.replace(/\s+/g, " ").trim(), PREVIEW_CHARS);
}

/** Dead letters with these ids wait again, each by itself, before everything that was queued after them. Returns how many. Throws SQLite's errors. */
export function retryDead(home: string, ids: readonly number[]): number {
  const retry =
    "UPDATE items SET state = 'waiting', error = NULL, batch = :batch WHERE id = :id AND state = 'dead'";
  return change(home, (sql) =>
    ids.reduce((sum, id) => sum + sql.run(retry, { id, batch: randomUUID() }).changes, 0),
  );
}

/** Erases writes in any state, also out of the batch that is being sent. Returns how many. Throws SQLite's errors. */
export function dropWrites(home: string, ids: readonly number[]): number {
  return change(home, (sql) => eraseItems(sql, ids));
}

/** 0 when there is no file. No deleted byte stays in the log. */
function change(home: string, work: (sql: SqliteFile) => number): number {
  const file = new OutboxFile(home, silentLogger, PATIENT_MS);
  try {
    const count = file.change(work);
    file.emptyLog();
    return count ?? 0;
  } finally {
    file.close();
  }
}

/**
 * Erases the writes with the text in the chosen lanes, so that it is not sent; returns how many. Names of mirrored entries stay: with them
 * the provider finds the entries at its server. Throws `HermesError` when the file cannot be read, and SQLite's errors.
 */
export function eraseInOutbox(home: string, text: string, isChosen: (lane: LaneKey) => boolean): number {
  const hasText = findInOutbox(home, text).some((lane) => lane.items > 0 && isChosen(lane));
  if (!hasText) return 0;
  return change(home, (sql) =>
    lanesOf(sql)
      .filter(isChosen)
      .reduce((sum, { id }) => sum + eraseText(sql, id, text), 0),
  );
}

/** Throws `HermesError` when the file cannot be read. */
export function knownEntries(home: string, provider: string): readonly KnownEntry[] {
  const find = (sql: SqliteFile): readonly KnownEntry[] => {
    const lane = findLane(sql, { provider, user: "" });
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
  const find = (sql: SqliteFile) =>
    lanesOf(sql).map(({ id, provider, user }) => {
      const [items, mirrors] = [idsWith(sql, id, text).length, mirrorsContaining(sql, id, text).length];
      return { provider, user, items, mirrors };
    });
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
function damagedOutboxes(home: string): readonly string[] {
  const path = outboxPath(home);
  const prefix = `${basename(path)}.damaged-`;
  return namesIn(dirname(path))
    .filter((name) => name.startsWith(prefix))
    .map((name) => join(dirname(path), name));
}
