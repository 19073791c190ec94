// The story of an import: find the transcripts of the wanted products, leave out what has not changed since the last time, read the rest
// one file at a time into the session store, connect the sessions, and report.
import { createReadStream } from "node:fs";
import { dirname } from "node:path";
import { describeCause, HermesError } from "@hermes-memory/core/internal/lib";
import { transcriptSessionId } from "@hermes-memory/core/internal/sessions";
import {
  type Continuation,
  KnownTranscripts,
  type Links,
  noteKeys,
  readLinks,
  readNote,
  stampOf,
  type UnitStamp,
  writeLinks,
  writeNote,
} from "./ledger.ts";
import type { PrepareOptions } from "./prepare.ts";
import type { Place, Reading, SessionFacts, TranscriptReader, Unit } from "./reader.ts";
import { OPTED_OUT, type SessionOutcome, SessionWriter } from "./session-writer.ts";
import { type ImportTarget, transcriptRows } from "./target.ts";

export type Wanted = {
  readonly reader: TranscriptReader;
  /** Folders or files to look at instead of the product's own places. */
  readonly paths?: readonly string[] | undefined;
};

export type Filters = {
  /** Sessions that ended before, in seconds. */
  readonly since?: number | undefined;
  /** Sessions that began after, in seconds. */
  readonly until?: number | undefined;
  /** Which working directories are wanted. Undefined: every one. `name` is another one for every other choice. */
  readonly project?:
    | { readonly name: string; readonly has: (cwd: string | undefined) => boolean }
    | undefined;
  readonly includeSubagents?: boolean | undefined;
  /** Stop after this many new or changed sessions. */
  readonly limit?: number | undefined;
  /** Read unchanged files again, and bring back sessions that were deleted here. */
  readonly force?: boolean | undefined;
};

export type ImportDeps = {
  readonly target: ImportTarget;
  readonly place: Place;
  readonly signal: AbortSignal;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly prepare: PrepareOptions;
  readonly onProgress?: ((progress: ImportProgress) => void) | undefined;
};

/** How far an import is: the source that is being read, and what was read and stored so far. */
export type ImportProgress = {
  readonly source: string;
  readonly bytes: number;
  readonly totalBytes: number;
  readonly sessions: number;
  readonly messages: number;
};

/** What was found and stored of one source. */
export type SourceReport = {
  readonly source: string;
  files: number;
  unchanged: number;
  bytes: number;
  sessionsAdded: number;
  sessionsUpdated: number;
  sessionsUnchanged: number;
  messagesAdded: number;
  messagesUpdated: number;
  readonly skipped: Record<string, number>;
  malformedLines: number;
  /** The first three of each file, and no more than a hundred. */
  readonly malformed: { readonly path: string; readonly line: number; readonly reason: string }[];
  readonly unknownTypes: Record<string, number>;
  readonly errors: { readonly path: string; readonly message: string }[];
};

/** One report per source; `isStopped`: the signal ended it early. */
export type ImportReport = { readonly sources: readonly SourceReport[]; readonly isStopped: boolean };

const LISTED_LINES_PER_FILE = 3;
const LISTED_LINES = 100;
const LISTED_ERRORS = 1000;
/** Different names of unknown records; a damaged file could have millions. */
const LISTED_TYPES = 200;

export async function importTranscripts(
  wanted: readonly Wanted[],
  filters: Filters,
  deps: ImportDeps,
): Promise<ImportReport> {
  const known = new KnownTranscripts(await deps.target.listTranscripts());
  const run = new ImportRun(filters, deps, { known, links: await readLinks(deps.target) });
  try {
    const work = [];
    for (const one of wanted) work.push(...(await run.discover(one)));
    for (const one of work) {
      if (run.isFull) break;
      await run.read(one);
    }
    await run.link();
  } catch (cause) {
    if (!deps.signal.aborted) throw cause;
  }
  return { sources: run.reports, isStopped: deps.signal.aborted };
}

/** A file that must be read. */
type Work = {
  readonly reader: TranscriptReader;
  readonly unit: Unit;
  readonly stamp: UnitStamp;
  /** The version of the reader, and the options that change what is stored. */
  readonly parser: string;
  /** Sessions it gave, also before. */
  readonly sessions: Set<string>;
  readonly report: SourceReport;
};

