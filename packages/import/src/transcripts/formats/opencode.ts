// Sessions of opencode, and of Kilo, which keeps them in the same tables: a database, or the JSON files of older versions.
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { type Draft, format, names, type Said } from "../declare.ts";
import { blocksOf } from "../kit/blocks.ts";
import { changedSessions, columnsIn, idsIn, isDatabaseWith } from "../kit/database-sessions.ts";
import { recordIn, wholeJson } from "../kit/json-array.ts";
import { joined, toolCall, usageOf } from "../kit/parts.ts";
import { dataFolder } from "../kit/places.ts";
import { databaseStamps, type SourceDatabase } from "../kit/sqlite-source.ts";
import { type Json, jsonOf, recordOf, recordsOf, textOf, timeOf } from "../kit/values.ts";
import { vscodeUserFolders } from "../kit/vscode-user.ts";
import { filesBelow } from "../kit/walk.ts";
import type { Place, Reading, SessionFacts, TranscriptReader, Unit, Usage, Walking } from "../reader.ts";
import { isTaskFile, KILO, readTask, taskUnits } from "./cline-task.ts";

type Product = {
  readonly source: string;
  readonly title: string;
  /** The folder below the XDG data folder, which these products use on every system. */
  readonly folder: string;
  /** The names of its databases, one per release channel. */
  readonly database: RegExp;
  /** Files with other names are taken for this product's. */
  readonly isOriginal?: true;
  /** The variable that names another database. */
  readonly variable?: string;
};

