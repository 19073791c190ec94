// What an agent tells, as text for people: pieces in order, each with the style it is shown in. No terminal in here.
import type { AgentEvent, TurnResult } from "@hermes-memory/agent/agent";
import { groupThousands } from "@hermes-memory/core/lib";
import { counted, oneLine } from "../printing.ts";
import { SafeText, safe } from "./safe-text.ts";
import type { Span } from "./view/span.ts";

export type TranscriptOptions = {
  readonly showReasoning: boolean;
};

/** `answer` is what the model says; all else is about it. */
export type Piece = Span & { readonly part: "answer" | "about" };

const PREVIEW_CHARS = 100;
const REASON_CHARS = 200;

/** Keeps track of where in the text we are, so that every block begins on a line of its own. */
export class Transcript {
  readonly #options: TranscriptOptions;
  #block: "none" | "answer" | "reasoning" | "tool" = "none";
  #isLineOpen = false;
  #stream = new SafeText();
  /** What was said of the answer in this turn, for the comparison at its end. */
  #said = "";
  /** Where the current reply begins in it. */
  #replyStart = 0;
  #openCall: string | undefined;

  constructor(options: TranscriptOptions) {
    this.#options = options;
  }

  render(event: AgentEvent): Piece[] {
    switch (event.type) {
      case "turn-start":
        this.#said = "";
        this.#replyStart = 0;
        return this.ended();
      case "text-delta":
        return this.#answer(event.text);
      case "reasoning-delta":
        return this.#options.showReasoning ? this.#delta("reasoning", event.text) : [];
      case "text-discard":
        return this.#discarded();
      case "tool-start":
        this.#replyStart = this.#said.length;
        return this.#toolStart(event.callId, event.name, event.preview);
      case "tool-end":
        return this.#toolEnd(event);
      case "retry":
        return this.#line("yellow", retryText(event));
      case "compaction-start":
        return this.#line("dim", compactionStartText(event));
      case "compaction-end":
        return this.#line("dim", compactionEndText(event));
      case "notice":
        return this.#line(event.level === "warn" ? "yellow" : "dim", event.text);
      case "title-set":
        return this.#line("dim", `This session is now called '${oneLine(event.title, PREVIEW_CHARS)}'.`);
      case "turn-end":
        return this.#turnEnd(event.result);
      case "review-end":
        return event.summary === null ? [] : this.#line("dim", `  ${event.summary}`);
      case "usage":
      case "review-start":
      case "memory-write":
      case "session-switch":
        return [];
      default:
        return event satisfies never;
    }
  }

  /** Whatever is being said comes to its end, with a line end if it has none. */
  ended(): Piece[] {
    const part = this.#block === "answer" ? "answer" : "about";
    const rest = this.#stream.flush();
    const isOpen = rest === "" ? this.#isLineOpen : !rest.endsWith("\n");
    this.#block = "none";
    this.#openCall = undefined;
    this.#isLineOpen = false;
    return [
      ...(rest === "" ? [] : [{ text: rest, part } as const]),
      ...(isOpen ? [{ text: "\n", part } as const] : []),
    ];
  }

  /** A line of our own, apart from whatever is being said. */
  line(style: Span["style"], text: string): Piece[] {
    return this.#line(style, text);
  }

