// What the sessions of one import say about each other. A file names parents and originals before or after they come, so
// each link is made as soon as both of its ends are there: whatever ends the import leaves none to be made later.
import type { ExportedSession } from "../rows.ts";
import type { Connection } from "./connection.ts";
import { readable } from "./readable-fields.ts";

const LINK_PARENT = `
  UPDATE sessions SET parent_session_id = :parent
  WHERE id = :id AND parent_session_id IS NULL AND EXISTS (SELECT 1 FROM sessions WHERE id = :parent)
`;
const SET_ORIGIN = `
  INSERT INTO hermes_memory_origin (message_id, origin_id) VALUES (:id, :origin)
  ON CONFLICT (message_id) DO UPDATE SET origin_id = :origin
`;
const MESSAGES_OF = `
  SELECT ${readable("m.id", "id")}, timestamp FROM messages m WHERE session_id = :id ORDER BY m.id
`;

/** The messages of a session in the file and here. */
export type Pairing = {
  /** By their ids in the file, those that have another one here. */
  readonly moved: ReadonlyMap<number, number>;
  /** By their ids here, what the copies are copies of, as the file has it. */
  readonly origins: ReadonlyMap<number, number>;
};

export class ImportLinks {
  readonly #connection: Connection;
  readonly #children = new Map<string, Set<string>>(); // by a parent that may still come
  readonly #copies = new Map<number, number[]>(); // by an original that may still come
  readonly #moved = new Map<number, number>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** The id that an original from the file has here, as far as is known. */
  placeOf(origin: number): number {
    return this.#moved.get(origin) ?? origin;
  }

  /** Inside the transaction that stored the session, or found it. Changes nothing but the database. */
  link(session: ExportedSession, { moved, origins }: Pairing): void {
    const { id, parent_session_id: parent } = session;
    const connection = this.#connection;
    if (typeof parent === "string") connection.run(LINK_PARENT, { id, parent });
    for (const child of this.#children.get(id) ?? []) connection.run(LINK_PARENT, { id: child, parent: id });
    for (const [copy, origin] of origins) {
      const place = moved.get(origin) ?? this.#moved.get(origin);
      if (place !== undefined) connection.run(SET_ORIGIN, { id: copy, origin: place });
    }
    for (const [original, place] of moved)
      for (const copy of this.#copies.get(original) ?? [])
        connection.run(SET_ORIGIN, { id: copy, origin: place });
  }

  /** After that transaction. */
  remember({ id, parent_session_id: parent }: ExportedSession, { moved, origins }: Pairing): void {
    this.#children.delete(id);
    if (typeof parent === "string") this.#children.set(parent, childrenWith(this.#children.get(parent), id));
    for (const [original, place] of moved) this.#moved.set(original, place);
    for (const [copy, origin] of origins)
      this.#copies.set(origin, [...(this.#copies.get(origin) ?? []), copy]);
  }
}

/**
 * The messages of a session that an earlier import brought: what came before an interruption must not be lost for what
 * comes after it. Nothing is paired when the two are not the same.
 */
export function pairWithStored(connection: Connection, { id, messages }: ExportedSession): Pairing {
  const moved = new Map<number, number>();
  const origins = new Map<number, number>();
  const stored =
    messages.length === 0 ? [] : connection.all<{ id: number; timestamp: number }>(MESSAGES_OF, { id });
  const isSame =
    stored.length === messages.length && stored.every((row, at) => row.timestamp === messages[at]?.timestamp);
  for (const [at, row] of isSame ? stored.entries() : []) {
    const { id: given, origin_id: origin } = messages[at] ?? {};
    if (Number.isSafeInteger(given) && given !== undefined && given !== row.id) moved.set(given, row.id);
    if (Number.isSafeInteger(origin) && origin !== undefined) origins.set(row.id, origin);
  }
  return { moved, origins };
}

function childrenWith(known: Set<string> | undefined, id: string): Set<string> {
  return known === undefined ? new Set([id]) : known.add(id);
}
