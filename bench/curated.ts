// A durable add against the bare floor: write a temporary file, fsync, rename, fsync the directory, for the same bytes,
// in the same run and on the same disk. The two take turns in short blocks, so that a busy disk slows both.
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
import { MemoryStore } from "../src/index.ts";
import { run as runScanner } from "./scanner.ts";
import { median, quantile, round } from "./statistics.ts";

const BLOCK = 20;

export async function run(flags: Readonly<Record<string, string>>): Promise<Record<string, unknown>> {
  const rounds = Number(flags.rounds ?? 1000);
  const warmUp = 4000; // long enough for the compiler to have seen the path
  const root = mkdtempSync(join(flags.dir ?? tmpdir(), "hermes-bench-"));
  try {
    const floorMs: number[] = [];
    const addMs: number[] = [];
    const dir = join(root, "memories");
    const store = new MemoryStore({ dir });
    await store.load();
    for (let i = 0; i < rounds + warmUp; i += 1) {
      const isBlockEnd = i % BLOCK === BLOCK - 1;
      const took = await timeAdd(store, i);
      if (i >= warmUp) addMs.push(took);
      if (!isBlockEnd) continue;
      const bytes = readFileSync(join(dir, "MEMORY.md"));
      for (let k = 0; k < BLOCK; k += 1) {
        const floor = bareWrite(root, bytes);
        if (i >= warmUp) floorMs.push(floor);
      }
    }
    const scanner = flags.scanner === "false" ? {} : { scanner: await runScanner({}) };
    return {
      bench: "curated",
      rounds,
      add_ms: { median: round(median(addMs), 4), p95: round(quantile(addMs, 0.95), 4) },
      floor_ms: { median: round(median(floorMs), 4), p95: round(quantile(floorMs, 0.95), 4) },
      ratio: round(median(addMs) / median(floorMs), 3),
      ...scanner,
    };
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/** Milliseconds. About 20 short notes in a file of ordinary size; the oldest goes when the next would not fit. */
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
