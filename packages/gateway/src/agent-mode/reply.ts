// The answer of a turn: what the client reads while it runs and when it has ended, in the words of its wire; and what went wrong, as
// a problem with the right status.
import type { AgentEvent, TurnResult } from "@hermes-memory/agent/internal/agent";
import { addUsage, type Usage } from "@hermes-memory/agent/internal/models";
import { type GatewayProblem, MODEL_PROBLEMS } from "../problem.ts";
import type { Finish, Reply, ReplyEvent, ReplyMetadata } from "../wires/wire.ts";
import { BETWEEN_REPLIES, SEND_AGAIN } from "./follow.ts";

// ---- While the turn runs ----

/** Gathers a turn's events: what the client is shown, what the turn used, and what people should know. */
export class ReplySoFar {
  readonly #emit: (event: ReplyEvent) => void;
  readonly #notices: string[] = [];
  #text = "";
  #reasoning = "";
  #usage: Usage | undefined;
  #compactedFrom: string | undefined;
  /** The next text belongs to another reply of the model. */
  #isNextReply = false;

  /** `emit` gets the events that a streaming client reads at once. */
  constructor(emit: (event: ReplyEvent) => void = () => undefined) {
    this.#emit = emit;
  }

  get text(): string {
    return this.#text;
  }
  get reasoning(): string {
    return this.#reasoning;
  }
  get usage(): Usage | undefined {
    return this.#usage;
  }

  note(text: string): void {
    if (text !== "" && !this.#notices.includes(text)) this.#notices.push(text);
  }

  noteCompaction(from: string, to: string): void {
    this.#compactedFrom ??= from;
    this.note(
      `The conversation was compacted: it goes on in session ${to}, and search still finds all of it.`,
    );
  }

  metadata(sessionId: string): ReplyMetadata {
    const compactedFrom = this.#compactedFrom;
    const notices = [...this.#notices];
    return compactedFrom === undefined ? { sessionId, notices } : { sessionId, notices, compactedFrom };
  }

  listen(event: AgentEvent): void {
    switch (event.type) {
      case "text-delta": {
        const isBreak = this.#isNextReply && this.#text !== "";
        this.#isNextReply = false;
        this.#say(isBreak ? BETWEEN_REPLIES + event.text : event.text);
        return;
      }
      case "reasoning-delta":
        this.#reasoning += event.text;
        this.#emit({ type: "reasoning", text: event.text });
        return;
      case "tool-start":
      case "text-discard": // a client has read it already; the reply that follows begins a new paragraph
        this.#isNextReply = true;
        return;
      case "usage":
        this.#usage = this.#usage === undefined ? event.usage : addUsage(this.#usage, event.usage);
        return;
      case "compaction-end":
        if (event.kind === "compacted" || event.kind === "pruned")
          this.noteCompaction(event.oldSessionId, event.sessionId);
        return;
      case "notice":
        if (event.cause !== "caught-up") this.note(event.text); // mostly rows that followed the client's own list
        return;
      default:
        return;
    }
  }

  /** A reply that nobody streamed. */
  fill(text: string): void {
    if (this.#text === "") this.#say(text);
  }

  #say(text: string): void {
    if (text === "") return;
    this.#text += text;
    this.#emit({ type: "text", text });
  }
}

// ---- When it has ended ----

export type Ended = {
  readonly finish: Finish;
  readonly calls: Reply["toolCalls"];
  readonly sessionId: string;
};

export function endOf(result: TurnResult): Ended {
  return {
    finish: finishOf(result),
    calls: result.client_tool_calls,
    sessionId: result.session_id,
  };
}

function finishOf({ exit, interrupted, partial }: TurnResult): Finish {
  if (exit === "client_tool_calls") return "tool_calls";
  if (interrupted) return "interrupted";
  return partial || exit === "truncated_response" || exit === "max_iterations_reached" ? "length" : "stop";
}

/** Undefined: there is a reply to send. A reply that broke off with text is one. */
export function problemOf(result: TurnResult): GatewayProblem | undefined {
  const { exit, failed, partial, error, hint, error_kind, retry_after_seconds } = result;
  if (!failed || (partial && result.final_response !== "")) return undefined;
  return {
    ...statusOf(exit, error_kind),
    message: error ?? "The turn failed.",
    ...(exit === "session_busy" ? { hint: SEND_AGAIN } : hint === null ? {} : { hint }),
    ...(retry_after_seconds === null ? {} : { retryAfterSeconds: Math.ceil(retry_after_seconds) }),
  };
}

type Status = Pick<GatewayProblem, "status" | "code" | "isLasting" | "retryAfterSeconds">;

function statusOf(exit: TurnResult["exit"], kind: TurnResult["error_kind"]): Status {
  switch (exit) {
    case "session_busy":
      return { status: 409, code: "session-busy", retryAfterSeconds: 5 };
    case "session_gone":
      return { status: 404, code: "session-gone" };
    case "no_open_calls":
      return { status: 400, code: "no-open-calls" };
    case "context_overflow":
    case "compaction_disabled":
      return MODEL_PROBLEMS.overflow;
    case "empty_response_exhausted":
    case "invalid_tool_calls":
    case "truncated_response":
    case "max_iterations_reached":
      return MODEL_PROBLEMS[kind ?? "invalid_response"];
    default:
      return kind === null ? { status: 500, code: "turn-failed" } : MODEL_PROBLEMS[kind];
  }
}
