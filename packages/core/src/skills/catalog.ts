import {
  type BigIntStats,
  closeSync,
  type Dirent,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
  statSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { describeCause, errnoCode, writeFileAtomic } from "../lib/index.ts";
import {
  type FrontmatterParser,
  fieldOf,
  isFields,
  loadFrontmatterParser,
  readSkillText,
  toHeader,
} from "./frontmatter.ts";
import { pathWithin } from "./paths.ts";
import {
  CATEGORY_FILE,
  IGNORED_DIRECTORIES,
  SKILL_FILE,
  type Skill,
  type SkillHeader,
  SUPPORT_DIRECTORIES,
} from "./skill.ts";

// ----
// Every skill there is, kept in memory and in the snapshot by time and size. A lookup asks directories for their time; it
// walks the tree and opens files only when something changed.

export type CatalogContents = {
  /** The home's own first, each root in the order of its paths. */
  readonly skills: readonly Skill[];
  /** Single files that can only be viewed. */
  readonly flatSkills: readonly Skill[];
  /** What a category is for, by its name. */
  readonly categories: ReadonlyMap<string, string>;
  readonly warnings: readonly string[];
};

type CatalogPlaces = {
  /** The home's own first. */
  readonly roots: readonly string[];
  readonly snapshot: string;
};

// Times of change are coarse: two changes within a tick look like one. What is younger than this is looked at again.
const SETTLED_MS = 100;
const HEAD_BYTES = 65_536;

export class Catalog {
  readonly #places: CatalogPlaces;
  #cache: HeaderCache | undefined;
  #last: { readonly look: Look; readonly contents: CatalogContents } | undefined;

  constructor(places: CatalogPlaces) {
    this.#places = places;
  }

  /** Looks at every directory and every file's size and time; opens what changed. */
  async refresh(): Promise<CatalogContents> {
    const look = lookAt(this.#places.roots);
    const hasNews = look.files.some((file) => this.#known(file) === undefined);
    return this.#take(look, hasNews ? await loadFrontmatterParser() : undefined);
  }

  /** The same for whoever holds a lock and may not wait. */
  refreshSync(parse: FrontmatterParser): CatalogContents {
    return this.#take(lookAt(this.#places.roots), parse);
  }

  /** Without walking, when no directory changed since the last look. A file edited in place shows in its own stamp. */
  async current(): Promise<CatalogContents> {
    const last = this.#last;
    if (last === undefined || !isUnchanged(last.look)) return this.refresh();
    return last.contents;
  }

  /** False when the file may not be the one the contents were made from. */
  isCurrent(skill: Skill): boolean {
    const stamp = stampOf(skill.file);
    const cached = this.#cached().get(skill.file);
    return stamp !== undefined && cached !== undefined && isSame(cached, stamp);
  }

  #take(look: Look, parse: FrontmatterParser | undefined): CatalogContents {
    const before = this.#cached();
    const cache = new Map<string, CachedHeader>();
    const warnings = [...look.warnings];
    const headers = look.files.flatMap((file) => {
      const { path, mtimeNs, size } = file;
      try {
        const header = this.#known(file) ?? (parse ? readHeader(path, parse) : undefined);
        if (header === undefined) return [];
        if (isSettled(mtimeNs, look.lookedAtMs)) cache.set(path, { mtimeNs, size, header });
        return [{ file, header }];
      } catch (cause) {
        warnings.push(`${path} cannot be read: ${describeCause(cause)}.`);
        return [];
      }
    });
    if (!isSameCache(before, cache)) writeSnapshot(this.#places.snapshot, cache);
    this.#cache = cache;
    const contents = toContents(headers, this.#places.roots[0], warnings);
    this.#last = { look, contents };
    return contents;
  }

  #known(file: FoundFile): CachedHeader["header"] | undefined {
    const cached = this.#cached().get(file.path);
    return cached !== undefined && isSame(cached, file) ? cached.header : undefined;
  }

  #cached(): HeaderCache {
    this.#cache ??= readSnapshot(this.#places.snapshot);
    return this.#cache;
  }
}

function isUnchanged({ directories, lookedAtMs }: Look): boolean {
  for (const [path, time] of directories)
    if (!isSettled(time, lookedAtMs) || directoryTime(path) !== time) return false;
  return true;
}

function isSettled(timeNs: bigint, atMs: number): boolean {
  return Number(timeNs / 1_000_000n) < atMs - SETTLED_MS;
}

function isSame(a: FileStamp, b: FileStamp): boolean {
  return a.mtimeNs === b.mtimeNs && a.size === b.size;
}

function isSameCache(a: HeaderCache, b: HeaderCache): boolean {
  if (a.size !== b.size) return false;
  return [...b].every(([path, entry]) => {
    const other = a.get(path);
    return other !== undefined && isSame(other, entry);
  });
}

/** Frontmatter is at the top: nobody reads megabytes for a name. */
function readHeader(path: string, parse: FrontmatterParser): CachedHeader["header"] {
  const head = new Uint8Array(HEAD_BYTES);
  const fd = openSync(path, "r");
  try {
    const length = readSync(fd, head, 0, HEAD_BYTES, 0);
    return toHeader(readSkillText(new TextDecoder().decode(head.subarray(0, length)), parse));
  } finally {
    closeSync(fd);
  }
}

type Read = { readonly file: FoundFile; readonly header: CachedHeader["header"] };

function toContents(
  reads: readonly Read[],
  ownRoot: string | undefined,
  warnings: readonly string[],
): CatalogContents {
  const categories = new Map<string, string>();
  const skills: Skill[] = [];
  const flatSkills: Skill[] = [];
  for (const { file, header } of reads) {
    if (file.kind === "category") {
      if (!categories.has(file.folder)) categories.set(file.folder, header.description);
    } else (file.kind === "skill" ? skills : flatSkills).push(toSkill(file, header, ownRoot));
  }
  return { skills, flatSkills, categories, warnings };
}

function toSkill(file: FoundFile, header: CachedHeader["header"], ownRoot: string | undefined): Skill {
  const isFlat = file.kind === "flat";
  const directory = dirname(file.path);
  const directoryName = isFlat ? basename(file.path).replace(/\.md$/i, "") : basename(directory);
  const parent = isFlat ? file.folder : file.folder.split("/").slice(0, -1).join("/");
  return {
    name: header.name === "" ? directoryName : header.name,
    directoryName,
    category: parent === "" ? null : parent,
    relativePath:
      isFlat && file.folder === "" ? directoryName : isFlat ? `${file.folder}/${directoryName}` : file.folder,
    root: file.root,
    directory,
    file: file.path,
    isExternal: file.root !== ownRoot,
    isFlat,
    header,
  };
}

// ----
// Walks a root for skill files. Reads directories and file sizes, no contents. A link that leads out of its root is not
// followed, and neither is one that leads where the walk has been.

type FileStamp = { readonly mtimeNs: bigint; readonly size: number };

type FoundFile = FileStamp & {
  readonly kind: "skill" | "category" | "flat";
  readonly path: string;
  readonly root: string;
  /** Of the directory it is in, below the root, with `/`; "" for the root itself. */
  readonly folder: string;
};

type Look = {
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
function stampOf(path: string): FileStamp | undefined {
  const stats = statOf(path);
  return stats?.isFile() ? { mtimeNs: stats.mtimeNs, size: Number(stats.size) } : undefined;
}

function directoryTime(path: string): bigint | undefined {
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

// ----
// The headers of all skills in one file, by path, time and size: a program that starts need not open every skill. Only a
// cache: what does not look right is read again, and one that cannot be written costs nothing but time.

type CachedHeader = { readonly mtimeNs: bigint; readonly size: number; readonly header: SkillHeader };
type HeaderCache = ReadonlyMap<string, CachedHeader>;

// A program that keeps something else under this name sees a version it does not know, and starts afresh; so do we.
const VERSION = "hermes-memory/1";
const MAX_BYTES = 16 * 1_048_576;

function readSnapshot(path: string): HeaderCache {
  const cache = new Map<string, CachedHeader>();
  try {
    if (statSync(path).size > MAX_BYTES) return cache;
    const content: unknown = JSON.parse(readFileSync(path, "utf8"));
    const files = fieldOf(content, "files");
    if (fieldOf(content, "version") !== VERSION || !isFields(files)) return cache;
    for (const [file, entry] of Object.entries(files)) {
      const cached = toCached(entry);
      if (cached) cache.set(file, cached);
    }
  } catch {
    // Missing or damaged: every skill is read once, and the file is written anew.
  }
  return cache;
}

function writeSnapshot(path: string, cache: HeaderCache): void {
  const files = Object.fromEntries(
    [...cache].map(([file, { mtimeNs, size, header }]) => [file, [String(mtimeNs), size, header]]),
  );
  try {
    if (existsSync(dirname(path)))
      writeFileAtomic(path, `${JSON.stringify({ version: VERSION, files })}\n`, { mode: 0o600 });
  } catch {
    // A home that cannot be written to: the next program reads the skills themselves.
  }
}

function toCached(entry: unknown): CachedHeader | undefined {
  if (!Array.isArray(entry)) return undefined;
  const [mtime, size, header] = entry as unknown[];
  if (typeof mtime !== "string" || !/^-?\d{1,20}$/.test(mtime) || typeof size !== "number") return undefined;
  return isHeader(header) ? { mtimeNs: BigInt(mtime), size, header } : undefined;
}

const LISTS = [
  "platforms",
  "environments",
  "requiresTools",
  "requiresToolsets",
  "fallbackForTools",
  "fallbackForToolsets",
] as const satisfies readonly (keyof SkillHeader)[];

function isHeader(value: unknown): value is SkillHeader {
  if (typeof fieldOf(value, "name") !== "string" || typeof fieldOf(value, "description") !== "string")
    return false;
  return LISTS.every((name) => {
    const list = fieldOf(value, name);
    return Array.isArray(list) && list.every((item) => typeof item === "string");
  });
}
