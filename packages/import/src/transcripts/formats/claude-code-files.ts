// Files of Claude Code and Claude Cowork: which of them are transcripts, and what stands beside one: outputs that were moved out of it,
// the session it goes on from, the notes of Cowork.
import { open, readdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, sep } from "node:path";
import { names } from "../declare.ts";
import { recordAt } from "../kit/json-array.ts";
import { configFolder } from "../kit/places.ts";
import { textOf } from "../kit/values.ts";
import { filesBelow } from "../kit/walk.ts";
import type { Place, Unit, Walking } from "../reader.ts";

/** Folders of the product without transcripts. Some hold copies of the user's files. */
const OTHER_FOLDERS = names(`
  file-history paste-cache image-cache shell-snapshots checkpoints debug plugins
`);
/** Later than every time of a file in milliseconds: subagents are read after the sessions that started them. */
const AFTER_MAIN_FILES = 1e14;

export function roots(place: Place): string[] {
  const { home, env } = place;
  const configured = textOf(env.CLAUDE_CONFIG_DIR);
  const settings = textOf(env.XDG_CONFIG_HOME) ?? join(home, ".config");
  const folders = configured === undefined ? [join(home, ".claude"), join(settings, "claude")] : [configured];
  return [
    ...folders.flatMap((folder) => [join(folder, "projects"), join(folder, "transcripts")]),
    join(configFolder(place), "Claude", "local-agent-mode-sessions"),
  ];
}

export async function* units(root: string, walking: Walking): AsyncGenerator<Unit> {
  const wanted = { file: (path: string) => isTranscript(path, root), folder: mayHoldTranscripts };
  for await (const path of filesBelow(root, wanted, walking)) {
    const notes = coworkNotes(path);
    const order = (await age(path)) + (isSubagentFile(path) ? AFTER_MAIN_FILES : 0);
    yield notes === undefined ? { path, order } : { path, order, stamps: [path, notes] };
  }
}

function isTranscript(path: string, root: string): boolean {
  const name = basename(path);
  if (!name.endsWith(".jsonl") || name === "history.jsonl") return false;
  return path === root || isSubagentFile(path) || subagentFolder(path) === undefined;
}

export function isSubagentFile(path: string): boolean {
  return basename(path).startsWith("agent-");
}

/** The folder `<session>/subagents` that the file lies in, or one level deeper in `workflows/<id>`. */
export function subagentFolder(path: string): string | undefined {
  const folder = dirname(path);
  const above = dirname(dirname(folder));
  if (basename(folder) === "subagents") return folder;
  return basename(dirname(folder)) === "workflows" && basename(above) === "subagents" ? above : undefined;
}

function mayHoldTranscripts(folder: string): boolean {
  const name = basename(folder);
  const above = basename(dirname(folder));
  if (name === "tool-results") return false;
  if (above === "projects") return true; // the user can name the folder of a project
  // Cowork keeps the user's files beside the folder of Claude Code.
  if (above.startsWith("local_") && basename(dirname(dirname(folder))) !== "projects")
    return name === ".claude";
  if (above === ".claude") return name === "projects" || name === "transcripts";
  return !OTHER_FOLDERS.has(name);
}

/** Milliseconds. A session that was resumed has a late change but an early birth; in a copied tree it is the other way round. */
async function age(path: string): Promise<number> {
  const found = await stat(path).catch(() => undefined); // deleted meanwhile: reading it reports that
  if (found === undefined) return 0;
  return found.birthtimeMs > 0 ? Math.min(found.birthtimeMs, found.mtimeMs) : found.mtimeMs;
}

const MAX_OUTPUT_BYTES = 1024 ** 2;
/** The record that a file goes on from is near the end of the file before it. */
const TAIL_BYTES = 256 * 1024;
const MAX_CANDIDATES = 32;

/**
 * A tool output that the transcript only names. The recorded path is never opened: its last three parts must be this session, `tool-results`
 * and a name, and the file of that name is taken from the folder beside the transcript, which may be a copy on another machine.
 */
export async function persistedOutput(recorded: string, sessionFolder: string): Promise<string | undefined> {
  const [session, folder, name] = recorded.split(/[\\/]/).slice(-3);
  if (session !== basename(sessionFolder) || folder !== "tool-results" || !name || name === "..")
    return undefined;
  try {
    const inside = await realpath(join(sessionFolder, folder));
    const path = await realpath(join(inside, name));
    if (!path.startsWith(inside + sep)) return undefined; // a link that leads out of the folder
    const found = await stat(path);
    if (!found.isFile()) return undefined;
    const bytes = await partOf(path, 0, Math.min(found.size, MAX_OUTPUT_BYTES));
    const text = new TextDecoder().decode(bytes);
    return found.size > bytes.length ? `${text}\n[${found.size - bytes.length} more bytes]` : text;
  } catch {
    return undefined; // the product deletes old outputs; the transcript keeps a preview
  }
}

async function partOf(path: string, from: number, length: number): Promise<Buffer> {
  await using file = await open(path, "r");
  const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, from);
  return buffer.subarray(0, bytesRead);
}

/**
 * The session that has this record, looked for in the files whose last change is nearest to `at` (seconds): of the same folder, then of
 * the other projects, because a session can be resumed from another working directory.
 */
export async function sessionWithRecord(uuid: string, path: string, at: number): Promise<string | undefined> {
  const own = dirname(path);
  const wanted = Buffer.from(`"uuid":${JSON.stringify(uuid)}`);
  const found = await sessionIn([own]);
  if (found !== undefined || basename(dirname(own)) !== "projects") return found;
  const others = (await readdir(dirname(own)).catch(() => [])).map((name) => join(dirname(own), name));
  return sessionIn(others.filter((folder) => folder !== own));

  async function sessionIn(folders: readonly string[]): Promise<string | undefined> {
    const candidates: { path: string; size: number; distance: number }[] = [];
    // A folder that may not be listed costs only the link between the two sessions.
    for (const folder of folders)
      for (const name of await readdir(folder).catch(() => [])) {
        const candidate = join(folder, name);
        if (!name.endsWith(".jsonl") || name.startsWith("agent-") || candidate === path) continue;
        const stats = await stat(candidate).catch(() => undefined); // deleted meanwhile
        if (stats?.isFile() !== true) continue;
        const distance = Math.abs(stats.mtimeMs / 1000 - at);
        candidates.push({ path: candidate, size: stats.size, distance });
      }
    candidates.sort((a, b) => a.distance - b.distance || (a.path < b.path ? -1 : 1));
    for (const { path: candidate, size } of candidates.slice(0, MAX_CANDIDATES)) {
      const length = Math.min(size, TAIL_BYTES);
      const tail = await partOf(candidate, size - length, length).catch(() => undefined); // its own unit reports it
      if (tail?.includes(wanted)) return basename(candidate, ".jsonl");
    }
    return undefined;
  }
}

/** Where Cowork keeps what it knows of a transcript: `local_<id>.json` beside the folder `local_<id>`. */
function coworkNotes(path: string): string | undefined {
  return /^(.*[\\/]local_[^\\/]+)[\\/]\.claude[\\/]projects[\\/][^\\/]+[\\/][^\\/]+\.jsonl$/
    .exec(path)?.[1]
    ?.concat(".json");
}

export async function coworkTitle(path: string): Promise<string | undefined> {
  const notes = coworkNotes(path);
  const known = notes === undefined ? undefined : await recordAt(notes);
  return textOf(known?.cliSessionId) === basename(path, ".jsonl") ? textOf(known?.title) : undefined;
}
