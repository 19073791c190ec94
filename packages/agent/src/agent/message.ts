// Messages of the live list. Each has an id of its own for its whole life, and the id of its row once it is stored; who has a
// message finds it again after compaction, repair or undo without counting places.
import type { ContextMessage } from "@hermes-memory/core/context";
import { randomHex } from "@hermes-memory/core/lib";

export type AgentMessage = ContextMessage & {
  /** Made when the message is; the same object in a copy of the list. */
  readonly _id: string;
  /** Seconds; when it was said, not when it was stored. */
  readonly timestamp: number;
  /** Stored, shown and synced in place of `content`, when what the model reads is not what the user typed. */
  readonly _stored_content?: unknown;
  /** Scaffolding of one turn: goes to the model, never to the database. */
  readonly _ephemeral?: "empty_recovery" | "continuation";
};

export function newMessage(message: ContextMessage, nowSeconds: number): AgentMessage {
  const { timestamp } = message;
  return {
    ...message,
    _id: randomHex(6),
    timestamp: typeof timestamp === "number" && timestamp > 0 ? timestamp : nowSeconds,
  };
}
