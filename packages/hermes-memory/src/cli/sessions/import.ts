// `hermes sessions import`: transcripts of other agents, once or as they grow; the session database of another home; a file written by
// `export`. One import into a home runs at a time: two would read the same files and wait for each other at every write.
import { mkdirSync } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describeCause, holdFileLock, parseOutsideJson } from "@hermes-memory/core/internal/lib";
import type { ExportedSession, HomeStore, ImportOutcome } from "@hermes-memory/core/internal/sessions";
import {
  dryTarget,
  type ImportProgress,
  type ImportReport,
  importStateDatabase,
  importTranscripts,
  isSameFile,
  READERS,
  readerOf,
  type StateImported,
  sampleOf,
  stateDatabaseAt,
  storeTarget,
  type TranscriptReader,
  type Wanted,
  watchTranscripts,
} from "@hermes-memory/import/internal";
import { z } from "zod";
import {
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandInput,
  type CommandOutcome,
  type Paint,
  usageFailure,
} from "../command.ts";
import { counted, flat, printable, sizeText, snakeKeys } from "../printing.ts";
import { render } from "../render.ts";
import {
  checkChosen,
  filtersOf,
  namesOf,
  pathsOf,
  placeOf,
  prepareOptions,
  unreadable,
  wantedSources,
} from "./import-sources.ts";
import { type Line, linesOf, lineText, MAX_LINE_BYTES, untilAborted } from "./input-lines.ts";
import { type ProgressDisplay, progressDisplay } from "./progress.ts";
import { databasePath, filesOf, openOrMakeSessions, openSessions } from "./session-command.ts";

export const importSessions: CommandBody = async (input, context) => {
  const name = input.args.file;
  if (input.flags.from !== undefined) {
    if (name !== undefined)
      throw usageFailure(`Both a source and the file ${printable(name)} were given.`, {
        hint: `Name the file with --path: hermes sessions import --from SOURCE --path ${printable(name)}`,
      });
    const databases = await databasesOf(input, context);
    if (databases.length > 0) return importDatabases(databases, input, context);
    const wanted = await wantedSources(input, context);
    return wanted.length === 0 ? NOTHING_FOUND : importFrom(input, context, wanted);
  }
  if (name === undefined)
    throw usageFailure("Nothing was named to import.", {
      hint:
        "Name a source (hermes sessions import --from claude-code), let it look (--from auto), or name a file that " +
        "'hermes sessions export' wrote.",
    });
  const database = name === "-" ? undefined : await stateDatabaseAt(resolve(name)).catch(() => undefined);
  if (database !== undefined) return importDatabases([database], input, context);
  const reader = name === "-" ? undefined : await transcriptReaderOf(name);
  if (reader !== undefined) return importFrom(input, context, [{ reader, paths: [resolve(name)] }]);
  return importExport(name, input, context);
};

const NOTHING_FOUND: CommandOutcome = {
  json: { success: true, sources: [] },
  lines: [
    "No transcripts of other agents were found on this machine.",
    "If they are elsewhere: hermes sessions import --from SOURCE --path FOLDER",
  ],
};

/** The reader of a transcript of another agent; undefined for an export of ours, and for a file that cannot be read. */
async function transcriptReaderOf(name: string): Promise<TranscriptReader | undefined> {
  const path = resolve(name);
  try {
    const found = await stat(path);
    if (!found.isFile() && !found.isDirectory()) return undefined; // what is read from a pipe is gone from it
    const isOwn = found.isFile() && typeof parseExported((await sampleOf(path)).first) !== "string";
    return isOwn ? undefined : await readerOf(path, READERS, new AbortController().signal);
  } catch {
    return undefined; // reading it as an export says why
  }
}

// ---- Running ----

type Run = {
  readonly isDry: boolean;
  /** Undefined in a dry run into a home without a database. */
  readonly store: HomeStore | undefined;
  readonly progress: ProgressDisplay;
  readonly signal: AbortSignal;
  /** Lets others import from here on. */
  readonly release: () => void;
};

type Done = {
  readonly json: object;
  /** In place of the text that is derived from `json`. */
  readonly lines?: readonly string[];
  readonly notes?: readonly string[];
  readonly isStopped?: boolean;
  readonly hasFailed?: boolean;
};

