// A tool: what a model is told, what runs, what a person sees, and the rules it runs under. Each layer exports its tools as
// entries of this shape; the agent loop, the MCP server and the command line render the same entries.
import type { Message } from "../message/index.ts";

export type Tool = {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments, an object at the top. */
  readonly schema: JsonSchema;
  readonly owner: ToolOwner;
  readonly policy: ToolPolicy;
  /** One line for a person. Must not throw and holds no secrets. */
  preview(args: ToolArguments): string;
  /** May reject: the caller turns that into an error result. */
  run(args: ToolArguments, call: ToolCallContext): Promise<ToolOutcome>;
};

export type JsonSchema = Readonly<Record<string, unknown>>;

export type ToolArguments = Readonly<Record<string, unknown>>;

/** Who brought the tool. Of two tools whose names read alike, the one added first stays. */
export type ToolOwner =
  | { readonly kind: "own" }
  | { readonly kind: "provider"; readonly name: string }
  | { readonly kind: "engine"; readonly name: string }
  | { readonly kind: "mcp"; readonly server: string }
  /** The program that embeds the agent. */
  | { readonly kind: "program" };

export type ToolPolicy = {
  /** The set it is switched on and off with. */
  readonly toolset: string;
  /** `read`: changes nothing, so calls of such tools may run at the same time. */
  readonly effect: "read" | "write";
  /** A turn whose last tools were all of this kind may end with the text that came with them. */
  readonly isHousekeeping?: true;
  /** The same call can be made again: an answer for which a batch has no room is left out and not kept in a file. */
  readonly isRepeatable?: true;
  /** Results come from outside and are fenced under this name. */
  readonly untrustedSource?: string;
};

/** Facts about one call beside its arguments. */
export type ToolCallContext = {
  readonly callId: string;
  readonly taskId: string;
  /** The same for all calls of one turn, and for no other turn. */
  readonly turnId?: string | undefined;
  /** Of the moment of the call; a compaction may change it between two calls. */
  readonly sessionId: string;
  /** The live list, the assistant message that makes the call included. Empty outside a conversation. */
  readonly messages: readonly Message[];
  readonly signal: AbortSignal;
};

export type ToolOutcome = {
  /** What the model reads; JSON for our own tools. */
  readonly text: string;
  readonly isError?: boolean;
};
