// The database of the Cursor IDE: conversations ("composers") and their messages ("bubbles") as JSON under keys of one table.
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describeCause } from "@hermes-memory/core/internal/lib";
import type { Said } from "../declare.ts";
import { openSource, type SourceDatabase } from "../kit/sqlite-source.ts";
import {
  type Json,
  joined,
  jsonOf,
  jsonText,
  listOf,
  numberOf,
  recordOf,
  recordsOf,
  textOf,
  timeOf,
} from "../kit/values.ts";
import { pathOfUri, workspaceFolderOf } from "../kit/vscode-user.ts";
import type { Reading, SessionFacts, TranscriptMessage, Unit, Usage } from "../reader.ts";

/**
 * These files reach tens of GB, most of it copies of attached files. So SQLite takes the few wanted fields out of each value, and a value
 * is read only when its conversation changed. `CAST`, because SQLite would take a BLOB for its own binary form of JSON.
 */
const COMPOSERS = `
  SELECT substr(key, 14) AS id,
         CASE WHEN json_valid(text) THEN
           json_extract(text, '$.name', '$.createdAt', '$.lastUpdatedAt', '$.status', '$.isDraft', '$.modelConfig.modelName',
                        '$.subComposerIds', '$.workspaceIdentifier')
         END AS fields,
         CASE WHEN json_valid(text) THEN json_array_length(text, '$.fullConversationHeadersOnly') END AS headers,
         CASE WHEN json_valid(text) THEN json_array_length(text, '$.conversation') END AS inline
  FROM (SELECT key, CAST(value AS TEXT) AS text FROM cursorDiskKV
        WHERE key >= 'composerData:' AND key < 'composerData;' AND value IS NOT NULL)
`;
const INLINE = `
  SELECT json_extract(CAST(value AS TEXT), '$.fullConversationHeadersOnly', '$.conversation', '$.conversationMap') AS fields
  FROM cursorDiskKV WHERE key = :key
`;
const BUBBLE_FIELDS = `
  CASE WHEN json_valid(CAST(value AS TEXT)) THEN
    json_extract(CAST(value AS TEXT), '$.type', '$.text', '$.createdAt', '$.thinking.text', '$.toolFormerData', '$.codeBlocks',
                 '$.modelInfo.modelName', '$.tokenCount', '$.timingInfo.clientRpcSendTime', '$.workspaceProjectDir',
                 '$.images')
  END AS fields
`;
const BUBBLE = `SELECT ${BUBBLE_FIELDS}, value IS NULL AS isEmpty FROM cursorDiskKV WHERE key = :key`;
const BUBBLE_KEYS = "SELECT key FROM cursorDiskKV WHERE key >= :from AND key < :to ORDER BY key";

type Composer = {
  readonly id: string;
  readonly name: string | undefined;
  readonly createdAt: number | undefined;
  readonly changedAt: number | undefined;
  readonly model: string | undefined;
  readonly children: readonly string[];
  readonly workspace: Json | undefined;
  readonly isDraft: boolean;
  readonly isWriting: boolean;
  readonly mark: string | undefined;
};

type Bubble = {
  readonly id: string;
  readonly type: unknown;
  readonly text: unknown;
  readonly at: number | undefined;
  readonly thinking: unknown;
  readonly tool: Json | undefined;
  readonly codeBlocks: unknown;
  readonly model: unknown;
  readonly tokens: Json | undefined;
  readonly folder: string | undefined;
  readonly images: number;
};

