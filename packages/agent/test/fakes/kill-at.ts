// Preloaded into a child process: kills it (kill -9) in place of the nth call that changes a file. KILL_AT is n; 0 kills nothing.
// KILL_ON names the only function that counts, such as `renameSync`.
// With KILL_COUNT the number of such calls is written to that file when the process ends.
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const CHANGING = [
  "openSync",
  "writeSync",
  "fsyncSync",
  "renameSync",
  "unlinkSync",
  "rmSync",
  "rmdirSync",
  "mkdirSync",
  "appendFileSync",
  "writeFileSync",
] as const;

const killAt = Number(process.env.KILL_AT ?? 0);
const countFile = process.env.KILL_COUNT;
let calls = 0;
const { writeFileSync } = fs;
const changeable = fs as unknown as Record<string, (...args: unknown[]) => unknown>;
for (const name of CHANGING.filter((each) => (process.env.KILL_ON ?? each) === each)) {
  const original = fs[name] as (...args: unknown[]) => unknown;
  changeable[name] = (...args) => {
    const isReading =
      name === "openSync" && (args[1] === undefined || args[1] === "r" || typeof args[1] === "number");
    if (!isReading) {
      calls += 1;
      if (calls === killAt) process.kill(process.pid, "SIGKILL");
    }
    return original(...args);
  };
}
syncBuiltinESMExports();
process.on("exit", () => {
  if (countFile !== undefined) writeFileSync(countFile, String(calls));
});
