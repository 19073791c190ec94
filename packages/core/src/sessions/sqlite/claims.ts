// Which process may work on a session: leases for turns, locks for compactions.
import { describeHolder, isDeadHere } from "../../lib/index.ts";
import { sessionError } from "../errors.ts";
import { checkSessionId } from "../identity.ts";
import type { EditOptions, HeldLease, LeaseOptions, SessionClaims } from "../store.ts";
import { ALL_USERS, byFile, type Connection, featuresOf, seconds } from "./connection.ts";
import { idFor, isStored, type StoreContext, unseen, writeTo } from "./context.ts";
import { isContinuation, upWhile } from "./lineage-sql.ts";
import { SESSION_LEASES } from "./schema.ts";

// ---- Leases ----
// One process at a time works on a session. Leases expire, so a crash blocks other processes only briefly. Ours are rows of
// hermes_memory_leases, by session. Newer versions of Hermes Agent have a table of turn leases, by conversation; in a file with
// that table we respect its leases and hold one there as well.

/** After a power failure nobody holds a claim any more. */
const CLAIM = { isUnsynced: true };
const LEASE_TTL_SECONDS = 60;
/** An expired lease older than this will not be renewed any more and is deleted. */
const FORGOTTEN_SECONDS = 86_400;

const LEASES_TABLE = SESSION_LEASES.name;
const GET_LEASE = `SELECT holder, acquired_at, expires_at FROM ${LEASES_TABLE} WHERE session_id = :id`;
const CLEAR_LEASES = `DELETE FROM ${LEASES_TABLE} WHERE session_id = :id OR expires_at < :forgotten`;
const TAKE_LEASE = `
  INSERT INTO ${LEASES_TABLE} (session_id, holder, acquired_at, expires_at) VALUES (:id, :holder, :since, :until)
`;
const PROLONG_LEASE = `UPDATE ${LEASES_TABLE} SET expires_at = :until WHERE session_id = :id AND holder = :holder`;
const REMOVE_LEASE = `DELETE FROM ${LEASES_TABLE} WHERE session_id = :id AND holder = :holder`;

const MOVE_LEASE = `UPDATE OR IGNORE ${LEASES_TABLE} SET session_id = :id WHERE session_id = :none`;
const LEASES_OF_HOLDER = `SELECT session_id AS id FROM ${LEASES_TABLE} WHERE holder = :holder`;

const TURNS = "session_turn_leases";
const TURN = `SELECT holder, acquired_at, expires_at FROM ${TURNS} WHERE conversation_id = :key`;
const DROP_TURN = `DELETE FROM ${TURNS} WHERE conversation_id = :key AND holder = :holder`;
const SWEEP_TURNS = `DELETE FROM ${TURNS} WHERE expires_at < :forgotten`;
const TAKE_TURN = `
  INSERT INTO ${TURNS} (conversation_id, holder, acquired_at, expires_at) VALUES (:key, :holder, :now, :until)
  ON CONFLICT (conversation_id) DO UPDATE SET expires_at = excluded.expires_at
`;
const MOVE_TURN = `UPDATE OR IGNORE ${TURNS} SET conversation_id = :id WHERE conversation_id = :none`;
const OTHERS_TURNS = `SELECT 1 FROM ${TURNS} WHERE holder <> :holder AND expires_at >= :now LIMIT 1`;
/** The first session of the conversation, back along compactions. Hermes Agent's leases use it as their key. */
const CONVERSATION = byFile((file) =>
  upWhile(`p.end_reason = 'compression' AND ${isContinuation("c", "p", file)}`),
);

