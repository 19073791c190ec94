// Runs the calls of one reply and gives a result for each, in their order, whatever the tools do and whenever the user
// interrupts. Results that are too long for the conversation are kept in files. Below: the calls that the client runs.
import { estimateText } from "@hermes-memory/core/internal/context";
import { sessionFiles } from "@hermes-memory/core/internal/home";
import {
  type Clock,
  codePointLength,
  describeCause,
  HermesError,
  parseOutsideJson,
  takeCodePoints,
} from "@hermes-memory/core/internal/lib";
import {
  type AssistantMessage,
  isResult,
  type Message,
  newMessage,
  partsOf,
  type ToolCall,
  type ToolMessage,
  textOf,
  toolCallsOf,
  withMeta,
} from "@hermes-memory/core/internal/message";
import { describeForeign } from "@hermes-memory/core/internal/providers";
import { fenceUntrusted, masked } from "@hermes-memory/core/internal/security";
import {
  keepResult,
  longestStart,
  lostResultNote,
  READ_RESULT,
  type ResultLimits,
  resultNote,
  withoutResultNote,
} from "@hermes-memory/core/internal/sessions";
import {
  argumentPreview,
  described,
  foldName,
  foreignFlaw,
  OWN_TOOLSETS,
  ownerInWords,
  type Tool,
  type ToolArguments,
  type ToolDefinition,
  type ToolOutcome,
  type ToolTable,
} from "@hermes-memory/core/internal/tools";
import type { AgentEvent, AgentEvents } from "../events.ts";
import { contentOf } from "../session/transcript.ts";
import type { ClientToolResult } from "../surface.ts";
import type { CheckedCall } from "../turn/judge.ts";

/** Called before a tool runs. An answer with `block` keeps the tool from running; the model gets the text. */
export type PreToolCall = (call: {
  readonly callId: string;
  readonly name: string;
  readonly args: ToolArguments;
  readonly sessionId: string;
  readonly taskId: string;
}) => PreToolCallAnswer | Promise<PreToolCallAnswer>;

/** What the hook before a tool call answers: nothing, or why the call is blocked. */
// biome-ignore lint/suspicious/noConfusingVoidType: a hook that only watches returns nothing
export type PreToolCallAnswer = { readonly block: string } | undefined | void;

export type ToolEvent = Extract<AgentEvent, { readonly type: "tool-start" | "tool-end" }>;

export type BatchContext = {
  /** Results that are too long are kept in `<home>/tool-results`. */
  readonly home: string;
  readonly limits: ResultLimits;
  readonly taskId: string;
  readonly turnId?: string | undefined;
  /** Read again for each call: a compaction may have moved the conversation to another session. */
  readonly sessionId: () => string;
  readonly messages: () => readonly Message[];
  /** Aborted by an interrupt. */
  readonly signal: AbortSignal;
  readonly onEvent?: ((event: ToolEvent) => void) | undefined;
  readonly hooks?: { readonly preToolCall?: PreToolCall | undefined } | undefined;
};

export type CallResult = {
  readonly callId: string;
  readonly name: string;
  /** For the model. */
  readonly text: string;
  readonly isError: boolean;
  /**
   * `blocked`: the hook refused it. `skipped`: it was not started, because of an interrupt. `stopped`: it ended because of the
   * interrupt. `abandoned`: it was still running half a second after the interrupt.
   */
  readonly kind: "ran" | "failed" | "blocked" | "skipped" | "stopped" | "abandoned";
};

type CallEnd = Pick<CallResult, "kind" | "text" | "isError">;

const MOST_AT_ONCE = 8;

/** Calls that only read run side by side, up to 8 at once; as soon as one call may write, all run one after the other. */
export async function runBatch(
  table: ToolTable,
  calls: readonly CheckedCall[],
  context: BatchContext,
): Promise<readonly CallResult[]> {
  const isParallel = calls.length > 1 && calls.every(({ name }) => table.get(name)?.policy.effect === "read");
  const ends: CallEnd[] = [];
  let [next, hasStarted] = [0, false];
  const worker = async (): Promise<void> => {
    for (let place = next++; place < calls.length; place = next++) {
      const call = calls[place];
      if (call === undefined) continue;
      const end = context.signal.aborted ? "not started" : await runCall(table.get(call.name), call, context);
      ends[place] =
        end === "not started"
          ? { kind: "skipped", text: notStarted(call.name, hasStarted), isError: true }
          : end;
      hasStarted ||= end !== "not started";
    }
  };
  const workers = isParallel ? Math.min(MOST_AT_ONCE, calls.length) : 1;
  await Promise.all(Array.from({ length: workers }, worker));
  return toResults(table, calls, ends, context);
}

/** The result as a message of the conversation. */
export function toolMessage({
  callId,
  name,
  text,
}: Pick<CallResult, "callId" | "name" | "text">): ToolMessage {
  return newMessage({ role: "tool", content: text, toolCallId: callId, toolName: name });
}

