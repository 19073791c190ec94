// What a compaction takes out of the list, and which messages a summary has to stand for afterwards. Pure.

import { isResult, type Message, roleOf } from "../../message/index.ts";
import { assemble } from "../compressor/assemble.ts";
import type { Boundaries } from "../compressor/boundaries.ts";
import { isHandoff } from "../compressor/handoff.ts";
import { STUB } from "../compressor/pairs.ts";
import type { Budgets } from "../compressor/settings.ts";
import type { UnchangedReason } from "../outcome.ts";
import { estimateMessage } from "../tokens.ts";
import type { Lineage } from "./lineage.ts";
import { isOverviewOf, isPureOverview } from "./overview.ts";
import { chooseWindow, type WindowSettings } from "./window.ts";

export type LosslessPlan =
  | {
      readonly kind: "compact";
      readonly boundaries: Boundaries;
      /** Keys of messages that no summary stands for yet, oldest first. */
      readonly toCover: readonly number[];
      /** Messages that had to stay because they are not stored. */
      readonly unstored: number;
    }
  | { readonly kind: "unchanged"; readonly reason: UnchangedReason; readonly unstored: number };

export function planLossless(
  messages: readonly Message[],
  lineage: Lineage,
  settings: WindowSettings,
  budgets: Budgets,
): LosslessPlan {
  const window = chooseWindow(messages, settings, budgets);
  if (window === undefined) return unchanged("too_short");
  const { boundaries, unstored } = withinStored(messages, window.boundaries, lineage);
  const { headEnd, tailStart, keptUser } = boundaries;
  const leaving = messages.slice(headEnd, tailStart).filter((_, at) => headEnd + at !== keptUser);
  if (leaving.length === 0) return unchanged(unstored > 0 ? "not_stored" : "nothing_to_gain", unstored);
  const isKnown = (id: string): boolean => lineage.forest.nodes.has(id);
  // An overview alone would be taken out only to be put in again.
  if (leaving.every((message) => isPureOverview(message, isKnown))) return unchanged("nothing_to_gain");

  // The first message that stays may carry a handoff, which the new one replaces. One that is not about parts we know
  // (another engine's, another branch's) has to become such a part.
  const first = messages[tailStart];
  const isCarrier = first !== undefined && isHandoff(first) && !isOverviewOf(first, isKnown);
  if (isCarrier && !isStored(first, lineage)) return unchanged("not_stored", Math.max(1, unstored));
  const replaced = messages.slice(headEnd, isCarrier ? tailStart + 1 : tailStart);
  return {
    kind: "compact",
    boundaries,
    toCover: uncovered(messages, replaced, boundaries, lineage),
    unstored,
  };
}

/** The largest message of a list, when it alone is more than the window holds. */
export function tooLargeIn(
  messages: readonly Message[],
  contextLength: number,
): { readonly role: string; readonly tokens: number } | undefined {
  if (contextLength <= 0) return undefined;
  const sizes = messages.map((message) => ({
    role: roleOf(message),
    tokens: estimateMessage(message),
  }));
  const largest = sizes.reduce((a, b) => (b.tokens > a.tokens ? b : a), { role: "", tokens: 0 });
  return largest.tokens > contextLength ? largest : undefined;
}

/** Does the database have what the message says? */
function isStored(message: Message, lineage: Lineage): boolean {
  const { rowId } = message.meta;
  if (rowId !== undefined && lineage.keyOf(rowId) !== undefined) return true;
  if (isResult(message) && message.content === STUB) return true;
  // Made by this process, and nothing but a list of what is stored.
  const isKnown = (id: string): boolean => lineage.forest.nodes.has(id);
  return message.meta.isHandoff === true && isPureOverview(message, isKnown);
}

/** Whatever is not stored could not be read again, so the window ends before it, at the edge of its tool group. */
function withinStored(
  messages: readonly Message[],
  boundaries: Boundaries,
  lineage: Lineage,
): { readonly boundaries: Boundaries; readonly unstored: number } {
  const { headEnd, tailStart, keptUser } = boundaries;
  const missing = messages.flatMap((message, index) =>
    index >= headEnd && index < tailStart && !isStored(message, lineage) ? [index] : [],
  );
  const [first] = missing;
  if (first === undefined) return { boundaries, unstored: 0 };
  let end = first;
  while (end > headEnd && isResult(messages[end])) end -= 1;
  const narrowed = { headEnd, tailStart: end };
  return {
    boundaries: keptUser !== undefined && keptUser < end ? { ...narrowed, keptUser } : narrowed,
    unstored: missing.length,
  };
}

/**
 * Every message up to the newest one of the list that is neither in the list afterwards nor behind a summary: those that
 * leave now, and those that left earlier without one (another engine, a crash, rows that another process added). Of the
 * replaced ones also those that stay as copies: they will leave later.
 */
function uncovered(
  messages: readonly Message[],
  replaced: readonly Message[],
  boundaries: Boundaries,
  { keys, keyOf, positionOf, forest }: Lineage,
): readonly number[] {
  const keysIn = (list: readonly Message[]): readonly number[] =>
    list.flatMap(({ meta }) => (meta.rowId === undefined ? [] : (keyOf(meta.rowId) ?? [])));
  const newest = keysIn(messages).reduce((latest, key) => Math.max(latest, positionOf(key) ?? -1), -1);
  const staying = new Set(keysIn(assemble(messages, boundaries, "").messages));
  const leaving = new Set(keysIn(replaced));
  return keys
    .slice(0, newest + 1)
    .filter((key) => !forest.leafOf.has(key) && (leaving.has(key) || !staying.has(key)));
}

function unchanged(reason: UnchangedReason, unstored = 0): LosslessPlan {
  return { kind: "unchanged", reason, unstored };
}
