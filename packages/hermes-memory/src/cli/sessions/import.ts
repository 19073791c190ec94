// import: the lines of an export, one session at a time.
import { type FileHandle, open } from "node:fs/promises";
import { Readable } from "node:stream";
import { describeCause, HermesError, parseOutsideJson } from "@hermes-memory/core/lib";
import type { ExportedSession, ImportOutcome } from "@hermes-memory/core/sessions";
import { type CommandBody, CommandFailure, type CommandOutcome } from "../command.ts";
import { counted, printable } from "../printing.ts";
import { parseExported } from "./exported-session.ts";
import { type Line, LineTooLong, linesOf, lineText } from "./lines.ts";
import { openOrMakeSessions } from "./open-store.ts";
import { progressDisplay } from "./progress.ts";
import { flat } from "./table.ts";

const LISTED = 20;

export const importSessions: CommandBody = async (input, context) => {
  const name = input.args.file ?? "";
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
  return told(outcome);
};

/** What was wrong with a line ends the reading, not the import: what came before it counts, and is reported. */
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

/** Ends at once when the signal comes, also while nothing does: a person at a pipe that is idle wants out too. */
async function* untilAborted(
  chunks: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const { promise: aborted, resolve } = Promise.withResolvers<undefined>();
  const stop = (): void => resolve(undefined);
  signal.addEventListener("abort", stop, { once: true });
  const source = chunks[Symbol.asyncIterator]();
  try {
    while (!signal.aborted) {
      const next = source.next();
      const read = await Promise.race([next, aborted]);
      if (read === undefined) next.catch(() => {}); // given up; what becomes of it does not matter
      if (read === undefined || read.done) return;
      yield read.value;
    }
  } finally {
    signal.removeEventListener("abort", stop);
    // An open stream would keep the process alive, waiting for what nobody reads.
    if (chunks instanceof Readable) chunks.destroy();
  }
}

/** The session, or what is wrong with the line. */
function parseLine(line: Line): ExportedSession | string {
  const text = lineText(line);
  if (text === undefined) return "it is not valid UTF-8 text";
  // Its size is whatever the session has; how deep it goes is not.
  const parsed = parseOutsideJson(text, { maxChars: Number.POSITIVE_INFINITY });
  return parsed.ok ? parseExported(parsed.value) : `it ${parsed.error.message}`;
}

/** Before the database is opened: a wrong name must not leave an empty one behind. */
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

function told(outcome: ImportOutcome & { isStopped: boolean }): CommandOutcome {
  const { imported, messages, skipped, renamed, isStopped } = outcome;
  const list = (lines: readonly string[]): string[] => [
    ...lines.slice(0, LISTED),
    ...(lines.length > LISTED ? [`  and ${lines.length - LISTED} more`] : []),
  ];
  return {
    json: { success: !isStopped, ...outcomeJson(outcome), ...(isStopped ? { kind: "interrupted" } : {}) },
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
    ...(isStopped ? { exitCode: 130 as const } : {}),
  };
}

function outcomeJson({ imported, messages, skipped, renamed }: ImportOutcome): object {
  return { imported, messages, skipped, renamed };
}
