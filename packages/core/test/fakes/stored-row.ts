// A row as the database has it, each with an id of its own.
import type { StoredMessageRow } from "../../src/message/index.ts";

let lastId = 0;

export function storedRow(columns: Partial<StoredMessageRow>): StoredMessageRow {
  lastId += 1;
  return {
    id: lastId,
    session_id: "s1",
    role: "user",
    content: "hello",
    tool_call_id: null,
    tool_calls: null,
    tool_name: null,
    timestamp: 10,
    token_count: null,
    finish_reason: null,
    reasoning: null,
    reasoning_content: null,
    reasoning_details: null,
    codex_reasoning_items: null,
    codex_message_items: null,
    platform_message_id: null,
    observed: 0,
    active: 1,
    origin_id: null,
    ...columns,
  };
}
