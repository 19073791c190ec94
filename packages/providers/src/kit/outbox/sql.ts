// The tables of the outbox, and prepared statements.
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";

export const TABLES = `
  CREATE TABLE lanes (
    id INTEGER PRIMARY KEY,
    provider TEXT NOT NULL,
    user TEXT NOT NULL,
    waiting INTEGER NOT NULL DEFAULT 0,
    held INTEGER NOT NULL DEFAULT 0,
    dead INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0,
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
  CREATE TABLE items (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    lane INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'held', 'dead')),
    kind TEXT NOT NULL,
    session_id TEXT NOT NULL,
    body TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    dedupe_key TEXT,
    created_at TEXT NOT NULL,
    holder TEXT,
    in_batch INTEGER NOT NULL DEFAULT 0,
    is_alone INTEGER NOT NULL DEFAULT 0,
    prior_attempts INTEGER NOT NULL DEFAULT 0,
    error TEXT
  );
  CREATE INDEX items_by_state ON items (lane, state, id);
  CREATE INDEX items_in_batch ON items (lane, id) WHERE in_batch = 1;
  CREATE UNIQUE INDEX items_by_key ON items (lane, dedupe_key) WHERE dedupe_key IS NOT NULL;
  CREATE TABLE batches (
    lane INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    refusals INTEGER NOT NULL DEFAULT 0
  );
  CREATE TABLE delivered_keys (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    lane INTEGER NOT NULL,
    dedupe_key TEXT NOT NULL,
    at INTEGER NOT NULL,
    UNIQUE (lane, dedupe_key)
  );
  CREATE INDEX delivered_keys_by_id ON delivered_keys (lane, id);
  CREATE TABLE mirrors (
    id INTEGER PRIMARY KEY,
    lane INTEGER NOT NULL,
    target TEXT NOT NULL,
    text TEXT NOT NULL,
    remote_id TEXT NOT NULL,
    UNIQUE (lane, target, text, remote_id)
  );
  CREATE TRIGGER count_added AFTER INSERT ON items BEGIN
    UPDATE lanes SET
      waiting = waiting + (new.state = 'waiting'), held = held + (new.state = 'held'), dead = dead + (new.state = 'dead'),
      bytes = bytes + (new.state <> 'dead') * new.bytes
    WHERE id = new.lane;
  END;
  CREATE TRIGGER count_deleted AFTER DELETE ON items BEGIN
    UPDATE lanes SET
      waiting = waiting - (old.state = 'waiting'), held = held - (old.state = 'held'), dead = dead - (old.state = 'dead'),
      bytes = bytes - (old.state <> 'dead') * old.bytes
    WHERE id = old.lane;
  END;
  CREATE TRIGGER count_changed AFTER UPDATE OF state ON items BEGIN
    UPDATE lanes SET
      waiting = waiting + (new.state = 'waiting') - (old.state = 'waiting'),
      held = held + (new.state = 'held') - (old.state = 'held'),
      dead = dead + (new.state = 'dead') - (old.state = 'dead'),
      bytes = bytes + (new.state <> 'dead') * new.bytes - (old.state <> 'dead') * old.bytes
    WHERE id = new.lane;
  END;
`;

type Values = Readonly<Record<string, SQLInputValue>>;

/** Prepared statements of one connection. */
export class Sql {
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  all<Row>(sql: string, values: Values = {}): Row[] {
    return this.#statement(sql).all(values) as Row[];
  }

  get<Row>(sql: string, values: Values = {}): Row | undefined {
    return this.#statement(sql).get(values) as Row | undefined;
  }

  /** How many rows it changed. */
  run(sql: string, values: Values = {}): number {
    return Number(this.#statement(sql).run(values).changes);
  }

  insert(sql: string, values: Values): number {
    return Number(this.#statement(sql).run(values).lastInsertRowid);
  }

  #statement(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#db.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}
