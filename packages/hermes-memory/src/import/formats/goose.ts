// Sessions of Goose: a database, or one file of JSON lines per session from versions before 1.10.
import { basename, dirname, join } from "node:path";
import { blocksOf } from "../kit/blocks.ts";
import { columnsIn, databaseSessions, isDatabaseWith } from "../kit/database-sessions.ts";
import { jsonLines } from "../kit/json-lines.ts";
import { databaseStamps, openSource, type SourceDatabase } from "../kit/sqlite-source.ts";
import {
  type Json,
  joined,
  jsonOf,
  jsonText,
  listOf,
  numberOf,
  recordOf,
  textOf,
  timeOf,
} from "../kit/values.ts";
import { filesBelow } from "../kit/walk.ts";
import type {
  Place,
  Reading,
  SessionFacts,
  ToolCall,
  TranscriptMessage,
  TranscriptReader,
  Unit,
  Walking,
} from "../reader.ts";

type Listed = { readonly id: string; readonly mark: string };
type Whole = { readonly facts: SessionFacts; readonly messages: readonly TranscriptMessage[] };
type Stored = Pick<TranscriptMessage, "id" | "at" | "line" | "model"> & {
  readonly role: string;
  readonly content: unknown;
};

const SESSION_COLUMNS = [
  "id",
  "name",
  "description",
  "session_type",
  "working_dir",
  "created_at",
  "updated_at",
  "provider_name",
  "model_config_json",
  "input_tokens",
  "output_tokens",
  "accumulated_input_tokens",
  "accumulated_output_tokens",
];
const SILENT_BLOCKS: ReadonlySet<string> = new Set([
  "redactedThinking",
  "toolConfirmationRequest",
  "frontendToolRequest",
  "actionRequired",
  "systemNotification",
]);
const DEFAULT_TITLE = "CLI Session";

export const goose: TranscriptReader = {
  source: "goose",
  title: "Goose",
  evidence: "S",
  version: 1,
  roots,
  units,
  recognises: ({ head, first }) => {
    const value = recordOf(first);
    const isOldFile = textOf(value?.working_dir) !== undefined && value?.description !== undefined;
    return isOldFile || isDatabaseWith(head, /content_json/);
  },
  read: ({ path }, reading) =>
    path.endsWith(".jsonl") ? readLines(path, reading) : readDatabase(path, reading),
};

function roots({ home, env, platform }: Place): string[] {
  const root = textOf(env.GOOSE_PATH_ROOT);
  if (root !== undefined) return [join(root, "data", "sessions")];
  if (platform === "win32")
    return [
      join(textOf(env.APPDATA) ?? join(home, "AppData", "Roaming"), "Block", "goose", "data", "sessions"),
    ];
  return [join(textOf(env.XDG_DATA_HOME) ?? join(home, ".local", "share"), "goose", "sessions")];
}

/** Goose takes its older files into the database once, so those whose session is there are left out. */
async function* units(root: string, walking: Walking): AsyncGenerator<Unit> {
  const files: string[] = [];
  const known = new Set<string>();
  const file = (path: string): boolean => path === root || /^sessions\.db$|\.jsonl$/.test(basename(path));
  for await (const path of filesBelow(root, { file }, walking)) {
    if (path.endsWith(".jsonl")) {
      files.push(path);
      continue;
    }
    yield { path, stamps: databaseStamps(path) };
    for (const id of await idsIn(path, walking)) known.add(join(dirname(path), id));
  }
  for (const path of files) if (!known.has(path.replace(/\.jsonl$/, ""))) yield { path };
}

async function idsIn(path: string, walking: Walking): Promise<string[]> {
  try {
    using db = await openSource(path, walking);
    return db.all("SELECT id FROM sessions").map(({ id }) => String(id));
  } catch {
    walking.signal.throwIfAborted();
    return []; // reading the database reports the reason
  }
}

async function* readDatabase(path: string, reading: Reading): ReturnType<TranscriptReader["read"]> {
  const sessions = databaseSessions(path, reading, {
    list: (db) => listed(db).filter(({ id, mark }) => !reading.isUnchanged(id, mark)),
    read: (db, session) => whole(db, session, reading),
    name: ({ id }) => id,
  });
  for await (const session of sessions) {
    if (session.messages.length === 0) continue;
    yield { kind: "session", facts: session.facts };
    for (const message of session.messages) yield { kind: "message", message };
    yield { kind: "end" };
  }
}

function listed(db: SourceDatabase): Listed[] {
  const marks = new Map<string, string>();
  const sql = "SELECT session_id, count(*) AS rows, max(id) AS last FROM messages GROUP BY session_id";
  for (const { session_id: id, rows, last } of db.each(sql)) marks.set(String(id), `${rows} ${last}`);
  const columns = columnsIn(db, "sessions", ["id", "updated_at"]);
  return db.all(`SELECT ${columns} FROM sessions ORDER BY id`).map(({ id, updated_at: updated }) => {
    return { id: String(id), mark: `${updated} ${marks.get(String(id)) ?? ""}` };
  });
}

