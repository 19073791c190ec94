// A stored message as every readable export shows it.
import { isRecord } from "@hermes-memory/core/internal/lib";
import { parseContent, partName, textOf } from "@hermes-memory/core/internal/message";
import { masked, redactSecrets } from "@hermes-memory/core/internal/security";
import type { ExportedSession } from "@hermes-memory/core/internal/sessions";

type ShownCall = {
  readonly id: string | undefined;
  readonly name: string;
  readonly arguments: string;
};

export type ShownMessage = {
  readonly id: number;
  readonly role: string;
  readonly text: string;
  /** Seconds since 1970. */
  readonly at: number;
  readonly calls: readonly ShownCall[];
  readonly toolName: string | undefined;
  readonly toolCallId: string | undefined;
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
        calls: callsOf(row.tool_calls),
        toolName: row.tool_name ?? undefined,
        toolCallId: row.tool_call_id ?? undefined,
        isActive,
      },
    ];
  });
}

function callsOf(value: unknown): ShownCall[] {
  if (!Array.isArray(value)) return [];
  return value.filter(isRecord).map((call) => {
    const made = isRecord(call.function) ? call.function : call;
    const given = made.arguments ?? made.input ?? {};
    return {
      id: typeof call.id === "string" ? call.id : undefined,
      name: typeof made.name === "string" ? made.name : "tool",
      arguments: typeof given === "string" ? given : JSON.stringify(given),
    };
  });
}

/** For `--redact`: the session without credentials, in its own columns and in every message. */
export function redactedSession<Session extends ExportedSession>(session: Session): Session {
  const { messages, title, system_prompt: prompt } = session;
  return {
    ...session,
    title: title === null ? null : redactSecrets(title),
    system_prompt: prompt === null ? null : redactSecrets(prompt),
    messages: messages.map((message) => ({
      ...message,
      content: masked(message.content),
      tool_calls: masked(message.tool_calls),
      reasoning: redactedText(message.reasoning),
      reasoning_content: redactedText(message.reasoning_content),
      reasoning_details: redactedText(message.reasoning_details),
      codex_reasoning_items: redactedText(message.codex_reasoning_items),
      codex_message_items: redactedText(message.codex_message_items),
    })),
  };
}

function redactedText(text: string | null): string | null {
  return text === null ? null : redactSecrets(text);
}
