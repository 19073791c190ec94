// The headers of all skills in one file, by path, time and size: a program that starts need not open every skill. Only a
// cache: what does not look right is read again, and one that cannot be written costs nothing but time.
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { writeFileAtomic } from "../../lib/index.ts";
import type { SkillHeader } from "../frontmatter/header.ts";
import { fieldOf, isFields } from "../frontmatter/parse.ts";

export type CachedHeader = { readonly mtimeNs: bigint; readonly size: number; readonly header: SkillHeader };
export type HeaderCache = ReadonlyMap<string, CachedHeader>;

// A program that keeps something else under this name sees a version it does not know, and starts afresh; so do we.
const VERSION = "hermes-memory/1";
const MAX_BYTES = 16 * 1_048_576;

export function readSnapshot(path: string): HeaderCache {
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

export function writeSnapshot(path: string, cache: HeaderCache): void {
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
