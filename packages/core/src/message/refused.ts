// Messages that a model's provider refused to read. They stay in the database with a mark; requests, summaries and recaps say in
// their place that something was left out.
import { isMessage, type Message } from "./message.ts";

/**
 * The mark, in `finish_reason`. No model ends a reply with this value, and other programs read the column of replies only. Being a
 * column of the row it comes along into branches, continuations, exports and copies of the file.
 */
export const REFUSED_BY_POLICY = "content_policy";

/** For models and summaries, in place of the content. */
export const REFUSED_NOTE =
  "[Left out: the model's provider refused to read this because of its content policy.]";

/** Of a message, or of a row of the database. */
export function isRefused(
  message: Message | { readonly role: string; readonly finish_reason?: unknown },
): boolean {
  const reason = isMessage(message) ? message.meta.finishReason : message.finish_reason;
  return reason === REFUSED_BY_POLICY;
}
