// Choosing a session: with keys and a filter on a screen, or by number from standard input. State and frame are pure; `runPicker` and
// `promptForSession` do the input and output.

import type { Clock } from "@hermes-memory/core/lib";
import type { ListedSession } from "@hermes-memory/core/sessions";
import type { Terminal } from "../command.ts";
import type { OpenScreen, Screen, ScreenEvent, Size } from "../screen.ts";
import { linesOf, lineText } from "./input-lines.ts";
import { cutToWidth, fitToWidth, flat, nameOf, relativeTime, withoutLastGrapheme } from "./text-layout.ts";

export type Picker = Size & {
  readonly rowsOf: readonly Candidate[];
  readonly filter: string;
  /** The candidates that fit the filter. */
  readonly matches: readonly ListedSession[];
  /** Index of the chosen line in `matches`; 0 when there is none. */
  readonly cursor: number;
  /** First line that is shown. */
  readonly top: number;
  readonly end?: PickerEnd;
};

type PickerEnd =
  | { readonly kind: "chosen"; readonly session: ListedSession }
  | { readonly kind: "quit" }
  | { readonly kind: "interrupted" };

type Candidate = { readonly session: ListedSession; readonly text: string };

/** Lines that are no sessions: the filter at the top and the keys at the bottom. */
const FRAME_ROWS = 2;

export function startPicker(sessions: readonly ListedSession[], { columns, rows }: Size): Picker {
  const rowsOf = sessions.map((session) => ({ session, text: searchText(session) }));
  return { rowsOf, filter: "", matches: sessions, cursor: 0, top: 0, columns, rows };
}

export function stepPicker(picker: Picker, event: ScreenEvent): Picker {
  if (picker.end !== undefined) return picker; // a key pressed after the choice
  switch (event.kind) {
    case "end":
      return { ...picker, end: { kind: "quit" } };
    case "resize":
      return scrolled({ ...picker, columns: event.columns, rows: event.rows });
    case "key":
      return press(picker, event);
    default:
      return event satisfies never;
  }
}

/** How many sessions fit on the screen, at least one. */
export function visibleRows({ rows }: Size): number {
  return Math.max(1, rows - FRAME_ROWS);
}

type Key = Extract<ScreenEvent, { kind: "key" }>;

function press(picker: Picker, key: Key): Picker {
  if (key.isCtrl) return control(picker, key.name);
  const page = visibleRows(picker);
  switch (key.name) {
    case "up":
      return moved(picker, picker.cursor - 1);
    case "down":
      return moved(picker, picker.cursor + 1);
    case "pageup":
      return moved(picker, picker.cursor - page);
    case "pagedown":
      return moved(picker, picker.cursor + page);
    case "home":
      return moved(picker, 0);
    case "end":
      return moved(picker, picker.matches.length - 1);
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
  const matches = picker.rowsOf.flatMap(({ session, text }) =>
    words.every((word) => text.includes(word)) ? [session] : [],
  );
  const current = picker.matches[picker.cursor];
  const cursor = current === undefined ? -1 : matches.indexOf(current);
  return scrolled({ ...picker, filter, matches, cursor: Math.max(0, cursor), top: 0 });
}

function moved(picker: Picker, cursor: number): Picker {
  const last = Math.max(0, picker.matches.length - 1);
  return scrolled({ ...picker, cursor: Math.min(last, Math.max(0, cursor)) });
}

/** Scrolls as little as needed to show the cursor, and leaves no gap below the last line. */
function scrolled(picker: Picker): Picker {
  const page = visibleRows(picker);
  const lowest = Math.max(0, picker.matches.length - page);
  const top = Math.min(picker.cursor, Math.max(picker.top, picker.cursor - page + 1));
  return { ...picker, top: Math.min(top, lowest) };
}

function searchText({ title, preview, id, source }: ListedSession): string {
  return folded([title ?? "", preview, id, source].join("\n"));
}

function folded(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}

// The frame: lines no wider than the terminal.

const KEYS = "Enter shows it, arrows move, Esc clears or quits, q quits";
const MARK = 2;
const INVERSE = ["\u001b[7m", "\u001b[27m"] as const;

export function pickerFrame(picker: Picker, now: Date): string[] {
  const width = Math.max(1, picker.columns - 1); // the last column would wrap on some terminals
  const count = `${picker.matches.length}/${picker.rowsOf.length}`;
  const head = `${count}  ${picker.filter === "" ? "Type to filter" : `> ${flat(picker.filter)}`}`;
  const shown = picker.matches.slice(picker.top, picker.top + visibleRows(picker));
  const rows = shown.map((session, index) => {
    const isChosen = picker.top + index === picker.cursor;
    const text = `${isChosen ? "> " : "  "}${sessionRow(session, width - MARK, now)}`;
    const line = fitToWidth(text, width);
    return isChosen ? `${INVERSE[0]}${line}${INVERSE[1]}` : line;
  });
  const body =
    rows.length > 0 ? rows : [cutToWidth("  No match. Backspace or Esc shows the others again.", width)];
  const lines = [cutToWidth(head, width), ...body, cutToWidth(KEYS, width)];
  return picker.rows < 3 ? lines.slice(1, 1 + Math.max(1, picker.rows)) : lines;
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
export async function runPicker(
  screen: Screen,
  sessions: readonly ListedSession[],
  clock: Clock,
): Promise<PickerEnd> {
  let picker = startPicker(sessions, screen.size());
  const { promise, resolve } = Promise.withResolvers<PickerEnd>();
  let opened: OpenScreen | undefined;
  const draw = (): void => opened?.draw(pickerFrame(picker, clock.now()));
  const onEvent = (event: ScreenEvent): void => {
    picker = stepPicker(picker, event);
    if (picker.end === undefined) draw();
    else resolve(picker.end);
  };
  opened = await screen.open(onEvent);
  try {
    draw();
    return await promise;
  } finally {
    opened.close();
  }
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
