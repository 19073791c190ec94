// Tools of the client that asks for a turn. The model sees them beside the agent's own; the client runs their calls and sends the
// results later, perhaps to another process. Which calls are unanswered is read off the stored list.
import { HermesError } from "@hermes-memory/core/internal/lib";
import {
  type AssistantMessage,
  isResult,
  type Message,
  partsOf,
  type ToolCall,
  textOf,
  toolCallsOf,
  withMeta,
} from "@hermes-memory/core/internal/message";
import {
  argumentPreview,
  described,
  foldName,
  foreignFlaw,
  OWN_TOOLSETS,
  ownerInWords,
  type Tool,
  type ToolDefinition,
} from "@hermes-memory/core/internal/tools";
import type { AgentParts } from "../parts.ts";
import { contentOf } from "../session/transcript.ts";
import type { ClientToolResult } from "../surface.ts";
import { toolMessage, toResults } from "./run-calls.ts";

type ToolDeps = Pick<AgentParts, "tools" | "events">;
type ListDeps = Pick<AgentParts, "tools" | "clock"> & {
  readonly session: { readonly messages: readonly Message[]; append(...messages: readonly Message[]): void };
};

/** A client with tools has a task list and subagents of its own, or wants none: a model would mix up two of a kind. */
const OF_CLIENT: readonly string[] = [...OWN_TOOLSETS.todo, ...OWN_TOOLSETS.delegation];

/** The agent's own tool wins over one of the client with the same name, or a name that reads like it. Throws `bad-tool`. */
export function withClientTools<Deps extends ToolDeps>(
  deps: Deps,
  definitions: readonly ToolDefinition[] = [],
): Deps {
  if (definitions.length === 0) return deps;
  const theirs = new Set(definitions.map(({ name }) => foldName(name)));
  // A stored call must not change hands: of one name, ours stays.
  const without = OF_CLIENT.filter((name) => !theirs.has(foldName(name)));
  const tools = deps.tools.with(definitions.map(toEntry), without);
  for (const { tool, kept } of tools.leftOut)
    if (isOfClient(tool))
      deps.events.notice(
        "warn",
        `client-tool:${tool.name}`,
        isOfClient(kept)
          ? `The client offers the tool '${tool.name}' twice; the first one is used.`
          : `The client's tool '${tool.name}' is left out: the agent uses '${kept.name}' of ${ownerInWords(kept.owner)}. Rename it to offer both.`,
      );
  return { ...deps, tools };
}

export function isOfClient(tool: Tool | undefined): boolean {
  return tool?.owner.kind === "client";
}

function toEntry(definition: ToolDefinition): Tool {
  const flaw = foreignFlaw(definition, { isTrusted: true, reserved: () => undefined });
  if (flaw !== undefined)
    throw new HermesError("bad-tool", `The client offers a tool ${flaw}.`, {
      hint: "Every request carries it whole: change its name, description or parameters.",
    });
  return {
    ...described(definition),
    owner: { kind: "client" },
    policy: { toolset: "client", effect: "write" },
    preview: argumentPreview,
    run: () => Promise.reject(new Error(`The call of '${definition.name}' is the client's to run.`)),
  };
}

// Unanswered calls.

export type NewestCalls = {
  readonly message: AssistantMessage;
  /** Calls without a result. */
  readonly open: readonly ToolCall[];
};

/** The calls of the newest reply, if nothing but results has followed it. */
export function newestCalls(messages: readonly Message[]): NewestCalls | undefined {
  const at = messages.findLastIndex(({ role }) => role !== "tool");
  const message = messages[at];
  if (message?.role !== "assistant" || message.toolCalls.length === 0) return undefined;
  const half = (id: string): string => id.split("|")[0] ?? id;
  const answered = new Set(
    messages
      .slice(at + 1)
      .filter(isResult)
      .map(({ toolCallId }) => half(toolCallId)),
  );
  const isOpen = ({ id, vendor }: ToolCall): boolean =>
    vendor?.providerExecuted !== true && !answered.has(half(id));
  return { message, open: toolCallsOf(message).filter(isOpen) };
}

/** The Responses API joins the ids of a call and its item, `call_1|fc_1`; clients may send back either form. */
function isSameCall(one: string, other: string): boolean {
  return one === other || one.split("|")[0] === other.split("|")[0];
}

/** In place of a result that the client has not sent. */
export function noResult(name: string, why: "new-message" | "other-results" | "interrupt"): string {
  const without = `[Tool execution skipped — the client sent no result of ${name}`;
  const texts = {
    "new-message": `${without}. User sent a new message]`,
    "other-results": `${without}, only those of other calls]`,
    interrupt: `[Tool execution cancelled — ${name} was skipped due to user interrupt]`,
  };
  return texts[why];
}

/**
 * The user goes on without the results that the client was to send. Calls of the agent's own tools that a killed process left open are
 * repaired in each request.
 */
export function closeOpenCalls({ session, tools, clock }: ListDeps): void {
  const open = newestCalls(session.messages)?.open ?? [];
  const atSeconds = clock.now().getTime() / 1000;
  const isClients = ({ name }: { readonly name: string }): boolean => {
    const tool = tools.get(name);
    return tool === undefined || isOfClient(tool);
  };
  const closed = open.filter(isClients).map(({ id: callId, name }) => {
    const message = toolMessage({ callId, name, text: noResult(name, "new-message") });
    return withMeta(message, { atSeconds });
  });
  session.append(...closed); // at once: each call copies the list
}

/**
 * False when the newest reply made none of these calls. Results that are stored already are those of a repeated request: the turn goes
 * on from there.
 */
export async function appendResults(
  { session, tools, model, home, clock }: ListDeps & Pick<AgentParts, "model" | "home">,
  given: readonly ClientToolResult[],
  messageId: string | undefined,
): Promise<boolean> {
  const newest = newestCalls(session.messages);
  const isAsked = newest?.message.toolCalls.some(({ id }) => given.some((one) => isSameCall(one.id, id)));
  if (newest === undefined || !isAsked) return false;
  const answered = newest.open.map((call) => ({
    call,
    result: given.find(({ id }) => isSameCall(id, call.id)),
  }));
  const ends = answered.map(({ call, result }) => ({
    kind: result === undefined ? ("skipped" as const) : ("ran" as const),
    text: result === undefined ? noResult(call.name, "other-results") : textOf(contentOf(result.output)),
    isError: result?.isError ?? result === undefined,
  }));
  const fitting = await toResults(tools, newest.open, ends, { home, limits: model.resultLimits });
  const atSeconds = clock.now().getTime() / 1000;
  for (const [at, { result }] of answered.entries()) {
    const kept = fitting[at];
    if (kept === undefined) continue;
    const content = result === undefined ? "" : contentOf(result.output);
    const isText = partsOf(content).every(({ type }) => type === "text");
    const message = toolMessage(kept);
    session.append(
      withMeta(isText ? message : { ...message, content }, {
        atSeconds,
        finishReason: kept.isError ? "error-text" : undefined,
        platformMessageId: at === 0 ? messageId : undefined,
      }),
    );
  }
  return true;
}
