// MemoryStore: an agent's two curated files. Bound to its directory for life, so a write never lands in another profile. Its members
// choose the target and the plan; every write is carried out by TargetStore.transact.
import { mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { describeCause, err, HermesError, ok, type Result } from "../lib/index.ts";
import { type ArchivedEntry, archiveJson } from "./archive.ts";
import {
  type BlockedEntry,
  buildSnapshot,
  checkOp,
  cleanText,
  distinctEntries,
  findEntry,
  formatEntries,
  hasId,
  looksLikeId,
  measure,
  type ScanOptions,
  type Snapshot,
  scanOptions,
  usageWarning,
  withoutDuplicates,
} from "./entries.ts";
import {
  eraseEverywhere,
  type Forgotten,
  findPurgeable,
  findTraces,
  type Purged,
  purgeTarget,
} from "./erase.ts";
import type { ReplayedChange } from "./journal-replay.ts";
import { readMemoryFile } from "./memory-file.ts";
import {
  type Explanation,
  explain,
  findById,
  type HistoryLine,
  historyOf,
  isLater,
} from "./memory-history.ts";
import { isPinned, withPin } from "./pins.ts";
import { type CommitOptions, TargetStore } from "./target-store.ts";
import {
  type EntryMatch,
  type EntryName,
  MEMORY_TARGETS,
  type MemoryCuration,
  type MemoryError,
  type MemoryErrorFields,
  type MemoryOp,
  type MemoryOpOutcome,
  type MemoryStoreOptions,
  type MemoryTarget,
  refused,
  type WriteMeta,
} from "./types.ts";
import { type GroupUndone, undoGroup, undoPlanner } from "./undo.ts";
import { atStep, type Planner, planCuration, planOps, planReset, planRestore } from "./write-plan.ts";

/** `followed`: ids of the changes that led from the given id to this entry; none when it has the id itself. */
type Resolved<Op> = { readonly op: Op; readonly followed: readonly string[] };
type ResolvedOps = { readonly ops: readonly MemoryOp[]; readonly followed: readonly string[] };

type Outcome = Result<MemoryOpOutcome, MemoryError>;
type UndoCandidate = ReplayedChange & { readonly target: MemoryTarget };
type ArchivedIn = ArchivedEntry & { readonly target: MemoryTarget };

/** Refusals worth a line in the journal. The others are typing mistakes. */
const NOTED_REFUSALS: ReadonlySet<string> = new Set(["blocked", "drift", "over_limit", "denied"]);

/** The two curated files of a directory: reading, writing, history, undo, archive. Call `load` before anything else. */
export class MemoryStore {
  readonly dir: string;
  readonly #targets: Readonly<Record<MemoryTarget, TargetStore>>;
  readonly #disabled: ReadonlySet<MemoryTarget>;
  readonly #overflow: "refuse" | "archive";
  readonly #scan: ScanOptions;
  readonly #warnings: string[] = [];
  readonly #warn: (line: string) => void;
  /** Undefined until `load`. */
  #snapshots: Readonly<Partial<Record<MemoryTarget, Snapshot>>> | undefined;

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
      return new TargetStore(target, options, { warn: this.#warn, othersSequence });
    };
    this.#targets = { memory: make("memory"), user: make("user") };
  }

  // ---- Reading ----

  /** One line each: files that could not be read, entries kept out of the prompt, work done without a lock. */
  get warnings(): readonly string[] {
    return this.#warnings;
  }

  /** Reads both files and freezes the blocks for the prompt. Waits for no lock and works on a read-only home. */
  async load(): Promise<Result<void, MemoryError>> {
    this.#warnings.length = 0;
    try {
      mkdirSync(this.dir, { recursive: true, mode: 0o700 });
    } catch {
      // A read-only home: reading still works, and the first write will say what is wrong.
    }
    for (const store of this.#all()) store.load();
    this.#snapshots = Object.fromEntries(MEMORY_TARGETS.map((target) => [target, this.#freeze(target)]));
    return ok(undefined);
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

  /** Removes temporary files of killed writers; an edit found in one becomes a backup. Never rejects. */
  async removeLeftovers(): Promise<void> {
    for (const store of this.#all()) await store.removeLeftovers();
  }

  /** The block as of the last load; undefined when there is nothing to show. Throws `memory-not-loaded` before the first load. */
  renderSnapshot(target: MemoryTarget): string | undefined {
    return this.#snapshot(target)?.block;
  }

  /** Entries that the prompt shows as a placeholder, with the findings. As of the last load. */
  blockedEntries(target: MemoryTarget): readonly BlockedEntry[] {
    return this.#snapshot(target)?.blocked ?? [];
  }

  /** Without this error, a program that forgets to load would send a prompt without memory and never notice. */
  #snapshot(target: MemoryTarget): Snapshot | undefined {
    if (this.#snapshots !== undefined) return this.#snapshots[target];
    throw new HermesError(
      "memory-not-loaded",
      `The memory in ${this.dir} was not loaded, so there is no block for a prompt.`,
      {
        hint: "Call `await store.load()` once, before the first prompt is built.",
      },
    );
  }

  /** As of the last load or write. */
  entries(target: MemoryTarget): readonly string[] {
    return this.#targets[target]?.entries.slice() ?? [];
  }

  /** The entries in the file now; as of the last load or write when it cannot be read. */
  readEntries(target: MemoryTarget): readonly string[] {
    const file = readMemoryFile(this.#targets[target].paths.file);
    return file.kind === "unreadable" ? this.entries(target) : distinctEntries(file.text);
  }

  isEnabled(target: MemoryTarget): boolean {
    return !this.#disabled.has(target);
  }

  usage(target: MemoryTarget): { readonly used: number; readonly limit: number; readonly warning?: string } {
    const { entries, limit } = this.#targets[target];
    const budget = measure(entries, limit);
    return { ...budget, warning: usageWarning(budget) };
  }

  // ---- Add, replace, remove ----

  apply(target: MemoryTarget, op: MemoryOp, meta: WriteMeta = {}): Promise<Outcome> {
    return this.applyAll(target, [op], meta);
  }

  /** All or nothing; the budget is checked on the final list; one line in the journal. */
  async applyAll(
    target: MemoryTarget,
    ops: readonly MemoryOp[],
    meta: WriteMeta = {},
    options: Pick<CommitOptions, "guard" | "onDone"> = {},
  ): Promise<Outcome> {
    const found = this.#findEnabled(target);
    if (!found.ok) return found;
    const store = found.value;
    if (ops.length === 0) return refused({ kind: "empty", message: "No operations were given." });
    const checked: MemoryOp[] = [];
    for (const [index, op] of ops.entries()) {
      const outcome = checkOp(op, this.#scan, store);
      if (!outcome.ok) {
        const error = ops.length === 1 ? outcome.error : atStep(outcome.error, index);
        return this.#refuse(store, ops, error, meta, [op]);
      }
      checked.push(outcome.value);
    }
    const resolved = this.resolveAll(target, checked);
    if (!resolved.ok) return resolved;
    const { ops: named, followed } = resolved.value;
    const context = {
      target,
      limit: store.limit,
      overflow: this.#overflow,
      isReview: meta.origin === "review",
    };
    const outcome = await store.transact((input) => planOps(input, named, context), meta, options);
    if (!outcome.ok) return this.#refuse(store, checked, outcome.error, meta);
    return followed.length === 0 ? outcome : ok({ ...outcome.value, followed });
  }

  /** The error that the store would return for this operation, as far as that is known without the file. */
  check(op: MemoryOp): MemoryError | undefined {
    const [first, second] = [this.#targets.memory, this.#targets.user];
    const outcome = checkOp(op, this.#scan, first.limit < second.limit ? second : first);
    return outcome.ok ? undefined : outcome.error;
  }

  /** Notes a write that the user turned down in the journal. */
  noteRefusal(target: MemoryTarget, op: MemoryOp, error: MemoryErrorFields, meta: WriteMeta = {}): void {
    this.#targets[target].recordRefusal(op.action, error, textOf([op]), meta);
  }

  #refuse(
    store: TargetStore,
    ops: readonly MemoryOp[],
    error: MemoryError,
    meta: WriteMeta,
    culprits = ops,
  ): Result<never, MemoryError> {
    if (NOTED_REFUSALS.has(error.kind)) {
      const action = ops.length === 1 ? (ops[0] as MemoryOp).action : "group";
      store.recordRefusal(action, error, textOf(culprits), meta);
    }
    return err(error);
  }

  /**
   * The operation with the whole text of the entry that its text or id means now. Returned unchanged when its text is found in some
   * entry, or is found nowhere and is no known id: the write then decides.
   */
  resolve<Op extends EntryName>(target: MemoryTarget, op: Op): Result<Resolved<Op>, MemoryError> {
    const store = this.#targets[target];
    const unchanged = ok({ op, followed: [] });
    if (op.match === "entry" || (op.match === undefined && !looksLikeId(op.oldText))) return unchanged;
    const file = readMemoryFile(store.paths.file);
    if (file.kind === "unreadable") return unchanged; // the write that follows reports it
    const entries = distinctEntries(file.text);
    if (op.match === undefined && entries.some((entry) => entry.includes(op.oldText))) return unchanged;
    const read = orUnreadable(() => findById(store, entries, op.oldText.toLowerCase()));
    if (!read.ok) return read;
    const found = read.value;
    if (found.kind === "entry")
      return ok({ op: { ...op, oldText: found.text, match: "entry" }, followed: found.followed });
    return op.match === undefined && found.kind === "unknown" ? unchanged : err(found.error);
  }

  /** The same for each of several operations; additions name no entry. */
  resolveAll(target: MemoryTarget, given: readonly MemoryOp[]): Result<ResolvedOps, MemoryError> {
    const ops: MemoryOp[] = [];
    const followed: string[] = [];
    for (const [index, op] of given.entries()) {
      const outcome = op.action === "add" ? ok({ op, followed: [] }) : this.resolve(target, op);
      if (!outcome.ok) return given.length === 1 ? outcome : err(atStep(outcome.error, index));
      ops.push(outcome.value.op);
      followed.push(...outcome.value.followed);
    }
    return ok({ ops, followed });
  }

  // ---- Tidying and deleting ----

  /** A tidying step, as one change. Refused when the entries it is about have changed or are pinned. */
  async curate(
    target: MemoryTarget,
    curation: MemoryCuration,
    meta: WriteMeta = {},
    options: Pick<CommitOptions, "guard" | "onDone"> = {},
  ): Promise<Outcome> {
    const found = this.#findEnabled(target);
    if (!found.ok) return found;
    const store = found.value;
    const outcome = await store.transact(
      (input) => planCuration(input, curation, store, this.#scan),
      { ...meta, origin: meta.origin ?? "curator" },
      options,
    );
    if (outcome.ok) return outcome;
    const { text } = curation;
    const ops = text === undefined ? [] : [{ action: "add", content: text } as const];
    return this.#refuse(store, ops, outcome.error, meta);
  }

  /** Deletes the file of a target. Its journal stays, so `undo` brings the entries back. */
  reset(target: MemoryTarget, meta: WriteMeta = {}): Promise<Outcome> {
    const store = this.#targets[target];
    const planner: Planner = (input) => planReset(input, store.limit, this.#scan);
    return store.transact(planner, meta, { isDriftAccepted: true });
  }

  /** Lists everything that `purge` would delete. */
  purgeable(target: MemoryTarget, options: { pendingDirectory?: string } = {}): Purged {
    return findPurgeable(this.#targets[target], options.pendingDirectory);
  }

  /** Deletes the file of a target and everything kept about it. Nothing brings it back. */
  purge(
    target: MemoryTarget,
    options: { pendingDirectory?: string } = {},
  ): Promise<Result<Purged, MemoryError>> {
    return purgeTarget(this.#targets[target], options.pendingDirectory);
  }

  /** Counts the traces that `forget` would erase. */
  traces(text: string, options: { pendingDirectory?: string } = {}): Forgotten {
    return findTraces(text, this.#all(), options.pendingDirectory);
  }

  /** Erases every trace of a text from this directory, and from the pending writes when their directory is given. */
  forget(
    text: string,
    options: { pendingDirectory?: string; meta?: WriteMeta } = {},
  ): Promise<Result<Forgotten, MemoryError>> {
    return eraseEverywhere(text, this.#all(), options.pendingDirectory, options.meta ?? {});
  }

  // ---- History, undo ----

  /** Newest first: by the place in the journal, not by the clock. */
  history(options: { target?: MemoryTarget; limit?: number } = {}): HistoryLine[] {
    return historyOf(this.#all(options.target), options.limit);
  }

  /** Everything known about a text: stored, archived, removed, refused. `pendingDirectory` is searched too when given. */
  explain(text: string, options: { pendingDirectory?: string; isId?: boolean } = {}): Explanation {
    const { pendingDirectory, isId } = options;
    return explain(text, { stores: this.#all(), scan: this.#scan, pendingDirectory }, isId);
  }

  /** The change that `undo` would take back: the one with this id, or the newest one that can be taken back. */
  undoCandidate(options: { id?: string; target?: MemoryTarget } = {}): UndoCandidate | undefined {
    const { id } = options;
    let newest: UndoCandidate | undefined;
    for (const store of this.#all(options.target)) {
      const replay = store.replay();
      const change = id === undefined ? replay.newestUndoable() : replay.change(id);
      if (change && isLater(change, newest)) newest = { ...change, target: store.target };
    }
    return newest;
  }

  async undo(options: { id?: string; target?: MemoryTarget } = {}, meta: WriteMeta = {}): Promise<Outcome> {
    const read = orUnreadable(() => this.undoCandidate(options));
    if (!read.ok) return read;
    const candidate = read.value;
    if (!candidate) {
      const message =
        options.id === undefined
          ? "There is no change to take back."
          : `No change has the id '${options.id}'. List them with 'hermes memory history'.`;
      return refused({ kind: "no_match", message });
    }
    const found = this.#findEnabled(candidate.target);
    return found.ok ? found.value.transact(undoPlanner(found.value, candidate, this.#scan), meta) : found;
  }

  /** Takes back all changes of a group, newest first: all of them or, when one has been built upon since, none. */
  undoGroup(group: string, meta: WriteMeta = {}): Promise<Result<GroupUndone, MemoryError>> {
    return undoGroup(this.#all(), group, this.#scan, meta);
  }

  // ---- Archive, pins ----

  /** Archived entries that are not in the file, oldest first. */
  archived(target?: MemoryTarget): ArchivedIn[] {
    return this.#all(target).flatMap((store) => {
      const stored = new Set(store.entries);
      const archived = store.archive.entries().filter(({ text }) => !stored.has(text));
      return archived.map((entry) => ({ ...entry, target: store.target }));
    });
  }

  /** The answer of the `memory` tool about the archive: at most 20 entries, scanned like those of the prompt. */
  archiveAnswer(target: MemoryTarget, query: string): object {
    return archiveJson(target, this.archived(target), query, this.#scan);
  }

  /**
   * Puts texts that have no room in the file into the archive, where they can be found and restored. Leaves out those that are
   * stored or archived already, and refuses all of them if one may not become an entry. Returns the texts that were new.
   */
  async keepInArchive(
    target: MemoryTarget,
    texts: readonly string[],
    meta: WriteMeta = {},
  ): Promise<Result<readonly string[], MemoryError>> {
    const found = this.#findEnabled(target);
    if (!found.ok) return found;
    const store = found.value;
    const clean: string[] = [];
    for (const content of texts) {
      const checked = checkOp({ action: "add", content }, this.#scan, store);
      if (!checked.ok) return this.#refuse(store, [{ action: "add", content }], checked.error, meta);
      if (checked.value.action === "add") clean.push(checked.value.content);
    }
    return store.exclusively(() => {
      const known = new Set([
        ...this.readEntries(target),
        ...store.archive.entries().map(({ text }) => text),
      ]);
      const fresh = withoutDuplicates(clean).filter((text) => !known.has(text));
      if (fresh.length > 0) store.archive.add(fresh, store.recordHead(meta));
      return ok(fresh);
    });
  }

  /** Brings an archived entry back to the end of its file. `id`: its id in the archive, or the id of an entry with its text. */
  async restore(id: string, meta: WriteMeta = {}): Promise<Outcome> {
    const archived = orUnreadable(() => this.archived());
    if (!archived.ok) return archived;
    const entry =
      archived.value.find((each) => each.id === id) ??
      archived.value.find((each) => looksLikeId(id) && hasId(each.target, each.text, id));
    if (!entry) {
      return refused({
        kind: "no_match",
        message: `No archived entry has the id '${id}'. List them with 'hermes memory archive list'.`,
      });
    }
    const { text, target } = entry;
    const found = this.#findEnabled(target);
    if (!found.ok) return found;
    const { limit } = found.value;
    return found.value.transact(({ entries }) => planRestore(entries, text, limit, this.#scan), meta);
  }

  isPinned(target: MemoryTarget, entry: string): boolean {
    return isPinned(this.#targets[target].readPins(), target, entry);
  }

  /** Pins or unpins the entry that equals `text`, contains it or has it as its id. Returns that entry. */
  async pin(
    target: MemoryTarget,
    text: string,
    isOn = true,
    match?: EntryMatch,
  ): Promise<Result<string, MemoryError>> {
    const store = this.#targets[target];
    const resolved = this.resolve(target, { oldText: cleanText(text), match });
    if (!resolved.ok) return resolved;
    const { op } = resolved.value;
    if (op.oldText === "")
      return refused({ kind: "empty", message: "The text of the entry cannot be empty." });
    return store.exclusively(() => {
      const file = readMemoryFile(store.paths.file);
      if (file.kind === "unreadable")
        return refused({ kind: "io", message: `Cannot read ${store.paths.file}: ${file.reason}.` });
      store.load();
      const at = findEntry(store.entries, op.oldText, op.match);
      if (!at.ok) return at;
      const entry = store.entries[at.value] as string;
      store.changePins((pins) => withPin(pins, target, entry, isOn));
      return ok(entry);
    });
  }

  // ---- Targets ----

  #all(target?: MemoryTarget): readonly TargetStore[] {
    return (target ? [target] : MEMORY_TARGETS).map((each) => this.#targets[each]);
  }

  #findEnabled(target: MemoryTarget): Result<TargetStore, MemoryError> {
    if (!MEMORY_TARGETS.includes(target))
      // a caller without types
      return refused({ kind: "bad_target", message: `Invalid target '${target}'. Use 'memory' or 'user'.` });
    if (!this.#disabled.has(target)) return ok(this.#targets[target]);
    const key = target === "user" ? "memory.user_profile_enabled" : "memory.memory_enabled";
    return refused({
      kind: "disabled",
      message: `The target '${target}' is switched off. Set ${key} to true to write to it.`,
    });
  }
}

/** For reading the journal or the archive. */
function orUnreadable<T>(read: () => T): Result<T, MemoryError> {
  try {
    return ok(read());
  } catch (cause) {
    const message = `The journal or the archive of memory could not be read: ${describeCause(cause)}. Nothing was changed; 'hermes doctor' looks at it.`;
    return refused({ kind: "io", message });
  }
}

/** Text of a refused write, stripped as `explain` strips its question; only its length and hash are kept. */
function textOf(ops: readonly MemoryOp[]): string {
  return formatEntries(ops.map((op) => cleanText("content" in op ? op.content : op.oldText)));
}
