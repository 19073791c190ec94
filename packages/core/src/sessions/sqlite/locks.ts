// Compression locks: leases in the database, so that one process at a time compacts a session.
import { isDeadHere } from "../lease-holders.ts";
import type { HeldLease, SessionClaims } from "../store.ts";
import type { Connection } from "./connection.ts";
import { type StoreContext, seconds } from "./context.ts";

const DEFAULT_TTL_SECONDS = 300;

const DROP_EXPIRED = "DELETE FROM compression_locks WHERE session_id = :id AND expires_at < :now";
const TAKE = `
  INSERT OR IGNORE INTO compression_locks (session_id, holder, acquired_at, expires_at) VALUES (:id, :holder, :now, :until)
`;
const PROLONG = `
  UPDATE compression_locks SET expires_at = :until WHERE session_id = :id AND holder = :holder AND expires_at >= :now
`;
const RELEASE = "DELETE FROM compression_locks WHERE session_id = :id AND holder = :holder";
const HOLDER = `
  SELECT holder, acquired_at, expires_at FROM compression_locks WHERE session_id = :id AND expires_at >= :now
`;

export type LockOperations = Pick<
  SessionClaims,
  "tryAcquireCompressionLock" | "renewCompressionLock" | "releaseCompressionLock" | "getCompressionLockHolder"
>;

export function lockOperations({ connection, clock, warn }: StoreContext): LockOperations {
  return {
    async tryAcquireCompressionLock(id, holder, options) {
      if (id === "") return false;
      try {
        return await connection.write(() => {
          const now = seconds(clock);
          connection.run(DROP_EXPIRED, { id, now });
          // A process that was killed while it compacted would keep everybody from it for minutes.
          const held = lockHolder(connection, id, now);
          if (held !== null && held !== holder && isDeadHere(held))
            connection.run(RELEASE, { id, holder: held });
          connection.run(TAKE, { id, holder, now, until: now + ttlOf(options) });
          return lockHolder(connection, id, now) === holder;
        });
      } catch (cause) {
        // A session that cannot be locked is not compressed now; the conversation itself must go on.
        warn(`The compression lock of session ${id} could not be taken: ${String(cause)}`);
        return false;
      }
    },
    renewCompressionLock: (id, holder, options) =>
      connection.write(() => {
        const now = seconds(clock);
        return connection.run(PROLONG, { id, holder, now, until: now + ttlOf(options) }).changes > 0;
      }),
    async releaseCompressionLock(id, holder) {
      await connection.write(() => connection.run(RELEASE, { id, holder }));
    },
    getCompressionLockHolder: (id) => connection.read(() => lockHolder(connection, id, seconds(clock))),
  };
}

export function lockHolder(connection: Connection, id: string, now: number): string | null {
  return heldLock(connection, id, now)?.holder ?? null;
}

export function heldLock(connection: Connection, id: string, now: number): HeldLease | undefined {
  return connection.get<HeldLease>(HOLDER, { id, now });
}

function ttlOf(options: { readonly ttl?: number } | undefined): number {
  const ttl = options?.ttl;
  return ttl === undefined || !Number.isFinite(ttl) ? DEFAULT_TTL_SECONDS : ttl;
}
