// The text a user reads in a chat: start lines, the events of the agent as styled pieces, the status line. Pure.
import type { AgentEvent, AgentStatus, TurnResult } from "@hermes-memory/agent/internal/agent";
import type { ContextWindow, ModelIdentity } from "@hermes-memory/agent/internal/models";
import { groupThousands, normalizeNewlines, percentOf } from "@hermes-memory/core/internal/lib";
import { counted, oneLine, printable } from "../printing.ts";
import type { Span } from "./live-view.ts";

type TranscriptOptions = {
  readonly showReasoning: boolean;
};

/** `answer` is the model's text; `about` is everything else. */
export type Piece = Span & { readonly part: "answer" | "about" };

const PREVIEW_CHARS = 100;
const REASON_CHARS = 200;

/** Keeps track of open lines, so that every block begins on a new line. */
export class Transcript {
  readonly #options: TranscriptOptions;
  #block: "none" | "answer" | "reasoning" | "tool" = "none";
  #isLineOpen = false;
  #stream = new SafeText();
  /** The answer streamed so far in this turn, to compare with the result at its end. */
  #said = "";
  /** Where the current reply begins in `#said`. */
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
        return this.line("yellow", retryText(event));
      case "compaction-start":
        return this.line("dim", compactionStartText(event));
      case "compaction-end":
        return this.line("dim", compactionEndText(event));
      case "recall":
        return this.line("dim", recallText(event));
      case "notice":
        return this.line(event.level === "warn" ? "yellow" : "dim", event.text);
      case "title-set":
        return this.line("dim", `This session is now called '${oneLine(event.title, PREVIEW_CHARS)}'.`);
      case "turn-end":
        return this.#turnEnd(event.result);
      case "review-end":
        return event.summary === null ? [] : this.line("dim", `  ${event.summary}`);
      case "usage":
      case "review-start":
      case "memory-write":
      case "session-switch":
        return [];
      default:
        return event satisfies never;
    }
  }

  /** Ends the current block, with a line break if it lacks one. */
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

  /** A separate line, outside of the current block. */
  line(style: Span["style"], text: string): Piece[] {
    return [...this.ended(), { text: safe(text), style, part: "about" }, { text: "\n", part: "about" }];
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
    return [block === "answer" ? { text, part: "answer" } : { text, part: "about", style: "dim" }];
  }

  #discarded(): Piece[] {
    this.#said = this.#said.slice(0, this.#replyStart);
    if (this.#block !== "answer" && this.#block !== "reasoning") return [];
    return this.line("dim", "(the text above is void; the model is asked again)");
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

  /** On the line of its start if nothing came in between, otherwise on a new line. */
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
    return this.line(style, `  ${event.name}  ${outcome}`);
  }

  #turnEnd(result: TurnResult): Piece[] {
    const pieces: Piece[] = [];
    const { final_response: answer, error, hint } = result;
    const isNew = answer !== "" && !this.#said.includes(answer.trim());
    if (isNew && !result.interrupted && !(result.failed && answer === error))
      pieces.push(...this.ended(), ...this.#delta("answer", answer));
    pieces.push(...this.ended());
    if (result.interrupted) pieces.push(...this.line("yellow", "Interrupted."));
    if (error !== null) pieces.push(...this.line("red", `error: ${error}`));
    if (hint !== null) pieces.push(...this.line(undefined, hint));
    else if (result.exit === "max_iterations_reached")
      pieces.push(
        ...this.line("yellow", "The limit of model calls for one turn was reached; 'go on' continues."),
      );
    this.#said = "";
    return pieces;
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

function recallText({ glyph, label, count }: Extract<AgentEvent, { type: "recall" }>): string {
  return `${glyph === "" ? "" : `${glyph} `}${label} \u2014 recalled ${counted(count, "memory", "memories")}`;
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

// Start lines and status line.

export type StartFacts = {
  readonly sessionId: string;
  readonly model: ModelIdentity;
  readonly window: ContextWindow;
  readonly caching: AgentStatus["caching"];
  /** Only for a session that existed before. */
  readonly resumed: { readonly title: string | null; readonly messages: number } | undefined;
};

const NAME_CHARS = 100;
const SEPARATOR = " · ";

export function startLines({ sessionId, model, window, caching, resumed }: StartFacts): string[] {
  const about = resumed && [
    ...(resumed.title === null ? [] : [`'${oneLine(resumed.title, NAME_CHARS)}'`]),
    counted(resumed.messages, "message"),
  ];
  return [
    [
      `${oneLine(model.model, NAME_CHARS)} (${oneLine(model.provider)})`,
      `context ${groupThousands(window.tokens)} tokens (${windowSource(window)})`,
      cachingText(model, caching),
    ].join(SEPARATOR),
    `session ${oneLine(sessionId)}${about ? `, resumed: ${about.join(", ")}` : ""}`,
  ];
}

/** Some vendors cache without cache markers. */
function cachingText({ provider }: ModelIdentity, { enabled, ttl }: AgentStatus["caching"]): string {
  if (enabled) return `prompt caching on, ttl ${ttl}`;
  return ["openai", "google"].includes(provider) ? "prompt caching by the vendor" : "prompt caching off";
}

/** One line: usage of context and memory, cost, savings by the cache. */
export function statusLine({ context, memory, cost_usd: cost, savings }: AgentStatus): string {
  const used = context.used_tokens;
  return [
    `context ${groupThousands(used)}/${groupThousands(context.limit_tokens)} (${percent(used, context.limit_tokens)})`,
    ...(memory.memory ? [`memory ${percent(memory.memory.used, memory.memory.limit)}`] : []),
    ...(memory.user ? [`user profile ${percent(memory.user.used, memory.user.limit)}`] : []),
    ...(cost === null || cost === 0 ? [] : [dollars(cost)]),
    ...(savings === null ? [] : [savingsText(savings)]),
  ].join(SEPARATOR);
}

function savingsText({ saved, hitRate }: NonNullable<AgentStatus["savings"]>): string {
  const read = `${Math.round(hitRate * 100)}% read from it`;
  return saved < 0
    ? `cache cost ${dollars(-saved)} so far, ${read}`
    : `cache saved ${dollars(saved)}, ${read}`;
}

/** Four decimals below one dollar, because most amounts are small. */
function dollars(amount: number): string {
  return `$${amount.toFixed(amount >= 1 ? 2 : 4)}`;
}

function percent(used: number, limit: number): string {
  return `${percentOf(used, limit)}%`;
}

const WINDOW_SOURCES: Readonly<Record<Exclude<ContextWindow["source"], "server">, string>> = {
  option: "given by the program",
  config: "from config.yaml",
  custom_provider: "from custom_providers in config.yaml",
  cache: "told by the server earlier",
  table: "known for this model",
  catalogue: "from the catalogue of models",
  default: "assumed; set model.context_length if you know it",
};

function windowSource({ source, server, isProvisional }: ContextWindow): string {
  if (isProvisional) return "the model's maximum; its server may serve less";
  if (source !== "server") return WINDOW_SOURCES[source];
  return server === undefined ? "told by the server" : `told by the ${server} server`;
}

/** Makes streamed text safe for a terminal. Holds back half of a line end or of a character until the rest arrives. */
export class SafeText {
  #held = "";

  feed(chunk: string): string {
    const text = this.#held + chunk;
    const isOpen = /[\r\ud800-\udbff]$/.test(text);
    this.#held = isOpen ? text.slice(-1) : "";
    return safe(isOpen ? text.slice(0, -1) : text);
  }

  /** The rest that was held back, at the end of the stream. */
  flush(): string {
    const rest = this.#held;
    this.#held = "";
    return safe(rest);
  }
}

/** Escapes all control characters except newline and tab. */
export function safe(text: string): string {
  return printable(normalizeNewlines(text).toWellFormed());
}
