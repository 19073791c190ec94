// Temporary files of writers that were killed. A young one may belong to a program that does not know our lock.
import { statSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { namesIn } from "../../lib/index.ts";

const STALE_MS = 60_000;

export function sweepTemps(directory: string): void {
  for (const name of namesIn(directory).filter((each) => /^\..+\.tmp\./.test(each))) {
    const path = join(directory, name);
    try {
      if (Date.now() - statSync(path).mtimeMs > STALE_MS) unlinkSync(path);
    } catch {
      // Gone already.
    }
  }
}
