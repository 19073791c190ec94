// The curated entries of a person, by id: what `MemoryStore` does with operations and `Result`, with errors that are thrown.
// The program writes here, not a model: as with `hermes memory add`, a write takes effect at once, also with `memory.write_approval`.
import { existsSync } from "node:fs";
import {
  type CommittedWrite,
  committedWrites,
  entryIds,
  explanationLines,
  type HistoryLine,
  looksLikeId,
  MEMORY_TARGETS,
  type MemoryError,
  type MemoryOp,
  type MemoryOpOutcome,
  type MemoryStore,
  parseEntries,
  readMemoryFile,
  targetPaths,
  type WriteMeta,
  withoutDuplicates,
} from "../curated/index.ts";
import {
  describeCause,
  HermesError,
  normalizeNewlines,
  preview,
  pyStrip,
  type Result,
} from "../lib/index.ts";
import { chatSessionId, findChat } from "./chat-id.ts";
import { MemoryFailure } from "./memory-failure.ts";
import type { Person } from "./types.ts";
import type {
  AddOptions,
  Entry,
  EntryChange,
  EntryExplanation,
  EntryTarget,
  Removed,
  Undone,
  UserMemory,
  WriteOptions,
  Written,
} from "./user-memory.ts";

type Members = Pick<UserMemory, "add" | "list" | "update" | "remove" | "undo" | "history" | "explain">;

/** For a part of the library that adds entries on its own, such as the extraction. */
export type AddedBy = Pick<WriteMeta, "origin" | "group" | "sessionId">;

/** Each failed attempt means that another writer has changed the entry meanwhile. */
const MOST_ATTEMPTS = 20;

export class Entries implements Members {
  readonly #person: Person;

  constructor(person: Person) {
    this.#person = person;
  }

  // ---- Writing ----

  add(text: string, options: AddOptions = {}): Promise<Written> {
    return this.addAs({}, text, options);
  }

  async addAs(by: AddedBy, text: string, options: AddOptions = {}): Promise<Written> {
    const store = await this.#open();
    const target = options.target ?? "memory";
    const meta = { ...(await this.#meta(options)), ...by };
    const outcome = orThrow(await store.apply(target, { action: "add", content: text }, meta), target);
    return this.#written(outcome, text);
  }

  async update(id: string, text: string, options: WriteOptions = {}): Promise<Written> {
    const outcome = await this.#changeEntry(id, options, (oldText) => {
      return { action: "replace", oldText, content: text, match: "entry" };
    });
    return this.#written(outcome, text);
  }

