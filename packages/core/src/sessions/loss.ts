// What could not be read of a damaged database.
/**
 * - `canonical`: conversations, and tables of other programs; nothing else can tell their rows
 * - `side`: rows worth keeping that no conversation needs; what cannot be read is given up and listed
 * - `passing`: locks, leases and counters; worked out again or taken again
 * - `derived`: search indexes with their tables; made anew from the messages
 */
export type ObjectClass = "canonical" | "side" | "passing" | "derived";

export type LostRows = {
  readonly table: string;
  readonly class: ObjectClass;
  /** How many; the most it can be when `isExact` is false, null when not even that is known. */
  readonly rows: number | null;
  /** True when an index of the table, which could be read, names each of them. */
  readonly isExact: boolean;
  /** Ranges of rowids, which are the ids in `messages`. At most 200. */
  readonly ids: readonly { readonly from: number; readonly to: number }[];
  /** For `messages`: how many each session lost. For `sessions`: the ids of the lost rows. As far as an index tells. */
  readonly sessions: readonly { readonly id: string; readonly rows: number }[];
};

/** One line about what a table has lost. */
export function describeLoss({ table, rows, isExact, ids, sessions }: LostRows): string {
  const count = rows === null ? "an unknown number of rows" : `${isExact ? "" : "at most "}${rows} row(s)`;
  const ranges = ids.slice(0, 5).map(({ from, to }) => (from === to ? `${from}` : `${from} to ${to}`));
  const where = ranges.length === 0 ? "" : `, ids ${ranges.join(", ")}${ids.length > 5 ? " and others" : ""}`;
  const named = sessions.slice(0, 5).map(({ id }) => id);
  const more = sessions.length > 5 ? ` and ${sessions.length - 5} more` : "";
  const whose = named.length === 0 ? "" : `, of session(s) ${named.join(", ")}${more}`;
  return `${table}: ${count}${where}${whose}`;
}
