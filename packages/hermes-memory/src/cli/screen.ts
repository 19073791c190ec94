// The whole terminal, for a picker: single keys, and a picture on stderr's alternate screen that disappears afterwards.
import { createInterface, emitKeypressEvents } from "node:readline";
import { PassThrough } from "node:stream";

export type Size = { readonly columns: number; readonly rows: number };

export type ScreenEvent =
  | {
      readonly kind: "key";
      /** `up`, `pagedown`, `return`, `a`; undefined for a character without a key name. */
      readonly name?: string | undefined;
      /** The character that the key types. */
      readonly text?: string | undefined;
      readonly isCtrl?: boolean;
      readonly isMeta?: boolean;
    }
  | ({ readonly kind: "resize" } & Size)
  /** The terminal was closed. */
  | { readonly kind: "end" };

export type OpenScreen = {
  /** Shows these lines, one per row of the terminal. */
  draw(lines: readonly string[]): void;
  /** Restores the terminal. */
  close(): void;
};

export type Screen = {
  size(): Size;
  open(onEvent: (event: ScreenEvent) => void): Promise<OpenScreen>;
};

const ENTER = "\u001b[?1049h\u001b[?25l"; // alternate screen, no cursor
const LEAVE = "\u001b[?25h\u001b[?1049l";
/** How long an Esc waits for the rest of an arrow key. Node's default of 500 ms feels like a hang. */
const ESCAPE_MS = 60;

export function openScreen(onEvent: (event: ScreenEvent) => void): OpenScreen {
  const { stdin, stderr } = process;
  const timing = createInterface({ input: new PassThrough(), escapeCodeTimeout: ESCAPE_MS }); // only carries the timeout
  const onKey = (text: string | undefined, key: Key): void => onEvent(keyEvent(text, key));
  const onResize = (): void => onEvent({ kind: "resize", columns: stderr.columns, rows: stderr.rows });
  const onEnd = (): void => onEvent({ kind: "end" });
  emitKeypressEvents(stdin, timing);
  stdin.setRawMode(true);
  stdin.on("keypress", onKey).on("end", onEnd).on("error", onEnd).resume();
  stderr.on("resize", onResize);
  stderr.write(ENTER);
  const restore = (): void => void stderr.write(LEAVE);
  process.once("exit", restore); // also after an error while the picture is shown
  return {
    draw: (lines) =>
      void stderr.write(`\u001b[H${lines.map((line) => `${line}\u001b[K`).join("\r\n")}\u001b[J`),
    close: () => {
      process.off("exit", restore);
      stdin.off("keypress", onKey).off("end", onEnd).off("error", onEnd).pause();
      stdin.setRawMode(false);
      stderr.off("resize", onResize);
      timing.close();
      restore();
    },
  };
}

type Key = { readonly name?: string | undefined; readonly ctrl?: boolean; readonly meta?: boolean };

function keyEvent(text: string | undefined, { name, ctrl, meta }: Key): ScreenEvent {
  return { kind: "key", name, text, isCtrl: ctrl === true, isMeta: meta === true };
}
