// Writes and erasures of the built-in memory as a provider is told about them, and the reports it may give back. A plugin wrote the
// reports, so only fields of the right type count.
import { isRecord, preview } from "../../lib/index.ts";
import { redactSecrets } from "../../security/index.ts";
import type { MemoryWriteMetadata } from "../contract.ts";

/** A write that is on disk. The curated layer's `CommittedWrite` is one. */
export type MirroredWrite = {
  readonly target: "memory" | "user";
  readonly op:
    | { readonly action: "add"; readonly content: string }
    | { readonly action: "replace"; readonly oldText: string; readonly content: string }
    | { readonly action: "remove"; readonly oldText: string };
};

/** Where a curated write came from, for `onMemoryWrite`. */
export type WriteProvenance = {
  /** The writer outside a conversation: `cli`, `mcp`, `curator`. Absent: the agent. */
  readonly origin?: string;
  readonly isBackgroundReview?: boolean;
  readonly sessionId?: string;
  readonly parentSessionId?: string;
  readonly platform?: string;
  readonly taskId?: string;
  readonly toolCallId?: string;
  /** The whole text of a replaced or removed entry. */
  readonly oldText?: string;
};

/** Empty values are left out, because providers test for presence. */
export function writeMetadata(from: WriteProvenance): MemoryWriteMetadata {
  const isReview = from.isBackgroundReview ?? false;
  return withoutEmpty({
    write_origin: from.origin ?? (isReview ? "background_review" : "assistant_tool"),
    execution_context: isReview ? "background_review" : "foreground",
    session_id: from.sessionId,
    parent_session_id: from.parentSessionId,
    platform: from.platform,
    tool_name: "memory",
    task_id: from.taskId,
    tool_call_id: from.toolCallId,
    old_text: from.oldText,
  });
}

export function withoutEmpty<T extends object>(options: T): T {
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined && value !== null && value !== ""),
  ) as T;
}

/** A provider's report about a write: none, that it stored the text, or why it did not. */
export type WriteReport =
  | { readonly kind: "unsaid" }
  | { readonly kind: "stored" }
  /** Kept, and sent later. */
  | { readonly kind: "queued"; readonly reason: string }
  | { readonly kind: "refused"; readonly reason: string };

export function readWriteReport(report: unknown): WriteReport {
  const { stored, queued, reason } = isRecord(report) ? report : {};
  if (typeof stored !== "boolean") return { kind: "unsaid" };
  if (stored) return { kind: "stored" };
  return { kind: queued === true ? "queued" : "refused", reason: sentence(reason) || "It did not say why." };
}

/** Outcome of erasing a text in a provider. */
export type ProviderForgot =
  | { readonly kind: "forgot"; readonly erased: number; readonly remaining?: string }
  /** The provider has no such member. */
  | { readonly kind: "cannot" }
  | { readonly kind: "failed"; readonly reason: string };

export function readForgetReport(member: "forget" | "eraseUser", report: unknown): ProviderForgot {
  const { erased, remaining } = isRecord(report) ? report : {};
  if (typeof erased !== "number" || !Number.isSafeInteger(erased) || erased < 0)
    return { kind: "failed", reason: `${member}: it did not say how much it erased.` };
  return { kind: "forgot", erased, remaining: sentence(remaining) || undefined };
}

const SENTENCE_CHARS = 500;

/** On one line, at most 500 characters, without secrets; "" for anything that is not text. */
function sentence(value: unknown): string {
  const text = typeof value === "string" ? value.replace(/[\s\p{Cc}]+/gu, " ").trim() : "";
  return preview(redactSecrets(text), SENTENCE_CHARS);
}
