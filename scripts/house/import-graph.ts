// Who imports whom in a checkout, and what follows from it: files with one importer, and import cycles.
import { posix } from "node:path";
import { parseSync } from "vite";
import { findCycles } from "../architecture/find-cycles.ts";
import { type Package, type SourceFile, type Tree, withoutComments } from "./tree.ts";

/** `value`: loaded together with the importer. `type`: erased before the code runs. `dynamic`: loaded when the call runs. */
export type ImportKind = "value" | "type" | "dynamic";

type ImportEdge = { readonly from: string; readonly to: string; readonly kind: ImportKind };

type SingleImporter = {
  readonly file: string;
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

export function readImportGraph(tree: Tree): ImportGraph {
  const known = new Set(tree.sources.map(({ path }) => path));
  const edges = tree.sources.flatMap((source) => edgesOf(tree, known, source));
  const tested = new Set(tree.tests.flatMap((test) => edgesOf(tree, known, test)).map(({ to }) => to));
  const importers = new Map(tree.sources.map(({ path }) => [path, new Set<string>()]));
  for (const { from, to } of edges) importers.get(to)?.add(from);
  const isLazy = (file: string): boolean => edges.every(({ to, kind }) => to !== file || kind === "dynamic");
  const singleImporters = [...importers].flatMap(([file, [importer, ...others]]) =>
    importer === undefined || others.length > 0
      ? []
      : [{ file, importer, isLazy: isLazy(file), isTested: tested.has(file) }],
  );
  const files = tree.sources.map(({ path }) => path);
  return {
    edges,
    singleImporters,
    withoutImporter: files.filter((file) => importers.get(file)?.size === 0),
    cycles: findCycles(
      files,
      edges.filter(({ kind }) => kind === "value"),
    ),
    cyclesOfAnyKind: findCycles(files, edges),
  };
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
  // The parser lists `import("./x.ts")` as an expression but not as a type; whatever looks like one and is not listed is a type.
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
