// A stored message as every readable export shows it.
import {
  parseContent,
  parseToolCalls,
  partName,
  type ToolCall,
  textOf,
} from "@hermes-memory/core/internal/message";
import { masked } from "@hermes-memory/core/internal/security";
import type { ExportedSession } from "@hermes-memory/core/internal/sessions";

export type Written = { readonly sessions: number; readonly messages: number };

export type ShownMessage = {
  readonly id: number;
  readonly role: string;
  readonly text: string;
  /** Seconds since 1970. */
  readonly at: number;
  readonly calls: readonly Pick<ToolCall, "name" | "arguments">[];
  readonly toolName: string | undefined;
  /** Not taken back by the user. */
  readonly isActive: boolean;
};

/**
 * Messages that users see: rows for models only are left out. A turn that a compaction replaced is still shown, and its summary is not.
 * `all`: also turns that were taken back.
 */
export function shownMessages(session: ExportedSession, { all }: { readonly all: boolean }): ShownMessage[] {
  return session.messages.flatMap((row): ShownMessage[] => {
    const isActive = row.active !== 0 || row.compacted === 1;
    const isForModels =
      row.display_kind === "hidden" || row._compressed_summary === true || row.role === "session_meta";
    if (isForModels || (!isActive && !all)) return [];
    return [
      {
        id: row.id,
        role: row.role,
        text: textOf(parseContent(row.content), { image: "[image]", other: partName }),
        at: row.timestamp,
        calls: parseToolCalls(row.tool_calls),
        toolName: row.tool_name ?? undefined,
        isActive,
      },
    ];
  });
}

const SESSION_TEXTS = ["title", "system_prompt"] as const;
const MESSAGE_TEXTS = [
  "content",
  "tool_calls",
  "reasoning",
  "reasoning_content",
  "reasoning_details",
  "codex_reasoning_items",
  "codex_message_items",
] as const;

/** For `--redact`: the session without credentials, in its own columns and in every message. */
export function redactedSession(session: ExportedSession): ExportedSession {
  const messages = session.messages.map((message) => withMasked(message, MESSAGE_TEXTS));
  return { ...withMasked(session, SESSION_TEXTS), messages };
}

function withMasked<Row extends object>(row: Row, names: readonly (keyof Row)[]): Row {
  return { ...row, ...Object.fromEntries(names.map((name) => [name, masked(row[name])])) };
}
