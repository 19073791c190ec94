// Cursor: the IDE's database, the stores of its command line agent, and transcripts as JSON lines or text.
import { readdir, stat } from "node:fs/promises";
import { basename, dirname, extname, join, sep } from "node:path";
import { describeCause } from "@hermes-memory/core/internal/lib";
import { type Draft, format, isKept, names, type Said } from "../declare.ts";
import { isInBetterStore } from "../kit/better-store.ts";
import { type Blocks, blocksOf } from "../kit/blocks.ts";
import { isDatabaseWith } from "../kit/database-sessions.ts";
import { folderEncodedAs } from "../kit/encoded-folder.ts";
import { recordAt } from "../kit/json-array.ts";
import { jsonLines, textLines } from "../kit/json-lines.ts";
import { joined, toolCall } from "../kit/parts.ts";
import { databaseStamps, openSource, type SourceDatabase } from "../kit/sqlite-source.ts";
import { type Json, jsonOf, listOf, numberOf, recordOf, recordsOf, textOf, timeOf } from "../kit/values.ts";
import { pathOfUri, vscodeUserFolders, workspaceFolderOf } from "../kit/vscode-user.ts";
import { filesBelow } from "../kit/walk.ts";
import type { Reading, SessionFacts, Unit, Usage, Walking } from "../reader.ts";

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
    const { role, message, type } = first;
    const hasRole = role === "user" || role === "assistant";
    return hasRole && type === undefined && recordOf(message)?.content !== undefined;
  },
  read: (unit, reading) => {
    if (basename(unit.path) === "state.vscdb") return readCursorDatabase(unit, reading);
    return basename(unit.path) === "store.db" ? readStore(unit, reading) : readTranscript(unit, reading);
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
const SKIPPED_FOLDERS = names("workspaceStorage History extensions node_modules");

async function* readTranscript(unit: Unit, reading: Reading): AsyncGenerator<Said> {
  const identity = identityOf(unit.path);
  if (await isInBetterStore(identity.nativeId, reading)) return;
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

const QUERY = /<user_query>([\s\S]*?)<\/user_query>/g;

/** The content of a user message without the context that Cursor puts around `<user_query>`. Content without that tag stays as it is. */
function contentOfQuery(content: unknown, role: string): unknown {
  if (role !== "user" || !hasQuery(content)) return content;
  if (typeof content === "string") return queries(content);
  return listOf(content).map((item) => {
    const block = recordOf(item);
    return block?.type === "text" ? { type: "text", text: queries(textOf(block.text) ?? "") } : item;
  });
}

function hasQuery(content: unknown): boolean {
  if (typeof content === "string") return queries(content) !== "";
  return listOf(content).some((item) => queries(textOf(recordOf(item)?.text) ?? "") !== "");
}

function queries(text: string): string {
  return joined([...text.matchAll(QUERY)].map(([, query = ""]) => query.trim()));
}

type Section = "text" | "thinking" | "call" | "result";
type OpenCall = { readonly id: string; readonly name: string; readonly lines: string[] };
type Part = {
  readonly role: "user" | "assistant" | "tool";
  readonly line: number;
  readonly lines: string[];
  readonly thinking: string[];
  readonly calls: OpenCall[];
  /** Of a result: the call it belongs to. */
  readonly toolCallId: string | undefined;
};
const SPEAKER = /^(user|assistant):$/;
const MARKER = /^\[(Thinking|Tool call|Tool result)\]\s*(.*)$/;

/**
 * Messages of a text transcript. `user:` and `assistant:` stand alone on their line; an answer has sections that begin with `[Thinking]`,
 * `[Tool call] Name` and `[Tool result]`, of which the last two go on as long as lines are indented.
 */
async function* textTranscript(path: string, reading: Reading): AsyncGenerator<Draft> {
  let part: Part | undefined;
  let section: Section = "text";
  let calls = 0;
  const open: OpenCall[] = []; // calls without a result so far
  const drafts: Draft[] = [];
  const begin = (role: Part["role"], line: number, toolCallId?: string): Part => {
    if (part !== undefined) drafts.push(draftOf(part));
    part = { role, line, lines: [], thinking: [], calls: [], toolCallId };
    return part;
  };
  for await (const { line, text } of textLines(path, reading)) {
    const [, speaker] = SPEAKER.exec(text) ?? [];
    const [, marker, rest = ""] = (part?.role !== "user" && MARKER.exec(text)) || [];
    const isIndented = /^\s/.test(text);
    const answer = (): Part => (part?.role === "assistant" ? part : begin("assistant", line));
    if (speaker !== undefined) {
      begin(speaker as Part["role"], line);
      section = "text";
    } else if (part === undefined)
      continue; // nothing was said yet
    else if (marker === "Tool result") {
      const byName = open.findIndex((call) => call.name === rest);
      begin("tool", line, open.splice(Math.max(byName, 0), 1)[0]?.id);
      section = "result";
    } else if (marker === "Thinking") {
      answer().thinking.push(rest);
      section = "thinking";
    } else if (marker === "Tool call") {
      calls += 1;
      const call = { id: `call-${calls}`, name: rest || "unknown", lines: [] };
      answer().calls.push(call);
      open.push(call);
      section = "call";
    } else if (section === "thinking" && text.trim() !== "") part.thinking.push(text.trim());
    else if (section === "call" && isIndented) part.calls.at(-1)?.lines.push(text.trim());
    else if (section === "result" && (isIndented || text.trim() === "")) part.lines.push(text.trim());
    else {
      (part.role === "tool" ? answer() : part).lines.push(text);
      section = "text";
    }
    yield* drafts.splice(0).filter((draft) => isKept(draft, reading));
  }
  if (part !== undefined) drafts.push(draftOf(part));
  yield* drafts.filter((draft) => isKept(draft, reading));
}

function draftOf({ role, line, lines, thinking, calls, toolCallId }: Part): Draft {
  const whole = lines.join("\n").trim();
  if (role === "tool") return { role, text: whole, line, toolCallId };
  return {
    role,
    text: role === "user" ? queries(whole) || whole : whole,
    line,
    toolCalls: calls.map(({ id, name, lines: given }) => ({ id, name, arguments: argumentsOf(given) })),
    reasoning: thinking.join("\n").trim(),
  };
}

/** Arguments are written as `name: value`, one on each line; a line without a name goes on with the value before. */
function argumentsOf(lines: readonly string[]): string {
  const found: Record<string, string> = {};
  let last = "input";
  for (const line of lines) {
    const [, name, value = ""] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (name === undefined) found[last] = found[last] === undefined ? line : `${found[last]}\n${line}`;
    else found[name] = value;
    last = name ?? last;
  }
  return JSON.stringify(found);
}

// The store of one conversation of the command line agent: `store.db` with a tree of blobs, and `meta.json` beside it.

const BLOB = "SELECT data FROM blobs WHERE id IN (:hex, :bytes)";
/** Ids of the messages from here begin with the SHA-256 of the blob. */
const BLOB_ID = /^[0-9a-f]{64}/;
const ID_BYTES = 32;

async function* readStore(unit: Unit, reading: Reading): AsyncGenerator<Said> {
  using db = await openSource(unit.path, reading);
  const row = db.get("SELECT value FROM meta WHERE key IN ('0', 0)");
  const meta = recordOf(jsonOf(fromHex(row?.value)));
  if (meta === undefined) throw new Error("the store has no readable meta row");
  const beside = await recordAt(join(dirname(unit.path), "meta.json"));
  for (const [key, value] of Object.entries({ ...beside, ...meta }))
    if (/encryption/i.test(key) && textOf(value) !== undefined)
      throw new Error("the messages of this store are encrypted");
  const nativeId = textOf(meta.agentId) ?? basename(dirname(unit.path));
  const root = textOf(meta.latestRootBlobId);
  if (root === undefined || reading.isUnchanged(nativeId, root)) return;
  if (await isInBetterStore(nativeId, reading, BLOB_ID)) return;
  const messages = db.snapshot(() => [...leavesBelow(db, root, reading)]);
  if (messages.length === 0) return;
  const title = textOf(meta.name) ?? textOf(beside?.title);
  yield {
    nativeId,
    title: title === "New Agent" ? undefined : title, // the name of every conversation that has none
    cwd: textOf(beside?.cwd),
    model: textOf(meta.lastUsedModel),
    startedAt: timeOf(meta.createdAt) ?? timeOf(beside?.createdAtMs),
    endedAt: timeOf(beside?.updatedAtMs),
    hasSyntheticTimes: true,
    mark: root,
  };
  yield* messages;
}

function fromHex(value: unknown): string | undefined {
  const text = value instanceof Uint8Array ? Buffer.from(value).toString("utf8") : textOf(value);
  if (text === undefined) return undefined;
  return /^(?:[0-9a-f]{2})+$/i.test(text) ? Buffer.from(text, "hex").toString("utf8") : text;
}

/** Messages in the order of the tree. Blobs that the root does not reach were left by a rewind. */
function* leavesBelow(db: SourceDatabase, root: string, reading: Reading): Generator<Draft> {
  const trees = new Set<string>();
  const leaves = new Map<string, number>();
  // A stack of its own, because a long conversation may nest deeper than calls can.
  const open = [root];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    const isLeaf = id.startsWith(LEAF);
    const hex = isLeaf ? id.slice(LEAF.length) : id;
    if (!isLeaf && trees.has(hex)) continue; // a loop, or a part that is named twice
    trees.add(hex);
    const data = db.get(BLOB, { hex, bytes: Buffer.from(hex, "hex") })?.data;
    if (!(data instanceof Uint8Array)) reading.malformed(0, `blob ${hex} is missing`);
    else if (isLeaf) {
      // The same words said twice are the same blob.
      const times = (leaves.get(hex) ?? 0) + 1;
      leaves.set(hex, times);
      yield* messagesOf(times === 1 ? hex : `${hex}.${times}`, data, reading);
    } else open.push(...childrenIn(data).reverse());
  }
}
const LEAF = "leaf:";

const LEAF_FIELD = 1;
const TREE_FIELD = 2;

/** The ids in a node, which is a protobuf message. Fields of other kinds and lengths are left out. */
function childrenIn(node: Uint8Array): string[] {
  const ids: string[] = [];
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let factor = 1; at < node.length; factor *= 128) {
      const byte = node[at++] ?? 0;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) break;
    }
    return value;
  };
  while (at < node.length) {
    const tag = varint();
    const field = Math.floor(tag / 8);
    const wire = tag % 8;
    if (wire === 0) varint();
    else if (wire === 1) at += 8;
    else if (wire === 5) at += 4;
    else if (wire === 2) {
      const length = varint();
      const bytes = node.subarray(at, at + length);
      at += length;
      if (bytes.length !== ID_BYTES || field > TREE_FIELD) continue;
      const hex = Buffer.from(bytes).toString("hex");
      ids.push(field === LEAF_FIELD ? `${LEAF}${hex}` : hex);
    } else break; // not a protobuf message
  }
  return ids;
}

