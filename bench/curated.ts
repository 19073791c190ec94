// A durable add compared with the least that any durable write does: write a temporary file with the same bytes, fsync, rename, fsync
// the directory. The two alternate in short blocks on the same disk, so that a busy disk slows both.
import {
  closeSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemoryStore } from "../packages/hermes-memory/src/index.ts";
import { run as runScanner } from "./scanner.ts";
import { median, quantile, round } from "./statistics.ts";

const BLOCK = 20;

/** These first rounds are not counted: they load code and fill caches. */
const FIRST = 60;

export async function run(flags: Readonly<Record<string, string>>): Promise<Record<string, unknown>> {
  const rounds = Number(flags.rounds ?? 1000);
  const warmUp = Number(flags["warm-up"] ?? 4000);
  const root = mkdtempSync(join(flags.dir ?? tmpdir(), "hermes-bench-"));
  try {
    const { early, steady } = await measureAll(root, rounds, warmUp);
    const scanner = flags.scanner === "false" ? {} : { scanner: await runScanner({}) };
    // Two figures, because the compiler needs a few thousand writes to optimise this path: `early` is for a short-lived process, the
    // other for one that runs for long.
    return {
      bench: "curated",
      rounds,
      warm_up: warmUp,
      ...summary(steady),
      early: summary(early),
      ...scanner,
    };
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

type Times = { readonly addMs: number[]; readonly floorMs: number[] };

async function measureAll(
  root: string,
  rounds: number,
  warmUp: number,
): Promise<{ early: Times; steady: Times }> {
  const early: Times = { addMs: [], floorMs: [] };
  const steady: Times = { addMs: [], floorMs: [] };
  const dir = join(root, "memories");
  const store = new MemoryStore({ dir });
  await store.load();
  for (let i = 0; i < warmUp + rounds; i += BLOCK) {
    const times = i >= warmUp ? steady : i >= FIRST && i < FIRST + 400 ? early : undefined;
    for (let k = 0; k < BLOCK; k += 1) {
      const took = await timeAdd(store, i + k);
      times?.addMs.push(took);
    }
    const bytes = readFileSync(join(dir, "MEMORY.md"));
    for (let k = 0; k < BLOCK; k += 1) {
      const took = bareWrite(root, bytes);
      times?.floorMs.push(took);
    }
  }
  return { early, steady };
}

function summary({ addMs, floorMs }: Times): Record<string, unknown> {
  const figures = (values: readonly number[]) => ({
    median: round(median(values), 4),
    p95: round(quantile(values, 0.95), 4),
  });
  return {
    add_ms: figures(addMs),
    floor_ms: figures(floorMs),
    ratio: round(median(addMs) / median(floorMs), 3),
  };
}

/** Milliseconds. The file has about 20 short notes; the oldest is removed when the next one would not fit. */
async function timeAdd(store: MemoryStore, i: number): Promise<number> {
  const usage = store.usage("memory");
  if (usage.used > usage.limit - 120) {
    const oldest = store.entries("memory")[0] as string;
    await store.apply("memory", { action: "remove", oldText: oldest });
  }
  const content = `Note ${i}: the workshop laptop runs Fedora with zsh, deploys go through make ship, review first`;
  const startedAt = performance.now();
  const outcome = await store.apply("memory", { action: "add", content });
  const took = performance.now() - startedAt;
  if (!outcome.ok) throw new Error(outcome.error.message);
  return took;
}

/** Milliseconds. */
function bareWrite(directory: string, bytes: Uint8Array): number {
  const temp = join(directory, "floor.tmp");
  const startedAt = performance.now();
  const file = openSync(temp, "w", 0o600);
  writeSync(file, bytes);
  fsyncSync(file);
  closeSync(file);
  renameSync(temp, join(directory, "floor"));
  const folder = openSync(directory, "r");
  fsyncSync(folder);
  closeSync(folder);
  return performance.now() - startedAt;
}
