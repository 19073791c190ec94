// A tool: its definition for the model, the function that runs, a one-line preview for the user, and its policy. Each layer exports
// its tools in this shape; the agent loop, the MCP server and the command line use the same entries.
import { outsideJsonOr, preview, randomHex } from "../lib/index.ts";
import type { Message } from "../message/index.ts";
import { redactSecrets } from "../security/index.ts";

/** A tool: what a model is told about it, who may use it, and how it runs. */
export type Tool = {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments, an object at the top. */
  readonly schema: JsonSchema;
  /** JSON Schema of a successful answer, for a tool whose text is always a JSON object. Further fields are allowed. */
  readonly answer?: JsonSchema;
  readonly owner: ToolOwner;
  readonly policy: ToolPolicy;
  /** One line for the user. Must not throw, and must not contain secrets. */
  preview(args: ToolArguments): string;
  /** May reject; the caller turns that into an error result. */
  run(args: ToolArguments, call: ToolCallContext): Promise<ToolOutcome>;
};

/** The part of a tool that requests contain and plugin authors write. */
export type ToolDefinition = {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments, an object at the top. */
  readonly parameters: JsonSchema;
};

/** A JSON Schema, as an object. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** The arguments of a call, parsed from the model's JSON. */
export type ToolArguments = Readonly<Record<string, unknown>>;

/** The source of the tool. Of two tools with similar names the one added first wins. */
export type ToolOwner =
  | { readonly kind: "own" }
  | { readonly kind: "provider"; readonly name: string }
  | { readonly kind: "engine"; readonly name: string }
  | { readonly kind: "mcp"; readonly server: string }
  /** The program that embeds the agent. */
  | { readonly kind: "program" }
  /** Whoever asks for this turn, such as a client of a gateway: it runs the call itself. */
  | { readonly kind: "client" };

/** How a tool may be used: its toolset, its effects, and limits of its results. */
export type ToolPolicy = {
  /** The toolset that enables and disables it. */
  readonly toolset: string;
  /** `read`: has no side effects, so calls of such tools may run in parallel. */
  readonly effect: "read" | "write";
  /** If all calls of the last reply are of such tools, the turn may end with the text of that reply. */
  readonly isHousekeeping?: true;
  /** The call can be repeated: a result that does not fit into the batch is dropped instead of kept in a file. */
  readonly isRepeatable?: true;
  /** Results are untrusted and are fenced under this name. */
  readonly untrustedSource?: string;
};

/** Facts about one call besides its arguments. */
export type ToolCallContext = {
  readonly callId: string;
  readonly taskId: string;
  /** Equal for all calls of one turn, and unique to the turn. */
  readonly turnId?: string | undefined;
  /** At the time of the call; a compaction between two calls changes it. */
  readonly sessionId: string;
  /** The current messages, including the assistant message with the call. Empty outside a conversation. */
  readonly messages: readonly Message[];
  readonly signal: AbortSignal;
};

/** The answer of a tool. */
export type ToolOutcome = {
  /** The text for the model; JSON for our own tools. */
  readonly text: string;
  readonly isError?: boolean;
};

/**
 * Gives a tool access to its store for one call. The program that created the tool opens and closes the store. Rejects if it
 * cannot be opened.
 */
export type UseStore<Opened> = (
  work: (opened: Opened) => Promise<ToolOutcome>,
  call: ToolCallContext,
) => Promise<ToolOutcome>;

export function definitionOf({ name, description, schema }: Tool): ToolDefinition {
  return { name, description, parameters: schema };
}

/** The first three fields of an entry, from a definition. */
export function described({
  name,
  description,
  parameters,
}: ToolDefinition): Pick<Tool, "name" | "description" | "schema"> {
  return { name, description, schema: parameters };
}

/** For a call outside a conversation: from an MCP client or the command line. */
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
    case "client":
      return "the client";
    default:
      return owner satisfies never;
  }
}

/** True if both belong to the same plugin, server or program. */
export function isSameOwner(one: ToolOwner, other: ToolOwner): boolean {
  return keyOf(one) === keyOf(other);
}

function keyOf(owner: ToolOwner): string {
  const name = "server" in owner ? owner.server : "name" in owner ? owner.name : "";
  return `${owner.kind}\0${name}`;
}

// Results as JSON text, and whether a result reports a failure.

/** For our own tools: `success: false` or an `error` is a failure. */
export function jsonOutcome(value: object): ToolOutcome {
  const text = JSON.stringify(value);
  return isFailure(value) ? { text, isError: true } : { text };
}

export function errorOutcome(error: string): ToolOutcome {
  return { text: JSON.stringify({ error }), isError: true };
}

/** For result texts of other tools, which may be JSON. */
export function textOutcome(text: string): ToolOutcome {
  const value = outsideJsonOr(text, undefined); // plain text does not report a failure
  return typeof value === "object" && value !== null && isFailure(value) ? { text, isError: true } : { text };
}

function isFailure(value: object): boolean {
  if ("success" in value) return value.success === false;
  return "error" in value && value.error !== undefined && value.error !== null && value.error !== "";
}

// The default preview, for tools without their own: `query="kiln glaze"`.

const LINE_CHARS = 100;
const VALUE_CHARS = 40;
/** Characters read before masking, so that a secret is not cut in half and then shown. */
const READ_CHARS = 2_000;
const SECRET_KEY = /key|token|secret|password|passwd|credential|authorization/i;

export function argumentPreview(args: ToolArguments): string {
  const parts = Object.entries(args).map(
    ([key, value]) => `${key}=${SECRET_KEY.test(key) ? "***" : shown(value)}`,
  );
  return preview(collapsed(parts.join(" ")), LINE_CHARS);
}

function shown(value: unknown): string {
  if (typeof value === "string")
    return `"${preview(collapsed(redactSecrets(preview(value, READ_CHARS))), VALUE_CHARS)}"`;
  if (typeof value === "object" && value !== null) return Array.isArray(value) ? "[...]" : "{...}";
  return String(value);
}

function collapsed(text: string): string {
  return onOneLine(text).replace(/\s+/g, " ");
}

/** A JSON value as text. Never throws, even if an object has a `toString` that is not a function. */
export function shownText(value: unknown): string {
  try {
    return onOneLine(String(value));
  } catch {
    return "{...}";
  }
}

/** Removes control characters that would move a terminal's cursor. */
export function onOneLine(text: string): string {
  return text.replace(/[\x00-\x1f\x7f-\x9f]+/g, " ");
}
