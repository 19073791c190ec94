// `hermes export` and `hermes sessions export`: sessions, and for the first one memory too, as files that people and other programs read.
// One session is in memory at a time. From a damaged database they take what can be read.
import { existsSync } from "node:fs";
import { basename, dirname, extname, join, resolve } from "node:path";
import { entryIds, fileNameOf, MEMORY_TARGETS, type MemoryStore } from "@hermes-memory/core/internal/curated";
import { HermesError, resolveLinks } from "@hermes-memory/core/internal/lib";
import { redactSecrets } from "@hermes-memory/core/internal/security";
import {
  describeLoss,
  type ExportedSession,
  type ExportLoss,
  type HomeStore,
} from "@hermes-memory/core/internal/sessions";
import type { CommandBody, CommandContext, CommandInput, CommandOutcome } from "../command.ts";
import { counted, printable } from "../printing.ts";
import { progressDisplay } from "../sessions/progress.ts";
import {
  databasePath,
  findSession,
  momentFlag,
  noDatabaseNote,
  notFoundAnywhere,
  openSessions,
  textFlag,
} from "../sessions/session-command.ts";
import { redactedSession } from "./exported-message.ts";
import { FORMATS } from "./formats.ts";
import { type OutputFile, type StagedOutput, stagedOutput, stdoutOutput } from "./staged-output.ts";

export const exportAll: CommandBody = (input, context) => {
  const name = (textFlag(input, "format") ?? "markdown") as keyof typeof FORMATS; // the parser refuses any other word
  const { extension, fileName } = FORMATS[name];
  const out = input.args.out ?? "";
  const isFile = extension !== undefined && extname(out).toLowerCase() === extension;
  const redact = input.flags.redact === true;
  return exported(input, context, {
    format: name,
    file: isFile ? resolve(out) : undefined,
    sessionsFile: isFile ? basename(out) : fileName,
    memoryFile: isFile ? `${basename(out, extname(out))}.memory.jsonl` : "memory.jsonl",
    withMemory: input.flags["no-memory"] !== true,
    includeInactive: true, // rows that a compaction replaced are inactive too
    redact,
    edit: ({ last_active: _active, ...session }) => (redact ? redactedSession(session) : session),
  });
};

const STDOUT = "-";

export const exportSessions: CommandBody = (input, context) => {
  const { out = "" } = input.args;
  const file = out === STDOUT ? undefined : resolveLinks(resolve(out));
  return exported(input, context, {
    format: "jsonl",
    file,
    sessionsFile: basename(file ?? out),
    memoryFile: "",
    withMemory: false,
    includeInactive: input.flags.all === true,
    redact: false,
    edit: (session) => session,
  });
};

type Wanted = {
  readonly format: keyof typeof FORMATS;
  /** Undefined for a folder, and for stdout. */
  readonly file: string | undefined;
  readonly sessionsFile: string;
  readonly memoryFile: string;
  readonly withMemory: boolean;
  readonly includeInactive: boolean;
  readonly redact: boolean;
  readonly edit: (session: ActiveExport) => ExportedSession;
};

type ActiveExport = ExportedSession & { readonly last_active?: number };

