// Ways into a file whose schema may be broken and that other programs may hold at the same time.
import { DatabaseSync } from "node:sqlite";
import { setTimeout } from "node:timers/promises";
import { isBusy } from "./failures.ts";

/** A connection that reads past broken schema rows and may edit them. */
export function openForSurgery(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { defensive: false, timeout: 50, enableForeignKeyConstraints: false });
  db.exec("PRAGMA writable_schema = ON");
  return db;
}

export function schemaCookie(db: DatabaseSync): number {
  return Number(db.prepare("PRAGMA schema_version").get()?.schema_version);
}

const BUSY_ATTEMPTS = 15;

/** Waits for a file that another connection holds, a few seconds at most. */
export async function patiently<T>(work: () => T): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return work();
    } catch (cause) {
      if (!isBusy(cause) || attempt === BUSY_ATTEMPTS) throw cause;
    }
    await aMoment();
  }
}

export function aMoment(): Promise<void> {
  return setTimeout(20 + Math.random() * 130);
}
