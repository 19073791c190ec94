// A tool: what a model is told, what runs, what a person sees, and the rules it runs under. Each layer exports its tools as
// entries of this shape; the agent loop, the MCP server and the command line render the same entries.
import { randomHex } from "../lib/index.ts";
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

/** The part of a tool that a request carries: what models are told, and what authors of plugins write. */
export type ToolDefinition = {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments, an object at the top. */
  readonly parameters: JsonSchema;
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
  /** The text the model reads; JSON for our own tools. */
  readonly text: string;
  readonly isError?: boolean;
};

/**
 * How a tool of a layer gets at its store: the program that made the tool opens the store for one call and closes it afterwards.
 * Rejects when it cannot be opened.
 */
export type UseStore<Opened> = (
  work: (opened: Opened) => Promise<ToolOutcome>,
  call: ToolCallContext,
) => Promise<ToolOutcome>;

export function definitionOf({ name, description, schema }: Tool): ToolDefinition {
  return { name, description, parameters: schema };
}

/** The other way round: the first three fields of an entry. */
export function described({
  name,
  description,
  parameters,
}: ToolDefinition): Pick<Tool, "name" | "description" | "schema"> {
  return { name, description, schema: parameters };
}

/** For a call that comes from no conversation: of an MCP client, of a person on the command line. */
export function callFromOutside(signal: AbortSignal = new AbortController().signal): ToolCallContext {
  const callId = `call_${randomHex(6)}`;
  return { callId, taskId: callId, turnId: callId, sessionId: "", messages: [], signal };
}

/** For messages: "The tool 'look' of the context engine". */
export function ownerInWords(owner: ToolOwner): string {
  switch (owner.kind) {
    case "own":
      return "the agent";
    case "provider":
      return "the memory provider";
    case "engine":
      return "the context engine";
    case "mcp":
      return `the MCP server '${owner.server}'`;
    case "program":
      return "the program";
    default:
      return owner satisfies never;
  }
}

/** Whether the same code answers both. */
export function isSameOwner(one: ToolOwner, other: ToolOwner): boolean {
  return keyOf(one) === keyOf(other);
}

function keyOf(owner: ToolOwner): string {
  const name = "server" in owner ? owner.server : "name" in owner ? owner.name : "";
  return `${owner.kind}\0${name}`;
}
