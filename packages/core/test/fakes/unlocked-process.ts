// Child process: uses every kind of lock, prints what it got and whom it was told the lock does not exclude.
import { join } from "node:path";
import { type LockGap, tryWithFileLocks, withFileLockSync, withFileLocks } from "../../src/lib/index.ts";

const path = join(process.argv[2] ?? "", "a.lock");
const gaps: (LockGap | undefined)[] = [];
const work =
  (value: number) =>
  (gap: LockGap | undefined): number => {
    gaps.push(gap);
    return value;
  };
const outcomes = [
  tryWithFileLocks([path], work(1)),
  await withFileLocks([path], { timeoutMs: 10 }, work(2)),
  withFileLockSync(path, { timeoutMs: 10 }, work(3)),
];
const values = outcomes.map((outcome) => (outcome.ok ? outcome.value : outcome.error.kind));
console.log(
  JSON.stringify({ values, gaps: gaps.map((gap) => gap?.missing ?? null), reason: gaps[0]?.reason }),
);