async function run(
  input: CommandInput,
  context: CommandContext,
  work: (run: Run) => Promise<Done | CommandOutcome>,
): Promise<CommandOutcome> {
  const isDry = input.flags["dry-run"] === true;
  let held = isDry ? undefined : await importLock(context);
  const release = (): void => {
    held?.[Symbol.dispose]();
    held = undefined;
  };
  using _lock = { [Symbol.dispose]: release };
  const store = isDry ? await openSessions(context, "read") : await openOrMakeSessions(context);
  const progress = progressDisplay(context.io, { isVerbose: input.flags.verbose === true });
  // Awaited here, because the lock goes when this function returns.
  const done = await context.io
    .untilInterrupted((signal) => work({ isDry, store, progress, signal, release }))
    .finally(progress.clear);
  return "exitCode" in done ? done : outcomeOf(done as Done, isDry, context.io.paint);
}

function outcomeOf(
  { json, lines, notes = [], isStopped = false, hasFailed = false }: Done,
  isDry: boolean,
  paint: Paint,
): CommandOutcome {
  return {
    json: {
      success: !isStopped && !hasFailed,
      ...(isDry ? { dry_run: true } : {}),
      ...(isStopped ? { kind: "interrupted" } : {}),
      ...json,
    },
    lines: [...(lines ?? render(json, paint)), ...(isDry ? ["Nothing was written (--dry-run)."] : [])],
    notes: [...notes, ...(isStopped ? ["Stopped. The same command goes on where this stopped."] : [])],
    exitCode: isStopped ? 130 : hasFailed ? 1 : 0,
  };
}

export function holdImportLock(context: CommandContext): ReturnType<typeof holdFileLock> {
  mkdirSync(context.home.home, { recursive: true, mode: 0o700 });
  return holdFileLock(`${databasePath(context)}.import.lock`);
}

/** A round of `--watch` is short, so it is waited for. */
const LOCK_WAIT_MS = 3000;
const LOCK_LOOK_MS = 100;

async function importLock(context: CommandContext): Promise<Disposable> {
  for (const end = performance.now() + LOCK_WAIT_MS; ; await sleep(LOCK_LOOK_MS)) {
    const held = holdImportLock(context);
    if (held.ok) return held.value;
    if (performance.now() >= end) break;
  }
  throw new CommandFailure("Another import into this home is running.", {
    hint: "Wait until it ends, then run the command again.",
    details: { kind: "import-running" },
  });
}

// ---- Transcripts of other agents ----

function importFrom(
  input: CommandInput,
  context: CommandContext,
  wanted: readonly Wanted[],
): Promise<CommandOutcome> {
  const { io } = context;
  for (const one of wanted) checkChosen(one, input);
  const filters = filtersOf(input);
  const prepare = prepareOptions(input);
  const start = performance.now();
  return run(input, context, async ({ isDry, store, progress, signal, release }) => {
    const deps = {
      target: isDry || store === undefined ? dryTarget(store) : storeTarget(store),
      prepare,
      signal,
      place: placeOf(context),
      now: Date.now,
      onProgress: (now: ImportProgress) =>
        progress.show(
          { step: `importing ${now.source}`, done: now.bytes, total: now.totalBytes },
          progressText(now, performance.now() - start),
        ),
    };
    const first = reported(await importTranscripts(wanted, filters, deps), wanted, io.paint);
    if (input.flags.watch !== true || isDry || signal.aborted) return first;
    const tell = ({ json, lines }: CommandOutcome): void =>
      io.out(context.isJson ? `${JSON.stringify(json)}\n` : `${lines?.join("\n")}\n`);
    progress.clear();
    tell(outcomeOf(first, false, io.paint));
    io.note("Watching for new messages; Ctrl-C ends it.\n");
    release(); // the hooks of agents, and the user, can import between two rounds
    await watchTranscripts(
      wanted,
      filters,
      { ...deps, onProgress: undefined },
      {
        onChange: ({ report }) => {
          const news = reported(report, wanted, io.paint);
          const lines = [new Date().toLocaleTimeString(), ...(news.lines ?? [])];
          tell(outcomeOf({ ...news, lines }, false, io.paint));
        },
        onTrouble: (reason) => io.note(`${flat(reason)} Trying again.\n`),
        lock: () => {
          const locked = holdImportLock(context);
          return locked.ok ? locked.value : undefined;
        },
      },
    );
    return { json: undefined, lines: ["Stopped watching."], exitCode: 0 };
  });
}

