// `hermes sessions import`: a file written by `export`, one session per line. Transcripts of other agents: import-transcripts.ts.
import { type FileHandle, open, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { describeCause, HermesError, parseOutsideJson } from "@hermes-memory/core/internal/lib";
import type { ExportedSession, ImportOutcome } from "@hermes-memory/core/internal/sessions";
import {
  READERS,
  readerOf,
  sampleOf,
  stateDatabaseAt,
  type TranscriptReader,
} from "@hermes-memory/import/internal";
import { z } from "zod";
import {
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandInput,
  type CommandOutcome,
} from "../command.ts";
import { counted, printable } from "../printing.ts";
import { databasesOf, importDatabases } from "./import-state-db.ts";
import { importFrom, wantedSources } from "./import-transcripts.ts";
import { type Line, LineTooLong, linesOf, lineText, untilAborted } from "./input-lines.ts";
import { progressDisplay } from "./progress.ts";
import { openOrMakeSessions } from "./session-command.ts";
import { flat } from "./text-layout.ts";

const LISTED = 20;

export const importSessions: CommandBody = async (input, context) => {
  const name = input.args.file;
  if (input.flags.from !== undefined) {
    if (name !== undefined)
      throw new CommandFailure(`Both a source and the file ${printable(name)} were given.`, {
        exitCode: 2,
        hint: `Name the file with --path: hermes sessions import --from SOURCE --path ${printable(name)}`,
      });
    const databases = await databasesOf(input, context);
    if (databases.length > 0) return importDatabases(databases, input, context);
    const wanted = await wantedSources(input, context);
    return "json" in wanted ? wanted : importFrom(input, context, wanted);
  }
  if (name === undefined) throw nothingNamed();
  const database = name === "-" ? undefined : await stateDatabaseAt(resolve(name)).catch(() => undefined);
  if (database !== undefined) return importDatabases([database], input, context);
  const reader = name === "-" ? undefined : await transcriptReaderOf(name);
  if (reader !== undefined) return importFrom(input, context, [{ reader, paths: [resolve(name)] }]);
  return importExport(name, input, context);
};

function nothingNamed(): CommandFailure {
  return new CommandFailure("Nothing was named to import.", {
    exitCode: 2,
    hint:
      "Name a source (hermes sessions import --from claude-code), let it look (--from auto), or name a file that " +
      "'hermes sessions export' wrote.",
  });
}

/** The reader of a transcript of another agent; undefined for an export of ours, and for a file that cannot be read. */
async function transcriptReaderOf(name: string): Promise<TranscriptReader | undefined> {
  const path = resolve(name);
  try {
    const found = await stat(path);
    if (!found.isFile() && !found.isDirectory()) return undefined; // what is read from a pipe is gone from it
    const isOwn = found.isFile() && isExport((await sampleOf(path)).first);
    return isOwn ? undefined : await readerOf(path, READERS, new AbortController().signal);
  } catch {
    return undefined; // reading it as an export says why
  }
}

function isExport(first: unknown): boolean {
  return typeof parseExported(first) !== "string";
}

const importExport = async (
  name: string,
  input: CommandInput,
  context: CommandContext,
): Promise<CommandOutcome> => {
  await using file = name === "-" ? undefined : await openInput(name);
  const store = await openOrMakeSessions(context);
  const progress = progressDisplay(context.io, { isVerbose: input.flags.verbose === true });
  const reading = new Reading(
    file ? file.createReadStream({ highWaterMark: 1024 ** 2, autoClose: false }) : context.io.inputChunks(),
  );
  const outcome = await context.io.untilInterrupted(async (signal) => {
    const work = {
      signal,
      onProgress: () => progress.show({ step: "importing sessions", done: reading.sessions, total: 0 }),
    };
    try {
      return { ...(await store.importSessions(reading.read(signal), work)), isStopped: signal.aborted };
    } catch (cause) {
      throw whereItFailed(cause, name, reading.line);
    } finally {
      progress.clear();
    }
  });
  if (reading.trouble !== undefined) throw badLine(reading.trouble, name, reading.line, outcome);
  return reported(outcome);
};

/** A bad line ends the reading but not the import: sessions before it are kept and reported. */
class Reading {
  line = 0;
  sessions = 0;
  trouble: string | undefined;
  readonly #chunks: AsyncIterable<Uint8Array>;

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks;
  }

  async *read(signal: AbortSignal): AsyncGenerator<ExportedSession> {
    try {
      for await (const line of linesOf(untilAborted(this.#chunks, signal))) {
        if (signal.aborted) return;
        if (line.bytes.length === 0) continue;
        this.line = line.number;
        const session = parseLine(line);
        if (typeof session === "string") {
          this.trouble = session;
          return;
        }
        this.sessions += 1;
        yield session;
      }
    } catch (cause) {
      if (!(cause instanceof LineTooLong)) throw cause;
      this.line = cause.line;
      this.trouble = cause.message;
    }
  }
}

/** The session, or a text that says what is wrong with the line. */
function parseLine(line: Line): ExportedSession | string {
  const text = lineText(line);
  if (text === undefined) return "it is not valid UTF-8 text";
  // A session may have any size; only the depth is limited.
  const parsed = parseOutsideJson(text, { maxChars: Number.POSITIVE_INFINITY });
  return parsed.ok ? parseExported(parsed.value) : `it ${parsed.error.message}`;
}

/** Called before the database is opened, so that a wrong name does not leave an empty database. */
async function openInput(name: string): Promise<FileHandle> {
  let file: FileHandle | undefined;
  try {
    file = await open(name, "r");
    if ((await file.stat()).isDirectory()) throw new Error("it is a directory");
    return file;
  } catch (cause) {
    await file?.close();
    throw new CommandFailure(`Cannot read ${printable(name)}: ${printable(describeCause(cause))}.`, {
      details: { kind: "unreadable" },
    });
  }
}

function badLine(trouble: string, name: string, line: number, outcome: ImportOutcome): CommandFailure {
  const before = `${counted(outcome.imported, "session")} before it ${outcome.imported === 1 ? "was" : "were"} imported`;
  const where = `${printable(name)}, line ${line}`;
  return new CommandFailure(`${where}: ${trouble}. ${before}; the rest was not read.`, {
    hint: "Correct the line and import the file again: what is there already is left alone.",
    details: { kind: "bad-line", line, ...outcomeJson(outcome) },
  });
}

function whereItFailed(cause: unknown, name: string, line: number): unknown {
  if (!(cause instanceof HermesError)) return cause;
  const message = `${printable(name)}, line ${line}: ${cause.message}`;
  const again = "What was imported before it stays; importing the file again goes on there.";
  const hint = cause.hint === undefined ? again : `${cause.hint} ${again}`;
  return new HermesError(cause.code, message, { cause, hint });
}

function reported(outcome: ImportOutcome & { isStopped: boolean }): CommandOutcome {
  const { imported, messages, skipped, renamed, isStopped } = outcome;
  const list = (lines: readonly string[]): string[] => [
    ...lines.slice(0, LISTED),
    ...(lines.length > LISTED ? [`  and ${lines.length - LISTED} more`] : []),
  ];
  return {
    json: { success: !isStopped, ...outcomeJson(outcome), kind: isStopped ? "interrupted" : undefined },
    lines: [
      `Imported ${counted(imported, "session")} with ${counted(messages, "message")}.`,
      ...(skipped.length > 0 ? [`Skipped ${counted(skipped.length, "session")}:`] : []),
      ...list(skipped.map(({ id, reason }) => `  ${flat(id)}  ${flat(reason)}`)),
      ...(renamed.length > 0
        ? [`Renamed ${counted(renamed.length, "session")} whose title was taken or too long:`]
        : []),
      ...list(renamed.map(({ id, title }) => `  ${flat(id)}  ${flat(title ?? "(no title)")}`)),
    ],
    notes: isStopped ? ["Stopped. Importing the file again goes on where this stopped."] : [],
    exitCode: isStopped ? 130 : 0,
  };
}

function outcomeJson({ imported, messages, skipped, renamed }: ImportOutcome): object {
  return { imported, messages, skipped, renamed };
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
