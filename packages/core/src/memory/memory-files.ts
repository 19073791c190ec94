// The files that a model keeps beside the curated ones, in `<directory of the person>/files`: plain texts, readable by the user of the
// process only. A path is a list of names that were checked; nothing outside the folder can be named, and links are not followed.
import { type Dirent, lstatSync, mkdirSync, readdirSync, renameSync, rmSync, type Stats } from "node:fs";
import { join } from "node:path";
import {
  codePointLength,
  errnoCode,
  groupThousands,
  HermesError,
  namesIn,
  readTextFile,
  withFileLocks,
  writeFileAtomic,
} from "../lib/index.ts";

const FOLDER = "files";
/** Hidden, so that no path of a model names it. */
const LOCK = ".files.lock";
const LOCK_WAIT_MS = 10_000;

/** A model that is stuck in a loop must not fill the disk. */
const MOST_FILES = 200;
const MOST_FILE_CHARS = 64_000;
const MOST_LEVELS = 5;
const MOST_NAME_CHARS = 100;

/** The folder of a person, and the lock for changes in it. */
export function memoryFilesIn(directory: string): { readonly folder: string; readonly lock: string } {
  return { folder: join(directory, FOLDER), lock: join(directory, LOCK) };
}

/** Empty: the folder itself. */
export type FilePath = readonly string[];

type Kind = "file" | "directory";
export type ListedFile = { readonly kind: Kind; readonly path: FilePath; readonly bytes: number };

/** The names of a path, or an error for a path that this folder cannot have. `shown`: the path as the caller wrote it. */
export function checkedPath(names: readonly string[], shown: string): FilePath {
  const wrong = names.find((name) => problemWith(name) !== undefined);
  if (wrong !== undefined) throw badPath(shown, problemWith(wrong) ?? "");
  if (names.length > MOST_LEVELS) throw badPath(shown, `it has more than ${MOST_LEVELS} levels`);
  return names;
}

function problemWith(name: string): string | undefined {
  if (name === "") return "it has an empty name";
  if (name.startsWith(".")) return "names must not begin with a dot";
  if (/[\\:\x00-\x1f\x7f]/.test(name) || !name.isWellFormed())
    return "it has a character that names cannot have";
  return name.length > MOST_NAME_CHARS ? `a name has more than ${MOST_NAME_CHARS} characters` : undefined;
}

export function badPath(shown: string, why: string): HermesError {
  return new HermesError("bad-path", `The path ${shown} cannot be used: ${why}.`, {
    hint: "Use a path below /memories, such as /memories/notes/garden.md.",
  });
}

export class MemoryFiles {
  readonly #person: string;
  readonly #root: string;

  /** `directory`: of the person. Created with the first file. */
  constructor(directory: string) {
    this.#person = directory;
    this.#root = memoryFilesIn(directory).folder;
  }

  // ---- Reading ----

  /** Undefined: there is nothing. Throws `bad-path` where a link is on the way. */
  find(path: FilePath): Kind | undefined {
    for (let end = 0; end <= path.length; end += 1) {
      const stat = lstat(this.#at(path.slice(0, end)));
      if (stat === undefined) return undefined;
      if (stat.isSymbolicLink()) throw badPath(path.join("/"), "it leads over a link");
      if (end < path.length) {
        if (!stat.isDirectory()) return undefined;
        continue;
      }
      if (stat.isFile()) return "file";
      if (!stat.isDirectory()) throw badPath(path.join("/"), "it is neither a file nor a directory");
      return "directory";
    }
    return undefined;
  }

  /** Everything below a directory, each directory before what it contains. Hidden items and links are left out. */
  list(path: FilePath): readonly ListedFile[] {
    const items = entriesOf(this.#at(path)).filter(({ name }) => problemWith(name) === undefined);
    return items
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .flatMap((item): readonly ListedFile[] => {
        const at = [...path, item.name];
        if (item.isFile()) return [{ kind: "file", path: at, bytes: lstat(this.#at(at))?.size ?? 0 }];
        if (!item.isDirectory()) return [];
        const below = this.list(at);
        const bytes = below.reduce((sum, each) => sum + (each.kind === "file" ? each.bytes : 0), 0);
        return [{ kind: "directory", path: at, bytes }, ...below];
      });
  }

  /** Only for a path that `find` calls a file. */
  read(path: FilePath): string {
    const read = readTextFile(this.#at(path));
    if (read.ok && read.value !== undefined) return read.value;
    const why = read.ok ? "it was deleted meanwhile" : read.error.reason;
    throw new HermesError("memory-io", `Cannot read ${path.join("/")}: ${why}.`, {
      hint: "List the directory and try again.",
    });
  }

  // ---- Writing ----

  /** Runs synchronous work that reads and then writes; other processes wait. */
  async exclusively<T>(work: () => T): Promise<T> {
    mkdirSync(this.#person, { recursive: true, mode: 0o700 });
    const locked = await withFileLocks([memoryFilesIn(this.#person).lock], { timeoutMs: LOCK_WAIT_MS }, work);
    if (locked.ok) return locked.value;
    const { path, waitedMs } = locked.error;
    throw new HermesError("memory-locked", `Another process kept ${path} locked for ${waitedMs} ms.`, {
      hint: "Nothing was changed; try again.",
    });
  }

  write(path: FilePath, text: string): void {
    const chars = codePointLength(text);
    if (chars > MOST_FILE_CHARS)
      throw tooMuch(
        `The text has ${groupThousands(chars)} characters; a file may have ${groupThousands(MOST_FILE_CHARS)}.`,
      );
    const files = this.list([]).filter(({ kind }) => kind === "file").length;
    if (this.find(path) === undefined && files >= MOST_FILES)
      throw tooMuch(`There are ${files} files, which is the most. Delete one first.`);
    this.#makeParent(path);
    writeFileAtomic(this.#at(path), text, { mode: 0o600 });
  }

  remove(path: FilePath): void {
    rmSync(this.#at(path), { recursive: true });
  }

  move(from: FilePath, to: FilePath): void {
    this.#makeParent(to);
    renameSync(this.#at(from), this.#at(to));
  }

  #makeParent(path: FilePath): void {
    for (let end = 0; end < path.length; end += 1) {
      const parent = path.slice(0, end);
      const found = this.find(parent);
      if (found === "file") throw badPath(path.join("/"), `${parent.join("/")} is a file`);
      if (found === undefined) mkdirSync(this.#at(parent), { mode: 0o700 });
    }
  }

  #at(path: FilePath): string {
    return join(this.#root, ...path);
  }
}

function lstat(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT" || errnoCode(cause) === "ENOTDIR") return undefined;
    throw cause;
  }
}

function entriesOf(directory: string): Dirent[] {
  return namesIn(directory).length === 0 ? [] : readdirSync(directory, { withFileTypes: true });
}

function tooMuch(message: string): HermesError {
  return new HermesError("memory-over-limit", message, { hint: "Shorten or delete files of the folder." });
}
