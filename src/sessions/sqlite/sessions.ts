// Sessions: making, ending, changing and counting them.
import { sessionError } from "../errors.ts";
import { modelConfigText, USER_PLATFORM } from "../lineage-marks.ts";
import type { SessionRow } from "../rows.ts";
import { platformText, userText } from "../scope.ts";
import { checkSessionId } from "../session-id.ts";
import type { NewSession, Scope, SessionFilter, SessionMark, SessionStore, TokenUpdate } from "../store.ts";
import type { Connection } from "./connection.ts";
import { count, finite, type StoreContext, seconds, visibleTo } from "./context.ts";
import { isForeignKeyFailure } from "./failures.ts";
import { isListable, isVisible, userPlatform } from "./lineage-sql.ts";
import { LARGEST, readable, readableFields, withinReach } from "./readable-fields.ts";
import { SESSION_COLUMNS } from "./schema.ts";

export const SESSION_FIELDS = readableFields(SESSION_COLUMNS);

/** Children keep the owner and the folder of their parent unless told otherwise. */
const INSERT_SESSION = `
  INSERT OR IGNORE INTO sessions (id, source, model, model_config, system_prompt, user_id, parent_session_id, cwd, started_at)
  SELECT :id, :source, :model, :config, :prompt,
    COALESCE(:user, (SELECT user_id FROM sessions WHERE id = :parent)), :parent,
    COALESCE(:cwd, (SELECT cwd FROM sessions WHERE id = :parent)), :started
`;
const OWNER = `SELECT user_id, ${userPlatform("s")} AS platform FROM sessions s WHERE id = :id`;
const GET_SESSION = `SELECT ${SESSION_FIELDS} FROM sessions s WHERE id = :id AND ${isVisible("s")}`;

// Rewound rows do not count for the last one, so that restoring them shows.
const GET_MARK = `
  SELECT ${readable("s.message_count", "message_count")}, ${readable("s.rewind_count", "rewind_count")},
    s.ended_at, s.end_reason, ${readable("m.last", "last_message_id")}
  FROM sessions s LEFT JOIN (SELECT MAX(id) AS last FROM messages WHERE session_id = :id AND active = 1) m
  WHERE s.id = :id AND ${isVisible("s")}
`;

const END = "UPDATE sessions SET ended_at = :now, end_reason = :reason WHERE id = :id AND ended_at IS NULL";
const REOPEN = "UPDATE sessions SET ended_at = NULL, end_reason = NULL WHERE id = :id";
const SET_CWD = "UPDATE sessions SET cwd = :cwd WHERE id = :id";
const SET_META = "UPDATE sessions SET model_config = :config, model = COALESCE(:model, model) WHERE id = :id";
const SET_PROMPT = "UPDATE sessions SET system_prompt = :prompt WHERE id = :id";
const SET_MODEL = "UPDATE sessions SET model = :model WHERE id = :id";
const GET_META = "SELECT value FROM state_meta WHERE key = :key";
const PUT_META =
  "INSERT INTO state_meta (key, value) VALUES (:key, :value) ON CONFLICT(key) DO UPDATE SET value = excluded.value";

const FILLED_ONCE = `
  model = COALESCE(model, :model), billing_provider = COALESCE(billing_provider, :provider),
  billing_base_url = COALESCE(billing_base_url, :baseUrl), billing_mode = COALESCE(billing_mode, :mode),
  cost_status = COALESCE(:costStatus, cost_status), cost_source = COALESCE(:costSource, cost_source),
  pricing_version = COALESCE(:pricing, pricing_version)
`;
const ADD = (column: string, value: string) =>
  `${column} = ${withinReach(`COALESCE(${column}, 0) + ${value}`)}`;
