// A chat without a terminal: answers on stdout, everything else on stderr; or every event as a line of JSON on stdout.
import type { AgentEvent, AgentSurface, CommandReply, TurnResult } from "@hermes-memory/agent/agent";
import type { Terminal } from "../command.ts";
import { eventJson, type JsonEvent, jsonLine } from "./json-events.ts";
import { statusLine } from "./lines.ts";
import { safe } from "./safe-text.ts";
import { type Piece, Transcript } from "./transcript.ts";

export type PlainOptions = {
  readonly isJson: boolean;
  /** Nothing but answers and errors. */
  readonly isQuiet: boolean;
  /** The answer appears as it is written. Where nobody looks it is printed when it is certain. */
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

  /** About the conversation; only for people. */
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

  /** Nothing is printed any more: the end of the last turn stays the last line. */
  end(): void {
    this.#isOver = true;
  }

  #tell(event: AgentEvent): void {
    const isEnd = event.type === "turn-end"; // where errors are told
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

export type PlainParts = {
  readonly agent: AgentSurface;
  readonly output: PlainOutput;
  readonly signal: AbortSignal;
};

export type PlainEnd = { readonly exitCode: 0 | 1 | 130; readonly deleteSession: boolean };

/** One turn. */
export async function answerOnce(text: string, { agent, output, signal }: PlainParts): Promise<PlainEnd> {
  const result = await agent.run(text, { signal });
  output.note(statusLine(await agent.status()));
  return { exitCode: exitCodeOf(result), deleteSession: false };
}

/** Every line is a message or a command; a backslash at its end joins the next one to it. */
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

/** An answer that broke off is no success either. */
function exitCodeOf({ interrupted, failed, error }: TurnResult): 0 | 1 | 130 {
  return interrupted ? 130 : failed || error !== null ? 1 : 0;
}
