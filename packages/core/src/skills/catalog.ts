// All skills below the roots: walking the directories, reading the headers, and caching them in memory.
import { closeSync, type Dirent, openSync, readdirSync, readSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describeCause, isDirectory } from "../lib/index.ts";
import { type FrontmatterParser, loadFrontmatterParser, readSkillText, toHeader } from "./frontmatter.ts";
import { pathWithin } from "./paths.ts";
import {
  CATEGORY_FILE,
  IGNORED_DIRECTORIES,
  SKILL_FILE,
  type Skill,
  type SkillHeader,
  SUPPORT_DIRECTORIES,
} from "./skill.ts";

// A lookup walks the directories and opens only files whose size or modification time changed.

export type CatalogContents = {
  /** The home's own skills first, then each root; ordered by path. */
  readonly skills: readonly Skill[];
  /** Single files, which can only be viewed. */
  readonly flatSkills: readonly Skill[];
  /** Descriptions of categories, by name. */
  readonly categories: ReadonlyMap<string, string>;
  readonly warnings: readonly string[];
};

// Modification times are coarse: two changes within one clock tick look the same. Anything younger than this is checked again.
const SETTLED_MS = 100;
const HEAD_BYTES = 65_536;

export class Catalog {
  readonly #roots: readonly string[];
  #cache: ReadonlyMap<string, CachedHeader> = new Map();

  /** The home's own root first. */
  constructor(roots: readonly string[]) {
    this.#roots = roots;
  }

  /** Checks every directory and the size and time of every file; opens files that changed. */
  async refresh(): Promise<CatalogContents> {
    const walk = walkRoots(this.#roots);
    const hasNews = walk.files.some((file) => this.#known(file) === undefined);
    return this.#take(walk, hasNews ? await loadFrontmatterParser() : undefined);
  }

  /** The same, synchronously, for callers that hold a lock. */
  refreshSync(parse: FrontmatterParser): CatalogContents {
    return this.#take(walkRoots(this.#roots), parse);
  }

  #take(walk: Walk, parse: FrontmatterParser | undefined): CatalogContents {
    const cache = new Map<string, CachedHeader>();
    const warnings = [...walk.warnings];
    const headers = walk.files.flatMap((file) => {
      const { path, mtimeMs, size } = file;
      try {
        const header = this.#known(file) ?? (parse ? readHeader(path, parse) : undefined);
        if (header === undefined) return [];
        if (mtimeMs < walk.walkedAtMs - SETTLED_MS) cache.set(path, { mtimeMs, size, header });
        return [{ file, header }];
      } catch (cause) {
        warnings.push(`${path} cannot be read: ${describeCause(cause)}.`);
        return [];
      }
    });
    this.#cache = cache;
    return toContents(headers, this.#roots[0], warnings);
  }

  #known(file: FoundFile): SkillHeader | undefined {
    const cached = this.#cache.get(file.path);
    const isSame = cached?.mtimeMs === file.mtimeMs && cached.size === file.size;
    return isSame ? cached.header : undefined;
  }
}

/** Frontmatter is at the top, so only the first 64 KiB are read. */
function readHeader(path: string, parse: FrontmatterParser): SkillHeader {
  const head = new Uint8Array(HEAD_BYTES);
  const fd = openSync(path, "r");
  try {
    const length = readSync(fd, head, 0, HEAD_BYTES, 0);
    return toHeader(readSkillText(new TextDecoder().decode(head.subarray(0, length)), parse));
  } finally {
    closeSync(fd);
  }
}

type Read = { readonly file: FoundFile; readonly header: SkillHeader };

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

function toSkill(file: FoundFile, header: SkillHeader, ownRoot: string | undefined): Skill {
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

// The walk: finds skill files below the roots. Reads directories and file sizes, no contents. Links that lead out of their root,
// or to a directory already visited, are not followed.

type FileStamp = { readonly mtimeMs: number; readonly size: number };

type CachedHeader = FileStamp & { readonly header: SkillHeader };

type FoundFile = FileStamp & {
  readonly kind: "skill" | "category" | "flat";
  readonly path: string;
  readonly root: string;
  /** Directory of the file below the root, with `/`; "" for the root itself. */
  readonly folder: string;
};

// These limits keep the walk short even if a user configures `/` as a skills directory.
const MAX_DEPTH = 8;
const MAX_DIRECTORIES = 10_000;

const FLAT = /^(?!readme\.md$|skill\.md$|description\.md$)[^.].*\.md$/i;

export function walkRoots(roots: readonly string[]): Walk {
  const walk: Walk = { files: [], warnings: [], visited: new Set(), walkedAtMs: Date.now() };
  for (const root of roots) {
    const realRoot = realPath(root);
    if (realRoot !== undefined) walkDirectory(walk, { root, realRoot, path: root, folder: "", depth: 0 });
  }
  return walk;
}

type Walk = {
  readonly files: FoundFile[];
  readonly warnings: string[];
  /** Real paths of the directories that were read. */
  readonly visited: Set<string>;
  readonly walkedAtMs: number;
};

type WalkPosition = {
  readonly root: string;
  readonly realRoot: string;
  readonly path: string;
  readonly folder: string;
  readonly depth: number;
};

function walkDirectory(walk: Walk, place: WalkPosition): void {
  const real = realPath(place.path);
  if (real === undefined || walk.visited.has(real)) return;
  if (walk.visited.size > MAX_DIRECTORIES) return;
  if (walk.visited.size === MAX_DIRECTORIES)
    walk.warnings.push(`${place.root} has too many directories; not all of them were searched for skills.`);
  walk.visited.add(real);
  let entries: Dirent[];
  try {
    entries = readdirSync(place.path, { withFileTypes: true });
  } catch (cause) {
    walk.warnings.push(`${place.path} was not searched for skills: ${describeCause(cause)}.`);
    return;
  }
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  const isSkill = entries.some(({ name }) => name === SKILL_FILE) && place.folder !== "";
  for (const entry of entries) visitEntry(walk, place, entry, isSkill);
}

function visitEntry(walk: Walk, place: WalkPosition, entry: Dirent, isSkill: boolean): void {
  const { name } = entry;
  const path = join(place.path, name);
  const kind = kindOf(name, place, isSkill);
  const mayBeDirectory = kind === undefined && place.depth < MAX_DEPTH && !isIgnored(name, isSkill);
  if (kind === undefined && !mayBeDirectory) return;
  if (entry.isSymbolicLink() && pathWithin(place.realRoot, realPath(path) ?? "/") === undefined) return;
  if (kind !== undefined) {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (!stats?.isFile()) return;
    const { mtimeMs, size } = stats;
    walk.files.push({ kind, path, root: place.root, folder: place.folder, mtimeMs, size });
  } else if (entry.isDirectory() || (entry.isSymbolicLink() && isDirectory(path))) {
    const folder = place.folder === "" ? name : `${place.folder}/${name}`;
    walkDirectory(walk, { ...place, path, folder, depth: place.depth + 1 });
  }
}

function kindOf(name: string, { folder }: WalkPosition, isSkill: boolean): FoundFile["kind"] | undefined {
  if (name === SKILL_FILE && folder !== "") return "skill";
  if (name === CATEGORY_FILE && folder !== "") return "category";
  return !isSkill && FLAT.test(name) ? "flat" : undefined;
}

function isIgnored(name: string, isSkill: boolean): boolean {
  return IGNORED_DIRECTORIES.has(name) || (isSkill && SUPPORT_DIRECTORIES.some((each) => each === name));
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined; // missing, a broken link or not readable: there is nothing to find
  }
}
