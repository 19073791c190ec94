// Choosing a session: with keys and a filter on a screen, or by number from standard input. State and frame are pure; `runPicker` and
// `promptForSession` do the input and output.
import type { Clock } from "@hermes-memory/core/internal/lib";
import type { ListedSession } from "@hermes-memory/core/internal/sessions";
import type { Terminal } from "../command.ts";
import {
  cursorAfter,
  frameColumns,
  listFrame,
  MARK_COLUMNS,
  runOnScreen,
  type ScrollingList,
  visibleRows,
  withCursor,
} from "../prompts/scrolling-list.ts";
import type { Screen, ScreenEvent, Size } from "../screen.ts";
import { linesOf, lineText } from "./input-lines.ts";
import { cutToWidth, fitToWidth, flat, nameOf, relativeTime, withoutLastGrapheme } from "./text-layout.ts";

export type Picker = ScrollingList & {
  readonly candidates: readonly Candidate[];
  readonly filter: string;
  /** The candidates that match the filter; `cursor` and `top` are indexes in it. */
  readonly matches: readonly ListedSession[];
  readonly end?: PickerEnd;
};

type PickerEnd =
  | { readonly kind: "chosen"; readonly session: ListedSession }
  | { readonly kind: "quit" }
  | { readonly kind: "interrupted" };

type Candidate = { readonly session: ListedSession; readonly text: string };

export function startPicker(sessions: readonly ListedSession[], { columns, rows }: Size): Picker {
  const candidates = sessions.map((session) => ({ session, text: searchText(session) }));
  return { candidates, filter: "", matches: sessions, cursor: 0, top: 0, columns, rows };
}

export function stepPicker(picker: Picker, event: ScreenEvent): Picker {
  if (picker.end !== undefined) return picker; // a key pressed after the choice
  switch (event.kind) {
    case "end":
      return { ...picker, end: { kind: "quit" } };
    case "resize":
      return moved({ ...picker, columns: event.columns, rows: event.rows }, picker.cursor);
    case "key":
      return press(picker, event);
    default:
      return event satisfies never;
  }
}

type Key = Extract<ScreenEvent, { kind: "key" }>;

function press(picker: Picker, key: Key): Picker {
  if (key.isCtrl) return control(picker, key.name);
  const cursor = cursorAfter(key.name, picker, picker.matches.length);
  if (cursor !== undefined) return moved(picker, cursor);
  switch (key.name) {
    case "return":
    case "enter":
      return choose(picker);
    case "escape":
      return picker.filter === "" ? { ...picker, end: { kind: "quit" } } : filtered(picker, "");
    case "backspace":
      return filtered(picker, withoutLastGrapheme(picker.filter));
    default:
      return type(picker, key);
  }
}

function control(picker: Picker, name: string | undefined): Picker {
  switch (name) {
    case "c":
      return { ...picker, end: { kind: "interrupted" } };
    case "u":
      return filtered(picker, "");
    case "p":
      return moved(picker, picker.cursor - 1);
    case "n":
      return moved(picker, picker.cursor + 1);
    case "h": // some terminals send it for backspace
      return filtered(picker, withoutLastGrapheme(picker.filter));
    default:
      return picker;
  }
}

/** Visible characters go into the filter, except `q` as the first one. */
function type(picker: Picker, { text, isMeta }: Key): Picker {
  if (text === undefined || isMeta || text === "" || /\p{Cc}/u.test(text)) return picker;
  if (text === "q" && picker.filter === "") return { ...picker, end: { kind: "quit" } };
  return filtered(picker, picker.filter + text);
}

function choose(picker: Picker): Picker {
  const session = picker.matches[picker.cursor];
  return session === undefined ? picker : { ...picker, end: { kind: "chosen", session } };
}

