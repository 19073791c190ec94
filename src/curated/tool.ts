// The `memory` tool: untyped arguments in, the tool's JSON out. Never throws, never touches a home it was not given.
import { isApprovalOn } from "../config/index.ts";
import { pendingWritesDirectory } from "../home.ts";
import { describeCause, err, ok, preview, pyStrip, type Result } from "../lib/index.ts";
import { type ApprovalCallback, passGate, payloadOf, summarise } from "./approval/gate.ts";
import { stagePending } from "./approval/pending.ts";
import { announce } from "./committed-write.ts";
import type { MemoryStore } from "./store.ts";
import { failure, outcomeJson, refusedCall, staged } from "./tool-result.ts";
import {
  type CommittedWrite,
  type EntryName,
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
  const { target } = call.value;
  if ("query" in call.value) return readArchive(store, target, call.value.query);
  // An id becomes the entry's text here, so that a person who is asked, and a provider that is told, see the text.
  const named =
    call.value.op.action === "add" ? ok(unchanged(call.value.op)) : store.resolve(target, call.value.op);
  if (!named.ok) return failure(named.error, target);
  const { op, followed } = named.value;
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
  if (!outcome.ok) return { ...failure(outcome.error, target), ...archiveHint(store, target, outcome.error) };
  return outcomeJson(followed.length === 0 ? outcome.value : { ...outcome.value, followed });
}

/** Only looks: nobody is asked, and nothing is noted. */
function readArchive(store: MemoryStore, target: MemoryTarget, query: string): object {
  if (!store.isEnabled(target)) return refusedCall(`The target '${target}' is switched off in this home.`);
  try {
    return store.archiveAnswer(target, query);
  } catch (cause) {
    return refusedCall(`The archive could not be read: ${describeCause(cause)}.`);
  }
}

/** A model that is told to make room should know that what made room earlier is not lost. */
function archiveHint(store: MemoryStore, target: MemoryTarget, error: MemoryError): object {
  if (error.kind !== "over_limit") return {};
  try {
    const count = store.archived(target).length;
    const older =
      count === 1 ? "1 older entry of this target is" : `${count} older entries of this target are`;
    const archive_hint = `${older} in the archive; action 'search_archive' reads it.`;
    return count === 0 ? {} : { archived_entries: count, archive_hint };
  } catch {
    return {}; // the refusal is what matters
  }
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

type Call =
  | { readonly target: MemoryTarget; readonly op: MemoryOp }
  | { readonly target: MemoryTarget; readonly query: string };

/** The order of these checks is part of the tool's interface. Null and "" count as missing. */
function parseCall(args: unknown): Result<Call, MemoryError> {
  const given = typeof args === "object" && args !== null ? (args as Record<string, unknown>) : {};
  const { action, target = "memory", content, old_text, id, query } = given;
  if (!isTarget(target)) {
    return err({ kind: "bad_target", message: `Invalid target '${show(target)}'. Use 'memory' or 'user'.` });
  }
  for (const [name, value] of usedBy(action, { content, old_text, id, query })) {
    if (value !== undefined && value !== null && typeof value !== "string") {
      return err({ kind: "invalid_content", message: `${name} must be a string, but is ${show(value)}.` });
    }
  }
  const text = typeof content === "string" && content !== "" ? content : undefined;
  const entry = entryNamed(old_text, id);
  switch (action) {
    case "add":
      return text === undefined
        ? missing("Content is required for 'add' action.")
        : ok({ target, op: { action, content: text } });
    case "replace":
      if (entry === undefined) return missing("old_text is required for 'replace' action.");
      if (text === undefined) return missing("content is required for 'replace' action.");
      return ok({ target, op: { action, ...entry, content: text } });
    case "remove":
      return entry === undefined
        ? missing("old_text is required for 'remove' action.")
        : ok({ target, op: { action, ...entry } });
    case "search_archive":
      return ok({ target, query: typeof query === "string" ? pyStrip(query) : "" });
    default:
      return err({
        kind: "bad_action",
        message: `Unknown action '${show(action)}'. Use: add, replace, remove`,
      });
  }
}

/** An id says it more exactly than a piece of text does. */
function entryNamed(oldText: unknown, id: unknown): EntryName | undefined {
  const asked = typeof id === "string" ? pyStrip(id) : "";
  if (asked !== "") return { oldText: asked, match: "id" };
  return typeof oldText === "string" && oldText !== "" ? { oldText } : undefined;
}

function unchanged<Op extends MemoryOp>(op: Op): { readonly op: Op; readonly followed: readonly string[] } {
  return { op, followed: [] };
}

const USED: Readonly<Record<string, readonly string[]>> = {
  add: ["content"],
  replace: ["old_text", "id", "content"],
  remove: ["old_text", "id"],
  search_archive: ["query"],
};

/** An argument that an action does not use is nobody's business. */
function usedBy(action: unknown, given: Readonly<Record<string, unknown>>): (readonly [string, unknown])[] {
  const names = typeof action === "string" && Object.hasOwn(USED, action) ? (USED[action] ?? []) : [];
  return names.map((name) => [name, given[name]] as const);
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
