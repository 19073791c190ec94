// The contract of a session store, part 4 of 7: what the lossless context engine knows about messages that left the context.
import type { SummaryHit, SummaryNode } from "../rows.ts";
import type { Scope } from "../scope.ts";

export type BetterSummary = Pick<SummaryNode, "summary" | "tokens" | "method">;

export interface SummaryNodes {
  /**
   * All of them or none, in one transaction. False, and nothing stored, when another writer was first: a message is covered by a
   * leaf already, or a source belongs to another node or is gone. Rejects with `unknown-session`, `no-summary-nodes`.
   */
  insertSummaryNodes(nodes: readonly SummaryNode[]): Promise<boolean>;
  /** Puts a model's text in place of one made without. False when the node is gone or has a model's text already. */
  improveSummaryNode(nodeId: string, better: BetterSummary): Promise<boolean>;
  /** Of these sessions, in the order they were made. */
  listSummaryNodes(sessionIds: readonly string[], scope?: Scope): Promise<SummaryNode[]>;
  getSummaryNode(nodeId: string, scope?: Scope): Promise<SummaryNode | null>;
  /** Best first, then newest first. Takes the query language of `search`. */
  searchSummaryNodes(
    query: string,
    options?: Scope & { readonly sessionIds?: readonly string[]; readonly limit?: number },
  ): Promise<SummaryHit[]>;
}