export async function* readCursorDatabase(unit: Unit, reading: Reading): AsyncGenerator<Said> {
  using db = await openSource(unit.path, reading);
  if (!db.hasTable("cursorDiskKV")) return; // versions before 2024 kept no conversations here
  const composers = [...composersIn(db, reading)];
  const parents = new Map(
    composers.flatMap(({ id, children }) => children.map((child) => [child, id] as const)),
  );
  let folders: ReadonlyMap<string, string> | undefined;
  for (const composer of composers) {
    reading.signal.throwIfAborted();
    const parent = parents.get(composer.id);
    // Rows of tools have a line break in their id. They are subagents if a conversation lists them.
    if (composer.isDraft || (composer.id.includes("\n") && parent === undefined)) continue;
    if (composer.mark !== undefined && reading.isUnchanged(composer.id, composer.mark)) continue;
    const bubbles = db.snapshot(() => bubblesOf(db, composer.id, reading));
    // The text of an answer that is being written would change under the same id.
    if (composer.isWriting && bubbles.shown.at(-1)?.type === ASSISTANT) bubbles.shown.pop();
    const messages = bubbles.shown.flatMap((bubble) => messagesOf(bubble, reading));
    if (messages.length === 0) continue;
    if (composer.workspace === undefined) folders ??= await projectFolders(db, unit.path, reading);
    yield await factsOf(composer, { parent, folders, bubbles: bubbles.shown, path: unit.path });
    yield* messages;
    for (const message of bubbles.hidden.flatMap((bubble) => messagesOf(bubble, reading)))
      yield { ...message, isActive: false };
    yield { kind: "end" };
  }
}

function* composersIn(db: SourceDatabase, reading: Reading): Generator<Composer> {
  for (const row of db.each(COMPOSERS)) {
    if (row.fields === null) reading.malformed(0, `composerData:${String(row.id)} is not valid JSON`);
    else yield composerOf(row);
  }
}

function composerOf(row: Json): Composer {
  const [name, createdAt, changedAt, status, isDraft, model, children, workspace] = listOf(
    jsonOf(textOf(row.fields)),
  );
  // The mark has the status as well: while an answer is written, the number of messages stays the same. Without a list, nothing here says
  // whether messages were added.
  const listsMessages = (numberOf(row.headers) ?? 0) + (numberOf(row.inline) ?? 0) > 0;
  return {
    id: String(row.id),
    name: textOf(name),
    createdAt: timeOf(createdAt),
    changedAt: timeOf(changedAt),
    model: textOf(model),
    children: listOf(children).filter((child) => typeof child === "string"),
    workspace: recordOf(workspace),
    isDraft: isDraft === true,
    isWriting: status === "generating",
    mark: listsMessages ? [changedAt ?? createdAt, status, row.headers, row.inline].join(" ") : undefined,
  };
}

/** `shown` in the order of the conversation; `hidden` are edited messages and leftovers, empty unless branches are wanted. */
function bubblesOf(
  db: SourceDatabase,
  composer: string,
  reading: Reading,
): { shown: Bubble[]; hidden: Bubble[] } {
  const fields = jsonOf(textOf(db.get(INLINE, { key: `composerData:${composer}` })?.fields));
  const [headers, conversation, map] = listOf(fields);
  const listed = recordsOf(headers).flatMap(({ bubbleId }) => textOf(bubbleId) ?? []);
  const prefix = `bubbleId:${composer}:`;
  const stored = (): string[] =>
    db
      .all(BUBBLE_KEYS, { from: prefix, to: `bubbleId:${composer};` })
      .map(({ key }) => String(key).slice(prefix.length));
  const bubble = (id: string): Bubble[] => {
    const row = db.get(BUBBLE, { key: `${prefix}${id}` });
    if (row === undefined || row.isEmpty === 1) {
      const inline = recordOf(recordOf(map)?.[id]);
      return inline === undefined ? [] : [inlineBubble(id, inline)];
    }
    const found = textOf(row.fields);
    if (found !== undefined) return [extractedBubble(id, listOf(jsonOf(found)))];
    reading.malformed(0, `${prefix}${id} is not valid JSON`);
    return [];
  };
  if (listed.length > 0) {
    const known = new Set(listed);
    const hidden = reading.options.includeBranches ? stored().filter((id) => !known.has(id)) : [];
    return { shown: [...known].flatMap(bubble), hidden: byTime(hidden.flatMap(bubble)) };
  }
  const inline = recordsOf(conversation).map((one, index) =>
    inlineBubble(textOf(one.bubbleId) ?? `inline-${index}`, one),
  );
  if (inline.length > 0) return { shown: inline, hidden: [] };
  const ids = new Set([...Object.keys(recordOf(map) ?? {}), ...stored()]);
  return { shown: byTime([...ids].flatMap(bubble)), hidden: [] };
}

