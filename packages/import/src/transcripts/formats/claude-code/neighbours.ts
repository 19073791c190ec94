// Files beside a Claude Code transcript: outputs that were moved out of it, the session it goes on from, the notes of Cowork.
import { open, readdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, sep } from "node:path";
import { recordAt } from "../../kit/json-array.ts";
import { textOf } from "../../kit/values.ts";

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
    await using file = await open(path, "r");
    const found = await file.stat();
    if (!found.isFile()) return undefined;
    const { bytesRead, buffer } = await file.read(
      Buffer.alloc(Math.min(found.size, MAX_OUTPUT_BYTES)),
      0,
      null,
      0,
    );
    const text = new TextDecoder().decode(buffer.subarray(0, bytesRead));
    return found.size > bytesRead ? `${text}\n[${found.size - bytesRead} more bytes]` : text;
  } catch {
    return undefined; // the product deletes old outputs; the transcript keeps a preview
  }
}

/**
 * The session that has this record, looked for in the files whose last change is nearest to `at` (seconds): of the same folder, then of
 * the other projects, because a session can be resumed from another working directory.
 */
export async function sessionWithRecord(uuid: string, path: string, at: number): Promise<string | undefined> {
  const own = dirname(path);
  const found = await sessionIn([own], uuid, path, at);
  if (found !== undefined || basename(dirname(own)) !== "projects") return found;
  const others = (await readdir(dirname(own)).catch(() => [])).map((name) => join(dirname(own), name));
  return sessionIn(
    others.filter((folder) => folder !== own),
    uuid,
    path,
    at,
  );
}

async function sessionIn(
  folders: readonly string[],
  uuid: string,
  path: string,
  at: number,
): Promise<string | undefined> {
  const candidates: { path: string; size: number; distance: number }[] = [];
  // A folder that may not be listed costs only the link between the two sessions.
  for (const folder of folders)
    for (const name of await readdir(folder).catch(() => [])) {
      const candidate = join(folder, name);
      if (!name.endsWith(".jsonl") || name.startsWith("agent-") || candidate === path) continue;
      const found = await stat(candidate).catch(() => undefined); // deleted meanwhile
      if (found?.isFile())
        candidates.push({ path: candidate, size: found.size, distance: Math.abs(found.mtimeMs / 1000 - at) });
    }
  candidates.sort((a, b) => a.distance - b.distance || (a.path < b.path ? -1 : 1));
  const wanted = Buffer.from(`"uuid":${JSON.stringify(uuid)}`);
  for (const { path: candidate, size } of candidates.slice(0, MAX_CANDIDATES))
    if ((await tailOf(candidate, size)).includes(wanted)) return basename(candidate, ".jsonl");
  return undefined;
}

async function tailOf(path: string, size: number): Promise<Buffer> {
  try {
    await using file = await open(path, "r");
    const length = Math.min(size, TAIL_BYTES);
    const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, size - length);
    return buffer.subarray(0, bytesRead);
  } catch {
    return Buffer.alloc(0); // its own unit reports it
  }
}

/** Where Cowork keeps what it knows of a transcript: `local_<id>.json` beside the folder `local_<id>`. */
export function coworkNotes(path: string): string | undefined {
  return /^(.*[\\/]local_[^\\/]+)[\\/]\.claude[\\/]projects[\\/][^\\/]+[\\/][^\\/]+\.jsonl$/
    .exec(path)?.[1]
    ?.concat(".json");
}

export async function coworkTitle(path: string): Promise<string | undefined> {
  const notes = coworkNotes(path);
  if (notes === undefined) return undefined;
  const known = await recordAt(notes);
  return textOf(known?.cliSessionId) === basename(path, ".jsonl") ? textOf(known?.title) : undefined;
}
