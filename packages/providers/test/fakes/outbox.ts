// Lanes of an outbox, and a server that answers what a test says.
import { DatabaseSync } from "node:sqlite";
import { onTestFinished } from "vitest";
import { silentLogger } from "../../../core/src/lib/logger.ts";
import {
  type Batch,
  type Deliver,
  type Delivery,
  type LaneOptions,
  type NewItem,
  OutboxLane,
} from "../../src/kit/outbox/outbox.ts";

export const FAST = { firstMs: 2, longestMs: 8, blockedMs: 8 };
/** Long enough that no test sees the end of a pause. */
const PATIENT = { firstMs: 60_000, longestMs: 60_000, blockedMs: 60_000 };

/** Closed at the end of the test. */
export function testLane(home: string, options: Partial<LaneOptions> = {}): OutboxLane {
  const lane = new OutboxLane({
    home,
    provider: "mem0",
    user: "",
    isDurable: true,
    maxItems: 100_000,
    maxBytes: 1 << 30,
    log: silentLogger,
    pauses: PATIENT,
    ...options,
  });
  onTestFinished(() => lane.close());
  return lane;
}

export function turn(text: string, more: Partial<NewItem> = {}): NewItem {
  return { kind: "turn", sessionId: "s1", body: { text }, ...more };
}

export function textsOf(batch: Pick<Batch, "items">): string[] {
  return batch.items.map(({ body }) => (body as { text: string }).text);
}

export type Server = {
  readonly deliver: Deliver;
  /** All batches that were sent, in order. */
  readonly batches: readonly Batch[];
  readonly texts: () => readonly string[][];
};

/** Gives the answers in turn, the last one for ever. */
export function server(...answers: readonly (Delivery | Error)[]): Server {
  const batches: Batch[] = [];
  return {
    batches,
    texts: () => batches.map(textsOf),
    async deliver(batch) {
      batches.push(batch);
      const answer = answers[Math.min(batches.length, answers.length) - 1] ?? DELIVERED;
      if (answer instanceof Error) throw answer;
      return answer;
    },
  };
}

export const DELIVERED: Delivery = { kind: "delivered" };
export const LATER: Delivery = { kind: "later", reason: "server is down" };
export const REFUSED: Delivery = { kind: "refused", reason: "field text is too long" };
export const BLOCKED: Delivery = { kind: "blocked", reason: "the key was revoked" };

/** A delivery that hangs until `answer`, or until it is aborted. */
export function hangingServer(): {
  readonly deliver: Deliver;
  readonly begun: Promise<Batch>;
  answer(delivery: Delivery): void;
} {
  const begun = Promise.withResolvers<Batch>();
  const answered = Promise.withResolvers<Delivery>();
  return {
    begun: begun.promise,
    answer: answered.resolve,
    deliver(batch, signal) {
      begun.resolve(batch);
      signal.addEventListener("abort", () => answered.reject(new Error("aborted")));
      return answered.promise;
    },
  };
}

/** Sends until nothing waits; pauses must be short. */
export async function drain(lane: OutboxLane): Promise<void> {
  while ((await lane.flush(1_000)) > 0) await new Promise((resolve) => setTimeout(resolve, 2));
}

/** Runs a statement in the file, beside the lanes. */
export function inFile(home: string, sql: string): Record<string, unknown>[] {
  using db = new DatabaseSync(`${home}/memory_outbox.db`, { timeout: 5_000 });
  return db.prepare(sql).all() as Record<string, unknown>[];
}