class ImportRun {
  readonly #filters: Filters;
  readonly #deps: ImportDeps;
  readonly #known: KnownTranscripts;
  readonly #reports = new Map<string, SourceReport>();
  /** By session. */
  readonly #continuations: Map<string, Continuation>;
  /** Message ids of stored sessions that the reader of the current file asked for. */
  readonly #messageIds = new Map<string, ReadonlySet<string>>();
  #bytes = 0;
  /** When the current file was begun. */
  #bytesBefore = 0;
  #totalBytes = 0;
  #isLinkNeeded: boolean;
  /** Whether the database says that sessions are still to be linked, in case this import is cut off. */
  #isLinkNoted: boolean;
  /** Whether the filters left out a session of the current file. */
  #isFiltered = false;
  /** By source: sessions that were imported from any file, also from one that is gone. */
  readonly #stored = new Map<string, ReadonlySet<string>>();
  /** What the reader of the current file told. It counts once, also if the file is begun again. */
  #told = newFindings();
  /** Whether the current file holds a tag that keeps it out. */
  #isOptedOut = false;
  /** Sessions that want to be left out: what their subagents wrote in files of their own is left out too. */
  readonly #optedOut = new Set<string>();

  constructor(
    filters: Filters,
    deps: ImportDeps,
    { known, links }: { readonly known: KnownTranscripts; readonly links: Links },
  ) {
    this.#filters = filters;
    this.#deps = deps;
    this.#known = known;
    this.#continuations = new Map(links.continuations.map((one) => [one.id, one]));
    this.#isLinkNeeded = !links.done;
    this.#isLinkNoted = !links.done;
  }

  get reports(): readonly SourceReport[] {
    return [...this.#reports.values()];
  }

  /** How many sessions are new or have changed. */
  get #changed(): number {
    return this.reports.reduce((sum, one) => sum + one.sessionsAdded + one.sessionsUpdated, 0);
  }

  get isFull(): boolean {
    return this.#changed >= (this.#filters.limit ?? Number.POSITIVE_INFINITY);
  }

