// Which file of a plugin's directory is imported: the one its package.json names, or index.ts and its kin.
import { readFileSync, statSync } from "node:fs";
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { errnoCode } from "../../lib/index.ts";

export type EntryFile =
  | { readonly kind: "file"; readonly path: string }
  /** package.json leads out of the plugin's directory. */
  | { readonly kind: "outside"; readonly path: string; readonly named: string }
  /** package.json names a file that is not there, and there is no index file either. */
  | { readonly kind: "missing"; readonly named: string }
  | { readonly kind: "none" };

const EXTENSIONS = [".ts", ".mts", ".js", ".mjs"];

/** Conditions under which Node would let an `import` take an entry of `exports`. */
const CONDITIONS = ["import", "node", "module-sync", "default"];

export function findEntryFile(directory: string): EntryFile {
  const named = namedInPackage(directory);
  if (named !== undefined) {
    const path = resolve(directory, named);
    if (!isInside(path, directory)) return { kind: "outside", path, named };
    const file = [path, `${path}.js`, join(path, "index.js")].find(isFile);
    if (file !== undefined) return { kind: "file", path: file };
  }
  const index = findModule(directory, "index");
  if (index !== undefined) return { kind: "file", path: index };
  return named === undefined ? { kind: "none" } : { kind: "missing", named };
}

/** `<base>.ts`, `.mts`, `.js` or `.mjs`, whichever comes first. */
export function findModule(directory: string, base: string): string | undefined {
  return EXTENSIONS.map((extension) => join(directory, base + extension)).find(isFile);
}

export function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch (cause) {
    if (["ENOENT", "ENOTDIR"].includes(errnoCode(cause) ?? "")) return false;
    throw cause;
  }
}

/** What `exports` gives to an `import` of the package itself. */
export function entryOfExports(exports: unknown): string | undefined {
  if (typeof exports === "string") return exports;
  if (Array.isArray(exports)) return firstOf(exports.map(entryOfExports));
  if (typeof exports !== "object" || exports === null) return undefined;
  const entries: [string, unknown][] = Object.entries(exports);
  const usable = entries.filter(([key]) => key === "." || CONDITIONS.includes(key));
  return firstOf(usable.map(([, value]) => entryOfExports(value)));
}

function namedInPackage(directory: string): string | undefined {
  const path = join(directory, "package.json");
  if (!isFile(path)) return undefined;
  try {
    const content: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (typeof content !== "object" || content === null) return undefined;
    const main = "main" in content && typeof content.main === "string" ? content.main : undefined;
    return ("exports" in content ? entryOfExports(content.exports) : undefined) ?? (main || undefined);
  } catch (cause) {
    // A file that is no JSON names nothing; Node will complain about it when the plugin is loaded.
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
}

function isInside(path: string, directory: string): boolean {
  const way = relative(resolve(directory), path);
  return !isAbsolute(way) && way.split(sep)[0] !== "..";
}

function firstOf(values: readonly (string | undefined)[]): string | undefined {
  return values.find((value) => value !== undefined);
}
