// Reads files of the OpenClaw folder without being led out of it: a link to a file elsewhere is not followed, a pipe is not opened.

import { isUtf8 } from "node:buffer";
import { type Dirent, lstatSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import {
  describeCause,
  err,
  errnoCode,
  isDirectory,
  isWithin,
  ok,
  type Result,
} from "@hermes-memory/core/internal/lib";

/** Notes and skills are kilobytes. The limit keeps a wrong file from filling memory. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;
const MAX_FILES = 20_000;
const MAX_DEPTH = 16;

/** Folders and files that hold credentials. Nothing leads into them, also not from within the OpenClaw folder. */
const SENSITIVE = /^(?:credentials|devices|identity|agents[/\\][^/\\]+[/\\]agent|\.env)(?:[/\\]|$)/;

export type SourceFile = { readonly path: string; readonly name: string };

export type Tree = {
  /** `name` is relative to the folder, with `/`. In the order of the names. */
  readonly files: readonly SourceFile[];
  /** Names that were left out: links out of the folder, pipes, sockets, too deep or too many. */
  readonly leftOut: readonly string[];
};

export class SourceFiles {
  readonly #root: string;

  constructor(root: string) {
    this.#root = realpathOf(root) ?? root;
  }

  /** The bytes of a regular file that lies in `bound`; undefined when nothing is there. */
  read(path: string, bound: string): Result<Buffer | undefined, string> {
    try {
      const real = realpathSync(path);
      if (!this.#isAllowed(real, bound))
        return err("It is a link to a file outside its folder, which is not followed");
      const { size } = statSync(real);
      if (!statSync(real).isFile()) return err("It is not a regular file");
      if (size > MAX_FILE_BYTES) return err(`It is larger than ${MAX_FILE_BYTES / 1024 / 1024} MiB`);
      return ok(readFileSync(real));
    } catch (cause) {
      const isAbsent = errnoCode(cause) === "ENOENT" && !isLink(path);
      return isAbsent || errnoCode(cause) === "ENOTDIR" ? ok(undefined) : err(describeCause(cause));
    }
  }

  readText(path: string, bound: string): Result<string | undefined, string> {
    const bytes = this.read(path, bound);
    if (!bytes.ok || bytes.value === undefined) return bytes as Result<undefined, string>;
    return isUtf8(bytes.value) ? ok(bytes.value.toString("utf8")) : err("It is not valid UTF-8 text");
  }

  /** A file of the folder itself that may hold secrets: only for the steps that read keys. */
  readCredentials(path: string): Result<string | undefined, string> {
    const real = realpathOf(path);
    if (real === undefined) return ok(undefined);
    if (!isWithin(this.#root, real) || !statSync(real).isFile())
      return err("It is not a file of this folder");
    try {
      return ok(readFileSync(real, "utf8"));
    } catch (cause) {
      return err(describeCause(cause));
    }
  }

  /** Names of the folders and links to folders in a folder; none when it lies outside `bound`. */
  foldersIn(path: string, bound: string): string[] {
    const real = realpathOf(path);
    if (real === undefined || !this.#isAllowed(real, bound)) return [];
    return namesOf(real).filter((name) => isDirectory(join(real, name)));
  }

  isFolderIn(path: string, bound: string): boolean {
    const real = realpathOf(path);
    return real !== undefined && this.#isAllowed(real, bound) && isDirectory(real);
  }

  /** The regular files below a folder. A link is followed only to a file of the same folder. */
  tree(folder: string, bound: string, isWanted: (name: string) => boolean = () => true): Tree {
    const files: SourceFile[] = [];
    const leftOut: string[] = [];
    const root = realpathOf(folder);
    if (root === undefined || !this.#isAllowed(root, bound)) return { files, leftOut };
    const walk = (path: string, before: string, depth: number): void => {
      for (const entry of entriesOf(path)) {
        const name = before === "" ? entry.name : `${before}/${entry.name}`;
        if (!isWanted(name)) continue;
        const at = join(path, entry.name);
        if (entry.isDirectory()) {
          if (depth < MAX_DEPTH) walk(at, name, depth + 1);
          else leftOut.push(name);
        } else if (files.length < MAX_FILES && this.#isFileOf(root, at)) {
          files.push({ path: at, name });
        } else {
          leftOut.push(name);
        }
      }
    };
    walk(root, "", 0);
    return { files, leftOut };
  }

  #isFileOf(root: string, path: string): boolean {
    const real = realpathOf(path);
    return real !== undefined && this.#isAllowed(real, root) && statSync(real).isFile();
  }

  #isAllowed(real: string, bound: string): boolean {
    const realBound = realpathOf(bound);
    const inSource = relative(this.#root, real);
    return realBound !== undefined && isWithin(realBound, real) && !SENSITIVE.test(inSource);
  }
}

/** Names in code-point order; none when the folder cannot be read. */
export function namesOf(path: string): string[] {
  return entriesOf(path).map(({ name }) => name);
}

/** The folders and links to folders in a folder, without hidden ones. */
export function foldersAt(path: string): string[] {
  const names = namesOf(path).filter((name) => !name.startsWith("."));
  return names.map((name) => join(path, name)).filter(isDirectory);
}

/** Each file or folder once, under its first name. */
export function distinct<T extends { readonly path: string }>(places: readonly T[]): T[] {
  const seen = new Set<string>();
  return places.filter(({ path }) => {
    const real = realpathOf(path) ?? path;
    return !seen.has(real) && seen.add(real);
  });
}

function entriesOf(path: string): Dirent[] {
  try {
    return readdirSync(path, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    return []; // a folder without permission is as good as absent; the report lists what was found
  }
}

export function realpathOf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
}