  #answer(text: string): Piece[] {
    this.#said += text;
    return this.#delta("answer", text);
  }

  #delta(block: "answer" | "reasoning", text: string): Piece[] {
    const opening = this.#block === block ? [] : this.ended();
    this.#block = block;
    const shown = this.#stream.feed(text);
    return [...opening, ...this.#piece(block, shown)];
  }

  #piece(block: "answer" | "reasoning", text: string): Piece[] {
    if (text === "") return [];
    this.#isLineOpen = !text.endsWith("\n");
    return [{ text, ...(block === "answer" ? { part: "answer" } : { part: "about", style: "dim" }) }];
  }

  #discarded(): Piece[] {
    this.#said = this.#said.slice(0, this.#replyStart);
    if (this.#block !== "answer" && this.#block !== "reasoning") return [];
    return this.#line("dim", "(what was said above is void; the model is asked again)");
  }

  #toolStart(callId: string, name: string, preview: string): Piece[] {
    const ending = this.ended();
    this.#block = "tool";
    this.#isLineOpen = true;
    this.#openCall = callId;
    const shown = oneLine(preview, PREVIEW_CHARS);
    const text = `  ${oneLine(name)}${shown === "" ? "" : `  ${shown}`}`;
    return [...ending, { text, style: "dim", part: "about" }];
  }

  /** Behind its beginning when nothing came in between; otherwise on a line of its own. */
  #toolEnd(event: Extract<AgentEvent, { type: "tool-end" }>): Piece[] {
    const outcome = `${event.isError ? "failed" : "done"} in ${duration(event.durationMs)}`;
    const style = event.isError ? "yellow" : "dim";
    if (this.#block === "tool" && this.#openCall === event.callId) {
      this.#openCall = undefined;
      this.#block = "none";
      this.#isLineOpen = false;
      return [
        { text: "  ", part: "about" },
        { text: outcome, style, part: "about" },
        { text: "\n", part: "about" },
      ];
    }
    return this.#line(style, `  ${event.name}  ${outcome}`);
  }

  #turnEnd(result: TurnResult): Piece[] {
    const pieces: Piece[] = [];
    const { final_response: answer, error, hint } = result;
    const isNew = answer !== "" && !this.#said.includes(answer.trim());
    if (isNew && !result.interrupted && !(result.failed && answer === error))
      pieces.push(...this.ended(), ...this.#delta("answer", answer));
    pieces.push(...this.ended());
    if (result.interrupted) pieces.push(...this.#line("yellow", "Interrupted."));
    if (error !== null) pieces.push(...this.#line("red", `error: ${error}`));
    if (hint !== null) pieces.push(...this.#line(undefined, hint));
    else if (result.exit === "max_iterations_reached")
      pieces.push(
        ...this.#line("yellow", "The limit of model calls for one turn was reached; 'go on' continues."),
      );
    this.#said = "";
    return pieces;
  }

  #line(style: Span["style"], text: string): Piece[] {
    return [...this.ended(), { text: safe(text), style, part: "about" }, { text: "\n", part: "about" }];
  }
}

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1000)} s`;
}

function retryText({ attempt, of, waitMs, reason }: Extract<AgentEvent, { type: "retry" }>): string {
  return `Retry ${attempt} of ${of} in ${duration(waitMs)}: ${oneLine(reason, REASON_CHARS)}`;
}

function compactionStartText({
  messages,
  tokens,
}: Extract<AgentEvent, { type: "compaction-start" }>): string {
  return `Compacting the conversation: ${counted(messages, "message")}, about ${groupThousands(tokens)} tokens.`;
}

function compactionEndText(event: Extract<AgentEvent, { type: "compaction-end" }>): string {
  const { kind, messagesBefore, messagesAfter, tokensBefore, tokensAfter, oldSessionId, sessionId } = event;
  const size =
    `${messagesBefore} to ${counted(messagesAfter, "message")}, about ${groupThousands(tokensBefore)} to ` +
    `${groupThousands(tokensAfter)} tokens`;
  switch (kind) {
    case "compacted":
      return `Compacted: ${size}.${sessionId === oldSessionId ? "" : ` The session goes on as ${sessionId}.`}`;
    case "pruned":
      return `Old tool results were shortened: ${size}.`;
    case "unchanged":
      return "There was nothing to compact.";
    case "aborted":
      return "The compaction was stopped; the conversation is as it was.";
    case "busy":
      return "Another process is compacting this conversation; it is left as it is here.";
    case "failed":
      return "The compaction failed; the conversation is as it was.";
    default:
      return kind satisfies never;
  }
}
