// Whether a session that goes on keeps the prompt it was stored with. Reusing it byte for byte keeps the model's cache
// and the memory the conversation began with.
import { promptHash, singleLine } from "./build.ts";

/** Raised when a prompt built by an older version must not be used any longer. */
export const PROMPT_VERSION = 1;

/** Kept beside a stored prompt. Without it, or with another text under it, the prompt is not one of ours. */
export type PromptMark = { readonly version: number; readonly hash: string };

export function promptMark(text: string): PromptMark {
  return { version: PROMPT_VERSION, hash: promptHash(text) };
}

export type StoredPrompt =
  /** No row. */
  | { readonly kind: "missing" }
  /** The database did not answer. */
  | { readonly kind: "unreadable" }
  | { readonly kind: "stored"; readonly text: string | null; readonly mark: PromptMark | undefined };

export type RestoreQuestion = {
  /** Messages of earlier turns. Without any nothing needs to be read, and nothing is reused. */
  readonly hasHistory: boolean;
  readonly stored: StoredPrompt;
  /** Current ones; blank where not known. */
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

export type RestoreDecision =
  | { readonly action: "reuse"; readonly text: string }
  /** `level`: how the reason is logged, if at all. */
  | { readonly action: "build"; readonly reason: RebuildReason; readonly level: "none" | "info" | "warn" };

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
    isOther(lastLine(text, "Model:"), question.model) ||
    isOther(lastLine(text, "Provider:"), question.provider);
  return isStale ? build("stale_runtime", "info") : { action: "reuse", text };
}

function build(reason: RebuildReason, level: "none" | "info" | "warn"): RestoreDecision {
  return { action: "build", reason, level };
}

function isOther(stored: string, current: string | undefined): boolean {
  const value = singleLine(current);
  return value !== "" && value !== stored;
}

/** What follows the name in the last line that starts with it; "" where there is none. */
function lastLine(text: string, name: string): string {
  const found = text.split("\n").findLast((line) => line.startsWith(name));
  return singleLine((found ?? "").slice(name.length));
}
