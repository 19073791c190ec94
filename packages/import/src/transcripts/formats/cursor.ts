// Cursor: the IDE's database, the stores of its command line agent, and transcripts as JSON lines or text.
import { stat } from "node:fs/promises";
import { basename, dirname, extname, join, sep } from "node:path";
import { format, type Said } from "../declare.ts";
import { isInBetterStore } from "../kit/better-store.ts";
import { blocksOf } from "../kit/blocks.ts";
import { isDatabaseWith } from "../kit/database-sessions.ts";
import { folderEncodedAs } from "../kit/encoded-folder.ts";
import { jsonLines } from "../kit/json-lines.ts";
import { databaseStamps } from "../kit/sqlite-source.ts";
import { recordOf, textOf, timeOf } from "../kit/values.ts";
import { vscodeUserFolders } from "../kit/vscode-user.ts";
import { filesBelow } from "../kit/walk.ts";
import type { Reading, SessionFacts, Unit, Walking } from "../reader.ts";
import { readCursorDatabase } from "./cursor-database.ts";
import { readCursorStore } from "./cursor-store.ts";
import { contentOfQuery, textTranscript } from "./cursor-text.ts";

/** One conversation can be in all three; the first store that has it is kept. */
const ORDERS: Readonly<Record<string, number>> = { "state.vscdb": 0, "store.db": 1 };
const TRANSCRIPT_ORDER = 2;
const TRANSCRIPT_FOLDER = "agent-transcripts";

export const cursor = format({
  source: "cursor",
  title: "Cursor",
  evidence: "P",
  keepsEmpty: true,
  roots: (place) => {
    const config = textOf(place.env.CURSOR_CONFIG_DIR) ?? join(place.home, ".cursor");
    return [
      ...vscodeUserFolders(place, ["Cursor"]).map((user) => join(user, "globalStorage", "state.vscdb")),
      ...["chats", "acp-sessions", "projects"].map((folder) => join(config, folder)),
    ];
  },
  units,
  recognises: ({ path, head, first }) => {
    if (ORDERS[basename(path)] !== undefined) return isDatabaseWith(head, /^/);
    if (extname(path) === ".txt") return path.includes(`${sep}${TRANSCRIPT_FOLDER}${sep}`);
    const record = recordOf(first);
    return (
      (record?.role === "user" || record?.role === "assistant") &&
      recordOf(record.message)?.content !== undefined &&
      record.type === undefined
    );
  },
  read: (unit, reading) => {
    if (basename(unit.path) === "state.vscdb") return readCursorDatabase(unit, reading);
    return basename(unit.path) === "store.db"
      ? readCursorStore(unit, reading)
      : readTranscript(unit, reading);
  },
});

async function* units(root: string, walking: Walking): AsyncGenerator<Unit> {
  const wanted = {
    file: (path: string) => path === root || isConversation(path),
    folder: (path: string) => !SKIPPED_FOLDERS.has(basename(path)),
  };
  for await (const path of filesBelow(root, wanted, walking)) {
    const order = ORDERS[basename(path)];
    if (order === undefined) yield { path, order: TRANSCRIPT_ORDER };
    else yield { path, stamps: databaseStamps(path), order };
  }
}

function isConversation(path: string): boolean {
  if (ORDERS[basename(path)] !== undefined) return true;
  return TRANSCRIPT_TYPES.has(extname(path)) && path.includes(`${sep}${TRANSCRIPT_FOLDER}${sep}`);
}
const TRANSCRIPT_TYPES: ReadonlySet<string> = new Set([".jsonl", ".txt"]);
/** The databases of workspaces hold only lists of ids; the others are large and hold no conversation. */
const SKIPPED_FOLDERS: ReadonlySet<string> = new Set([
  "workspaceStorage",
  "History",
  "extensions",
  "node_modules",
]);

async function* readTranscript(unit: Unit, reading: Reading): AsyncGenerator<Said> {
  const identity = identityOf(unit.path);
  if (isInBetterStore(identity.nativeId, reading)) return;
  const { mtimeMs } = await stat(unit.path);
  const facts: SessionFacts = {
    ...identity,
    cwd: await projectOf(unit.path),
    startedAt: timeOf(mtimeMs),
    hasSyntheticTimes: true,
  };
  if (extname(unit.path) === ".txt") {
    yield facts;
    yield* textTranscript(unit.path, reading);
  } else yield* lineTranscript(unit.path, facts, reading);
}

/** `<id>.jsonl`, `<id>/<id>.jsonl`, or `<id>/subagents/<subagent>.jsonl`. */
function identityOf(path: string): Pick<SessionFacts, "nativeId" | "parent" | "visibility"> {
  const stem = basename(path, extname(path));
  const folder = dirname(path);
  if (basename(folder) !== "subagents") return { nativeId: stem };
  const parent = basename(dirname(folder));
  return { nativeId: UUID.test(stem) ? stem : `${parent}-${stem}`, parent, visibility: "subagent" };
}
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

async function projectOf(path: string): Promise<string | undefined> {
  const parts = path.split(sep);
  const project = parts[parts.lastIndexOf(TRANSCRIPT_FOLDER) - 1];
  return project === undefined || project === "empty-window" ? undefined : folderEncodedAs(project);
}

async function* lineTranscript(path: string, facts: SessionFacts, reading: Reading): AsyncGenerator<Said> {
  let hasBegun = false;
  for await (const { line, value: record } of jsonLines(path, reading)) {
    if (record.isMeta === true || record.isSidechain === true) continue;
    const { role } = record;
    if (role !== "user" && role !== "assistant") {
      const type = textOf(role) ?? textOf(record.type) ?? "without role";
      if (type !== "turn_ended") reading.unknown(`record ${type}`);
      continue;
    }
    const at = timeOf(record.timestamp) ?? timeOf(record.timestamp_ms);
    if (!hasBegun)
      yield {
        ...facts,
        cwd: textOf(record.cwd) ?? facts.cwd,
        ...(at === undefined ? {} : { startedAt: at, hasSyntheticTimes: undefined }),
      };
    hasBegun = true;
    const content = contentOfQuery(recordOf(record.message)?.content, role);
    const { toolCalls, toolResults: _, ...parts } = blocksOf(content, reading.unknown);
    // Calls have no id here, because their results are not written.
    const named = toolCalls.map((call, index) => ({ ...call, id: call.id || `line-${line}-${index + 1}` }));
    yield { role, ...parts, at, line, toolCalls: named };
  }
}
