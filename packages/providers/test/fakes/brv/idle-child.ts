// A process with only a child that hangs. It prints the child's id. With the child in the background it should end at once; with `awaited`
// it exits like an interrupted command.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runChild } from "../../../../core/src/providers/kit/child-process.ts";

const isAwaited = process.argv[2] === "awaited";
const cwd = mkdtempSync(join(tmpdir(), "hermes-test-"));
const script = "require('node:fs').writeFileSync('pid', String(process.pid)); setTimeout(() => {}, 60_000)";
void runChild({
  command: process.execPath,
  args: ["-e", script],
  cwd,
  env: {},
  timeoutMs: 600_000,
  outputBytes: 1_000,
  isBackground: !isAwaited,
});
const pid = () => (existsSync(join(cwd, "pid")) ? readFileSync(join(cwd, "pid"), "utf8") : "");
while (pid() === "") await new Promise((resolve) => setTimeout(resolve, 10));
console.log(pid());
rmSync(cwd, { recursive: true });
if (isAwaited) process.exit(0);
