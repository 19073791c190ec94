// Exports that a user downloads: a ZIP archive, its unpacked folder, or one of its JSON files.
import { basename, join, relative, sep } from "node:path";
import { constants, inflateRawSync } from "node:zlib";
import { describeCause } from "@hermes-memory/core/internal/lib";
import { type Draft, format } from "../declare.ts";
import type { Reading, Sample, SessionFacts, TranscriptReader, Unit, Usage, Walking } from "../reader.ts";
import { fileChunks } from "./chunks.ts";
import { type JsonItem, jsonArrayItems, parsedWhole } from "./json-array.ts";
import { branched, type TreeNode } from "./message-tree.ts";
import { joined } from "./parts.ts";
import { messagesOfTurn, type TurnPart } from "./turn-parts.ts";
import { type Json, recordOf } from "./values.ts";
import { filesBelow } from "./walk.ts";
import { openZip } from "./zip.ts";

const HEAD_BYTES = 64 * 1024;

export type ExportFormat = {
  /** Whether a file of the export, named with `/` between folders, holds conversations. */
  readonly isMember: (name: string) => boolean;
  /** Whether this beginning of a member's text is in the format. Other products use the same file names. */
  readonly looksRight: (head: string) => boolean;
};

/** Where a reader finds the exports, which lie where the user put them. */
export function exportFiles(files: ExportFormat): Pick<TranscriptReader, "roots" | "units" | "recognises"> {
  return {
    roots: () => [],
    units: (root, walking) => exportUnits(root, walking, files),
    recognises: (sample) => files.looksRight(textOfSample(sample, files.isMember)),
  };
}

export const NO_CONVERSATION = "not a conversation: it has no id or no messages";
export type MessageNode = TreeNode & { readonly message: Json };
type Tree = {
  /** Without an id, the first message names the conversation. */
  readonly facts: Omit<SessionFacts, "nativeId"> & { readonly nativeId: string | undefined };
  readonly nodes: readonly MessageNode[];
  readonly leaf?: string | undefined;
};
type Turn = {
  readonly role: string;
  readonly parts: Iterable<TurnPart>;
  readonly model?: string | undefined;
  readonly usage?: Usage | undefined;
};
type TreeExport = Pick<TranscriptReader, "source" | "title" | "evidence"> &
  ExportFormat & {
    readonly beside?: (path: string, files: ExportFiles, reading: Reading) => void;
    /** For what is no conversation, the reason. */
    readonly treeOf: (value: Json, malformed: Conversation["malformed"], reading: Reading) => Tree | string;
    /** The model of the last answer is that of the conversation. */
    readonly modelOf?: (message: Json) => string | undefined;
  } & (
    | { readonly draftOf: (node: MessageNode, reading: Reading, of: NodesById) => Draft | undefined }
    | { readonly turnOf: (message: Json, reading: Reading) => Turn | undefined }
  );
export type NodesById = ReadonlyMap<string, MessageNode>;

/** Exports of conversations whose messages form a tree. */
export function treeExport({ isMember, looksRight, beside, treeOf, modelOf, ...rest }: TreeExport) {
  return format({
    ...rest,
    ...exportFiles({ isMember, looksRight }),
    async *read(unit, reading) {
      await using files = await openExport(unit.path, reading);
      beside?.(unit.path, files, reading);
      for await (const { value, line, path, malformed } of conversationsIn(files, isMember, reading)) {
        const tree = treeOf(recordOf(value) ?? {}, malformed, reading);
        if (typeof tree === "string") {
          malformed(tree);
          continue;
        }
        const { nodes, active } = branched(tree.nodes, tree.leaf);
        const [first] = nodes;
        if (first === undefined) continue;
        const models = nodes.map(({ id, message }) => (active.has(id) ? modelOf?.(message) : undefined));
        const model = models.findLast((name) => name !== undefined) ?? tree.facts.model;
        yield { ...tree.facts, nativeId: tree.facts.nativeId ?? first.id, model };
        const byId = new Map(nodes.map((node) => [node.id, node]));
        for (const node of nodes) {
          const shared = { at: node.at, line, path, isActive: active.has(node.id) ? undefined : false };
          const drafts =
            "draftOf" in rest
              ? [rest.draftOf(node, reading, byId)]
              : draftsOf(node.id, rest.turnOf(node.message, reading), reading);
          for (const draft of drafts) if (draft !== undefined) yield { ...shared, ...draft };
        }
        yield { kind: "end" };
      }
    },
  });
}

