// Batches of one lane: which items are sent next, by whom, and what an answer of the server changes. Every function runs within one
// transaction of the caller.
import { randomUUID } from "node:crypto";
import {
  findLane,
  ITEM_COLUMNS,
  type ItemRow,
  KEY_LIFETIME_MS,
  type LaneKey,
  type LaneRow,
  type PauseKind,
  toItem,
} from "./queue.ts";
import type { Sql } from "./sql.ts";
import type { Batch, Delivery } from "./types.ts";

export const LEASE_MS = 60_000;
/** Longest that a server can ask for. */
const LONGEST_PAUSE_MS = 10 * 60_000;
const REFUSALS_UNTIL_DEAD = 3;
const MOST_DEAD = 1_000;
const MOST_KEYS = 10_000;

type BatchRow = { readonly id: string; readonly attempts: number; readonly refusals: number };

// ---- Sending ----

export type Next =
  | { readonly kind: "batch"; readonly batch: Batch }
  | { readonly kind: "nothing" }
  /** Another lane object or process sends. */
  | { readonly kind: "busy" }
  | { readonly kind: "paused"; readonly pause: PauseKind; readonly ms: number };

export type NextRequest = {
  readonly owner: string;
  readonly nowMs: number;
  /** Kinds of pauses that do not count this time. */
  readonly ignores: readonly PauseKind[];
  readonly mayTakeOver: (owner: string, untilMs: number) => boolean;
};

/** What the sender would find now; without a transaction. */
export function peekNext(
  sql: Sql,
  key: LaneKey,
  request: NextRequest,
): Exclude<Next, { kind: "batch" }> | undefined {
  const lane = findLane(sql, key);
  return lane === undefined ? { kind: "nothing" } : obstacle(lane, request);
}

function obstacle(lane: LaneRow, request: NextRequest): Exclude<Next, { kind: "batch" }> | undefined {
  // With its own lease, the caller goes on and gives it up.
  if (lane.waiting === 0 && lane.lease_owner !== request.owner) return { kind: "nothing" };
  const { lease_owner: owner, lease_until: until } = lane;
  if (owner !== null && owner !== request.owner && !request.mayTakeOver(owner, until))
    return { kind: "busy" };
  const ms = lane.pause_until - request.nowMs;
  // A longer pause than any that is ever made: the clock was set back.
  if (lane.pause_kind === null || ms <= 0 || ms > LONGEST_PAUSE_MS) return undefined;
  return request.ignores.includes(lane.pause_kind)
    ? undefined
    : { kind: "paused", pause: lane.pause_kind, ms };
}

/** Takes the lease and counts the attempt: from now on, other processes know that the batch may have reached the server. */
export function takeNext(
  sql: Sql,
  key: LaneKey,
  request: NextRequest & { readonly batchLimit: (kind: string) => number },
): Next {
  const lane = findLane(sql, key);
  if (lane === undefined) return { kind: "nothing" };
  const found = obstacle(lane, request);
  const batch = found === undefined ? nextBatch(sql, lane.id, request.batchLimit) : undefined;
  if (batch === undefined) {
    giveUpLease(sql, key, request.owner);
    return found ?? { kind: "nothing" };
  }
  keepLease(sql, key, request.owner, request.nowMs, true);
  return { kind: "batch", batch };
}

function nextBatch(sql: Sql, lane: number, batchLimit: (kind: string) => number): Batch | undefined {
  const begun = sql.get<BatchRow>("SELECT id, attempts, refusals FROM batches WHERE lane = :lane", { lane });
  const rows = begun === undefined ? formBatch(sql, lane, batchLimit) : membersOf(sql, lane);
  const items = rows
    .map((row) => toItem(row) ?? buryUnreadable(sql, lane, row.id))
    .filter((item) => item !== undefined);
  const [first, ...others] = items;
  if (first === undefined || items.length < rows.length) {
    dissolveBatch(sql, lane);
    return rows.length === 0 && begun === undefined ? undefined : nextBatch(sql, lane, batchLimit);
  }
  const id = begun?.id ?? randomUUID();
  const attempt = (begun?.attempts ?? Math.max(...rows.map((row) => row.prior_attempts))) + 1;
  sql.run(
    `INSERT INTO batches (lane, id, attempts) VALUES (:lane, :id, :attempt)
     ON CONFLICT (lane) DO UPDATE SET attempts = :attempt`,
    { lane, id, attempt },
  );
  return { id, kind: first.kind, sessionId: first.sessionId, items: [first, ...others], attempt };
}

export function membersOf(sql: Sql, lane: number): ItemRow[] {
  return sql.all<ItemRow>(
    `SELECT ${ITEM_COLUMNS} FROM items WHERE lane = :lane AND in_batch = 1 ORDER BY id`,
    { lane },
  );
}

