// Session databases for suites that open hundreds of them: each test gets its own copy of a file that was prepared once. A new file costs
// about five times as much to open as a copy (schema, index, journal mode).
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, onTestFinished } from "vitest";

/** Call it outside of tests; what it returns gives the path of a new copy, gone after the test. */
export function copiesOf(prepare: (path: string) => Promise<void>): () => Promise<string> {
  const original = join(newDirectory(), "state.db");
  afterAll(() => rmSync(join(original, ".."), { recursive: true, force: true }));
  let prepared: Promise<void> | undefined;
  return async () => {
    prepared ??= prepare(original);
    await prepared;
    if (existsSync(`${original}-wal`))
      throw new Error(`${original} is still open: its log would not be copied`);
    const directory = newDirectory();
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const path = join(directory, "state.db");
    copyFileSync(original, path);
    return path;
  };
}

function newDirectory(): string {
  return mkdtempSync(join(tmpdir(), "hermes-test-"));
}
