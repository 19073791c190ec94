// The tables of the outbox, and every change to the rows of one lane: adding, sending, answers of the server, erasing. Each function runs
// within one transaction of the caller.
import { randomUUID } from "node:crypto";
import { isDeadHere, isRecord, outsideJsonOr } from "@hermes-memory/core/internal/lib";
import type { SqliteFile } from "@hermes-memory/core/internal/sqlite";
import type { Added, Batch, Delivery, LaneState, Mirrored, NewItem, OutboxItem, Pauses } from "./types.ts";

export const SCHEMA_VERSION = 2;

const ITEMS = `
  CREATE TABLE items (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    lane INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'held', 'dead', 'sent')),
    kind TEXT NOT NULL,
    session_id TEXT NOT NULL,
    body TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    dedupe_key TEXT,
    created_at TEXT NOT NULL,
    holder TEXT,
    batch TEXT,
    attempts INTEGER NOT NULL DEFAULT 0,
    refusals INTEGER NOT NULL DEFAULT 0,
    error TEXT
  );
  CREATE INDEX items_by_state ON items (lane, state, id, bytes);
  CREATE INDEX items_by_batch ON items (batch) WHERE batch IS NOT NULL;
  CREATE UNIQUE INDEX items_by_key ON items (lane, dedupe_key) WHERE dedupe_key IS NOT NULL;
`;

const TABLES = `
  CREATE TABLE lanes (
    id INTEGER PRIMARY KEY,
    provider TEXT NOT NULL,
    user TEXT NOT NULL,
    refused INTEGER NOT NULL DEFAULT 0,
    dropped INTEGER NOT NULL DEFAULT 0,
    last_error TEXT,
    last_error_at TEXT,
    last_delivery_at TEXT,
    blocked TEXT,
    failures INTEGER NOT NULL DEFAULT 0,
    pause_kind TEXT,
    pause_until INTEGER NOT NULL DEFAULT 0,
    lease_owner TEXT,
    lease_until INTEGER NOT NULL DEFAULT 0,
    UNIQUE (provider, user)
  );
  ${ITEMS}
  CREATE TABLE mirrors (
    id INTEGER PRIMARY KEY,
    lane INTEGER NOT NULL,
    target TEXT NOT NULL,
    text TEXT NOT NULL,
    remote_id TEXT NOT NULL,
    UNIQUE (lane, target, text, remote_id)
  );
`;

/** Version 1, up to 0.3.x, counted items with triggers and kept batches and keys of delivered items in tables of their own. */
const FROM_1 = `
  DROP TRIGGER count_added;
  DROP TRIGGER count_deleted;
  DROP TRIGGER count_changed;
  DROP INDEX items_by_state;
  DROP INDEX items_by_key;
  ALTER TABLE items RENAME TO old_items;
  ${ITEMS}
  INSERT INTO items (id, lane, state, kind, session_id, body, bytes, dedupe_key, created_at, holder, batch, attempts, refusals, error)
    SELECT old.id, old.lane, state, kind, session_id, body, bytes, dedupe_key, created_at, holder, b.id,
      max(prior_attempts, coalesce(b.attempts, 0)), coalesce(b.refusals, 0), error
    FROM old_items AS old LEFT JOIN batches AS b ON b.lane = old.lane AND old.in_batch = 1;
  INSERT OR IGNORE INTO items (lane, state, kind, session_id, body, bytes, dedupe_key, created_at)
    SELECT lane, 'sent', '', '', '', 0, dedupe_key, strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000.0, 'unixepoch') FROM delivered_keys ORDER BY id;
  DROP TABLE old_items;
  DROP TABLE batches;
  DROP TABLE delivered_keys;
`;

/** Another process may have done it meanwhile. */
export function prepareTables(sql: SqliteFile): void {
  const version = sql.userVersion;
  if (version === SCHEMA_VERSION) return;
  sql.exec(version === 1 ? FROM_1 : TABLES);
  sql.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
}

/** How long the key of a delivered item is remembered, and how many of a lane. */
const KEY_LIFETIME_MS = 7 * 24 * 3_600_000;
const MOST_KEYS = 10_000;
const MOST_DEAD = 1_000;
const REFUSALS_UNTIL_DEAD = 3;
/** The owner renews its lease long before. */
export const LEASE_MS = 60_000;
/** Longest that a server can ask for. */
const LONGEST_PAUSE_MS = 10 * 60_000;