function whole(db: SourceDatabase, { id, mark }: Listed, reading: Reading): Whole {
  const row =
    db.get(`SELECT ${columnsIn(db, "sessions", SESSION_COLUMNS)} FROM sessions WHERE id = :id`, { id }) ?? {};
  const names = new Map<string, string>();
  const seen = new Set<string>();
  const messages: TranscriptMessage[] = [];
  const columns = columnsIn(db, "messages", [
    "id",
    "message_id",
    "role",
    "content_json",
    "created_timestamp",
    "metadata_json",
  ]);
  const sql = `SELECT ${columns} FROM messages WHERE session_id = :id ORDER BY created_timestamp, id`;
  for (const message of db.each(sql, { id })) {
    const number = numberOf(message.id) ?? 0;
    const metadata = recordOf(jsonOf(textOf(message.metadata_json)));
    // Goose hides the recap of a compaction, and text that it adds itself, from the user.
    if (metadata?.userVisible === false) continue;
    const content = jsonOf(textOf(message.content_json));
    if (content === undefined) {
      reading.malformed(number, "content_json is not valid JSON");
      continue;
    }
    const native = textOf(message.message_id);
    const isFirst = native !== undefined && !seen.has(native);
    if (native !== undefined) seen.add(native);
    const inference = recordOf(metadata?.inference);
    messages.push(
      ...rowsOf(
        {
          id: isFirst ? native : `${native ?? "row"}-${number}`,
          role: textOf(message.role) ?? "",
          content,
          at: timeOf(message.created_timestamp),
          line: number,
          model: textOf(inference?.resolvedModel) ?? textOf(inference?.requestedModel),
        },
        names,
        reading,
      ),
    );
  }
  return { facts: { nativeId: id, ...factsOf(row), mark }, messages };
}

function factsOf(row: Json): Omit<SessionFacts, "nativeId"> {
  const type = textOf(row.session_type);
  const inputTokens = numberOf(row.accumulated_input_tokens) ?? numberOf(row.input_tokens);
  const outputTokens = numberOf(row.accumulated_output_tokens) ?? numberOf(row.output_tokens);
  const title = [row.name, row.description]
    .map(textOf)
    .find((name) => name?.trim() !== DEFAULT_TITLE && name?.trim());
  return {
    title,
    cwd: textOf(row.working_dir),
    provider: textOf(row.provider_name),
    model: textOf(recordOf(jsonOf(textOf(row.model_config_json)))?.model_name),
    startedAt: utc(row.created_at),
    endedAt: utc(row.updated_at),
    visibility:
      type === "sub_agent" ? "subagent" : type === "hidden" || type === "scheduled" ? "hidden" : "shown",
    usage:
      inputTokens === undefined && outputTokens === undefined ? undefined : { inputTokens, outputTokens },
  };
}

/** SQLite writes `YYYY-MM-DD hh:mm:ss` and means UTC. */
function utc(value: unknown): number | undefined {
  const text = textOf(value);
  return timeOf(
    text !== undefined && /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?$/.test(text)
      ? `${text.replace(" ", "T")}Z`
      : value,
  );
}

/** The first line has facts about the session, every other one is a message without an id. */
async function* readLines(path: string, reading: Reading): ReturnType<TranscriptReader["read"]> {
  const nativeId = basename(path, ".jsonl");
  const names = new Map<string, string>();
  yield { kind: "session", facts: { nativeId } };
  for await (const { line, value } of jsonLines(path, reading)) {
    if (value.role === undefined) {
      const { title, cwd } = factsOf(value);
      yield { kind: "session", facts: { nativeId, title, cwd } };
      continue;
    }
    const stored = {
      role: textOf(value.role) ?? "",
      content: value.content,
      at: timeOf(value.created),
      line,
    };
    for (const message of rowsOf(stored, names, reading)) yield { kind: "message", message };
  }
}

/** Results of tools stand in messages of the user. They come first, as rows of their own. */
function* rowsOf(stored: Stored, names: Map<string, string>, reading: Reading): Generator<TranscriptMessage> {
  const { id, role, at, line, model } = stored;
  if (role !== "user" && role !== "assistant") return reading.unknown(`role ${role || "missing"}`);
  const texts: (string | undefined)[] = [];
  const thoughts: (string | undefined)[] = [];
  const toolCalls: ToolCall[] = [];
  for (const item of listOf(stored.content)) {
    const block = recordOf(item) ?? {};
    const type = textOf(block.type) ?? "";
    if (type === "text") texts.push(textOf(block.text));
    else if (type === "image") texts.push("[image]");
    else if (type === "thinking") thoughts.push(textOf(block.thinking));
    else if (type === "toolRequest") toolCalls.push(callOf(block));
    else if (type === "toolResponse") {
      const callId = textOf(block.id) ?? "";
      yield {
        id: id === undefined ? undefined : `${id}:${callId}`,
        role: "tool",
        text: resultText(recordOf(block.toolResult), reading),
        at,
        line,
        toolCallId: callId,
        toolName: names.get(callId),
      };
    } else if (!SILENT_BLOCKS.has(type)) reading.unknown(`block ${type || "without type"}`);
  }
  for (const call of toolCalls) names.set(call.id, call.name);
  const text = joined(texts);
  const reasoning = reading.options.includeReasoning ? textOf(joined(thoughts)) : undefined;
  if (text === "" && toolCalls.length === 0 && reasoning === undefined) return;
  yield {
    id,
    role,
    text,
    at,
    line,
    ...(toolCalls.length > 0 ? { toolCalls } : {}),
    reasoning,
    model,
  };
}

function callOf(block: Json): ToolCall {
  const value = recordOf(recordOf(block.toolCall)?.value);
  return {
    id: textOf(block.id) ?? "",
    name: textOf(value?.name) ?? "unknown",
    arguments: jsonText(value?.arguments),
  };
}

function resultText(result: Json | undefined, reading: Reading): string {
  const value = result?.value;
  const content = Array.isArray(value) ? value : recordOf(value)?.content;
  return joined([blocksOf(content, reading.unknown).text, textOf(result?.error)]);
}
