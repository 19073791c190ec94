// The import rules of the workspace. Pure: they take a workspace and return one line for each breach.
import { importCycles } from "./cycles.ts";
import { type Import, type Package, packageName, packageOf, type Workspace } from "./workspace.ts";

/**
 * Packages by directory, each with the folders and single files of its `src`, lowest first. A package may import the packages before
 * it; a folder may import folders of lower floors only, so folders on the same floor do not import each other. A package without floors
 * is one room: its files may import each other in any direction that makes no cycle.
 */
export const FLOORS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  "packages/core": [
    ["lib"],
    ["security", "home", "version"],
    ["config", "profiles"],
    ["message"],
    ["tools"],
    ["curated", "providers", "sessions", "skills"],
    ["prompt", "context", "staged"],
    ["memory"],
    ["adapters"],
    ["index", "public"],
  ],
  // Providers do not import each other.
  "packages/providers": [
    ["kit"],
    [
      ...["byterover", "hindsight", "holographic", "honcho"],
      ...["mem0", "openviking", "retaindb", "supermemory"],
    ],
    ["bundled"],
    ["index", "internal"],
  ],
  "packages/agent": [["models"], ["review"], ["agent", "curator"], ["index", "public"]],
  "packages/mcp": [],
  "packages/import": [],
  "packages/gateway": [],
  "packages/hermes-memory": [["demo"], ["cli"], ["index", "public"]],
};
const PACKAGES = Object.keys(FLOORS);

/**
 * Files that may be imported without their folder's index.ts. The logger: few commands write a log, and the others should not load it.
 * The frozen blocks: a hook of another agent has some milliseconds for them.
 * SQLite: not loaded where nothing is opened. The adapters: each is a subpath of its own, for programs that use that SDK.
 */
const SIDE_DOORS = [
  "packages/core/src/lib/logger.ts",
  "packages/core/src/curated/frozen-blocks.ts",
  "packages/core/src/lib/sqlite.ts",
  "packages/core/src/lib/sqlite-pages.ts",
  "packages/core/src/memory/anthropic-memory-tool.ts",
  "packages/core/src/adapters/ai-sdk.ts",
  "packages/core/src/adapters/langchain.ts",
  "packages/core/src/adapters/openai-agents.ts",
];

/** Data that tests of several packages read. */
const SHARED_FIXTURES = "test/fixtures/";

export type Rule = (workspace: Workspace) => string[];