export type LaneKey = { readonly provider: string; readonly user: string };

/** Why the lane waits: `asked` by the server's Retry-After. */
export type PauseKind = "later" | "asked" | "blocked" | "refused";

type LaneRow = {
  readonly id: number;
  readonly refused: number;
  readonly dropped: number;
  readonly last_error: string | null;
  readonly last_error_at: string | null;
  readonly last_delivery_at: string | null;
  readonly blocked: string | null;
  readonly failures: number;
  readonly pause_kind: PauseKind | null;
  readonly pause_until: number;
  readonly lease_owner: string | null;
  readonly lease_until: number;
};

type ItemRow = {
  readonly id: number;
  readonly kind: string;
  readonly session_id: string;
  readonly body: string;
  readonly created_at: string;
  readonly batch: string | null;
  readonly attempts: number;
};

const ITEM_COLUMNS = "id, kind, session_id, body, created_at, batch, attempts";

export function findLane(sql: SqliteFile, { provider, user }: LaneKey): number | undefined {
  const find = "SELECT id FROM lanes WHERE provider = :provider AND user = :user";
  return sql.get<{ id: number }>(find, { provider, user })?.id;
}

function makeLane(sql: SqliteFile, key: LaneKey): number {
  const { provider, user } = key;
  const make = "INSERT INTO lanes (provider, user) VALUES (:provider, :user)";
  return findLane(sql, key) ?? sql.run(make, { provider, user }).lastId;
}

function readLane(sql: SqliteFile, lane: number): LaneRow {
  return sql.get<LaneRow>("SELECT * FROM lanes WHERE id = :lane", { lane }) as LaneRow;
}

// ---- State ----

type Counts = Readonly<Record<"waiting" | "held" | "dead" | "bytes", number>>;

function countItems(sql: SqliteFile, lane: number): Counts {
  const counts = { waiting: 0, held: 0, dead: 0, bytes: 0 };
  const rows = sql.all<{ state: "waiting" | "held" | "dead"; n: number; bytes: number }>(
    `SELECT state, count(*) AS n, sum(bytes) AS bytes FROM items
     WHERE lane = :lane AND state IN ('waiting', 'held', 'dead') GROUP BY state`,
    { lane },
  );
  for (const { state, n, bytes } of rows) {
    counts[state] = n;
    if (state !== "dead") counts.bytes += bytes;
  }
  return counts;
}

export function readState(sql: SqliteFile, lane: number): LaneState {
  const { bytes: _, ...counts } = countItems(sql, lane);
  const row = readLane(sql, lane);
  return {
    ...counts,
    refused: row.refused,
    ...(row.dropped > 0 && { dropped: row.dropped }),
    ...(row.last_error !== null && { lastError: { message: row.last_error, at: row.last_error_at ?? "" } }),
    ...(row.last_delivery_at !== null && { lastDeliveryAt: row.last_delivery_at }),
    ...(row.blocked !== null && { blocked: row.blocked }),
  };
}

export function readItems(sql: SqliteFile, lane: number): readonly OutboxItem[] {
  const items = `SELECT ${ITEM_COLUMNS} FROM items WHERE lane = :lane AND state IN ('waiting', 'held') ORDER BY id`;
  return sql.all<ItemRow>(items, { lane }).map(toItem);
}

function toItem({ id, kind, session_id: sessionId, body, created_at: createdAt }: ItemRow): OutboxItem {
  return { id, kind, sessionId, body: outsideJsonOr(body, null), createdAt };
}

/** Undefined: it was delivered or erased. */
export function findItem(
  sql: SqliteFile,
  lane: number,
  id: number,
): { readonly state: string; readonly error: string | null } | undefined {
  const find = "SELECT state, error FROM items WHERE id = :id AND lane = :lane AND state <> 'sent'";
  return sql.get(find, { id, lane });
}

// ---- Adding and holding back ----

export type AddRequest = {
  readonly item: NewItem;
  /** The JSON of the item's body. */
  readonly body: string;
  readonly holder: string;
  readonly now: Date;
  readonly maxItems: number;
  readonly maxBytes: number;
};

