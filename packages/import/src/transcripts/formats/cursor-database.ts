// The database of the Cursor IDE: conversations ("composers") and their messages ("bubbles") as JSON under keys of one table.
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describeCause } from "@hermes-memory/core/internal/lib";
import { type Draft, isKept, type Said } from "../declare.ts";
import { joined, toolCall } from "../kit/parts.ts";
import { openSource, type SourceDatabase } from "../kit/sqlite-source.ts";
import { type Json, jsonOf, listOf, numberOf, recordOf, recordsOf, textOf, timeOf } from "../kit/values.ts";
import { pathOfUri, workspaceFolderOf } from "../kit/vscode-user.ts";
import type { Reading, Unit, Usage } from "../reader.ts";

/**
 * These files reach tens of GB, most of it copies of attached files. So SQLite takes the few wanted fields out of each value, and a value
 * is read only when its conversation changed. `CAST`, because SQLite would take a BLOB for its own binary form of JSON.
 */
function fieldsOf(...names: readonly string[]): string {
  const fields = names.map((name) => `'${name}', json_extract(text, '$.${name}')`);
  return `CASE WHEN json_valid(text) THEN json_object(${fields.join(", ")}) END AS fields`;
}
const TEXTS = "(SELECT key, CAST(value AS TEXT) AS text FROM cursorDiskKV WHERE value IS NOT NULL)";
const COMPOSERS = `
  SELECT substr(key, 14) AS id,
         ${fieldsOf("name", "createdAt", "lastUpdatedAt", "status", "isDraft", "modelConfig", "subComposerIds", "workspaceIdentifier")},
         CASE WHEN json_valid(text) THEN json_array_length(text, '$.fullConversationHeadersOnly') END AS headers,
         CASE WHEN json_valid(text) THEN json_array_length(text, '$.conversation') END AS inline
  FROM ${TEXTS} WHERE key >= 'composerData:' AND key < 'composerData;'
`;
const INLINE = `SELECT ${fieldsOf("fullConversationHeadersOnly", "conversation", "conversationMap")} FROM ${TEXTS} WHERE key = :key`;
const BUBBLE = `
  SELECT ${fieldsOf("type", "text", "createdAt", "thinking", "toolFormerData", "codeBlocks", "modelInfo", "tokenCount", "timingInfo", "workspaceProjectDir", "images")}
  FROM ${TEXTS} WHERE key = :key
`;
const BUBBLE_KEYS = "SELECT key FROM cursorDiskKV WHERE key >= :from AND key < :to ORDER BY key";

type Composer = { readonly id: string; readonly fields: Json; readonly mark: string | undefined };
type Bubble = { readonly id: string; readonly fields: Json };

export async function* readCursorDatabase(unit: Unit, reading: Reading): AsyncGenerator<Said> {
  using db = await openSource(unit.path, reading);
  if (!db.hasTable("cursorDiskKV")) return; // versions before 2024 kept no conversations here
  const composers = composersIn(db, reading);
  const parents = new Map(
    composers.flatMap(({ id, fields }) => listOf(fields.subComposerIds).map((child) => [child, id] as const)),
  );
  let folders: ReadonlyMap<string, string> | undefined;
  for (const { id, fields, mark } of composers) {
    reading.signal.throwIfAborted();
    const parent = parents.get(id);
    // Rows of tools have a line break in their id. They are subagents if a conversation lists them.
    if (fields.isDraft === 1 || (id.includes("\n") && parent === undefined)) continue;
    if (mark !== undefined && reading.isUnchanged(id, mark)) continue;
    const { shown, hidden } = db.snapshot(() => bubblesOf(db, id, reading));
    // The text of an answer that is being written would change under the same id.
    if (fields.status === "generating" && shown.at(-1)?.fields.type === ASSISTANT) shown.pop();
    const messages = shown.flatMap((bubble) => messagesOf(bubble, reading));
    if (messages.length === 0) continue;
    const workspace = recordOf(fields.workspaceIdentifier);
    if (workspace === undefined) folders ??= await projectFolders(db, unit.path, reading);
    const named = shown.map((bubble) => textOf(bubble.fields.workspaceProjectDir));
    const hasTimes = shown.some((bubble) => timeOfBubble(bubble) !== undefined);
    yield {
      nativeId: id,
      title: textOf(fields.name),
      cwd:
        (await folderOf(workspace, unit.path)) ??
        folders?.get(id) ??
        pathOfUri(named.find((folder) => folder !== undefined)),
      model: textOf(recordOf(fields.modelConfig)?.modelName),
      startedAt: timeOf(fields.createdAt),
      ...(hasTimes ? {} : { endedAt: timeOf(fields.lastUpdatedAt), hasSyntheticTimes: true }),
      mark,
      parent,
    };
    yield* messages;
    for (const message of hidden.flatMap((bubble) => messagesOf(bubble, reading)))
      yield { ...message, isActive: false };
    yield { kind: "end" };
  }
}

