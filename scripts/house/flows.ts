// Runs a flow of a checkout in a child process with a temporary home and reads from V8's coverage which files took part.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import type { Profiler } from "node:inspector";
import { tmpdir } from "node:os";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { doorOf, type Tree } from "./tree.ts";

export type FlowName = "memory-add" | "later-turn" | "discover" | "compaction" | "setup-holographic";

/** Of the command line: `args` is measured, `first` runs before it. Of the library: see `flow-child.ts`. */
type Flow = { readonly title: string } & (
  | { readonly kind: "command"; readonly args: readonly string[]; readonly first?: readonly string[] }
  | { readonly kind: "library"; readonly door: string }
);

export const FLOWS: Readonly<Record<FlowName, Flow>> = {
  "memory-add": {
    title: "hermes memory add, in a home that has an entry",
    kind: "command",
    first: ["memory", "add", "The kiln fires at 1240 degrees"],
    args: ["memory", "add", "The staging machine is in the hall"],
  },
  "later-turn": {
    title: "an agent's second turn, with one call of the memory tool",
    kind: "library",
    door: "agent/index.ts",
  },
  discover: {
    title: "session_search with a query, on an open and indexed store",
    kind: "library",
    door: "sessions/index.ts",
  },
  compaction: {
    title: "agent.compress() on a long session, which goes on in a new one",
    kind: "library",
    door: "agent/index.ts",
  },
  "setup-holographic": {
    title: "hermes memory setup holographic --yes, in an empty home",
    kind: "command",
    args: ["memory", "setup", "holographic", "--yes"],
  },
};

export type FlowFigures = {
  readonly title: string;
  /** Source files in which a function ran. Running only the module body does not count. */
  readonly filesRun: number;
  /** Differs by up to ten between runs: the session store also indexes new messages on a timer. */
  readonly functionsRun: number;
  /** Source files in memory when the flow ended, those that only the preparation needed included. */
  readonly filesLoaded: number;
  /** Functions run, by source file. */
  readonly functionsByFile: Readonly<Record<string, number>>;
};

/** The file that a child writes: coverage of the flow, in the form Node writes, and the scripts that were there before it. */
export type CoverageFile = {
  readonly result: readonly Profiler.ScriptCoverage[];
  readonly loadedBefore?: readonly string[];
};

/** Ten times the slowest flow on a busy machine with 2 cores. */
const FLOW_TIMEOUT_MS = 60_000;

export function measureFlow(tree: Tree, name: FlowName): FlowFigures {
  const flow = FLOWS[name];
  const folder = mkdtempSync(join(tmpdir(), "hermes-house-"));
  try {
    const home = join(folder, "home");
    const coverage = join(folder, "coverage");
    mkdirSync(coverage);
    if (flow.kind === "command") {
      const main = doorOf(tree, "cli/main.ts");
      if (flow.first !== undefined) runNode([main, ...flow.first], { folder, home });
      runNode([main, ...flow.args], { folder, home, coverage });
    } else {
      const child = join(import.meta.dirname, "flow-child.ts");
      runNode([child, name, doorOf(tree, flow.door), coverage], { folder, home });
    }
    const files = readdirSync(coverage).map(
      (file) => JSON.parse(readFileSync(join(coverage, file), "utf8")) as CoverageFile,
    );
    if (files.length === 0) throw new Error(`The flow '${name}' left no coverage.`);
    return { title: flow.title, ...countFunctions(tree, files) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Functions that ran at least once, by source file of the checkout. Everything else, Node and packages included, is left out. */
function countFunctions(
  { root, sources }: Pick<Tree, "root" | "sources">,
  files: readonly CoverageFile[],
): Omit<FlowFigures, "title"> {
  const known = new Set(sources.map(({ path }) => path));
  const loaded = new Set<string>();
  const run = new Map<string, Set<string>>();
  for (const { result, loadedBefore = [] } of files) {
    for (const url of loadedBefore) loaded.add(pathIn(root, url));
    for (const { url, functions } of result) {
      const path = pathIn(root, url);
      loaded.add(path);
      if (!known.has(path)) continue;
      const names = functions.filter(hasRun).map(({ functionName, ranges }) => {
        return `${functionName} ${ranges[0]?.startOffset}-${ranges[0]?.endOffset}`;
      });
      if (names.length > 0) run.set(path, new Set([...(run.get(path) ?? []), ...names]));
    }
  }
  const counts = [...run]
    .map(([path, names]) => [path, names.size] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    filesRun: counts.length,
    functionsRun: counts.reduce((sum, [, count]) => sum + count, 0),
    filesLoaded: [...loaded].filter((path) => known.has(path)).length,
    functionsByFile: Object.fromEntries(counts),
  };
}

/** The module body, which begins at offset 0, and static fields run when a file is loaded, whether or not the flow uses it. */
function hasRun({ functionName, ranges }: Profiler.FunctionCoverage): boolean {
  const [whole] = ranges;
  if (whole === undefined || whole.count === 0) return false;
  return whole.startOffset > 0 && functionName !== "<static_initializer>";
}

function pathIn(root: string, url: string): string {
  return url.startsWith("file:") ? relative(root, fileURLToPath(url)).split(sep).join("/") : url;
}

type Run = { readonly folder: string; readonly home: string; readonly coverage?: string };

function runNode(args: readonly string[], { folder, home, coverage }: Run): void {
  // Only what the child needs: variables such as HERMES_PROFILE or a vendor's key would change what the flow does.
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    TMPDIR: folder,
    HERMES_HOME: home,
    NODE_DISABLE_COMPILE_CACHE: "1",
    NODE_V8_COVERAGE: coverage,
  };
  const { status, stderr, error } = spawnSync(process.execPath, args, {
    cwd: folder,
    env,
    encoding: "utf8",
    timeout: FLOW_TIMEOUT_MS,
  });
  if (status !== 0) throw new Error(`node ${args.join(" ")} failed: ${error?.message ?? stderr.trim()}`);
}