function* draftsOf(id: string, turn: Turn | undefined, { options }: Reading): Generator<Draft> {
  if (turn === undefined) return;
  const { role, model, usage } = turn;
  const parts = [...turn.parts].filter(({ kind }) => kind !== "reasoning" || options.includeReasoning);
  if (role === "assistant") yield* messagesOfTurn(id, parts, { model, usage });
  else yield { id, role, text: joined(parts.map((part) => (part.kind === "text" ? part.text : undefined))) };
}

/** The array `messages` of an object, and what stands before it. Undefined if it is empty. */
export async function headedMessages(
  chunks: AsyncIterable<Uint8Array>,
  reading: Reading,
): Promise<{ readonly facts: Json; readonly items: AsyncIterable<JsonItem> } | undefined> {
  const facts = new Map<string, unknown>();
  const beside = (key: string, value: unknown) => void facts.set(key, value);
  const all = jsonArrayItems(chunks, reading, { at: ["messages"], beside });
  const first = await all.next();
  if (first.done) return undefined;
  async function* items(): AsyncGenerator<JsonItem> {
    if (!first.done) yield first.value;
    yield* all;
  }
  return { facts: Object.fromEntries(facts), items: items() };
}

/** Archives and members below a folder, each a unit of its own. A file that the user named is taken as it is. */
async function* exportUnits(
  root: string,
  walking: Walking,
  { isMember, looksRight }: ExportFormat,
): AsyncGenerator<Unit> {
  const file = (path: string): boolean => path === root || isArchiveName(path) || isMember(basename(path));
  for await (const path of filesBelow(root, { file }, walking))
    if (path === root || looksRight(await headOf(path, isMember, walking))) yield { path };
}

/** The text at the beginning of the first member. */
async function headOf(path: string, isMember: ExportFormat["isMember"], walking: Walking): Promise<string> {
  try {
    await using files = await openExport(path, { signal: walking.signal, advanced: () => {} });
    const name = files.names.find(isMember);
    if (name === undefined) return "";
    await using beginning = await withHead(files.chunks(name));
    return beginning.head;
  } catch (cause) {
    walking.signal.throwIfAborted();
    walking.unreadable(path, describeCause(cause));
    return "";
  }
}

export type ExportFiles = AsyncDisposable & {
  /** With `/` between folders. For a single file its name. */
  readonly names: readonly string[];
  readonly chunks: (name: string) => AsyncIterable<Uint8Array>;
  /** For the origin of a message; undefined where the unit is the file itself. */
  readonly pathOf: (name: string) => string | undefined;
};

type Told = Pick<Reading, "signal" | "advanced">;

export async function openExport(path: string, told: Told): Promise<ExportFiles> {
  if (!isArchiveName(path))
    return {
      names: [basename(path)],
      chunks: () => fileChunks(path, told),
      pathOf: () => undefined,
      [Symbol.asyncDispose]: async () => {},
    };
  const archive = await openZip(path, told);
  return {
    names: archive.names,
    chunks: (name) => archive.read(name),
    pathOf: (name) => `${path}/${name}`,
    [Symbol.asyncDispose]: () => archive[Symbol.asyncDispose](),
  };
}

/** The same for a folder whose files belong together. */
export async function openExportFolder(folder: string, told: Reading): Promise<ExportFiles> {
  const names: string[] = [];
  for await (const path of filesBelow(folder, { file: () => true }, told))
    names.push(relative(folder, path).split(sep).join("/"));
  return filesIn(folder, names, told);
}

/** The same for some files of a folder. */
export function filesIn(folder: string, names: readonly string[], told: Told): ExportFiles {
  return {
    names,
    chunks: (name) => fileChunks(join(folder, name), told),
    pathOf: (name) => join(folder, name),
    [Symbol.asyncDispose]: async () => {},
  };
}

export type Conversation = Omit<JsonItem, "index"> & {
  readonly path: string | undefined;
  /** Reports a problem of this conversation, with the name of its file. */
  readonly malformed: (reason: string) => void;
};

