// Which writes a review made, and the one line that tells the user. Pure.
import type { NotificationLevel } from "@hermes-memory/core/internal/config";
import { isRecord, outsideJsonOr, preview } from "@hermes-memory/core/internal/lib";
import { type Message, toolCallsOf } from "@hermes-memory/core/internal/message";

export type ReviewWrite = { readonly tool: string; readonly line: string };

/** `messages`: the messages that the review added to the conversation. */
export function reviewWrites(messages: readonly Message[], level: NotificationLevel): readonly ReviewWrite[] {
  if (level === "off") return [];
  const calls = new Map(
    messages.flatMap((message) => toolCallsOf(message).map((call) => [call.id, call] as const)),
  );
  return messages.flatMap((message): ReviewWrite[] => {
    const call = message.role === "tool" ? calls.get(message.toolCallId) : undefined;
    if (call === undefined || !WRITERS.has(call.name)) return [];
    const result = objectOf(message.content);
    if (result?.success !== true) return [];
    const line = lineOf(call.name, objectOf(call.arguments) ?? {}, result, level);
    return line === undefined ? [] : [{ tool: call.name, line }];
  });
}

export function reviewSummary(writes: readonly ReviewWrite[]): string | undefined {
  const lines = [...new Set(writes.map(({ line }) => line))];
  return lines.length === 0 ? undefined : `\u{1f4be} Self-improvement review: ${lines.join(" · ")}`;
}

const WRITERS: ReadonlySet<string> = new Set(["memory", "skill_manage"]);
const LABELS: Readonly<Record<string, string>> = { memory: "Memory", user: "User profile", skill: "Skill" };

type Fields = Readonly<Record<string, unknown>>;

function lineOf(name: string, args: Fields, result: Fields, level: NotificationLevel): string | undefined {
  const target = name === "memory" ? text(args.target) || "memory" : "skill";
  const label = LABELS[target] ?? target;
  if (result.staged === true) return `${label} staged for approval`;
  if (name === "memory" && args.action === "search_archive") return undefined; // nothing was written
  const message = text(result.message);
  if (name === "memory" && message.includes("already exists")) return undefined; // nothing was written
  if (level === "verbose") return verbose(name, label, args, result) ?? message;
  const said = message.toLowerCase();
  if (
    said.includes("created") ||
    said.includes("updated") ||
    (name === "skill_manage" && said.includes("patched"))
  )
    return message;
  return /added|removed|replaced|applied/.test(said) ? `${label} updated` : undefined;
}

const MEMORY_CHARS = 120;
const REMOVED_CHARS = 60;
const PATCH_CHARS = 80;

function verbose(name: string, label: string, args: Fields, result: Fields): string | undefined {
  if (name === "memory") {
    if (Array.isArray(args.operations) && args.operations.length > 0)
      return `${label} \u270f ${args.operations.length} operations`;
    if (args.action === "add") return `${label} + ${cut(text(args.content), MEMORY_CHARS)}`;
    if (args.action === "replace") return `${label} \u270f ${cut(text(args.content), MEMORY_CHARS)}`;
    return args.action === "remove" ? `${label} - ${cut(text(args.old_text), REMOVED_CHARS)}` : undefined;
  }
  const change = isRecord(result._change) ? result._change : {};
  if (args.action === "patch")
    return `Skill '${text(args.name)}': ${cut(text(change.old ?? args.old_string), PATCH_CHARS)} \u2192 ${cut(text(change.new ?? args.new_string), PATCH_CHARS)}`;
  const description = text(change.description);
  return description === "" ? undefined : `Skill '${text(args.name)}': ${cut(description, MEMORY_CHARS)}`;
}

function cut(given: string, chars: number): string {
  return preview(given.replace(/\s+/g, " ").trim(), chars).replace(/\.\.\.$/, "\u2026");
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function objectOf(value: unknown): Fields | undefined {
  if (typeof value !== "string") return undefined;
  const parsed = outsideJsonOr(value, undefined);
  return isRecord(parsed) ? parsed : undefined;
}
