// Warp: the user's prompts to its agent. The answers are protobuf messages of a schema that is not known here, so sessions hold prompts only.
import { basename, join } from "node:path";
import { type Draft, format } from "../declare.ts";
import { changedSessions, isDatabaseWith } from "../kit/database-sessions.ts";
import { joined } from "../kit/parts.ts";
import { localFolder } from "../kit/places.ts";
import { databaseStamps, type SourceDatabase } from "../kit/sqlite-source.ts";
import { type Json, jsonOf, recordOf, recordsOf, textOf, utcTimeOf } from "../kit/values.ts";
import { unitsOf } from "../kit/walk.ts";
import type { Place, Reading } from "../reader.ts";

const DATABASE = "warp.sqlite";
const CONVERSATIONS = `
  SELECT conversation_id AS id, count(*) AS prompts, min(start_ts) AS startedAt, max(start_ts) AS changedAt
  FROM ai_queries GROUP BY conversation_id ORDER BY min(start_ts), conversation_id
`;
const PROMPTS = `
  SELECT exchange_id, start_ts, input, working_directory, model_id
  FROM ai_queries WHERE conversation_id = :id ORDER BY start_ts, exchange_id
`;

export const warp = format({
  source: "warp",
  title: "Warp (prompts only)",
  evidence: "S",
  isExperimental: true,
  roots,
  units: unitsOf((path) => basename(path) === DATABASE, { maxDepth: 1, stamps: databaseStamps }),
  recognises: ({ path, head }) =>
    isDatabaseWith(head, basename(path) === DATABASE ? /^/ : /\bai_queries\b[^;]{0,600}\bconversation_id\b/),
  read: ({ path }, reading) =>
    changedSessions(
      path,
      reading,
      (db) =>
        (db.hasTable("ai_queries") ? db.all(CONVERSATIONS) : []).map(
          ({ id, startedAt, prompts, changedAt }) => ({
            id: textOf(id),
            startedAt,
            mark: `${prompts} ${changedAt}`,
          }),
        ),
      (db, { id, startedAt }) => {
        const rows = db.all(PROMPTS, { id });
        return {
          facts: {
            title: titleOf(db, id),
            cwd: rows.map((row) => textOf(row.working_directory)).find((folder) => folder !== undefined),
            model: textOf(rows.at(-1)?.model_id),
            startedAt: utcTimeOf(startedAt),
            isPartial: true,
          },
          messages: rows.flatMap((row) => promptOf(row, reading)),
        };
      },
    ),
});

function roots(place: Place): string[] {
  const { home, env, platform } = place;
  if (platform === "darwin") {
    const group = join(home, "Library", "Group Containers", "2BBY89MBSN.dev.warp");
    return ["Stable", "Preview"].map((channel) =>
      join(group, "Library", "Application Support", `dev.warp.Warp-${channel}`, DATABASE),
    );
  }
  if (platform === "win32") return [join(localFolder(place), "warp", "Warp", "data", DATABASE)];
  const state = textOf(env.XDG_STATE_HOME) ?? join(home, ".local", "state");
  return ["warp-terminal", "warp-terminal-preview"].map((folder) => join(state, folder, DATABASE));
}

function titleOf(db: SourceDatabase, id: string): string | undefined {
  if (!db.columnsOf("agent_conversations").has("summary")) return undefined;
  const row = db.get("SELECT summary FROM agent_conversations WHERE conversation_id = :id", { id });
  const text = textOf(row?.summary);
  const summary = recordOf(jsonOf(text));
  return summary === undefined ? text : textOf(summary.title);
}

/** Rows whose input is not a question of the user, such as the result of a command, give nothing. */
function promptOf(row: Json, reading: Reading): Draft[] {
  const id = textOf(row.exchange_id);
  const input = jsonOf(textOf(row.input));
  if (!Array.isArray(input))
    reading.malformed(0, `exchange ${id ?? "without id"}: the input is not a JSON list`);
  const text = joined(recordsOf(input).map(({ Query }) => textOf(recordOf(Query)?.text)));
  return text === ""
    ? []
    : [{ id, role: "user", text, at: utcTimeOf(row.start_ts), model: textOf(row.model_id) }];
}
