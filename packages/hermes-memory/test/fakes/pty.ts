// The command line in a real pseudo terminal: what is on it can be awaited, keys can be pressed.
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import type { IPty } from "@lydell/node-pty";
import { onTestFinished } from "vitest";
import { NODE_COMPILE_CACHE } from "../../../core/test/fakes/compile-cache.ts";

export type PtyOptions = {
  readonly home: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly size?: { readonly columns: number; readonly rows: number };
};

export type Pty = {
  /** Resolves when the text is on the terminal behind what was awaited before. */
  waitFor(text: string): Promise<void>;
  send(keys: string): void;
  /** Waits for each text, then presses the keys beside it. */
  play(steps: readonly (readonly [until: string, keys: string])[]): Promise<void>;
  /** Everything written so far, control sequences included. */
  output(): string;
  /** The exit code. */
  ended(): Promise<number>;
};

export const KEYS = {
  enter: "\r",
  space: " ",
  escape: "\u001b",
  up: "\u001b[A",
  down: "\u001b[B",
  interrupt: "\u0003",
  endOfInput: "\u0004",
  clear: "\u0015",
} as const;

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
/** Runs its arguments, and says at the end that the terminal echoes and waits for whole lines as before. */
const CHECKED =
  'trap : INT; before=$(stty -g); "$@"; code=$?; [ "$before" = "$(stty -g)" ] && echo "modes restored"; exit $code';
const PATIENCE_MS = 20_000;

/** Undefined when there is a binary for this platform; otherwise the reason, for the name of what is skipped. */
export async function whyNoPty(): Promise<string | undefined> {
  try {
    await import("@lydell/node-pty");
    return undefined;
  } catch (cause) {
    return cause instanceof Error ? (cause.message.split("\n")[0] ?? "") : String(cause);
  }
}

export async function startInPty(args: readonly string[], options: PtyOptions): Promise<Pty> {
  const { spawn } = await import("@lydell/node-pty");
  const { home, env = {}, size = { columns: 100, rows: 24 } } = options;
  const child = spawn("/bin/sh", ["-c", CHECKED, "sh", process.execPath, MAIN, ...args], {
    name: env.TERM ?? "xterm-256color",
    cols: size.columns,
    rows: size.rows,
    // In the repository a chat would read its AGENTS.md into the prompt. A home that is not there yet is no place to start in.
    cwd: existsSync(home) ? home : tmpdir(),
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      HERMES_HOME: home,
      NODE_COMPILE_CACHE,
      NO_COLOR: "1",
      ...env,
    },
  });
  return watched(child);
}

function watched(child: IPty): Pty {
  let output = "";
  let seen = 0;
  let exitCode: number | undefined;
  let changed = Promise.withResolvers<void>();
  const wake = (): void => {
    changed.resolve();
    changed = Promise.withResolvers<void>();
  };
  child.onData((text) => {
    output += text;
    wake();
  });
  child.onExit((end) => {
    exitCode = end.signal ? 128 + end.signal : end.exitCode;
    wake();
  });
  onTestFinished(() => {
    if (exitCode === undefined) child.kill(process.platform === "win32" ? undefined : "SIGKILL");
  });

  /** Until `isThere`, or the process has ended, or patience has. */
  const until = async (isThere: () => boolean, what: string): Promise<void> => {
    const late = AbortSignal.timeout(PATIENCE_MS);
    const tooLate = new Promise<void>((resolve) => late.addEventListener("abort", () => resolve()));
    while (!isThere()) {
      if (late.aborted || exitCode !== undefined) {
        const why = late.aborted ? "Waited too long" : `Ended with ${exitCode}`;
        throw new Error(`${why} before ${what}; the terminal showed ${JSON.stringify(output.slice(-2000))}`);
      }
      await Promise.race([changed.promise, tooLate]);
    }
  };
  const waitFor = async (text: string): Promise<void> => {
    await until(() => output.includes(text, seen), JSON.stringify(text));
    seen = output.indexOf(text, seen) + text.length;
  };
  return {
    waitFor,
    send: (keys) => child.write(keys),
    play: async (steps) => {
      for (const [text, keys] of steps) {
        await waitFor(text);
        child.write(keys);
      }
    },
    output: () => output,
    ended: async () => {
      if (exitCode === undefined) await until(() => exitCode !== undefined, "its end");
      return exitCode ?? -1;
    },
  };
}