export function addItem(sql: SqliteFile, key: LaneKey, request: AddRequest): Added {
  const { item, body, now, maxItems, maxBytes } = request;
  const lane = makeLane(sql, key);
  if (item.dedupeKey !== undefined) {
    const values = { lane, key: item.dedupeKey };
    const known = "FROM items WHERE lane = :lane AND dedupe_key = :key";
    sql.run(`DELETE ${known} AND ${IS_OLD_KEY}`, { ...values, since: keysSince(now) });
    if (sql.get(`SELECT 1 ${known}`, values) !== undefined) return { kind: "known" };
  }
  const bytes = Buffer.byteLength(body);
  const counts = countItems(sql, lane);
  const count = counts.waiting + counts.held;
  const isFullOfItems = count >= maxItems;
  if (isFullOfItems || counts.bytes + bytes > maxBytes) {
    sql.run("UPDATE lanes SET refused = refused + 1 WHERE id = :lane", { lane });
    const limit = isFullOfItems ? `${maxItems} writes` : `${maxBytes} bytes`;
    return {
      kind: "full",
      reason: `The outbox of ${key.provider} may hold ${limit} and has ${count} writes with ${counts.bytes} bytes; this one has ${bytes} bytes.`,
    };
  }
  const { lastId: id } = sql.run(
    `INSERT INTO items (lane, state, kind, session_id, body, bytes, dedupe_key, created_at, holder)
     VALUES (:lane, :state, :kind, :sessionId, :body, :bytes, :dedupeKey, :createdAt, :holder)`,
    {
      lane,
      state: item.isHeld ? "held" : "waiting",
      kind: item.kind,
      sessionId: item.sessionId,
      body,
      bytes,
      dedupeKey: item.dedupeKey ?? null,
      createdAt: now.toISOString(),
      holder: item.isHeld ? request.holder : null,
    },
  );
  return { kind: "queued", id };
}

/** `created_at` of a delivered item is the time of the delivery. */
const IS_OLD_KEY = "state = 'sent' AND created_at <= :since";

function keysSince(now: Date): string {
  return new Date(now.getTime() - KEY_LIFETIME_MS).toISOString();
}

export function releaseSession(sql: SqliteFile, lane: number, sessionId: string): void {
  const ofSession = "lane = :lane AND state = 'held' AND session_id = :sessionId";
  sql.run(`UPDATE items SET state = 'waiting', holder = NULL WHERE ${ofSession}`, { lane, sessionId });
}

/** Held items of the holders for which `isGone` is true. */
export function releaseHeld(sql: SqliteFile, lane: number, isGone: (holder: string) => boolean): void {
  for (const holder of holdersOf(sql, lane).filter(isGone)) {
    const held = "lane = :lane AND state = 'held' AND coalesce(holder, '') = :holder";
    sql.run(`UPDATE items SET state = 'waiting', holder = NULL WHERE ${held}`, { lane, holder });
  }
}

export function holdersOf(sql: SqliteFile, lane: number): readonly string[] {
  const holders =
    "SELECT DISTINCT coalesce(holder, '') AS holder FROM items WHERE lane = :lane AND state = 'held'";
  return sql.all<{ holder: string }>(holders, { lane }).map(({ holder }) => holder);
}

// ---- Sending ----

export type Next =
  | { readonly kind: "batch"; readonly batch: Batch }
  | { readonly kind: "nothing" }
  /** Another lane object or process sends. */
  | { readonly kind: "busy" }
  | { readonly kind: "paused"; readonly ms: number };

export type NextRequest = {
  readonly owner: string;
  readonly nowMs: number;
  /** Kinds of pauses that do not count this time. */
  readonly ignores: readonly PauseKind[];
};

/** Why nothing can be sent now. */
export function obstacle(
  sql: SqliteFile,
  lane: number,
  { owner, nowMs, ignores }: NextRequest,
): Exclude<Next, { kind: "batch" }> | undefined {
  if (waitingItems(sql, lane, 1).length === 0) return { kind: "nothing" };
  const row = readLane(sql, lane);
  if (row.lease_owner !== owner && isLeased(row, nowMs)) return { kind: "busy" };
  const ms = row.pause_until - nowMs;
  if (row.pause_kind === null || ms <= 0) return undefined;
  return ignores.includes(row.pause_kind) ? undefined : { kind: "paused", ms };
}

/** The owner sends now, as far as can be known from here. */
function isLeased({ lease_owner: owner, lease_until: until }: LaneRow, nowMs: number): boolean {
  if (owner === null || isDeadHere(owner)) return false;
  return until > nowMs; // its pid may be another program's by now, so what counts is that it goes on renewing
}