/** Every word has to occur, in any order and letter case. The cursor stays on its session if that still matches. */
function filtered(picker: Picker, filter: string): Picker {
  if (filter === picker.filter) return picker;
  const words = folded(filter).split(/\s+/);
  const matches = picker.candidates.flatMap(({ session, text }) =>
    words.every((word) => text.includes(word)) ? [session] : [],
  );
  const current = picker.matches[picker.cursor];
  const cursor = current === undefined ? -1 : matches.indexOf(current);
  return moved({ ...picker, filter, matches, top: 0 }, cursor);
}

function moved(picker: Picker, cursor: number): Picker {
  return withCursor(picker, picker.matches.length, cursor);
}

function searchText({ title, preview, id, source }: ListedSession): string {
  return folded([title ?? "", preview, id, source].join("\n"));
}

function folded(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}

export function pickerFrame(picker: Picker, now: Date): string[] {
  const { matches, candidates, filter, top } = picker;
  const columns = frameColumns(picker) - MARK_COLUMNS;
  const visible = matches.slice(top, top + visibleRows(picker));
  return listFrame(picker, {
    head: `${matches.length}/${candidates.length}  ${filter === "" ? "Type to filter" : `> ${flat(filter)}`}`,
    rows: visible.map((session) => sessionRow(session, columns, now)),
    empty: "No match. Backspace or Esc shows the others again.",
    keys: "Enter shows it, arrows move, Esc clears or quits, q quits",
  });
}

/** As many columns as fit: name and age first, then source, then preview and id. */
function sessionRow(session: ListedSession, width: number, now: Date): string {
  const age = relativeTime(session.last_active, now);
  if (width < 30) return nameOf(session);
  if (width < 60) return `${fitToWidth(nameOf(session), width - 12)}  ${age}`;
  const source = fitToWidth(flat(session.source), 9);
  if (width < 110) return `${fitToWidth(nameOf(session), width - 23)}  ${fitToWidth(age, 10)}  ${source}`;
  const title = fitToWidth(session.title === null ? "-" : flat(session.title), 30);
  const preview = fitToWidth(flat(session.preview), width - 30 - 10 - 9 - 26 - 8);
  return `${title}  ${preview}  ${fitToWidth(age, 10)}  ${source}  ${cutToWidth(flat(session.id), 26)}`;
}

/** Draws and waits for keys until the user chooses a session or leaves. */
export function runPicker(
  screen: Screen,
  sessions: readonly ListedSession[],
  clock: Clock,
): Promise<PickerEnd> {
  return runOnScreen(screen, startPicker(sessions, screen.size()), {
    step: stepPicker,
    frame: (picker) => pickerFrame(picker, clock.now()),
  });
}

const NAME_COLUMNS = 48;

/** Without a screen: a numbered list on stderr. Asks again after a wrong number; an empty line, `q` or the end of input leaves. */
export async function promptForSession(
  io: Pick<Terminal, "note" | "inputChunks">,
  sessions: readonly ListedSession[],
  now: Date,
): Promise<PickerEnd> {
  for (const [index, session] of sessions.entries()) io.note(`${numberedLine(session, index + 1, now)}\n`);
  const question = `Number of the session (1-${sessions.length}, empty to leave): `;
  io.note(question);
  for await (const line of linesOf(io.inputChunks())) {
    const answer = (lineText(line) ?? "").trim();
    if (answer === "" || answer === "q") break;
    const session = /^\d+$/.test(answer) ? sessions[Number(answer) - 1] : undefined;
    if (session !== undefined) return { kind: "chosen", session };
    io.note(`There is no number '${flat(answer).slice(0, 20)}'.\n${question}`);
  }
  io.note("\n");
  return { kind: "quit" };
}

function numberedLine(session: ListedSession, number: number, now: Date): string {
  const age = relativeTime(session.last_active, now);
  return `${String(number).padStart(4)}. ${fitToWidth(nameOf(session), NAME_COLUMNS)}  ${fitToWidth(age, 10)}  ${flat(session.id)}`;
}
