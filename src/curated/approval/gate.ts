// Decides whether a write goes through, is asked about, or waits; and words the question.
import { pyStrip, takeCodePoints } from "../../lib/index.ts";
import type { MemoryOp, MemoryTarget } from "../types.ts";
import type { PendingPayload } from "./pending.ts";

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
  op: MemoryOp,
  gate: { isOn: boolean; isBackground: boolean; approve?: ApprovalCallback | undefined },
): Promise<GateDecision> {
  if (!gate.isOn) return "write";
  if (gate.isBackground || !gate.approve) return "stage";
  const header = headerOf(target, op);
  try {
    const answer = await gate.approve(detailOf(op) || header, `Save to memory: ${header}`, {
      allowPermanent: false,
    });
    if (answer === "once" || answer === "session") return "write";
    return answer === "deny" ? "deny" : "stage";
  } catch {
    return "stage"; // the question could not be put; the write waits until it can
  }
}

export function summarise(target: MemoryTarget, op: MemoryOp): string {
  return pyStrip(`${headerOf(target, op)}: ${takeCodePoints(detailOf(op), SUMMARY_CHARS)}`);
}

export function payloadOf(target: MemoryTarget, op: MemoryOp): PendingPayload {
  return {
    action: op.action,
    target,
    content: op.action === "remove" ? null : op.content,
    old_text: op.action === "add" ? null : op.oldText,
    ...(op.action !== "add" && op.match === "entry" ? { match: op.match } : {}),
  };
}

function headerOf(target: MemoryTarget, op: MemoryOp): string {
  return `${VERBS[op.action]} ${target === "user" ? "user profile" : "memory"}`;
}

function detailOf(op: MemoryOp): string {
  if (op.action === "add") return op.content;
  return op.action === "replace" ? `old: ${op.oldText}\nnew: ${op.content}` : op.oldText;
}
