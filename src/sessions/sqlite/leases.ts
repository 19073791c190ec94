// Leases: one process at a time works on a session. They run out by themselves, so a crash holds nobody up for long.
import { sessionError } from "../errors.ts";
import { checkSessionId } from "../session-id.ts";
import type { HeldLease, LeaseOptions, SessionStore } from "../store.ts";
import type { Connection } from "./connection.ts";
import { type StoreContext, seconds } from "./context.ts";
import { hasOwnTable } from "./own-tables.ts";
import { SESSION_LEASES } from "./side-tables.ts";

const DEFAULT_TTL_SECONDS = 60;
/** What ran out this long ago nobody will renew any more. */
const FORGOTTEN_SECONDS = 86_400;

const TABLE = SESSION_LEASES.name;
const LEASE = `SELECT holder, acquired_at, expires_at FROM ${TABLE} WHERE session_id = :id`;
const CLEAR = `DELETE FROM ${TABLE} WHERE session_id = :id OR expires_at < :forgotten`;
const TAKE = `
  INSERT INTO ${TABLE} (session_id, holder, acquired_at, expires_at) VALUES (:id, :holder, :since, :until)
`;
const PROLONG = `UPDATE ${TABLE} SET expires_at = :until WHERE session_id = :id AND holder = :holder`;
const REMOVE = `DELETE FROM ${TABLE} WHERE session_id = :id AND holder = :holder`;

export type LeaseOperations = Pick<
  SessionStore,
  | "acquireSessionLease"
  | "renewSessionLease"
  | "releaseSessionLease"
  | "getSessionLease"
  | "breakSessionLease"
>;

export function leaseOperations({ connection, clock, warn }: StoreContext): LeaseOperations {
  let isWarned = false;
  /** Without the table everybody has every lease: a conversation must go on where nothing can be kept apart. */
  const canKeep = (): boolean => hasOwnTable(connection, SESSION_LEASES);
  const warnOnce = (): void => {
    if (isWarned) return;
    isWarned = true;
    warn(
      `The table ${TABLE} of ${connection.path} belongs to another program. Nothing keeps two processes from working on the same session.`,
    );
  };
  const remove = (id: string, holder: string): Promise<boolean> =>
    connection.write(() => canKeep() && connection.run(REMOVE, { id, holder }).changes > 0);

  return {
    async acquireSessionLease(sessionId, holder, options) {
      const id = checkSessionId(sessionId);
      const outcome = await connection.write(() => {
        if (!canKeep()) return undefined;
        const now = seconds(clock);
        const held = connection.get<HeldLease>(LEASE, { id });
        const isOurs = held?.holder === holder;
        if (held !== undefined && !isOurs && held.expires_at >= now) return { ...held };
        connection.run(CLEAR, { id, forgotten: now - FORGOTTEN_SECONDS });
        connection.run(TAKE, {
          id,
          holder,
          since: isOurs ? held.acquired_at : now,
          until: now + ttlOf(options),
        });
        return "taken";
      });
      if (outcome === undefined) warnOnce();
      return typeof outcome === "object" ? { acquired: false, ...outcome } : { acquired: true };
    },
    async renewSessionLease(id, holder, options) {
      const outcome = await connection.write(() => {
        if (!canKeep()) return undefined;
        return connection.run(PROLONG, { id, holder, until: seconds(clock) + ttlOf(options) }).changes > 0;
      });
      if (outcome === undefined) warnOnce();
      return outcome ?? true;
    },
    async releaseSessionLease(id, holder) {
      await remove(id, holder);
    },
    getSessionLease: (id) =>
      connection.read(() => {
        const held = canKeep() ? connection.get<HeldLease>(LEASE, { id }) : undefined;
        return held !== undefined && held.expires_at >= seconds(clock) ? { ...held } : null;
      }),
    breakSessionLease: (id, holder) => remove(id, holder),
  };
}

/** Within a write. A lease that ran out and that nobody has taken is still the last holder's. Throws `lease-lost`. */
export function requireLease(connection: Connection, id: string, holder: string, now: number): void {
  if (!hasOwnTable(connection, SESSION_LEASES)) return;
  const held = connection.get<HeldLease>(LEASE, { id });
  if (held === undefined || held.holder === holder || held.expires_at < now) return;
  throw sessionError(
    "lease-lost",
    `Session '${id}' is being worked on by another process (${held.holder}).`,
    {
      hint: "Read the session again before writing to it.",
    },
  );
}

function ttlOf(options: LeaseOptions | undefined): number {
  const ttl = options?.ttl;
  return ttl === undefined || !Number.isFinite(ttl) ? DEFAULT_TTL_SECONDS : ttl;
}
