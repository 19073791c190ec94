// What the tools may see: the conversation the engine works for, the sessions it is related to, all of one user.

import {
  type Scope,
  type SessionStore,
  type SummaryNode,
  scopeOfUser,
  userOfSession,
} from "../../../sessions/index.ts";
import type { EngineStatus } from "../../engine.ts";
import { type Forest, growForest } from "../forest.ts";
import { type Lineage, loadLineage } from "../lineage.ts";

export type ToolPlace = {
  readonly store: SessionStore;
  readonly sessionId: string;
  /** Empty: the session's own user. */
  readonly user: Scope;
  readonly status: EngineStatus;
  /** Tokens the model counts for each token we estimate. */
  readonly tokenFactor: number;
  /** What the model has before it. */
  readonly live: readonly unknown[];
};

export type View = ToolPlace & {
  readonly scope: Scope;
  /** False: neither the caller nor the store says whose conversation this is, so it may not look at others. */
  readonly isUserKnown: boolean;
  /** Over every kind of parent: also what this conversation was branched from. */
  readonly related: ReadonlySet<string>;
  readonly lineage: Lineage;
};

export async function openView(place: ToolPlace): Promise<View> {
  const { store, sessionId, user } = place;
  const session = await store.getSession(sessionId);
  const isGiven = user.userId !== undefined;
  const scope = isGiven || session === null ? user : scopeOfUser(userOfSession(session));
  const isUserKnown = isGiven || session !== null;
  const related = new Set(await store.listLineage(sessionId, scope));
  return { ...place, scope, isUserKnown, related, lineage: await loadLineage(store, sessionId, scope) };
}

/** A node of this conversation or of a related one, with the messages and nodes around it. */
export async function findNode(
  { store, scope, related, lineage }: View,
  nodeId: string,
): Promise<{ readonly node: SummaryNode; readonly lineage: Lineage } | undefined> {
  const own = lineage.forest.nodes.get(nodeId);
  if (own) return { node: own, lineage };
  const node = await store.getSummaryNode(nodeId, scope);
  if (node === null || !related.has(node.session_id)) return undefined;
  return { node, lineage: await loadLineage(store, node.session_id, scope) };
}

/** All nodes of related sessions; where a message is covered twice, this conversation's leaf counts. */
export async function relatedForest({ store, scope, related, lineage }: View): Promise<Forest> {
  const all = await store.listSummaryNodes([...related], scope);
  return growForest([...lineage.forest.nodes.values(), ...all]);
}

/** The same words whether it does not exist or may not be seen. */
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
