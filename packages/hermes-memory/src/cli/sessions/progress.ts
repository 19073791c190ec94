// Progress of long work: a bar on a terminal after half a second; with --verbose, lines where there is no terminal.
import type { Progress } from "@hermes-memory/core/internal/sessions";
import type { Terminal } from "../command.ts";
import { printable } from "../printing.ts";
import { cutToWidth } from "../text-layout.ts";

const QUIET_MS = 500;
const REDRAW_MS = 100;
const LINE_EVERY_MS = 3000;
const BAR_COLUMNS = 24;

export type ProgressDisplay = {
  /** `text` replaces the step and its count. */
  readonly show: (progress: Progress, text?: string) => void;
  /** Removes the bar before the result is printed. */
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
        io.note(`\r${progressBar(progress, columns, text)}\u001b[K`);
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
  const share = total > 0 ? ` of ${total} (${percentDone(done, total)} %)` : "";
  return `${printable(step)}  ${done}${share}`;
}

export function progressBar(progress: Progress, columns: number, text = progressText(progress)): string {
  const { done, total } = progress;
  const room = Math.min(BAR_COLUMNS, columns - 24);
  const filled = total > 0 ? Math.floor((percentDone(done, total) / 100) * room) : 0;
  const bar = room >= 8 && total > 0 ? `[${"#".repeat(filled)}${"-".repeat(room - filled)}] ` : "";
  return cutToWidth(`${bar}${text}`, columns - 1); // a text in the last column would wrap
}

function percentDone(done: number, total: number): number {
  return Math.max(0, Math.min(100, Math.floor((done / total) * 100)));
}
