// The terminal of the process, for a chat: single keys, pasted text as a whole, output on stdout.
import { createInterface, emitKeypressEvents } from "node:readline";
import { PassThrough } from "node:stream";
import { setTimeout } from "node:timers/promises";
import type { Size } from "../printing.ts";
import type { EditorKey } from "./editor.ts";

export type TtyEvent =
  | EditorKey
  | { readonly kind: "resize" }
  /** The process was suspended and continues; another program may have used the terminal. */
  | { readonly kind: "resumed" }
  /** The terminal is gone, or the process was told to end. */
  | { readonly kind: "end" };

export type Tty = {
  size(): Size;
  write(text: string): void;
  /**
   * Reports keys from now on. Keys that arrive together are reported together, so that a long text is drawn once. Resolves when keys
   * pressed earlier have been reported.
   */
  open(onEvents: (events: readonly TtyEvent[]) => void): Promise<void>;
  /** Ctrl-Z. */
  suspend(): void;
  /** Restores the terminal. Calling it twice is harmless. */
  close(): void;
};

/** How long an Esc waits for the rest of an arrow key, as in the picker. */
const ESCAPE_MS = 60;
/** Text typed earlier arrives at once: a few rounds of the event loop are enough. */
const TYPED_AHEAD_MS = 20;
const PASTE_ON = "\u001b[?2004h";
const PASTE_OFF = "\u001b[?2004l";
const SHOW_CURSOR = "\u001b[?25h";

export function systemTty(): Tty {
  const { stdin, stdout, stderr } = process;
  const canSuspend = process.platform !== "win32";
  let isGone = false;
  let closed: (() => void) | undefined;
  const write = (text: string): void => void (isGone || stdout.write(text));
  const enter = (): void => {
    stdin.setRawMode(true);
    write(PASTE_ON);
  };
  const leave = (): void => {
    if (isGone) return;
    write(`${PASTE_OFF}${SHOW_CURSOR}`);
    stdin.setRawMode(false);
  };
  const open = async (onEvents: (events: readonly TtyEvent[]) => void): Promise<void> => {
    let isEarly = true;
    const tell = batched(onEvents);
    const timing = createInterface({ input: new PassThrough(), escapeCodeTimeout: ESCAPE_MS }); // only carries the timeout
    const onKey = keyReader(tell, () => isEarly);
    const onResize = (): void => tell({ kind: "resize" });
    const onTerminated = (): void => tell({ kind: "end" });
    const onGone = (): void => {
      isGone = true; // a write would fail and end the process before the session is closed
      tell({ kind: "end" });
    };
    const onContinue = (): void => {
      enter();
      tell({ kind: "resumed" });
    };
    emitKeypressEvents(stdin, timing);
    enter();
    stdin.on("keypress", onKey).on("end", onGone).on("error", onGone).resume();
    stdout.on("resize", onResize);
    // In other commands a failed write ends the process; here the session has to be closed first.
    const others = stdout.listeners("error") as ((cause: Error) => void)[];
    for (const other of others) stdout.off("error", other);
    stdout.on("error", onGone);
    stderr.on("error", () => {}); // the terminal is gone: nothing can be reported
    process.on("SIGTERM", onTerminated).on("SIGHUP", onGone).once("exit", leave);
    if (canSuspend) process.on("SIGCONT", onContinue);
    closed = () => {
      stdin.off("keypress", onKey).off("end", onGone).pause(); // the error listener stays: an error may still come
      stdout.off("resize", onResize);
      if (!isGone) {
        stdout.off("error", onGone);
        for (const other of others) stdout.on("error", other);
      }
      process
        .off("SIGTERM", onTerminated)
        .off("SIGHUP", onGone)
        .off("exit", leave)
        .off("SIGCONT", onContinue);
      timing.close();
      leave();
    };
    await setTimeout(TYPED_AHEAD_MS);
    isEarly = false;
  };
  return {
    size: () => ({ columns: stdout.columns || 80, rows: stdout.rows || 24 }),
    write,
    open,
    suspend: () => {
      if (!canSuspend) return;
      leave();
      process.kill(process.pid, "SIGTSTP");
      enter(); // without job control the process was not stopped
    },
    close: () => {
      closed?.();
      closed = undefined;
    },
  };
}

/** Collects the events of one chunk of input into one list. */
function batched(onEvents: (events: readonly TtyEvent[]) => void): (event: TtyEvent) => void {
  let waiting: TtyEvent[] | undefined;
  return (event) => {
    if (waiting) waiting.push(event);
    else {
      waiting = [event];
      queueMicrotask(() => {
        const events = waiting ?? [];
        waiting = undefined;
        onEvents(events);
      });
    }
  };
}

type Key = {
  readonly name?: string | undefined;
  readonly sequence?: string | undefined;
  readonly ctrl?: boolean;
  readonly meta?: boolean;
};

/**
 * Converts Node's key events. Between the marks of a paste everything is text. Before raw mode the terminal turned Enter into a newline,
 * so a newline typed early is Enter, and a later one is Ctrl-J.
 */
export function keyReader(
  onEvent: (event: EditorKey) => void,
  isEarly: () => boolean,
): (text: string | undefined, key: Key) => void {
  let pasted: string[] | undefined;
  return (text, { name, sequence, ctrl, meta }) => {
    if (name === "paste-start") pasted = [];
    else if (name === "paste-end") {
      const whole = pasted?.join("") ?? "";
      pasted = undefined;
      if (whole !== "") onEvent({ kind: "paste", text: whole });
    } else if (pasted !== undefined) pasted.push(sequence ?? text ?? "");
    else {
      onEvent({
        kind: "key",
        name: name === "enter" && isEarly() ? "return" : name,
        text,
        isCtrl: ctrl === true,
        isMeta: meta === true,
      });
    }
  };
}
