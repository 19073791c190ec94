// A wire is one vendor's HTTP protocol, as seen from its server side: it reads a client's request and writes the reply. Pure. Three of
// them: chat.ts (OpenAI chat completions), responses.ts (OpenAI responses), messages.ts (Anthropic messages).
import type { Usage } from "@hermes-memory/agent/internal/models";
import type { Message } from "@hermes-memory/core/internal/message";
import type { ToolDefinition } from "@hermes-memory/core/internal/tools";
import type { GatewayProblem, JsonObject } from "../problem.ts";
import { SSE_COMMENT } from "./sse.ts";

export type WireName = "chat" | "responses" | "messages";

/** A client's request in our terms. What the wire says beyond it is in the body, which the proxy forwards. */
export type WireRequest = {
  readonly wire: WireName;
  readonly model: string;
  readonly isStream: boolean;
  /** The client's instructions, joined; "" for none. */
  readonly system: string;
  /**
   * Without instructions; a system message between others stays in its place. Reasoning, signatures and cache markers are kept in `vendor`.
   * Responses: if the input refers to items of an earlier reply by their ids, only what follows that reply.
   */
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDefinition[];
  /** `required` and a named tool are honoured by the proxy on the same wire; elsewhere they are in `unsupported`. */
  readonly toolChoice: "auto" | "none" | "required" | { readonly name: string };
  readonly maxOutputTokens: number | undefined;
  readonly temperature: number | undefined;
  /** Chat: the usage chunk is sent only when asked for. */
  readonly includeUsage: boolean;
  /** Ids that the body carries, for identity.ts. */
  readonly ids: {
    readonly user?: string;
    readonly conversation?: string;
    /** Responses: also the reply that an `item_reference` of the input belongs to, or the id of the item if it is not ours. */
    readonly previousResponseId?: string;
    readonly litellmSessionId?: string;
    readonly promptCacheKey?: string;
    /** Anthropic's `metadata.user_id`. */
    readonly metadataUserId?: string;
  };
  /**
   * Fields that this request uses and that would be lost when it is not forwarded on the same wire: `response_format`, `n`,
   * `mcp_servers`, server tools, `logprobs`, audio parts, ... By name, for the refusal.
   */
  readonly unsupported: readonly string[];
};

/** Why a reply ended. */
export type Finish = "stop" | "length" | "tool_calls" | "content_filter" | "interrupted";

/** A reply as it comes, from the agent, from a model on another wire, or read off the same wire. */
export type ReplyEvent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string }
  /** A call of a tool of the client; arguments are JSON text. */
  | { readonly type: "tool-call"; readonly id: string; readonly name: string; readonly arguments: string }
  /** Keeps the connection open while nothing else is sent. */
  | { readonly type: "ping" }
  | {
      readonly type: "end";
      readonly finish: Finish;
      readonly usage: Usage | undefined;
      readonly metadata: ReplyMetadata;
    }
  /** After it nothing follows. */
  | { readonly type: "problem"; readonly problem: GatewayProblem };

/** What the gateway says about a reply: in headers, in the field `hermes` of the body, and in the last event of a stream. */
export type ReplyMetadata = {
  readonly sessionId: string;
  /** For people: a compaction, a full memory, a message that was not stored. */
  readonly notices: readonly string[];
  /** The session before a compaction that took place in this turn. */
  readonly compactedFrom?: string;
};

/** A whole reply. */
export type Reply = {
  /** `chatcmpl-...`, `resp_...`, `msg_...`. */
  readonly id: string;
  readonly model: string;
  readonly createdAtSeconds: number;
  readonly text: string;
  readonly reasoning: string;
  readonly toolCalls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  readonly finish: Finish;
  readonly usage: Usage | undefined;
  readonly metadata: ReplyMetadata;
};

/** What is known of a reply before its first word. */
export type ReplyStart = Pick<Reply, "id" | "model" | "createdAtSeconds">;

/** Writes one reply as server-sent events: each call returns the text to send, which may be "". Nothing is written after `end` and `problem`. */
export abstract class ReplyWriter {
  /** What is sent before the first event, with the session id if it is known. */
  abstract open(): string;

  write(event: ReplyEvent): string {
    switch (event.type) {
      case "text":
      case "reasoning":
        return this.say(event.type, event.text);
      case "tool-call":
        return this.call(event);
      case "ping":
        return this.ping();
      case "end":
        return this.end(event);
      case "problem":
        return this.fail(event.problem);
      default:
        return event satisfies never;
    }
  }

  protected abstract say(kind: "text" | "reasoning", text: string): string;
  protected abstract call(call: Reply["toolCalls"][number]): string;
  protected abstract end(end: Pick<Reply, "finish" | "usage" | "metadata">): string;
  protected abstract fail(problem: GatewayProblem): string;

  protected ping(): string {
    return SSE_COMMENT;
  }
}

export interface Wire {
  readonly name: WireName;
  /** Strict about what we need, lenient about everything else. Throws `ProblemError`. `body` has at most 100 levels: parsers recurse. */
  parse(body: JsonObject): WireRequest;
  /** A new id of a reply, in the vendor's form. */
  newReplyId(): string;
  /** The JSON body of a whole reply. */
  render(reply: Reply, request: WireRequest): JsonObject;
  writer(start: ReplyStart, request: WireRequest): Pick<ReplyWriter, "open" | "write">;
  /** The vendor's error body. */
  renderProblem(problem: GatewayProblem): JsonObject;
}
