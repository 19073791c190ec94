// What was imported before: one note per unit in the database, so that unchanged files are not opened again, links that wait for another
// session, and the sessions themselves.
import { createHash } from "node:crypto";
import { realpath, stat } from "node:fs/promises";
import {
  type HomeStore,
  type StoredTranscript,
  type TranscriptOrigin,
  transcriptSessionId,
  type UnclaimedChat,
} from "@hermes-memory/core/internal/sessions";
import { jsonOf, listOf, recordOf, recordsOf, textOf } from "./kit/values.ts";
import type { TranscriptReader, Unit } from "./reader.ts";
import type { ImportTarget } from "./target.ts";

const VERSION = 1;

export type UnitStamp = Awaited<ReturnType<typeof stampOf>>;

/** A unit as it is on disk now. Taken before reading, so that a file that grows meanwhile is read again. */
export async function stampOf({ source }: TranscriptReader, unit: Unit) {
  const path = await realpath(unit.path);
  const files = [];
  for (const file of unit.stamps ?? [unit.path]) {
    const found = await stat(file).catch(() => undefined);
    if (found !== undefined) files.push({ path: file, size: found.size, mtimeMs: found.mtimeMs });
  }
  const digest = createHash("sha256").update(path).digest("hex").slice(0, 16);
  return {
    key: noteKeys(source) + digest,
    path,
    files,
    size: files.reduce((sum, { size }) => sum + size, 0),
    mtimeMs: files.reduce((latest, { mtimeMs }) => Math.max(latest, mtimeMs), 0),
  };
}

/** What the keys of all notes of a source begin with. */
export function noteKeys(source: string): string {
  return `import:${source}:`;
}

/** What the unit gave before, and whether reading it again would give anything else. */
export async function readNote(
  store: Pick<HomeStore, "getMeta">,
  stamp: UnitStamp,
  { parser, filter }: { readonly parser: string; readonly filter: string },
): Promise<{ readonly sessions: readonly string[]; readonly isUnchanged: boolean }> {
  const value = recordOf(jsonOf((await store.getMeta(stamp.key)) ?? undefined)) ?? {};
  if (value.v !== VERSION) return { sessions: [], isUnchanged: false };
  const isSameRead = value.parser === parser && (textOf(value.filter) ?? filter) === filter;
  const isSameFile = JSON.stringify(value.files) === JSON.stringify(filesOf(stamp));
  return {
    sessions: listOf(value.sessions).filter((id) => typeof id === "string"),
    isUnchanged: value.complete === true && isSameRead && isSameFile,
  };
}

type Note = {
  /** The version of the reader, and the options that change what is stored. */
  readonly parser: string;
  /** Ids of the sessions it gave. One that is not in the database any more was deleted there. */
  readonly sessions: readonly string[];
  /** False while it was not read to its end. */
  readonly complete: boolean;
  /** The filters of the import, if they left out sessions of the unit: with others it must be read again. */
  readonly filter: string | undefined;
  /** In seconds. */
  readonly at: number;
};

export async function writeNote(
  store: Pick<HomeStore, "setMeta">,
  stamp: UnitStamp,
  note: Note,
): Promise<void> {
  const { path, size, mtimeMs } = stamp;
  const unit = { v: VERSION, path, size, mtime_ms: mtimeMs, files: filesOf(stamp) };
  await store.setMeta(stamp.key, JSON.stringify({ ...unit, ...note }));
}

function filesOf({ files }: UnitStamp): [string, number, number][] {
  return files.map(({ path, size, mtimeMs }) => [path, size, mtimeMs]);
}

// ---- Sessions that are still to be linked ----

/** A session that goes on after a compaction from another one, which is known by its id or by one of its messages. */
export type Continuation = {
  readonly id: string;
  readonly source: string;
  readonly path: string;
  readonly session?: string | undefined;
  readonly message?: string | undefined;
};

export type Links = {
  /** False from the first session of an import that needs a link until the import has made all links. */
  readonly done: boolean;
  /** When done: those whose other session has not been imported. */
  readonly continuations: readonly Continuation[];
};