/** `importing codex  312.0 MB of 1.0 GB (30 %), 21.0 MB/s, 34 s left, 120 sessions` */
function progressText({ source, bytes, totalBytes, sessions }: ImportProgress, elapsedMs: number): string {
  const share = totalBytes > 0 ? Math.floor((bytes / totalBytes) * 100) : 0;
  const perSecond = elapsedMs > 0 ? (bytes / elapsedMs) * 1000 : 0;
  const left = perSecond > 0 ? `, ${Math.ceil((totalBytes - bytes) / perSecond)} s left` : "";
  return `importing ${source}  ${sizeText(bytes)} of ${sizeText(totalBytes)} (${share} %), ${sizeText(perSecond)}/s${left}, ${counted(sessions, "session")}`;
}

function reported({ sources, isStopped }: ImportReport, wanted: readonly Wanted[], paint: Paint): Done {
  const paths = [...new Set(wanted.flatMap((one) => one.paths ?? []))];
  const isNothing = !isStopped && paths.length > 0 && sources.every(({ files }) => files === 0);
  const titles = wanted.map(({ reader }) => reader.title);
  const where = `There are no transcripts of ${titles.join(" or ")} in ${paths.map(flat).join(", ")}.`;
  return {
    json: {
      sources: sources.map(snakeKeys),
      ...(isNothing ? { kind: "no-transcripts" } : {}),
    },
    lines: sources.flatMap((one) => {
      const title = wanted.find(({ reader }) => reader.source === one.source)?.reader.title ?? one.source;
      const message = `${title}: ${counted(one.sessionsAdded, "new session")}, ${counted(one.messagesAdded, "new message")}.`;
      const times = (counts: Record<string, number>): string =>
        Object.entries(counts)
          .map(([what, count]) => `${count} (${what})`)
          .join(", ");
      const leftOut = { skipped: times(one.skipped), unknownTypes: times(one.unknownTypes) };
      return render({ message, ...snakeKeys({ ...one, ...leftOut }) }, paint);
    }),
    notes: isNothing ? [where] : [],
    isStopped,
    hasFailed: isNothing || sources.some(({ errors }) => errors.length > 0),
  };
}

// ---- The session database of another home or profile ----

const HERMES = "hermes";

/** The databases among the paths of `--from hermes`; none when its own JSON files are meant. */
async function databasesOf(input: CommandInput, context: CommandContext): Promise<string[]> {
  if (!namesOf(input).includes(HERMES)) return [];
  const paths = await pathsOf(input, context);
  const found = await Promise.all(paths.map((path) => stateDatabaseAt(path)));
  const databases = found.filter((path) => path !== undefined);
  if (databases.length > 0 && (databases.length < paths.length || namesOf(input).length > 1))
    throw usageFailure("Databases of Hermes and other files are imported one after the other.", {
      hint: `First: hermes sessions import --from hermes --path ${printable(databases[0] ?? "")}`,
    });
  return databases;
}

async function importDatabases(
  paths: readonly string[],
  input: CommandInput,
  context: CommandContext,
): Promise<CommandOutcome> {
  if (input.flags.watch === true)
    throw usageFailure("A database cannot be watched.", { hint: "Repeat the command: it adds what is new." });
  for (const path of paths)
    if (await isSameFile(path, databasePath(context)))
      throw new CommandFailure(`${printable(path)} is the session database of this home itself.`, {
        hint: "Name another home, or the profile to import into: hermes -p NAME sessions import ...",
        details: { kind: "same-database" },
      });
  const { since, until, project, limit } = filtersOf(input);
  return run(input, context, async ({ isDry, store, progress, signal }) => {
    const done: (StateImported & { readonly path: string })[] = [];
    for (const path of paths) {
      if (signal.aborted) break;
      const imported = await importStateDatabase(path, {
        target: store,
        isDry,
        resultsDir: filesOf(context).resultsDir,
        since,
        until,
        isWanted: project?.has,
        limit,
        signal,
        onProgress: (read, total) => progress.show({ step: "importing sessions", done: read, total }),
      }).catch((cause: unknown) => {
        const reason = printable(describeCause(cause)).replace(/\.$/, "");
        throw new CommandFailure(`Cannot import ${printable(path)}: ${reason}.`, {
          hint: "Sessions that were imported before stay; the same command goes on from there.",
          details: { kind: "unreadable", path },
        });
      });
      done.push({ path, ...imported });
    }
    return {
      json: {
        databases: done.map(({ hasChanged, isStopped: _stopped, ...one }) => ({
          ...snakeKeys(one),
          changed_meanwhile: hasChanged,
        })),
      },
      lines: done.flatMap(({ path, imported, messages, ...others }) => {
        const message = `${path}: ${counted(imported, "new session")} with ${counted(messages, "message")}.`;
        return render({ message, ...snakeKeys(others) }, context.io.paint);
      }),
      notes: done.flatMap(({ path, hasChanged }) =>
        hasChanged
          ? [`${printable(path)} was written to meanwhile. The same command imports what is new.`]
          : [],
      ),
      isStopped: done.some(({ isStopped }) => isStopped),
    };
  });
}