  async remove(id: string, options: WriteOptions = {}): Promise<Removed> {
    const outcome = await this.#changeEntry(id, options, (oldText) => {
      return { action: "remove", oldText, match: "entry" };
    });
    const { changeId } = outcome;
    if (changeId === undefined) throw new Error("an entry was removed without a line in the journal");
    return { change: changeId, warning: await this.#mirror(committedWrites(outcome), outcome.warning) };
  }

  /** If another writer replaces the entry between finding and changing it, the journal leads to its new text. */
  async #changeEntry(
    id: string,
    options: WriteOptions,
    change: (entry: string) => MemoryOp,
  ): Promise<MemoryOpOutcome> {
    const store = await this.#open();
    const meta = await this.#meta(options);
    for (let attempt = 1; ; attempt += 1) {
      const { target, entry } = findById(store, id);
      const outcome = await store.apply(target, change(entry), meta);
      const isOutrun = !outcome.ok && outcome.error.kind === "no_match" && attempt < MOST_ATTEMPTS;
      if (!isOutrun) return orThrow(outcome, target);
    }
  }

  async #meta({ reason, chatId }: WriteOptions): Promise<WriteMeta> {
    return {
      origin: "library",
      reason,
      sessionId: chatId === undefined ? undefined : await this.#session(chatId),
    };
  }

  /** The session in which the chat goes on now, or the one that the chat will get. */
  async #session(chatId: string): Promise<string> {
    const first = chatSessionId(this.#person.user, chatId);
    try {
      const store = await this.#person.sessions({ mode: "read" });
      return (store && (await findChat(store, this.#person, chatId)))?.id ?? first;
    } catch {
      return first; // it is only a remark in the history: a database that cannot be opened must not cost the write
    }
  }

  async #written(outcome: MemoryOpOutcome, given: string): Promise<Written> {
    const warning = await this.#mirror(committedWrites(outcome), outcome.warning);
    const { changeId: change, archived = [] } = outcome;
    return { ...entryOf(outcome, pyStrip(normalizeNewlines(given))), change, warning, archived };
  }

  async undo(change: string | undefined): Promise<Undone> {
    if (change === undefined) return { changes: [], entries: [] };
    const store = await this.#open();
    const meta = { origin: "library" } as const;
    const candidate = readable(() => store.undoCandidate({ id: change }));
    if (candidate !== undefined) {
      const { id, target } = candidate;
      const outcome = orConflict(await store.undo({ id, target }, meta), id, target);
      return this.#undone(store, [id], committedWrites(outcome), outcome.warning);
    }
    if (!readable(() => store.history()).some(({ group }) => group === change))
      throw new MemoryFailure({ kind: "no_match", message: `No change has the id '${change}'.` });
    const { changes, writes } = orConflict(await store.undoGroup(change, meta), change);
    return this.#undone(store, changes, writes);
  }

  async #undone(
    store: MemoryStore,
    changes: readonly string[],
    writes: readonly CommittedWrite[],
    before?: string,
  ): Promise<Undone> {
    const warning = await this.#mirror(writes, before);
    const isBack = ({ target, text }: Entry): boolean =>
      writes.some(({ target: at, op }) => at === target && "content" in op && op.content === text);
    return {
      changes,
      entries: MEMORY_TARGETS.flatMap((each) => entriesIn(store, each)).filter(isBack),
      warning,
    };
  }

  /** The file is written by then, so a provider that fails costs a warning, never the write. */
  async #mirror(writes: readonly CommittedWrite[], warning: string | undefined): Promise<string | undefined> {
    const mirrored = await this.#person.provider.mirror(writes, "library");
    const problem =
      mirrored.kind === "failed"
        ? `Saved, but the memory provider '${mirrored.provider}' did not get the change: ${mirrored.reason}`
        : mirrored.kind === "mirrored" && mirrored.refused.length > 0
          ? `Saved, but the memory provider '${mirrored.provider}' did not take all of it: ${[...new Set(mirrored.refused)].join(" ")}`
          : undefined;
    const waits =
      mirrored.kind === "mirrored" && mirrored.queued.length > 0
        ? `Saved. ${mirrored.provider}: queued, not at the server yet (${[...new Set(mirrored.queued)].join(" ").replace(/\.$/, "")}). An agent sends it.`
        : undefined;
    const lines = [warning, problem, waits].filter((line) => line !== undefined);
    return lines.length === 0 ? undefined : lines.join(" ");
  }

  // ---- Reading ----

  /** Also entries of a file that config switches off: they are still stored. */
  async list({ target }: Parameters<Members["list"]>[0] = {}): Promise<readonly Entry[]> {
    const store = await this.#open();
    return targetsOf(target).flatMap((each) => entriesIn(store, each));
  }

  async history({ limit, target }: Parameters<Members["history"]>[0] = {}): Promise<readonly EntryChange[]> {
    if (limit !== undefined && !(Number.isInteger(limit) && limit > 0))
      throw new HermesError("bad-limit", `The limit ${limit} is not a positive integer.`, {
        hint: "Leave it out for all changes.",
      });
    if (target !== undefined) targetsOf(target);
    const store = await this.#open();
    return readable(() => store.history({ limit, target })).map(changeOf);
  }

  async explain(text: string): Promise<EntryExplanation> {
    const asked = typeof text === "string" ? pyStrip(normalizeNewlines(text)) : "";
    if (asked === "") throw new MemoryFailure({ kind: "empty", message: "" });
    const store = await this.#open();
    const { pendingDirectory } = this.#person;
    return readable(() => {
      const found = store.explain(asked, { pendingDirectory });
      const { stored, archived, removed, leads_to: now } = found;
      const hits = [...stored, ...archived, ...removed, ...(now === undefined ? [] : [now])];
      const texts = new Set<string | null>([found.text, ...hits.map(({ entry }) => entry)]);
      const isAbout = ({ changes }: HistoryLine): boolean =>
        changes.some(({ before, after }) => texts.has(before) || texts.has(after));
      return {
        text: found.text,
        isStored: stored.length > 0 || now !== undefined,
        lines: explanationLines(found, (target) => store.isEnabled(target)),
        changes: store.history().filter(isAbout).map(changeOf),
      };
    });
  }

  /** Reading must not create a directory for a user who has no memory yet. */
  async #open(): Promise<MemoryStore> {
    const store = await this.#person.curated({ isLoaded: existsSync(this.#person.directory) });
    if (store !== undefined) return store;
    throw new MemoryFailure({ kind: "disabled", message: "config.yaml switches both memory files off." });
  }
}

