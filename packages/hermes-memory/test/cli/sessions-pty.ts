// The command line in a real pseudo terminal, through the one that comes with Python.
import { spawn, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

type Step = {
  /** Text that has to appear on the terminal before this step is done. */
  readonly until: string;
  readonly send?: string;
  readonly resize?: { readonly columns: number; readonly rows: number };
};

export type TerminalRun = {
  readonly home: string;
  readonly steps: readonly Step[];
  readonly size?: { readonly columns: number; readonly rows: number };
  readonly env?: Readonly<Record<string, string>>;
};

export type TerminalOutcome = {
  readonly output: string;
  readonly code: number;
  /** The terminal echoes and waits for whole lines again. */
  readonly isRestored: boolean;
};

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

export function hasPty(): boolean {
  return spawnSync("python3", ["-c", "import pty, fcntl, termios"]).status === 0;
}

export function inTerminal(args: readonly string[], run: TerminalRun): Promise<TerminalOutcome> {
  const { home, steps, size = { columns: 100, rows: 24 }, env = {} } = run;
  const task = {
    command: [process.execPath, MAIN, ...args],
    env: { PATH: process.env.PATH ?? "", TERM: "xterm-256color", HERMES_HOME: home, ...env },
    steps,
    size,
  };
  return new Promise((resolve, reject) => {
    const child = spawn("python3", ["-c", PLAYER], { stdio: ["pipe", "pipe", "pipe"] });
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => stdout.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => stderr.push(chunk));
    child.on("error", reject);
    child.on("close", (code) => {
      if (code !== 0) reject(new Error(Buffer.concat(stderr).toString("utf8")));
      else resolve(JSON.parse(Buffer.concat(stdout).toString("utf8")) as TerminalOutcome);
    });
    child.stdin.end(JSON.stringify(task));
  });
}

// Plays the steps on the other side of the terminal. If the text of a step never appears, the test fails with the output.
const PLAYER = `
import fcntl, json, os, pty, select, struct, sys, termios, time

task = json.load(sys.stdin)

def resize(fd, size):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", size["rows"], size["columns"], 0, 0))

master, slave = pty.openpty()
resize(master, task["size"])
before = termios.tcgetattr(slave)
pid = os.fork()
if pid == 0:
    os.close(master)
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for fd in (0, 1, 2):
        os.dup2(slave, fd)
    os.execve(task["command"][0], task["command"], task["env"])

output = b""
seen = 0
steps = list(task["steps"])
deadline = time.monotonic() + 25
status = None
while True:
    if steps:
        at = output.find(steps[0]["until"].encode(), seen)
        if at >= 0:
            step = steps.pop(0)
            seen = len(output)
            if "resize" in step:
                resize(master, step["resize"])
            if "send" in step:
                os.write(master, step["send"].encode())
            continue
    readable, _, _ = select.select([master], [], [], 0.05)
    if readable:
        output += os.read(master, 65536)
    elif status is not None:
        break
    if status is None:
        done, code = os.waitpid(pid, os.WNOHANG)
        if done:
            status = code
    if time.monotonic() > deadline:
        os.kill(pid, 9)
        sys.exit("timed out before %r; the terminal showed %r" % (steps[:1], output[-2000:]))
if steps:
    sys.exit("ended before %r; the terminal showed %r" % (steps[0], output[-2000:]))
after = termios.tcgetattr(slave)
print(json.dumps({
    "output": output.decode("utf-8", "replace"),
    "code": os.waitstatus_to_exitcode(status),
    "isRestored": after[3] == before[3],
}))
`;
