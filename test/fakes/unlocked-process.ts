// Child process: uses every kind of lock where locks do not work, prints what it got.
import { join } from "node:path";
import { tryWithFileLocks, withFileLockSync, withFileLocks } from "../../src/lib/index.ts";

const path = join(process.argv[2] ?? "", "a.lock");
const warnings: string[] = [];
const options = { timeoutMs: 10, onUnsupported: (reason: string) => void warnings.push(reason) };
const outcomes = [
  tryWithFileLocks([path], options, () => 1),
  await withFileLocks([path], options, () => 2),
  withFileLockSync(path, options, () => 3),
];
const values = outcomes.map((outcome) => (outcome.ok ? outcome.value : outcome.error.kind));
console.log(JSON.stringify({ values, warnings: warnings.length, reason: warnings[0] }));
