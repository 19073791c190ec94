// Child process: takes the lock files named in its arguments, says so, and holds them until its input ends.
import { readSync } from "node:fs";
import { tryWithFileLocks } from "../../src/lib/index.ts";

const outcome = tryWithFileLocks(process.argv.slice(2), () => {
  console.log("held");
  try {
    readSync(0, Buffer.alloc(1)); // blocks: the work under a lock is synchronous
  } catch {
    // A closed pipe is an end as well.
  }
});
console.log(outcome.ok ? "released" : "busy");
