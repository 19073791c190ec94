// A process with nothing but a background child that hangs. It says the child's id and should end at once.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runChild } from "../../../src/providers/bundled/byterover/child.ts";

const cwd = mkdtempSync(join(tmpdir(), "hermes-test-"));
const script = "require('node:fs').writeFileSync('pid', String(process.pid)); setTimeout(() => {}, 60_000)";
void runChild({
  command: process.execPath,
  args: ["-e", script],
  cwd,
  env: {},
  timeoutMs: 600_000,
  outputBytes: 1_000,
  isBackground: true,
});
const pid = () => (existsSync(join(cwd, "pid")) ? readFileSync(join(cwd, "pid"), "utf8") : "");
while (pid() === "") await new Promise((resolve) => setTimeout(resolve, 10));
console.log(pid());
rmSync(cwd, { recursive: true });