export const RULES = {
  "every folder of src has a floor": ({ files }) => {
    const places = files.flatMap(({ path }) => placeOf(path) ?? []);
    const unknown = places.filter(
      ({ directory, folder }) => !isOneRoom(directory) && floorOf(directory, folder) === undefined,
    );
    return [...new Set(unknown.map(({ directory, folder }) => `${directory}/src/${folder}`))];
  },

  "imports inside a package point down": ({ imports }) =>
    imports
      .filter(({ from, to }) => {
        const [a, b] = [placeOf(from), placeOf(to)];
        if (a === undefined || b === undefined || a.directory !== b.directory || a.folder === b.folder)
          return false;
        if (isOneRoom(a.directory)) return false;
        return (floorOf(a.directory, a.folder) ?? 0) <= (floorOf(b.directory, b.folder) ?? 0);
      })
      .map(show),

  "packages import lower packages": ({ imports, packages }) =>
    imports
      .filter(({ from, specifier }) => {
        if (!isSource(from) || specifier.startsWith(".")) return false;
        const target = packages.find(({ name }) => name === packageName(specifier));
        return (
          target !== undefined && PACKAGES.indexOf(directoryOf(from)) <= PACKAGES.indexOf(target.directory)
        );
      })
      .map(show),

  "a relative import stays in its src": ({ imports }) =>
    imports
      .filter(
        ({ from, specifier, to = "" }) => isSource(from) && specifier.startsWith(".") && !isOwnFile(from, to),
      )
      .map(show),

  "packages are entered through their exports": ({ imports, packages }) =>
    imports
      .filter(
        ({ specifier, to }) =>
          to === undefined && packages.some(({ name }) => name === packageName(specifier)),
      )
      .map(show),

  "exports lists only doors": ({ packages }) =>
    packages.flatMap(({ directory, exports }) =>
      Object.values(exports)
        .map((target) => `${directory}/${target.slice(2)}`)
        .filter((target) => target.startsWith(`${directory}/src/`) && !isDoor(target)),
    ),

  "folders are entered through their index.ts": ({ imports }) =>
    imports
      .filter(({ from, to }) => {
        const [a, b] = [placeOf(from), placeOf(to)];
        if (a === undefined || b === undefined || to === undefined || a.directory !== b.directory)
          return false;
        return a.folder !== b.folder && !isWithoutDoors(a.directory) && !isDoor(to);
      })
      .map(show),

  "tests import their own and lower packages": ({ imports, packages }) =>
    imports
      .filter(({ from, specifier, to }) => {
        if (!isTest(from)) return false;
        const outside = packages.find(({ name }) => name === packageName(specifier));
        if (to === undefined && outside === undefined) return false; // a third-party package
        if (to?.startsWith(SHARED_FIXTURES)) return false;
        const target = PACKAGES.indexOf(outside?.directory ?? directoryOf(to ?? ""));
        return target < 0 || target > PACKAGES.indexOf(directoryOf(from));
      })
      .map(show),

  // Users of the package run these suites in a test runner of their choice.
  "contract suites import sources only": ({ imports }) =>
    imports
      .filter(({ from, specifier, to }) => {
        if (!/^packages\/[^/]+\/testing\//.test(from) || specifier.startsWith("node:")) return false;
        const own = directoryOf(from);
        return !to?.startsWith(`${own}/src/`) && !to?.startsWith(`${own}/testing/`);
      })
      .map(show),

  "package.json lists what is imported": (workspace) =>
    workspace.imports
      .filter(({ from, specifier }) => {
        if (/^(?:\.|node:)/.test(specifier)) return false;
        return !mayImport(workspace, from).includes(packageName(specifier));
      })
      .map(show),

  // The command line prints through its terminal object, which knows about pipes, colours and `--json`.
  "sources do not use console": ({ files }) =>
    files.filter(({ path, text }) => isSource(path) && /\bconsole\./.test(text)).map(({ path }) => path),
} as const satisfies Record<string, Rule>;

export type RuleName = keyof typeof RULES;

/** Every breach, each with the rule in front. */
export function breaches(workspace: Workspace): string[] {
  return [
    ...Object.entries(RULES).flatMap(([name, rule]) => rule(workspace).map((line) => `${name}: ${line}`)),
    ...importCycles(workspace.imports).map((line) => `no cycles: ${line}`),
  ];
}

/** Packages that a file may name: in sources what is installed with them, in tests also the tools. */
function mayImport(workspace: Workspace, from: string): readonly string[] {
  const own = packageOf(workspace, from);
  const root = workspace.packages.find(({ directory }) => directory === "");
  if (own === undefined) return [];
  if (isSource(from)) return own.dependencies;
  const tools = [...own.dependencies, ...own.devDependencies, ...(root?.devDependencies ?? [])];
  return own === root ? [...tools, ...workspaceNames(workspace)] : [...tools, own.name];
}

/** npm links every workspace into the root's node_modules. */
function workspaceNames({ packages }: Workspace): string[] {
  return packages.filter(({ directory }: Package) => directory !== "").map(({ name }) => name);
}

/** For `packages/core/src/config/load.ts`: "packages/core" and "config". */
function placeOf(path = ""): { readonly directory: string; readonly folder: string } | undefined {
  const [, directory = "", folder = ""] =
    /^(packages\/[^/]+)\/src\/([^/]+?)(?:\.ts)?(?:\/|$)/.exec(path) ?? [];
  return directory === "" ? undefined : { directory, folder };
}

function isOneRoom(directory: string): boolean {
  return FLOORS[directory]?.length === 0;
}

/** Its folders have no index.ts: they are entered at any file. */
function isWithoutDoors(directory: string): boolean {
  return isOneRoom(directory) || directory === "packages/providers";
}

function floorOf(directory: string, folder: string): number | undefined {
  const floor = FLOORS[directory]?.findIndex((folders) => folders.includes(folder)) ?? -1;
  return floor < 0 ? undefined : floor;
}

/** An index.ts right below a folder of src, or a file that is a folder's equal. */
function isDoor(path: string): boolean {
  return (
    SIDE_DOORS.includes(path) || /^packages\/[^/]+\/src\/(?:[^/]+|[^/]+\/index\.ts|public\/[^/]+)$/.test(path)
  );
}

function isOwnFile(from: string, to: string): boolean {
  const own = directoryOf(from);
  return to.startsWith(`${own}/src/`) || to === `${own}/package.json`;
}

function isSource(path: string): boolean {
  return placeOf(path) !== undefined;
}

function isTest(path: string): boolean {
  return /^packages\/[^/]+\/test\//.test(path);
}

function directoryOf(path: string): string {
  return path.split("/", 2).join("/");
}

function show({ from, specifier }: Import): string {
  return `${from} imports "${specifier}"`;
}
