// A wire is one vendor's HTTP protocol, as seen from its server side: it reads a client's request and writes the reply. Pure. Three of
// them: chat.ts (OpenAI chat completions), responses.ts (OpenAI responses), messages.ts (Anthropic messages).
import type { Usage } from "@hermes-memory/agent/internal/models";
import type { Message } from "@hermes-memory/core/internal/message";
import type { ToolDefinition } from "@hermes-memory/core/internal/tools";
import type { GatewayProblem, JsonObject } from "../problem.ts";

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

/** Writes one reply as server-sent events: each call returns the text to send, which may be "". Nothing follows `end` and `problem`. */
export interface ReplyWriter {
  /** What is sent before the first event, with the session id if it is known. */
  open(): string;
  write(event: ReplyEvent): string;
}

/** A reply of a server, to be stored. */
export type ReadReply = {
  readonly message: Message;
  readonly finish: Finish;
  readonly usage: Usage | undefined;
  readonly responseId: string | undefined;
  readonly model: string | undefined;
  /** Responses: the ids of its items, by which a later request may refer to it (`ids.previousResponseId`). */
  readonly itemIds?: readonly string[];
};

/** A text, a call or the like, as the server wants to see it again. */
export type ReplyPart = {
  readonly item: JsonObject;
  readonly text: string;
  /** `name` is "" for a call of a tool that is no function. */
  readonly call?: { readonly id: string; readonly name: string; readonly arguments: string };
};

/** Collects one reply of a server of this vendor, from the events of a stream or from one body. */
export interface ReplyCollector {
  /** The data of one event: parsed, or the text if it is no object. True when this event, or an earlier one, ends the reply. */
  take(data: string | JsonObject): boolean;
  whole(body: JsonObject): void;
  /** The reply so far. Undefined: nothing that a conversation would keep, or the body is an error. */
  end(): ReadReply | undefined;
  parts(): readonly ReplyPart[];
  /** These parts as they are sent to the server again. */
  asSent(parts: readonly ReplyPart[]): readonly JsonObject[];
  /** As the server counts. */
  readonly usage: JsonObject | undefined;
  readonly id: string | undefined;
  /** The server reported an error: nothing follows. */
  readonly isFailed: boolean;
}

export interface Wire {
  readonly name: WireName;
  /** Strict about what we need, lenient about everything else. Throws `ProblemError`. `body` has at most 100 levels: parsers recurse. */
  parse(body: JsonObject): WireRequest;
  /** A new id of a reply, in the vendor's form. */
  newReplyId(): string;
  /** The JSON body of a whole reply. */
  render(reply: Reply, request: WireRequest): JsonObject;
  /** `id`, `model` and `createdAtSeconds` as in `Reply`. */
  writer(start: Pick<Reply, "id" | "model" | "createdAtSeconds">, request: WireRequest): ReplyWriter;
  collector(): ReplyCollector;
  /** The vendor's error body. */
  renderProblem(problem: GatewayProblem): JsonObject;
}
