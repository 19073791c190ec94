// Walks a root for skill files. Reads directories and file sizes, no contents. A link that leads out of its root is not
// followed, and neither is one that leads where the walk has been.
import { type BigIntStats, type Dirent, readdirSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { describeCause, errnoCode } from "../../lib/index.ts";
import { CATEGORY_FILE, IGNORED_DIRECTORIES, SKILL_FILE, SUPPORT_DIRECTORIES } from "../limits.ts";
import { pathWithin } from "../paths.ts";

export type FileStamp = { readonly mtimeNs: bigint; readonly size: number };

export type FoundFile = FileStamp & {
  readonly kind: "skill" | "category" | "flat";
  readonly path: string;
  readonly root: string;
  /** Of the directory it is in, below the root, with `/`; "" for the root itself. */
  readonly folder: string;
};

export type Look = {
  readonly files: readonly FoundFile[];
  /** Every directory that was read, with its time of change before that. */
  readonly directories: ReadonlyMap<string, bigint>;
  readonly warnings: readonly string[];
  readonly lookedAtMs: number;
};

// Somebody who names `/` as a place for skills gets an answer all the same.
const MAX_DEPTH = 8;
const MAX_DIRECTORIES = 10_000;

const FLAT = /^(?!readme\.md$|skill\.md$|description\.md$)[^.].*\.md$/i;

export function lookAt(roots: readonly string[]): Look {
  const walk: Walk = { files: [], directories: new Map(), warnings: [], visited: new Set() };
  const lookedAtMs = Date.now();
  for (const root of roots) {
    const realRoot = realPath(root);
    if (realRoot !== undefined) enter(walk, { root, realRoot, path: root, folder: "", depth: 0 });
  }
  return { files: walk.files, directories: walk.directories, warnings: walk.warnings, lookedAtMs };
}

/** Size and time of a file; undefined when it is not there or no file. */
export function stampOf(path: string): FileStamp | undefined {
  const stats = statOf(path);
  return stats?.isFile() ? { mtimeNs: stats.mtimeNs, size: Number(stats.size) } : undefined;
}

export function directoryTime(path: string): bigint | undefined {
  const stats = statOf(path);
  return stats?.isDirectory() ? stats.mtimeNs : undefined;
}

type Walk = {
  readonly files: FoundFile[];
  readonly directories: Map<string, bigint>;
  readonly warnings: string[];
  readonly visited: Set<string>;
};

type Place = {
  readonly root: string;
  readonly realRoot: string;
  readonly path: string;
  readonly folder: string;
  readonly depth: number;
};

function enter(walk: Walk, place: Place): void {
  const real = realPath(place.path);
  if (real === undefined || walk.visited.has(real)) return;
  if (walk.directories.size >= MAX_DIRECTORIES) {
    if (walk.directories.size === MAX_DIRECTORIES)
      walk.warnings.push(`${place.root} has too many directories; not all of them were searched for skills.`);
    walk.directories.set(place.path, -1n); // never matches, so the next lookup looks again
    return;
  }
  walk.visited.add(real);
  const time = directoryTime(place.path);
  if (time === undefined) return;
  walk.directories.set(place.path, time);
  let entries: Dirent[];
  try {
    entries = readdirSync(place.path, { withFileTypes: true });
  } catch (cause) {
    walk.warnings.push(`${place.path} was not searched for skills: ${describeCause(cause)}.`);
    return;
  }
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  const isSkill = entries.some(({ name }) => name === SKILL_FILE) && place.folder !== "";
  for (const entry of entries) visit(walk, place, entry, isSkill);
}

function visit(walk: Walk, place: Place, entry: Dirent, isSkill: boolean): void {
  const { name } = entry;
  const path = join(place.path, name);
  const kind = kindOf(name, place, isSkill);
  const mayBeDirectory = kind === undefined && place.depth < MAX_DEPTH && !isIgnored(name, isSkill);
  if (kind === undefined && !mayBeDirectory) return;
  if (entry.isSymbolicLink() && !leadsInside(path, place.realRoot)) return;
  if (kind !== undefined) {
    const stamp = stampOf(path);
    if (stamp) walk.files.push({ kind, path, root: place.root, folder: place.folder, ...stamp });
  } else if (entry.isDirectory() || entry.isSymbolicLink()) {
    const folder = place.folder === "" ? name : `${place.folder}/${name}`;
    enter(walk, { ...place, path, folder, depth: place.depth + 1 });
  }
}

function kindOf(name: string, { folder }: Place, isSkill: boolean): FoundFile["kind"] | undefined {
  if (name === SKILL_FILE && folder !== "") return "skill";
  if (name === CATEGORY_FILE && folder !== "") return "category";
  return !isSkill && FLAT.test(name) ? "flat" : undefined;
}

function isIgnored(name: string, isSkill: boolean): boolean {
  return IGNORED_DIRECTORIES.has(name) || (isSkill && SUPPORT_DIRECTORIES.some((each) => each === name));
}

function leadsInside(path: string, realRoot: string): boolean {
  const real = realPath(path);
  return real !== undefined && pathWithin(realRoot, real) !== undefined;
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined; // not there, a dangling link, or nobody's to read: nothing to find either way
  }
}

function statOf(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false });
  } catch (cause) {
    if (errnoCode(cause) === undefined) throw cause;
    return undefined;
  }
}