const LINKS = "import:links";
/** Sessions may go on from one that was deleted long ago. */
const MOST_CONTINUATIONS = 1000;

export async function readLinks(store: Pick<HomeStore, "getMeta">): Promise<Links> {
  const value = recordOf(jsonOf((await store.getMeta(LINKS)) ?? undefined)) ?? {};
  if (value.v !== VERSION) return { done: true, continuations: [] };
  const continuations = recordsOf(value.continuations).flatMap((one): Continuation[] => {
    const [id, source, path] = [textOf(one.id), textOf(one.source), textOf(one.path)];
    if (id === undefined || source === undefined || path === undefined) return [];
    return [{ id, source, path, session: textOf(one.session), message: textOf(one.message) }];
  });
  return { done: value.done === true, continuations };
}

export async function writeLinks(
  store: Pick<HomeStore, "setMeta">,
  { done, continuations }: Links,
): Promise<void> {
  const kept = continuations.slice(-MOST_CONTINUATIONS);
  await store.setMeta(LINKS, JSON.stringify({ v: VERSION, done, continuations: kept }));
}

// ---- Imported sessions ----

/** Those of the database, for what a reader asks while it reads: unchanged sessions, copies, the same conversation in two products. */
export class KnownTranscripts {
  readonly #byId = new Map<string, TranscriptOrigin>();
  readonly #byFirst = new Map<string, Set<string>>();
  readonly #byFingerprint = new Map<string, string>();
  #unclaimed: readonly UnclaimedChat[] | undefined;

  constructor(stored: readonly StoredTranscript[]) {
    for (const { id, origin } of stored) this.remember(id, origin);
  }

  remember(id: string, origin: TranscriptOrigin): void {
    this.#byId.set(id, origin);
    // A gateway's session may hold it under another id.
    this.#byId.set(transcriptSessionId(origin.source, origin.native_id), origin);
    if (typeof origin.first === "string") {
      const key = firstKey(origin.source, origin.first);
      const ids = this.#byFirst.get(key) ?? new Set();
      this.#byFirst.set(key, ids.add(id));
    }
    if (typeof origin.fingerprint === "string" && !this.#byFingerprint.has(origin.fingerprint))
      this.#byFingerprint.set(origin.fingerprint, id);
  }

  async unclaimed(target: Pick<ImportTarget, "listUnclaimedChats">): Promise<readonly UnclaimedChat[]> {
    this.#unclaimed ??= await target.listUnclaimedChats();
    return this.#unclaimed;
  }

  /** The chat is the conversation of a transcript from now on. */
  claim(chat: string): void {
    this.#unclaimed = this.#unclaimed?.filter(({ id }) => id !== chat);
  }

  forget(id: string): void {
    const origin = this.#byId.get(id);
    this.#byId.delete(id);
    if (typeof origin?.first === "string")
      this.#byFirst.get(firstKey(origin.source, origin.first))?.delete(id);
    if (typeof origin?.fingerprint === "string" && this.#byFingerprint.get(origin.fingerprint) === id)
      this.#byFingerprint.delete(origin.fingerprint);
  }

  originOf(id: string): TranscriptOrigin | undefined {
    return this.#byId.get(id);
  }

  /** Native id of the session, other than `except`, that begins with this message. */
  beginningWith(source: string, messageId: string, except: string): string | undefined {
    for (const id of this.#byFirst.get(firstKey(source, messageId)) ?? []) {
      const native = this.#byId.get(id)?.native_id;
      if (native !== undefined && native !== except) return native;
    }
    return undefined;
  }

  /** Another product's session with the same first messages of the user. */
  twinOf(id: string, source: string, fingerprint: string): string | undefined {
    const twin = this.#byFingerprint.get(fingerprint);
    return twin !== undefined && twin !== id && this.#byId.get(twin)?.source !== source ? twin : undefined;
  }

  /** Ids of the sessions of one source. */
  idsOf(source: string): string[] {
    return [...this.#byId].flatMap(([id, origin]) => (origin.source === source ? [id] : []));
  }
}

function firstKey(source: string, messageId: string): string {
  return `${source}\u0000${messageId}`;
}
