// `hermes sessions export`: one session per line, read and written one at a time. From a damaged database it takes what can be read.
import { statSync } from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import {
  errnoCode,
  HermesError,
  randomHex,
  resolveLinks,
  syncDirectory,
} from "@hermes-memory/core/internal/lib";
import {
  describeLoss,
  type ExportedSession,
  type ExportLoss,
  type SessionStore,
} from "@hermes-memory/core/internal/sessions";
import {
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandInput,
  type CommandOutcome,
} from "../command.ts";
import { statOf } from "../inspect-files.ts";
import { counted, printable } from "../printing.ts";
import { progressDisplay } from "./progress.ts";
import {
  databasePath,
  findSession,
  noDatabaseNote,
  notFoundAnywhere,
  openSessions,
  textFlag,
} from "./session-command.ts";

export const exportSessions: CommandBody = async (input, context) => {
  const out = input.args.out ?? "";
  const source = await openSource(input, context);
  const notes = source.isMissing ? [noDatabaseNote(context)] : [];
  return context.io.untilInterrupted(async (signal) => {
    await using output = await openOutput(out, input, context);
    const written = await writeAll(source, { input, context, signal, write: output.write });
    if (written === undefined) return stopped(out, notes);
    await output.finish();
    const { exitCode, ...damage } = damageOf(source.loss());
    const json = { success: exitCode === 0, path: out, ...written, ...damage.json };
    const line = `Exported ${counted(written.sessions, "session")} to ${printable(out)}`;
    return {
      // stdout holds nothing but the sessions.
      json: out === STDOUT ? undefined : json,
      lines: out === STDOUT ? [] : [line],
      notes: [...notes, ...damage.notes],
      exitCode,
    };
  });
};

const STDOUT = "-";

async function openOutput(
  out: string,
  { flags }: CommandInput,
  context: CommandContext,
): Promise<OutputFile> {
  if (out !== STDOUT)
    return openOutputFile(out, { isForced: flags.force === true, database: databasePath(context) });
  return {
    write: async (text) => {
      context.io.out(text);
      await context.io.drained();
    },
    finish: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };
}

function stopped(out: string, notes: readonly string[]): CommandOutcome {
  if (out === STDOUT) return { json: undefined, lines: [], notes, exitCode: 130 };
  const json = { success: false, kind: "interrupted" };
  return { json, lines: [], notes: ["Stopped. No file was written."], exitCode: 130 };
}

type Selection = { readonly sessions: AsyncIterable<ExportedSession>; readonly total: number };

type Source = Selection & {
  /** There is no database yet. */
  readonly isMissing: boolean;
  /** Rows that could not be read; complete once all sessions have been read. */
  loss(): ExportLoss | undefined;
};

/** The database. When it is too damaged to open or to query: a copy with every row that can be read. */
async function openSource(input: CommandInput, context: CommandContext): Promise<Source> {
  const asked = textFlag(input, "session-id");
  let loss: ExportLoss | undefined;
  const onLoss = (found: ExportLoss): void => {
    loss = found;
  };
  const fromSalvage = async (cause: unknown): Promise<SessionStore> => {
    if (!isDamage(cause)) throw cause;
    const copy = await context.memory.administrator.salvage().catch(() => Promise.reject(cause));
    onLoss(copy.loss);
    return copy.store;
  };
  const select = async (store: SessionStore): Promise<Selection> => {
    if (asked === undefined) return allSessions(store, input, onLoss);
    const { id } = await findSession(store, asked);
    const session = await store.exportSession(id, { includeInactive: input.flags.all === true });
    return { sessions: only(session), total: 1 };
  };
  let store: SessionStore | undefined;
  try {
    store = await openSessions(context, "read");
  } catch (cause) {
    store = await fromSalvage(cause);
  }
  if (store === undefined && asked !== undefined) throw notFoundAnywhere(asked, context);
  const isMissing = store === undefined;
  let found: Selection = { sessions: only(null), total: 0 };
  if (store !== undefined) {
    try {
      found = await select(store);
    } catch (cause) {
      found = await select(await fromSalvage(cause));
    }
  }
  return { ...found, isMissing, loss: () => loss };
}

const DAMAGE_CODES: ReadonlySet<string> = new Set(["session-db-damaged", "session-db-not-sqlite"]);

function isDamage(cause: unknown): boolean {
  return cause instanceof HermesError && DAMAGE_CODES.has(cause.code);
}

async function allSessions(
  store: SessionStore,
  input: CommandInput,
  onLoss: (loss: ExportLoss) => void,
): Promise<Selection> {
  const includeInactive = input.flags.all === true;
  const source = textFlag(input, "source");
  const total = await store.sessionCount({ source, includeArchived: true });
  return { sessions: store.exportEach({ source, includeInactive, onLoss }), total };
}

async function* only(session: ExportedSession | null): AsyncGenerator<ExportedSession> {
  if (session !== null) yield session;
}

