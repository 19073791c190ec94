// A stand-in for `brv` 3.14.0, as far as the provider uses it. Seen with the real package (npm byterover-cli@3.14.0,
// Node 24, a daemon on loopback):
//  - `--format json` prints one object per line: {command, data, success, timestamp}; progress of `query` and `curate` has
//    data.event (thinking, toolCall, toolResult, response) and success true, the last line has data.status;
//  - no model provider connected: query and curate say {data: {error, status: "error"}, success: false}, exit code 0;
//  - no network: every command tries for 102 s, then says the same way that the daemon cannot be reached, exit code 0;
//  - only a lost connection to the daemon ends with exit code 1, bad flags with 2 (and nothing on stdout);
//  - `search` needs no model; {message, results: [{title, path, score, excerpt, ...}], totalFound, status}; it does not
//    create `.brv`, and without one it searches the nearest `.brv` of a directory above;
//  - `query` and `curate` create `.brv/config.json` and `.brv/context-tree` in the working directory, even when they fail;
//  - a `query` that finds nothing is completed, with a text that says so; every answer ends with the same footer;
//  - `--timeout` below 10 and `--limit` above 50 are refused; `status`, `providers` and `login` have no data.status;
//  - `providers` without one connected is a success with an empty providerId;
//  - the key of `login` is taken from the command line only; a warm call takes 0.9 s, most of it for starting;
//  - the daemon has a session of its own and does not hold the pipes of whoever started it.
import { spawn } from "node:child_process";
import { appendFileSync, existsSync, fstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { BrvCall, BrvMode, BrvPlan } from "../brv.ts";
import { answer, type Line } from "./commands.ts";

const root = process.env.BRV_STAND_IN ?? "";
const plan = JSON.parse(readFileSync(join(root, "plan.json"), "utf8")) as BrvPlan;
const argv = process.argv.slice(2);
const [command = ""] = argv;
const mode = plan.modes?.[command] ?? plan.mode ?? "normal";

/** For as long as the test's directory is there. */
const HOLD =
  "const fs = require('node:fs'); setInterval(() => fs.existsSync(process.argv[1]) || process.exit(), 100)";

const MODES: Readonly<Record<BrvMode, () => void | Promise<void>>> = {
  normal: run,
  noisy() {
    process.stdout.write("A new version is available!\n");
    run();
    process.stdout.write("\nTip: version control is available.\n");
  },
  async waiting() {
    while (!existsSync(join(root, "go"))) await new Promise((resolve) => setTimeout(resolve, 20));
    run();
  },
  /** Something that left the group keeps the pipes open. */
  held() {
    spawn(process.execPath, ["-e", HOLD, root], { stdio: "inherit", detached: true }).unref();
    run();
  },
  offline() {
    const isTask = ["query", "curate", "search"].includes(command);
    const error = "Failed to connect to the daemon.\nPort: 49152";
    say({ data: { error, ...(isTask ? { status: "error" } : {}) }, success: false });
  },
  lost() {
    say({ data: { event: "thinking", taskId: "t-1" }, success: true });
    say({ data: { error: "Daemon disconnected", status: "error" }, success: false });
    process.exitCode = 1;
  },
  half() {
    const content = "an answer that never got its last line";
    say({ data: { content, event: "response", taskId: "t-1" }, success: true });
    process.stdout.write('{"command":"query","success":true,"data":{"status":"completed","result":"cut o');
  },
  text() {
    process.stdout.write("\nThe database port is 5433, says an older version.\n");
  },
  quiet() {},
  crash() {
    process.stderr.write("\nsomething broke\n\nSee more help with --help\n");
    process.exitCode = 3;
  },
  hang() {
    setInterval(() => {}, 1000);
  },
  async flood() {
    for (;;) if (!process.stdout.write("x".repeat(65_536))) await drained();
  },
};

// A test that was broken off leaves nothing running.
const parent = process.ppid;
setInterval(() => process.ppid === parent || process.exit(9), 200).unref();
const child = mode === "hang" ? spawn(process.execPath, ["-e", HOLD, root], { stdio: "inherit" }) : undefined;
record(child?.pid);
await MODES[mode]();

function run(): void {
  const { lines, plain } = answer(argv, plan);
  for (const line of lines) say(line);
  if (plain === undefined) return;
  (plain.code === 2 ? process.stderr : process.stdout).write(plain.text);
  process.exitCode = plain.code;
}

function say({ data, success }: Line): void {
  process.stdout.write(
    `${JSON.stringify({ command, data, success, timestamp: new Date().toISOString() })}\n`,
  );
}

function drained(): Promise<void> {
  return new Promise((resolve) => process.stdout.once("drain", resolve));
}

function record(childPid: number | undefined): void {
  const call: BrvCall = {
    argv,
    cwd: process.cwd(),
    path: process.env.PATH ?? "",
    stdin: fstatSync(0).isCharacterDevice() && readFileSync(0).length === 0 ? "closed" : "open",
    pid: process.pid,
    childPid,
  };
  appendFileSync(join(root, "calls.jsonl"), `${JSON.stringify(call)}\n`);
}
