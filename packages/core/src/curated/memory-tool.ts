// The `memory` tool, from untyped arguments to the JSON answer. Never throws, never touches a home it was not given. The order of the
// checks and the JSON shapes, key order included, are part of its interface: other programs match on them.
import { isApprovalOn } from "../config/index.ts";
import { pendingWritesDirectory } from "../home.ts";
import {
  describeCause,
  err,
  isAbsent,
  isRecord,
  ok,
  outsideJsonOr,
  preview,
  pyStrip,
  type Result,
} from "../lib/index.ts";
import {
  described,
  type JsonSchema,
  jsonOutcome,
  shownText,
  type Tool,
  type UseStore,
} from "../tools/index.ts";
import { type ApprovalCallback, askForApproval, stageOperations } from "./approval/approve.ts";
import { entryId, entryIds, fileNameOf, formatFraction, formatUsage, measure } from "./entries.ts";
import type { MemoryStore } from "./memory-store.ts";
import { memoryToolSchema, memoryToolWithArchive } from "./tool-schema.ts";
import {
  type EntryName,
  MEMORY_TARGETS,
  type MemoryError,
  type MemoryOp,
  type MemoryOpOutcome,
  type MemoryTarget,
  type WriteOrigin,
} from "./types.ts";
import { announce, atStep, type CommitListener } from "./write-plan.ts";

/** Who calls the memory tool, and whether its writes need approval. */
export type MemoryToolContext = {
  /** Staged writes go to `<home>/pending/memory`, for a user's store to the user's directory in there. */
  readonly home?: string;
  /** Config `memory.write_approval`: a boolean, or one of the words that mean yes. */
  readonly writeApproval?: boolean | string;
  /** Asks the user, where there is one to ask. */
  readonly approve?: ApprovalCallback;
  readonly origin?: WriteOrigin | "assistant_tool" | "background_review" | "foreground";
  readonly sessionId?: string;
  /** How many calls of the memory tool failed in this turn already. The third failure tells the model to stop. */
  readonly failedBefore?: number;
  /** Called for a write once it is on disk: not for refused, staged or duplicate ones. */
  readonly onCommitted?: CommitListener;
};

// ---- The entry in the tool table ----

export type OpenedMemory = {
  /** Undefined when memory is switched off; the tools then say so. */
  readonly store: MemoryStore | undefined;
  readonly context: Omit<MemoryToolContext, "failedBefore">;
};

/** The tools of curated memory for the agent's loop and for clients of the MCP server. `isArchiving`: `hasArchive` of its directory. */
export function curatedTools(use: UseStore<OpenedMemory>, isArchiving = false): readonly Tool[] {
  return [memoryToolEntry(use, isArchiving)];
}

/** One entry for each agent: it counts the failures of a turn. */
function memoryToolEntry(use: UseStore<OpenedMemory>, isArchiving: boolean): Tool {
  let failures = { turn: "", count: 0 };
  return {
    ...described(isArchiving ? memoryToolWithArchive : memoryToolSchema),
    answer: MEMORY_ANSWER,
    owner: { kind: "own" },
    policy: { toolset: "memory", effect: "write", isHousekeeping: true },
    preview: memoryToolPreview,
    run: (args, call) =>
      use(async ({ store, context }) => {
        const turn = call.turnId ?? call.taskId;
        if (failures.turn !== turn) failures = { turn, count: 0 };
        const counted = failures;
        const answer = await memoryTool(store, args, { ...context, failedBefore: counted.count });
        if (isFailure(answer)) counted.count += 1;
        return jsonOutcome(answer);
      }, call),
  };
}

const TEXTS = { type: "array", items: { type: "string" } };

/** One schema for changes, staged changes and searches in the archive. */
const MEMORY_ANSWER: JsonSchema = {
  type: "object",
  properties: {
    success: { type: "boolean" },
    target: { type: "string", enum: [...MEMORY_TARGETS] },
    message: { type: "string" },
    warning: {
      type: "string",
      description: "From 80 % of the room on, and when a step after the write failed.",
    },
    entries: { ...TEXTS, description: "The target's entries after the change." },
    entry_ids: { ...TEXTS, description: "The ids of `entries`, in the same order." },
    entry_count: { type: "integer" },
    usage: { type: "string", description: "Used and allowed characters." },
    staged: {
      type: "boolean",
      description: "The change waits for the user's approval; nothing was saved yet.",
    },
    pending_id: { type: "string" },
    archived: { type: "array", description: "Entries that made room, or the hits of 'search_archive'." },
    count: { type: "integer" },
    total_matches: { type: "integer" },
    done: { type: "boolean" },
    note: { type: "string" },
  },
  required: ["success"],
};