function formBatch(sql: Sql, lane: number, batchLimit: (kind: string) => number): ItemRow[] {
  const oldest = `SELECT ${ITEM_COLUMNS} FROM items WHERE lane = :lane AND state = 'waiting' ORDER BY id LIMIT :limit`;
  const [head] = sql.all<ItemRow>(oldest, { lane, limit: 1 });
  if (head === undefined) return [];
  const limit = head.is_alone === 1 ? 1 : Math.max(1, Math.floor(batchLimit(head.kind)) || 1);
  const rows = sql.all<ItemRow>(oldest, { lane, limit });
  const isOther = (row: ItemRow) =>
    row.kind !== head.kind || row.session_id !== head.session_id || row.is_alone !== head.is_alone;
  const end = rows.findIndex(isOther);
  const members = end === -1 ? rows : rows.slice(0, end);
  for (const { id } of members) sql.run("UPDATE items SET in_batch = 1 WHERE id = :id", { id });
  return members;
}

function buryUnreadable(sql: Sql, lane: number, id: number): undefined {
  bury(sql, lane, [id], "The stored text is damaged.");
}

/** The items go into new batches, as if each attempt that was not refused may have reached the server. */
export function dissolveBatch(sql: Sql, lane: number, isAlone = false): void {
  const batch = sql.get<BatchRow>("SELECT id, attempts, refusals FROM batches WHERE lane = :lane", { lane });
  sql.run(
    `UPDATE items SET in_batch = 0, is_alone = max(is_alone, :isAlone), prior_attempts = max(prior_attempts, :prior)
     WHERE lane = :lane AND in_batch = 1`,
    { lane, isAlone: isAlone ? 1 : 0, prior: batch === undefined ? 0 : batch.attempts - batch.refusals },
  );
  sql.run("DELETE FROM batches WHERE lane = :lane", { lane });
}

/** False when another process has the lease now. */
export function keepLease(sql: Sql, key: LaneKey, owner: string, nowMs: number, isTaking = false): boolean {
  const lane = findLane(sql, key);
  if (lane === undefined || (!isTaking && lane.lease_owner !== owner)) return false;
  const values = { id: lane.id, owner, until: nowMs + LEASE_MS };
  return sql.run("UPDATE lanes SET lease_owner = :owner, lease_until = :until WHERE id = :id", values) > 0;
}

export function giveUpLease(sql: Sql, { provider, user }: LaneKey, owner: string): void {
  sql.run(
    "UPDATE lanes SET lease_owner = NULL WHERE provider = :provider AND user = :user AND lease_owner = :owner",
    { provider, user, owner },
  );
}

// ---- Outcomes ----

/** Pauses in milliseconds. */
export type Pauses = { readonly firstMs: number; readonly longestMs: number; readonly blockedMs: number };

export type Outcome =
  | Delivery
  /** The lane was closed, or the items were erased, while the batch was being sent. */
  | { readonly kind: "aborted" };

export type Settlement = {
  readonly owner: string;
  readonly batch: Batch;
  readonly outcome: Outcome;
  readonly now: Date;
  readonly pauses: Pauses;
  /** From 0 to 1. */
  readonly jitter: number;
};

/** `dead`: the batch became dead letters. The lease is kept only after `delivered`, `split` and `dead`, if something waits. */
export type Settled = "delivered" | "split" | "dead" | "paused" | "aborted";

export function settle(sql: Sql, key: LaneKey, settlement: Settlement): Settled {
  const settled = settleOutcome(sql, key, settlement);
  if (findLane(sql, key)?.waiting === 0) giveUpLease(sql, key, settlement.owner);
  return settled;
}

function settleOutcome(sql: Sql, key: LaneKey, settlement: Settlement): Settled {
  const { owner, outcome } = settlement;
  const lane = findLane(sql, key);
  if (lane === undefined) return "aborted";
  // Also when another process has taken over meanwhile, so that it does not send the items again.
  if (outcome.kind === "delivered") return settleDelivered(sql, lane.id, settlement);
  if (outcome.kind === "aborted" || lane.lease_owner !== owner) {
    giveUpLease(sql, key, owner);
    return "aborted";
  }
  noteError(sql, lane.id, outcome.reason, settlement.now);
  if ("isUnsent" in outcome && outcome.isUnsent === true)
    sql.run("UPDATE batches SET attempts = attempts - 1 WHERE lane = :lane AND id = :id", {
      lane: lane.id,
      id: settlement.batch.id,
    });
  if (outcome.kind === "refused") {
    const settled = settleRefused(sql, lane.id, settlement, outcome.reason);
    if (settled !== "paused") return settled;
  }
  if (outcome.kind === "blocked")
    sql.run("UPDATE lanes SET blocked = :reason WHERE id = :id", { id: lane.id, reason: outcome.reason });
  pauseLane(sql, lane, settlement);
  giveUpLease(sql, key, owner);
  return "paused";
}

