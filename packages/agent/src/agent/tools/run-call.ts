// One call of one tool: asked for permission, run, and left behind when it does not end with the turn.
import { codePointLength } from "@hermes-memory/core/lib";
import type { Message } from "@hermes-memory/core/message";
import { describeForeign } from "@hermes-memory/core/providers";
import type { ResultLimits } from "@hermes-memory/core/sessions";
import type { Tool, ToolArguments, ToolOutcome } from "@hermes-memory/core/tools";
import type { AgentEvent } from "../events.ts";
import type { CheckedCall } from "./calls.ts";

/** What is about to run. An answer with `block` keeps it from running; its text is for the model. */
export type PreToolCall = (call: {
  readonly callId: string;
  readonly name: string;
  readonly args: ToolArguments;
  readonly sessionId: string;
  readonly taskId: string;
}) => PreToolCallAnswer | Promise<PreToolCallAnswer>;

// biome-ignore lint/suspicious/noConfusingVoidType: a hook that only watches returns nothing
export type PreToolCallAnswer = { readonly block: string } | undefined | void;

export type ToolEvent = Extract<AgentEvent, { readonly type: "tool-start" | "tool-end" }>;

export type BatchContext = {
  /** Long results go to `<home>/tool-results`. */
  readonly home: string;
  /** How long a result may be. */
  readonly limits: ResultLimits;
  readonly taskId: string;
  readonly turnId?: string | undefined;
  /** Asked at each call. */
  readonly sessionId: () => string;
  readonly messages: () => readonly Message[];
  /** Aborted by an interrupt. */
  readonly signal: AbortSignal;
  readonly onEvent?: ((event: ToolEvent) => void) | undefined;
  readonly hooks?: { readonly preToolCall?: PreToolCall | undefined } | undefined;
  /** How long a running tool has for ending after an interrupt. Default 500. */
  readonly graceMs?: number | undefined;
};

export type CallResult = {
  readonly callId: string;
  readonly name: string;
  /** What the model reads. */
  readonly text: string;
  readonly isError: boolean;
  /** `abandoned`: it was still running some time after the interrupt. `blocked`: a hook did not let it run. */
  readonly kind: "ran" | "failed" | "blocked" | "skipped" | "stopped" | "abandoned";
  /** The file that has the whole text. */
  readonly spilledTo?: string;
};

export type CallEnd = Pick<CallResult, "kind" | "text" | "isError">;

const GRACE_MS = 500;

/** `not started` when the interrupt came first. */
export async function runCall(
  tool: Tool | undefined,
  call: CheckedCall,
  context: BatchContext,
): Promise<CallEnd | "not started"> {
  if (tool === undefined) return failed("failed", `There is no tool '${call.name}' any more.`);
  const interrupted = aborted(context.signal);
  const refusal = await Promise.race([refusalOf(call, context), interrupted.promise]).finally(
    interrupted.forget,
  );
  if (context.signal.aborted) return "not started";
  tell(context, { type: "tool-start", callId: call.id, name: call.name, preview: tool.preview(call.args) });
  const startedAt = performance.now();
  const end =
    refusal === undefined ? await runUntilInterrupt(tool, call, context) : failed("blocked", refusal);
  tell(context, {
    type: "tool-end",
    callId: call.id,
    name: call.name,
    isError: end.isError,
    durationMs: Math.round(performance.now() - startedAt),
    resultChars: codePointLength(end.text),
  });
  return end;
}

/** A hook that fails has not allowed anything. */
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
  const own = new AbortController(); // the tool's listeners go with it, not with the turn's signal
  const interrupted = aborted(context.signal);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = interrupted.promise.then(() => {
    own.abort(context.signal.reason);
    return new Promise<undefined>((resolve) => {
      timer = setTimeout(resolve, context.graceMs ?? GRACE_MS, undefined);
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

/** A promise of the abort that leaves no listener behind. */
function aborted(signal: AbortSignal): { readonly promise: Promise<undefined>; readonly forget: () => void } {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const listener = (): void => resolve(undefined);
  if (signal.aborted) listener();
  else signal.addEventListener("abort", listener, { once: true });
  return { promise, forget: () => signal.removeEventListener("abort", listener) };
}

/** Never rejects, so that a result which comes too late disturbs nobody. */
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
    return failed("failed", describeForeign(cause));
  }
}

function failed(kind: "failed" | "blocked", error: string): CallEnd {
  return { kind, text: JSON.stringify({ error }), isError: true };
}

function stopped(name: string): string {
  return `[Tool execution interrupted — ${name} was stopped by the user before it had a result]`;
}

function abandoned(name: string): string {
  return `[Tool execution interrupted — ${name} was still running when the user interrupted. Its result was dropped; what it was doing may still take effect]`;
}

/** Whoever watches must not change what happens. */
function tell({ onEvent }: BatchContext, event: ToolEvent): void {
  try {
    onEvent?.(event);
  } catch {
    // a listener's own fault; the batch goes on
  }
}
