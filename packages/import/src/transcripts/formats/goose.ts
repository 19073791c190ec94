// Sessions of Goose: a database, or one file of JSON lines per session from versions before 1.10.
import { basename, dirname, join } from "node:path";
import { type Draft, format, type Said } from "../declare.ts";
import { type Blocks, blocksOf } from "../kit/blocks.ts";
import { changedSessions, columnsIn, idsIn, isDatabaseWith } from "../kit/database-sessions.ts";
import { jsonLines } from "../kit/json-lines.ts";
import { joined } from "../kit/parts.ts";
import { configFolder, dataFolder } from "../kit/places.ts";
import { databaseStamps, type SourceDatabase } from "../kit/sqlite-source.ts";
import { type Json, jsonOf, names, numberOf, recordOf, textOf, timeOf, utcTimeOf } from "../kit/values.ts";
import { filesBelow } from "../kit/walk.ts";
import type { Reading, SessionFacts, Unit, Walking } from "../reader.ts";

const SILENT_BLOCKS = names(`
  redactedThinking toolConfirmationRequest frontendToolRequest actionRequired systemNotification
`);
const DEFAULT_TITLE = "CLI Session";

export const goose = format({
  source: "goose",
  title: "Goose",
  evidence: "S",
  roles: ["user", "assistant"],
  roots: (place) => {
    const root = textOf(place.env.GOOSE_PATH_ROOT);
    if (root !== undefined) return [join(root, "data", "sessions")];
    if (place.platform === "win32") return [join(configFolder(place), "Block", "goose", "data", "sessions")];
    return [join(dataFolder(place), "goose", "sessions")];
  },
  units,
  recognises: ({ head, first }) =>
    (textOf(first.working_dir) !== undefined && first.description !== undefined) ||
    isDatabaseWith(head, /content_json/),
  read: ({ path }, reading) =>
    path.endsWith(".jsonl")
      ? readLines(path, reading)
      : changedSessions(path, reading, listed, (db, { id }) => {
          const row = db.get("SELECT * FROM sessions WHERE id = :id", { id }) ?? {};
          return { facts: factsOf(row), messages: messagesIn(db, id, reading) };
        }),
});

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
    for (const id of await idsIn(path, "sessions", walking)) known.add(join(dirname(path), id));
  }
  for (const path of files) if (!known.has(path.replace(/\.jsonl$/, ""))) yield { path };
}

function listed(db: SourceDatabase): { id: string; mark: string }[] {
  const marks = new Map<string, string>();
  const sql = "SELECT session_id, count(*) AS rows, max(id) AS last FROM messages GROUP BY session_id";
  for (const { session_id: id, rows, last } of db.each(sql)) marks.set(String(id), `${rows} ${last}`);
  const columns = columnsIn(db, "sessions", ["id", "updated_at"]);
  return db.all(`SELECT ${columns} FROM sessions ORDER BY id`).map(({ id, updated_at: updated }) => {
    return { id: String(id), mark: `${updated} ${marks.get(String(id)) ?? ""}` };
  });
}

function messagesIn(db: SourceDatabase, id: string, reading: Reading): Draft[] {
  const seen = new Set<string>();
  const messages: Draft[] = [];
  const sql = "SELECT * FROM messages WHERE session_id = :id ORDER BY created_timestamp, id";
  for (const row of db.each(sql, { id })) {
    const line = numberOf(row.id) ?? 0;
    const metadata = recordOf(jsonOf(textOf(row.metadata_json)));
    // Goose hides the recap of a compaction, and text that it adds itself, from the user.
    if (metadata?.userVisible === false) continue;
    const content = jsonOf(textOf(row.content_json));
    if (content === undefined) {
      reading.malformed(line, "content_json is not valid JSON");
      continue;
    }
    const native = textOf(row.message_id);
    const isFirst = native !== undefined && !seen.has(native);
    if (native !== undefined) seen.add(native);
    const inference = recordOf(metadata?.inference);
    messages.push({
      id: isFirst ? native : `${native ?? "row"}-${line}`,
      role: row.role,
      ...contentOf(content, reading),
      at: timeOf(row.created_timestamp),
      line,
      model: textOf(inference?.resolvedModel) ?? textOf(inference?.requestedModel),
    });
  }
  return messages;
}

function factsOf(row: Json): Omit<SessionFacts, "nativeId"> {
  const type = textOf(row.session_type);
  const inputTokens = numberOf(row.accumulated_input_tokens) ?? numberOf(row.input_tokens);
  const outputTokens = numberOf(row.accumulated_output_tokens) ?? numberOf(row.output_tokens);
  return {
    title: [row.name, row.description]
      .map(textOf)
      .find((name) => name?.trim() !== DEFAULT_TITLE && name?.trim()),
    cwd: textOf(row.working_dir),
    provider: textOf(row.provider_name),
    model: textOf(recordOf(jsonOf(textOf(row.model_config_json)))?.model_name),
    startedAt: utcTimeOf(row.created_at),
    endedAt: utcTimeOf(row.updated_at),
    visibility:
      type === "sub_agent" ? "subagent" : type === "hidden" || type === "scheduled" ? "hidden" : "shown",
    usage:
      inputTokens === undefined && outputTokens === undefined ? undefined : { inputTokens, outputTokens },
  };
}

/** The first line has facts about the session, every other one is a message without an id. */
async function* readLines(path: string, reading: Reading): AsyncGenerator<Said> {
  const nativeId = basename(path, ".jsonl");
  yield { nativeId };
  for await (const { line, value } of jsonLines(path, reading)) {
    if (value.role !== undefined)
      yield { role: value.role, ...contentOf(value.content, reading), at: timeOf(value.created), line };
    else {
      const { title, cwd } = factsOf(value);
      yield { nativeId, title, cwd };
    }
  }
}

function contentOf(content: unknown, reading: Reading): Blocks {
  return blocksOf(Array.isArray(content) ? content : [], reading.unknown, (block) => {
    if (SILENT_BLOCKS.has(block.type)) return undefined;
    if (block.type === "toolRequest") {
      const { name, arguments: input } = recordOf(recordOf(block.toolCall)?.value) ?? {};
      return { type: "tool_use", id: block.id, name, input };
    }
    if (block.type !== "toolResponse") return block;
    const result = recordOf(block.toolResult);
    const value = result?.value;
    const { text } = blocksOf(Array.isArray(value) ? value : recordOf(value)?.content, reading.unknown);
    return { type: "tool_result", tool_use_id: block.id, content: joined([text, textOf(result?.error)]) };
  });
}