function settleDelivered(sql: Sql, lane: number, { batch, now }: Settlement): "delivered" {
  const at = now.getTime();
  for (const { id } of batch.items) {
    sql.run(
      `INSERT INTO delivered_keys (lane, dedupe_key, at) SELECT lane, dedupe_key, :at FROM items WHERE id = :id AND dedupe_key IS NOT NULL
       ON CONFLICT (lane, dedupe_key) DO UPDATE SET at = :at`,
      { id, at },
    );
    sql.run("DELETE FROM items WHERE id = :id", { id });
  }
  sql.run("DELETE FROM delivered_keys WHERE lane = :lane AND at <= :since", {
    lane,
    since: at - KEY_LIFETIME_MS,
  });
  sql.run(
    `DELETE FROM delivered_keys WHERE lane = :lane AND id <=
       (SELECT id FROM delivered_keys WHERE lane = :lane ORDER BY id DESC LIMIT 1 OFFSET ${MOST_KEYS})`,
    { lane },
  );
  sql.run("DELETE FROM batches WHERE lane = :lane AND id = :id", { lane, id: batch.id });
  sql.run(
    `UPDATE lanes SET last_delivery_at = :at, last_error = NULL, last_error_at = NULL, blocked = NULL, failures = 0, pause_kind = NULL
     WHERE id = :lane`,
    { lane, at: now.toISOString() },
  );
  return "delivered";
}

function settleRefused(
  sql: Sql,
  lane: number,
  { batch }: Settlement,
  reason: string,
): "split" | "dead" | "paused" {
  sql.run("UPDATE lanes SET blocked = NULL WHERE id = :lane", { lane }); // the key was accepted
  sql.run("UPDATE batches SET refusals = refusals + 1 WHERE lane = :lane AND id = :id", {
    lane,
    id: batch.id,
  });
  const row = sql.get<BatchRow>("SELECT id, attempts, refusals FROM batches WHERE lane = :lane", { lane });
  if (row?.id !== batch.id) return "split"; // erased in part while it was being sent
  if (batch.items.length > 1) {
    dissolveBatch(sql, lane, true);
    return "split";
  }
  if (row.refusals < REFUSALS_UNTIL_DEAD) return "paused";
  dissolveBatch(sql, lane, true);
  bury(
    sql,
    lane,
    batch.items.map(({ id }) => id),
    reason,
  );
  sql.run("UPDATE lanes SET failures = 0, pause_kind = NULL WHERE id = :lane", { lane });
  return "dead";
}

function bury(sql: Sql, lane: number, ids: readonly number[], error: string): void {
  for (const id of ids)
    sql.run("UPDATE items SET state = 'dead', error = :error, in_batch = 0 WHERE id = :id", { id, error });
  const dropped = sql.run(
    `DELETE FROM items WHERE lane = :lane AND state = 'dead' AND id <=
       (SELECT id FROM items WHERE lane = :lane AND state = 'dead' ORDER BY id DESC LIMIT 1 OFFSET ${MOST_DEAD})`,
    { lane },
  );
  if (dropped > 0)
    sql.run("UPDATE lanes SET dropped = dropped + :dropped WHERE id = :lane", { lane, dropped });
}

function noteError(sql: Sql, lane: number, message: string, at: Date): void {
  const values = { lane, message, at: at.toISOString() };
  sql.run("UPDATE lanes SET last_error = :message, last_error_at = :at WHERE id = :lane", values);
}

function pauseLane(sql: Sql, lane: LaneRow, { outcome, now, pauses, jitter }: Settlement): void {
  const growing =
    Math.min(pauses.longestMs, pauses.firstMs * 2 ** Math.min(lane.failures, 30)) * (1 + 0.2 * jitter);
  const asked = outcome.kind === "later" ? Math.min(outcome.retryAfterMs ?? 0, LONGEST_PAUSE_MS) : 0;
  const kind: PauseKind =
    outcome.kind === "blocked" || outcome.kind === "refused" ? outcome.kind : asked > 0 ? "asked" : "later";
  const ms = kind === "blocked" ? pauses.blockedMs : Math.max(growing, asked);
  sql.run(
    "UPDATE lanes SET failures = failures + 1, pause_kind = :kind, pause_until = :until WHERE id = :id",
    {
      id: lane.id,
      kind,
      until: now.getTime() + Math.ceil(ms),
    },
  );
}
