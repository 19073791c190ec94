// A format as a declaration: its files, and what their records say. The rules that hold for the messages of every format are here, once.
import type { ToolResult } from "./kit/blocks.ts";
import type {
  Reading,
  SessionFacts,
  TranscriptEvent,
  TranscriptMessage,
  TranscriptReader,
  Unit,
} from "./reader.ts";

/** A message as its record has it. What was not asked for, and messages without anything to keep, are left out here. */
export type Draft = Omit<TranscriptMessage, "role"> & {
  /** Anything but a role is reported. */
  readonly role: unknown;
  /** Results that stand in the message. They become rows of their own. */
  readonly toolResults?: readonly ToolResult[];
};

/** Facts begin a session, or go back to it. With a parent, it is a subagent's. */
export type Said = SessionFacts | Draft | TranscriptEvent;

type Declared = Omit<TranscriptReader, "version" | "read"> & {
  readonly version?: number;
  /** Those that its messages may have. */
  readonly roles?: readonly Role[];
  /** Messages without anything to keep are counted: in the ids of the others, which have none of their own, or for their use of tokens. */
  readonly keepsEmpty?: boolean;
  readonly read: (unit: Unit, reading: Reading) => AsyncIterable<Said>;
};
type Role = TranscriptMessage["role"];
const ROLES: readonly Role[] = ["user", "assistant", "tool", "system"];

export function format({
  version = 1,
  roles,
  keepsEmpty = false,
  read,
  ...declared
}: Declared): TranscriptReader {
  return {
    ...declared,
    version,
    async *read(unit, reading) {
      const messages = new Messages(reading, keepsEmpty, roles);
      for await (const said of read(unit, reading))
        if ("role" in said) yield* messages.of(said);
        else if ("kind" in said) {
          if (said.kind === "end") messages.names.clear();
          yield said;
        } else if (said.parent === undefined) yield { kind: "session", facts: said };
        else yield { kind: "session", facts: { ...said, visibility: said.visibility ?? "subagent" } };
    },
  };
}

/** Whether it becomes a message: it has a role, text or something else to keep, and was asked for. */
export function isKept(
  { role, text, toolCalls = [], reasoning }: Draft,
  { options }: Reading,
  keepsEmpty = false,
): boolean {
  if (!ROLES.some((one) => one === role) || (role === "system" && !options.includeSystem)) return false;
  if (role === "tool" || text !== "" || toolCalls.length > 0 || keepsEmpty) return true;
  return options.includeReasoning && reasoning !== undefined && reasoning !== "";
}

class Messages {
  readonly #reading: Reading;
  readonly #roles: readonly unknown[];
  readonly #keepsEmpty: boolean;
  /** Of tools, by the ids of their calls in the current session. */
  readonly names = new Map<string, string>();

  constructor(reading: Reading, keepsEmpty: boolean, roles: readonly Role[] = ROLES) {
    this.#keepsEmpty = keepsEmpty;
    this.#reading = reading;
    this.#roles = roles;
  }

  *of({ toolResults = [], ...draft }: Draft): Generator<TranscriptEvent> {
    const { role, toolCalls = [] } = draft;
    for (const { id, name } of toolCalls) this.names.set(id, name);
    const results = toolResults.map((result) => this.#result(draft, result));
    // What the user's side sends begins with the results; an answer that holds results made the calls itself.
    if (role !== "assistant") yield* results;
    if (!this.#roles.includes(role))
      this.#reading.unknown(`role ${typeof role === "string" && role !== "" ? role : "missing"}`);
    else if (
      isKept(draft, this.#reading, this.#keepsEmpty) &&
      (role === "assistant" || draft.text !== "" || results.length === 0)
    )
      yield { kind: "message", message: this.#message(draft) };
    if (role === "assistant") yield* results;
  }

  #message(draft: Draft): TranscriptMessage {
    const role = draft.role as Role;
    const { toolCalls = [], toolCallId = "", toolName = this.names.get(toolCallId) } = draft;
    const reasoning = (this.#reading.options.includeReasoning && draft.reasoning) || undefined;
    const calls = toolCalls.length === 0 ? undefined : toolCalls;
    return { ...draft, role, toolName: role === "tool" ? toolName : undefined, toolCalls: calls, reasoning };
  }

  #result(draft: Draft, { callId, name, text }: ToolResult): TranscriptEvent {
    const { id, at, line, path, isActive } = draft;
    const own = id === undefined ? undefined : `${id}:${callId}`;
    const call = { toolCallId: callId || undefined, toolName: name ?? this.names.get(callId) };
    return { kind: "message", message: { id: own, role: "tool", text, at, line, path, isActive, ...call } };
  }
}