// ---- A file written by `export` ----

async function importExport(
  name: string,
  input: CommandInput,
  context: CommandContext,
): Promise<CommandOutcome> {
  await using file = name === "-" ? undefined : await openInput(name);
  const at: Position = { line: 0, sessions: 0, trouble: undefined };
  // Awaited here, because the file is closed when this function returns.
  return await run(input, context, async ({ isDry, store, progress, signal }) => {
    if (isDry || store === undefined)
      throw usageFailure("--dry-run is for transcripts and databases; a file of 'export' has no preview.");
    const chunks = file
      ? file.createReadStream({ highWaterMark: 1024 ** 2, autoClose: false })
      : context.io.inputChunks();
    const onProgress = (): void => progress.show({ step: "importing sessions", done: at.sessions, total: 0 });
    const outcome = await store.importSessions(exportedSessions(chunks, at, signal), { signal, onProgress });
    const { imported, messages, skipped, renamed } = outcome;
    const json = { imported, messages, skipped, renamed };
    if (at.trouble !== undefined) throw badLine(at, name, json);
    const message = `Imported ${counted(imported, "session")} with ${counted(messages, "message")}.`;
    return { json: { message, ...json }, isStopped: signal.aborted };
  });
}

/** Where the reading of an export is. */
type Position = { line: number; sessions: number; trouble: string | undefined };

/** A bad line ends the reading but not the import: sessions before it are kept and reported. */
async function* exportedSessions(
  chunks: AsyncIterable<Uint8Array>,
  at: Position,
  signal: AbortSignal,
): AsyncGenerator<ExportedSession> {
  for await (const line of linesOf(untilAborted(chunks, signal))) {
    if (signal.aborted) return;
    if (line.bytes?.length === 0) continue;
    at.line = line.number;
    const session = parseLine(line);
    if (typeof session === "string") {
      at.trouble = session;
      return;
    }
    at.sessions += 1;
    yield session;
  }
}

/** The session, or a text that says what is wrong with the line. */
function parseLine(line: Line): ExportedSession | string {
  if (line.bytes === undefined) return `it is longer than ${MAX_LINE_BYTES / 1024 ** 2} MB`;
  const text = lineText(line);
  if (text === undefined) return "it is not valid UTF-8 text";
  // A session may have any size; only the depth is limited.
  const parsed = parseOutsideJson(text, { maxChars: Number.POSITIVE_INFINITY });
  return parsed.ok ? parseExported(parsed.value) : `it ${parsed.error.message}`;
}

/** Called before the database is opened, so that a wrong name does not leave an empty database. */
async function openInput(name: string): Promise<FileHandle> {
  try {
    if ((await stat(name)).isDirectory()) throw new Error("it is a directory");
    return await open(name, "r");
  } catch (cause) {
    throw unreadable(name, cause);
  }
}

function badLine(
  { trouble, line }: Position,
  name: string,
  json: Pick<ImportOutcome, "imported">,
): CommandFailure {
  const before = `${counted(json.imported, "session")} before it ${json.imported === 1 ? "was" : "were"} imported`;
  const where = `${printable(name)}, line ${line}`;
  return new CommandFailure(`${where}: ${trouble}. ${before}; the rest was not read.`, {
    hint: "Correct the line and import the file again: what is there already is left alone.",
    details: { kind: "bad-line", line, ...json },
  });
}

// Lenient: other programs and older versions write fewer columns. The store fills in the rest.
const line = z.looseObject({
  id: z.string().min(1),
  source: z.string().optional(),
  started_at: z.number(),
  messages: z.array(z.looseObject({ role: z.string() })),
});

/** The session, or a text that says what is wrong with it. */
function parseExported(value: unknown): ExportedSession | string {
  const parsed = line.safeParse(value);
  if (parsed.success) return { source: "unknown", ...parsed.data } as unknown as ExportedSession;
  const [issue] = parsed.error.issues;
  const field = issue?.path.join(".") ?? "";
  return `it is not an exported session (${field === "" ? "" : `'${field}': `}${issue?.message ?? "unknown"})`;
}
