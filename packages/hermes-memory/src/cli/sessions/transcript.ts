// A session as text: what is known about it, then the conversation. Everything stored is shown, never obeyed.
import { codePointLength, takeCodePoints } from "@hermes-memory/core/lib";
import {
  callText,
  type MessageRow,
  parseContent,
  parseToolCalls,
  partName,
  textOf,
} from "@hermes-memory/core/message";
import type { SessionRow } from "@hermes-memory/core/sessions";
import type { Paint } from "../command.ts";
import { counted, oneLine, printable } from "../printing.ts";
import { originOf, type ParentLink } from "./origin.ts";
import { absoluteTime } from "./relative-time.ts";

const TOOL_OUTPUT_CHARS = 600;
const TOOL_CALL_CHARS = 120;

export type Transcript = {
  readonly session: SessionRow;
  readonly messages: readonly MessageRow[];
  /** Where the conversation goes on after compression, when it does. */
  readonly tip: string | null;
  readonly parent: ParentLink | null;
};

export type TranscriptOptions = { readonly paint: Paint; readonly isFull: boolean };

export function transcriptLines(transcript: Transcript, options: TranscriptOptions): string[] {
  return [
    ...headLines(transcript, options.paint),
    ...transcript.messages.flatMap((message) => ["", ...messageLines(message, options)]),
  ];
}

function headLines({ session, tip, parent }: Transcript, paint: Paint): string[] {
  const { title, source, model, ended_at, end_reason, message_count, tool_call_count, cwd, archived } =
    session;
  const tokens = session.input_tokens + session.output_tokens;
  const reason = end_reason === null ? "" : ` (${end_reason})`;
  const rows: readonly (readonly [string, string | null])[] = [
    ["title", title],
    ["source", model === null ? source : `${source}, ${model}`],
    ["started", absoluteTime(session.started_at)],
    ["ended", ended_at === null ? null : `${absoluteTime(ended_at)}${reason}`],
    ["messages", `${message_count}, ${counted(tool_call_count, "tool call")}`],
    ["tokens", tokens === 0 ? null : `${session.input_tokens} in, ${session.output_tokens} out`],
    ["folder", cwd],
    ["origin", originOf(session, parent)],
    ["goes on", tip === null ? null : `in ${tip}`],
    ["archived", archived ? "yes" : null],
  ];
  return [
    paint("bold", `Session ${oneLine(session.id, 200)}`),
    ...rows.flatMap(([name, text]) => (text === null ? [] : [`  ${name.padEnd(8)}  ${oneLine(text, 200)}`])),
  ];
}

function messageLines(message: MessageRow, { paint, isFull }: TranscriptOptions): string[] {
  const { role, tool_name, timestamp, active, compacted, observed, tool_calls } = message;
  const who = role === "tool" && tool_name !== null ? `tool ${tool_name}` : role;
  const state = active ? [] : [compacted ? "compacted" : "rewound"];
  const marks = [...state, ...(observed ? ["overheard"] : [])];
  const head = `${oneLine(who)}  ${absoluteTime(timestamp)}${marks.map((mark) => `  [${mark}]`).join("")}`;
  const text = messageText(message.content);
  const shown = role === "tool" && !isFull ? cut(text) : text;
  return [
    paint(role === "user" ? "green" : role === "tool" ? "dim" : "cyan", head),
    ...(shown === "" ? [] : [printable(shown.replaceAll("\r\n", "\n"))]),
    ...toolCalls(tool_calls).map((call) => paint("dim", `  -> ${oneLine(call, TOOL_CALL_CHARS)}`)),
  ];
}

/** Text parts as they are; what is no text is named. */
export function messageText(content: unknown): string {
  return textOf(parseContent(content), { image: partName, other: partName });
}

/** Each call in one line: `terminal({"command": "ls"})`. */
export function toolCalls(stored: unknown): string[] {
  return parseToolCalls(stored).map(callText);
}

function cut(text: string): string {
  const head = takeCodePoints(text, TOOL_OUTPUT_CHARS);
  if (head.length === text.length) return text;
  const rest = codePointLength(text) - TOOL_OUTPUT_CHARS;
  return `${head}\n[${counted(rest, "more character")}; --full prints everything]`;
}
