// Members that the door gets for gateways. Until they are in `UserMemory`, they are declared here.

import type { Remembered, UserMemory } from "@hermes-memory/core/internal/memory";
import type { Message } from "@hermes-memory/core/internal/message";

export type ChatDoor = Omit<UserMemory, "remember"> & {
  openChat(
    chatId: string,
    options: {
      readonly source?: string | undefined;
      readonly sessionId?: string | undefined;
      readonly parentChatId?: string | undefined;
    },
  ): Promise<{ readonly sessionId: string }>;
  /** The memory block, frozen when the chat began. */
  block(chatId: string): Promise<string>;
  recall(
    chatId: string,
    query: string,
  ): Promise<{ readonly text: string; readonly found: unknown; readonly durationMs: number }>;
  remember(
    chatId: string,
    messages: readonly Message[],
    options?: {
      readonly id?: string;
      readonly follow?: boolean | "shown";
      readonly hiddenTools?: readonly string[];
    },
  ): Promise<Remembered>;
};

export function doorOf(memory: UserMemory): ChatDoor {
  return memory as unknown as ChatDoor;
}