/** The conversations of all members: elements of an array, or the one object that the file is. */
async function* conversationsIn(
  files: ExportFiles,
  isMember: ExportFormat["isMember"],
  reading: Reading,
): AsyncGenerator<Conversation> {
  const members = membersIn(files, isMember);
  if (members.length === 0) throw new Error("the export has no file with conversations");
  yield* ofEach(members, files, reading, async function* (name) {
    const path = files.pathOf(name);
    const told = toldOf(name, files, reading);
    for await (const { line, value } of arrayOrObject(files.chunks(name), told))
      yield { line, value, path, malformed: (reason: string) => told.malformed(line, reason) };
  });
}

/** What `read` gives of each file. One of several that cannot be read is reported. */
export async function* ofEach<T>(
  names: readonly string[],
  files: ExportFiles,
  reading: Reading,
  read: (name: string) => AsyncIterable<T>,
): AsyncGenerator<T> {
  for (const name of names)
    try {
      yield* read(name);
    } catch (cause) {
      reading.signal.throwIfAborted();
      if (names.length === 1) throw cause;
      reading.unreadable(files.pathOf(name) ?? name, describeCause(cause));
    }
}

/** The members, or the one file that the user named. */
export function membersIn({ names }: ExportFiles, isMember: ExportFormat["isMember"]): readonly string[] {
  return names.length === 1 ? names : names.filter(isMember);
}

/** Where the unit has several files, the line says little without the file. */
export function toldOf(name: string, { pathOf }: ExportFiles, { signal, malformed }: Reading): ToldOfArray {
  if (pathOf(name) === undefined) return { signal, malformed };
  return { signal, malformed: (line, reason) => malformed(line, `${name}: ${reason}`) };
}

type ToldOfArray = Pick<Reading, "signal" | "malformed">;

async function* arrayOrObject(
  chunks: AsyncIterable<Uint8Array>,
  told: ToldOfArray,
): AsyncGenerator<JsonItem> {
  await using beginning = await withHead(chunks, 1);
  const { head, all } = beginning;
  if (head.startsWith("{")) yield { index: 0, line: 1, value: await parsedWhole(all) };
  else yield* jsonArrayItems(all, told);
}

/** The text at the beginning, without white space before it, and the same chunks from their start. */
export async function withHead(
  chunks: AsyncIterable<Uint8Array>,
  characters: number = HEAD_BYTES,
): Promise<{ head: string; all: AsyncIterable<Uint8Array> } & AsyncDisposable> {
  const before: Uint8Array[] = [];
  const iterator = chunks[Symbol.asyncIterator]();
  const decoder = new TextDecoder();
  let head = "";
  while (head.length < characters) {
    const next = await iterator.next();
    if (next.done) break;
    before.push(next.value);
    head = (head + decoder.decode(next.value.subarray(0, HEAD_BYTES), { stream: true })).trimStart();
  }
  async function* all(): AsyncGenerator<Uint8Array> {
    yield* before;
    yield* { [Symbol.asyncIterator]: () => iterator };
  }
  return { head, all: all(), [Symbol.asyncDispose]: async () => void (await iterator.return?.()) };
}

/** The beginning of a sample's text; of an archive, of the members that begin in the sample. */
export function textOfSample({ head }: Sample, isMember: ExportFormat["isMember"]): string {
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.byteLength);
  if (bytes.indexOf(LOCAL_MARK) !== 0) return bytes.toString("utf8");
  let text = "";
  for (let at = 0; at >= 0 && at + 30 <= bytes.length; at = bytes.indexOf(LOCAL_MARK, at + 4)) {
    const nameEnd = at + 30 + bytes.readUInt16LE(at + 26);
    const data = bytes.subarray(nameEnd + bytes.readUInt16LE(at + 28));
    if (!isMember(bytes.toString("utf8", at + 30, nameEnd))) continue;
    text += bytes.readUInt16LE(at + 8) === 0 ? data.toString("utf8") : inflatedHead(data);
  }
  return text;
}

const LOCAL_MARK = Buffer.from("PK\x03\x04", "latin1");

function inflatedHead(data: Buffer): string {
  try {
    const options = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: 64 * 1024 ** 2 };
    return inflateRawSync(data, options).toString("utf8");
  } catch {
    return ""; // not an archive after all
  }
}

export function isArchiveName(path: string): boolean {
  return path.toLowerCase().endsWith(".zip");
}
