// Turns the folder of a fixture into a home folder as the product would leave it. Text in the repository, real files on disk.
import { cp, mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { zstdCompressSync } from "node:zlib";
import { zipped } from "./zip-writer.ts";

const FIXTURES = join(import.meta.dirname, "fixtures");

/** One time for all files, so that times taken from files are the same on every machine. */
const WRITTEN = new Date("2026-09-01T12:00:00Z");

/**
 * `fixtures/<name>/home` is copied to `target`. On the way `x.db.sql` becomes the database `x.db`, `x.zst.txt` the compressed file `x.zst`
 * and the folder `x.zip.d` the archive `x.zip`. `dot-x` becomes `.x`.
 */
export async function makeFixtureHome(name: string, target: string): Promise<void> {
  await mkdir(target, { recursive: true });
  await cp(join(FIXTURES, name, "home"), target, { recursive: true });
  await convert(target);
}

async function convert(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    if ((await stat(path)).isDirectory()) await convert(path);
    const result = await converted(path);
    const visible = basename(result).replace(/^dot-/, ".");
    const final = join(folder, visible);
    if (final !== result) await rename(result, final);
    await utimes(final, WRITTEN, WRITTEN);
  }
}

/** The path of what the file became. */
async function converted(path: string): Promise<string> {
  const target = path.replace(/\.(?:sql|txt|d)$/, "");
  if (path.endsWith(".sql")) {
    const database = new DatabaseSync(target);
    database.exec(await readFile(path, "utf8"));
    database.close();
  } else if (path.endsWith(".zst.txt")) await writeFile(target, zstdCompressSync(await readFile(path)));
  else if (path.endsWith(".zip.d")) await writeFile(target, await zipped(path));
  else return path;
  await rm(path, { recursive: true });
  return target;
}