function composersIn(db: SourceDatabase, reading: Reading): Composer[] {
  return db.all(COMPOSERS).flatMap((row) => {
    const id = String(row.id);
    const fields = recordOf(jsonOf(textOf(row.fields)));
    if (fields === undefined) {
      reading.malformed(0, `composerData:${id} is not valid JSON`);
      return [];
    }
    // The mark has the status as well: while an answer is written, the number of messages stays the same. Without a list, nothing here says
    // whether messages were added.
    const listsMessages = (numberOf(row.headers) ?? 0) + (numberOf(row.inline) ?? 0) > 0;
    const parts = [fields.lastUpdatedAt ?? fields.createdAt, fields.status, row.headers, row.inline];
    return [{ id, fields, mark: listsMessages ? parts.join(" ") : undefined }];
  });
}

/** `shown` in the order of the conversation; `hidden` are edited messages and leftovers, empty unless branches are wanted. */
function bubblesOf(
  db: SourceDatabase,
  composer: string,
  reading: Reading,
): { shown: Bubble[]; hidden: Bubble[] } {
  const row = db.get(INLINE, { key: `composerData:${composer}` });
  const { fullConversationHeadersOnly, conversation, conversationMap } =
    recordOf(jsonOf(textOf(row?.fields))) ?? {};
  const map = recordOf(conversationMap) ?? {};
  const listed = recordsOf(fullConversationHeadersOnly).flatMap(({ bubbleId }) => textOf(bubbleId) ?? []);
  const prefix = `bubbleId:${composer}:`;
  const stored = (): string[] =>
    db
      .all(BUBBLE_KEYS, { from: prefix, to: `bubbleId:${composer};` })
      .map(({ key }) => String(key).slice(prefix.length));
  const bubble = (id: string): Bubble[] => {
    const found = db.get(BUBBLE, { key: `${prefix}${id}` });
    const fields = found === undefined ? recordOf(map[id]) : recordOf(jsonOf(textOf(found.fields)));
    if (fields !== undefined) return [{ id, fields }];
    if (found !== undefined) reading.malformed(0, `${prefix}${id} is not valid JSON`);
    return [];
  };
  if (listed.length > 0) {
    const known = new Set(listed);
    const hidden = reading.options.includeBranches ? stored().filter((id) => !known.has(id)) : [];
    return { shown: [...known].flatMap(bubble), hidden: byTime(hidden.flatMap(bubble)) };
  }
  const inline = recordsOf(conversation).map((fields, index) => ({
    id: textOf(fields.bubbleId) ?? `inline-${index}`,
    fields,
  }));
  if (inline.length > 0) return { shown: inline, hidden: [] };
  return { shown: byTime([...new Set([...Object.keys(map), ...stored()])].flatMap(bubble)), hidden: [] };
}

function byTime(bubbles: readonly Bubble[]): Bubble[] {
  return bubbles.toSorted((a, b) => (timeOfBubble(a) ?? 0) - (timeOfBubble(b) ?? 0));
}

function timeOfBubble({ fields }: Bubble): number | undefined {
  return timeOf(fields.createdAt) ?? timeOf(recordOf(fields.timingInfo)?.clientRpcSendTime);
}

const USER = 1;
const ASSISTANT = 2;

