// The id of a session that another program calls by an id of its own: a gateway stores the program's requests under it, and an import its
// transcript. Where the gateway could not know it, its session has the mark of this id since an import recognised the conversation.
import { sha256 } from "../lib/index.ts";

const SAFE_ID = /^[A-Za-z0-9._-]+$/;
const MAX_ID = 128;

/** `source`: the program, as `--from` names it. */
export function transcriptSessionId(source: string, nativeId: string): string {
  const plain = `${source}-${nativeId}`;
  if (SAFE_ID.test(nativeId) && plain.length <= MAX_ID) return plain;
  return `${source}-h${sha256(nativeId).slice(0, 32)}`;
}

/** Leads to the session of the owner that holds the conversation, whatever its id is. */
export function transcriptMark(sessionId: string): string {
  return `session:${sessionId}`;
}
