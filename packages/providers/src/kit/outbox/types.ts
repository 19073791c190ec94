// Types of the outbox: writes that wait for a memory server, in `<home>/memory_outbox.db`. A write is on disk before the turn goes on,
// and is sent in order; a crash, an outage or a refused key loses nothing. One lane is one provider and one user; lanes never wait for
// each other.
import type { Logger } from "@hermes-memory/core/internal/logger";

/** A write as a provider queues it. */
export type NewItem = {
  /** What `deliver` does with it: "turn", "mirror-add", "commit", ... */
  readonly kind: string;
  /** The conversation; items of different sessions never share a batch. "" for none. */
  readonly sessionId: string;
  /** A JSON value. */
  readonly body: unknown;
  /** An item with a key that is queued already, or was delivered before, is not added again. */
  readonly dedupeKey?: string;
  /** Kept back until `release`, or until the next process starts the lane. */
  readonly isHeld?: boolean;
};

export type OutboxItem = {
  readonly id: number;
  readonly kind: string;
  readonly sessionId: string;
  readonly body: unknown;
  /** ISO, UTC. */
  readonly createdAt: string;
};

/** Consecutive items of one kind and session. A repeated delivery has the same id and the same items. */
export type Batch = {
  /** A UUID: the idempotency key, where the server has one. */
  readonly id: string;
  readonly kind: string;
  readonly sessionId: string;
  readonly items: readonly [OutboxItem, ...OutboxItem[]];
  /** 1 for the first. From 2 on, an earlier attempt may have reached the server. */
  readonly attempt: number;
};

export type Delivery =
  | { readonly kind: "delivered" }
  /** Try again after a pause; the lane waits. */
  | ({ readonly kind: "later"; readonly reason: string; readonly retryAfterMs?: number } & Unsent)
  /** The key or the plan does not allow it: tried again every few minutes and at the next start; never given up. */
  | ({ readonly kind: "blocked"; readonly reason: string } & Unsent)
  /** The server will never take it. After 3 such answers it becomes a dead letter and the lane goes on. */
  | { readonly kind: "refused"; readonly reason: string };

/** With `isUnsent` nothing of the batch can have reached the server, so the attempt does not count. */
type Unsent = { readonly isUnsent?: boolean };

export type Deliver = (batch: Batch, signal: AbortSignal) => Promise<Delivery>;

export type Added =
  | { readonly kind: "queued"; readonly id: number }
  | { readonly kind: "known" }
  /** The lane holds its limit of items or bytes: this item was refused and counted. */
  | { readonly kind: "full"; readonly reason: string }
  | { readonly kind: "failed"; readonly reason: string };

export type LaneState = {
  readonly waiting: number;
  readonly held: number;
  readonly dead: number;
  /** Refused because the lane was full, since the file was made. */
  readonly refused: number;
  /** Dead letters that were deleted because the lane had more than 1,000 of them, since the file was made. */
  readonly dropped?: number;
  /** Nothing was delivered since then. */
  readonly lastError?: { readonly message: string; readonly at: string };
  readonly lastDeliveryAt?: string;
  /** The lane waits for a key or a plan. */
  readonly blocked?: string;
};

export type Mirrored = { readonly target: string; readonly text: string; readonly remoteId: string };

export interface Mirrors {
  add(mirrored: Mirrored): void;
  /** The mirrored entry with exactly this text: another one that contains it is another entry. */
  find(target: string, text: string): readonly Mirrored[];
  /** Every mirrored entry of both targets that contains the text. */
  containing(text: string): readonly Mirrored[];
  remove(mirrored: Mirrored): void;
}

export type LaneOptions = {
  readonly home: string;
  readonly provider: string;
  /** "" for the owner of the home. */
  readonly user: string;
  /** False: the outbox is in memory, and what is left at the end is lost (config `memory.outbox`). */
  readonly isDurable: boolean;
  readonly maxItems: number;
  readonly maxBytes: number;
  readonly log: Logger;
  /** Pauses after failures; for tests. */
  readonly pauses?: Pauses;
};

export type Pauses = { readonly firstMs: number; readonly longestMs: number; readonly blockedMs: number };
