// Databases that the Python original wrote, and its answers about them. Opening one writes to it, so each test gets a copy.
import { copyFileSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { tempDirectory } from "../fakes/temp-directory.ts";
import { goldenDirectory } from "./vectors.ts";

/** `sessions-db` is a home of June's original (schema 16), `sessions-db-v30` one of today's. */
export type Folder = "sessions-db" | "sessions-db-v30";

const directory = join(goldenDirectory, "sessions-db");

/** The answers in one file, or undefined (with a line that says so) where the folder is absent. */
export function readAnswers<T>(name: string, folder: Folder = "sessions-db"): T | undefined {
  const path = join(goldenDirectory, folder, name);
  if (existsSync(path)) return JSON.parse(readFileSync(path, "utf8")) as T;
  console.warn(`No golden answers at ${path}: skipped.`);
  return undefined;
}

/** Names of the databases of older revisions, `old-v6` and the like. */
export function oldDatabases(): string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory)
    .filter((name) => /^old-v\d+\.db$/.test(name))
    .map((name) => name.slice(0, -".db".length));
}

/** The path of a copy that this test may write to. */
export function copyOf(name: string, folder: Folder = "sessions-db"): string {
  const path = join(tempDirectory(), name);
  copyFileSync(join(goldenDirectory, folder, name), path);
  return path;
}

/** The original's keyword arguments under the names of ours: `order_by_last_active` is `orderByLastActive`. */
export function toOptions<T>(args: Readonly<Record<string, unknown>>): T {
  return Object.fromEntries(
    Object.entries(args).map(([name, value]) => [
      name.replace(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase()),
      value,
    ]),
  ) as T;
}

/** Those columns of each row that the original's answer shows. */
export function columnsOf(rows: readonly object[], expected: readonly object[]): object[] {
  return rows.map((row, index) => {
    const names = new Set(Object.keys(expected[index] ?? row));
    // Whether a row stands for a whole lineage is part of every answer.
    names.add("_lineage_root_id");
    return Object.fromEntries(Object.entries(row).filter(([name]) => names.has(name)));
  });
}