function byTime(bubbles: readonly Bubble[]): Bubble[] {
  return [...bubbles].sort((a, b) => (a.at ?? 0) - (b.at ?? 0));
}

function extractedBubble(id: string, fields: readonly unknown[]): Bubble {
  const [type, text, createdAt, thinking, tool, codeBlocks, model, tokens, sentAt, folder, images] = fields;
  return {
    id,
    type,
    text,
    at: timeOf(createdAt) ?? timeOf(sentAt),
    thinking,
    tool: recordOf(tool),
    codeBlocks,
    model,
    tokens: recordOf(tokens),
    folder: textOf(folder),
    images: listOf(images).length,
  };
}

function inlineBubble(id: string, bubble: Json): Bubble {
  const { type, text, createdAt, thinking, toolFormerData, codeBlocks, modelInfo, tokenCount } = bubble;
  return extractedBubble(id, [
    type,
    text,
    createdAt,
    recordOf(thinking)?.text,
    toolFormerData,
    codeBlocks,
    recordOf(modelInfo)?.modelName,
    tokenCount,
    recordOf(bubble.timingInfo)?.clientRpcSendTime,
    bubble.workspaceProjectDir,
    bubble.images,
  ]);
}

const USER = 1;
const ASSISTANT = 2;

function messagesOf(bubble: Bubble, reading: Reading): TranscriptMessage[] {
  const { id, at } = bubble;
  if (bubble.type === USER) {
    const text = joined([textOf(bubble.text), ...Array.from({ length: bubble.images }, () => "[image]")]);
    return text === "" ? [] : [{ id, role: "user", text, at }];
  }
  if (bubble.type !== ASSISTANT) {
    reading.unknown(`bubble type ${String(bubble.type)}`);
    return [];
  }
  const text = answerOf(bubble);
  const reasoning = reading.options.includeReasoning ? textOf(bubble.thinking) : undefined;
  const toolName = textOf(bubble.tool?.name);
  if (text === "" && reasoning === undefined && toolName === undefined) return [];
  const answer: TranscriptMessage = {
    id,
    role: "assistant",
    text,
    at,
    reasoning,
    model: textOf(bubble.model),
    usage: usageOf(bubble.tokens),
  };
  if (bubble.tool === undefined || toolName === undefined) return [answer];
  const { toolCallId, params, rawArgs, result } = bubble.tool;
  const callId = textOf(toolCallId) ?? id;
  const call = {
    id: callId,
    name: toolName,
    arguments: jsonText(textOf(params) ?? textOf(rawArgs) ?? params),
  };
  const withCall: TranscriptMessage = { ...answer, toolCalls: [call] };
  const output = typeof result === "string" ? result : result == null ? "" : JSON.stringify(result);
  if (output === "") return [withCall];
  return [withCall, { id: `${id}:result`, role: "tool", text: output, at, toolCallId: callId, toolName }];
}

/** Some answers are kept only as code blocks. A text that is one JSON object with `diff` repeats the result of a tool. */
function answerOf({ text, codeBlocks }: Bubble): string {
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

type Around = {
  readonly parent: string | undefined;
  readonly folders: ReadonlyMap<string, string> | undefined;
  readonly bubbles: readonly Bubble[];
  readonly path: string;
};

async function factsOf(
  composer: Composer,
  { parent, folders, bubbles, path }: Around,
): Promise<SessionFacts> {
  const hasTimes = bubbles.some(({ at }) => at !== undefined);
  return {
    nativeId: composer.id,
    title: composer.name,
    cwd:
      (await folderOf(composer.workspace, path)) ??
      folders?.get(composer.id) ??
      pathOfUri(bubbles.find(({ folder }) => folder !== undefined)?.folder),
    model: composer.model,
    startedAt: composer.createdAt,
    ...(hasTimes ? {} : { endedAt: composer.changedAt, hasSyntheticTimes: true as const }),
    mark: composer.mark,
    parent,
  };
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
