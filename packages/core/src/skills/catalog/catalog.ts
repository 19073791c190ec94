// Every skill there is, kept in memory and in the snapshot by time and size. A lookup asks directories for their time; it
// walks the tree and opens files only when something changed.
import { closeSync, openSync, readSync } from "node:fs";
import { basename, dirname } from "node:path";
import { describeCause } from "../../lib/index.ts";
import { readSkillText, toHeader } from "../frontmatter/header.ts";
import { type FrontmatterParser, loadFrontmatterParser } from "../frontmatter/parse.ts";
import type { Skill } from "../types.ts";
import { type CachedHeader, type HeaderCache, readSnapshot, writeSnapshot } from "./snapshot-file.ts";
import { directoryTime, type FileStamp, type FoundFile, type Look, lookAt, stampOf } from "./walk.ts";

export type CatalogContents = {
  /** The home's own first, each root in the order of its paths. */
  readonly skills: readonly Skill[];
  /** Single files that can only be viewed. */
  readonly flatSkills: readonly Skill[];
  /** What a category is for, by its name. */
  readonly categories: ReadonlyMap<string, string>;
  readonly warnings: readonly string[];
};

export type CatalogPlaces = {
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
