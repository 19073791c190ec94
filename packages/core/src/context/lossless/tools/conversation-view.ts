// Shared by the tools: the part of the database they may read (this conversation and related sessions of the same user), and
// the parsing of arguments.
import { err, isAbsent, ok, preview, pyStrip, type Result } from "../../../lib/index.ts";
import {
  type HomeStore,
  narrowed,
  type SessionStore,
  type SummaryNode,
  scopeOfUser,
  userOfSession,
} from "../../../sessions/index.ts";
import type { EngineStatus } from "../../engine.ts";
import { type Forest, type Lineage, loadLineage, toForest } from "../lineage.ts";

export type ToolContext = {
  readonly store: HomeStore | SessionStore;
  readonly sessionId: string;
  readonly status: EngineStatus;
  /** Tokens the model counts for each token we estimate. */
  readonly tokenFactor: number;
  /** The messages the model has in its list. */
  readonly live: readonly unknown[];
};

export type ConversationView = ToolContext & {
  /** Of the person whose conversation it is. */
  readonly store: SessionStore;
  /** False when neither the caller nor the store knows the user. Then only this conversation may be read. */
  readonly isUserKnown: boolean;
  /** Ids of all related sessions, including those this conversation was branched from. */
  readonly related: ReadonlySet<string>;
  readonly lineage: Lineage;
};

export async function openView(place: ToolContext): Promise<ConversationView> {
  const { sessionId } = place;
  const session = await place.store.getSession(sessionId);
  const store = session === null ? place.store : narrowed(place.store, scopeOfUser(userOfSession(session)));
  const isUserKnown = place.store.user !== undefined || session !== null;
  const related = new Set(await store.listLineage(sessionId));
  return { ...place, store, isUserKnown, related, lineage: await loadLineage(store, sessionId) };
}

/** A node of this conversation or of a related one, with the lineage it belongs to. */
export async function findNode(
  { store, related, lineage }: ConversationView,
  nodeId: string,
): Promise<{ readonly node: SummaryNode; readonly lineage: Lineage } | undefined> {
  const own = lineage.forest.nodes.get(nodeId);
  if (own) return { node: own, lineage };
  const node = await store.summaries.getSummaryNode(nodeId);
  if (node === null || !related.has(node.session_id)) return undefined;
  return { node, lineage: await loadLineage(store, node.session_id) };
}

/** All nodes of related sessions. If two leaves cover a message, this conversation's leaf counts. */
export async function relatedForest({ store, related, lineage }: ConversationView): Promise<Forest> {
  const all = await store.summaries.listSummaryNodes([...related]);
  return toForest([...lineage.forest.nodes.values(), ...all]);
}

/** The same text whether the node does not exist or may not be read. */
export function unknownNode(nodeId: string): string {
  return `There is no summary '${nodeId}' in this conversation. lcm_describe lists those there are.`;
}

export function unknownMessage(storeId: number): string {
  return `There is no message ${storeId} in this conversation. lcm_grep finds the ids of messages.`;
}

export function expandNodeHint(nodeId: string): string {
  return `lcm_expand(node_id="${nodeId}")`;
}

export function expandMessageHint(storeId: number): string {
  return `lcm_expand(store_id=${storeId})`;
}

// Arguments as a model wrote them. Numerals are accepted as numbers. Other wrong values are refused, because an answer that
// ignored them would look as if it had used them.

export type Args = Readonly<Record<string, unknown>>;

const SHOWN_CHARS = 200;

/** Trimmed; undefined when it is blank or no text. */
export function textOf(value: unknown): string | undefined {
  const text = typeof value === "string" ? pyStrip(value) : typeof value === "number" ? String(value) : "";
  return text === "" ? undefined : text;
}

/** Like Python's `int()`: fractions are cut off, numerals accepted; undefined for anything else. */
export function numberOf(value: unknown): number | undefined {
  const isNumeral = typeof value === "string" && /^[+-]?\d+$/.test(pyStrip(value));
  const number = typeof value === "number" ? Math.trunc(value) : isNumeral ? Number(value) : Number.NaN;
  return Number.isSafeInteger(number) ? number : undefined;
}

/** An optional count; an error when it is given but no count. */
export function countOf(args: Args, name: string, standard: number): Result<number, string> {
  if (isAbsent(args[name])) return ok(standard);
  const number = numberOf(args[name]);
  return number === undefined || number < 0
    ? err(`${name} must be a whole number from 0 on, but is ${shown(args[name])}.`)
    : ok(number);
}

export function choiceOf<T extends string>(
  args: Args,
  name: string,
  choices: readonly [T, ...T[]],
): Result<T, string> {
  if (isAbsent(args[name])) return ok(choices[0]);
  const word = textOf(args[name])?.toLowerCase();
  const chosen = choices.find((choice) => choice === word);
  return chosen === undefined
    ? err(
        `${name} must be ${choices.slice(0, -1).join(", ")} or ${choices.at(-1)}, but is ${shown(args[name])}.`,
      )
    : ok(chosen);
}

/** At most 200 characters, for error messages. */
export function shown(value: unknown): string {
  try {
    return preview(
      typeof value === "string" ? `'${value}'` : (JSON.stringify(value) ?? "nothing"),
      SHOWN_CHARS,
    );
  } catch {
    return "a value that cannot be shown";
  }
}
