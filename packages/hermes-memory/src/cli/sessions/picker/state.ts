// What the picker knows, and what each key makes of it. No terminal in here.
import type { ListedSession } from "@hermes-memory/core/sessions";
import type { ScreenEvent, Size } from "../../screen.ts";
import { withoutLastGrapheme } from "../width.ts";

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

export type PickerEnd =
  | { readonly kind: "chosen"; readonly session: ListedSession }
  | { readonly kind: "quit" }
  | { readonly kind: "interrupted" };

type Candidate = { readonly session: ListedSession; readonly text: string };

/** Lines of the picture that are no sessions: the filter above, the keys below. */
const FRAME_ROWS = 2;

export function startPicker(sessions: readonly ListedSession[], { columns, rows }: Size): Picker {
  const rowsOf = sessions.map((session) => ({ session, text: searchText(session) }));
  return { rowsOf, filter: "", matches: sessions, cursor: 0, top: 0, columns, rows };
}

export function stepPicker(picker: Picker, event: ScreenEvent): Picker {
  if (picker.end !== undefined) return picker; // keys that were pressed too late
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

/** How many sessions fit on the screen; one always does. */
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
    case "h": // what some terminals send for backspace
      return filtered(picker, withoutLastGrapheme(picker.filter));
    default:
      return picker;
  }
}

/** Whatever types something visible goes into the filter, except a first `q`. */
function type(picker: Picker, { text, isMeta }: Key): Picker {
  if (text === undefined || isMeta || text === "" || /\p{Cc}/u.test(text)) return picker;
  if (text === "q" && picker.filter === "") return { ...picker, end: { kind: "quit" } };
  return filtered(picker, picker.filter + text);
}

function choose(picker: Picker): Picker {
  const session = picker.matches[picker.cursor];
  return session === undefined ? picker : { ...picker, end: { kind: "chosen", session } };
}

/** Every word has to occur somewhere, in any order and letter case. The cursor stays on its session if that still fits. */
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

/** Scrolls as little as is needed to see the cursor, and leaves no gap below the last line. */
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
