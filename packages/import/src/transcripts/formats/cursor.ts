// Cursor: the IDE's database, the stores of its command line agent, and transcripts as JSON lines or text.
import { stat } from "node:fs/promises";
import { basename, dirname, extname, join, sep } from "node:path";
import { type Draft, format, isKept, type Said } from "../declare.ts";
import { isInBetterStore } from "../kit/better-store.ts";
import { type Blocks, blocksOf } from "../kit/blocks.ts";
import { isDatabaseWith } from "../kit/database-sessions.ts";
import { folderEncodedAs } from "../kit/encoded-folder.ts";
import { recordAt } from "../kit/json-array.ts";
import { jsonLines, textLines } from "../kit/json-lines.ts";
import { joined } from "../kit/parts.ts";
import { databaseStamps, openSource, type SourceDatabase } from "../kit/sqlite-source.ts";
import { jsonOf, listOf, names, recordOf, textOf, timeOf } from "../kit/values.ts";
import { vscodeUserFolders } from "../kit/vscode-user.ts";
import { filesBelow } from "../kit/walk.ts";
import type { Reading, SessionFacts, Unit, Walking } from "../reader.ts";
import { readCursorDatabase } from "./cursor-database.ts";

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