/** One line for the user about a call. */
export function memoryToolPreview(args: unknown): string {
  const given = typeof args === "object" && args !== null ? (args as Record<string, unknown>) : {};
  const short = (value: unknown, chars: number): string => preview(shownText(value), chars);
  const target = short(given.target ?? "memory", 25);
  if (Array.isArray(given.operations) && given.operations.length > 0)
    return `*${target}: ${given.operations.length} operations`;
  const oldText = given.old_text ? `"${short(given.old_text, 20)}"` : '"<missing old_text>"';
  if (given.action === "add") return `+${target}: "${short(given.content ?? given.new_text ?? "", 25)}"`;
  if (given.action === "replace") return `~${target}: ${oldText}`;
  if (given.action === "remove") return `-${target}: ${oldText}`;
  if (given.action === "search_archive") return `?${target}: "${short(given.query ?? "", 25)}"`;
  return `${short(given.action, 25)} ${target}`;
}

// ---- The call ----

/** After this many failures in one turn the model is repeating itself. */
const MOST_FAILURES = 3;

/**
 * Runs one call of the memory tool with the arguments as the model wrote them. Answers with the tool's JSON; never throws for a bad
 * argument.
 */
export async function memoryTool(
  store: MemoryStore | undefined,
  args: unknown,
  context: MemoryToolContext = {},
): Promise<object> {
  const answer = store
    ? await answerFor(store, args, context)
    : refusedCall("Memory is not available. It may be disabled in config or this environment.");
  const failures = (context.failedBefore ?? 0) + 1;
  if (!isFailure(answer) || failures < MOST_FAILURES) return answer;
  const note = `${failures} memory calls of this turn have failed. Stop calling memory in this turn: go on with what the user asked for, and tell them what could not be saved.`;
  return { ...answer, done: true, note };
}

function isFailure(answer: object): boolean {
  return "success" in answer && answer.success === false;
}

async function answerFor(store: MemoryStore, args: unknown, context: MemoryToolContext): Promise<object> {
  const call = parseCall(args);
  if (!call.ok) {
    const { target, ...error } = call.error;
    return { ...refusedCall(error.message), ...entriesFor(store, target, error) };
  }
  const { target } = call.value;
  if ("query" in call.value) return searchArchive(store, target, call.value.query);
  if (!store.isEnabled(target)) return disabledTarget(target);
  // Ids become the entries' texts, so that the user who is asked, and the provider that is told, see the text.
  const resolved = store.resolveAll(target, call.value.ops);
  if (!resolved.ok) return failed(store, target, resolved.error);
  const { ops, followed } = resolved.value;
  const meta = { origin: journalOrigin(context.origin), sessionId: context.sessionId };
  // The user is not asked about a write that would be refused anyway.
  if (isApprovalOn(context.writeApproval) && ops.every((op) => store.check(op) === undefined)) {
    const approve = meta.origin === "review" ? undefined : context.approve;
    const decision = await askForApproval(target, ops, approve);
    if (decision === "stage") return stage(target, ops, context, store.dir);
    if (decision === "deny") {
      const message = "Memory write denied by user. The change was not saved.";
      for (const op of ops) store.noteRefusal(target, op, { kind: "denied", message }, meta);
      return refusedCall(message);
    }
  }
  const outcome = await store.applyAll(target, ops, meta);
  if (!outcome.ok) return failed(store, target, outcome.error);
  announce(outcome.value, context.onCommitted);
  const told = followed.length === 0 ? outcome.value : { ...outcome.value, followed };
  return call.value.isBatch ? batchJson(told) : outcomeJson(told);
}

function searchArchive(store: MemoryStore, target: MemoryTarget, query: string): object {
  if (!store.isEnabled(target)) return refusedCall(`The target '${target}' is switched off in this home.`);
  try {
    return store.archiveAnswer(target, query);
  } catch (cause) {
    return refusedCall(`The archive could not be read: ${describeCause(cause)}.`);
  }
}

