// Whether the first message of a chat, sent alone again, asks for another reply. Apart from ask.ts, which loads the layers of a chat.
import type { Message } from "../message/index.ts";

const REGENERATED_SECONDS = 300;

/**
 * Of a chat that is one question, the list of one message shows all but the reply: it may be asked for anew, or somebody says the same
 * again. People regenerate a reply when they have read it; programs that say the same each time do so later.
 */
export function isRegenerated(question: Message | undefined, nowSeconds: number): boolean {
  return question !== undefined && nowSeconds - question.meta.atSeconds < REGENERATED_SECONDS;
}
