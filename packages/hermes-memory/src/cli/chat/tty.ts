// The process's own terminal for a chat: keys one by one, pasted text as a whole, output on stdout.
import { createInterface, emitKeypressEvents } from "node:readline";
import { PassThrough } from "node:stream";
import { setTimeout } from "node:timers/promises";
import type { Size } from "../screen.ts";
import type { EditorKey } from "./editor/state.ts";

export type TtyEvent =
  | EditorKey
  | { readonly kind: "resize" }
  /** Somebody else used the terminal: the process was suspended and is back. */
  | { readonly kind: "resumed" }
  /** The terminal is gone, or we were asked to end. */
  | { readonly kind: "end" };

export type Tty = {
  size(): Size;
  write(text: string): void;
  /**
   * Keys are told from now on, those that come together in one go: a long text is then drawn once and not letter by letter.
   * Resolves when those that were pressed before have been told.
   */
  open(onEvents: (events: readonly TtyEvent[]) => void): Promise<void>;
  /** Ctrl-Z. */
  suspend(): void;
  /** Gives the terminal back as it was. Harmless when done twice. */
  close(): void;
};

/** As in the picker: how long an Esc waits for the rest of an arrow key. */
const ESCAPE_MS = 60;
/** What was typed before we listened comes right away; a few rounds of the event loop are enough. */
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
    const tell = together(onEvents);
    const timing = createInterface({ input: new PassThrough(), escapeCodeTimeout: ESCAPE_MS }); // carries the setting only
    const onKey = keyReader(tell, () => isEarly);
    const onResize = (): void => tell({ kind: "resize" });
    const onTerminated = (): void => tell({ kind: "end" });
    const onGone = (): void => {
      isGone = true; // writing would fail now, and end the process before the session is closed
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
    // Elsewhere output that cannot be written ends the process; here the session has to be closed first.
    const others = stdout.listeners("error") as ((cause: Error) => void)[];
    for (const other of others) stdout.off("error", other);
    stdout.on("error", onGone);
    stderr.on("error", () => {}); // of a terminal that is gone; there is nobody to tell
    process.on("SIGTERM", onTerminated).on("SIGHUP", onGone).once("exit", leave);
    if (canSuspend) process.on("SIGCONT", onContinue);
    closed = () => {
      stdin.off("keypress", onKey).off("end", onGone).pause(); // an error may still come, and is no news
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
      enter(); // where nobody could continue us, we were not stopped
    },
    close: () => {
      closed?.();
      closed = undefined;
    },
  };
}

/** What is told before the current piece of input has been gone through comes as one list. */
function together(onEvents: (events: readonly TtyEvent[]) => void): (event: TtyEvent) => void {
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
 * Node's key events as ours. Between the marks of a paste nothing is a key. As long as the terminal waited for whole lines it
 * made a newline of Enter: one that was typed early is Enter, a later one is Ctrl-J.
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
