// The contract of a session store, part 6 of 7: who may work on a session. Leases for turns, locks for compactions, handoffs between
// platforms.
import type { HandoffState, SessionRow } from "../rows.ts";
import type { Scope } from "../scope.ts";

/** `ttl` in seconds, 60 unless told. */
export type LeaseOptions = { readonly ttl?: number };

export type HeldLease = {
  readonly holder: string;
  readonly acquired_at: number;
  readonly expires_at: number;
};

type LeaseOutcome = { readonly acquired: true } | ({ readonly acquired: false } & HeldLease);

/** Who changes rows, where that takes a lease: the turn of anybody else is respected. */
export type EditOptions = { readonly leaseHolder?: string };

export interface SessionClaims {
  // Leases: one process at a time works on a session, which need not exist yet. Where they cannot be kept, because another
  // program uses the name of their table, everybody gets every lease, with one warning.
  // In files of today's Hermes its own leases, by conversation, are honoured and held as well.
  /** Takes it when it is free or has run out; its holder prolongs it. Rejects with `bad-session-id`. */
  acquireSessionLease(sessionId: string, holder: string, options?: LeaseOptions): Promise<LeaseOutcome>;
  /** Also after it has run out, as long as nobody else has had it since; false when it is not ours any more. */
  renewSessionLease(sessionId: string, holder: string, options?: LeaseOptions): Promise<boolean>;
  /** Only one's own. */
  releaseSessionLease(sessionId: string, holder: string): Promise<void>;
  /** Null when nobody holds it, or it has run out. */
  getSessionLease(sessionId: string): Promise<HeldLease | null>;
  /** Takes it away from exactly this holder, whose process is known to be gone. False when another has it by now. */
  breakSessionLease(sessionId: string, holder: string): Promise<boolean>;

  // Compression locks: one process at a time compacts a session
  /** `ttl` in seconds, 300 unless told. */
  tryAcquireCompressionLock(
    sessionId: string,
    holder: string,
    options?: { readonly ttl?: number },
  ): Promise<boolean>;
  /** Prolongs a lock that is still ours; false when it is not. */
  renewCompressionLock(
    sessionId: string,
    holder: string,
    options?: { readonly ttl?: number },
  ): Promise<boolean>;
  releaseCompressionLock(sessionId: string, holder: string): Promise<void>;
  getCompressionLockHolder(sessionId: string): Promise<string | null>;

  // Handoff between platforms
  requestHandoff(id: string, platform: string): Promise<boolean>;
  claimHandoff(id: string): Promise<boolean>;
  completeHandoff(id: string): Promise<void>;
  failHandoff(id: string, error: string): Promise<void>;
  getHandoffState(id: string, scope?: Scope): Promise<HandoffState | null>;
  listPendingHandoffs(): Promise<SessionRow[]>;
}
