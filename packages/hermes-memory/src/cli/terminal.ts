// The real terminal: results on stdout, everything else on stderr, colour only on a terminal.
import { isUtf8 } from "node:buffer";
import { once } from "node:events";
import { Cancelled, CommandFailure, type Paint, type Style, type Terminal } from "./command.ts";

const CODES: Record<Style, readonly [number, number]> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
};

const EXIT_INTERRUPTED = 130;
/** Time that a provider gets to close its handles after the command. */
const GRACE_MS = 1000;

/**
 * `interrupt` handles Ctrl-C: it aborts work that can be aborted, or ends the process. `reported` is called after the outcome is
 * printed: only then may the process end without waiting.
 */
export function systemTerminal(): Terminal & {
  readonly interrupt: () => void;
  readonly reported: () => void;
} {
  const { stdin, stdout, stderr, env } = process;
  const isInteractive = Boolean(stdin.isTTY && stderr.isTTY);
  let stoppable: AbortController | undefined;
  let mayEndWithoutWaiting = false;
  const wizard = (): Promise<typeof import("./wizard.ts")> => {
    if (!isInteractive) throw new Cancelled("end");
    return import("./wizard.ts");
  };
  return {
    env,
    isInteractive,
    isOutTerminal: Boolean(stdout.isTTY),
    paint: painter(wantsColour(env, Boolean(stdout.isTTY))),
    noteColumns: stderr.isTTY ? stderr.columns : undefined,
    canDraw: isInteractive && env.TERM !== "dumb",
    out: (text) => void stdout.write(text),
    note: (text) => void stderr.write(text),
    drained: async () => {
      if (stdout.writableNeedDrain) await once(stdout, "drain");
    },
    readInput: async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of stdin) chunks.push(Buffer.from(chunk as Uint8Array));
      const bytes = Buffer.concat(chunks);
      if (!isUtf8(bytes)) throw new CommandFailure("The input is not valid UTF-8 text.", { exitCode: 2 });
      return bytes.toString("utf8");
    },
    inputChunks: () => stdin,
    interrupt: () => {
      if (stoppable === undefined || stoppable.signal.aborted) process.exit(EXIT_INTERRUPTED);
      stoppable.abort();
    },
    untilInterrupted: async (work) => {
      stoppable = new AbortController();
      try {
        return await work(stoppable.signal);
      } finally {
        stoppable = undefined;
      }
    },
    ask: async (question, options) => (await wizard()).ask(question, options),
    choose: async (choice) => (await wizard()).choose(choice),
    endWithoutWaiting: () => {
      mayEndWithoutWaiting = true;
    },
    reported: () => {
      // Unreferenced: fires only if another handle keeps the process alive.
      if (mayEndWithoutWaiting) setTimeout(() => process.exit(), GRACE_MS).unref();
    },
    confirm: async (question, { short = false } = {}) => {
      if (!isInteractive) return false;
      const { createInterface } = await import("node:readline/promises");
      const prompt = createInterface({ input: stdin, output: stderr });
      prompt.once("SIGINT", () => process.kill(process.pid, "SIGINT")); // readline would swallow it
      try {
        // At the end of input `question` alone would wait for ever.
        const ended = new Promise<string>((resolve) => prompt.once("close", () => resolve("")));
        const asked = `${question} ${short ? "[y/N]" : "Type 'yes' to go on:"} `;
        const answer = (await Promise.race([prompt.question(asked), ended])).trim().toLowerCase();
        return answer === "yes" || (short && answer === "y");
      } finally {
        prompt.close();
      }
    },
  };
}

/** NO_COLOR wins, then FORCE_COLOR; otherwise only on a terminal that can show colours. */
export function wantsColour(env: Terminal["env"], isTerminal: boolean): boolean {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR && env.FORCE_COLOR !== "0") return true;
  return isTerminal && env.TERM !== "dumb";
}

export function painter(isOn: boolean): Paint {
  if (!isOn) return (_style, text) => text;
  return (style, text) => {
    const [on, off] = CODES[style];
    return `\u001b[${on}m${text}\u001b[${off}m`;
  };
}