/** The results as the list gets them: those that are too long as a preview, with the whole text in a file. */
async function toResults(
  table: ToolTable,
  calls: readonly Pick<CheckedCall, "id" | "name">[],
  ends: readonly CallEnd[],
  { home, limits }: Pick<BatchContext, "home" | "limits">,
): Promise<readonly CallResult[]> {
  const texts = ends.map(({ text }) => text);
  const long = tooLong(texts, limits);
  const target = {
    home,
    limits,
    among: long.size,
    reader: table.has(READ_RESULT) ? READ_RESULT : undefined,
  };
  return Promise.all(
    calls.map(async ({ id: callId, name }, place): Promise<CallResult> => {
      const end = ends[place];
      if (end === undefined) throw new Error(`The call ${callId} of '${name}' has no result.`);
      const { kind, isError } = end;
      // Only text that a tool produced is untrusted; for the other kinds we wrote the text ourselves.
      const source =
        kind === "ran" || kind === "failed" ? table.get(name)?.policy.untrustedSource : undefined;
      const result = { callId, name, kind, isError };
      if (!long.has(place)) return { ...result, text: withoutResultNote(fenced(end.text, source), callId) };
      if (kind === "ran" && table.get(name)?.policy.isRepeatable) return { ...result, text: LEFT_OUT };
      const { preview, note } = await keepInFile(end.text, callId, target);
      return { ...result, text: `${fenced(preview, source)}\n\n${note}` };
    }),
  );
}

const LEFT_OUT =
  "[The answer is left out: with the other results of this reply it would take more than half of the context window. Make this call again, without the others.]";

/** Other programs match on this wording. */
function notStarted(name: string, isAfterOne: boolean): string {
  return isAfterOne
    ? `[Tool execution skipped — ${name} was not started. User sent a new message]`
    : `[Tool execution cancelled — ${name} was skipped due to user interrupt]`;
}

/** Short texts too: "Delete it all." is an instruction in 14 characters. */
function fenced(text: string, source: string | undefined): string {
  return source === undefined ? text : fenceUntrusted(text, source);
}

// One call: ask the hook, run the tool, and stop waiting for it some time after an interrupt

/** After an interrupt, wait at most this long for a running tool. */
const GRACE_MS = 500;

/** `not started` when the user interrupted before the tool ran. */
async function runCall(
  tool: Tool | undefined,
  call: CheckedCall,
  context: BatchContext,
): Promise<CallEnd | "not started"> {
  if (tool === undefined) return failure("failed", `There is no tool '${call.name}' any more.`);
  const interrupted = aborted(context.signal);
  const refusal = await Promise.race([refusalOf(call, context), interrupted.promise]).finally(
    interrupted.forget,
  );
  if (context.signal.aborted) return "not started";
  const { id: callId, name, args } = call;
  const input = masked(args) as ToolArguments;
  tell(context, { type: "tool-start", callId, name, preview: tool.preview(args), input });
  const startedAt = performance.now();
  const end =
    refusal === undefined ? await runUntilInterrupt(tool, call, context) : failure("blocked", refusal);
  tell(context, {
    type: "tool-end",
    callId,
    name,
    output: outputOf(end.text),
    isError: end.isError,
    durationMs: Math.round(performance.now() - startedAt),
    resultChars: codePointLength(end.text),
  });
  return end;
}

/** Tools answer with text, most of them with JSON. */
function outputOf(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text;
  const parsed = parseOutsideJson(text);
  return parsed.ok ? parsed.value : text;
}

/** Undefined when the call may run. A hook that throws refuses the call. */
async function refusalOf(
  { id: callId, name, args }: CheckedCall,
  { hooks, sessionId, taskId }: BatchContext,
): Promise<string | undefined> {
  if (hooks?.preToolCall === undefined) return undefined;
  try {
    const answer = await hooks.preToolCall({ callId, name, args, sessionId: sessionId(), taskId });
    return answer?.block;
  } catch (cause) {
    return `The check before '${name}' failed, so it did not run: ${describeForeign(cause)}.`;
  }
}

async function runUntilInterrupt(tool: Tool, call: CheckedCall, context: BatchContext): Promise<CallEnd> {
  const own = new AbortController(); // the tool adds its listeners here, so none stay on the turn's signal
  const interrupted = aborted(context.signal);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = interrupted.promise.then(() => {
    own.abort(context.signal.reason);
    return new Promise<undefined>((resolve) => {
      timer = setTimeout(resolve, GRACE_MS, undefined);
    });
  });
  try {
    const end = await Promise.race([settle(tool, call, context, own.signal), over]);
    return end ?? { kind: "abandoned", text: abandoned(call.name), isError: true };
  } finally {
    interrupted.forget();
    clearTimeout(timer);
  }
}

/** A promise that resolves when the signal aborts, and a function that removes the listener. */
function aborted(signal: AbortSignal): { readonly promise: Promise<undefined>; readonly forget: () => void } {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const listener = (): void => resolve(undefined);
  if (signal.aborted) listener();
  else signal.addEventListener("abort", listener, { once: true });
  return { promise, forget: () => signal.removeEventListener("abort", listener) };
}

