// Warp: the user's prompts to its agent. The answers are protobuf messages of a schema that is not known here, so sessions hold prompts only.
import { basename, join } from "node:path";
import { databaseSessions, isDatabaseWith } from "../kit/database-sessions.ts";
import { databaseStamps, type SourceDatabase } from "../kit/sqlite-source.ts";
import { type Json, joined, jsonOf, recordOf, recordsOf, textOf, timeOf } from "../kit/values.ts";
import { filesBelow } from "../kit/walk.ts";
import type {
  Place,
  Reading,
  TranscriptEvent,
  TranscriptMessage,
  TranscriptReader,
  Unit,
} from "../reader.ts";

const DATABASE = "warp.sqlite";
/** The folders of Warp's release channels. */
const CHANNELS = ["Stable", "Preview"];

export const warp: TranscriptReader = {
  source: "warp",
  title: "Warp (prompts only)",
  evidence: "S",
  isExperimental: true,
  version: 1,
  roots,
  async *units(root, walking) {
    const wanted = { file: (path: string) => path === root || basename(path) === DATABASE, maxDepth: 1 };
    for await (const path of filesBelow(root, wanted, walking)) yield { path, stamps: databaseStamps(path) };
  },
  recognises: ({ path, head }) =>
    isDatabaseWith(head, basename(path) === DATABASE ? /^/ : /\bai_queries\b[^;]{0,600}\bconversation_id\b/),
  read,
};

function roots({ home, env, platform }: Place): string[] {
  if (platform === "darwin") {
    const group = join(
      home,
      "Library",
      "Group Containers",
      "2BBY89MBSN.dev.warp",
      "Library",
      "Application Support",
    );
    return CHANNELS.map((channel) => join(group, `dev.warp.Warp-${channel}`, DATABASE));
  }
  if (platform === "win32")
    return [
      join(textOf(env.LOCALAPPDATA) ?? join(home, "AppData", "Local"), "warp", "Warp", "data", DATABASE),
    ];
  const state = textOf(env.XDG_STATE_HOME) ?? join(home, ".local", "state");
  return ["warp-terminal", "warp-terminal-preview"].map((folder) => join(state, folder, DATABASE));
}

const CONVERSATIONS = `
  SELECT conversation_id AS id, count(*) AS prompts, min(start_ts) AS startedAt, max(start_ts) AS changedAt
  FROM ai_queries GROUP BY conversation_id ORDER BY min(start_ts), conversation_id
`;
const PROMPTS = `
  SELECT exchange_id, start_ts, input, working_directory, model_id
  FROM ai_queries WHERE conversation_id = :id ORDER BY start_ts, exchange_id
`;

async function* read(unit: Unit, reading: Reading): AsyncGenerator<TranscriptEvent> {
  const conversations = databaseSessions(unit.path, reading, {
    list: (db) => (db.hasTable("ai_queries") ? db.all(CONVERSATIONS).flatMap(changed) : []),
    read: (db, conversation) => ({
      ...conversation,
      rows: db.all(PROMPTS, { id: conversation.nativeId }),
      title: db.columnsOf("agent_conversations").has("summary")
        ? titleOf(db, conversation.nativeId)
        : undefined,
    }),
    name: ({ nativeId }) => nativeId,
  });
  for await (const { nativeId, mark, startedAt, rows, title } of conversations) {
    const messages = rows.flatMap((row) => promptOf(row, reading));
    if (messages.length === 0) continue;
    yield {
      kind: "session",
      facts: {
        nativeId,
        title,
        cwd: rows.map((row) => textOf(row.working_directory)).find((folder) => folder !== undefined),
        model: textOf(rows.at(-1)?.model_id),
        startedAt: utc(startedAt),
        isPartial: true,
        mark,
      },
    };
    for (const message of messages) yield { kind: "message", message };
    yield { kind: "end" };
  }

  function changed({ id, prompts, startedAt, changedAt }: Json): Changed[] {
    const nativeId = textOf(id);
    const mark = `${String(prompts)} ${String(changedAt)}`;
    return nativeId === undefined || reading.isUnchanged(nativeId, mark)
      ? []
      : [{ nativeId, mark, startedAt }];
  }
}

type Changed = { readonly nativeId: string; readonly mark: string; readonly startedAt: unknown };

function titleOf(db: SourceDatabase, id: string): string | undefined {
  const row = db.get("SELECT summary FROM agent_conversations WHERE conversation_id = :id", { id });
  const text = textOf(row?.summary);
  const summary = recordOf(jsonOf(text));
  return summary === undefined ? text : textOf(summary.title);
}

/** Rows whose input is not a question of the user, such as the result of a command, give nothing. */
function promptOf(row: Json, reading: Reading): TranscriptMessage[] {
  const id = textOf(row.exchange_id);
  const input = jsonOf(textOf(row.input));
  if (!Array.isArray(input)) {
    reading.malformed(0, `exchange ${id ?? "without id"}: the input is not a JSON list`);
    return [];
  }
  const text = joined(recordsOf(input).map(({ Query }) => textOf(recordOf(Query)?.text)));
  if (text === "") return [];
  return [{ id, role: "user", text, at: utc(row.start_ts), model: textOf(row.model_id) }];
}

/** Times are written without a zone, in UTC. */
function utc(value: unknown): number | undefined {
  const text = textOf(value);
  return timeOf(
    text === undefined || /[zZ]|[+-]\d\d:\d\d$/.test(text) ? value : `${text.replace(" ", "T")}Z`,
  );
}
