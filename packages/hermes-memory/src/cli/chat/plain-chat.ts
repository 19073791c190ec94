// A chat without a screen: answers on stdout and everything else on stderr, or with --json every event as a line on stdout.
import { fstatSync } from "node:fs";
import type { AgentEvent, AgentSurface, CommandReply, TurnResult } from "@hermes-memory/agent/internal/agent";
import { safeAddress } from "@hermes-memory/agent/internal/models";
import { masked } from "@hermes-memory/core/internal/security";
import { CommandFailure, type Terminal, usageFailure } from "../command.ts";
import { snakeKeys } from "../printing.ts";
import { linesOf, lineText, untilAborted } from "../sessions/input-lines.ts";
import { type Piece, type StartFacts, safe, statusLine, Transcript } from "./transcript.ts";

export type PlainOptions = {
  readonly isJson: boolean;
  /** Print only answers and errors. */
  readonly isQuiet: boolean;
  /** Print the answer while it arrives, for a terminal. Otherwise it is printed when the turn has ended. */
  readonly isStreamed: boolean;
  readonly showReasoning: boolean;
};

export class PlainOutput {
  readonly #io: Pick<Terminal, "out" | "note" | "paint">;
  readonly #options: PlainOptions;
  readonly #transcript: Transcript;
  #isOver = false;

  constructor(io: Pick<Terminal, "out" | "note" | "paint">, options: PlainOptions) {
    this.#io = io;
    this.#options = options;
    this.#transcript = new Transcript({ showReasoning: options.showReasoning });
  }

