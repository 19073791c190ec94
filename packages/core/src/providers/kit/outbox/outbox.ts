// Writes that wait for a memory server, in `<home>/memory_outbox.db`. A write is on disk before the turn goes on, and is sent in order; a
// crash, an outage or a refused key loses nothing. One lane is one provider and one user; lanes never wait for each other.

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
  | { readonly kind: "later"; readonly reason: string; readonly retryAfterMs?: number }
  /** The key or the plan does not allow it: tried again every few minutes and at the next start; never given up. */
  | { readonly kind: "blocked"; readonly reason: string }
  /** The server will never take it. After 3 such answers it becomes a dead letter and the lane goes on. */
  | { readonly kind: "refused"; readonly reason: string };

export type Deliver = (batch: Batch, signal: AbortSignal) => Promise<Delivery>;

export type Added =
  | { readonly kind: "queued"; readonly id: number }
  | { readonly kind: "known" }
  /** The lane holds its limit of items or bytes: this item was refused and counted. */
  | { readonly kind: "full"; readonly reason: string }
  /** The file cannot be written. */
  | { readonly kind: "failed"; readonly reason: string };

export type LaneState = {
  readonly waiting: number;
  readonly held: number;
  readonly dead: number;
  /** Refused because the lane was full, since the file was made. */
  readonly refused: number;
  readonly lastError?: { readonly message: string; readonly at: string };
  readonly lastDeliveryAt?: string;
  /** The lane waits for a key or a plan. */
  readonly blocked?: string;
};

/** The outbox of one provider and one user. */
export interface OutboxLane {
  /** Durable when it returns. Never throws. */
  add(item: NewItem): Added;
  /** Lets held items of the session go, or of all sessions. */
  release(sessionId?: string): void;
  /** Removes items that were not sent yet (undone turns); a batch that is being sent stays. Returns how many. */
  withdraw(select: (item: OutboxItem) => boolean): number;
  /** Held and waiting items, oldest first. */
  items(): readonly OutboxItem[];
  /** Starts sending: first what an earlier process left. */
  start(deliver: Deliver, batchLimit: (kind: string) => number): void;
  /** Waits until everything that is not held was delivered or died, or the lane has to pause, or `ms` are over. Resolves to what is left. */
  flush(ms: number, signal?: AbortSignal): Promise<number>;
  state(): LaneState;
  /** Where an item is now; "gone": it was delivered or erased. */
  where(id: number): "waiting" | "dead" | "gone";
  /** Erases items, dead ones included, whose text contains `text`; with `isDryRun` only counts. Case-sensitive. */
  forget(text: string, isDryRun: boolean): number;
  /** Erases all items and mirrors of the lane; with `isDryRun` only counts. */
  eraseAll(isDryRun: boolean): number;
  /** What the mirrored entries of the curated memory are called at the server. */
  readonly mirrors: Mirrors;
  /** Stops sending; what is left stays. A running delivery is aborted. */
  close(): void;
}

export type Mirrored = { readonly target: string; readonly text: string; readonly remoteId: string };

export interface Mirrors {
  add(mirrored: Mirrored): void;
  /** The mirrored entry with this text; else those that contain it. */
  find(target: string, text: string): readonly Mirrored[];
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
  readonly log: import("../../../lib/logger.ts").Logger;
  /** Pauses after failures, in milliseconds; for tests. */
  readonly pauses?: { readonly firstMs: number; readonly longestMs: number; readonly blockedMs: number };
};

export function outboxPath(home: string): string {
  return `${home}/memory_outbox.db`;
}

// ---- PLACEHOLDER until branch `outbox` is merged: in memory, without pauses ----

type Kept = OutboxItem & { state: "held" | "waiting" | "dead" };

const lanes = new Map<string, { items: Kept[]; mirrors: Mirrored[]; keys: Set<string> }>();
let nextId = 1;