const PART_TABLE = /CREATE TABLE (?:IF NOT EXISTS )?[`"]?part[`"]?\s*\(/;

export const opencode: TranscriptReader = readerOf({
  source: "opencode",
  title: "opencode",
  folder: "opencode",
  database: /^opencode(?:-.+)?\.db$/,
  isOriginal: true,
  variable: "OPENCODE_DB",
});

function readerOf(product: Product): TranscriptReader {
  return format({
    source: product.source,
    title: product.title,
    evidence: "S",
    version: 2,
    roots: (place) => rootsOf(product, place),
    units: (root, walking) => units(product, root, walking),
    recognises: ({ path, head, first }) => {
      const isTree = isSessionFile(path) && recordOf(first.time) !== undefined;
      if (product.isOriginal && (isTree || isDatabaseWith(head, PART_TABLE))) return true;
      return product.database.test(basename(path)) && isDatabaseWith(head, /session/);
    },
    read: (unit, reading) =>
      unit.path.endsWith(".json")
        ? readFiles(unit, reading)
        : changedSessions(unit.path, reading, listed, (db, { id }) => whole(db, id, reading)),
  });
}

function rootsOf({ folder, database, variable }: Product, place: Place): string[] {
  const data = join(dataFolder(place), folder);
  const named = variable === undefined ? undefined : textOf(place.env[variable]);
  if (named === undefined) return [data];
  const path = isAbsolute(named) ? named : resolve(data, named);
  return dirname(path) === data && database.test(basename(path)) ? [data] : [data, path];
}

/** Databases first. Files of sessions that a database has too are left out. */
async function* units({ database }: Product, root: string, walking: Walking): AsyncGenerator<Unit> {
  const known = new Set<string>();
  const file = (path: string): boolean =>
    path === root ? !path.endsWith(".json") : database.test(basename(path));
  for await (const path of filesBelow(root, { file, maxDepth: 0 }, walking)) {
    yield { path, stamps: databaseStamps(path) };
    for (const id of await idsIn(path, "session", walking)) known.add(id);
  }
  const folder = (path: string): boolean => !/[\\/](?:message|part|snapshot|log|bin)$/.test(path);
  const session = (path: string): boolean => isSessionFile(path) || (path === root && path.endsWith(".json"));
  for await (const path of filesBelow(root, { file: session, folder }, walking)) {
    if (known.has(basename(path, ".json"))) continue;
    const { messages } = placesOf(path);
    // The product writes the file of a message anew when the message is complete.
    yield { path, stamps: [path, messages, ...(await filesIn(messages, walking))] };
  }
}

function isSessionFile(path: string): boolean {
  return /[\\/]session[\\/][^\\/]+[\\/]ses_[^\\/]*\.json$/.test(path);
}

/** A session's own time of change misses changes of its messages, so the mark has the times and numbers of all its rows. */
function listed(db: SourceDatabase): { id: string; mark: string }[] {
  const marks = new Map<string, string>();
  for (const table of ["message", "part", "session_message"]) {
    const columns = db.columnsOf(table);
    if (!columns.has("session_id")) continue;
    const time = ["time_updated", "time_created"].find((name) => columns.has(name));
    const last = time === undefined ? "''" : `max(${time})`;
    const sql = `SELECT session_id, count(*) AS rows, ${last} AS last FROM ${table} GROUP BY session_id`;
    for (const row of db.each(sql)) {
      const id = String(row.session_id);
      marks.set(id, `${marks.get(id) ?? ""} ${table[0]}${row.rows}@${row.last}`);
    }
  }
  const columns = columnsIn(db, "session", ["id", "time_updated", "time_created"]);
  return db.all(`SELECT ${columns} FROM session ORDER BY id`).map((row) => {
    const id = String(row.id);
    return { id, mark: `${row.time_updated ?? row.time_created}${marks.get(id) ?? ""}` };
  });
}

function whole(db: SourceDatabase, id: string, reading: Reading): { facts: SessionFacts; messages: Draft[] } {
  const row = db.get("SELECT * FROM session WHERE id = :id", { id }) ?? {};
  const reverted = recordOf(jsonOf(textOf(row.revert)));
  const messages: Draft[] = [];
  let isActive = true;
  let provider: string | undefined;
  let cwd: string | undefined;
  let parts: ReadonlyMap<string, Json[]> | undefined;
  for (const { id: messageId, data, at } of stored(db, "message", id, reading)) {
    isActive &&= !isReverted(messageId, reverted);
    provider = textOf(data.providerID) ?? provider;
    cwd ??= textOf(recordOf(data.path)?.cwd);
    parts ??= partsByMessage(db, id, reading);
    messages.push(
      ...messageRows({ id: messageId, data, parts: parts.get(messageId) ?? [], at }, isActive, reading),
    );
  }
  // Never both tables: messages that are in each would be given twice.
  if (parts === undefined)
    for (const { id: messageId, data, at, type } of stored(db, "session_message", id, reading)) {
      isActive &&= !isReverted(messageId, reverted);
      provider = textOf(recordOf(data.model)?.providerID) ?? provider;
      messages.push(...eventRows({ id: messageId, data, at }, type, isActive, reading));
    }
  const fields = {
    title: row.title,
    parentID: row.parent_id,
    directory: row.directory,
    version: row.version,
    time: { created: row.time_created, updated: row.time_updated },
  };
  const facts = sessionFacts(id, fields, worktreeOf(db, row) ?? cwd);
  return { facts: { ...facts, provider }, messages };
}

function* stored(
  db: SourceDatabase,
  table: string,
  session: string,
  reading: Reading,
): Generator<{ id: string; type: string; data: Json; at: number | undefined }> {
  const order = columnsIn(db, table, ["seq", "time_created", "id"]);
  if (order === "") return;
  const sql = `SELECT * FROM ${table} WHERE session_id = :session ORDER BY ${order}`;
  for (const row of db.each(sql, { session })) {
    const id = String(row.id);
    const data = recordOf(jsonOf(textOf(row.data)));
    if (data === undefined) reading.malformed(0, `${table} ${id}: its data is no JSON object`);
    else yield { id, type: textOf(row.type) ?? textOf(data.type) ?? "", data, at: timeOf(row.time_created) };
  }
}

/** The parts of all messages of a session, with one query instead of one per message. */
function partsByMessage(db: SourceDatabase, session: string, reading: Reading): ReadonlyMap<string, Json[]> {
  const parts = new Map<string, Json[]>();
  const sql = `
    SELECT id, message_id, data FROM part
    WHERE message_id IN (SELECT id FROM message WHERE session_id = :session) ORDER BY id`;
  for (const row of db.each(sql, { session })) {
    const data = recordOf(jsonOf(textOf(row.data)));
    const message = String(row.message_id);
    if (data === undefined) reading.malformed(0, `part ${String(row.id)}: its data is no JSON object`);
    else if (parts.get(message)?.push(data) === undefined) parts.set(message, [data]);
  }
  return parts;
}

function worktreeOf(db: SourceDatabase, { project_id: project }: Json): string | undefined {
  if (typeof project !== "string" || !db.columnsOf("project").has("worktree")) return undefined;
  const path = textOf(db.get("SELECT worktree FROM project WHERE id = :project", { project })?.worktree);
  return path === "/" ? undefined : path;
}

/** The files of older versions: one per session, message and part. */
async function* readFiles({ path }: Unit, reading: Reading): AsyncGenerator<Said> {
  const session = recordOf(await wholeJson(path, reading));
  if (session === undefined) throw new Error("not a JSON object");
  const places = placesOf(path);
  const project = places.project === undefined ? undefined : await recordIn(places.project, reading);
  const nativeId = textOf(session.id) ?? basename(path, ".json");
  const facts = sessionFacts(nativeId, session, textOf(project?.worktree));
  yield facts;
  let { cwd } = facts;
  for (const message of await filesIn(places.messages, reading)) {
    reading.signal.throwIfAborted();
    const data = await recordIn(message, reading);
    if (data === undefined) continue;
    const id = textOf(data.id) ?? basename(message, ".json");
    const parts: Json[] = [];
    for (const part of await filesIn(places.parts(id), reading))
      parts.push(...[await recordIn(part, reading)].filter((one) => one !== undefined));
    cwd ??= textOf(recordOf(data.path)?.cwd);
    const provider = textOf(data.providerID);
    if (provider !== undefined) yield { nativeId, provider, cwd };
    const isActive = !isReverted(id, recordOf(session.revert));
    yield* messageRows({ id, data, parts, path: message }, isActive, reading);
  }
}

/** Where the messages and parts of a session file are: `storage/session/<project>/<id>.json`, or the older `storage/session/info/<id>.json` with the messages below `session` too. */
function placesOf(path: string) {
  const id = basename(path, ".json");
  const owner = basename(dirname(path));
  const isOlder = owner === "info";
  const storage = isOlder ? dirname(dirname(path)) : dirname(dirname(dirname(path)));
  return {
    messages: join(storage, "message", id),
    parts: (messageId: string) => join(storage, "part", isOlder ? id : "", messageId),
    project: isOlder ? undefined : join(storage, "project", `${owner}.json`),
  };
}

/** The JSON files in a folder, oldest first: the ids in their names are made from the time. */
async function filesIn(folder: string, walking: Walking): Promise<string[]> {
  const files: string[] = [];
  const file = (path: string): boolean => path.endsWith(".json");
  for await (const path of filesBelow(folder, { file, maxDepth: 0 }, walking)) files.push(path);
  return files;
}

// ---- Messages, from their records in a database or in files ----

type StoredMessage = {
  readonly id: string;
  readonly data: Json;
  /** In the order of their ids. */
  readonly parts: readonly Json[];
  readonly at?: number | undefined;
  readonly path?: string | undefined;
};

/** Known part types without anything to keep. */
const SILENT_PARTS = names("compaction step-start step-finish snapshot patch agent retry");
const SILENT_EVENTS = names("synthetic compaction agent-switched model-switched");
/** The product gives these until it has made up a title. */
const DEFAULT_TITLE = /^(?:New|Child) session - \d{4}-\d\d-\d\dT/;

/** Facts of a session record. `fields` has the names of the JSON files; a row of the database is renamed to them. */
function sessionFacts(nativeId: string, fields: Json, worktree: string | undefined): SessionFacts {
  const title = textOf(fields.title);
  const time = recordOf(fields.time);
  return {
    nativeId,
    title: title === undefined || DEFAULT_TITLE.test(title) ? undefined : title,
    // Every session outside a repository belongs to the project `global`, whose worktree is "/".
    cwd: textOf(fields.directory) ?? (worktree === "/" ? undefined : worktree),
    startedAt: timeOf(time?.created),
    endedAt: timeOf(time?.updated),
    cliVersion: textOf(fields.version),
    parent: textOf(fields.parentID),
  };
}

/** Whether `/undo` took this message back: the one it names or a later one. Ids are made from the time, so they sort by it. */
function isReverted(messageId: string, revert: Json | undefined): boolean {
  const from = textOf(revert?.messageID);
  return from !== undefined && messageId >= from;
}

/** The rows of one message, none for what is not conversation or still being written. */
function* messageRows(stored: StoredMessage, isActive: boolean, reading: Reading): Generator<Draft> {
  const { id, data, path } = stored;
  const role = textOf(data.role) ?? "";
  const time = recordOf(data.time);
  const shared = { id, path, isActive: isActive ? undefined : false };
  const at = timeOf(time?.created) ?? stored.at;
  if (role === "user") {
    yield { ...shared, role, text: userText(stored.parts, reading), at };
  } else if (role !== "assistant") reading.unknown(`role ${role || "missing"}`);
  // A message with `summary` is the recap that a compaction made.
  else if (data.summary !== true && isFinished(data)) {
    yield* assistantRows(stored.parts, data, { ...shared, at, model: textOf(data.modelID) }, reading);
  }
}

/** The rows of one record of the newer table, which keeps a message in one piece. */
function* eventRows(
  stored: Omit<StoredMessage, "parts">,
  type: string,
  isActive: boolean,
  reading: Reading,
): Generator<Draft> {
  const { id, data } = stored;
  const shared = {
    id,
    at: timeOf(recordOf(data.time)?.created) ?? stored.at,
    isActive: isActive ? undefined : false,
  };
  if (type === "user")
    yield {
      ...shared,
      role: "user",
      text: joined([textOf(data.text), ...recordsOf(data.files).map(fileText)]),
    };
  else if (type === "shell") {
    // A command that the user ran from the prompt.
    const command = textOf(data.command) ?? "";
    const toolCallId = textOf(data.callID) ?? id;
    yield { ...shared, role: "assistant", text: "", toolCalls: [toolCall(toolCallId, "shell", { command })] };
    const text = textOf(data.output) ?? textOf(recordOf(data.output)?.output);
    if (text !== undefined) yield { ...shared, id: `${id}:shell`, role: "tool", text, toolCallId };
  } else if (type === "assistant") {
    const model = recordOf(data.model);
    if (!isFinished(data)) return;
    const fields = { ...shared, model: textOf(model?.id) ?? textOf(model?.modelID) };
    yield* assistantRows(recordsOf(data.content), data, fields, reading);
  } else if (type === "system") yield { ...shared, role: "system", text: textOf(data.text) ?? "" };
  else if (!SILENT_EVENTS.has(type)) reading.unknown(`message ${type || "without type"}`);
}

/** Text added by the program is marked `synthetic`: the content of attached files, reminders. */
function userText(parts: readonly Json[], reading: Reading): string {
  const texts: (string | undefined)[] = [];
  let typed = 0;
  let synthetic = 0;
  for (const part of parts) {
    const type = textOf(part.type) ?? "";
    if (type === "text" && part.synthetic === true) synthetic += 1;
    else if (type === "text" || type === "subtask") {
      const text = textOf(part.text) ?? textOf(part.prompt);
      if (text !== undefined) typed += 1;
      texts.push(text);
    } else if (type === "file") texts.push(fileText(part));
    else if (!SILENT_PARTS.has(type)) reading.unknown(`part ${type || "without type"}`);
  }
  return typed === 0 && synthetic > 0 ? "" : joined(texts);
}

function fileText(file: Json): string {
  const name = textOf(file.filename) ?? textOf(file.name);
  if (name !== undefined) return `[file: ${name}]`;
  return textOf(file.mime)?.startsWith("image/") ? "[image]" : "[file]";
}

/** Until then the message may still grow, so it is left for the next import. */
function isFinished(data: Json): boolean {
  const isSet = (value: unknown): boolean => value !== undefined && value !== null;
  return isSet(recordOf(data.time)?.completed) || isSet(data.finish) || isSet(data.error);
}

/** The answer, and the results of its tools as rows of their own. */
function* assistantRows(
  parts: readonly Json[],
  data: Json,
  fields: Omit<Draft, "role" | "text">,
  reading: Reading,
): Generator<Draft> {
  const unknown = (type: string): void => reading.unknown(type.replace("block", "part"));
  const { text, reasoning, toolCalls } = blocksOf(parts, unknown, (part) => {
    const { type, tool, name, state } = part;
    if (type === "tool")
      return {
        type: "tool_use",
        id: callId(part),
        name: textOf(tool) ?? name,
        input: recordOf(state)?.input,
      };
    if (type === "file") return { type: "text", text: fileText(part) };
    return SILENT_PARTS.has(textOf(type) ?? "") || (type === "text" && part.synthetic === true)
      ? undefined
      : part;
  });
  const finishReason = textOf(data.finish);
  const usage = countsOf(recordOf(data.tokens));
  yield { ...fields, role: "assistant", text, reasoning, toolCalls, finishReason, usage };
  const { id, path, isActive } = fields;
  for (const part of parts) {
    const state = part.type === "tool" ? recordOf(part.state) : undefined;
    if (state?.status !== "completed" && state?.status !== "error") continue;
    const output = textOf(state.output) ?? blocksOf(state.content, reading.unknown).text;
    const error = textOf(state.error) ?? textOf(recordOf(state.error)?.message);
    const toolCallId = callId(part);
    yield {
      ...{ id: `${id}:${toolCallId}`, role: "tool", path, isActive, toolCallId },
      text: state.status === "error" ? joined([output, error]) : output,
      at: timeOf(recordOf(state.time)?.end) ?? fields.at,
    };
  }
}

function callId({ callID, id }: Json): string {
  return textOf(callID) ?? textOf(id) ?? "";
}

function countsOf(tokens: Json | undefined): Usage | undefined {
  const counts = tokens && { ...tokens, ...recordOf(tokens.cache) };
  return usageOf(counts, ["input", "output", "read", "write", "reasoning"]);
}

// ---- Kilo: since it is built on opencode, the same tables in a database of its own; before, task folders like those of Roo Code ----

const currentKilo: TranscriptReader = readerOf({
  source: "kilo",
  title: "Kilo",
  folder: "kilo",
  database: /^kilo(?:-.+)?\.db$/,
});

const kiloTasks = format({ ...currentKilo, keepsEmpty: true, read: readTask });

/** Tasks first: those that Kilo has moved into its database have the same ids there, and the longer version is kept. */
export const kilo: TranscriptReader = {
  ...currentKilo,
  version: 2,
  roots: (place) => [
    ...vscodeUserFolders(place).map((user) => join(user, "globalStorage", KILO, "tasks")),
    ...currentKilo.roots(place),
  ],
  async *units(root, walking) {
    if (basename(root) !== "kilo") yield* taskUnits(root, walking);
    yield* currentKilo.units(root, walking);
  },
  recognises: (sample) => isTaskFile(sample, KILO) || currentKilo.recognises(sample),
  // The unit of a task is its folder, that of a session a file.
  read: (unit, reading) => (unit.stamps?.includes(unit.path) ? currentKilo : kiloTasks).read(unit, reading),
};
