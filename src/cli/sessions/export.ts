// export: one JSON object per session and line, read and written one session at a time.
import type { ExportedSession, SessionStore } from "../../sessions/index.ts";
import type { CommandBody, CommandContext, CommandInput, CommandOutcome } from "../command.ts";
import { counted, printable } from "../printing.ts";
import { findSession, notFoundAnywhere } from "./find-session.ts";
import { sourceFlag, textFlag } from "./flags.ts";
import { databasePath, noDatabaseNote, openExisting } from "./open-store.ts";
import { openOutputFile } from "./output-file.ts";
import { progressDisplay } from "./progress.ts";

export const exportSessions: CommandBody = async (input, context) => {
  const out = input.args.out ?? "";
  const asked = textFlag(input, "session-id");
  await using store = await openExisting(context, "read");
  if (!store && asked !== undefined) throw notFoundAnywhere(asked, context);
  const wanted = store ? await choose(store, input, asked) : { sessions: nothing(), total: 0 };
  const notes = store ? [] : [noDatabaseNote(context)];
  // Awaited: the store closes when this function is left.
  return await context.io.untilInterrupted(async (signal) => {
    if (out === "-") {
      const write = async (text: string): Promise<void> => {
        context.io.out(text);
        await context.io.drained();
      };
      const written = await writeAll(wanted, { input, context, signal, write });
      // stdout holds the sessions and nothing else.
      return { json: undefined, lines: [], notes, exitCode: written === undefined ? 130 : 0 };
    }
    const database = databasePath(context);
    await using file = await openOutputFile(out, { isForced: input.flags.force === true, database });
    const written = await writeAll(wanted, {
      input,
      context,
      signal,
      write: (text) => file.write(text),
    });
    if (written === undefined) return stopped();
    await file.finish();
    return {
      json: { success: true, path: out, sessions: written.sessions, messages: written.messages },
      lines: [`Exported ${counted(written.sessions, "session")} to ${printable(out)}`],
      notes,
    };
  });
};

type Wanted = { readonly sessions: AsyncIterable<ExportedSession>; readonly total: number };

async function choose(store: SessionStore, input: CommandInput, asked: string | undefined): Promise<Wanted> {
  const includeInactive = input.flags.all === true;
  if (asked === undefined) {
    const source = sourceFlag(input);
    const total = await store.sessionCount({ ...source, includeArchived: true });
    return { sessions: store.exportEach({ ...source, includeInactive }), total };
  }
  const { id } = await findSession(store, asked);
  return { sessions: one(() => store.exportSession(id, { includeInactive })), total: 1 };
}

async function* one(read: () => Promise<ExportedSession | null>): AsyncGenerator<ExportedSession> {
  const session = await read();
  if (session !== null) yield session;
}

async function* nothing(): AsyncGenerator<ExportedSession> {}

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
