// MemoryStore: an agent's two curated files. Bound to its directory for life, so a write never lands in another profile.
import { mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { describeCause, err, ok, type Result } from "../lib/index.ts";
import type { ArchivedEntry } from "./archive.ts";
import { measure, usageWarning } from "./budget.ts";
import { checkOp, cleanText, type ScanOptions, scanOptions } from "./content-check.ts";
import { curationMeta, planCuration } from "./curation.ts";
import { hasId, looksLikeId } from "./entry-id.ts";
import { type Explanation, explain } from "./explain.ts";
import { findById } from "./find-by-id.ts";
import { eraseEverywhere, findTraces } from "./forget/forget.ts";
import type { Forgotten } from "./forget/sweep-target.ts";
import { formatEntries, parseEntries, withoutDuplicates } from "./format.ts";
import { type HistoryLine, historyOf, isLater } from "./history.ts";
import type { ReplayedChange } from "./journal/replay.ts";
import { readMemoryFile } from "./memory-file.ts";
import { outcomeOf } from "./outcome.ts";
import { pinEntry } from "./pin-entry.ts";
import { isPinned } from "./pins.ts";
import { atStep, planOps, planReset, planRestore } from "./plan-ops.ts";
import { findPurgeable, type Purged, purgeTarget } from "./purge.ts";
import { archiveJson } from "./search-archive.ts";
import { type BlockedEntry, buildSnapshot, type Snapshot } from "./snapshot.ts";
import { type MemoryStoreOptions, targetOptions } from "./store-options.ts";
import { type CommitOptions, type Plan, type Planner, TargetStore } from "./target-store.ts";
import {
  type EntryMatch,
  type EntryName,
  MEMORY_TARGETS,
  type MemoryCuration,
  type MemoryError,
  type MemoryOp,
  type MemoryOpOutcome,
  type MemoryTarget,
  type WriteMeta,
} from "./types.ts";
import { undoPlanner } from "./undo.ts";
import { type GroupUndone, undoGroup } from "./undo-group.ts";

/** Refusals worth a line in the journal. The others are typing mistakes. */
const NOTED_REFUSALS: ReadonlySet<string> = new Set(["blocked", "drift", "over_limit", "denied"]);

/** `followed`: ids of the changes that led from the asked id to this entry; none when it has the id itself. */
type Resolved<Op> = { readonly op: Op; readonly followed: readonly string[] };

export class MemoryStore {
  readonly dir: string;
  readonly #targets: Readonly<Record<MemoryTarget, TargetStore>>;
  readonly #disabled: ReadonlySet<MemoryTarget>;
  readonly #overflow: "refuse" | "archive";
  readonly #scan: ScanOptions;
  readonly #warnings: string[] = [];
  readonly #warn: (line: string) => void;
  #snapshots: Readonly<Partial<Record<MemoryTarget, Snapshot>>> = {};

  constructor(options: MemoryStoreOptions) {
    this.dir = resolve(options.dir);
    this.#disabled = new Set(options.disabled);
    this.#overflow = options.overflow ?? "refuse";
    this.#scan = scanOptions(options.scanAllow, options.allowSecrets);
    this.#warn = (line) => {
      this.#warnings.push(line);
      options.log?.(line);
    };
    const other = { memory: "user", user: "memory" } as const;
    const make = (target: MemoryTarget): TargetStore => {
      const othersSequence = (): number => this.#targets[other[target]].journal.lastSequence();
      return new TargetStore(targetOptions(options, target, this.#warn, othersSequence));
    };
    this.#targets = { memory: make("memory"), user: make("user") };
  }

  /** One line each: files that could not be read, entries kept out of the prompt, work done without a lock. */
  get warnings(): readonly string[] {
    return this.#warnings;
  }

  /** Reads both files and freezes the blocks for the prompt. Waits for no lock and works on a read-only home. */
  async load(): Promise<Result<void, MemoryError>> {
    this.#warnings.length = 0;
    makeDirectoryIfPossible(this.dir);
    for (const target of MEMORY_TARGETS) this.#targets[target].load();
    this.#snapshots = Object.fromEntries(MEMORY_TARGETS.map((target) => [target, this.#freeze(target)]));
    return ok(undefined);
  }

  /** Removes what killed writers left beside the files; an edit found in there becomes a backup. Never rejects. */
  async removeLeftovers(): Promise<void> {
    for (const target of MEMORY_TARGETS) await this.#targets[target].removeLeftovers();
  }

  /** The block as it was at load; undefined when there is nothing to show. */
  renderSnapshot(target: MemoryTarget): string | undefined {
    return this.#snapshots[target]?.block;
  }

  /** Entries that the prompt shows as a placeholder, with the findings. As of the last load. */
  blockedEntries(target: MemoryTarget): readonly BlockedEntry[] {
    return this.#snapshots[target]?.blocked ?? [];
  }

  entries(target: MemoryTarget): readonly string[] {
    return this.#targets[target]?.entries.slice() ?? [];
  }

  /** What the file holds now. As of the last load or write when it cannot be read. */
  readEntries(target: MemoryTarget): readonly string[] {
    const file = readMemoryFile(this.#targets[target].paths.file);
    return file.kind === "unreadable" ? this.entries(target) : withoutDuplicates(parseEntries(file.text));
  }

  isEnabled(target: MemoryTarget): boolean {
    return !this.#disabled.has(target);
  }

  usage(target: MemoryTarget): { readonly used: number; readonly limit: number; readonly warning?: string } {
    const { entries, limit } = this.#targets[target];
    const budget = measure(entries, limit);
    const warning = usageWarning(budget);
    return { ...budget, ...(warning === undefined ? {} : { warning }) };
  }

  apply(
    target: MemoryTarget,
    op: MemoryOp,
    meta: WriteMeta = {},
  ): Promise<Result<MemoryOpOutcome, MemoryError>> {
    return this.applyAll(target, [op], meta);
  }

  /** All or nothing; the budget is checked on the final list; one line in the journal. */
  async applyAll(
    target: MemoryTarget,
    ops: readonly MemoryOp[],
    meta: WriteMeta = {},
    options: Pick<CommitOptions, "guard"> = {},
  ): Promise<Result<MemoryOpOutcome, MemoryError>> {
    const store = this.#find(target);
    if (!store.ok) return store;
    if (ops.length === 0) return err({ kind: "empty", message: "No operations were given." });
    const checked: MemoryOp[] = [];
    for (const [index, op] of ops.entries()) {
      const outcome = checkOp(op, this.#scan);
      if (!outcome.ok) {
        const error = ops.length === 1 ? outcome.error : atStep(outcome.error, index);
        return this.#refuse(store.value, ops, error, meta, [op]);
      }
      checked.push(outcome.value);
    }
    const resolved = checked.map((op) => (op.action === "add" ? ok({ op }) : this.#resolve(store.value, op)));
    const unknown = resolved.find((each) => !each.ok);
    if (unknown && !unknown.ok) return unknown;
    const named = resolved.flatMap((each) => (each.ok ? [each.value.op] : []));
    const followed = resolved.flatMap((each) =>
      each.ok && "followed" in each.value ? each.value.followed : [],
    );
    const context = { target, limit: store.value.limit, overflow: this.#overflow };
    const outcome = await this.#transact(
      store.value,
      ({ entries, pins }) => {
        const plan = planOps(entries, named, context, pins);
        return meta.origin === "review" ? withoutLoss(entries, plan) : plan;
      },
      meta,
      options,
    );
    if (!outcome.ok) return this.#refuse(store.value, checked, outcome.error, meta);
    return followed.length === 0 ? outcome : ok({ ...outcome.value, followed });
  }

  /**
   * The entry that a text or an id stands for now, as an operation that holds for that entry only. An operation whose text is
   * found in some entry, or nowhere, comes back as it is: the store tells what becomes of it.
   */
  resolve<Op extends EntryName>(target: MemoryTarget, op: Op): Result<Resolved<Op>, MemoryError> {
    const store = this.#any(target);
    return store.ok ? this.#resolve(store.value, op) : store;
  }

  /** A tidying step, as one change. Refused when the entries it is about are not what they were, or are pinned. */
  async curate(
    target: MemoryTarget,
    curation: MemoryCuration,
    meta: WriteMeta = {},
    options: Pick<CommitOptions, "guard"> = {},
  ): Promise<Result<MemoryOpOutcome, MemoryError>> {
    const store = this.#find(target);
    if (!store.ok) return store;
    const plan: Planner = (input) => planCuration(input, curation, store.value, this.#scan);
    const outcome = await this.#transact(store.value, plan, curationMeta(meta), options);
    const text = curation.text === undefined ? [] : [{ action: "add", content: curation.text } as const];
    return outcome.ok ? outcome : this.#refuse(store.value, text, outcome.error, meta);
  }

  /** Takes back all changes of a group, newest first: all of them or, when one has been built upon since, none. */
  undoGroup(group: string, meta: WriteMeta = {}): Promise<Result<GroupUndone, MemoryError>> {
    return undoGroup(this.#all(), group, this.#scan, meta);
  }

  /** What the store would say about this operation, as far as that can be told without the file. */
  check(op: MemoryOp): MemoryError | undefined {
    const outcome = checkOp(op, this.#scan);
    return outcome.ok ? undefined : outcome.error;
  }

  /** Leaves a trace of a write that somebody turned down. */
  async noteRefusal(
    target: MemoryTarget,
    op: MemoryOp,
    error: MemoryError,
    meta: WriteMeta = {},
  ): Promise<void> {
    await this.#targets[target].recordRefusal(op.action, error, textOf([op]), meta);
  }

  /** Newest first: by the place in the journal, not by the clock. */
  history(options: { target?: MemoryTarget; limit?: number } = {}): HistoryLine[] {
    const targets = options.target ? [options.target] : MEMORY_TARGETS;
    return historyOf(
      targets.map((target) => this.#targets[target]),
      options.limit,
    );
  }

  /** What `undo` would take back: the change with this id, or the newest one that can be. */
  undoCandidate(
    options: { id?: string; target?: MemoryTarget } = {},
  ): (ReplayedChange & { target: MemoryTarget }) | undefined {
    const { id } = options;
    let newest: (ReplayedChange & { target: MemoryTarget }) | undefined;
    for (const target of options.target ? [options.target] : MEMORY_TARGETS) {
      const replay = this.#targets[target].replay();
      const change = id === undefined ? replay.newestUndoable() : replay.change(id);
      if (change && isLater(change, newest)) newest = { ...change, target };
    }
    return newest;
  }

  async undo(
    options: { id?: string; target?: MemoryTarget } = {},
    meta: WriteMeta = {},
  ): Promise<Result<MemoryOpOutcome, MemoryError>> {
    let candidate: ReturnType<typeof this.undoCandidate>;
    try {
      candidate = this.undoCandidate(options);
    } catch (cause) {
      return err(unreadableHistory(cause));
    }
    if (!candidate) {
      const message =
        options.id === undefined
          ? "There is no change to take back."
          : `No change has the id '${options.id}'. List them with 'hermes memory history'.`;
      return err({ kind: "no_match", message });
    }
    const found = this.#find(candidate.target);
    if (!found.ok) return found;
    return this.#transact(found.value, undoPlanner(found.value, candidate, this.#scan), meta);
  }

  /** Where a text is, was, or was refused. `pendingDirectory` is searched too when given. */
  explain(text: string, options: { pendingDirectory?: string; isId?: boolean } = {}): Explanation {
    return explain(text, this.#all(), this.#scan, options);
  }

  /** What `forget` would erase. */
  traces(text: string, options: { pendingDirectory?: string } = {}): Forgotten {
    return findTraces(text, this.#all(), options);
  }

  /** Erases every trace of a text from this directory, and from the pending writes when their directory is given. */
  forget(
    text: string,
    options: { pendingDirectory?: string; meta?: WriteMeta } = {},
  ): Promise<Result<Forgotten, MemoryError>> {
    return eraseEverywhere(text, this.#all(), options);
  }

  /** Archived entries that are not in the file, oldest first. */
  archived(target?: MemoryTarget): (ArchivedEntry & { readonly target: MemoryTarget })[] {
    return (target ? [target] : MEMORY_TARGETS).flatMap((each) => {
      const { entries, archive } = this.#targets[each];
      const stored = new Set(entries);
      const waiting = archive.entries().filter(({ text }) => !stored.has(text));
      return waiting.map((entry) => ({ ...entry, target: each }));
    });
  }

  /** What the `memory` tool tells of the archive: at most 20 entries, scanned like those of the prompt. */
  archiveAnswer(target: MemoryTarget, query: string): object {
    return archiveJson(target, this.archived(target), query, this.#scan);
  }

  /** Brings an archived entry back to the end of its file. */
  async restore(id: string, meta: WriteMeta = {}): Promise<Result<MemoryOpOutcome, MemoryError>> {
    let entry: ReturnType<typeof this.archived>[number] | undefined;
    try {
      const waiting = this.archived();
      // By its number in the archive, or by the id that its text always has.
      entry =
        waiting.find((each) => each.id === id) ??
        waiting.find((each) => looksLikeId(id) && hasId(each.target, each.text, id));
    } catch (cause) {
      return err(unreadableHistory(cause));
    }
    if (!entry) {
      return err({
        kind: "no_match",
        message: `No archived entry has the id '${id}'. List them with 'hermes memory archive list'.`,
      });
    }
    const found = entry;
    const store = this.#find(found.target);
    if (!store.ok) return store;
    return this.#transact(
      store.value,
      ({ entries }) => planRestore(entries, found, store.value.limit, this.#scan),
      meta,
    );
  }

  isPinned(target: MemoryTarget, entry: string): boolean {
    return isPinned(this.#targets[target].readPins(), target, entry);
  }

  /** Pins or unpins the entry that is `text`, contains it or has it as its id. Returns that entry. */
  async pin(
    target: MemoryTarget,
    text: string,
    isOn = true,
    match?: EntryMatch,
  ): Promise<Result<string, MemoryError>> {
    const store = this.#any(target);
    if (!store.ok) return store;
    const named = { oldText: cleanText(text), ...(match === undefined ? {} : { match }) };
    const resolved = this.#resolve(store.value, named);
    return resolved.ok ? pinEntry(store.value, resolved.value.op, isOn) : resolved;
  }

  /** Deletes the file of a target. Its journal stays, so `undo` brings the entries back. */
  reset(target: MemoryTarget, meta: WriteMeta = {}): Promise<Result<MemoryOpOutcome, MemoryError>> {
    const store = this.#any(target);
    if (!store.ok) return Promise.resolve(store);
    const plan: Planner = ({ entries, hash }) => planReset(entries, hash, store.value.limit, this.#scan);
    return this.#transact(store.value, plan, meta, { isDriftAccepted: true });
  }

  /** What `purge` would delete. */
  purgeable(target: MemoryTarget, options: { pendingDirectory?: string } = {}): Purged {
    return findPurgeable(this.#targets[target], options.pendingDirectory);
  }

  /** Deletes the file of a target and everything kept about it. Nothing brings it back. */
  purge(
    target: MemoryTarget,
    options: { pendingDirectory?: string } = {},
  ): Promise<Result<Purged, MemoryError>> {
    const store = this.#any(target);
    return store.ok ? purgeTarget(store.value, options.pendingDirectory) : Promise.resolve(store);
  }

  #resolve<Op extends EntryName>(store: TargetStore, op: Op): Result<Resolved<Op>, MemoryError> {
    const same = ok({ op, followed: [] });
    if (op.match === "entry" || (op.match === undefined && !looksLikeId(op.oldText))) return same;
    const file = readMemoryFile(store.paths.file);
    if (file.kind === "unreadable") return same; // the write that follows says so
    const entries = withoutDuplicates(parseEntries(file.text));
    if (op.match === undefined && entries.some((entry) => entry.includes(op.oldText))) return same;
    try {
      const found = findById(store, entries, op.oldText.toLowerCase());
      if (found.kind === "entry")
        return ok({ op: { ...op, oldText: found.text, match: "entry" }, followed: found.followed });
      return op.match === undefined && found.kind === "unknown" ? same : err(found.error);
    } catch (cause) {
      return err(unreadableHistory(cause));
    }
  }

  #all(): readonly TargetStore[] {
    return MEMORY_TARGETS.map((target) => this.#targets[target]);
  }

  /** For what is no ordinary write: also a target that is switched off. */
  #any(target: MemoryTarget): Result<TargetStore, MemoryError> {
    if (MEMORY_TARGETS.includes(target)) return ok(this.#targets[target]);
    return err({
      kind: "bad_target",
      message: `Invalid target '${String(target)}'. Use 'memory' or 'user'.`,
    });
  }

  #find(target: MemoryTarget): Result<TargetStore, MemoryError> {
    const found = this.#any(target);
    if (!found.ok) return found;
    if (this.#disabled.has(target)) {
      const key = target === "user" ? "memory.user_profile_enabled" : "memory.memory_enabled";
      return err({
        kind: "disabled",
        message: `The target '${target}' is switched off. Set ${key} to true to write to it.`,
      });
    }
    return ok(this.#targets[target]);
  }

  async #transact(
    store: TargetStore,
    planner: Planner,
    meta: WriteMeta,
    options: CommitOptions = {},
  ): Promise<Result<MemoryOpOutcome, MemoryError>> {
    const committed = await store.transact(planner, meta, options);
    return committed.ok ? ok(outcomeOf(store, committed.value)) : committed;
  }

  async #refuse(
    store: TargetStore,
    ops: readonly MemoryOp[],
    error: MemoryError,
    meta: WriteMeta,
    culprits = ops,
  ): Promise<Result<never, MemoryError>> {
    if (NOTED_REFUSALS.has(error.kind)) {
      const action = ops.length === 1 ? (ops[0] as MemoryOp).action : "group";
      await store.recordRefusal(action, error, textOf(culprits), meta);
    }
    return err(error);
  }

  #freeze(target: MemoryTarget): Snapshot {
    if (this.#disabled.has(target)) return { block: undefined, blocked: [] };
    const { entries, limit } = this.#targets[target];
    const snapshot = buildSnapshot(target, entries, limit, this.#scan);
    for (const { index, ids } of snapshot.blocked) {
      this.#warn(`Entry ${index + 1} of target '${target}' is kept out of the prompt: ${ids.join(", ")}.`);
    }
    return snapshot;
  }
}

function unreadableHistory(cause: unknown): MemoryError {
  const message = `What was kept about memory could not be read: ${describeCause(cause)}. Nothing was changed; 'hermes doctor' looks at it.`;
  return { kind: "io", message };
}

/** What a refused write was about, stripped as `explain` strips what it is asked; only its length and hash are kept. */
function textOf(ops: readonly MemoryOp[]): string {
  return formatEntries(ops.map((op) => cleanText("content" in op ? op.content : op.oldText)));
}

function makeDirectoryIfPossible(dir: string): void {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
  } catch {
    // A read-only home: reading still works, and the first write will say what is wrong.
  }
}

/** Nobody watches a review, so it may add and correct, and nothing may be gone afterwards: not by a merge, not to the archive. */
function withoutLoss(entries: readonly string[], plan: Result<Plan, MemoryError>): Result<Plan, MemoryError> {
  if (!plan.ok) return plan;
  const { entries: after, archive = [], changes } = plan.value;
  const takesAway = changes.some((change) => change.before !== null && change.after === null);
  if (!takesAway && after.length >= entries.length && archive.length === 0) return plan;
  const message =
    "A review may add entries and correct them, but this would take one away. Nothing was changed. The curator merges and archives.";
  return err({ kind: "denied", message });
}