/** The report about a damaged database. Only tables that an export contains count. */
function damageOf(loss: ExportLoss | undefined): {
  readonly json: object;
  readonly notes: readonly string[];
  readonly exitCode: 0 | 1;
} {
  if (loss === undefined) return { json: {}, notes: [], exitCode: 0 };
  const lost = loss.lost.filter(({ table }) => table === "sessions" || table === "messages");
  const isWhole = lost.length === 0 && loss.notes.length === 0;
  return {
    json: { damaged: true, lost, stand_ins: loss.standIns, notes: loss.notes },
    notes: [
      isWhole
        ? "The database is damaged, but every conversation could be read. 'hermes sessions repair' repairs it."
        : "The database is damaged. Everything that can be read was exported; this is missing:",
      ...lost.map((found) => `  ${printable(describeLoss(found))}`),
      ...loss.notes.map((note) => `  ${printable(note)}`),
      ...(loss.standIns.length === 0
        ? []
        : [
            `  ${counted(loss.standIns.length, "session")} exported with what indexes and messages tell: ${printable(loss.standIns.slice(0, 20).join(", "))}${loss.standIns.length > 20 ? " and others" : ""}`,
          ]),
    ],
    exitCode: isWhole ? 0 : 1,
  };
}

type Writing = {
  readonly input: CommandInput;
  readonly context: CommandContext;
  readonly signal: AbortSignal;
  readonly write: (text: string) => Promise<void>;
};

type Written = { readonly sessions: number; readonly messages: number };

/** Undefined when the user interrupted it. */
async function writeAll(
  selection: Selection,
  { input, context, signal, write }: Writing,
): Promise<Written | undefined> {
  const progress = progressDisplay(context.io, { isVerbose: input.flags.verbose === true });
  let sessions = 0;
  let messages = 0;
  try {
    for await (const session of selection.sessions) {
      if (signal.aborted) return undefined;
      for (const piece of piecesOf(session)) await write(piece);
      sessions += 1;
      messages += session.messages.length;
      progress.show({ step: "exporting sessions", done: sessions, total: selection.total });
    }
    return signal.aborted ? undefined : { sessions, messages };
  } finally {
    progress.clear();
  }
}

/** The line of a session, message by message, because a long conversation does not fit into one string. */
function* piecesOf({ messages, ...session }: ExportedSession): Generator<string> {
  yield `${JSON.stringify(session).slice(0, -1)},"messages":[`;
  for (const [index, message] of messages.entries())
    yield `${index === 0 ? "" : ","}${JSON.stringify(message)}`;
  yield "]}\n";
}

// The output file: private, written piece by piece, and renamed to its final name when it is complete.

type OutputFile = AsyncDisposable & {
  write(text: string): Promise<void>;
  /** Renames to the final name. Disposing without it removes the temporary file. */
  finish(): Promise<void>;
};

type OutputOptions = {
  /** Replace an existing file. */
  readonly isForced: boolean;
  /** Neither the database nor the files SQLite keeps beside it are replaced, even when forced. */
  readonly database: string;
};

async function openOutputFile(name: string, { isForced, database }: OutputOptions): Promise<OutputFile> {
  const target = resolveLinks(resolve(name));
  refuseDatabase(name, target, database);
  refuseExisting(name, target, isForced);
  const temp = join(dirname(target), `.${basename(target)}.${randomHex(6)}.tmp`);
  let file: FileHandle | undefined = await create(temp, name);
  const close = async (): Promise<void> => {
    await file?.close();
    file = undefined;
  };
  return {
    write: async (text) => {
      await file?.writeFile(text);
    },
    finish: async () => {
      await file?.sync();
      await close();
      refuseDatabase(name, target, database);
      refuseExisting(name, target, isForced); // another process may have created it meanwhile
      await rename(temp, target);
      syncDirectory(dirname(target));
    },
    [Symbol.asyncDispose]: async () => {
      await close();
      await rm(temp, { force: true });
    },
  };
}

const BESIDE_DATABASE = ["", "-wal", "-shm", "-journal"];

/** Compares inodes, because a file can have several names, and paths, because it may not exist yet. */
function refuseDatabase(name: string, target: string, database: string): void {
  const there = fileAt(target);
  const real = resolveLinks(resolve(database));
  const isOfDatabase = BESIDE_DATABASE.map((suffix) => real + suffix).some(
    (path) => placeOf(path) === placeOf(target) || (there !== undefined && fileAt(path) === there),
  );
  if (!isOfDatabase) return;
  throw new CommandFailure(
    `${printable(name)} belongs to the session database itself. Name another file, or '-' for stdout.`,
    { details: { kind: "is-database" } },
  );
}

function fileAt(path: string): string | undefined {
  const there = statSync(path, { bigint: true, throwIfNoEntry: false });
  return there && `${there.dev}:${there.ino}`;
}

/** The path with the directory's inode, because a directory can have several names. */
function placeOf(path: string): string {
  return `${fileAt(dirname(path)) ?? dirname(path)}/${basename(path)}`;
}

function refuseExisting(name: string, target: string, isForced: boolean): void {
  const there = statOf(target);
  if (there === undefined) return;
  if (!there.isFile()) {
    // A rename would replace a device by a file.
    throw new CommandFailure(
      `${printable(name)} is not a regular file. Name another one, or '-' for stdout.`,
      {
        details: { kind: "not-a-file" },
      },
    );
  }
  if (!isForced) {
    throw new CommandFailure(`${printable(name)} exists already. Name another file, or pass --force.`, {
      details: { kind: "exists" },
    });
  }
}

async function create(temp: string, name: string): Promise<FileHandle> {
  try {
    return await open(temp, "wx", 0o600);
  } catch (cause) {
    const code = errnoCode(cause);
    const why = code === "ENOENT" ? "its directory does not exist" : code === undefined ? "" : code;
    throw new HermesError("export-not-writable", `Cannot write ${printable(name)}: ${why}.`, {
      hint: "Choose a directory that exists and that you may write to.",
      cause,
    });
  }
}
