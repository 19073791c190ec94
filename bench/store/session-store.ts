// The session store as a target.
import { type NewMessage, openSessionStore } from "@hermes-memory/core/internal/sessions";
import { sourceOf } from "../corpus/index.ts";
import type { Anchor } from "./reads.ts";
import type { Target } from "./target.ts";

/** Adds some of the appended messages to `anchors`. */
export async function storeTarget(path: string, anchors: Anchor[]): Promise<Target<NewMessage>> {
  const store = await openSessionStore({ path });
  const remember = (sessionId: string, messageId: number) => {
    if (anchors.length === 0 || messageId % ANCHOR_EVERY === 0) anchors.push({ sessionId, messageId });
  };
  return {
    createSession: (id, startedAt) => store.createSession(id, { source: sourceOf(id), startedAt }),
    prepare: (message) => ({
      role: message.role,
      content: message.content,
      timestamp: message.ts,
      toolCalls: message.tool_calls ?? null,
      toolName: message.tool_name ?? null,
      toolCallId: message.tool_call_id ?? null,
      finishReason: message.finish_reason ?? null,
    }),
    appendOne: async (sessionId, input) => remember(sessionId, await store.appendMessage(sessionId, input)),
    async appendMany(sessionId, inputs) {
      for (const id of await store.appendMany(sessionId, inputs)) remember(sessionId, id);
    },
    close: () => store.close(),
  };
}

/** One message in this many is an anchor for scrolling. */
const ANCHOR_EVERY = 97;