function* messagesOf(id: string, data: Uint8Array, reading: Reading): Generator<Draft> {
  const leaf = recordOf(jsonOf(Buffer.from(data).toString("utf8")));
  if (leaf === undefined) return reading.malformed(0, `blob ${id} is not a JSON object`);
  const { role } = leaf;
  const blocks = blocksIn(contentOfQuery(leaf.content, textOf(role) ?? ""), reading);
  if (role !== "tool" || blocks.toolResults.length > 0)
    yield { id, role, ...blocks, ...(role === "tool" && { text: "" }) };
}

function blocksIn(content: unknown, reading: Reading): Blocks {
  return blocksOf(content, reading.unknown, (block) => {
    const { type, toolCallId, toolName: name, args: input, result = "" } = block;
    if (type === "redacted-reasoning") return undefined;
    if (type === "tool-call") return { type: "tool_use", id: toolCallId, name, input };
    if (type !== "tool-result") return block;
    const text = typeof result === "string" ? result : result === null ? "" : JSON.stringify(result);
    return { type: "tool_result", tool_use_id: toolCallId, name, content: text };
  });
}

// ---- The database of the IDE: conversations ("composers") and their messages ("bubbles") as JSON under keys of one table ----

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

async function* readCursorDatabase(unit: Unit, reading: Reading): AsyncGenerator<Said> {
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
    const messages = shown.flatMap((bubble) => messagesOfBubble(bubble, reading));
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
    for (const message of hidden.flatMap((bubble) => messagesOfBubble(bubble, reading)))
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

function messagesOfBubble(bubble: Bubble, reading: Reading): Draft[] {
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
