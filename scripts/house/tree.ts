// Reads a checkout for the report: packages, source files, lines and index files. Supports two layouts: a workspace (packages/*/src),
// and one package at the root (src), as before the repository became a workspace.
import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { join, posix, resolve, sep } from "node:path";
import { parseSync } from "vite";

export type Package = {
  readonly name: string;
  /** Relative to the root of the checkout, with "/": "packages/core", or "" when the checkout is one package. */
  readonly directory: string;
  readonly exports: unknown;
};

export type SourceFile = {
  /** Relative to the root of the checkout, with "/". */
  readonly path: string;
  readonly text: string;
  readonly lines: number;
  /** Lines that hold something other than white space and comments. */
  readonly codeLines: number;
};

export type Tree = {
  /** Absolute, without symbolic links, so that it is a prefix of the addresses V8 reports. */
  readonly root: string;
  readonly packages: readonly Package[];
  readonly sources: readonly SourceFile[];
  /** Tests, their fakes, and the contract suites. */
  readonly tests: readonly SourceFile[];
};

export function readTree(directory: string): Tree {
  const root = realpathSync(resolve(directory));
  const packages = findPackages(root);
  const sources = packages.flatMap((each) => readFiles(root, posix.join(each.directory, "src")));
  if (sources.length === 0) throw new Error(`${root} has no sources in src or packages/*/src.`);
  const testFolders = ["test", ...packages.flatMap(testFoldersOf)];
  return { root, packages, sources, tests: testFolders.flatMap((folder) => readFiles(root, folder)) };
}

/** The package whose `src` holds the file. */
export function packageOf({ packages }: Tree, path: string): Package {
  const found = packages.find((each) => path.startsWith(posix.join(each.directory, "src/")));
  if (found === undefined) throw new Error(`${path} is in no package.`);
  return found;
}

/** The folder right below `src`; "." for a file that lies in `src` itself. */
export function folderOf(tree: Tree, path: string): string {
  const inside = path.slice(posix.join(packageOf(tree, path).directory, "src/").length);
  return inside.includes("/") ? (inside.split("/")[0] as string) : ".";
}

/** The absolute path of `src/<inside>` in whichever package has it. */
export function doorOf({ root, packages, sources }: Tree, inside: string): string {
  const candidates = packages.map((each) => posix.join(each.directory, "src", inside));
  const found = candidates.find((path) => sources.some((source) => source.path === path));
  if (found === undefined) throw new Error(`None of these files exists: ${candidates.join(", ")}.`);
  return join(root, found);
}

function countLines(text: string): number {
  const newlines = text.split("\n").length - 1;
  return text === "" || text.endsWith("\n") ? newlines : newlines + 1;
}

function countCodeLines(text: string, path = "source.ts"): number {
  return withoutComments(text, path)
    .split("\n")
    .filter((line) => line.trim() !== "").length;
}

/** The same text with a space for each character of a comment, except line breaks: offsets and line numbers stay. */
export function withoutComments(text: string, path = "source.ts"): string {
  const blank = (comment: string): string => comment.replace(/[^\n]/g, " ");
  if (path.endsWith(".css")) return text.replace(/\/\*[\s\S]*?\*\//g, blank);
  if (path.endsWith(".sql")) return text.replace(/\/\*[\s\S]*?\*\/|--.*/g, blank);
  let result = "";
  let from = 0;
  for (const { start, end } of parseSync(path, text).comments) {
    result += text.slice(from, start) + blank(text.slice(start, end));
    from = end;
  }
  return result + text.slice(from);
}

function findPackages(root: string): Package[] {
  const workspace = join(root, "packages");
  if (!existsSync(workspace)) return [readPackage(root, "")];
  const names = readdirSync(workspace).filter((name) => existsSync(join(workspace, name, "package.json")));
  return names.sort().map((name) => readPackage(root, `packages/${name}`));
}

function readPackage(root: string, directory: string): Package {
  const manifest = JSON.parse(readFileSync(join(root, directory, "package.json"), "utf8")) as {
    readonly name: string;
    readonly exports?: unknown;
  };
  return { name: manifest.name, directory, exports: manifest.exports };
}

/** The root's own `test` is listed by the caller. */
function testFoldersOf({ directory }: Package): string[] {
  return directory === "" ? [] : [`${directory}/test`, `${directory}/testing`];
}

function readFiles(root: string, folder: string): SourceFile[] {
  if (!existsSync(join(root, folder))) return [];
  const names = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .map((name) => name.split(sep).join("/"))
    .filter((name) => /\.(?:ts|tsx|css|sql)$/.test(name) && !/(^|\/)(node_modules|dist)\//.test(name));
  return names.sort().map((name) => {
    const path = posix.join(folder, name);
    const text = readFileSync(join(root, path), "utf8");
    return { path, text, lines: countLines(text), codeLines: countCodeLines(text, path) };
  });
}