export function openLane({ home, provider, user }: LaneOptions): OutboxLane {
  const key = JSON.stringify([home, provider, user]);
  const lane = lanes.get(key) ?? { items: [], mirrors: [], keys: new Set<string>() };
  lanes.set(key, lane);
  let deliver: Deliver | undefined;
  let limit: (kind: string) => number = () => 1;
  let isSending = false;
  let lastError: LaneState["lastError"];
  const closing = new AbortController();
  const waiting = () => lane.items.filter(({ state }) => state === "waiting");

  async function send(): Promise<void> {
    if (isSending || deliver === undefined || closing.signal.aborted) return;
    isSending = true;
    for (let head = waiting()[0]; head !== undefined; head = waiting()[0]) {
      const { kind, sessionId } = head;
      const items: Kept[] = [];
      for (const item of waiting()) {
        if (item.kind !== kind || item.sessionId !== sessionId || items.length >= limit(kind)) break;
        items.push(item);
      }
      const batch = { id: crypto.randomUUID(), kind, sessionId, items, attempt: 1 } as unknown as Batch;
      const outcome = await deliver(batch, closing.signal);
      if (outcome.kind === "delivered") lane.items = lane.items.filter((item) => !items.includes(item));
      else {
        lastError = { message: outcome.reason, at: new Date().toISOString() };
        if (outcome.kind !== "refused") break;
        for (const item of items) item.state = "dead";
      }
    }
    isSending = false;
  }

  return {
    add(item) {
      if (item.dedupeKey !== undefined && lane.keys.has(item.dedupeKey)) return { kind: "known" };
      if (item.dedupeKey !== undefined) lane.keys.add(item.dedupeKey);
      const id = nextId++;
      const { kind, sessionId } = item;
      const body: unknown = JSON.parse(JSON.stringify(item.body));
      const state = item.isHeld === true ? "held" : "waiting";
      lane.items.push({ id, kind, sessionId, body, createdAt: new Date().toISOString(), state });
      setImmediate(() => void send());
      return { kind: "queued", id };
    },
    release(sessionId) {
      for (const item of lane.items)
        if (item.state === "held" && (sessionId === undefined || item.sessionId === sessionId))
          item.state = "waiting";
      setImmediate(() => void send());
    },
    withdraw(select) {
      const before = lane.items.length;
      lane.items = lane.items.filter((item) => !select(item));
      return before - lane.items.length;
    },
    items: () => lane.items.filter(({ state }) => state !== "dead"),
    start(how, batchLimit) {
      deliver = how;
      limit = batchLimit;
      for (const item of lane.items) if (item.state === "held") item.state = "waiting";
      setImmediate(() => void send());
    },
    async flush(ms) {
      const until = Date.now() + ms;
      void send();
      while (isSending && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 5));
      return waiting().length;
    },
    state: () => ({
      waiting: waiting().length,
      held: lane.items.filter(({ state }) => state === "held").length,
      dead: lane.items.filter(({ state }) => state === "dead").length,
      refused: 0,
      lastError,
    }),
    where(id) {
      const item = lane.items.find((each) => each.id === id);
      return item === undefined ? "gone" : item.state === "dead" ? "dead" : "waiting";
    },
    forget(text, isDryRun) {
      const hit = (item: Kept) => JSON.stringify(item.body).includes(JSON.stringify(text).slice(1, -1));
      const count = lane.items.filter(hit).length;
      if (!isDryRun) lane.items = lane.items.filter((item) => !hit(item));
      return count;
    },
    eraseAll(isDryRun) {
      const count = lane.items.length;
      if (!isDryRun) lane.items = [];
      return count;
    },
    mirrors: {
      add: (mirrored) => void lane.mirrors.push(mirrored),
      find(target, text) {
        const same = lane.mirrors.filter((each) => each.target === target && each.text === text);
        return same.length > 0
          ? same
          : lane.mirrors.filter((each) => each.target === target && each.text.includes(text));
      },
      remove: (mirrored) => void (lane.mirrors = lane.mirrors.filter((each) => each !== mirrored)),
    },
    close: () => closing.abort(),
  };
}
