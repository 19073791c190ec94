// Cline and Roo Code: session folders of its newer versions (`<id>.json`, `<id>.messages.json`) and the task folders of the VS Code extension.
import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type Draft, format, type Said } from "../declare.ts";
import { attachment, blocksOf } from "../kit/blocks.ts";
import { recordAt, recordIn } from "../kit/json-array.ts";
import { usageOf } from "../kit/parts.ts";
import { type Json, numbered, recordOf, textOf, timeOf } from "../kit/values.ts";
import { vscodeUserFolders } from "../kit/vscode-user.ts";
import { filesBelow } from "../kit/walk.ts";
import type { Reading, SessionFacts, Unit, Walking } from "../reader.ts";
import { CLINE, isTaskFile, ROO, readTask, taskUnits } from "./cline-task.ts";

const MESSAGES = ".messages.json";
/** Sessions before tasks: a task that was moved has the same id in both places and message ids only in the session. */
const SESSIONS_FIRST = 0;
const TASKS_SECOND = 1;

export const cline = format({
  source: "cline",
  title: "Cline",
  evidence: "S",
  version: 2,
  keepsEmpty: true, // most messages have no ids
  roots: (place) => {
    const data = textOf(place.env.CLINE_DATA_DIR) ?? join(place.home, ".cline", "data");
    return [
      textOf(place.env.CLINE_SESSION_DATA_DIR) ?? join(data, "sessions"),
      join(data, "tasks"),
      ...vscodeUserFolders(place).map((user) => join(user, "globalStorage", CLINE, "tasks")),
    ];
  },
  units,
  recognises: (sample) =>
    isTaskFile(sample, CLINE) || (sample.path.endsWith(MESSAGES) && Array.isArray(sample.first.messages)),
  async *read(unit, reading) {
    const files = (await readdir(unit.path)).filter((name) => name.endsWith(MESSAGES)).sort();
    yield* files.length === 0 ? readTask(unit, reading) : readSession(unit, files, reading);
  },
});

/** The same task folders, in the global storage of the extension. */
export const roo = format({
  source: "roo",
  title: "Roo Code",
  evidence: "S",
  version: 2,
  keepsEmpty: true,
  roots: (place) => vscodeUserFolders(place).map((user) => join(user, "globalStorage", ROO, "tasks")),
  units: taskUnits,
  recognises: (sample) => isTaskFile(sample, ROO),
  read: readTask,
});

async function* units(root: string, walking: Walking): AsyncGenerator<Unit> {
  const wanted = {
    file: (path: string) => path.endsWith(MESSAGES),
    folder: (path: string) => basename(path) !== "checkpoints",
    maxDepth: 4,
  };
  const found: string[] = [];
  for await (const file of filesBelow(root, wanted, walking)) found.push(file);
  for (const [path, files] of Map.groupBy(found, dirname))
    yield { path, stamps: [join(path, `${basename(path)}.json`), ...files], order: SESSIONS_FIRST };
  yield* taskUnits(root, walking, TASKS_SECOND);
}

async function* readSession(unit: Unit, names: readonly string[], reading: Reading): AsyncGenerator<Said> {
  const root = basename(unit.path);
  const own = `${root}${MESSAGES}`;
  const rootManifest = await recordAt(join(unit.path, `${root}.json`));
  // The session itself before its subagents.
  for (const name of [...names.filter((one) => one === own), ...names.filter((one) => one !== own)]) {
    const path = join(unit.path, name);
    const document = await recordIn(path, reading);
    if (document === undefined) continue;
    const facts =
      name === own ? rootFacts(root, rootManifest) : childFacts(root, name, document, rootManifest);
    yield facts;
    // A fork begins with copies of the messages of the session that it came from, under the same ids.
    const origin = facts.continues?.session;
    const copied = origin === undefined ? new Set<unknown>() : await reading.messageIdsOf(origin);
    for (const { line, value } of numbered(document.messages, reading))
      yield* draftsOf(value, { path, line, at: timeOf(value.ts) }, copied, reading);
    yield { kind: "end" };
  }
}

function rootFacts(id: string, manifest: Json | undefined): SessionFacts {
  const metadata = recordOf(manifest?.metadata);
  const session = textOf(recordOf(metadata?.fork)?.forkedFromSessionId);
  return {
    nativeId: textOf(manifest?.session_id) ?? id,
    title: textOf(metadata?.title),
    cwd: textOf(manifest?.cwd) ?? textOf(manifest?.workspace_root),
    model: textOf(manifest?.model),
    provider: textOf(manifest?.provider),
    startedAt: timeOf(manifest?.started_at),
    endedAt: timeOf(manifest?.ended_at),
    continues: session === undefined ? undefined : { how: "fork", session },
    // Subagents that have a folder of their own: `<root>__<agent>` and `<root>__teamtask__<agent>__<n>`.
    parent: textOf(manifest?.parent_session_id) ?? /^(.+?)__/.exec(id)?.[1],
  };
}

/** `<agentId>.messages.json` or `<agentId>__<taskId>.messages.json` beside the messages of the session that started the agent. */
function childFacts(root: string, name: string, document: Json, manifest: Json | undefined): SessionFacts {
  const named = textOf(document.sessionId);
  return {
    nativeId: named !== undefined && named !== root ? named : `${root}__${name.slice(0, -MESSAGES.length)}`,
    cwd: textOf(manifest?.cwd),
    parent: textOf(manifest?.session_id) ?? root,
  };
}

function* draftsOf(
  message: Json,
  place: Pick<Draft, "path" | "line" | "at">,
  copied: ReadonlySet<unknown>,
  reading: Reading,
): Generator<Draft> {
  const id = textOf(message.id);
  const blocks = blocksOf(message.content, reading.unknown, withoutFileText);
  const toolResults = blocks.toolResults.filter(({ callId }) => !copied.has(`${id}:${callId}`));
  const hasOnlyResults = message.role === "user" && blocks.text === "" && blocks.toolResults.length > 0;
  if (copied.has(id) || hasOnlyResults) {
    if (toolResults.length > 0) yield { ...place, id, role: "user", text: "", toolResults };
    return;
  }
  yield {
    ...{ ...place, id, role: message.role, ...blocks, toolResults },
    model: textOf(recordOf(message.modelInfo)?.id),
    usage: usageOf(message.metrics, ["inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"]),
  };
}

/** A `file` block holds a whole file that was attached. Its name is enough. */
function withoutFileText(block: Json): Json {
  if (block.type !== "file") return block;
  return { type: "text", text: attachment("file", { name: basename(textOf(block.path) ?? "") }) };
}
