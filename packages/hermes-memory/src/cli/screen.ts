// The whole terminal, for as long as something is chosen on it: keys one by one, and a picture on stderr that is gone
// afterwards.
import { createInterface, emitKeypressEvents } from "node:readline";
import { PassThrough } from "node:stream";

export type Size = { readonly columns: number; readonly rows: number };

export type ScreenEvent =
  | {
      readonly kind: "key";
      /** `up`, `pagedown`, `return`, `a`; undefined for a character that is no key of its own. */
      readonly name?: string | undefined;
      /** What the key types. */
      readonly text?: string | undefined;
      readonly isCtrl?: boolean;
      readonly isMeta?: boolean;
    }
  | ({ readonly kind: "resize" } & Size)
  /** Nothing more will be typed: the terminal is gone. */
  | { readonly kind: "end" };

export type OpenScreen = {
  /** Shows these lines, one per row of the terminal. */
  draw(lines: readonly string[]): void;
  /** Gives the terminal back as it was. */
  close(): void;
};

export type Screen = {
  size(): Size;
  open(onEvent: (event: ScreenEvent) => void): Promise<OpenScreen>;
};

const ENTER = "\u001b[?1049h\u001b[?25l"; // a screen of its own, no cursor
const LEAVE = "\u001b[?25h\u001b[?1049l";
/** How long an Esc waits for the rest of an arrow key. Node's own 500 ms feel like a hang. */
const ESCAPE_MS = 60;

export function openScreen(onEvent: (event: ScreenEvent) => void): OpenScreen {
  const { stdin, stderr } = process;
  const timing = createInterface({ input: new PassThrough(), escapeCodeTimeout: ESCAPE_MS }); // carries the setting only
  const onKey = (text: string | undefined, key: Key): void => onEvent(keyEvent(text, key));
  const onResize = (): void => onEvent({ kind: "resize", columns: stderr.columns, rows: stderr.rows });
  const onEnd = (): void => onEvent({ kind: "end" });
  emitKeypressEvents(stdin, timing);
  stdin.setRawMode(true);
  stdin.on("keypress", onKey).on("end", onEnd).on("error", onEnd).resume();
  stderr.on("resize", onResize);
  stderr.write(ENTER);
  const restore = (): void => void stderr.write(LEAVE);
  process.once("exit", restore); // also when something fails while the picture is up
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
