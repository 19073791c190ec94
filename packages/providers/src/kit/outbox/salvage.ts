// What can still be read of a damaged outbox: every page is looked at by itself, because SQLite stops at the first bad one. Rows are
// recognised by their columns; a row whose lane cannot be read belongs to nobody and is left out.
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isWholePage, PageFile, textOf, type Value } from "@hermes-memory/core/internal/sqlite-pages";
import { type LaneKey, makeLane } from "./queue.ts";
import type { Sql } from "./sql.ts";

/** The event loop stands still meanwhile. */
const LONGEST_MS = 3_000;

type LaneRow = LaneKey & { readonly id: number };
type ItemRow = {
  readonly id: number;
  readonly lane: number;
  readonly state: string;
  readonly kind: string;
  readonly sessionId: string;
  readonly body: string;
  readonly dedupeKey: string | null;
  readonly createdAt: string;
  readonly isAlone: number;
  readonly attempts: number;
  readonly error: string | null;
};
type MirrorRow = {
  readonly lane: number;
  readonly target: string;
  readonly text: string;
  readonly remoteId: string;
};
type KeyRow = { readonly lane: number; readonly dedupeKey: string; readonly at: number };

export type Salvage = {
  readonly lanes: readonly LaneRow[];
  /** Oldest first. */
  readonly items: readonly ItemRow[];
  readonly mirrors: readonly MirrorRow[];
  readonly keys: readonly KeyRow[];
};

/** Changes nothing at the file. Never throws: what cannot be read is not there. */
export function readDamaged(path: string): Salvage {
  const found = { lanes: [] as LaneRow[], items: new Map<number, ItemRow>(), mirrors: [] as MirrorRow[] };
  const keys: KeyRow[] = [];
  let copy: Copy | undefined;
  try {
    copy = copyWithLog(path);
    using file = new PageFile(copy?.path ?? path);
    const until = performance.now() + LONGEST_MS;
    for (const { id, values } of rowsIn(file, until)) {
      const lane = toLane(id, values);
      if (lane !== undefined) found.lanes.push(lane);
      const item = toItem(id, values);
      if (item !== undefined) found.items.set(id, item);
      const mirror = toMirror(values);
      if (mirror !== undefined) found.mirrors.push(mirror);
      const key = toKey(values);
      if (key !== undefined) keys.push(key);
    }
  } catch {
    // The rows that were read before are used.
  } finally {
    if (copy !== undefined) rmSync(copy.directory, { recursive: true, force: true });
  }
  const items = [...found.items.values()].sort((one, other) => one.id - other.id);
  return { lanes: found.lanes, items, mirrors: found.mirrors, keys };
}

/** Into a new file, within a transaction. Returns how many items it added. */
export function addSalvaged(sql: Sql, { lanes, items, mirrors, keys }: Salvage): number {
  const laneIds = new Map(lanes.map(({ id, provider, user }) => [id, makeLane(sql, { provider, user }).id]));
  let count = 0;
  for (const { lane: old, id: _, ...item } of items) {
    const lane = laneIds.get(old);
    if (lane === undefined) continue;
    const bytes = Buffer.byteLength(item.body);
    count += sql.run(
      `INSERT OR IGNORE INTO items (lane, state, kind, session_id, body, bytes, dedupe_key, created_at, is_alone, prior_attempts, error)
       VALUES (:lane, :state, :kind, :sessionId, :body, :bytes, :dedupeKey, :createdAt, :isAlone, :attempts, :error)`,
      { ...item, lane, bytes },
    );
  }
  for (const { lane: old, ...mirror } of mirrors) {
    const lane = laneIds.get(old);
    if (lane !== undefined)
      sql.run(
        "INSERT OR IGNORE INTO mirrors (lane, target, text, remote_id) VALUES (:lane, :target, :text, :remoteId)",
        { ...mirror, lane },
      );
  }
  for (const { lane: old, ...key } of keys) {
    const lane = laneIds.get(old);
    if (lane !== undefined)
      sql.run("INSERT OR IGNORE INTO delivered_keys (lane, dedupe_key, at) VALUES (:lane, :dedupeKey, :at)", {
        ...key,
        lane,
      });
  }
  return count;
}

