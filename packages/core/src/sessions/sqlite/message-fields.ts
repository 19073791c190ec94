// The columns of a message: which of them a file has, and what a query selects.
import type { FileFeatures } from "./features.ts";
import { readable, readableFields } from "./readable-fields.ts";
import { type Column, MESSAGE_COLUMNS } from "./schema.ts";

/** Columns of later versions that say something about a row and go along with copies of it. */
export const TODAY: readonly Column[] = [
  { name: "effect_disposition", declaration: "TEXT" },
  { name: "_compressed_summary", declaration: "INTEGER NOT NULL DEFAULT 0" },
  { name: "compacted", declaration: "INTEGER NOT NULL DEFAULT 0" },
  { name: "api_content", declaration: "TEXT" },
  { name: "display_kind", declaration: "TEXT" },
  { name: "display_metadata", declaration: "TEXT" },
];
/** A copy in another session keeps these as well; nothing here reads them. */
const ONLY_COPIED = ["message_uid", "absorbed_message_uids", "tool_call_uids", "tool_call_uid"];

/** The known columns that this file has: those of version 16, then later ones. */
export function messageColumns(file: FileFeatures): readonly Column[] {
  return [...MESSAGE_COLUMNS, ...TODAY.filter(({ name }) => file.messages.has(name))];
}

/** Everything a copy has from its original but the id and the session. Others fill in what is left out. */
export function copiedColumns(file: FileFeatures): readonly string[] {
  const names = messageColumns(file).map(({ name }) => name);
  return [...names, ...ONLY_COPIED.filter((name) => file.messages.has(name))].filter(
    (name) => name !== "id" && name !== "session_id",
  );
}

/** What a query selects of `MESSAGE_SOURCE`. */
export function messageFields(file: FileFeatures): string {
  return `${readableFields(messageColumns(file), "m.")}, ${readable("o.origin_id", "origin_id")}`;
}
export const MESSAGE_SOURCE = "messages m LEFT JOIN hermes_memory_origin o ON o.message_id = m.id";