// ---- Entries and ids ----

/** Throws `memory-io` if the file exists and cannot be read. */
export function entriesIn(store: MemoryStore, target: EntryTarget): Entry[] {
  const path = targetPaths(store.dir, target).file;
  const file = readMemoryFile(path);
  if (file.kind === "unreadable")
    throw new MemoryFailure({ kind: "io", message: `Cannot read ${path}: ${file.reason}.` });
  return named(target, withoutDuplicates(parseEntries(file.text)));
}

function named(target: EntryTarget, texts: readonly string[]): Entry[] {
  const ids = entryIds(target, texts);
  return texts.map((text, index) => ({ id: ids[index] as string, target, text }));
}

function entryOf({ target, entries }: MemoryOpOutcome, text: string): Entry {
  const found = named(target, entries).find((entry) => entry.text === text);
  if (found === undefined) throw new Error("a written entry is not in the list");
  return found;
}

type Found = { readonly target: EntryTarget; readonly entry: string };

/** The entry that has the id, or that replaced the one that had it. An id also depends on the target, so it names one of the two. */
function findById(store: MemoryStore, id: string): Found {
  const asked = typeof id === "string" ? pyStrip(id) : "";
  if (asked === "") throw new MemoryFailure({ kind: "no_match", message: "No id of an entry was given." });
  if (!looksLikeId(asked))
    throw new MemoryFailure({ kind: "no_match", message: `No entry has the id '${preview(asked, 70)}'.` });
  const followed: Found[] = [];
  const errors: MemoryError[] = [];
  for (const target of MEMORY_TARGETS) {
    const entries = entriesIn(store, target);
    const direct = entries.find((entry) => entry.id === asked);
    if (direct !== undefined) return { target, entry: direct.text };
    const resolved = store.resolve(target, { oldText: asked, match: "id" });
    if (!resolved.ok) errors.push(resolved.error);
    else followed.push({ target, entry: resolved.value.op.oldText });
  }
  const [found] = followed;
  if (found !== undefined) return found;
  // One target may know how the entry went away, while the other one has never seen the id.
  const telling = errors.find(({ kind, message }) => kind !== "no_match" || !message.startsWith("No entry"));
  throw new MemoryFailure(telling ?? (errors[0] as MemoryError));
}

function targetsOf(target: EntryTarget | undefined): readonly EntryTarget[] {
  if (target === undefined) return MEMORY_TARGETS;
  if (MEMORY_TARGETS.includes(target)) return [target];
  throw new MemoryFailure({ kind: "bad_target", message: `There is no target '${String(target)}'.` });
}

function orThrow<T>(outcome: Result<T, MemoryError>, target?: EntryTarget): T {
  if (outcome.ok) return outcome.value;
  throw new MemoryFailure(outcome.error, target);
}

/** Of a change that exists, `no_match` means that memory has changed since. The store's message quotes entries; an error must not. */
function orConflict<T>(outcome: Result<T, MemoryError>, change: string, target?: EntryTarget): T {
  if (outcome.ok || outcome.error.kind !== "no_match") return orThrow(outcome, target);
  throw new HermesError(
    "memory-undo-conflict",
    `The change ${change} cannot be taken back: it was taken back before, or memory has changed since.`,
    {
      hint: "me.history() shows what came after it. me.add, me.update and me.remove change the entry as it is now.",
    },
  );
}

/** For reading the journal and the archive, which throws what the file system throws. */
function readable<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    const message = `The journal or the archive of memory could not be read: ${describeCause(cause)}.`;
    throw new MemoryFailure({ kind: "io", message });
  }
}

// ---- The past, in words ----

function changeOf(line: HistoryLine): EntryChange {
  const { id, time, target, action, origin, status, changes, reason, group, session } = line;
  return {
    change: id,
    at: new Date(time),
    target,
    action,
    origin,
    status,
    before: changes.flatMap(({ before }) => before ?? []),
    after: changes.flatMap(({ after }) => after ?? []),
    reason,
    group,
    sessionId: session,
  };
}