/** Takes the lease and counts the attempt: from now on, other processes know that the batch may have reached the server. */
export function takeNext(
  sql: SqliteFile,
  lane: number,
  request: NextRequest & { readonly batchLimit: (kind: string) => number },
): Next {
  const found = obstacle(sql, lane, request);
  if (found !== undefined) return found;
  const rows = nextBatch(sql, lane, request.batchLimit);
  const id = rows[0]?.batch ?? randomUUID();
  for (const row of rows)
    sql.run("UPDATE items SET batch = :batch, attempts = attempts + 1 WHERE id = :id", {
      batch: id,
      id: row.id,
    });
  const lease = "UPDATE lanes SET lease_owner = :owner, lease_until = :until WHERE id = :lane";
  sql.run(lease, { lane, owner: request.owner, until: request.nowMs + LEASE_MS });
  const [first, ...others] = rows.map(toItem);
  if (first === undefined) return { kind: "nothing" };
  const attempt = Math.max(...rows.map(({ attempts }) => attempts)) + 1;
  const { kind, sessionId } = first;
  return { kind: "batch", batch: { id, kind, sessionId, items: [first, ...others], attempt } };
}

/** A batch that was sent before keeps its items; a new one consists of consecutive items of one kind and session. */
function nextBatch(sql: SqliteFile, lane: number, batchLimit: (kind: string) => number): readonly ItemRow[] {
  const [head] = waitingItems(sql, lane, 1);
  if (head === undefined) return [];
  if (head.batch !== null) {
    const members = `SELECT ${ITEM_COLUMNS} FROM items WHERE lane = :lane AND batch = :batch AND state = 'waiting' ORDER BY id`;
    return sql.all<ItemRow>(members, { lane, batch: head.batch });
  }
  const rows = waitingItems(sql, lane, Math.max(1, batchLimit(head.kind)));
  const end = rows.findIndex(
    (row) => row.kind !== head.kind || row.session_id !== head.session_id || row.batch !== null,
  );
  return end === -1 ? rows : rows.slice(0, end);
}

function waitingItems(sql: SqliteFile, lane: number, limit: number): ItemRow[] {
  const oldest = `SELECT ${ITEM_COLUMNS} FROM items WHERE lane = :lane AND state = 'waiting' ORDER BY id LIMIT :limit`;
  return sql.all<ItemRow>(oldest, { lane, limit });
}

/** False when another process has the lease now. */
export function renewLease(sql: SqliteFile, lane: number, owner: string, nowMs: number): boolean {
  const renew = "UPDATE lanes SET lease_until = :until WHERE id = :lane AND lease_owner = :owner";
  return sql.run(renew, { lane, owner, until: nowMs + LEASE_MS }).changes > 0;
}

export function giveUpLease(sql: SqliteFile, lane: number, owner: string): void {
  sql.run("UPDATE lanes SET lease_owner = NULL WHERE id = :lane AND lease_owner = :owner", { lane, owner });
}

// ---- Answers of the server ----

export type Settlement = {
  readonly owner: string;
  readonly batch: Batch;
  readonly delivery: Delivery;
  readonly now: Date;
  readonly pauses: Pauses;
};

/** `dead`: the batch became a dead letter. */
export type Settled = "delivered" | "split" | "dead" | "paused" | "taken-over";

export function settle(sql: SqliteFile, lane: number, settlement: Settlement): Settled {
  const { owner, batch, delivery, now } = settlement;
  // Also when another process has taken over meanwhile, so that it does not send the items again.
  if (delivery.kind === "delivered") return settleDelivered(sql, lane, batch, now);
  const row = readLane(sql, lane);
  if (row.lease_owner !== owner) return "taken-over";
  const { reason } = delivery;
  sql.run("UPDATE lanes SET last_error = :reason, last_error_at = :at WHERE id = :lane", {
    lane,
    reason,
    at: now.toISOString(),
  });
  if ("isUnsent" in delivery && delivery.isUnsent === true)
    sql.run("UPDATE items SET attempts = attempts - 1 WHERE batch = :batch", { batch: batch.id });
  if (delivery.kind === "refused") {
    const settled = settleRefused(sql, lane, batch, reason);
    if (settled !== "paused") return settled;
  }
  if (delivery.kind === "blocked")
    sql.run("UPDATE lanes SET blocked = :reason WHERE id = :lane", { lane, reason });
  pauseLane(sql, row, settlement);
  return "paused";
}