  /** The files to read, in the order in which they must be read. */
  async discover({ reader, paths }: Wanted): Promise<Work[]> {
    const { target, place, signal, prepare } = this.#deps;
    const report = this.#reportOf(reader.source);
    const parser = parserOf(reader, prepare);
    const found = new Map<string, Work>();
    const walking = { signal, unreadable: (path: string, reason: string) => addError(report, path, reason) };
    for (const root of paths ?? reader.roots(place)) {
      const units = reader.units(root, walking);
      for await (const unit of units) {
        try {
          const stamp = await stampOf(reader, unit);
          if (found.has(stamp.key)) continue; // two roots lead to the same file
          report.files += 1;
          const filter = filterName(this.#filters);
          const { sessions, isUnchanged } = await readNote(target, stamp, { parser, filter });
          const isOld = stamp.mtimeMs / 1000 < (this.#filters.since ?? 0);
          if (isUnchanged && (isOld || this.#filters.force !== true)) report.unchanged += 1;
          else if (isOld) count(report.skipped, "before --since");
          else {
            found.set(stamp.key, { reader, unit, stamp, parser, report, sessions: new Set(sessions) });
            this.#totalBytes += stamp.size;
          }
        } catch (cause) {
          if (cause instanceof HermesError) throw cause;
          addError(report, unit.path, describeCause(cause));
        }
      }
    }
    return [...found.values()].sort(
      (a, b) =>
        (a.unit.order ?? a.stamp.mtimeMs) - (b.unit.order ?? b.stamp.mtimeMs) ||
        (a.unit.path < b.unit.path ? -1 : 1),
    );
  }

  async read(work: Work): Promise<void> {
    const { target, signal, now } = this.#deps;
    const { stamp, parser, sessions, report } = work;
    this.#bytesBefore = this.#bytes;
    this.#messageIds.clear();
    this.#isFiltered = false;
    let isComplete = false;
    try {
      const longer = await this.#readOnce(work, new Set());
      if (longer.size > 0) await this.#readOnce(work, longer);
      isComplete = !this.isFull;
    } catch (cause) {
      if (signal.aborted || cause instanceof HermesError) throw cause;
      addError(report, work.unit.path, describeCause(cause));
    }
    addFindings(report, this.#told);
    this.#bytes = this.#bytesBefore + stamp.size;
    report.bytes += stamp.size;
    await writeNote(target, stamp, {
      parser,
      sessions: [...sessions],
      complete: isComplete,
      filter: this.#isFiltered ? filterName(this.#filters) : undefined,
      at: now() / 1000,
    });
    this.#progress(work.reader.source);
  }

  /** `preferred`: sessions that are taken from this file although another one has them. Returns those that should be. */
  async #readOnce(work: Work, preferred: ReadonlySet<string>): Promise<Set<string>> {
    const { reader, unit, sessions } = work;
    this.#bytes = this.#bytesBefore;
    const writers = new Map<string, SessionWriter>();
    const longer = new Set<string>();
    const closed = new Set<string>();
    const close = async (writer: SessionWriter): Promise<void> => {
      writers.delete(writer.facts.nativeId);
      closed.add(writer.facts.nativeId);
      const { parent } = writer.facts;
      const isPartOfOptedOut = parent !== undefined && this.#optedOut.has(writer.idOf(parent));
      if (this.#isOptedOut || isPartOfOptedOut) writer.withdraw(OPTED_OUT);
      await this.#planLink(work, writer);
      const outcome = await writer.finish();
      this.#note(work, outcome);
      if (outcome.kind === "longer") longer.add(outcome.id);
      if (outcome.kind !== "skipped") sessions.add(outcome.id);
    };
    let current: SessionWriter | undefined;
    for await (const event of reader.read(unit, this.#reading(work))) {
      if (event.kind === "session") {
        current = writers.get(event.facts.nativeId) ?? this.#writer(work, event.facts, preferred);
        current.learn(event.facts);
        if (closed.has(event.facts.nativeId)) current.skip("a second session with the same id");
        writers.set(event.facts.nativeId, current);
      } else if (current === undefined) throw new Error(`the reader gave '${event.kind}' before a session`);
      else if (event.kind === "message") await current.add(event.message);
      else if (event.kind === "inactive") current.leaveBranches(event.ids);
      else if (event.kind === "skip")
        event.keepsStored ? current.skip(event.reason) : current.withdraw(event.reason);
      else {
        await close(current);
        current = undefined;
        if (this.isFull) break;
      }
    }
    for (const writer of [...writers.values()]) await close(writer);
    return longer;
  }

  #writer(
    { reader, unit, stamp, parser, sessions }: Work,
    facts: SessionFacts,
    preferred: ReadonlySet<string>,
  ) {
    const { target, prepare, now } = this.#deps;
    return new SessionWriter(facts, {
      reader,
      parser,
      target,
      prepare,
      known: this.#known,
      path: unit.path,
      fileTime: stamp.mtimeMs / 1000,
      now: now() / 1000,
      wasStored: async (id) =>
        this.#filters.force !== true && (sessions.has(id) || (await this.#storedFrom(reader.source)).has(id)),
      isPreferred: (id) => preferred.has(id),
      leftOut: (known, times) => leftOut(this.#filters, { ...known, path: unit.path }, times),
    });
  }

  async #storedFrom(source: string): Promise<ReadonlySet<string>> {
    const known = this.#stored.get(source);
    if (known !== undefined) return known;
    const ids = new Set(await this.#deps.target.listNotedTranscripts(noteKeys(source)));
    this.#stored.set(source, ids);
    return ids;
  }

  #reading({ reader, unit, parser }: Work): Reading {
    const { signal, prepare, place } = this.#deps;
    const idOf = (nativeId: string): string => transcriptSessionId(reader.source, nativeId);
    const told = newFindings();
    this.#told = told;
    this.#isOptedOut = false;
    return {
      signal,
      options: prepare,
      env: place.env,
      advanced: (bytes) => {
        this.#bytes += bytes;
        this.#progress(reader.source);
      },
      malformed: (line, reason) => {
        told.malformedLines += 1;
        if (told.malformed.length < LISTED_LINES_PER_FILE)
          told.malformed.push({ path: unit.path, line, reason });
      },
      unknown: (type) => count(told.unknownTypes, type.slice(0, 100), LISTED_TYPES),
      unreadable: (path, reason) => addError(told, path, reason),
      optedOut: () => {
        this.#isOptedOut = true;
      },
      isUnchanged: (nativeId, mark) => {
        const origin = this.#known.originOf(idOf(nativeId));
        const isSame = origin?.mark === mark && origin.parser === parser && origin.digest !== undefined;
        if (!isSame || this.#filters.force === true) return false;
        told.sessionsUnchanged += 1;
        return true;
      },
      sessionBeginningWith: (messageId, except) =>
        this.#known.beginningWith(reader.source, messageId, except),
      messageIdsOf: async (nativeId) => {
        const id = idOf(nativeId);
        const ids = this.#messageIds.get(id) ?? (await messageIdsOf(this.#deps.target, id));
        this.#messageIds.set(id, ids);
        return ids;
      },
    };
  }

  /**
   * Noted before the session is complete: sessions are linked when all files are read, and an import that is cut off between the two
   * does not open this file again.
   */
  async #planLink({ reader, unit }: Work, writer: SessionWriter): Promise<void> {
    const { continues, parent } = writer.facts;
    const isContinuation = continues?.how === "compaction";
    if (!isContinuation && parent === undefined) return;
    this.#isLinkNeeded = true;
    if (isContinuation)
      this.#continuations.set(writer.id, {
        id: writer.id,
        source: reader.source,
        path: unit.path,
        session: continues.session === undefined ? undefined : writer.idOf(continues.session),
        message: continues.messageId,
      });
    else if (this.#isLinkNoted) return;
    await this.#noteLinks(false);
  }

  async #noteLinks(done: boolean): Promise<void> {
    this.#isLinkNoted = !done;
    await writeLinks(this.#deps.target, { done, continuations: [...this.#continuations.values()] });
  }

  /** Sessions that go on after a compaction belong to one conversation; subagents belong to the session that ran them. */
  async link(): Promise<void> {
    if (!this.#isLinkNeeded) return;
    const { target } = this.#deps;
    const links = [];
    const planned = this.#continuations.size;
    for (const one of this.#continuations.values()) {
      const { id, session } = one;
      const parent = session ?? (await this.#sessionWith(one));
      // A parent that was not imported yet, perhaps because of a filter, is waited for.
      const isMissing = session !== undefined && this.#known.originOf(session) === undefined;
      if (!isMissing) this.#continuations.delete(id);
      if (parent !== undefined && parent !== id) links.push({ id, parent });
    }
    await target.linkTranscripts(links);
    if (this.#isLinkNoted || this.#continuations.size < planned) await this.#noteLinks(true);
  }

  /** The session that has the message. */
  async #sessionWith({ source, message, id: except, path }: Continuation): Promise<string | undefined> {
    if (message === undefined) return undefined;
    const ids = this.#known.idsOf(source).filter((id) => id !== except);
    const found = await this.#deps.target.findTranscriptMessage(ids, message);
    if (found !== undefined) return found;
    // A record that became no message, or only a part of one, still names its file.
    for (const id of ids) {
      const file = this.#known.originOf(id)?.path;
      if (file === undefined || dirname(file) !== dirname(path)) continue;
      if (await fileContains(file, `"uuid":"${message}"`)) return id;
    }
    return undefined;
  }

  #note({ report }: Work, outcome: SessionOutcome): void {
    if (outcome.kind === "skipped") {
      this.#continuations.delete(outcome.id);
      if (outcome.reason === OPTED_OUT) this.#optedOut.add(outcome.id);
      count(report.skipped, outcome.reason);
      this.#isFiltered ||= FILTER_REASONS.has(outcome.reason);
    } else if (outcome.kind === "unchanged") report.sessionsUnchanged += 1;
    else if (outcome.kind !== "longer") {
      report[outcome.kind === "added" ? "sessionsAdded" : "sessionsUpdated"] += 1;
      report.messagesAdded += outcome.added;
      report.messagesUpdated += outcome.changed;
      this.#isLinkNeeded = true;
    }
  }

  #progress(source: string): void {
    this.#deps.onProgress?.({
      source,
      bytes: Math.min(this.#bytes, this.#totalBytes),
      totalBytes: this.#totalBytes,
      sessions: this.#changed,
      messages: this.reports.reduce((sum, { messagesAdded }) => sum + messagesAdded, 0),
    });
  }

  #reportOf(source: string): SourceReport {
    const known = this.#reports.get(source);
    if (known !== undefined) return known;
    const report: SourceReport = {
      source,
      files: 0,
      unchanged: 0,
      bytes: 0,
      sessionsAdded: 0,
      sessionsUpdated: 0,
      messagesAdded: 0,
      messagesUpdated: 0,
      skipped: newCounts(),
      ...newFindings(),
    };
    this.#reports.set(source, report);
    return report;
  }
}

/** Another version of the reader, or other options, would give other rows. */
function parserOf({ version }: TranscriptReader, options: PrepareOptions): string {
  const { tools, redact, includeBranches, includeReasoning, includeSystem, includeMemoryDisabled } = options;
  const flags = [includeBranches, includeReasoning, includeSystem, includeMemoryDisabled].map((flag) =>
    flag ? "1" : "0",
  );
  const { me = null, assistant = null, chat = null } = options;
  const whose = me ?? assistant ?? chat ?? null;
  const chosen = whose === null ? "" : ` ${JSON.stringify([me, assistant, chat])}`;
  return `${version} ${tools} ${redact} ${flags.join("")}${chosen}`;
}

async function messageIdsOf(target: ImportTarget, session: string): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  for await (const { platform_message_id: id } of transcriptRows(target, session))
    if (id !== null) ids.add(id);
  return ids;
}

/** Where memory tools run agents on other conversations. Products that name folders after it write a `-` for each separator. */
const MEMORY_TOOLS = /[/\\]observer-sessions(?:[/\\]|$)|claude-mem-observer-sessions[/\\]/;

function leftOut(
  { since, until, project, includeSubagents = true }: Filters,
  facts: SessionFacts & { readonly path: string },
  { first, last }: { readonly first: number; readonly last?: number },
): string | undefined {
  if (MEMORY_TOOLS.test(facts.cwd ?? "") || MEMORY_TOOLS.test(facts.path)) return "written by a memory tool";
  if (!includeSubagents && facts.visibility === "subagent") return "subagent";
  if (since !== undefined && last !== undefined && last < since) return "before --since";
  if (until !== undefined && first > until) return "after --until";
  if (project !== undefined && (facts.cwd !== undefined || last !== undefined) && !project.has(facts.cwd))
    return "other project";
  return undefined;
}

/** Why `leftOut` leaves out a session that other filters would not. */
const FILTER_REASONS: ReadonlySet<string> = new Set([
  "subagent",
  "before --since",
  "after --until",
  "other project",
]);

/** The same for filters that leave out the same sessions. */
function filterName({ since, until, project, includeSubagents = true }: Filters): string {
  return JSON.stringify([since ?? null, until ?? null, project?.name ?? null, includeSubagents]);
}

type Findings = Pick<
  SourceReport,
  "malformedLines" | "malformed" | "unknownTypes" | "errors" | "sessionsUnchanged"
>;

function newFindings(): Findings {
  return { malformedLines: 0, malformed: [], unknownTypes: newCounts(), errors: [], sessionsUnchanged: 0 };
}

/** Without a prototype: a record of a damaged file may have the type `constructor`. */
function newCounts(): Record<string, number> {
  return Object.create(null);
}

function addFindings(report: SourceReport, told: Findings): void {
  report.malformedLines += told.malformedLines;
  report.malformed.push(...told.malformed.slice(0, LISTED_LINES - report.malformed.length));
  report.sessionsUnchanged += told.sessionsUnchanged;
  for (const { path, message } of told.errors) addError(report, path, message);
  for (const [type, times] of Object.entries(told.unknownTypes))
    count(report.unknownTypes, type, LISTED_TYPES, times);
}

/** When `most` keys are counted, others are counted together. */
function count(
  counts: Record<string, number>,
  key: string,
  most = Number.POSITIVE_INFINITY,
  times = 1,
): void {
  const isRoom = key in counts || Object.keys(counts).length < most;
  const name = isRoom ? key : "others";
  counts[name] = (counts[name] ?? 0) + times;
}

function addError(report: Pick<SourceReport, "errors">, path: string, message: string): void {
  if (report.errors.length < LISTED_ERRORS) report.errors.push({ path, message });
}

/** False where the file cannot be read. */
async function fileContains(path: string, text: string): Promise<boolean> {
  let end = "";
  try {
    for await (const chunk of createReadStream(path, { encoding: "latin1" })) {
      if ((end + chunk).includes(text)) return true;
      end = chunk.slice(-text.length);
    }
  } catch {
    // It is gone since.
  }
  return false;
}
