// The rows of one lane: state, items, adding, holding back. Every function runs within one transaction of the caller.
import type { Sql } from "./sql.ts";
import type { Added, LaneState, NewItem, OutboxItem } from "./types.ts";

/** How long the key of a delivered item is remembered. */
export const KEY_LIFETIME_MS = 7 * 24 * 3_600_000;

export type LaneKey = { readonly provider: string; readonly user: string };

/** Why the lane waits: `asked` by the server's Retry-After. */
export type PauseKind = "later" | "asked" | "blocked" | "refused";

export type LaneRow = {
  readonly id: number;
  readonly waiting: number;
  readonly held: number;
  readonly dead: number;
  readonly bytes: number;
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

export type ItemRow = {
  readonly id: number;
  readonly kind: string;
  readonly session_id: string;
  readonly body: string;
  readonly created_at: string;
  readonly is_alone: number;
  readonly prior_attempts: number;
};

const LANE_COLUMNS = `id, waiting, held, dead, bytes, refused, dropped, last_error, last_error_at, last_delivery_at, blocked, failures,
  pause_kind, pause_until, lease_owner, lease_until`;
const LANE = `SELECT ${LANE_COLUMNS} FROM lanes WHERE provider = :provider AND user = :user`;
export const ITEM_COLUMNS = "id, kind, session_id, body, created_at, is_alone, prior_attempts";

export function findLane(sql: Sql, { provider, user }: LaneKey): LaneRow | undefined {
  return sql.get<LaneRow>(LANE, { provider, user });
}

export function makeLane(sql: Sql, key: LaneKey): LaneRow {
  const known = findLane(sql, key);
  if (known !== undefined) return known;
  sql.run("INSERT INTO lanes (provider, user) VALUES (:provider, :user)", key);
  return findLane(sql, key) as LaneRow;
}

// ---- State ----

export const EMPTY_STATE: LaneState = { waiting: 0, held: 0, dead: 0, refused: 0 };

export function readState(sql: Sql, key: LaneKey): LaneState {
  const row = findLane(sql, key);
  return row === undefined ? EMPTY_STATE : toState(row);
}

export function readStates(sql: Sql): readonly (LaneKey & { readonly state: LaneState })[] {
  const rows = sql.all<LaneRow & LaneKey>(
    `SELECT provider, user, ${LANE_COLUMNS} FROM lanes ORDER BY provider, user`,
  );
  return rows.map((row) => ({ provider: row.provider, user: row.user, state: toState(row) }));
}

function toState(row: LaneRow): LaneState {
  return {
    waiting: row.waiting,
    held: row.held,
    dead: row.dead,
    refused: row.refused,
    ...(row.dropped > 0 && { dropped: row.dropped }),
    ...(row.last_error !== null && { lastError: { message: row.last_error, at: row.last_error_at ?? "" } }),
    ...(row.last_delivery_at !== null && { lastDeliveryAt: row.last_delivery_at }),
    ...(row.blocked !== null && { blocked: row.blocked }),
  };
}

export function readItems(sql: Sql, key: LaneKey): readonly OutboxItem[] {
  return rowsOf(sql, key, "state IN ('waiting', 'held')").flatMap((row) => toItem(row) ?? []);
}

/** `error`: why the server refused a dead one. */
export function findItem(
  sql: Sql,
  key: LaneKey,
  id: number,
): { readonly state: "waiting" | "dead"; readonly error?: string } | undefined {
  const lane = findLane(sql, key)?.id ?? null;
  const row = sql.get<{ state: string; error: string | null }>(
    "SELECT state, error FROM items WHERE id = :id AND lane = :lane",
    { id, lane },
  );
  if (row === undefined) return undefined;
  return { state: row.state === "dead" ? "dead" : "waiting", error: row.error ?? undefined };
}

/** Undefined for a body that is not JSON: only a damaged file has one. */
export function toItem(row: ItemRow): OutboxItem | undefined {
  const { id, kind, session_id: sessionId, created_at: createdAt } = row;
  try {
    return { id, kind, sessionId, body: JSON.parse(row.body), createdAt };
  } catch {
    return undefined;
  }
}

function rowsOf(sql: Sql, key: LaneKey, where: string): ItemRow[] {
  const lane = findLane(sql, key)?.id;
  if (lane === undefined) return [];
  return sql.all<ItemRow>(`SELECT ${ITEM_COLUMNS} FROM items WHERE lane = :lane AND ${where} ORDER BY id`, {
    lane,
  });
}

// ---- Adding ----

export type AddRequest = {
  readonly item: NewItem;
  /** The JSON of the item's body. */
  readonly body: string;
  readonly holder: string;
  readonly now: Date;
  readonly maxItems: number;
  readonly maxBytes: number;
};

export function addItem(sql: Sql, key: LaneKey, request: AddRequest): Added {
  const { item, body, now, maxItems, maxBytes } = request;
  const lane = makeLane(sql, key);
  if (item.dedupeKey !== undefined && isKnownKey(sql, lane.id, item.dedupeKey, now)) return { kind: "known" };
  const bytes = Buffer.byteLength(body);
  const count = lane.waiting + lane.held;
  const isFullOfItems = count >= maxItems;
  if (isFullOfItems || lane.bytes + bytes > maxBytes) {
    sql.run("UPDATE lanes SET refused = refused + 1 WHERE id = :id", { id: lane.id });
    const limit = isFullOfItems ? `${maxItems} writes` : `${maxBytes} bytes`;
    return {
      kind: "full",
      reason: `The outbox of ${key.provider} may hold ${limit} and has ${count} writes with ${lane.bytes} bytes; this one has ${bytes} bytes.`,
    };
  }
  const id = sql.insert(
    `INSERT INTO items (lane, state, kind, session_id, body, bytes, dedupe_key, created_at, holder)
     VALUES (:lane, :state, :kind, :sessionId, :body, :bytes, :dedupeKey, :createdAt, :holder)`,
    {
      lane: lane.id,
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

function isKnownKey(sql: Sql, lane: number, dedupeKey: string, now: Date): boolean {
  const values = { lane, dedupeKey };
  if (sql.get("SELECT 1 FROM items WHERE lane = :lane AND dedupe_key = :dedupeKey", values) !== undefined)
    return true;
  const since = now.getTime() - KEY_LIFETIME_MS;
  const delivered =
    "SELECT 1 FROM delivered_keys WHERE lane = :lane AND dedupe_key = :dedupeKey AND at > :since";
  return sql.get(delivered, { ...values, since }) !== undefined;
}

/** As `addItem` sees it. */
export function isKnown(sql: Sql, key: LaneKey, dedupeKey: string, now: Date): boolean {
  const lane = findLane(sql, key);
  return lane !== undefined && isKnownKey(sql, lane.id, dedupeKey, now);
}

// ---- Moving to another database ----

/** An item that has not been delivered. */
export type MovedEntry = {
  readonly id: number;
  readonly item: Omit<NewItem, "body">;
  /** JSON. */
  readonly body: string;
  readonly createdAt: string;
  /** Attempts that may have reached the server. */
  readonly attempts: number;
};

type EntryRow = ItemRow & {
  readonly state: string;
  readonly dedupe_key: string | null;
  readonly attempts: number;
};

export function readEntries(sql: Sql, key: LaneKey): readonly MovedEntry[] {
  const lane = findLane(sql, key)?.id;
  if (lane === undefined) return [];
  const rows = sql.all<EntryRow>(
    `SELECT ${ITEM_COLUMNS}, state, dedupe_key,
       max(prior_attempts, in_batch * coalesce((SELECT attempts - refusals FROM batches WHERE batches.lane = items.lane), 0)) AS attempts
     FROM items WHERE lane = :lane AND state IN ('waiting', 'held') ORDER BY id`,
    { lane },
  );
  return rows.map(({ id, kind, session_id: sessionId, body, created_at: createdAt, ...row }) => ({
    id,
    item: { kind, sessionId, dedupeKey: row.dedupe_key ?? undefined, isHeld: row.state === "held" },
    body,
    createdAt,
    attempts: row.attempts,
  }));
}

export function addEntry(
  sql: Sql,
  key: LaneKey,
  { item, body, createdAt, attempts }: MovedEntry,
  limits: Pick<AddRequest, "holder" | "maxItems" | "maxBytes">,
): Added {
  const request = { item: { ...item, body: undefined }, body, now: new Date(createdAt), ...limits };
  const added = addItem(sql, key, request);
  if (added.kind === "queued" && attempts > 0)
    sql.run("UPDATE items SET prior_attempts = :attempts WHERE id = :id", { id: added.id, attempts });
  return added;
}

export function discardItems(sql: Sql, key: LaneKey, ids: readonly number[]): void {
  const lane = findLane(sql, key)?.id;
  if (lane === undefined) return;
  for (const id of ids) sql.run("DELETE FROM items WHERE id = :id AND lane = :lane", { id, lane });
  if (sql.get("SELECT 1 FROM items WHERE lane = :lane AND in_batch = 1", { lane }) === undefined)
    sql.run("DELETE FROM batches WHERE lane = :lane", { lane });
}

/** Holders of held items, each once. */
export function readHolders(sql: Sql, key: LaneKey): readonly string[] {
  const lane = findLane(sql, key);
  if (lane === undefined || lane.held === 0) return [];
  const holders =
    "SELECT DISTINCT coalesce(holder, '') AS holder FROM items WHERE lane = :lane AND state = 'held'";
  return sql.all<{ holder: string }>(holders, { lane: lane.id }).map(({ holder }) => holder);
}

export type ReleaseScope = { readonly sessionId: string } | { readonly holders: readonly string[] };

export function releaseHeld(sql: Sql, key: LaneKey, scope: ReleaseScope): number {
  const lane = findLane(sql, key)?.id;
  if (lane === undefined) return 0;
  const release = (where: string, value: string) =>
    sql.run(
      `UPDATE items SET state = 'waiting', holder = NULL WHERE lane = :lane AND state = 'held' AND ${where} = :value`,
      { lane, value },
    );
  if ("sessionId" in scope) return release("session_id", scope.sessionId);
  return scope.holders.reduce((sum, holder) => sum + release("coalesce(holder, '')", holder), 0);
}
