// `hermes sessions list` and `browse`.
import { systemClock } from "@hermes-memory/core/internal/lib";
import {
  INTERNAL_SOURCES,
  type ListedSession,
  type ListOptions,
} from "@hermes-memory/core/internal/sessions";
import { Cancelled, type CommandBody, CommandFailure, type CommandInput } from "../command.ts";
import { cutToWidth, fitToWidth, flat, relativeTime } from "../printing.ts";
import { noDatabaseNote, numberFlag, openSessions, textFlag } from "./session-command.ts";
import { readTranscript, transcriptLines } from "./show.ts";

const DEFAULT_LIMIT = 20;
const NONE_FOUND = { lines: ["No sessions found."] };

export const list: CommandBody = async (input, context) => {
  const store = await openSessions(context, "read");
  if (!store) return { json: [], ...NONE_FOUND, notes: [noDatabaseNote(context)] };
  const filter = filterOf(input);
  const limit = numberFlag(input, "limit", DEFAULT_LIMIT);
  const orderByLastActive = input.flags["by-activity"] === true;
  const rows = await store.listSessionsRich({ ...filter, limit, orderByLastActive });
  const total =
    rows.length < limit
      ? rows.length
      : await store.sessionCount({ ...filter, excludeChildren: true, includeHidden: false });
  const more = `The first ${rows.length} of ${total} sessions; --limit ${total} lists them all.`;
  return {
    json: rows.map(listedJson),
    ...(rows.length === 0 ? NONE_FOUND : { shown: columnsOf(rows, systemClock.now()) }),
    notes: total > rows.length ? [more] : [],
  };
};

const TITLE_COLUMNS = 30;
const PREVIEW_COLUMNS = 38;

/** With the id last, where a script finds it. */
function columnsOf(rows: readonly ListedSession[], now: Date): object[] {
  return rows.map(({ id, title, preview, source, archived, last_active: active }) => ({
    title: title && cutToWidth(flat(title), TITLE_COLUMNS),
    preview: cutToWidth(flat(preview), PREVIEW_COLUMNS),
    last_active: relativeTime(active, now),
    source,
    archived: archived ? "archived" : null,
    id,
  }));
}

/** Runs that programs start by themselves are listed only when their source is named. */
function hiddenSources(input: CommandInput): readonly string[] | undefined {
  return textFlag(input, "source") === undefined ? INTERNAL_SOURCES : undefined;
}

/** Without the system prompt, which is long and repeats in every row; `show` prints it. */
export function listedJson({ system_prompt: _prompt, ...row }: ListedSession): object {
  return row;
}

function filterOf(input: CommandInput): ListOptions {
  return {
    source: textFlag(input, "source"),
    excludeSources: hiddenSources(input),
    includeArchived: input.flags.all === true,
    archivedOnly: input.flags.archived === true,
  };
}

const BROWSED_LIMIT = 500;
const SHOWN_MESSAGES = 10;

export const browse: CommandBody = async (input, context) => {
  const { io } = context;
  const store = await openSessions(context, "read");
  const sessions = await store?.listSessionsRich({
    source: textFlag(input, "source"),
    excludeSources: hiddenSources(input),
    limit: numberFlag(input, "limit", BROWSED_LIMIT),
    orderByLastActive: true,
  });
  if (!store || !sessions?.length)
    return {
      json: null,
      ...NONE_FOUND,
      notes: store ? [] : [noDatabaseNote(context)],
    };
  if (!io.canDraw)
    throw new CommandFailure("There is no terminal here to choose at.", {
      hint: "'hermes sessions list' shows the ids, 'hermes sessions show ID' prints a conversation.",
      details: { kind: "no-terminal" },
    });
  const labels = sessions.map((session) => labelOf(session, systemClock.now()));
  const choice = { title: "Which conversation?", labels, preselected: 0, isFiltered: true };
  const chosen = await io.choose(choice).catch((cause: unknown) => {
    throw cause instanceof Cancelled ? new Cancelled(cause.by, "Cancelled.") : cause;
  });
  const session = sessions[chosen];
  if (session === undefined) throw new Cancelled("end", "Cancelled.");
  const { id } = session;
  const { total, ...transcript } = await readTranscript(store, session, {
    limit: SHOWN_MESSAGES,
    includeInactive: false,
  });
  const rest = total > SHOWN_MESSAGES ? `, ${total - SHOWN_MESSAGES} more messages` : "";
  return {
    json: listedJson(session),
    lines: [
      ...transcriptLines(transcript, { paint: io.paint, isFull: false }),
      "",
      `Session ID: ${flat(id)}`,
      io.paint("dim", `All of it${rest}: hermes sessions show ${flat(id)}`),
      io.paint("dim", `Go on with it: hermes chat --resume ${flat(id)}`),
    ],
  };
};

const NAME_COLUMNS = 48;

function labelOf(session: ListedSession, now: Date): string {
  const { title, preview, source, id, last_active: lastActive } = session;
  const name = fitToWidth(flat(title ?? (preview || "(untitled)")), NAME_COLUMNS);
  return `${name}  ${fitToWidth(relativeTime(lastActive, now), 10)}  ${flat(source)}  ${flat(id)}`;
}
