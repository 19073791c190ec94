// A connection as a new process makes it, and deliveries to it as the base makes them.
import { systemClock } from "../../../core/src/lib/index.ts";
import { silentLogger } from "../../../core/src/lib/logger.ts";
import { Breaker } from "../../../core/src/providers/kit/breaker.ts";
import { createHttpClient } from "../../src/kit/http.ts";
import { deliverBatch, entryItems } from "../../src/kit/networked/entries.ts";
import type { Connection, ConnectionContext } from "../../src/kit/networked/service.ts";
import {
  type Batch,
  type Delivery,
  type Mirrored,
  type Mirrors,
  type NewItem,
  OutboxLane,
} from "../../src/kit/outbox/outbox.ts";

function mirrorsInMemory(): Mirrors {
  const all: Mirrored[] = [];
  return {
    add: (each) => void all.push(each),
    find: (target, text) => all.filter((each) => each.target === target && each.text === text),
    containing: (text) => all.filter((each) => each.text.includes(text)),
    remove: (each) => void all.splice(all.indexOf(each), 1),
  };
}

type Link = Parameters<typeof deliverBatch>[0];

export function deliver(
  connection: Connection,
  batch: Batch,
  signal: AbortSignal,
  mirrors = mirrorsInMemory(),
): Promise<Delivery> {
  const link = { connection, replaces: () => false } as unknown as Link;
  return deliverBatch(link, mirrors, batch, signal);
}

/** What an entry that is added puts into the outbox. */
export function entryOf({ entries }: Connection, text: string): readonly NewItem[] {
  return entryItems(entries, { action: "add", target: "user", text, oldText: "" });
}

export const DELIVERED = { kind: "delivered" };

/** With an outbox in memory, and a breaker that stays closed. */
export function contextOf(service: string, home: string): ConnectionContext {
  const lane = { isDurable: false, maxItems: 1_000, maxBytes: 1e8, log: silentLogger };
  const breaker = new Breaker({ failures: 100 });
  const { signal: closing } = new AbortController();
  return {
    home,
    env: {},
    options: { hermes_home: home },
    sessionId: "s1",
    user: undefined,
    isWriting: true,
    http: (own) => createHttpClient({ ...own, service, breaker, closing }),
    outbox: new OutboxLane({ ...lane, home, provider: service.toLowerCase(), user: "" }),
    log: silentLogger,
    clock: systemClock,
    inBackground: () => {},
  };
}

export function batchOf(
  queued: readonly NewItem[],
  attempt: number,
  id = "11111111-2222-4333-8444-555555555555",
): Batch {
  const createdAt = new Date().toISOString();
  const items = queued.map(({ kind, sessionId, body }, index) => {
    return { id: index + 1, kind, sessionId, body, createdAt };
  });
  const [first, ...rest] = items;
  if (first === undefined) throw new Error("A batch has an item.");
  return { id, kind: first.kind, sessionId: first.sessionId, items: [first, ...rest], attempt };
}
