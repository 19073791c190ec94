// Decides whether a resumed session keeps the prompt it was stored with. The same bytes keep the model's cache, and the memory
// the conversation began with.
import { promptHash, singleLine } from "./build.ts";

/** Raise it when prompts built by older versions must not be reused. */
export const PROMPT_VERSION = 1;

/** Stored with a prompt. Without it, or with another hash, the prompt was written by another program. */
export type PromptMark = { readonly version: number; readonly hash: string };

/** The mark that is stored with a prompt, to see later whether it can be reused. */
export function promptMark(text: string): PromptMark {
  return { version: PROMPT_VERSION, hash: promptHash(text) };
}

/** The prompt that is stored for a session, if there is one. */
export type StoredPrompt =
  /** No row. */
  | { readonly kind: "missing" }
  /** The database did not answer. */
  | { readonly kind: "unreadable" }
  | { readonly kind: "stored"; readonly text: string | null; readonly mark: PromptMark | undefined };

export type RestoreQuestion = {
  /** Messages of earlier turns. Without any, the stored prompt is not read and not reused. */
  readonly hasHistory: boolean;
  readonly stored: StoredPrompt;
  /** The current model; blank when not known. The same for `provider`. */
  readonly model?: string;
  readonly provider?: string;
  /** `memory.refresh_on_resume` */
  readonly refreshOnResume?: boolean;
};

type RebuildReason =
  | "new_session"
  | "missing"
  | "unreadable"
  | "empty"
  | "foreign"
  | "other_version"
  | "stale_runtime"
  | "refresh_on_resume";

/** Whether to reuse the stored prompt or to build a new one, and why. */
export type RestoreDecision =
  | { readonly action: "reuse"; readonly text: string }
  /** `level`: how the reason is logged. */
  | { readonly action: "build"; readonly reason: RebuildReason; readonly level: "none" | "info" | "warn" };

/** Decides whether a session's stored prompt can be reused. */
export function restoreDecision(question: RestoreQuestion): RestoreDecision {
  const { stored } = question;
  if (!question.hasHistory) return build("new_session", "none");
  if (stored.kind === "missing") return build("missing", "none");
  if (stored.kind === "unreadable") return build("unreadable", "warn");
  const { text, mark } = stored;
  if (text === null || text === "") return build("empty", "warn");
  if (question.refreshOnResume) return build("refresh_on_resume", "info");
  if (mark === undefined || mark.hash !== promptHash(text)) return build("foreign", "info");
  if (mark.version !== PROMPT_VERSION) return build("other_version", "info");
  const isStale =
    differs(lastLine(text, "Model:"), question.model) ||
    differs(lastLine(text, "Provider:"), question.provider);
  return isStale ? build("stale_runtime", "info") : { action: "reuse", text };
}

function build(reason: RebuildReason, level: "none" | "info" | "warn"): RestoreDecision {
  return { action: "build", reason, level };
}

function differs(stored: string, current: string | undefined): boolean {
  const value = singleLine(current);
  return value !== "" && value !== stored;
}

/** The value in the last line that starts with `name`; "" when there is no such line. */
function lastLine(text: string, name: string): string {
  const found = text.split("\n").findLast((line) => line.startsWith(name));
  return singleLine((found ?? "").slice(name.length));
}