function stage(
  target: MemoryTarget,
  ops: readonly MemoryOp[],
  context: MemoryToolContext,
  dir: string,
): object {
  if (context.home === undefined) {
    return refusedCall(
      "Memory writes need approval (memory.write_approval is on), but no home directory was given to stage them in. Nothing was saved.",
    );
  }
  const directory = pendingWritesDirectory(context.home, dir);
  const record = stageOperations(directory, target, ops, recordOrigin(context.origin));
  if (!record.ok) return refusedCall(record.error.message);
  return {
    success: true,
    staged: true,
    pending_id: record.value.id,
    message:
      "Staged for approval (memory.write_approval is on). Not yet saved — review with /memory pending.",
  };
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

// ---- Answers ----

/**
 * For a call with one action. Callers of the tool of June 2026 read `entries`; the current tool of Hermes leaves it out and has
 * `done` and `note` instead. This answer has all of them.
 */
function outcomeJson(outcome: MemoryOpOutcome): object {
  const { target, entries, followed: followed_changes } = outcome;
  const facts = { target, entries, ...factsOf(outcome), entry_ids: entryIds(target, entries) };
  return { success: true, ...facts, followed_changes, done: true, note: DONE_NOTE };
}

/** For a call with `operations`, which the tool of June 2026 does not have: the answer of the current tool, without the entries. */
function batchJson(outcome: MemoryOpOutcome): object {
  const { target, followed: followed_changes } = outcome;
  return { success: true, done: true, target, ...factsOf(outcome), followed_changes, note: DONE_NOTE };
}

const DONE_NOTE =
  "The change is complete; do not repeat it. Later sessions have it in their prompt; the prompt of this one stays as it is.";

function factsOf({ entryCount, message, usedChars, charLimit, warning, archived, removed }: MemoryOpOutcome) {
  return {
    usage: formatUsage({ used: usedChars, limit: charLimit }),
    entry_count: entryCount,
    message,
    warning,
    archived,
    removed,
  };
}

/** The call was refused before it reached the store. */
export function refusedCall(error: string): object {
  return { error, success: false };
}

/** The error has the words of the current Hermes; other programs match on it. */
function disabledTarget(target: MemoryTarget): object {
  const key = target === "user" ? "memory.user_profile_enabled" : "memory.memory_enabled";
  return {
    ...refusedCall(`Built-in ${fileNameOf(target)} writes are disabled in memory config.`),
    hint: `The user can allow them by setting ${key} to true.`,
  };
}

function failed(store: MemoryStore, target: MemoryTarget, error: MemoryError): object {
  return {
    ...failureJson(error, target),
    ...entriesFor(store, target, error),
    ...archiveHint(store, target, error),
  };
}

function failureJson(error: MemoryError, target: MemoryTarget): object {
  const base = { success: false, error: error.message };
  switch (error.kind) {
    case "ambiguous":
      return {
        ...base,
        matches: error.matches,
        match_ids: error.entries.map((entry) => entryId(target, entry)),
      };
    case "over_limit":
      return { ...base, ...currentEntries(target, error.currentEntries, error.charLimit) };
    case "drift":
      return { ...base, drift_backup: error.backup, remediation: error.remediation };
    case "bad_target":
    case "bad_action":
    case "missing_arg":
    case "denied":
      return refusedCall(error.message);
    default:
      return base;
  }
}

function currentEntries(target: MemoryTarget, entries: readonly string[], limit: number): object {
  return {
    current_entries: entries,
    usage: formatFraction(measure(entries, limit)),
    current_entry_ids: entryIds(target, entries),
  };
}

/** A model that named no entry, or one that does not exist, needs the list of entries. */
function entriesFor(
  store: MemoryStore,
  target: MemoryTarget | undefined,
  { kind, message }: Pick<MemoryError, "kind" | "message">,
): object {
  const isAboutOldText = /old_text (?:is required|cannot be empty)/.test(message);
  if (target === undefined || !(kind === "no_match" || isAboutOldText)) return {};
  return currentEntries(target, store.readEntries(target), store.usage(target).limit);
}

/** A model that has to make room should know that earlier entries that made room are not lost. */
function archiveHint(store: MemoryStore, target: MemoryTarget, error: MemoryError): object {
  if (error.kind !== "over_limit") return {};
  try {
    const count = store.archived(target).length;
    const older =
      count === 1 ? "1 older entry of this target is" : `${count} older entries of this target are`;
    const archive_hint = `${older} in the archive; action 'search_archive' reads it.`;
    return count === 0 ? {} : { archived_entries: count, archive_hint };
  } catch {
    return {}; // an unreadable archive must not hide the refusal
  }
}

// ---- Arguments ----

const SHOWN_CHARS = 80;

type Call =
  | { readonly target: MemoryTarget; readonly ops: readonly MemoryOp[]; readonly isBatch: boolean }
  | { readonly target: MemoryTarget; readonly query: string };

/** `target` is present once it is known to be valid. */
type CallError = Pick<MemoryError, "kind" | "message"> & { readonly target?: MemoryTarget };
type Fields = Readonly<Record<string, unknown>>;

/** The order of these checks is part of the tool's interface. Null and "" count as missing. */
function parseCall(args: unknown): Result<Call, CallError> {
  const given: Fields = isRecord(args) ? args : {};
  const named = given.target ?? "memory";
  const target = MEMORY_TARGETS.find((each) => each === named);
  if (target === undefined)
    return err({ kind: "bad_target", message: `Invalid target '${show(named)}'. Use 'memory' or 'user'.` });
  const operations = operationsIn(given.operations);
  const hasAction = given.action !== undefined && given.action !== null;
  // Some models send an empty list beside a single action.
  if (operations !== undefined && !(hasAction && Array.isArray(operations) && operations.length === 0))
    return parseBatch(target, operations);
  if (given.action === "search_archive") {
    const wrong = wrongType(given.action, given);
    if (wrong !== undefined) return err({ ...wrong, target });
    return ok({ target, query: typeof given.query === "string" ? pyStrip(given.query) : "" });
  }
  const op = parseOperation(given);
  return op.ok ? ok({ target, ops: [op.value], isBatch: false }) : err({ ...op.error, target });
}

/** Undefined when absent. A list in JSON text is a list: some models send it that way. */
function operationsIn(value: unknown): unknown {
  if (isAbsent(value)) return undefined;
  return typeof value === "string" ? outsideJsonOr(value, value) : value;
}

/** More than fit into a file with the default limit. */
const MOST_OPERATIONS = 100;

function parseBatch(target: MemoryTarget, operations: unknown): Result<Call, CallError> {
  if (!Array.isArray(operations))
    return wrong(`operations must be a list of operations, but is ${show(operations)}.`);
  if (operations.length === 0) return wrong("operations is empty: there is nothing to do.");
  if (operations.length > MOST_OPERATIONS)
    return wrong(`operations has ${operations.length} elements; at most ${MOST_OPERATIONS} are possible.`);
  const ops: MemoryOp[] = [];
  for (const [index, given] of operations.entries()) {
    const op = isRecord(given)
      ? parseStep(target, given)
      : wrong(`an operation must be an object, but is ${show(given)}.`);
    if (!op.ok) return err({ ...atStep(op.error, index), target });
    ops.push(op.value);
  }
  return ok({ target, ops, isBatch: true });
}

function parseStep(target: MemoryTarget, given: Fields): Result<MemoryOp, CallError> {
  const named = given.target ?? target;
  return named === target
    ? parseOperation(given)
    : wrong(`it names target '${show(named)}', but one call changes one target, here '${target}'.`);
}

function parseOperation(given: Fields): Result<MemoryOp, CallError> {
  const { action, old_text, id } = given;
  const mistyped = wrongType(action, given);
  if (mistyped !== undefined) return err(mistyped);
  const text = [given.content, given.new_text].find((each) => typeof each === "string" && each !== "");
  const content = typeof text === "string" ? text : undefined;
  const entry = entryNamed(old_text, id);
  switch (action) {
    case "add":
      return content === undefined
        ? missing("Content is required for 'add' action.")
        : ok({ action, content });
    case "replace":
      if (entry === undefined) return missing("old_text is required for 'replace' action.");
      if (content === undefined) return missing("content is required for 'replace' action.");
      return ok({ action, ...entry, content });
    case "remove":
      return entry === undefined
        ? missing("old_text is required for 'remove' action.")
        : ok({ action, ...entry });
    default:
      return err({
        kind: "bad_action",
        message: `Unknown action '${show(action)}'. Use: add, replace, remove`,
      });
  }
}

function wrongType(action: unknown, given: Fields): CallError | undefined {
  // Arguments that the action does not use are ignored.
  const used = typeof action === "string" && Object.hasOwn(USED, action) ? (USED[action] ?? []) : [];
  const name = used.find((each) => given[each] != null && typeof given[each] !== "string");
  if (name === undefined) return undefined;
  return { kind: "invalid_content", message: `${name} must be a string, but is ${show(given[name])}.` };
}

function wrong(message: string): Result<never, CallError> {
  return err({ kind: "invalid_content", message });
}

/** An id wins over a piece of text, because it is exact. */
function entryNamed(oldText: unknown, id: unknown): EntryName | undefined {
  const asked = typeof id === "string" ? pyStrip(id) : "";
  if (asked !== "") return { oldText: asked, match: "id" };
  return typeof oldText === "string" && oldText !== "" ? { oldText } : undefined;
}

const USED: Readonly<Record<string, readonly string[]>> = {
  add: ["content", "new_text"],
  replace: ["old_text", "id", "content", "new_text"],
  remove: ["old_text", "id"],
  search_archive: ["query"],
};

function missing(message: string): Result<never, CallError> {
  return err({ kind: "missing_arg", message });
}

function show(value: unknown): string {
  if (typeof value === "string") return value;
  try {
    return preview(JSON.stringify(value) ?? "undefined", SHOWN_CHARS);
  } catch {
    return String(value); // a bigint, or a value that contains itself
  }
}
