// Choosing one of a few rows: what the list knows, and what each key makes of it. No terminal in here.
import type { ScreenEvent, Size } from "../screen.ts";

export type ChoiceList = Size & {
  readonly title: string;
  readonly labels: readonly string[];
  /** The row that leaving without a choice stands for. */
  readonly preselected: number;
  readonly cursor: number;
  /** First row that is shown. */
  readonly top: number;
  readonly end?: ChoiceEnd;
};

export type ChoiceEnd =
  | { readonly kind: "chosen"; readonly index: number }
  | { readonly kind: "interrupted" }
  /** The terminal is gone. */
  | { readonly kind: "gone" };

export type Question = {
  readonly title: string;
  /** At least one. */
  readonly labels: readonly string[];
  readonly preselected: number;
};

/** Lines of the picture that are no rows: the title above, the keys below. */
const FRAME_ROWS = 2;

export function startChoice({ title, labels, preselected }: Question, { columns, rows }: Size): ChoiceList {
  return scrolled({ title, labels, preselected, cursor: preselected, top: 0, columns, rows });
}

export function stepChoice(list: ChoiceList, event: ScreenEvent): ChoiceList {
  if (list.end !== undefined) return list; // keys that were pressed too late
  switch (event.kind) {
    case "end":
      return { ...list, end: { kind: "gone" } };
    case "resize":
      return scrolled({ ...list, columns: event.columns, rows: event.rows });
    case "key":
      return press(list, event);
    default:
      return event satisfies never;
  }
}

export function visibleRows({ rows }: Size): number {
  return Math.max(1, rows - FRAME_ROWS);
}

type Key = Extract<ScreenEvent, { kind: "key" }>;

function press(list: ChoiceList, { name, isCtrl }: Key): ChoiceList {
  if (isCtrl) return name === "c" ? { ...list, end: { kind: "interrupted" } } : list;
  switch (name) {
    case "up":
    case "k":
      return moved(list, list.cursor - 1);
    case "down":
    case "j":
      return moved(list, list.cursor + 1);
    case "pageup":
      return moved(list, list.cursor - visibleRows(list));
    case "pagedown":
      return moved(list, list.cursor + visibleRows(list));
    case "home":
      return moved(list, 0);
    case "end":
      return moved(list, list.labels.length - 1);
    case "return":
    case "enter":
    case "space":
      return { ...list, end: { kind: "chosen", index: list.cursor } };
    case "escape":
    case "q":
      return { ...list, end: { kind: "chosen", index: list.preselected } };
    default:
      return list;
  }
}

function moved(list: ChoiceList, cursor: number): ChoiceList {
  return scrolled({ ...list, cursor: Math.min(list.labels.length - 1, Math.max(0, cursor)) });
}

/** Scrolls as little as is needed to see the cursor, and leaves no gap below the last row. */
function scrolled(list: ChoiceList): ChoiceList {
  const page = visibleRows(list);
  const lowest = Math.max(0, list.labels.length - page);
  const top = Math.min(list.cursor, Math.max(list.top, list.cursor - page + 1));
  return { ...list, top: Math.min(top, lowest) };
}
