// A delivery as the base makes it, to one connection.
import { deliverBatch, entryItems } from "../../src/kit/networked/entries.ts";
import type { Connection } from "../../src/kit/networked/service.ts";
import type { Batch, Delivery, Mirrored, Mirrors, NewItem } from "../../src/kit/outbox/outbox.ts";

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
