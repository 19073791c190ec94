// The `memory` tool: untyped arguments in, the tool's JSON out. Never throws, never touches a home it was not given.
import { isApprovalOn } from "../config/index.ts";
import { pendingWritesDirectory } from "../home.ts";
import { err, ok, preview, type Result } from "../lib/index.ts";
import { type ApprovalCallback, passGate, payloadOf, summarise } from "./approval/gate.ts";
import { stagePending } from "./approval/pending.ts";
import { announce } from "./committed-write.ts";
import type { MemoryStore } from "./store.ts";
import { failure, outcomeJson, refusedCall, staged } from "./tool-result.ts";
import {
  type CommittedWrite,
  MEMORY_TARGETS,
  type MemoryError,
  type MemoryOp,
  type MemoryTarget,
  type WriteOrigin,
} from "./types.ts";

export type MemoryToolContext = {
  /** Where staged writes go (`<home>/pending/memory`; for a user's store the user's own directory in there). */
  readonly home?: string;
  /** Config `memory.write_approval`: a boolean, or one of the words that mean yes. */
  readonly writeApproval?: boolean | string;
  /** Asks the person in front of the screen, where there is one. */
  readonly approve?: ApprovalCallback;
  readonly origin?: WriteOrigin | "assistant_tool" | "background_review" | "foreground";
  readonly sessionId?: string;
  /** Told about a write once it is on disk: not about refused, staged or duplicate ones. */
  readonly onCommitted?: (write: CommittedWrite) => void;
};

export async function memoryTool(
  store: MemoryStore | undefined,
  args: unknown,
  context: MemoryToolContext = {},
): Promise<object> {
  if (!store)
    return refusedCall("Memory is not available. It may be disabled in config or this environment.");
  const call = parseCall(args);
  if (!call.ok) return refusedCall(call.error.message);
  const { target, op } = call.value;
  const meta = {
    origin: journalOrigin(context.origin),
    ...(context.sessionId === undefined ? {} : { sessionId: context.sessionId }),
  };
  const isOn = isApprovalOn(context.writeApproval);
  // Nobody is asked about what would be refused anyway.
  const isHopeless = isOn && (!store.isEnabled(target) || store.check(op) !== undefined);
  const decision = isHopeless
    ? "write"
    : await passGate(target, op, { isOn, isBackground: meta.origin === "review", approve: context.approve });
  if (decision === "stage") return stage(target, op, context, store.dir);
  if (decision === "deny") {
    const denied: MemoryError = {
      kind: "denied",
      message: "Memory write denied by user. The change was not saved.",
    };
    await store.noteRefusal(target, op, denied, meta);
    return refusedCall(denied.message);
  }
  const outcome = await store.apply(target, op, meta);
  if (outcome.ok) announce(outcome.value, context.onCommitted);
  return outcome.ok ? outcomeJson(outcome.value) : failure(outcome.error);
}

function stage(target: MemoryTarget, op: MemoryOp, context: MemoryToolContext, dir: string): object {
  if (context.home === undefined) {
    return refusedCall(
      "Memory writes need approval (memory.write_approval is on), but no home directory was given to stage them in. Nothing was saved.",
    );
  }
  const draft = {
    action: op.action,
    summary: summarise(target, op),
    origin: recordOrigin(context.origin),
    payload: payloadOf(target, op),
  };
  const record = stagePending(pendingWritesDirectory(context.home, dir), draft, new Date());
  return record.ok ? staged(record.value.id) : refusedCall(record.error.message);
}

const SHOWN_CHARS = 80;

type Call = { readonly target: MemoryTarget; readonly op: MemoryOp };

/** The order of these checks is part of the tool's interface. Null and "" count as missing. */
function parseCall(args: unknown): Result<Call, MemoryError> {
  const given = typeof args === "object" && args !== null ? (args as Record<string, unknown>) : {};
  const { action, target = "memory", content, old_text } = given;
  if (!isTarget(target)) {
    return err({ kind: "bad_target", message: `Invalid target '${show(target)}'. Use 'memory' or 'user'.` });
  }
  for (const [name, value] of usedBy(action, content, old_text)) {
    if (value !== undefined && value !== null && typeof value !== "string") {
      return err({ kind: "invalid_content", message: `${name} must be a string, but is ${show(value)}.` });
    }
  }
  const text = typeof content === "string" && content !== "" ? content : undefined;
  const oldText = typeof old_text === "string" && old_text !== "" ? old_text : undefined;
  switch (action) {
    case "add":
      return text === undefined
        ? missing("Content is required for 'add' action.")
        : ok({ target, op: { action, content: text } });
    case "replace":
      if (oldText === undefined) return missing("old_text is required for 'replace' action.");
      if (text === undefined) return missing("content is required for 'replace' action.");
      return ok({ target, op: { action, oldText, content: text } });
    case "remove":
      return oldText === undefined
        ? missing("old_text is required for 'remove' action.")
        : ok({ target, op: { action, oldText } });
    default:
      return err({
        kind: "bad_action",
        message: `Unknown action '${show(action)}'. Use: add, replace, remove`,
      });
  }
}

/** An argument that an action does not use is nobody's business. */
function usedBy(action: unknown, content: unknown, oldText: unknown): (readonly [string, unknown])[] {
  if (action === "add") return [["content", content]];
  if (action === "remove") return [["old_text", oldText]];
  return action === "replace"
    ? [
        ["old_text", oldText],
        ["content", content],
      ]
    : [];
}

function missing(message: string): Result<never, MemoryError> {
  return err({ kind: "missing_arg", message });
}

function isTarget(value: unknown): value is MemoryTarget {
  return MEMORY_TARGETS.some((target) => target === value);
}

function show(value: unknown): string {
  if (typeof value === "string") return value;
  try {
    return preview(JSON.stringify(value) ?? "undefined", SHOWN_CHARS);
  } catch {
    return String(value); // a bigint, or a value that holds itself
  }
}

function journalOrigin(origin: MemoryToolContext["origin"]): WriteOrigin {
  if (origin === "background_review") return "review";
  return origin === undefined || origin === "assistant_tool" || origin === "foreground" ? "tool" : origin;
}

/** The names other programs know from pending records. */
function recordOrigin(origin: MemoryToolContext["origin"]): string {
  if (origin === "review") return "background_review";
  return origin === undefined || origin === "tool" ? "assistant_tool" : origin;
}
