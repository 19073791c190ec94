// Claude Code: `projects/<folder>/<session>.jsonl`, one record per line, with subagents in files of their own. Also Claude Cowork.
import { stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { jsonLines } from "../kit/json-lines.ts";
import { configFolder } from "../kit/places.ts";
import { recordOf, textOf } from "../kit/values.ts";
import { filesBelow } from "../kit/walk.ts";
import type { Place, Sample, TranscriptReader, Unit, Walking } from "../reader.ts";
import { coworkNotes, coworkTitle } from "./claude-code/neighbours.ts";
import { isSubagentFile, SILENT_TYPES, subagentFolder, Transcript } from "./claude-code/transcript.ts";

/** Folders of the product without transcripts. Some hold copies of the user's files. */
const OTHER_FOLDERS: ReadonlySet<string> = new Set([
  "file-history",
  "paste-cache",
  "image-cache",
  "shell-snapshots",
  "checkpoints",
  "debug",
  "plugins",
]);
/** Later than every time of a file in milliseconds: subagents are read after the sessions that started them. */
const AFTER_MAIN_FILES = 1e14;
const ENVELOPE_TYPES: ReadonlySet<string> = new Set([
  "user",
  "assistant",
  "system",
  "attachment",
  "progress",
]);

export const claudeCode: TranscriptReader = {
  source: "claude-code",
  title: "Claude Code",
  evidence: "F",
  version: 1,
  roots,
  units,
  recognises,
  async *read(unit, reading) {
    const transcript = new Transcript(unit.path, reading);
    transcript.main.titles.notes = await coworkTitle(unit.path);
    for await (const { line, value } of jsonLines(unit.path, reading)) {
      await transcript.take(value, line);
      for (const event of transcript.events) yield event;
      transcript.events.length = 0;
    }
    transcript.finish();
    for (const event of transcript.events) yield event;
  },
};

function roots(place: Place): string[] {
  const { home, env } = place;
  const configured = textOf(env.CLAUDE_CONFIG_DIR);
  const settings = textOf(env.XDG_CONFIG_HOME) ?? join(home, ".config");
  const folders = configured === undefined ? [join(home, ".claude"), join(settings, "claude")] : [configured];
  return [
    ...folders.flatMap((folder) => [join(folder, "projects"), join(folder, "transcripts")]),
    join(configFolder(place), "Claude", "local-agent-mode-sessions"),
  ];
}

async function* units(root: string, walking: Walking): AsyncGenerator<Unit> {
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

function recognises({ first }: Sample): boolean {
  const record = recordOf(first);
  const type = textOf(record?.type) ?? "";
  if (record === undefined) return false;
  if (type === "summary") return textOf(record.leafUuid) !== undefined;
  if (type === "file-history-snapshot") return recordOf(record.snapshot) !== undefined;
  if (SILENT_TYPES.has(type) || type === "custom-title" || type === "ai-title")
    return textOf(record.sessionId) !== undefined;
  // Qwen Code uses the same envelope.
  const isOtherProduct =
    recordOf(record.message)?.parts !== undefined || recordOf(record.systemPayload) !== undefined;
  return (
    ENVELOPE_TYPES.has(type) &&
    textOf(record.sessionId) !== undefined &&
    (record.uuid !== undefined || record.parentUuid !== undefined) &&
    !isOtherProduct
  );
}
