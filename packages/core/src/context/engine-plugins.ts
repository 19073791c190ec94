// Which context engines there are: the two that come with the program, and plugins of kind `context_engine` in the home's
// plugins folder. Only text is read; no plugin's code runs.
import { statSync } from "node:fs";
import { join } from "node:path";
import { describeCause, errnoCode, namesIn } from "../lib/index.ts";
import {
  type EntryFile,
  findEntryFile,
  isProviderName,
  pluginsDirectory,
  readManifest,
} from "../providers/index.ts";

export type ListedEngine = {
  /** What `context.engine` has to say to select it. */
  readonly name: string;
  readonly source: "built-in" | "plugin";
  readonly description: string;
  /** Of a plugin. */
  readonly directory?: string;
  /** What to import; absent when `problem` says why not. */
  readonly entry?: string;
  readonly problem?: string;
};

export type ListedEngines = {
  /** Built-in ones first, then plugins by name. */
  readonly engines: readonly ListedEngine[];
  /** About folders that had to be passed over. */
  readonly warnings: readonly string[];
};

const BUILT_IN_ENGINES: readonly ListedEngine[] = [
  {
    name: "compressor",
    source: "built-in",
    description: "Summarises older turns into one handoff message.",
  },
  {
    name: "lcm",
    source: "built-in",
    description: "Summarises older turns in layers; every span can be read again in full.",
  },
];

const KIND = "context_engine";

export async function listEngines(home: string): Promise<ListedEngines> {
  const parent = pluginsDirectory(home);
  const warnings: string[] = [];
  const plugins: ListedEngine[] = [];
  for (const name of pluginFolders(parent, warnings)) {
    const looked = await lookAt(join(parent, name), name);
    if (looked === undefined) continue;
    if ("warning" in looked) warnings.push(looked.warning);
    else plugins.push(looked.engine);
  }
  return { engines: [...BUILT_IN_ENGINES, ...plugins], warnings };
}

/** Undefined when there is no such engine. */
export async function findEngine(home: string, name: string): Promise<ListedEngine | undefined> {
  const builtIn = BUILT_IN_ENGINES.find((engine) => engine.name === name);
  if (builtIn || !isProviderName(name)) return builtIn;
  const looked = await lookAt(join(pluginsDirectory(home), name), name);
  return looked && "engine" in looked ? looked.engine : undefined;
}

type Looked = { readonly engine: ListedEngine } | { readonly warning: string };

/** Undefined for a folder that holds something else. */
async function lookAt(directory: string, name: string): Promise<Looked | undefined> {
  try {
    if (!isFile(join(directory, "plugin.yaml"))) return undefined; // nothing else tells the kind
    const { manifest } = await readManifest(directory);
    if (manifest.kind !== KIND) return undefined;
    const obstacle = obstacleOf(name);
    if (obstacle !== undefined) return { warning: `${directory} is passed over: ${obstacle}` };
    const entry = findEntryFile(directory);
    const engine = { name, source: "plugin" as const, description: manifest.description, directory };
    if (entry.kind === "file") return { engine: { ...engine, entry: entry.path } };
    const isPython = isFile(join(directory, "__init__.py"));
    return { engine: { ...engine, problem: isPython ? PYTHON : problemOf(entry) } };
  } catch (cause) {
    return { warning: `Cannot look into ${directory}: ${describeCause(cause)}. It is passed over.` };
  }
}

function obstacleOf(name: string): string | undefined {
  if (!isProviderName(name))
    return "an engine's name has only letters, digits, '.', '_' and '-'. Rename the directory.";
  const isTaken = BUILT_IN_ENGINES.some((engine) => engine.name === name);
  return isTaken ? `'${name}' is built in. Rename the directory.` : undefined;
}

const PYTHON =
  "It is a Python plugin, and this program loads JavaScript and TypeScript only. " +
  "Use it with the Python edition, or look for an edition with an index.ts or index.js.";

function problemOf(entry: EntryFile): string {
  switch (entry.kind) {
    case "outside":
      return `Its package.json leads out of its directory ('${entry.named}'). Name a file inside.`;
    case "missing":
      return `Its package.json names '${entry.named}', which is not there. Build the plugin, or correct the name.`;
    default:
      return "It has no entry file. Add index.ts or index.js, or name a file in package.json.";
  }
}

function pluginFolders(parent: string, warnings: string[]): readonly string[] {
  try {
    const names = namesIn(parent).filter((name) => !/^[._]/.test(name));
    return names.filter((name) => isDirectory(join(parent, name))).sort();
  } catch (cause) {
    warnings.push(`Cannot read ${parent}: ${describeCause(cause)}. Only the built-in engines are known.`);
    return [];
  }
}

/** Follows links: a plugin under development is often one. A link that leads nowhere is no plugin. */
function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch (cause) {
    if (["ENOENT", "ENOTDIR"].includes(errnoCode(cause) ?? "")) return false;
    throw cause;
  }
}
