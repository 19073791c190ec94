// Decides whether a write goes through, is asked about, or waits; and words the question.
import { pyStrip, takeCodePoints } from "../../lib/index.ts";
import type { MemoryOp, MemoryTarget } from "../types.ts";
import type { PendingPayload, PendingStep } from "./pending.ts";

/** Asks a person. `once` and `session` mean yes, `deny` no; anything else means: let it wait. */
export type ApprovalCallback = (
  command: string,
  description: string,
  options: { allowPermanent: false },
) => string | Promise<string>;

export type GateDecision = "write" | "stage" | "deny";

const SUMMARY_CHARS = 120;
const VERBS = { add: "add to", replace: "replace in", remove: "remove from" } as const;

export async function passGate(
  target: MemoryTarget,
  ops: readonly MemoryOp[],
  gate: { isOn: boolean; isBackground: boolean; approve?: ApprovalCallback | undefined },
): Promise<GateDecision> {
  if (!gate.isOn) return "write";
  if (gate.isBackground || !gate.approve) return "stage";
  const header = headerOf(target, ops);
  try {
    const answer = await gate.approve(detailOf(ops) || header, `Save to memory: ${header}`, {
      allowPermanent: false,
    });
    if (answer === "once" || answer === "session") return "write";
    return answer === "deny" ? "deny" : "stage";
  } catch {
    return "stage"; // the question could not be put; the write waits until it can
  }
}

export function summarise(target: MemoryTarget, ops: readonly MemoryOp[]): string {
  return pyStrip(`${headerOf(target, ops)}: ${takeCodePoints(detailOf(ops), SUMMARY_CHARS)}`);
}

/** Several operations are one record, so that they are approved together or not at all. */
export function payloadOf(target: MemoryTarget, ops: readonly MemoryOp[]): PendingPayload {
  const [op] = ops;
  if (op === undefined || ops.length > 1)
    return { action: "batch", target, content: null, old_text: null, operations: ops.map(stepOf) };
  return {
    action: op.action,
    target,
    content: op.action === "remove" ? null : op.content,
    old_text: op.action === "add" ? null : op.oldText,
    ...(op.action !== "add" && op.match === "entry" ? { match: op.match } : {}),
  };
}

function stepOf(op: MemoryOp): PendingStep {
  return {
    action: op.action,
    ...(op.action === "remove" ? {} : { content: op.content }),
    ...(op.action === "add" ? {} : { old_text: op.oldText }),
    ...(op.action !== "add" && op.match === "entry" ? { match: op.match } : {}),
  };
}

function headerOf(target: MemoryTarget, ops: readonly MemoryOp[]): string {
  const [op] = ops;
  const place = target === "user" ? "user profile" : "memory";
  return op !== undefined && ops.length === 1
    ? `${VERBS[op.action]} ${place}`
    : `apply ${ops.length} changes to ${place}`;
}

function detailOf(ops: readonly MemoryOp[]): string {
  const [op] = ops;
  if (op !== undefined && ops.length === 1) return textOf(op);
  return ops.map((each) => `${each.action}: ${textOf(each)}`).join("\n");
}

function textOf(op: MemoryOp): string {
  if (op.action === "add") return op.content;
  return op.action === "replace" ? `old: ${op.oldText}\nnew: ${op.content}` : op.oldText;
}
