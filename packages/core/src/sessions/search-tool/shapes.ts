// The pieces of the tool's JSON that several modes share. Other programs read these names.
import { HermesError, preview, pyStrip } from "../../lib/index.ts";
import { stringForm } from "../../message/index.ts";
import type { MessageRow, SessionRow } from "../rows.ts";
import { withoutAnsi } from "../search/answer-text.ts";

export type ToolMessage = {
  readonly id: number;
  readonly role: string;
  readonly content: unknown;
  readonly timestamp: number;
  readonly tool_name?: string;
  readonly tool_calls?: unknown;
  readonly tool_call_id?: string;
  readonly anchor?: true;
  /** Something was cut off to keep the answer small. */
  readonly content_truncated?: true;
  /** How long the content is, in code points, when it was cut. */
  readonly original_content_chars?: number;
};

export type Failure = { readonly error: string; readonly success: false };

export function failure(error: string): Failure {
  return { error, success: false };
}

export function notFound(sessionId: string): Failure {
  return failure(`session_id not found: ${shown(sessionId)}`);
}

/** A caught error as one sentence or two: what happened and, where it is known, what to do. */
export function explain(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const hint = cause instanceof HermesError ? cause.hint : undefined;
  return hint === undefined ? cause.message : `${cause.message} ${hint}`;
}

export function toToolMessage(row: MessageRow, anchorId?: number): ToolMessage {
  return {
    id: row.id,
    role: row.role,
    content: withoutTerminalCodes(row.content),
    timestamp: row.timestamp,
    ...(row.tool_name ? { tool_name: label(row.tool_name) } : {}),
    ...(isFilled(row.tool_calls) ? { tool_calls: row.tool_calls } : {}),
    ...(row.tool_call_id ? { tool_call_id: label(row.tool_call_id) } : {}),
    ...(row.id === anchorId ? { anchor: true } : {}),
  };
}

/** Text and the strings in structured content. */
function withoutTerminalCodes(value: unknown): unknown {
  if (typeof value === "string") return withoutAnsi(value);
  if (Array.isArray(value)) return value.map(withoutTerminalCodes);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withoutTerminalCodes(each)]));
}

/** Names are short; one that is not was put there by mistake, and must not fill an answer. */
export function label(name: string): string {
  return preview(name, MAX_LABEL_CHARS);
}

const MAX_LABEL_CHARS = 256;

export function sessionMeta(session: SessionRow): object {
  const { source, model, title } = session;
  return { when: when(session.started_at), source: label(source), model: model && label(model), title };
}

/** `January 31, 2026 at 09:45 AM`, in local time. */
export function when(value: unknown): string {
  if (value === null || value === undefined) return "unknown";
  const seconds = typeof value === "string" && NUMERAL.test(pyStrip(value)) ? Number(value) : value;
  if (typeof seconds !== "number") return String(value);
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) return String(value);
  const hour = date.getHours();
  const day = `${MONTHS[date.getMonth()]} ${padded(date.getDate())}, ${date.getFullYear()}`;
  const time = `${padded(hour % 12 === 0 ? 12 : hour % 12)}:${padded(date.getMinutes())}`;
  return `${day} at ${time} ${hour < 12 ? "AM" : "PM"}`;
}

const NUMERAL = /^[+-]?(\d+\.?\d*|\.\d+)$/;
const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
] as const;

function padded(value: number): string {
  return String(value).padStart(2, "0");
}

function isFilled(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

/** A value from outside in an error message: recognisable, and never a whole page. */
export function shown(value: unknown): string {
  const text = typeof value === "string" ? value : jsonForm(value);
  return preview(text, MAX_SHOWN_CHARS);
}

function jsonForm(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return stringForm(value); // a cycle or a bigint
  }
}

const MAX_SHOWN_CHARS = 512; // no id is longer, so ids always appear whole
