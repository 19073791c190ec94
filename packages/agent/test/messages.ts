// Messages for tests, written and compared as chat rows.
import {
  type Message,
  type Meta,
  type OpenAiMessage,
  readRow,
  toOpenAi,
} from "@hermes-memory/core/internal/message";

export type ChatRow = Readonly<Record<string, unknown>> & { readonly role: string };

export function message<const Role extends string>(
  row: Readonly<Record<string, unknown>> & { readonly role: Role },
  meta: Partial<Meta> = {},
): Extract<Message, { role: Role }> {
  return readRow(row, meta) as Extract<Message, { role: Role }>;
}

export function messages(...rows: readonly ChatRow[]): Message[] {
  return rows.map((row) => message(row) as Message);
}

/** Without the keys of this process. */
export function chatRow(given: Message | undefined): OpenAiMessage {
  if (given === undefined) throw new Error("There is no such message.");
  return toOpenAi(given, { forOthers: true });
}
