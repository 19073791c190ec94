// Reads the vectors that the Python original produced. They live outside the repository.
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "../../../..");

export const goldenDirectory = resolve(root, process.env.HERMES_GOLDEN ?? "../shared/golden");

/** The cases of one file, or undefined (with a line that says so) where the folder is absent. */
export function readVectors<T>(name: string): T[] | undefined {
  const path = join(goldenDirectory, name);
  if (!existsSync(path)) {
    console.warn(`No golden vectors at ${path}: skipped. Set HERMES_GOLDEN to the folder that holds them.`);
    return undefined;
  }
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as T);
}