  onEvent(event: AgentEvent): void {
    if (this.#isOver) return;
    if (this.#options.isJson) this.json(eventJson(event));
    else this.#tell(event);
  }

  json(value: JsonEvent): void {
    this.#io.out(jsonLine(value));
  }

  /** Text about the conversation; not printed with --json. */
  note(text: string): void {
    if (this.#options.isJson || this.#isOver) return;
    for (const piece of this.#transcript.line("dim", text)) this.#put(piece, false);
  }

  reply(reply: CommandReply): void {
    const { kind, lines, json } = reply;
    const text = lines.map((line) => `${safe(line)}\n`).join("");
    if (this.#options.isJson) this.json({ type: "command-reply", kind, lines, data: json });
    else if (kind === "error") this.#io.note(text);
    else this.#io.out(text);
  }

  /** Prints nothing from now on, so that the end of the last turn stays the last line. */
  end(): void {
    this.#isOver = true;
  }

  #tell(event: AgentEvent): void {
    const isEnd = event.type === "turn-end"; // carries the errors
    for (const piece of this.#transcript.render(event)) this.#put(piece, isEnd);
    if (isEnd && !this.#options.isStreamed) this.#answer(event.result);
  }

  #put({ text, style, part }: Piece, isError: boolean): void {
    if (part === "answer") {
      if (this.#options.isStreamed) this.#io.out(text);
    } else if (isError || !this.#options.isQuiet)
      this.#io.note(style === undefined ? text : this.#io.paint(style, text));
  }

  #answer({ final_response: answer, interrupted, failed, error }: TurnResult): void {
    if (interrupted || answer === "" || (failed && answer === error)) return;
    this.#io.out(`${safe(answer)}${answer.endsWith("\n") ? "" : "\n"}`);
  }
}

type PlainParts = {
  readonly agent: AgentSurface;
  readonly output: PlainOutput;
  readonly signal: AbortSignal;
};

export type PlainEnd = { readonly exitCode: 0 | 1 | 130; readonly deleteSession: boolean };

export async function answerOnce(text: string, { agent, output, signal }: PlainParts): Promise<PlainEnd> {
  const result = await agent.run(text, { signal });
  output.note(statusLine(await agent.status()));
  return { exitCode: exitCodeOf(result), deleteSession: false };
}

/** Every line is a message or a command; a backslash at its end continues it on the next line. */
export async function answerLines(
  lines: AsyncIterable<string>,
  runCommand: (line: string) => Promise<CommandReply | undefined>,
  parts: PlainParts,
): Promise<PlainEnd> {
  let hasFailed = false;
  for await (const message of messagesOf(lines)) {
    if (parts.signal.aborted) break;
    const reply = await runCommand(message);
    if (reply !== undefined) parts.output.reply(reply);
    if (reply?.kind === "error") hasFailed = true;
    if (reply?.kind === "exit")
      return { exitCode: hasFailed ? 1 : 0, deleteSession: reply.deleteSession === true };
    if (reply !== undefined && reply.kind !== "send" && reply.kind !== "queue") continue;
    const { exitCode } = await answerOnce(reply?.text ?? message, parts);
    if (exitCode === 130) break;
    if (exitCode === 1) hasFailed = true;
  }
  return { exitCode: parts.signal.aborted ? 130 : hasFailed ? 1 : 0, deleteSession: false };
}

async function* messagesOf(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let begun = "";
  for await (const line of lines) {
    if (line.endsWith("\\")) {
      begun += `${line.slice(0, -1)}\n`;
      continue;
    }
    const message = begun + line;
    begun = "";
    if (message.trim() !== "") yield message;
  }
  if (begun.trim() !== "") yield begun;
}

/** An incomplete answer counts as a failure. */
function exitCodeOf({ interrupted, failed, error }: TurnResult): 0 | 1 | 130 {
  return interrupted ? 130 : failed || error !== null ? 1 : 0;
}

// `--json`: one object per line, with keys in snake case and the event names of the agent.

type JsonEvent = Readonly<Record<string, unknown>> & { readonly type: string };

/** The first line: model and session. */
export function sessionJson(facts: StartFacts, warnings: readonly string[]): JsonEvent {
  const { sessionId, model, window, caching, resumed } = facts;
  return {
    type: "session",
    session_id: sessionId,
    resumed: resumed !== undefined,
    title: resumed?.title ?? null,
    messages: resumed?.messages ?? 0,
    model: model.model,
    provider: model.provider,
    api_mode: model.apiMode,
    base_url: safeAddress(model.baseUrl),
    context_window: { tokens: window.tokens, source: window.source, is_provisional: window.isProvisional },
    caching,
    warnings,
  };
}

export function eventJson(event: AgentEvent): JsonEvent {
  if (event.type === "turn-end") return { type: event.type, result: resultJson(event.result) };
  if (event.type === "tool-start")
    return { ...snakeKeys(event), type: event.type, ...shown("input", event.input) };
  if (event.type === "tool-end")
    return { ...snakeKeys(event), type: event.type, ...shown("output", event.output) };
  if (event.type !== "usage") return { ...snakeKeys(event), type: event.type };
  return { ...snakeKeys(event), type: event.type, usage: snakeKeys(event.usage) };
}

/** A line per event should stay readable; the stored message has the whole value. */
const MOST_VALUE_CHARS = 4_000;

/** Arguments and results as they are stored: with secrets masked. A longer value becomes the beginning of its JSON, and is marked. */
function shown(name: "input" | "output", value: unknown): Readonly<Record<string, unknown>> {
  const safeValue = masked(value);
  const text = typeof safeValue === "string" ? safeValue : JSON.stringify(safeValue);
  if (text === undefined || text.length <= MOST_VALUE_CHARS) return { [name]: safeValue };
  const left = text.length - MOST_VALUE_CHARS;
  return { [name]: text.slice(0, MOST_VALUE_CHARS).toWellFormed(), [`${name}_left_out_chars`]: left };
}

/** The number of messages in place of the messages, which would all be repeated with every turn. */
function resultJson({ messages, ...result }: TurnResult): Readonly<Record<string, unknown>> {
  return { ...result, message_count: messages.length };
}

/** Also escapes control characters above ASCII, which JSON leaves alone. */
export function jsonLine(value: JsonEvent): string {
  const text = JSON.stringify(value).replace(
    /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return `${text}\n`;
}

// Piped input: as a whole, as context of a question, or line by line.

/** After this time the command prints what it waits for. */
const WAIT_NOTICE_MS = 3000;

/** `-` stands for the piped input; otherwise piped input is context below the question. */
export async function readQuestion(
  io: Pick<Terminal, "readInput" | "note">,
  query: string,
  hasInput: boolean,
): Promise<string> {
  const isInput = query.trim() === "-";
  const piped = isInput || hasInput ? await readInputWithNotice(io) : "";
  const question = isInput ? piped : piped.trim() === "" ? query : `${query}\n\n${piped}`;
  if (question.trim() !== "") return question;
  throw usageFailure(isInput ? "Nothing was piped in." : "The question is empty.", {
    hint: 'Ask something: hermes chat -q "..."',
  });
}

/** True when standard input is a pipe, a socket or a file, and not a terminal or `/dev/null`. */
export function hasPipedInput(): boolean {
  try {
    const stat = fstatSync(0);
    return stat.isFIFO() || stat.isSocket() || stat.isFile();
  } catch {
    return false; // closed
  }
}

/** `prompt` is called before waiting for each line. */
export async function* pipedLines(
  chunks: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
  prompt: () => void = () => {},
): AsyncGenerator<string> {
  prompt();
  for await (const line of linesOf(untilAborted(chunks, signal))) {
    const text = lineText(line);
    if (text === undefined)
      throw new CommandFailure(`Line ${line.number} of the piped input is not valid UTF-8 text.`);
    yield text;
    if (signal.aborted) return;
    prompt();
  }
}

async function readInputWithNotice(io: Pick<Terminal, "readInput" | "note">): Promise<string> {
  const notice = setTimeout(
    () => io.note("Waiting for the end of standard input. Without any, add '< /dev/null'.\n"),
    WAIT_NOTICE_MS,
  );
  try {
    return await io.readInput();
  } finally {
    clearTimeout(notice);
  }
}
