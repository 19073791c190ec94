// What commands do with the outbox of a home, without starting a provider.
import type { LaneState } from "./outbox.ts";

/** One lane of the file. */
export type OutboxEntry = {
  readonly provider: string;
  /** "" for the owner of the home. */
  readonly user: string;
  readonly state: LaneState;
};

/** A write that the server will never take. */
export type DeadLetter = {
  readonly id: number;
  readonly provider: string;
  readonly user: string;
  readonly kind: string;
  readonly sessionId: string;
  /** ISO, UTC. */
  readonly createdAt: string;
  /** The server's last answer. */
  readonly error: string;
  /** The beginning of its text, without secrets. */
  readonly preview: string;
};

/** Which dead letters are meant; without ids all, without a provider those of all providers. */
export type DeadSelection = { readonly provider?: string; readonly ids?: readonly number[] };

/** All lanes of the home; none when there is no outbox yet. */
export function readOutbox(_home: string): readonly OutboxEntry[] {
  return [];
}

export function listDead(_home: string, _provider?: string): readonly DeadLetter[] {
  return [];
}

/** Puts dead letters back to be sent. Returns how many. */
export function retryDead(_home: string, _which: DeadSelection): number {
  return 0;
}

/** Deletes dead letters for good. Returns how many. */
export function dropDead(_home: string, _which: DeadSelection): number {
  return 0;
}

/** Lanes that hold the text, and in how many items, dead ones included. */
export function findInOutbox(
  _home: string,
  _text: string,
): readonly { readonly provider: string; readonly user: string; readonly items: number }[] {
  return [];
}
