// export: one JSON object per session and line, read and written one session at a time.
import { HermesError } from "@hermes-memory/core/lib";
import {
  describeLoss,
  type ExportedSession,
  type ExportLoss,
  type SessionStore,
} from "@hermes-memory/core/sessions";
import type { CommandBody, CommandContext, CommandInput, CommandOutcome } from "../command.ts";
import { counted, printable } from "../printing.ts";
import { findSession, notFoundAnywhere } from "./find-session.ts";
import { sourceFlag, textFlag } from "./flags.ts";
import { databasePath, noDatabaseNote, openSessions } from "./open-store.ts";
import { openOutputFile } from "./output-file.ts";
import { progressDisplay } from "./progress.ts";

export const exportSessions: CommandBody = async (input, context) => {
  const out = input.args.out ?? "";
  const source = await openSource(input, context);
  const notes = source.isMissing ? [noDatabaseNote(context)] : [];
  return context.io.untilInterrupted(async (signal) => {
    if (out === "-") {
      const write = async (text: string): Promise<void> => {
        context.io.out(text);
        await context.io.drained();
      };
      const written = await writeAll(source, { input, context, signal, write });
      if (written === undefined) return { json: undefined, lines: [], notes, exitCode: 130 };
      // stdout holds the sessions and nothing else.
      const damage = damageOf(source.loss());
      return { json: undefined, lines: [], notes: [...notes, ...damage.notes], exitCode: damage.exitCode };
    }
    const database = databasePath(context);
    await using file = await openOutputFile(out, { isForced: input.flags.force === true, database });
    const written = await writeAll(source, {
      input,
      context,
      signal,
      write: (text) => file.write(text),
    });
    if (written === undefined) return stopped();
    await file.finish();
    const { exitCode, ...damage } = damageOf(source.loss());
    return {
      json: {
        success: exitCode === 0,
        path: out,
        sessions: written.sessions,
        messages: written.messages,
        ...damage.json,
      },
      lines: [`Exported ${counted(written.sessions, "session")} to ${printable(out)}`],
      notes: [...notes, ...damage.notes],
      exitCode,
    };
  });
};

type Wanted = { readonly sessions: AsyncIterable<ExportedSession>; readonly total: number };

type Source = Wanted & {
  /** There is no database. */
  readonly isMissing: boolean;
  /** What could not be read; known when all sessions have been read. */
  loss(): ExportLoss | undefined;
};

/** The database, or, where it cannot be opened or asked for the session, a copy with all that can be read of it. */
async function openSource(input: CommandInput, context: CommandContext): Promise<Source> {
  const asked = textFlag(input, "session-id");
  let loss: ExportLoss | undefined;
  const onLoss = (found: ExportLoss): void => {
    loss = found;
  };
  const fromSalvage = async (cause: unknown): Promise<SessionStore> => {
    if (!isDamage(cause)) throw cause;
    const copy = await context.memory
      .everyone()
      .salvage()
      .catch(() => Promise.reject(cause));
    onLoss(copy.loss);
    return copy.store;
  };
  const wanted = async (store: SessionStore): Promise<Wanted> => {
    if (asked === undefined) return choose(store, input, onLoss);
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
  let found: Wanted = { sessions: only(null), total: 0 };
  if (store !== undefined) {
    try {
      found = await wanted(store);
    } catch (cause) {
      found = await wanted(await fromSalvage(cause));
    }
  }
  return { ...found, isMissing, loss: () => loss };
}

const DAMAGE_CODES: ReadonlySet<string> = new Set(["session-db-damaged", "session-db-not-sqlite"]);

function isDamage(cause: unknown): boolean {
  return cause instanceof HermesError && DAMAGE_CODES.has(cause.code);
}

async function choose(
  store: SessionStore,
  input: CommandInput,
  onLoss: (loss: ExportLoss) => void,
): Promise<Wanted> {
  const includeInactive = input.flags.all === true;
  const source = sourceFlag(input);
  const total = await store.sessionCount({ ...source, includeArchived: true });
  return { sessions: store.exportEach({ ...source, includeInactive, onLoss }), total };
}

async function* only(session: ExportedSession | null): AsyncGenerator<ExportedSession> {
  if (session !== null) yield session;
}

/** What is said about a damaged database. Rows that no export holds do not count. */
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

/** Undefined when it was interrupted. */
async function writeAll(
  wanted: Wanted,
  { input, context, signal, write }: Writing,
): Promise<Written | undefined> {
  const progress = progressDisplay(context.io, { isVerbose: input.flags.verbose === true });
  let sessions = 0;
  let messages = 0;
  try {
    for await (const session of wanted.sessions) {
      if (signal.aborted) return undefined;
      for (const piece of piecesOf(session)) await write(piece);
      sessions += 1;
      messages += session.messages.length;
      progress.show({ step: "exporting sessions", done: sessions, total: wanted.total });
    }
    return signal.aborted ? undefined : { sessions, messages };
  } finally {
    progress.clear();
  }
}

/** The line of a session message by message: as one text, a long conversation would not fit into a string. */
function* piecesOf({ messages, ...session }: ExportedSession): Generator<string> {
  yield `${JSON.stringify(session).slice(0, -1)},"messages":[`;
  for (const [index, message] of messages.entries())
    yield `${index === 0 ? "" : ","}${JSON.stringify(message)}`;
  yield "]}\n";
}

function stopped(): CommandOutcome {
  return {
    json: { success: false, kind: "interrupted" },
    lines: [],
    notes: ["Stopped. No file was written."],
    exitCode: 130,
  };
}