function messagesOf(bubble: Bubble, reading: Reading): Draft[] {
  const { id, fields } = bubble;
  const at = timeOfBubble(bubble);
  if (fields.type === USER) {
    const text = joined([textOf(fields.text), ...listOf(fields.images).map(() => "[image]")]);
    return text === "" ? [] : [{ id, role: "user", text, at }];
  }
  if (fields.type !== ASSISTANT) {
    reading.unknown(`bubble type ${String(fields.type)}`);
    return [];
  }
  const tool = recordOf(fields.toolFormerData);
  const toolCallId = textOf(tool?.toolCallId) ?? id;
  const given = textOf(tool?.params) ?? textOf(tool?.rawArgs) ?? tool?.params;
  const isCall = textOf(tool?.name) !== undefined;
  const answer: Draft = {
    id,
    role: "assistant",
    text: answerOf(fields),
    at,
    reasoning: textOf(recordOf(fields.thinking)?.text),
    model: textOf(recordOf(fields.modelInfo)?.modelName),
    usage: usageOf(recordOf(fields.tokenCount)),
    toolCalls: isCall ? [toolCall(toolCallId, tool?.name, given)] : [],
  };
  if (!isKept(answer, reading)) return [];
  const result = isCall ? (tool?.result ?? "") : "";
  const output = typeof result === "string" ? result : JSON.stringify(result);
  return output === ""
    ? [answer]
    : [answer, { id: `${id}:result`, role: "tool", text: output, at, toolCallId }];
}

/** Some answers are kept only as code blocks. A text that is one JSON object with `diff` repeats the result of a tool. */
function answerOf({ text, codeBlocks }: Json): string {
  const written = textOf(text)?.trim() ?? "";
  if (written.startsWith("{") && recordOf(jsonOf(written))?.diff !== undefined) return "";
  if (written !== "") return written;
  return joined(
    recordsOf(codeBlocks).map(({ content, languageId }) =>
      textOf(content) === undefined ? undefined : `\`\`\`${textOf(languageId) ?? ""}\n${content}\n\`\`\``,
    ),
  );
}

function usageOf(tokens: Json | undefined): Usage | undefined {
  const inputTokens = numberOf(tokens?.inputTokens) ?? 0;
  const outputTokens = numberOf(tokens?.outputTokens) ?? 0;
  return inputTokens + outputTokens === 0 ? undefined : { inputTokens, outputTokens };
}

async function folderOf(workspace: Json | undefined, path: string): Promise<string | undefined> {
  const uri = recordOf(workspace?.uri);
  const named =
    textOf(uri?.fsPath) ?? textOf(uri?.path) ?? pathOfUri(uri?.external) ?? pathOfUri(workspace?.uri);
  const id = textOf(workspace?.id);
  if (named !== undefined || id === undefined || !/^[\w-]+$/.test(id)) return named;
  return workspaceFolderOf(join(storageOf(path), id));
}

/** `workspaceStorage` beside the `globalStorage` folder that the database is in. */
function storageOf(path: string): string {
  return join(dirname(dirname(path)), "workspaceStorage");
}

const LISTED = `
  SELECT json_extract(entry.value, '$.composerId') AS id, json_extract(entry.value, '$.workspaceIdentifier') AS workspace
  FROM ItemTable AS item,
       json_each(CASE WHEN json_valid(CAST(item.value AS TEXT)) THEN CAST(item.value AS TEXT) END, '$.allComposers') AS entry
  WHERE item.key IN ('composer.composerData', 'composer.composerHeaders') AND entry.type = 'object'
`;

/** The project of each conversation, from the lists that the IDE keeps for all windows and for each workspace. */
async function projectFolders(
  db: SourceDatabase,
  path: string,
  reading: Reading,
): Promise<ReadonlyMap<string, string>> {
  const folders = new Map<string, string>();
  if (db.hasTable("ItemTable"))
    for (const { id, workspace } of db.all(LISTED)) {
      const folder = await folderOf(recordOf(jsonOf(textOf(workspace))), path);
      if (folder !== undefined) folders.set(String(id), folder);
    }
  for (const name of await readdir(storageOf(path)).catch(() => [])) {
    const storage = join(storageOf(path), name);
    const folder = await workspaceFolderOf(storage);
    if (folder === undefined) continue;
    try {
      using index = await openSource(join(storage, "state.vscdb"), reading);
      if (!index.hasTable("ItemTable")) continue;
      for (const { id } of index.each(LISTED)) folders.set(String(id), folder);
    } catch (cause) {
      reading.unreadable(join(storage, "state.vscdb"), describeCause(cause));
    }
  }
  return folders;
}
