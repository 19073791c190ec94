// The import graph of a checkout: files with a single importer, and import cycles.
import { posix } from "node:path";
import { parseSync } from "vite";
import { findCycles } from "../architecture/find-cycles.ts";
import { type Package, type SourceFile, type Tree, withoutComments } from "./tree.ts";

/** `value`: loaded together with the importer. `type`: erased before the code runs. `dynamic`: loaded when the call runs. */
export type ImportKind = "value" | "type" | "dynamic";

type ImportEdge = { readonly from: string; readonly to: string; readonly kind: ImportKind };

type SingleImporter = {
  readonly file: string;
  /** The importing file, or `PACKAGE_USERS`. */
  readonly importer: string;
  /** The importer loads it by a dynamic import only. */
  readonly isLazy: boolean;
  /** A test or a contract suite imports it. */
  readonly isTested: boolean;
};

export type ImportGraph = {
  /** Between source files; more than one for a pair when the importer has several kinds of imports of the file. */
  readonly edges: readonly ImportEdge[];
  readonly singleImporters: readonly SingleImporter[];
  /** Entry points, mostly. */
  readonly withoutImporter: readonly string[];
  /** Groups of files that reach each other by value imports. */
  readonly cycles: readonly (readonly string[])[];
  /** The same with imports of every kind. */
  readonly cyclesOfAnyKind: readonly (readonly string[])[];
};

export function readImportGraph(all: Tree): ImportGraph {
  const isModule = ({ path }: SourceFile): boolean => /\.tsx?$/.test(path);
  const tree = { ...all, sources: all.sources.filter(isModule), tests: all.tests.filter(isModule) };
  const known = new Set(tree.sources.map(({ path }) => path));
  const edges = tree.sources.flatMap((source) => edgesOf(tree, known, source));
  const importers = new Map(tree.sources.map(({ path }) => [path, new Set<string>()]));
  const tested = new Set<string>();
  const doors = readDoors(tree, known);
  for (const source of tree.sources)
    for (const file of usedFiles(tree, known, doors, source)) importers.get(file)?.add(source.path);
  for (const test of tree.tests) for (const file of usedFiles(tree, known, doors, test)) tested.add(file);
  const open = new Set(publicFiles(tree));
  for (const path of open)
    for (const file of filesBehind(doors, path, "all")) importers.get(file)?.add(PACKAGE_USERS);
  const isLazy = (file: string): boolean => edges.every(({ to, kind }) => to !== file || kind === "dynamic");
  const singleImporters = [...importers].flatMap(([file, [importer, ...others]]) =>
    importer === undefined || others.length > 0 || open.has(file)
      ? []
      : [{ file, importer, isLazy: isLazy(file), isTested: tested.has(file) }],
  );
  const files = tree.sources.map(({ path }) => path);
  return {
    edges,
    singleImporters,
    withoutImporter: files.filter((file) => edges.every(({ to }) => to !== file)),
    cycles: findCycles(
      files,
      edges.filter(({ kind }) => kind === "value"),
    ),
    cyclesOfAnyKind: findCycles(files, edges),
  };
}

/** Stands for the users of a package, who import what its `exports` offer. */
const PACKAGE_USERS = "(users of the package)";

/** Of each index.ts: the file behind every name it re-exports. */
type Doors = ReadonlyMap<string, ReadonlyMap<string, { readonly file: string; readonly name: string }>>;

function readDoors(tree: Tree, known: ReadonlySet<string>): Doors {
  const doors = tree.sources.filter(
    ({ path }) => path.endsWith("/index.ts") || path.includes("/src/public/"),
  );
  return new Map(
    doors.map(({ path: from, text }) => {
      const names = new Map<string, { file: string; name: string }>();
      for (const { entries } of parseSync("source.ts", text).module.staticExports)
        for (const { moduleRequest, importName, exportName } of entries) {
          if (!moduleRequest || exportName.name === null || importName.name === null) continue;
          const file = resolveImport(tree, known, { from, specifier: moduleRequest.value });
          if (file !== undefined) names.set(exportName.name, { file, name: importName.name });
        }
      return [from, names] as const;
    }),
  );
}

/** The files in a package's `exports`, without the subpaths for its sibling packages. */
function publicFiles({ packages }: Tree): string[] {
  return packages.flatMap(({ directory, exports }) =>
    Object.entries(isSubpaths(exports) ? exports : {}).flatMap(([subpath, file]) =>
      subpath.startsWith("./internal/") || typeof file !== "string" ? [] : [posix.join(directory, file)],
    ),
  );
}

function isSubpaths(exports: unknown): exports is Readonly<Record<string, unknown>> {
  return typeof exports === "object" && exports !== null;
}

/** The files that declare these names of a file; the file itself unless it is an index.ts that re-exports them. */
function filesBehind(doors: Doors, file: string, names: readonly string[] | "all"): string[] {
  const door = doors.get(file);
  if (door === undefined) return [file];
  const wanted = names === "all" ? [...door.keys()] : names;
  return wanted.flatMap((name) => {
    const behind = door.get(name);
    return behind === undefined ? [file] : filesBehind(doors, behind.file, [behind.name]);
  });
}

