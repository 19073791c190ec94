// The `memory` tool: untyped arguments in, the tool's JSON out. Never throws, never touches a home it was not given.
import { isApprovalOn } from "../config/index.ts";
import { pendingWritesDirectory } from "../home.ts";
import {
  describeCause,
  err,
  isRecord,
  ok,
  outsideJsonOr,
  preview,
  pyStrip,
  type Result,
} from "../lib/index.ts";
import { type ApprovalCallback, passGate, payloadOf, summarise } from "./approval/gate.ts";
import { stagePending } from "./approval/pending.ts";
import { announce } from "./committed-write.ts";
import { atStep } from "./plan-ops.ts";
import type { MemoryStore } from "./store.ts";
import {
  batchJson,
  currentEntries,
  disabledTarget,
  failure,
  outcomeJson,
  refusedCall,
  staged,
} from "./tool-result.ts";
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
  /** How many calls of the memory tool failed in this turn already. The third failure tells the model to stop. */
  readonly failedBefore?: number;
  /** Told about a write once it is on disk: not about refused, staged or duplicate ones. */
  readonly onCommitted?: (write: CommittedWrite) => void;
};

export async function memoryTool(
  store: MemoryStore | undefined,
  args: unknown,
  context: MemoryToolContext = {},
): Promise<object> {
  const answer = store
    ? await answerFor(store, args, context)
    : refusedCall("Memory is not available. It may be disabled in config or this environment.");
  return withStop(answer, context.failedBefore ?? 0);
}

/** A model that fails this often in one turn tries the same again and again. */
const MOST_FAILURES = 3;

function withStop(answer: object, failedBefore: number): object {
  const failures = failedBefore + 1;
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
  if ("query" in call.value) return readArchive(store, target, call.value.query);
  if (!store.isEnabled(target)) return disabledTarget(target);
  const named = resolveAll(store, target, call.value.ops);
  if (!named.ok) return failed(store, target, named.error);
  const { ops, followed } = named.value;
  const meta = {
    origin: journalOrigin(context.origin),
    ...(context.sessionId === undefined ? {} : { sessionId: context.sessionId }),
  };
  const isOn = isApprovalOn(context.writeApproval);
  // Nobody is asked about what would be refused anyway.
  const isHopeless = isOn && ops.some((op) => store.check(op) !== undefined);
  const decision = isHopeless
    ? "write"
    : await passGate(target, ops, { isOn, isBackground: meta.origin === "review", approve: context.approve });
  if (decision === "stage") return stage(target, ops, context, store.dir);
  if (decision === "deny") {
    const denied: MemoryError = {
      kind: "denied",
      message: "Memory write denied by user. The change was not saved.",
    };
    for (const op of ops) await store.noteRefusal(target, op, denied, meta);
    return refusedCall(denied.message);
  }
  const outcome = await store.applyAll(target, ops, meta);
  if (!outcome.ok) return failed(store, target, outcome.error);
  announce(outcome.value, context.onCommitted);
  const told = followed.length === 0 ? outcome.value : { ...outcome.value, followed };
  return call.value.isBatch ? batchJson(told) : outcomeJson(told);
}

function failed(store: MemoryStore, target: MemoryTarget, error: MemoryError): object {
  return {
    ...failure(error, target),
    ...entriesFor(store, target, error),
    ...archiveHint(store, target, error),
  };
}

/** A model that named no entry, or one that is not there, needs to see which there are. */
function entriesFor(
  store: MemoryStore,
  target: MemoryTarget | undefined,
  { kind, message }: Pick<MemoryError, "kind" | "message">,
): object {
  const isAboutOldText = /old_text (?:is required|cannot be empty)/.test(message);
  if (target === undefined || !(kind === "no_match" || isAboutOldText)) return {};
  const { limit } = store.usage(target);
  return currentEntries(target, store.readEntries(target), limit);
}

type Named = { readonly ops: readonly MemoryOp[]; readonly followed: readonly string[] };

/** An id becomes the entry's text here, so that a person who is asked, and a provider that is told, see the text. */
function resolveAll(
  store: MemoryStore,
  target: MemoryTarget,
  given: readonly MemoryOp[],
): Result<Named, MemoryError> {
  const ops: MemoryOp[] = [];
  const followed: string[] = [];
  for (const [index, op] of given.entries()) {
    if (op.action === "add") {
      ops.push(op);
      continue;
    }
    const named = store.resolve(target, op);
    if (!named.ok) return given.length === 1 ? named : err(atStep(named.error, index));
    ops.push(named.value.op);
    followed.push(...named.value.followed);
  }
  return ok({ ops, followed });
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
  const payload = payloadOf(target, ops);
  const draft = {
    action: payload.action,
    summary: summarise(target, ops),
    origin: recordOrigin(context.origin),
    payload,
  };
  const record = stagePending(pendingWritesDirectory(context.home, dir), draft, new Date());
  return record.ok ? staged(record.value.id) : refusedCall(record.error.message);
}

const SHOWN_CHARS = 80;

type Call =
  | { readonly target: MemoryTarget; readonly ops: readonly MemoryOp[]; readonly isBatch: boolean }
  | { readonly target: MemoryTarget; readonly query: string };

/** `target`: once it is known to be one. */
type CallError = Pick<MemoryError, "kind" | "message"> & { readonly target?: MemoryTarget };
type Fields = Readonly<Record<string, unknown>>;

/** The order of these checks is part of the tool's interface. Null and "" count as missing. */
function parseCall(args: unknown): Result<Call, CallError> {
  const given: Fields = isRecord(args) ? args : {};
  const target = given.target ?? "memory";
  if (!isTarget(target)) {
    return err({ kind: "bad_target", message: `Invalid target '${show(target)}'. Use 'memory' or 'user'.` });
  }
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

/** Undefined when there is none. A list in JSON text is a list: some models write it so. */
function operationsIn(value: unknown): unknown {
  if (value === undefined || value === null || value === "") return undefined;
  return typeof value === "string" ? outsideJsonOr(value, value) : value;
}

/** More than fit into a file of the usual size. */
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
  for (const [name, value] of usedBy(action, given))
    if (value !== undefined && value !== null && typeof value !== "string")
      return { kind: "invalid_content", message: `${name} must be a string, but is ${show(value)}.` };
  return undefined;
}

function wrong(message: string): Result<never, CallError> {
  return err({ kind: "invalid_content", message });
}

/** An id says it more exactly than a piece of text does. */
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

/** An argument that an action does not use is nobody's business. */
function usedBy(action: unknown, given: Readonly<Record<string, unknown>>): (readonly [string, unknown])[] {
  const names = typeof action === "string" && Object.hasOwn(USED, action) ? (USED[action] ?? []) : [];
  return names.map((name) => [name, given[name]] as const);
}

function missing(message: string): Result<never, CallError> {
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