function settleDelivered(sql: SqliteFile, lane: number, { items }: Batch, now: Date): "delivered" {
  const at = now.toISOString();
  for (const { id } of items) {
    sql.run(
      `UPDATE items SET state = 'sent', kind = '', session_id = '', body = '', bytes = 0, batch = NULL, error = NULL, created_at = :at
       WHERE id = :id AND dedupe_key IS NOT NULL`,
      { id, at },
    );
    sql.run("DELETE FROM items WHERE id = :id AND state <> 'sent'", { id });
  }
  // A few of the oldest, so that the work does not grow with their number.
  const oldest = "SELECT id FROM items WHERE lane = :lane AND state = 'sent' ORDER BY id LIMIT 100";
  sql.run(`DELETE FROM items WHERE ${IS_OLD_KEY} AND id IN (${oldest})`, { lane, since: keysSince(now) });
  deleteBeyond(sql, lane, "sent", MOST_KEYS);
  sql.run(
    `UPDATE lanes SET last_delivery_at = :at, last_error = NULL, last_error_at = NULL, blocked = NULL, failures = 0, pause_kind = NULL
     WHERE id = :lane`,
    { lane, at },
  );
  return "delivered";
}

/** The items of a refused batch are sent again one by one; an item that is refused three times becomes a dead letter. */
function settleRefused(
  sql: SqliteFile,
  lane: number,
  batch: Batch,
  error: string,
): "split" | "dead" | "paused" {
  sql.run("UPDATE lanes SET blocked = NULL WHERE id = :lane", { lane }); // the key was accepted
  sql.run("UPDATE items SET refusals = refusals + 1 WHERE batch = :batch", { batch: batch.id });
  const isSplit = batch.items.length > 1;
  const [{ id }] = batch.items;
  const refusals =
    sql.get<{ refusals: number }>("SELECT refusals FROM items WHERE id = :id", { id })?.refusals ?? 0;
  if (!isSplit && refusals < REFUSALS_UNTIL_DEAD) return "paused";
  for (const item of batch.items)
    sql.run(
      `UPDATE items SET state = :state, error = :error, batch = :own, attempts = attempts - refusals, refusals = 0
       WHERE id = :id AND batch = :batch`,
      {
        id: item.id,
        batch: batch.id,
        own: isSplit ? randomUUID() : null,
        state: isSplit ? "waiting" : "dead",
        error: isSplit ? null : error,
      },
    );
  if (isSplit) return "split";
  const dropped = deleteBeyond(sql, lane, "dead", MOST_DEAD);
  sql.run("UPDATE lanes SET dropped = dropped + :dropped, failures = 0, pause_kind = NULL WHERE id = :lane", {
    lane,
    dropped,
  });
  return "dead";
}

/** All but the newest `most`. Returns how many. */
function deleteBeyond(sql: SqliteFile, lane: number, state: "sent" | "dead", most: number): number {
  return sql.run(
    `DELETE FROM items WHERE lane = :lane AND state = :state AND id <=
       (SELECT id FROM items WHERE lane = :lane AND state = :state ORDER BY id DESC LIMIT 1 OFFSET :most)`,
    { lane, state, most },
  ).changes;
}

function pauseLane(sql: SqliteFile, row: LaneRow, { delivery, now, pauses }: Settlement): void {
  const jitter = 1 + 0.2 * Math.random();
  const growing = Math.min(pauses.longestMs, pauses.firstMs * 2 ** Math.min(row.failures, 30)) * jitter;
  const asked = delivery.kind === "later" ? Math.min(delivery.retryAfterMs ?? 0, LONGEST_PAUSE_MS) : 0;
  const kind = delivery.kind === "later" && asked > 0 ? "asked" : delivery.kind;
  const ms = kind === "blocked" ? pauses.blockedMs : Math.max(growing, asked);
  sql.run(
    "UPDATE lanes SET failures = failures + 1, pause_kind = :kind, pause_until = :until WHERE id = :lane",
    { lane: row.id, kind, until: now.getTime() + Math.ceil(ms) },
  );
}

// ---- Erasing ----

/** Only items that cannot have reached the server. */
export function deleteUnsent(sql: SqliteFile, ids: readonly number[]): number {
  const unsent = "DELETE FROM items WHERE id = :id AND attempts = 0 AND state IN ('waiting', 'held')";
  return ids.reduce((sum, id) => sum + sql.run(unsent, { id }).changes, 0);
}

