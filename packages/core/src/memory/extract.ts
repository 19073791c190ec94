// Facts worth keeping, found by a model in the messages of a chat that were not looked at before.
import type { Chats } from "./chats.ts";
import type { Entries } from "./entries.ts";
import type { Extracted, ExtractOptions } from "./user-memory.ts";

export async function extractFacts(
  _layers: { readonly chats: Chats; readonly entries: Entries },
  _chatId: string,
  _options: ExtractOptions,
): Promise<Extracted> {
  throw new Error("not built");
}