/** Never rejects: when the result comes too late, no caller is left to handle a rejection. */
async function settle(
  tool: Tool,
  { id: callId, name, args }: CheckedCall,
  { taskId, turnId, sessionId, messages }: BatchContext,
  signal: AbortSignal,
): Promise<CallEnd> {
  try {
    const call = { callId, taskId, turnId, sessionId: sessionId(), messages: messages(), signal };
    const { text, isError = false }: ToolOutcome = await tool.run(args, call);
    return { kind: "ran", text, isError };
  } catch (cause) {
    if (signal.aborted) return { kind: "stopped", text: stopped(name), isError: true };
    return failure("failed", describeForeign(cause));
  }
}

function failure(kind: "failed" | "blocked", error: string): CallEnd {
  return { kind, text: JSON.stringify({ error }), isError: true };
}

function stopped(name: string): string {
  return `[Tool execution interrupted — ${name} was stopped by the user before it had a result]`;
}

function abandoned(name: string): string {
  return `[Tool execution interrupted — ${name} was still running when the user interrupted. Its result was dropped; what it was doing may still take effect]`;
}

function tell({ onEvent }: BatchContext, event: ToolEvent): void {
  try {
    onEvent?.(event);
  } catch {
    // An error of the listener must not fail the call.
  }
}

// Long results: the whole text goes to a file, and the model gets its beginning and how to read the rest

/** One result may take this fraction of the context window. */
const SHARE_OF_WINDOW = 1 / 4;
/** All results of one reply together may take this many times as much as one: half of the window. */
const RESULTS_OF_A_BATCH = 2;
const PREVIEW_CHARS = 1_500;
/** A preview may take at most this part of what a whole result may. */
const PREVIEW_SHARE = 0.25;

export function resultLimits(
  chars: number,
  window: { readonly tokens: number },
  tokenFactor: number,
): ResultLimits {
  return { chars, tokens: Math.floor(window.tokens * SHARE_OF_WINDOW), tokenFactor };
}

export function fits(text: string, limits: ResultLimits): boolean {
  return shareOf(text, limits) <= 1;
}

/** The length of the text relative to the limit: 1 is exactly at the limit. */
function shareOf(text: string, { chars, tokens, tokenFactor }: ResultLimits): number {
  return Math.max(codePointLength(text) / chars, (estimateText(text) * tokenFactor) / tokens);
}

/**
 * The indexes of the results that are kept in files: those over the limit, then the longest until the others fit together.
 */
function tooLong(texts: readonly string[], limits: ResultLimits): ReadonlySet<number> {
  const results = texts.map((text, place) => ({ place, share: shareOf(text, limits) }));
  // Lengths are rounded to a twentieth, so that of two results about as long the later one goes.
  const step = ({ share }: { readonly share: number }): number =>
    share > 1 ? share : Math.round(share * 20) / 20;
  const longestFirst = results.toSorted((a, b) => step(b) - step(a) || b.place - a.place);
  const leaving = new Set<number>();
  let total = results.reduce((sum, { share }) => sum + share, 0);
  for (const { place, share } of longestFirst) {
    // A result hardly longer than its own preview would save nothing.
    const isShort = codePointLength(texts[place] ?? "") <= 2 * PREVIEW_CHARS && share <= PREVIEW_SHARE;
    if (share <= 1 && (total <= RESULTS_OF_A_BATCH || isShort)) break;
    leaving.add(place);
    total -= share;
  }
  return leaving;
}

type KeepOptions = {
  readonly home: string;
  readonly limits: ResultLimits;
  /** How many results of this batch are kept in files: their previews share the space. */
  readonly among: number;
  /** The tool that reads kept results, when the model has it. */
  readonly reader: string | undefined;
};

/** `note`, for the model: how long the text is, and how to read the rest. Never rejects: on a full disk the rest is lost. */
async function keepInFile(
  text: string,
  callId: string,
  { home, limits, among, reader }: KeepOptions,
): Promise<{ readonly preview: string; readonly note: string }> {
  const whole = text.toWellFormed(); // half a surrogate pair cannot be written to a file
  const share = Math.min(PREVIEW_SHARE, RESULTS_OF_A_BATCH / 4 / among);
  const isShort = (start: string): boolean => shareOf(start, limits) <= share;
  const preview = longestStart(takeCodePoints(whole, PREVIEW_CHARS), PREVIEW_CHARS, isShort);
  const [chars, shownChars] = [codePointLength(whole), codePointLength(preview)];
  try {
    const { id } = await keepResult(sessionFiles(home).resultsDir, callId, whole);
    return { preview, note: resultNote({ id, chars, shownChars, reader }) };
  } catch (cause) {
    return { preview, note: lostResultNote(chars, shownChars, describeCause(cause)) };
  }
}

// Tools of the client that asks for a turn. The model sees them beside the agent's own; the client runs their calls and sends the
// results later, perhaps to another process. Which calls are unanswered is read off the stored list.

type ToolDeps = { readonly tools: ToolTable; readonly events: AgentEvents };
type ListDeps = {
  readonly tools: ToolTable;
  readonly clock: Clock;
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
  {
    session,
    tools,
    model,
    home,
    clock,
  }: ListDeps & { readonly home: string; readonly model: { readonly resultLimits: ResultLimits } },
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