async function exported(
  input: CommandInput,
  context: CommandContext,
  wanted: Wanted,
): Promise<CommandOutcome> {
  const { io } = context;
  const { format, withMemory } = wanted;
  const { out = "" } = input.args;
  const all = input.flags.all === true; // also turns that were taken back
  const since = momentFlag(input, "since");
  const isStdout = out === STDOUT;
  const source = await openSource(input, context, wanted.includeInactive);
  const notes = source.isMissing ? [noDatabaseNote(context)] : [];
  const memories = withMemory ? await openMemories(context) : [];
  return io.untilInterrupted(async (signal) => {
    await using output = isStdout ? stdoutOutput(io) : await openOutput(out, wanted, input, context);
    const progress = progressDisplay(io, { isVerbose: input.flags.verbose === true });
    const onEach = (done: number): void =>
      progress.show({ step: "exporting sessions", done, total: source.total });
    const { sessions, messages } = await FORMATS[format]
      .write(edited(source.sessions, { since, edit: wanted.edit, signal, onEach }), output, {
        ...wanted,
        all,
      })
      .finally(progress.clear);
    if (signal.aborted) {
      const json = isStdout ? undefined : { success: false, kind: "interrupted" };
      return { json, lines: [], notes: [...notes, "Stopped. No file was written."], exitCode: 130 };
    }
    const entries = await writeMemory(memories, output, wanted);
    const { files, bytes } = await output.finish();
    const memory = withMemory ? ` and ${counted(entries, "memory entry", "memory entries")}` : "";
    const size = `${counted(files, "file")}, ${Math.ceil(bytes / 1000)} kB`;
    const line = `Exported ${counted(sessions, "session")} with ${counted(messages, "message")}${memory} to ${printable(out)} (${size}).`;
    const json = { path: out, format, sessions, messages, memory_entries: entries, files, bytes };
    const { exitCode, ...damage } = damageOf(source.loss());
    return {
      // stdout holds nothing but the sessions.
      json: isStdout ? undefined : { success: exitCode === 0, ...json, ...damage.json },
      lines: isStdout ? [] : [line],
      notes: [...notes, ...damage.notes],
      exitCode,
    };
  });
}

function openOutput(
  out: string,
  { file, withMemory, sessionsFile, memoryFile }: Wanted,
  { flags }: CommandInput,
  context: CommandContext,
): Promise<StagedOutput> {
  const names = withMemory ? [sessionsFile, memoryFile] : [sessionsFile];
  return stagedOutput(file === undefined ? out : dirname(file), {
    names: file === undefined ? undefined : names,
    isForced: flags.force === true,
    database: databasePath(context),
  });
}

// ---- Sessions ----

type Selection = { readonly sessions: AsyncIterable<ActiveExport>; readonly total: number };

type Source = Selection & {
  /** There is no database yet. */
  readonly isMissing: boolean;
  /** Rows that could not be read; complete once all sessions have been read. */
  loss(): ExportLoss | undefined;
};

/** The database. When it is too damaged to open or to query: a copy with every row that can be read. */
async function openSource(
  input: CommandInput,
  context: CommandContext,
  includeInactive: boolean,
): Promise<Source> {
  const sessionId = textFlag(input, "session-id");
  const source = textFlag(input, "source");
  let loss: ExportLoss | undefined;
  const salvaged = async (cause: unknown): Promise<HomeStore> => {
    if (!(cause instanceof HermesError && DAMAGE_CODES.has(cause.code))) throw cause;
    const copy = await context.memory.administrator.salvage().catch(() => Promise.reject(cause));
    loss = copy.loss;
    return copy.store;
  };
  const select = async (store: HomeStore): Promise<Selection> => {
    if (sessionId === undefined)
      return {
        sessions: readable(store, { source, includeInactive }, salvaged),
        total: await store.sessionCount({ source, includeArchived: true }),
      };
    const { id } = await findSession(store, sessionId);
    return { sessions: only(await store.exportSession(id, { includeInactive })), total: 1 };
  };
  const store = await openSessions(context, "read").catch(salvaged);
  if (store === undefined && sessionId !== undefined) throw notFoundAnywhere(sessionId, context);
  const selection =
    store === undefined
      ? { sessions: only(null), total: 0 }
      : await select(store).catch(async (cause: unknown) => select(await salvaged(cause)));
  return { ...selection, isMissing: store === undefined, loss: () => loss };
}

/** When damage is met on the way, the rest comes from the copy. */
async function* readable(
  store: HomeStore,
  options: { readonly source: string | undefined; readonly includeInactive: boolean },
  salvaged: (cause: unknown) => Promise<HomeStore>,
): AsyncGenerator<ActiveExport> {
  const done = new Set<string>();
  try {
    for await (const session of store.exportEach(options)) {
      done.add(session.id);
      yield session;
    }
  } catch (cause) {
    const copy = await salvaged(cause);
    for await (const session of copy.exportEach(options)) if (!done.has(session.id)) yield session;
  }
}

const DAMAGE_CODES: ReadonlySet<string> = new Set(["session-db-damaged", "session-db-not-sqlite"]);

