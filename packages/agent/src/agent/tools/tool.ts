// One entry of the tool table: what the model is told, what runs, what a person sees, and the rules it runs under. The loop
// asks the entry; nobody compares names.
import type { Message } from "@hermes-memory/core/message";

export type ToolSchema = {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly parameters: Readonly<Record<string, unknown>>;
};

export type ToolArguments = Readonly<Record<string, unknown>>;

/** What is known about the call beside its arguments. */
export type ToolCallContext = {
  readonly callId: string;
  readonly taskId: string;
  /** The same for all calls of one turn, and for no other turn. */
  readonly turnId?: string | undefined;
  /** Of the moment of the call; a compaction may change it between two calls. */
  readonly sessionId: string;
  /** The live list, the assistant message that makes the call included. */
  readonly messages: readonly Message[];
  readonly signal: AbortSignal;
};

export type ToolOutcome = {
  /** What the model reads; JSON for our own tools. */
  readonly text: string;
  readonly isError?: boolean;
};

export type AgentTool = {
  readonly schema: ToolSchema;
  /** The set it is switched on and off with. */
  readonly toolset: string;
  /** Changes nothing, so calls of such tools may run at the same time. */
  readonly isReadOnly: boolean;
  /** A turn whose last tools were all of this kind may end with the text that came with them. */
  readonly isHousekeeping?: boolean;
  /** The same call can be made again: an answer for which a batch has no room is left out and not kept in a file. */
  readonly isRepeatable?: boolean;
  /** Results come from outside and are fenced under this name. */
  readonly untrustedSource?: string;
  /** One line for a person; must not throw and holds no secrets. */
  preview(args: ToolArguments): string;
  /** May reject: the loop turns it into an error result. */
  run(args: ToolArguments, call: ToolCallContext): Promise<ToolOutcome>;
};
