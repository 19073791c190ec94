// `hermes sessions show`: a session as text, its facts first and then the conversation.
import { codePointLength, takeCodePoints } from "@hermes-memory/core/internal/lib";
import {
  callText,
  type MessageRow,
  parseContent,
  parseToolCalls,
  partName,
  textOf,
} from "@hermes-memory/core/internal/message";
import { type HomeStore, readMarks, type SessionRow } from "@hermes-memory/core/internal/sessions";
import type { CommandBody, Paint } from "../command.ts";
import { absoluteTime, counted, oneLine, printable } from "../printing.ts";
import { render } from "../render.ts";
import { numberFlag, openSession } from "./session-command.ts";

export const show: CommandBody = async (input, context) => {
  const asked = input.args.id ?? "";
  const { store, session } = await openSession(asked, context, "read");
  const limit = numberFlag(input, "limit", Number.MAX_SAFE_INTEGER);
  const { total, ...transcript } = await readTranscript(store, session, {
    limit,
    includeInactive: input.flags.all === true,
  });
  const { messages, tip } = transcript;
  const more = `The first ${messages.length} of ${total} messages; --limit ${total} prints them all.`;
  return {
    json: { ...session, tip_session_id: tip, total_messages: total, messages },
    lines: transcriptLines(transcript, { paint: context.io.paint, isFull: input.flags.full === true }),
    notes: messages.length < total ? [more] : [],
  };
};

export async function readTranscript(
  store: HomeStore,
  session: SessionRow,
  { limit, includeInactive }: { limit: number; includeInactive: boolean },
): Promise<Transcript & { readonly total: number }> {
  const { id } = session;
  const messages = includeInactive
    ? await store.getMessages(id, { includeInactive })
    : (await store.getDisplayHistory(id)).filter(({ display_kind }) => display_kind !== "hidden");
  const tip = await store.getCompressionTip(id);
  const parent = await parentLink(store, session, tip);
  return {
    session,
    messages: messages.slice(0, limit),
    total: messages.length,
    tip: tip === id ? null : tip,
    parent,
  };
}

async function parentLink(store: HomeStore, session: SessionRow, tip: string): Promise<ParentLink | null> {
  const parent = session.parent_session_id && (await store.getSession(session.parent_session_id));
  if (!parent) return null;
  const isContinuedHere = (await store.getCompressionTip(parent.id)) === tip;
  return { isContinuedHere, endReason: parent.end_reason };
}

const TOOL_OUTPUT_CHARS = 600;
const TOOL_CALL_CHARS = 120;

type Transcript = {
  readonly session: SessionRow;
  readonly messages: readonly MessageRow[];
  /** The last session of the conversation, when a compression continued it in another one. */
  readonly tip: string | null;
  readonly parent: ParentLink | null;
};

type TranscriptOptions = { readonly paint: Paint; readonly isFull: boolean };

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
  const facts = {
    title,
    source: model === null ? source : `${source}, ${model}`,
    started: absoluteTime(session.started_at),
    ended: ended_at === null ? null : `${absoluteTime(ended_at)}${reason}`,
    messages: `${message_count}, ${counted(tool_call_count, "tool call")}`,
    tokens: tokens === 0 ? null : `${session.input_tokens} in, ${session.output_tokens} out`,
    folder: cwd,
    origin: originOf(session, parent),
    goes_on: tip === null ? null : `in ${tip}`,
    archived: archived ? "yes" : null,
  };
  const head = paint("bold", `Session ${oneLine(session.id, 200)}`);
  return [head, ...render(facts, paint).map((line) => `  ${line}`)];
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

/** The text parts; other parts are represented by their name. */
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

type Linked = Pick<SessionRow, "parent_session_id" | "model_config">;

const ORPHANED = "__orphaned__";

/** Facts about the parent, for older rows, which carry no mark in `model_config`. */
type ParentLink = { readonly isContinuedHere: boolean; readonly endReason: string | null };

/** `continues X`, `branch of X`, `delegate run of X` or `child of X`; null for a conversation without a parent. */
export function originOf(session: Linked, link: ParentLink | null): string | null {
  const { branchedFrom, delegateFrom, compressedFrom } = readMarks(session.model_config);
  const parent = session.parent_session_id;
  if (delegateFrom !== undefined) {
    const by = delegateFrom === ORPHANED ? parent : (parent ?? delegateFrom);
    return by === null ? "a delegate run whose parent is gone" : `delegate run of ${by}`;
  }
  if (branchedFrom !== undefined) return `branch of ${parent ?? branchedFrom}`;
  if (compressedFrom !== undefined) return `continues ${parent ?? compressedFrom}`;
  if (parent === null) return null;
  if (link?.isContinuedHere) return `continues ${parent}`;
  return `${link?.endReason === "branched" ? "branch" : "child"} of ${parent}`;
}