async function* only(session: ExportedSession | null): AsyncGenerator<ExportedSession> {
  if (session !== null) yield session;
}

/** The sessions that are wanted, as they are written. Ends when the user interrupts it. */
async function* edited(
  sessions: AsyncIterable<ActiveExport>,
  {
    since,
    edit,
    signal,
    onEach,
  }: Pick<Wanted, "edit"> & {
    readonly since: number | undefined;
    readonly signal: AbortSignal;
    readonly onEach: (done: number) => void;
  },
): AsyncGenerator<ExportedSession> {
  let done = 0;
  for await (const session of sessions) {
    if (signal.aborted) return;
    if (since !== undefined && (session.last_active ?? since) < since) continue;
    yield edit(session);
    done += 1;
    onEach(done);
  }
}

/** The report about a damaged database. Only tables that an export contains count. */
function damageOf(loss: ExportLoss | undefined): {
  readonly json: object;
  readonly notes: readonly string[];
  readonly exitCode: 0 | 1;
} {
  if (loss === undefined) return { json: {}, notes: [], exitCode: 0 };
  const { standIns } = loss;
  const lost = loss.lost.filter(({ table }) => table === "sessions" || table === "messages");
  const isWhole = lost.length === 0 && loss.notes.length === 0;
  const first = `${standIns.slice(0, 20).join(", ")}${standIns.length > 20 ? " and others" : ""}`;
  return {
    json: { damaged: true, lost, stand_ins: standIns, notes: loss.notes },
    notes: [
      isWhole
        ? "The database is damaged, but every conversation could be read. 'hermes sessions repair' repairs it."
        : "The database is damaged. Everything that can be read was exported; this is missing:",
      ...[...lost.map(describeLoss), ...loss.notes].map((note) => `  ${printable(note)}`),
      ...(standIns.length === 0
        ? []
        : [
            `  ${counted(standIns.length, "session")} exported with what their messages tell: ${printable(first)}`,
          ]),
    ],
    exitCode: isWhole ? 0 : 1,
  };
}

// ---- Memory ----

/** `user`: the name of the user's directory, which does not reveal the user's id; undefined for the owner. */
type Memory = { readonly store: MemoryStore; readonly user?: string };

async function openMemories({ memory: { administrator } }: CommandContext): Promise<Memory[]> {
  const open = (directory: string): Promise<MemoryStore> =>
    administrator.curatedIn(directory, { isLoaded: existsSync(directory) }); // loading would create it
  const memories: Memory[] = [{ store: await open(administrator.directory) }];
  for (const user of administrator.userDirectories())
    memories.push({ store: await open(join(administrator.directory, "users", user)), user });
  return memories;
}

/** Returns the number of entries, those in the archive included. */
async function writeMemory(
  memories: readonly Memory[],
  output: StagedOutput,
  { redact, format, memoryFile }: Wanted,
): Promise<number> {
  if (memories.length === 0) return 0;
  const shown = (text: string): string => (redact ? redactSecrets(text) : text);
  const isReadable = FORMATS[format].extension === undefined; // then the memory is written as the files of an agent, too
  const lines = await output.open(isReadable ? "memory/entries.jsonl" : memoryFile);
  let count = 0;
  for (const { store, user } of memories)
    for (const target of MEMORY_TARGETS) {
      const entries = store.readEntries(target);
      const ids = entryIds(target, entries);
      for (const [at, text] of entries.entries())
        await writeLine(lines, { target, id: ids[at], text: shown(text), archived: false, user });
      const archived = store.archived(target);
      for (const { id, text } of archived)
        await writeLine(lines, { target, id, text: shown(text), archived: true, user });
      count += entries.length + archived.length;
      if (!isReadable || (user !== undefined && entries.length === 0)) continue;
      const folder = user === undefined ? "memory" : `memory/users/${user}`;
      const file = await output.open(`${folder}/${fileNameOf(target)}`);
      await file.write(entries.map(shown).join("\n§\n"));
      await file.close();
    }
  await lines.close();
  return count;
}

function writeLine(file: OutputFile, value: object): Promise<void> {
  return file.write(`${JSON.stringify(value)}\n`);
}
