// The session store at real size: appending, size on disk, browsing and scrolling, compared with the floor (the same rows in bare
// tables, with the same durability, in the same run) and with the Python original.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { HermesError } from "@hermes-memory/core/internal/lib";
import { chooseCorpus } from "./store/corpus.ts";
import { floorTarget } from "./store/floor.ts";
import { fill } from "./store/phases.ts";
import { type Anchor, measureReads } from "./store/reads.ts";
import { report } from "./store/report.ts";
import { storeTarget } from "./store/session-store.ts";

export async function run(
  flags: Readonly<Record<string, string>>,
  lists: Readonly<Record<string, readonly string[]>>,
): Promise<Record<string, unknown>> {
  const corpus = await chooseCorpus(flags, lists.corpus);
  const kept = flags.db === undefined ? undefined : freshPath(flags.db);
  const root = mkdtempSync(join(kept === undefined ? tmpdir() : dirname(kept), "hermes-bench-"));
  try {
    const path = kept ?? join(root, "state.db");
    const anchors: Anchor[] = [];
    if (flags.beside !== undefined) makeAsToday(path, flags.beside);
    const ours = await fill(() => storeTarget(path, anchors), corpus, "store");
    const dbBytes = bytesOnDisk(path);
    const reads = await measureReads(path, anchors);
    const floorPath = join(root, "floor.db");
    const floor = await fill(() => floorTarget(floorPath), corpus, "floor");
    const isShared = flags.beside !== undefined;
    return report({ corpus, ours, dbBytes, reads, floor, floorBytes: bytesOnDisk(floorPath), isShared });
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/** `--beside SCRIPT`: the file was made by today's Hermes, which keeps its own indexes in it; the script stands in for Hermes. */
function makeAsToday(path: string, script: string): void {
  if (!existsSync(script))
    throw new HermesError("usage", `${script} does not exist.`, {
      hint: "Name the script that makes a database as today's Hermes does: --beside reference_replay_v30.py",
    });
  execFileSync("python3", [script, "create", path], { stdio: "ignore" });
}

/** Includes a write-ahead log that was left behind. */
function bytesOnDisk(path: string): number {
  return [path, `${path}-wal`].reduce(
    (sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}

function freshPath(given: string): string {
  const path = resolve(given);
  if (existsSync(path))
    throw new HermesError("usage", `${path} exists already.`, {
      hint: "The benchmark fills a new database and keeps it: name a file that is not there yet.",
    });
  mkdirSync(dirname(path), { recursive: true });
  return path;
}
