// Where a session comes from, read from its link and the marks in `model_config`.
import { readMarks, type SessionRow } from "@hermes-memory/core/sessions";

type Linked = Pick<SessionRow, "parent_session_id" | "model_config">;

const ORPHANED = "__orphaned__";

/** What is known of the parent. Older rows carry no mark; then its end tells. */
export type ParentLink = { readonly isContinuedHere: boolean; readonly endReason: string | null };

/** `continues X`, `branch of X`, `delegate run of X`, `child of X`; null for a conversation of its own. */
export function originOf(session: Linked, link: ParentLink | null): string | null {
  const { branchedFrom, delegateFrom, compressedFrom } = readMarks(session.model_config);
  const parent = session.parent_session_id;
  if (delegateFrom !== undefined) {
    const by = delegateFrom === ORPHANED ? parent : (parent ?? delegateFrom);
    return by === null ? "a delegate run whose parent is gone" : `delegate run of ${by}`;
  }
  if (branchedFrom !== undefined) return `branch of ${parent ?? branchedFrom}`;
  if (compressedFrom !== undefined) return `continues ${parent ?? compressedFrom}`;
  if (parent === null) return null;
  if (link?.isContinuedHere) return `continues ${parent}`;
  return `${link?.endReason === "branched" ? "branch" : "child"} of ${parent}`;
}
