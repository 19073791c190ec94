// The order of a reply's parts in the database, for replies whose order is not the usual one. The columns hold content, calls and
// reasoning separately, and vendors refuse reasoning that is not where it was. The order is written as `providerOptions.hermes` into
// one entry of the row, and is removed from it whenever the row is read, so that no vendor gets it. Rows in the usual order have none.
//
// The entry is one that other programs cannot send on as it is anyway: first a result of a tool that the vendor ran, then
// reasoning in the AI SDK's shape. An entry in a router's shape (`reasoning.text`) never has the note, because the Python program sends
// those back unchanged. Only a reply without both has it on its first call, beside the call's other fields of the AI SDK.
import { isRecord } from "../lib/index.ts";
import type { PartKind } from "./message.ts";

type Fields = Readonly<Record<string, unknown>>;
type Lists = {
  readonly content?: unknown;
  readonly tool_calls?: unknown;
  readonly reasoning_details?: unknown;
};

/** The kinds in their usual order. Results are those of tools that the vendor ran. */
export const PART_KINDS: readonly PartKind[] = ["reasoning", "content", "call", "result"];

export function usualOrder(kinds: readonly PartKind[]): readonly PartKind[] {
  return kinds.toSorted((one, other) => PART_KINDS.indexOf(one) - PART_KINDS.indexOf(other));
}

export function isPartOrder(value: unknown): value is readonly PartKind[] {
  return Array.isArray(value) && value.every((kind) => PART_KINDS.includes(kind as PartKind));
}

const CARRIERS: readonly (readonly [keyof Lists, (entry: Fields) => boolean])[] = [
  ["content", ({ type }) => type === "tool-result"],
  ["reasoning_details", ({ type }) => type === "reasoning"],
  ["tool_calls", () => true],
];

/** The one column that carries the order, with the note in it. */
export function withPartOrder(lists: Lists, order: readonly PartKind[]): Lists {
  for (const [column, isCarrier] of CARRIERS) {
    const list = lists[column];
    if (!Array.isArray(list)) continue;
    const at = list.findIndex((entry) => isRecord(entry) && isCarrier(entry));
    if (at < 0) continue;
    const entry = list[at] as Fields;
    const options = isRecord(entry.providerOptions) ? entry.providerOptions : {};
    const noted = { ...entry, providerOptions: { ...options, hermes: { order } } };
    return { [column]: list.with(at, noted) };
  }
  return {};
}

/** `lists` has the columns that carried a note, without it. */
export function takePartOrder(row: Lists): { readonly order?: readonly PartKind[]; readonly lists: Lists } {
  let order: readonly PartKind[] | undefined;
  const lists: Record<string, unknown> = {};
  for (const [column] of CARRIERS) {
    const list = row[column];
    if (!Array.isArray(list) || !list.some((entry) => noteIn(entry) !== undefined)) continue;
    order ??= list.map(noteIn).find((note) => note !== undefined);
    lists[column] = list.map(withoutNote);
  }
  return order === undefined ? { lists } : { order, lists };
}

function noteIn(entry: unknown): readonly PartKind[] | undefined {
  if (!isRecord(entry) || !isRecord(entry.providerOptions)) return undefined;
  const { hermes } = entry.providerOptions;
  return isRecord(hermes) && isPartOrder(hermes.order) ? hermes.order : undefined;
}

function withoutNote(entry: unknown): unknown {
  if (noteIn(entry) === undefined) return entry;
  const { providerOptions, ...others } = entry as { readonly providerOptions: Fields };
  const { hermes: _, ...options } = providerOptions;
  return Object.keys(options).length === 0 ? others : { ...(entry as Fields), providerOptions: options };
}
