// Messages for tests, written as chat rows.
import { type Message, type Meta, readRow } from "../../src/message/index.ts";

export function asMessage(row: object, meta?: Partial<Meta>): Message {
  return readRow({ ...row }, meta);
}

/** A message without its ids. */
export function withoutMeta({ meta: _, ...said }: Message): object {
  return said;
}