/** The files whose names a module uses. A re-export in an index.ts is not a use; the import of the index.ts is. */
function usedFiles(tree: Tree, known: ReadonlySet<string>, doors: Doors, source: SourceFile): Set<string> {
  const isDoor = doors.has(source.path);
  const { module } = parseSync(source.path, source.text);
  const used = new Set<string>();
  const use = (specifier: string, names: readonly string[] | "all"): void => {
    const file = resolveImport(tree, known, { from: source.path, specifier });
    if (file !== undefined) for (const each of filesBehind(doors, file, names)) used.add(each);
  };
  for (const { moduleRequest, entries } of module.staticImports) {
    const names = entries.map(({ importName }) => importName.name);
    use(
      moduleRequest.value,
      names.some((name) => name === null) ? "all" : names.filter((name) => name !== null),
    );
  }
  if (!isDoor)
    for (const { entries } of module.staticExports)
      for (const { moduleRequest, importName } of entries)
        if (moduleRequest) use(moduleRequest.value, importName.name === null ? "all" : [importName.name]);
  const text = withoutComments(source.text, source.path);
  for (const match of text.matchAll(
    /(?:\{([^{}]*)\}\s*=\s*await\s+)?\bimport\(\s*(["'])(.+?)\2\s*,?\s*\)(?:\.(\w+))?/g,
  )) {
    const [, destructured, , specifier = "", member] = match;
    const names = destructured?.split(",").map((each) => each.split(":")[0]?.trim() ?? "");
    use(
      specifier,
      names?.filter((name) => name !== "") ?? (member === undefined || member === "then" ? "all" : [member]),
    );
  }
  return used;
}

/** Import specifiers of a module, in no particular order. */
export function importsOf(text: string): { readonly specifier: string; readonly kind: ImportKind }[] {
  const { module, errors } = parseSync("source.ts", text);
  if (errors[0] !== undefined) throw new Error(errors[0].message);
  const found: { specifier: string; kind: ImportKind }[] = [];
  for (const { moduleRequest, entries, start } of module.staticImports) {
    // `import "./x.ts"` has no entries and is a value import. `import { type A }` loads the module: only `import type` is erased.
    const isType = entries.length > 0 && entries.every((entry) => entry.isType);
    const isErased = isType && /^import\s+type\b/.test(text.slice(start, start + 20));
    found.push({ specifier: moduleRequest.value, kind: isErased ? "type" : "value" });
  }
  for (const { entries } of module.staticExports)
    for (const { moduleRequest, isType } of entries)
      if (moduleRequest) found.push({ specifier: moduleRequest.value, kind: isType ? "type" : "value" });
  const calls = new Set(module.dynamicImports.map(({ start }) => start));
  // The parser lists `import("./x.ts")` only where it is an expression, so any other match is a type.
  for (const match of withoutComments(text).matchAll(/\bimport\(\s*(["'])(.+?)\1\s*,?\s*\)/g))
    found.push({ specifier: match[2] as string, kind: calls.has(match.index) ? "dynamic" : "type" });
  return found;
}

/** The source file a specifier means; undefined when it is not one of this checkout. */
function resolveImport(
  { packages }: Pick<Tree, "packages">,
  known: ReadonlySet<string>,
  { from, specifier }: { readonly from: string; readonly specifier: string },
): string | undefined {
  if (specifier.startsWith(".")) {
    const path = posix.join(posix.dirname(from), specifier);
    return known.has(path) ? path : undefined;
  }
  for (const each of packages) {
    if (specifier !== each.name && !specifier.startsWith(`${each.name}/`)) continue;
    const subpath = `.${specifier.slice(each.name.length)}`;
    return exportTargets(each, subpath)
      .map((target) => posix.join(each.directory, target))
      .find((path) => known.has(path));
  }
  return undefined;
}

function edgesOf(tree: Tree, known: ReadonlySet<string>, { path: from, text }: SourceFile): ImportEdge[] {
  const edges = new Map<string, ImportEdge>();
  for (const { specifier, kind } of importsOf(text)) {
    const to = resolveImport(tree, known, { from, specifier });
    if (to !== undefined) edges.set(`${kind} ${to}`, { from, to, kind });
  }
  return [...edges.values()];
}

/** The targets of one subpath, under whatever conditions, in the order they are written. */
function exportTargets({ exports }: Package, subpath: string): string[] {
  if (typeof exports === "string") return subpath === "." ? [exports] : [];
  if (typeof exports !== "object" || exports === null) return [];
  const entries = Object.entries(exports);
  if (!entries.some(([key]) => key.startsWith("."))) return subpath === "." ? targetsIn(exports) : [];
  for (const [key, value] of entries) {
    if (key === subpath) return targetsIn(value);
    const [head = "", tail] = key.split("*");
    if (tail === undefined || !subpath.startsWith(head) || !subpath.endsWith(tail)) continue;
    const matched = subpath.slice(head.length, subpath.length - tail.length);
    return targetsIn(value).map((target) => target.replaceAll("*", matched));
  }
  return [];
}

function targetsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(targetsIn) : [];
}
