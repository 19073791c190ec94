// Files below a folder, without following a loop of links and without stopping at what cannot be read.
import { opendir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { describeCause, errnoCode } from "@hermes-memory/core/internal/lib";
import type { TranscriptReader, Walking } from "../reader.ts";

const MAX_DEPTH = 12;

type Wanted = {
  /** Whether this file is wanted. `path` begins with the root. */
  readonly file: (path: string) => boolean;
  /** Whether to look into this folder below the root; if missing, into every one. */
  readonly folder?: (path: string) => boolean;
  readonly maxDepth?: number;
};

/** Each of these files is a unit, and a file that the user named. `stamps`: files that say whether it changed, if not itself. */
export function unitsOf(
  file: (path: string) => boolean,
  {
    stamps,
    ...wanted
  }: Omit<Wanted, "file"> & { readonly stamps?: (path: string) => readonly string[] } = {},
): TranscriptReader["units"] {
  return async function* (root, walking) {
    for await (const path of filesBelow(
      root,
      { ...wanted, file: (one) => one === root || file(one) },
      walking,
    ))
      yield stamps === undefined ? { path } : { path, stamps: stamps(path) };
  };
}

/** Paths of the wanted files in the order of their names. A root that is a file is given if `file` wants it; a missing one gives nothing. */
export async function* filesBelow(root: string, wanted: Wanted, walking: Walking): AsyncGenerator<string> {
  const seen = new Set<string>();
  yield* below(root, 0);

  async function* below(path: string, depth: number): AsyncGenerator<string> {
    walking.signal.throwIfAborted();
    const kind = await kindOf(path);
    if (kind === "file" && wanted.file(path)) yield path;
    if (kind !== "folder" || depth > (wanted.maxDepth ?? MAX_DEPTH)) return;
    if (depth > 0 && wanted.folder?.(path) === false) return;
    for (const name of await namesIn(path)) yield* below(join(path, name), depth + 1);
  }

  async function kindOf(path: string): Promise<"file" | "folder" | undefined> {
    try {
      const found = await stat(path);
      return found.isDirectory() ? "folder" : found.isFile() ? "file" : undefined;
    } catch (cause) {
      if (errnoCode(cause) !== "ENOENT") walking.unreadable(path, describeCause(cause));
      return undefined;
    }
  }

  async function namesIn(path: string): Promise<string[]> {
    try {
      const real = await realpath(path);
      if (seen.has(real)) return []; // a link to a folder that was already read
      seen.add(real);
      const names: string[] = [];
      for await (const { name } of await opendir(path)) names.push(name);
      return names.sort();
    } catch (cause) {
      walking.unreadable(path, describeCause(cause));
      return [];
    }
  }
}

export async function isFolder(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.isDirectory() === true;
}
