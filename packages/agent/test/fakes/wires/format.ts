// What a wire brings to the server that all wires share: how a reply becomes events, an error a body, a request a view.
import type { Failure, Finish, Reply, ScriptedUsage, WireMessage } from "./script.ts";

/** One server-sent event. */
export type Frame = {
  readonly event?: string;
  /** Text is sent as it is. */
  readonly data: unknown;
  /** How many characters of what the model writes are in it. */
  readonly chars?: number;
  /** It belongs to the end of the reply, behind everything that the model writes. */
  readonly ends?: boolean;
};

/** A tool call with everything decided. */
type ReadyToolCall = { readonly name: string; readonly arguments: string; readonly id: string };

/** A reply with everything decided. */
export type ReadyReply = Omit<Reply, "toolCalls" | "finish" | "usage" | "text" | "reasoning"> & {
  readonly text: string;
  readonly reasoning: string;
  readonly signature: string;
  readonly toolCalls: readonly ReadyToolCall[];
  readonly finish: Finish;
  readonly usage: Required<ScriptedUsage> | null;
  readonly model: string;
  /** Of this reply, unlike that of any other. */
  readonly tag: string;
  readonly createdAtSeconds: number;
  readonly request: Readonly<Record<string, unknown>>;
};

/** A text in pieces for events. Called once for each text, in the order of sending. */
export type Pieces = (text: string) => readonly string[];

export type WireOptions = {
  /** The names that the list of models has. Default: one, `fake-model`, which stands for whatever is asked for. */
  readonly models?: readonly string[];
  /** Stated in the list of models. */
  readonly contextLength?: number;
};

export type WireFormat = {
  /** The SDK provider's base URL ends so. */
  readonly basePath: string;
  /** In front of made-up ids of tool calls. */
  readonly callIdPrefix: string;
  /** `path` is below the base path; undefined when it is no model call. */
  call(path: string, body: Readonly<Record<string, unknown>>): ModelCall | undefined;
  frames(reply: ReadyReply, pieces: Pieces): Iterable<Frame>;
  /** Without streaming. */
  whole(reply: ReadyReply): unknown;
  failure(failure: Failure, model: string): { readonly status: number; readonly body: unknown };
  /** An error in the middle of a stream. */
  failureFrame(failure: Failure, model: string): Frame;
  modelList(models: readonly string[], contextLength: number | undefined): unknown;
  messages(body: Readonly<Record<string, unknown>>): readonly WireMessage[];
  system(body: Readonly<Record<string, unknown>>): string;
  tools(body: Readonly<Record<string, unknown>>): readonly string[];
};

export type ModelCall = { readonly model: string; readonly isStream: boolean };

export function charsIn(text: string): number {
  return [...text].length;
}

/** Frames for the pieces of one text. */
export function* spread(
  pieces: readonly string[],
  frame: (piece: string) => Pick<Frame, "event" | "data">,
): Iterable<Frame> {
  for (const piece of pieces) yield { ...frame(piece), chars: charsIn(piece) };
}

// Requests as tests compare them: without cache markers, and a list with one text as the text itself. Both change between
// two requests although the conversation before them does not.

export type Json = Readonly<Record<string, unknown>>;

export function isRecord(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function recordOf(value: unknown): Json {
  return isRecord(value) ? value : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Goes into `content` only: what a tool was called with is the model's own, whatever its keys are called. */
export function cleaned(message: unknown): WireMessage {
  const { cache_control: _, ...rest } = recordOf(message);
  if (!Array.isArray(rest.content)) return rest;
  const parts = rest.content.map((part) => (isRecord(part) ? cleaned(part) : part));
  const [only, ...more] = parts;
  return { ...rest, content: more.length === 0 && isPlainText(only) ? only.text : parts };
}

/** The text of a string or a list of parts. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return listOf(content)
    .map((part) => recordOf(part).text)
    .filter((text) => typeof text === "string")
    .join("\n");
}

/** System messages in front, and what follows. */
export function withoutSystem(messages: readonly unknown[]): {
  readonly system: readonly unknown[];
  readonly rest: readonly unknown[];
} {
  const start = messages.findIndex(
    (message) => !["system", "developer"].includes(String(recordOf(message).role)),
  );
  const end = start < 0 ? messages.length : start;
  return { system: messages.slice(0, end), rest: messages.slice(end) };
}

const TEXT_TYPES: readonly unknown[] = ["text", "input_text", "output_text", undefined];

function isPlainText(part: unknown): part is { readonly text: string } {
  if (!isRecord(part) || typeof part.text !== "string" || !TEXT_TYPES.includes(part.type)) return false;
  return Object.keys(part).every((key) => key === "type" || key === "text");
}