const ADD_TOKENS = `
  UPDATE sessions SET
    ${ADD("input_tokens", ":input")}, ${ADD("output_tokens", ":output")},
    ${ADD("cache_read_tokens", ":cacheRead")}, ${ADD("cache_write_tokens", ":cacheWrite")},
    ${ADD("reasoning_tokens", ":reasoning")}, ${ADD("api_call_count", ":calls")},
    estimated_cost_usd = COALESCE(estimated_cost_usd, 0) + COALESCE(:estimated, 0),
    actual_cost_usd = CASE WHEN :actual IS NULL THEN actual_cost_usd ELSE COALESCE(actual_cost_usd, 0) + :actual END,
    ${FILLED_ONCE}
  WHERE id = :id
`;
const SET_TOKENS = `
  UPDATE sessions SET
    input_tokens = :input, output_tokens = :output, cache_read_tokens = :cacheRead, cache_write_tokens = :cacheWrite,
    reasoning_tokens = :reasoning, api_call_count = :calls, estimated_cost_usd = COALESCE(:estimated, 0),
    actual_cost_usd = COALESCE(:actual, actual_cost_usd), ${FILLED_ONCE}
  WHERE id = :id
`;

export type SessionOperations = Pick<
  SessionStore,
  | "createSession"
  | "ensureSession"
  | "endSession"
  | "reopenSession"
  | "updateSessionCwd"
  | "updateSessionMeta"
  | "updateSystemPrompt"
  | "updateSessionModel"
  | "updateTokenCounts"
  | "getSession"
  | "getSessionMark"
  | "sessionCount"
  | "getMeta"
  | "setMeta"
>;

export function sessionOperations({ connection, clock }: StoreContext): SessionOperations {
  const create = async (id: string, options: NewSession) => {
    checkSessionId(id);
    return connection.write(() => insertSession(connection, id, options, seconds(clock)));
  };
  const change = async (sql: string, values: Parameters<Connection["run"]>[1]) => {
    await connection.write(() => connection.run(sql, values));
  };
  return {
    createSession: (id, options = {}) => create(id, options),
    ensureSession: (id, options = {}) => create(id, options),
    endSession: (id, reason) => change(END, { id, reason, now: seconds(clock) }),
    reopenSession: (id) => change(REOPEN, { id }),
    async updateSessionCwd(id, cwd) {
      if (id && cwd) await change(SET_CWD, { id, cwd });
    },
    async updateSessionMeta(id, modelConfig, { model = null } = {}) {
      const config = typeof modelConfig === "string" ? modelConfig : modelConfigText(modelConfig);
      await change(SET_META, { id, config, model });
    },
    updateSystemPrompt: (id, prompt) => change(SET_PROMPT, { id, prompt }),
    updateSessionModel: (id, model) => change(SET_MODEL, { id, model }),
    async updateTokenCounts(id, update) {
      checkSessionId(id);
      await connection.write(() => {
        insertSession(connection, id, {}, seconds(clock));
        connection.run(update.absolute ? SET_TOKENS : ADD_TOKENS, tokenValues(id, update));
      });
    },
    getSession: (id, scope) => connection.read(() => findSession(connection, id, scope)),
    getSessionMark: (id, scope) =>
      connection.read(() => {
        const row = connection.get<SessionMark>(GET_MARK, { id, ...visibleTo(scope) });
        return row === undefined ? null : { ...row };
      }),
    sessionCount: (options = {}) =>
      connection.read(() => {
        const { where, values } = sessionFilter(options, "s");
        const children = options.excludeChildren ? `AND ${isListable("s")}` : "";
        const sql = `SELECT COUNT(*) AS number FROM sessions s WHERE ${where} ${children}`;
        return connection.get<{ number: number }>(sql, values)?.number ?? 0;
      }),
    getMeta: (key) =>
      connection.read(() => connection.get<{ value: string | null }>(GET_META, { key })?.value ?? null),
    setMeta: (key, value) => change(PUT_META, { key, value }),
  };
}

/** Inside a transaction. Does nothing to a session that exists. */
export function insertSession(connection: Connection, id: string, options: NewSession, now: number): string {
  const parent = options.parentSessionId || null;
  try {
    connection.run(INSERT_SESSION, {
      id,
      source: options.source ?? "unknown",
      model: options.model ?? null,
      config: modelConfigText({ ...options.modelConfig, ...platformMark(connection, options) }),
      prompt: options.systemPrompt ?? null,
      user: options.userId === undefined || options.userId === null ? null : userText(options.userId),
      parent,
      cwd: options.cwd ?? null,
      started: finite(options.startedAt) ?? now,
    });
    return id;
  } catch (cause) {
    if (!isForeignKeyFailure(cause)) throw cause;
    throw sessionError("unknown-parent", `The parent session '${parent}' of '${id}' does not exist.`, {
      hint: "Create the parent first, or leave parentSessionId out.",
      cause,
    });
  }
}

