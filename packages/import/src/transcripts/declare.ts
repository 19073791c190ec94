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
  roles = ROLES,
  keepsEmpty,
  read,
  ...declared
}: Declared): TranscriptReader {
  return {
    ...declared,
    version,
    async *read(unit, reading) {
      /** Of tools, by the ids of their calls in the current session. */
      const names = new Map<string, string>();
      for await (const said of read(unit, reading))
        if ("role" in said) yield* messagesOf(said, names, reading, { roles, keepsEmpty });
        else if ("kind" in said) {
          if (said.kind === "end") names.clear();
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
  if (!isRole(role, ROLES) || (role === "system" && !options.includeSystem)) return false;
  if (role === "tool" || text !== "" || toolCalls.length > 0 || keepsEmpty) return true;
  return options.includeReasoning && reasoning !== undefined && reasoning !== "";
}

function* messagesOf(
  { toolResults = [], ...draft }: Draft,
  names: Map<string, string>,
  reading: Reading,
  { roles = ROLES, keepsEmpty }: Pick<Declared, "roles" | "keepsEmpty">,
): Generator<TranscriptEvent> {
  const { role, toolCalls = [], toolCallId = "", toolName = names.get(toolCallId) } = draft;
  for (const { id, name } of toolCalls) names.set(id, name);
  const { id, at, line, path, isActive } = draft;
  const results = toolResults.map(({ callId, name, text }): TranscriptEvent => {
    const own = id === undefined ? undefined : `${id}:${callId}`;
    const call = { toolCallId: callId || undefined, toolName: name ?? names.get(callId) };
    return { kind: "message", message: { id: own, role: "tool", text, at, line, path, isActive, ...call } };
  });
  // What the user's side sends begins with the results; an answer that holds results made the calls itself.
  if (role !== "assistant") yield* results;
  const isMeant = role === "assistant" || draft.text !== "" || results.length === 0;
  if (!isRole(role, roles))
    reading.unknown(`role ${typeof role === "string" && role !== "" ? role : "missing"}`);
  else if (isKept(draft, reading, keepsEmpty) && isMeant) {
    const reasoning = (reading.options.includeReasoning && draft.reasoning) || undefined;
    const calls = toolCalls.length === 0 ? undefined : toolCalls;
    const name = role === "tool" ? toolName : undefined;
    yield { kind: "message", message: { ...draft, role, toolName: name, toolCalls: calls, reasoning } };
  }
  if (role === "assistant") yield* results;
}

function isRole(role: unknown, roles: readonly Role[]): role is Role {
  return roles.some((one) => one === role);
}

/** The words of a text, for lists of names in another product's files. */
export function names(text: string): ReadonlySet<unknown> {
  return new Set(text.trim().split(/\s+/));
}
