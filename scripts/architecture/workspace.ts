// Reads the checkout for the rules: packages, files and imports.
import { globSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { type ImportKind, importsOf } from "../house/import-graph.ts";

export type Package = {
  readonly name: string;
  /** Relative to the root: "packages/core"; "" is the root itself. */
  readonly directory: string;
  /** Subpath to file: "./lib" to "./src/lib/index.ts". */
  readonly exports: Readonly<Record<string, string>>;
  /** Installed together with the package. */
  readonly dependencies: readonly string[];
  readonly devDependencies: readonly string[];
};

/** `path` is relative to the root, with "/". */
export type SourceFile = { readonly path: string; readonly text: string };

export type Import = {
  readonly from: string;
  readonly specifier: string;
  readonly kind: ImportKind;
  /** The file of this checkout that is meant. Undefined: a package from outside, or a subpath that `exports` does not list. */
  readonly to: string | undefined;
};

export type Workspace = {
  /** The root is one of them. */
  readonly packages: readonly Package[];
  readonly files: readonly SourceFile[];
  readonly imports: readonly Import[];
};

const FILES = "{packages/*/{src,test,testing},bench,scripts,examples,test}/**/*.ts";
// The fixture is data: a home of version 0.1.0 with a plugin of its user. The consumers, and examples with a package.json, are projects
// of their own.
const FIXTURE = "test/fixtures/home-0.1.0";
const CONSUMERS = "test/consumers";

export function readWorkspace(root: string): Workspace {
  const paths = (pattern: string, exclude: readonly string[] = []) =>
    globSync(pattern, { cwd: root, exclude }).map((path) => path.replaceAll("\\", "/"));
  const projects = paths("examples/*/package.json").map((path) => posix.dirname(path));
  const packages = ["package.json", ...paths("packages/*/package.json")].map((path) =>
    parsePackage(path, JSON.parse(readFileSync(join(root, path), "utf8"))),
  );
  const files = paths(FILES, [FIXTURE, CONSUMERS, ...projects])
    .sort()
    .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));
  return workspaceOf(packages, files);
}

export function workspaceOf(packages: readonly Package[], files: readonly SourceFile[]): Workspace {
  const imports = files.flatMap(({ path: from, text }) =>
    importsOf(text).map((found) => ({ from, ...found, to: resolveImport(packages, from, found.specifier) })),
  );
  return { packages, files, imports };
}

function resolveImport(packages: readonly Package[], from: string, specifier: string): string | undefined {
  if (specifier.startsWith(".")) return posix.join(posix.dirname(from), specifier);
  const target = packages.find(({ name }) => name === packageName(specifier));
  const file = target?.exports[`.${specifier.slice(target.name.length)}`];
  return target === undefined || file === undefined ? undefined : posix.join(target.directory, file);
}

/** "@hermes-memory/core/internal/lib" is of the package "@hermes-memory/core". */
export function packageName(specifier: string): string {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}

/** The innermost package that the file belongs to. */
export function packageOf({ packages }: Pick<Workspace, "packages">, path: string): Package | undefined {
  const inside = packages.find(({ directory }) => directory !== "" && path.startsWith(`${directory}/`));
  return inside ?? packages.find(({ directory }) => directory === "");
}

type Manifest = Partial<{
  name: string;
  exports: Record<string, string>;
  dependencies: object;
  optionalDependencies: object;
  peerDependencies: object;
  devDependencies: object;
}>;

function parsePackage(path: string, manifest: Manifest): Package {
  const { dependencies, optionalDependencies, peerDependencies, devDependencies } = manifest;
  return {
    name: manifest.name ?? "",
    directory: path === "package.json" ? "" : posix.dirname(path),
    exports: manifest.exports ?? {},
    dependencies: Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }),
    devDependencies: Object.keys(devDependencies ?? {}),
  };
}