/** Only where the user's platform is not the session's source, so that ordinary rows stay as they always were. */
function platformMark(connection: Connection, options: NewSession): Record<string, string> {
  const { source = "unknown", userId, parentSessionId } = options;
  const isInherited = userId === undefined || userId === null;
  const parent =
    isInherited && parentSessionId
      ? connection.get<{ user_id: string | null; platform: string | null }>(OWNER, { id: parentSessionId })
      : undefined;
  const given = options.userPlatform === undefined ? undefined : platformText(options.userPlatform);
  const platform = given ?? (parent?.user_id ? parent.platform : null);
  return platform === null || platform === source ? {} : { [USER_PLATFORM]: platform };
}

export function findSession(connection: Connection, id: string, scope?: Scope): SessionRow | null {
  const row = connection.get<SessionRow>(GET_SESSION, { id, ...visibleTo(scope) });
  return row === undefined ? null : { ...row };
}

export function setMeta(connection: Connection, key: string, value: string): void {
  connection.run(PUT_META, { key, value });
}

export function readMeta(connection: Connection, key: string): string | null {
  return connection.get<{ value: string | null }>(GET_META, { key })?.value ?? null;
}

/** The filters that a listing and a count share. An empty list of sources to leave out leaves nothing out. */
export function sessionFilter(
  filter: SessionFilter,
  alias: string,
): { where: string; values: Record<string, string | number | null> } {
  const values: Record<string, string | number | null> = { ...visibleTo(filter) };
  const conditions = [isVisible(alias)];
  if (filter.source !== undefined) {
    // The plus keeps SQLite from collecting and sorting all sessions of the source: listings walk in their own order.
    conditions.push(`+${alias}.source = :source`);
    values.source = filter.source;
  }
  if (filter.excludeSources !== undefined && filter.excludeSources.length > 0) {
    conditions.push(`${alias}.source NOT IN (SELECT value FROM json_each(:excluded))`);
    values.excluded = JSON.stringify(filter.excludeSources);
  }
  const least = count(filter.minMessageCount, 0);
  if (least > 0) {
    conditions.push(`${alias}.message_count >= :least`);
    values.least = least;
  }
  if (filter.archivedOnly) conditions.push(`${alias}.archived <> 0`);
  else if (!filter.includeArchived) conditions.push(`${alias}.archived = 0`);
  return { where: conditions.join(" AND "), values };
}

/** The nearest whole number that can be read back; null for what is no number. */
export function safeInteger(value: number | null | undefined): number | null {
  const number = finite(value);
  return number === null ? null : Math.max(-LARGEST, Math.min(LARGEST, Math.trunc(number)));
}

function tokenValues(id: string, update: TokenUpdate) {
  return {
    id,
    input: safeInteger(update.inputTokens ?? update.input) ?? 0,
    output: safeInteger(update.outputTokens ?? update.output) ?? 0,
    cacheRead: safeInteger(update.cacheReadTokens ?? update.cacheRead) ?? 0,
    cacheWrite: safeInteger(update.cacheWriteTokens ?? update.cacheWrite) ?? 0,
    reasoning: safeInteger(update.reasoningTokens ?? update.reasoning) ?? 0,
    calls: safeInteger(update.apiCallCount) ?? 0,
    estimated: finite(update.estimatedCostUsd),
    actual: finite(update.actualCostUsd),
    costStatus: update.costStatus ?? null,
    costSource: update.costSource ?? null,
    pricing: update.pricingVersion ?? null,
    model: update.model ?? null,
    provider: update.billingProvider ?? null,
    baseUrl: update.billingBaseUrl ?? null,
    mode: update.billingMode ?? null,
  };
}
