// A list on a screen from which the user chooses one row: cursor, scrolling and frame. `choose` and the picker of sessions use it.
import type { OpenScreen, Screen, ScreenEvent, Size } from "../screen.ts";
import { cutToWidth, fitToWidth } from "../sessions/text-layout.ts";

export type ScrollingList = Size & {
  /** Index of the chosen row; 0 when there is none. */
  readonly cursor: number;
  /** Index of the first visible row. */
  readonly top: number;
};

/** Lines of the frame that are not rows: one above, one below. */
const FRAME_ROWS = 2;
/** Of the mark in front of each row. */
export const MARK_COLUMNS = 2;
const INVERSE = ["\u001b[7m", "\u001b[27m"] as const;

/** How many rows fit on the screen, at least one. */
export function visibleRows({ rows }: Size): number {
  return Math.max(1, rows - FRAME_ROWS);
}

/** Puts the cursor on one of `count` rows. Scrolls as little as needed to show it, and leaves no gap below the last row. */
export function withCursor<List extends ScrollingList>(list: List, count: number, cursor: number): List {
  const page = visibleRows(list);
  const shown = Math.min(Math.max(0, count - 1), Math.max(0, cursor));
  const top = Math.min(shown, Math.max(list.top, shown - page + 1));
  return { ...list, cursor: shown, top: Math.min(top, Math.max(0, count - page)) };
}

/** Where a key moves the cursor; undefined for a key that moves nothing. May be out of range. */
export function cursorAfter(key: string | undefined, list: ScrollingList, count: number): number | undefined {
  const { cursor } = list;
  const page = visibleRows(list);
  switch (key) {
    case "up":
      return cursor - 1;
    case "down":
      return cursor + 1;
    case "pageup":
      return cursor - page;
    case "pagedown":
      return cursor + page;
    case "home":
      return 0;
    case "end":
      return count - 1;
    default:
      return undefined;
  }
}

type FrameTexts = {
  readonly head: string;
  /** The visible rows, from `list.top` on. */
  readonly rows: readonly string[];
  /** Shown when there are no rows. */
  readonly empty?: string;
  readonly keys: string;
};

/** No line is wider than the terminal. */
export function listFrame(list: ScrollingList, { head, rows, empty = "", keys }: FrameTexts): string[] {
  const width = frameColumns(list);
  const shown = rows.map((row, index) => {
    const isChosen = list.top + index === list.cursor;
    const line = fitToWidth(`${isChosen ? "> " : "  "}${row}`, width);
    return isChosen ? `${INVERSE[0]}${line}${INVERSE[1]}` : line;
  });
  const body = rows.length > 0 ? shown : [cutToWidth(`  ${empty}`, width)];
  const lines = [cutToWidth(head, width), ...body, cutToWidth(keys, width)];
  return list.rows < 3 ? lines.slice(1, 1 + Math.max(1, list.rows)) : lines;
}

/** The last column would wrap on some terminals. */
export function frameColumns({ columns }: Size): number {
  return Math.max(1, columns - 1);
}

/** Draws and waits for events until the list has an end. */
export async function runOnScreen<List extends { readonly end?: End }, End>(
  screen: Screen,
  start: List,
  { step, frame }: { step(list: List, event: ScreenEvent): List; frame(list: List): readonly string[] },
): Promise<NonNullable<List["end"]>> {
  let list = start;
  const { promise, resolve } = Promise.withResolvers<NonNullable<List["end"]>>();
  let opened: OpenScreen | undefined;
  const draw = (): void => opened?.draw(frame(list));
  opened = await screen.open((event) => {
    list = step(list, event);
    if (list.end === undefined) draw();
    else resolve(list.end as NonNullable<List["end"]>);
  });
  try {
    draw();
    return await promise;
  } finally {
    opened.close();
  }
}
