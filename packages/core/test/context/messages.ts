// Messages for tests, written as chat rows.
import { type Message, type Meta, readRow } from "../../src/message/index.ts";

export function asMessage(row: object, meta?: Partial<Meta>): Message {
  return readRow({ ...row }, meta);
}

/** What a message says, without the ids that every message has of its own. */
export function withoutMeta({ meta: _, ...said }: Message): object {
  return said;
}
