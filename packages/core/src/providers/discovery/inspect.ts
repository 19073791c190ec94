// A look at one plugin's directory: is it a memory provider, and could it be loaded? Text is read, nothing is executed.
import { closeSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { describeCause, takeCodePoints } from "../../lib/index.ts";
import { type EntryFile, findEntryFile, isFile } from "./entry-file.ts";
import type { FoundProvider } from "./found.ts";
import { MANIFEST_FILE, readManifest } from "./manifest.ts";

export type Inspected = {
  /** Absent when the directory holds something else than a memory provider. */
  readonly found?: FoundProvider;
  /** What to import; absent when `found.problem` says why not. */
  readonly entry?: string;
  readonly warnings: readonly string[];
};

const SIGNS = ["register_memory_provider", "registerMemoryProvider", "MemoryProvider"];
const SCANNED_CHARS = 8192;
const PYTHON_ENTRY = "__init__.py";

export async function inspectPlugin(directory: string, name: string): Promise<Inspected> {
  try {
    return await inspect(directory, name);
  } catch (cause) {
    return {
      warnings: [`Cannot look into ${directory}: ${describeCause(cause)}. It is passed over.`],
    };
  }
}

async function inspect(directory: string, name: string): Promise<Inspected> {
  const entry = findEntryFile(directory);
  const python = join(directory, PYTHON_ENTRY);
  const isPython = isFile(python);
  if (entry.kind === "none" && !isPython && !isFile(join(directory, MANIFEST_FILE))) return { warnings: [] };

  const { manifest, warning } = await readManifest(directory);
  if (manifest.kind === "context_engine") return { warnings: [] };
  const isExclusive = manifest.kind === "exclusive";
  const isOurs = "path" in entry && (isExclusive || hasSign(entry.path));
  if (!isOurs && !isExclusive && !(isPython && hasSign(python))) return { warnings: [] };

  const warnings = warning === undefined ? [] : [warning];
  const found: FoundProvider = { name, source: "user", directory, manifest };
  if (isOurs && entry.kind === "file") return { found, entry: entry.path, warnings };
  const problem = !isOurs && isPython ? PYTHON_PROBLEM : entryProblem(entry);
  return { found: { ...found, problem }, warnings };
}

const PYTHON_PROBLEM =
  `It is a Python plugin (${PYTHON_ENTRY}), and this program loads JavaScript and TypeScript only. ` +
  "Use it with the Python edition, or look for an edition with an index.ts or index.js.";

function entryProblem(entry: EntryFile): string {
  switch (entry.kind) {
    case "outside":
      return `Its package.json names '${entry.named}', which is outside of the plugin's directory. Name a file inside.`;
    case "missing":
      return `Its package.json names '${entry.named}', which does not exist. Build the plugin, or correct the name.`;
    default:
      return "It has no entry file. Add index.ts, index.mts, index.js or index.mjs, or name one in package.json.";
  }
}

/** A plugin's source mentions the contract near its top. Bytes that are no text count as some other character. */
function hasSign(path: string): boolean {
  if (!isFile(path)) return false; // also no pipe: opening one would wait for ever
  const bytes = Buffer.alloc(SCANNED_CHARS * 4);
  const file = openSync(path, "r");
  try {
    const length = readSync(file, bytes, 0, bytes.length, 0);
    const text = takeCodePoints(bytes.toString("utf8", 0, length), SCANNED_CHARS);
    return SIGNS.some((sign) => text.includes(sign));
  } finally {
    closeSync(file);
  }
}
