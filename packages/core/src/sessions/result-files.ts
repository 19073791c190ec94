// The files of tool results that were too long for their conversation: `<id>.txt`, one per result, private to their owner.
import { constants, type Stats } from "node:fs";
import { lstat, mkdir, open, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { errnoCode, namesIn, randomHex } from "../lib/index.ts";
import { RESULT_ID, resultIdFor } from "./result-notes.ts";

export type KeptFile = {
  readonly id: string;
  readonly path: string;
  readonly bytes: number;
  readonly modifiedMs: number;
};

const SUFFIX = ".txt";

export async function keepResult(
  directory: string,
  callId: string,
  text: string,
): Promise<{ readonly id: string; readonly path: string }> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const id = resultIdFor(callId, randomHex(4));
  const path = pathOf(directory, id);
  await writeFile(path, text, { flag: "wx", mode: 0o600 });
  return { id, path };
}

/** Undefined when it is not there any more, or is no file of ours: a link is not followed. */
export async function readKeptResult(directory: string, id: string): Promise<string | undefined> {
  if (!RESULT_ID.test(id)) return undefined;
  const path = pathOf(directory, id);
  if (!(await lookAt(path))?.isFile()) return undefined;
  // Windows has no such flag; the look before has to do there.
  await using file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
  return file.readFile("utf8");
}

/** Files of other names, directories and links in there are not ours. */
export async function listKeptFiles(directory: string): Promise<readonly KeptFile[]> {
  const found: KeptFile[] = [];
  for (const name of namesIn(directory)) {
    const id = name.slice(0, -SUFFIX.length);
    if (!name.endsWith(SUFFIX) || !RESULT_ID.test(id)) continue;
    const path = join(directory, name);
    const stats = await lookAt(path);
    if (stats?.isFile()) found.push({ id, path, bytes: stats.size, modifiedMs: stats.mtimeMs });
  }
  return found;
}

/** Best effort: a file that stays is an orphan, and `hermes doctor` names it. How many went. */
export async function removeKeptResults(directory: string, ids: Iterable<string>): Promise<number> {
  let removed = 0;
  for (const id of ids) {
    if (!RESULT_ID.test(id)) continue;
    try {
      await rm(pathOf(directory, id));
      removed += 1;
    } catch {
      // gone already, or somebody else's lock or permission
    }
  }
  return removed;
}

function pathOf(directory: string, id: string): string {
  return join(directory, `${id}${SUFFIX}`);
}

async function lookAt(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT" || errnoCode(cause) === "ENOTDIR") return undefined;
    throw cause;
  }
}
