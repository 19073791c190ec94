// The picker as lines of a terminal, none of them wider than it.
import type { ListedSession } from "@hermes-memory/core/sessions";
import { relativeTime } from "../relative-time.ts";
import { flat, nameOf } from "../table.ts";
import { cutToWidth, fitToWidth } from "../width.ts";
import { type Picker, visibleRows } from "./state.ts";

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
    rows.length > 0 ? rows : [cutToWidth("  Nothing fits. Backspace or Esc brings the others back.", width)];
  const lines = [cutToWidth(head, width), ...body, cutToWidth(KEYS, width)];
  return picker.rows < 3 ? lines.slice(1, 1 + Math.max(1, picker.rows)) : lines;
}

/** What there is room for: name and age first, then source, then the beginning, then the id. */
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