// ---- Pages ----

type Copy = { readonly directory: string; readonly path: string };

/** The newest rows may be in the log alone: SQLite moves them into a copy of the file. Undefined when there is no log. */
function copyWithLog(path: string): Copy | undefined {
  if (!existsSync(`${path}-wal`)) return undefined;
  const directory = mkdtempSync(join(dirname(path), `.${basename(path)}-`));
  const copy = { directory, path: join(directory, "outbox.db") };
  copyFileSync(path, copy.path);
  copyFileSync(`${path}-wal`, `${copy.path}-wal`);
  try {
    using db = new DatabaseSync(copy.path);
    db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
  } catch {
    // The log does not belong to this file, or its first page is lost: the file alone is read.
  }
  return copy;
}

function* rowsIn(file: PageFile, until: number): Generator<{ id: number; values: readonly Value[] }> {
  const free = file.freePages();
  for (let number = 2; number <= file.pageCount && performance.now() < until; number += 1) {
    const page = free.has(number) ? undefined : file.page(number);
    const hasRows = page?.kind === "table-leaf" || page?.kind === "index-leaf";
    if (!hasRows || !isWholePage(page, file.header.usable)) continue;
    for (const offset of page.cells) {
      const cell = file.cell(page, offset);
      const values = cell === undefined ? undefined : file.record(cell);
      if (cell !== undefined && values !== undefined) yield { id: Number(cell.rowid), values };
    }
  }
}

// ---- Rows, in the order of the columns in `sql.ts` ----

/** From the table, or from its index, which has the names and the id. */
function toLane(rowid: number, values: readonly Value[]): LaneRow | undefined {
  const isIndex = values.length === 3;
  if (!isIndex && (values.length !== 18 || values[0] !== null)) return undefined;
  const [provider, user] = (isIndex ? [0, 1] : [1, 2]).map((at) => text(values[at]));
  const id = isIndex ? integer(values[2]) : rowid;
  if (provider === undefined || provider === "" || user === undefined || id === undefined) return undefined;
  return { id, provider, user };
}

function toItem(id: number, values: readonly Value[]): ItemRow | undefined {
  if (values.length !== 14 || values[0] !== null) return undefined;
  const [lane, isInBatch, isAlone, prior] = [1, 10, 11, 12].map((at) => integer(values[at]));
  const [state, kind, sessionId, body, createdAt] = [2, 3, 4, 5, 8].map((at) => text(values[at]));
  if (lane === undefined || isInBatch === undefined || isAlone === undefined || prior === undefined)
    return undefined;
  if (kind === undefined || sessionId === undefined || body === undefined || createdAt === undefined)
    return undefined;
  if (state !== "waiting" && state !== "held" && state !== "dead") return undefined;
  const dedupeKey = text(values[7]) ?? null;
  const error = text(values[13]) ?? null;
  // It may have reached the server when it was in a batch.
  const attempts = Math.max(prior, isInBatch);
  return { id, lane, state, kind, sessionId, body, dedupeKey, createdAt, isAlone, attempts, error };
}

function toMirror(values: readonly Value[]): MirrorRow | undefined {
  if (values.length !== 5 || values[0] !== null) return undefined;
  const lane = integer(values[1]);
  const [target, entry, remoteId] = [2, 3, 4].map((at) => text(values[at]));
  if (lane === undefined || target === undefined || entry === undefined || remoteId === undefined)
    return undefined;
  return { lane, target, text: entry, remoteId };
}

function toKey(values: readonly Value[]): KeyRow | undefined {
  if (values.length !== 4 || values[0] !== null) return undefined;
  const [lane, dedupeKey, at] = [integer(values[1]), text(values[2]), integer(values[3])];
  return lane === undefined || dedupeKey === undefined || at === undefined
    ? undefined
    : { lane, dedupeKey, at };
}

function text(value: Value | undefined): string | undefined {
  return textOf(value, "UTF-8");
}

function integer(value: Value | undefined): number | undefined {
  return typeof value === "bigint" ? Number(value) : undefined;
}