export function leaseOperations(context: StoreContext) {
  const { connection, clock } = context;
  const remove = (sessionId: string, holder: string): Promise<boolean> =>
    writeTo(context, sessionId, (id) => giveBackLease(connection, id, holder), CLAIM);

  return {
    acquireSessionLease: async (sessionId, holder, options) =>
      writeTo(
        context,
        checkSessionId(sessionId),
        (id) => {
          const now = seconds(clock);
          const until = now + ttlOf(options, LEASE_TTL_SECONDS);
          const held = connection.get<HeldLease>(GET_LEASE, { id });
          const isOurs = held?.holder === holder;
          const other =
            held !== undefined && !isOurs && held.expires_at >= now
              ? { ...held }
              : claimTurn(connection, id, holder, now, until);
          if (other !== undefined) return { acquired: false, ...other };
          connection.run(CLEAR_LEASES, { id, forgotten: now - FORGOTTEN_SECONDS });
          connection.run(TAKE_LEASE, { id, holder, since: isOurs ? held.acquired_at : now, until });
          return { acquired: true };
        },
        CLAIM,
      ),
    renewSessionLease: (sessionId, holder, options) =>
      writeTo(
        context,
        sessionId,
        (id) => {
          const now = seconds(clock);
          const until = now + ttlOf(options, LEASE_TTL_SECONDS);
          if (connection.run(PROLONG_LEASE, { id, holder, until }).changes === 0) return false;
          return claimTurn(connection, id, holder, now, until) === undefined;
        },
        CLAIM,
      ),
    async releaseSessionLease(sessionId, holder) {
      await remove(sessionId, holder);
    },
    getSessionLease: (sessionId) =>
      connection.read(() => {
        const id = idFor(context, sessionId);
        const now = seconds(clock);
        const held = connection.get<HeldLease>(GET_LEASE, { id });
        const own = held !== undefined && held.expires_at >= now ? { ...held } : null;
        return othersTurn(connection, id, own?.holder ?? "", now) ?? own;
      }),
    breakSessionLease: remove,
  } satisfies Partial<SessionClaims>;
}

/** Inside a write transaction. False: it was not this holder's. */
export function giveBackLease(connection: Connection, id: string, holder: string): boolean {
  const isOurs = connection.run(REMOVE_LEASE, { id, holder }).changes > 0;
  return dropTurn(connection, id, holder) || isOurs;
}

/** Inside a write transaction: a lease may be taken before its session is created, and is then stored under another id. */
export function takeOverLease({ connection, person, clock }: StoreContext, id: string): void {
  const none = unseen(person, id);
  const [held, moved] = [id, none].map((each) => connection.get<HeldLease>(GET_LEASE, { id: each }));
  // Somebody may have left an expired one under the id itself.
  if (moved !== undefined && held !== undefined && held.expires_at < seconds(clock))
    connection.run(REMOVE_LEASE, { id, holder: held.holder });
  connection.run(MOVE_LEASE, { id, none });
  if (featuresOf(connection).tables.has(TURNS))
    connection.run(MOVE_TURN, { id: conversationOf(connection, id), none });
}

/**
 * Inside a write transaction. The row of a lease is its fence: it stays after the lease has expired, until its holder gives it
 * back or another one takes the lease. So a writer whose row is gone comes too late, even if nobody has the lease now. Throws
 * `lease-lost`.
 */
export function requireLease(connection: Connection, id: string, holder: string, now: number): void {
  const turn = othersTurn(connection, id, holder, now);
  if (turn !== undefined) throw leaseLost(id, turn.holder);
  const held = connection.get<HeldLease>(GET_LEASE, { id });
  if (held?.holder === holder) return;
  // The lease of a deleted session is gone with it; the write itself then says that there is no such session.
  if (held !== undefined || isStored(connection, id)) throw leaseLost(id, held?.holder);
}

/** The same for a change of all sessions of a conversation: the lease is that of one of them. */
export function requireLeaseOfAny(connection: Connection, ids: readonly string[], holder: string): void {
  const held = connection.all<{ id: string }>(LEASES_OF_HOLDER, { holder });
  if (held.some(({ id }) => ids.includes(id))) return;
  const [id] = ids.filter((each) => isStored(connection, each));
  if (id !== undefined) throw leaseLost(id, undefined);
}

function leaseLost(id: string, by: string | undefined) {
  const text =
    by === undefined
      ? `The lease of session '${id}' is no longer this process's: another one may have worked on the session since.`
      : `Session '${id}' is being worked on by another process (${by}).`;
  return sessionError("lease-lost", `${text} Nothing was changed.`, {
    hint: "Read the session again before writing to it.",
  });
}

