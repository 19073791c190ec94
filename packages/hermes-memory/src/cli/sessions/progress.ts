// Progress of long work: a line on a terminal after half a second, which is written over; with --verbose, lines where there is no terminal.
import type { Progress } from "@hermes-memory/core/internal/sessions";
import type { Terminal } from "../command.ts";
import { cutToWidth, printable } from "../printing.ts";

const QUIET_MS = 500;
const REDRAW_MS = 100;
const LINE_EVERY_MS = 3000;

export type ProgressDisplay = {
  /** `text` replaces the step and its count. */
  readonly show: (progress: Progress, text?: string) => void;
  /** Removes the line before the result is printed. */
  readonly clear: () => void;
};

export function progressDisplay(
  io: Pick<Terminal, "noteColumns" | "note">,
  { isVerbose = false, now = () => performance.now() }: { isVerbose?: boolean; now?: () => number } = {},
): ProgressDisplay {
  const columns = io.noteColumns;
  const start = now();
  let last: number | undefined;
  let isDrawn = false;
  const isDue = (): boolean => {
    const time = now();
    const wait = columns === undefined ? LINE_EVERY_MS : last === undefined ? QUIET_MS : REDRAW_MS;
    if (time - (last ?? start) < wait) return false;
    last = time;
    return true;
  };
  return {
    show: (progress, text) => {
      if (columns === undefined) {
        if (isVerbose && isDue()) io.note(`${text ?? progressText(progress)}\n`);
      } else if (isDue()) {
        io.note(`\r${cutToWidth(text ?? progressText(progress), columns - 1)}\u001b[K`); // the last column would wrap
        isDrawn = true;
      }
    },
    clear: () => {
      if (isDrawn) io.note("\r\u001b[K");
      isDrawn = false;
    },
  };
}

/** `indexing messages  4000 of 10000 (40 %)` */
function progressText({ step, done, total }: Progress): string {
  const percent = Math.max(0, Math.min(100, Math.floor((done / total) * 100)));
  return `${printable(step)}  ${done}${total > 0 ? ` of ${total} (${percent} %)` : ""}`;
}
