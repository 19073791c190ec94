// `hermes sessions list` and `browse`.
import { systemClock } from "@hermes-memory/core/internal/lib";
import {
  INTERNAL_SOURCES,
  type ListedSession,
  type ListOptions,
} from "@hermes-memory/core/internal/sessions";
import { Cancelled, type CommandBody, type CommandInput, type Paint, type Terminal } from "../command.ts";
import { cancelled } from "../confirm.ts";
import { render } from "../render.ts";
import { cutToWidth, fitToWidth, flat, relativeTime } from "../text-layout.ts";
import { linesOf, lineText } from "./input-lines.ts";
import { noDatabaseNote, numberFlag, openSessions, textFlag } from "./session-command.ts";
import { readTranscript, transcriptLines } from "./show.ts";

const DEFAULT_LIMIT = 20;

export const list: CommandBody = async (input, context) => {
  const store = await openSessions(context, "read");
  if (!store) return { json: [], lines: ["No sessions found."], notes: [noDatabaseNote(context)] };
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
    lines:
      rows.length === 0 ? ["No sessions found."] : sessionTable(rows, systemClock.now(), context.io.paint),
    notes: total > rows.length ? [more] : [],
  };
};

const TITLE_COLUMNS = 30;
const PREVIEW_COLUMNS = 38;

/** With the id last, where a script finds it. */
export function sessionTable(rows: readonly ListedSession[], now: Date, paint: Paint): string[] {
  const shown = rows.map(({ id, title, preview, source, archived, last_active: active }) => ({
    title: title && cutToWidth(flat(title), TITLE_COLUMNS),
    preview: cutToWidth(flat(preview), PREVIEW_COLUMNS),
    last_active: relativeTime(active, now),
    source,
    archived: archived ? "archived" : null,
    id,
  }));
  return render(shown, paint);
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
      lines: ["No sessions found."],
      notes: store ? [] : [noDatabaseNote(context)],
    };
  const labels = sessions.map((session) => labelOf(session, systemClock.now()));
  const chosen = await chooseOne(labels, io).catch((cause: unknown) => {
    if (cause instanceof Cancelled) return cause.by;
    throw cause;
  });
  if (typeof chosen === "string") return cancelled(chosen === "interrupt" ? 130 : 1);
  const session = sessions[chosen];
  if (session === undefined) return cancelled();
  const { id } = session;
  const { total, ...transcript } = await readTranscript(store, id, {
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

/** Where nothing can be drawn: a numbered list on stderr. Asks again after a wrong number; an empty line, `q` or the end of input leaves. */
async function chooseOne(labels: readonly string[], io: Terminal): Promise<number> {
  if (io.canDraw)
    return io.choose({ title: "Which conversation?", labels, preselected: 0, isFiltered: true });
  for (const [index, label] of labels.entries()) io.note(`${String(index + 1).padStart(4)}. ${label}\n`);
  const question = `Number of the session (1-${labels.length}, empty to leave): `;
  io.note(question);
  for await (const line of linesOf(io.inputChunks())) {
    const answer = (lineText(line) ?? "").trim();
    if (answer === "" || answer === "q") break;
    const index = /^\d+$/.test(answer) ? Number(answer) - 1 : -1;
    if (labels[index] !== undefined) return index;
    io.note(`There is no number '${flat(answer).slice(0, 20)}'.\n${question}`);
  }
  io.note("\n");
  throw new Cancelled("end");
}