/**
 * Inside a write transaction, before rows are changed that other processes may be using: refuses while another process runs a
 * turn in the conversation or compacts it. Throws `session-busy`, and `lease-lost` if a holder is given that lost its lease.
 */
export function refuseIfBusy(
  connection: Connection,
  id: string,
  { leaseHolder }: EditOptions,
  now: number,
): void {
  refuseDuringTurn(connection, id, leaseHolder ?? "", now);
  const lock = featuresOf(connection).isSchema17 ? heldLock(connection, id, now) : undefined;
  if (lock !== undefined && lock.holder !== leaseHolder && !isDeadHere(lock.holder))
    throw busy(id, "is being compacted by", lock);
  if (leaseHolder !== undefined) requireLease(connection, id, leaseHolder, now);
}

/** One transaction that changes rows which other processes may be using. */
export function editSession<T>(
  context: StoreContext,
  sessionId: string,
  options: EditOptions,
  work: (id: string) => T,
): Promise<T> {
  return writeTo(context, sessionId, (id) => {
    refuseIfBusy(context.connection, id, options, seconds(context.clock));
    return work(id);
  });
}

/** Checks only turns, not compactions. */
export function refuseDuringTurn(connection: Connection, id: string, leaseHolder: string, now: number): void {
  const turn = othersTurn(connection, id, leaseHolder, now);
  if (turn !== undefined) throw busy(id, "has a turn running in", turn);
}

/** A process that works on the session: ours by its lease, Hermes Agent by the turn lease of the conversation. */
export function workOn(connection: Connection, id: string, now: number): HeldLease | undefined {
  const turn = turnOf(connection, id, now);
  if (turn !== undefined) return turn;
  const lease = connection.get<HeldLease>(GET_LEASE, { id });
  return lease !== undefined && lease.expires_at >= now && !isDeadHere(lease.holder) ? lease : undefined;
}

/** The running turn of any process. */
export function turnOf(connection: Connection, id: string, now: number): HeldLease | undefined {
  return othersTurn(connection, id, "", now);
}

function busy(id: string, what: string, { holder, expires_at }: HeldLease) {
  const until = new Date(Math.min(expires_at * 1000, LAST_DATE_MS)).toISOString();
  return sessionError(
    "session-busy",
    `Session '${id}' ${what} ${describeHolder(holder)}, which holds it until ${until} and may extend that. Nothing was changed.`,
    { hint: "Wait until the other process is done, or end it, and try again." },
  );
}

const LAST_DATE_MS = 8.64e15;

/** Undefined when the holder now has the turn of this conversation; otherwise the lease of the other holder. */
function claimTurn(
  connection: Connection,
  id: string,
  holder: string,
  now: number,
  until: number,
): HeldLease | undefined {
  if (!featuresOf(connection).tables.has(TURNS)) return undefined;
  const key = conversationOf(connection, id);
  const held = connection.get<HeldLease>(TURN, { key });
  if (held !== undefined && held.holder !== holder) {
    if (isLive(held, now)) return { ...held };
    connection.run(DROP_TURN, { key, holder: held.holder });
  }
  connection.run(SWEEP_TURNS, { forgotten: now - FORGOTTEN_SECONDS });
  connection.run(TAKE_TURN, { key, holder, now, until });
  return undefined;
}

/** A compaction moves a holder from one session of the conversation to the next. The turn ends with the last of its leases. */
function dropTurn(connection: Connection, id: string, holder: string): boolean {
  if (!featuresOf(connection).tables.has(TURNS)) return false;
  const key = conversationOf(connection, id);
  const others = connection.all<{ id: string }>(LEASES_OF_HOLDER, { holder });
  const isGoingOn = others.some((other) => conversationOf(connection, other.id) === key);
  // A session that is about to become a continuation was its own key until now.
  const keys = new Set(isGoingOn ? [id] : [id, key]);
  if (isGoingOn) keys.delete(key);
  return [...keys].map((each) => connection.run(DROP_TURN, { key: each, holder }).changes).some(Boolean);
}