/** Ids of items of the lane, dead ones included, that contain the text: in a string, key or number of the body, or in the error. */
export function idsWith(sql: SqliteFile, lane: number, text: string): readonly number[] {
  // The JSON of a text is part of the JSON of every text that contains it. The reverse is not true: "n" is part of "\\n".
  const rows = sql.all<{ id: number; body: string; error: string | null; dedupe_key: string | null }>(
    `SELECT id, body, error, dedupe_key FROM items WHERE lane = :lane AND state <> 'sent'
       AND (instr(body, :json) > 0 OR instr(error, :text) > 0 OR instr(dedupe_key, :text) > 0) ORDER BY id`,
    { lane, text, json: JSON.stringify(text).slice(1, -1) },
  );
  return rows
    .filter(({ body, error, dedupe_key }) =>
      [error ?? "", dedupe_key ?? "", ...textsIn(body)].some((part) => part.includes(text)),
    )
    .map(({ id }) => id);
}

/** All strings, numbers and, unless left out, keys of a JSON text, in order; of a text that is not JSON, the text. */
export function textsIn(json: string, withKeys = true): readonly string[] {
  const texts: string[] = [];
  JSON.stringify(outsideJsonOr(json, json), function (this: unknown, key, value: unknown) {
    if (withKeys && isRecord(this)) texts.push(key);
    if (typeof value === "string" || typeof value === "number") texts.push(String(value));
    return value;
  });
  return texts;
}

/** Of any state, also out of the batch that is being sent, whose other items then go into new batches. */
export function eraseItems(sql: SqliteFile, ids: readonly number[]): number {
  const dissolve = "UPDATE items SET batch = NULL WHERE batch = (SELECT batch FROM items WHERE id = :id)";
  for (const id of ids) sql.run(dissolve, { id });
  const erase = "DELETE FROM items WHERE id = :id AND state <> 'sent'";
  return ids.reduce((sum, id) => sum + sql.run(erase, { id }).changes, 0);
}

/** Returns how many items were erased. */
export function eraseText(sql: SqliteFile, lane: number, text: string): number {
  sql.run("DELETE FROM items WHERE lane = :lane AND state = 'sent' AND instr(dedupe_key, :text) > 0", {
    lane,
    text,
  });
  for (const column of ["last_error", "blocked"])
    sql.run(`UPDATE lanes SET ${column} = NULL WHERE id = :lane AND instr(${column}, :text) > 0`, {
      lane,
      text,
    });
  return eraseItems(sql, idsWith(sql, lane, text));
}

/** Items and mirrors. Returns how many items; mirrors only name what the server counts. */
export function eraseLane(sql: SqliteFile, lane: number): number {
  const { waiting, held, dead } = countItems(sql, lane);
  for (const table of ["items", "mirrors"]) sql.run(`DELETE FROM ${table} WHERE lane = :lane`, { lane });
  sql.run(
    "UPDATE lanes SET last_error = NULL, last_error_at = NULL, blocked = NULL, pause_kind = NULL, failures = 0 WHERE id = :lane",
    { lane },
  );
  return waiting + held + dead;
}

/** Someone sends one of these items now. */
export function isSending(sql: SqliteFile, lane: number, ids: readonly number[], nowMs: number): boolean {
  if (!isLeased(readLane(sql, lane), nowMs)) return false;
  const sent = "SELECT 1 FROM items WHERE id = :id AND batch IS NOT NULL AND attempts > 0";
  return ids.some((id) => sql.get(sent, { id }) !== undefined);
}

// ---- Mirrors ----

export function addMirror(sql: SqliteFile, key: LaneKey, { target, text, remoteId }: Mirrored): void {
  sql.run(
    "INSERT OR IGNORE INTO mirrors (lane, target, text, remote_id) VALUES (:lane, :target, :text, :remoteId)",
    { lane: makeLane(sql, key), target, text, remoteId },
  );
}

export function mirrorsContaining(sql: SqliteFile, lane: number, text: string): readonly Mirrored[] {
  const rows = sql.all<Mirrored>(
    "SELECT target, text, remote_id AS remoteId FROM mirrors WHERE lane = :lane AND instr(text, :text) > 0 ORDER BY id",
    { lane, text },
  );
  return rows.map((row) => ({ ...row }));
}

export function removeMirror(sql: SqliteFile, lane: number, { target, text, remoteId }: Mirrored): void {
  const where = "lane = :lane AND target = :target AND text = :text AND remote_id = :remoteId";
  sql.run(`DELETE FROM mirrors WHERE ${where}`, { lane, target, text, remoteId });
}
