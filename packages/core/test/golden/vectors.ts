// Reads the vectors that the Python original produced: those in this folder, or another set in the folder that HERMES_GOLDEN names.
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "../../../..");

export const goldenDirectory = resolve(root, process.env.HERMES_GOLDEN ?? import.meta.dirname);

/** Scripts that do to a database, with Python's SQLite, what June's Hermes and today's would. */
export const referenceReplay = join(import.meta.dirname, "reference_replay.py");
export const referenceReplay30 = join(import.meta.dirname, "reference_replay_v30.py");

/** The cases of one file, or undefined (with a line that says so) where another set lacks the file. */
export function readVectors<T>(name: string): T[] | undefined {
  const path = join(goldenDirectory, name);
  if (!existsSync(path)) {
    console.warn(`No golden vectors at ${path}: skipped.`);
    return undefined;
  }
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as T);
}