function othersTurn(connection: Connection, id: string, holder: string, now: number): HeldLease | undefined {
  if (!featuresOf(connection).tables.has(TURNS)) return undefined;
  if (connection.get(OTHERS_TURNS, { holder, now }) === undefined) return undefined;
  const held = connection.get<HeldLease>(TURN, { key: conversationOf(connection, id) });
  return held !== undefined && held.holder !== holder && isLive(held, now) ? { ...held } : undefined;
}

function isLive({ holder, expires_at }: HeldLease, now: number): boolean {
  return expires_at >= now && !isDeadHere(holder);
}

function conversationOf(connection: Connection, id: string): string {
  return connection.get<{ id: string }>(CONVERSATION(connection), { id, ...ALL_USERS })?.id ?? id;
}

function ttlOf(options: LeaseOptions | undefined, standard: number): number {
  const ttl = options?.ttl;
  return ttl === undefined || !Number.isFinite(ttl) ? standard : ttl;
}

// ---- Compression locks ----
// One process at a time compacts a session.

const LOCK_TTL_SECONDS = 300;

const DROP_EXPIRED_LOCK = "DELETE FROM compression_locks WHERE session_id = :id AND expires_at < :now";
const TAKE_LOCK = `
  INSERT OR IGNORE INTO compression_locks (session_id, holder, acquired_at, expires_at) VALUES (:id, :holder, :now, :until)
`;
const PROLONG_LOCK = `
  UPDATE compression_locks SET expires_at = :until WHERE session_id = :id AND holder = :holder AND expires_at >= :now
`;
const RELEASE_LOCK = "DELETE FROM compression_locks WHERE session_id = :id AND holder = :holder";
const GET_LOCK = `
  SELECT holder, acquired_at, expires_at FROM compression_locks WHERE session_id = :id AND expires_at >= :now
`;

export function lockOperations(context: StoreContext) {
  const { connection, clock, warn } = context;
  return {
    async tryAcquireCompressionLock(sessionId, holder, options) {
      if (sessionId === "") return false;
      try {
        return await writeTo(
          context,
          sessionId,
          (id) => {
            const now = seconds(clock);
            connection.run(DROP_EXPIRED_LOCK, { id, now });
            // Without this, a process killed during a compaction would block others for minutes.
            const held = lockHolder(connection, id, now);
            if (held !== null && held !== holder && isDeadHere(held))
              connection.run(RELEASE_LOCK, { id, holder: held });
            connection.run(TAKE_LOCK, { id, holder, now, until: now + ttlOf(options, LOCK_TTL_SECONDS) });
            return lockHolder(connection, id, now) === holder;
          },
          CLAIM,
        );
      } catch (cause) {
        // A session that cannot be locked is not compacted now. The conversation must go on.
        warn(`The compression lock of session ${sessionId} could not be taken: ${String(cause)}`);
        return false;
      }
    },
    renewCompressionLock: (sessionId, holder, options) =>
      writeTo(
        context,
        sessionId,
        (id) => {
          const now = seconds(clock);
          return (
            connection.run(PROLONG_LOCK, { id, holder, now, until: now + ttlOf(options, LOCK_TTL_SECONDS) })
              .changes > 0
          );
        },
        CLAIM,
      ),
    async releaseCompressionLock(sessionId, holder) {
      await writeTo(context, sessionId, (id) => connection.run(RELEASE_LOCK, { id, holder }), CLAIM);
    },
    getCompressionLockHolder: (sessionId) =>
      connection.read(() => lockHolder(connection, idFor(context, sessionId), seconds(clock))),
  } satisfies Partial<SessionClaims>;
}

export function lockHolder(connection: Connection, id: string, now: number): string | null {
  return heldLock(connection, id, now)?.holder ?? null;
}

function heldLock(connection: Connection, id: string, now: number): HeldLease | undefined {
  return connection.get<HeldLease>(GET_LOCK, { id, now });
}
