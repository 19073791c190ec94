// The store of one conversation of Cursor's command line agent: `store.db` with a tree of blobs, and `meta.json` beside it.
import { basename, dirname, join } from "node:path";
import type { Draft, Said } from "../declare.ts";
import { isInBetterStore } from "../kit/better-store.ts";
import { type Blocks, blocksOf } from "../kit/blocks.ts";
import { recordAt } from "../kit/json-array.ts";
import { openSource, type SourceDatabase } from "../kit/sqlite-source.ts";
import { jsonOf, recordOf, textOf, timeOf } from "../kit/values.ts";
import type { Reading, Unit } from "../reader.ts";
import { contentOfQuery } from "./cursor-text.ts";

const BLOB = "SELECT data FROM blobs WHERE id IN (:hex, :bytes)";
/** Ids of the messages from here begin with the SHA-256 of the blob. */
const BLOB_ID = /^[0-9a-f]{64}/;
const ID_BYTES = 32;

export async function* readCursorStore(unit: Unit, reading: Reading): AsyncGenerator<Said> {
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
  if (isInBetterStore(nativeId, reading, BLOB_ID)) return;
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
