// The rows of sessions: creating, ending and changing them, and their prompts.
import { sha256 } from "../../lib/index.ts";
import { sessionError } from "../errors.ts";
import {
  checkSessionId,
  MARK_KEYS,
  modelConfigText,
  ORPHANED,
  plainConfig,
  RESET_REASONS,
  readOwner,
  type Scope,
  scopeOfUser,
  USER_PLATFORM,
  withoutMarksOf,
} from "../identity.ts";
import type { SessionRow } from "../rows.ts";
import type { NewSession, OwnPrompt, SessionRecords, TokenUpdate } from "../store.ts";
import { takeOverLease } from "./claims.ts";
import {
  ALL_USERS,
  byFile,
  type Connection,
  type FileFeatures,
  featuresOf,
  finite,
  hasPromptTable,
  isVisible,
  seconds,
  titleOf,
  type Visible,
} from "./connection.ts";
import {
  isEverybody,
  isOthers,
  ownerOf,
  type Person,
  requireStored,
  type StoreContext,
  sees,
  unseen,
  writeTo,
} from "./context.ts";
import { isForeignKeyFailure } from "./failures.ts";
import {
  type Column,
  clampInteger,
  EXTRACTED,
  LARGEST_INTEGER,
  OWN_PROMPTS,
  readableField,
  readableFields,
  SESSION_COLUMNS,
} from "./schema.ts";

/** Columns of later schemas that rows show if the file has them. None is ever added to a file. */
const LATER_SESSION_COLUMNS: readonly Column[] = Object.entries({
  TEXT: `created_source session_key chat_id chat_type thread_id display_name origin_json system_prompt_hash
    git_branch git_repo_root title_source last_activity_description last_activity_provenance
    compression_failure_error profile_name transport_profile tool_names`,
  INTEGER: `expiry_finalized git_metadata_generation compression_fallback_streak compression_ineffective_count
    compression_overload_streak pinned hidden`,
  REAL: "last_activity_at compression_failure_cooldown_until compression_recovery_deadline last_read_at",
}).flatMap(([declaration, names]) => names.split(/\s+/).map((name) => ({ name, declaration })));

/** The known columns of this file: those of schema 16, then later ones. */
export function sessionColumns(file: FileFeatures): readonly Column[] {
  return [...SESSION_COLUMNS, ...LATER_SESSION_COLUMNS.filter(({ name }) => file.sessions.has(name))];
}

/** The columns that queries select from `sessions s`. A prompt stored by its hash, and a title of ours, win over those in the row. */
export function sessionFields(file: FileFeatures): string {
  const columns = sessionColumns(file);
  const fields = (list: readonly Column[]) =>
    list
      .map((column) =>
        column.name === "title" ? `${titleOf("s")} AS title` : readableFields([column], "s."),
      )
      .join(", ");
  if (!hasPromptTable(file)) return fields(columns);
  return `${fields(columns.filter(({ name }) => name !== "system_prompt"))},
    COALESCE((SELECT prompt FROM system_prompts WHERE hash = s.system_prompt_hash), s.system_prompt) AS system_prompt`;
}

/** Inherited from the parent unless given; the second list only from a parent that a compaction ended. */
const INHERITED = ["git_branch", "git_repo_root"];
const INHERITED_BY_CONTINUATIONS = [
  ..."session_key chat_id chat_type thread_id display_name origin_json transport_profile tool_names".split(
    " ",
  ),
  ..."pinned hidden archived last_read_at".split(" "),
];

/** Children inherit owner and folder of their parent unless given. */
const INSERT_SESSION = byFile((file) => {
  const ofParent = (column: string) => `(SELECT ${column} FROM sessions WHERE id = :parent)`;
  const ofCompressed = (column: string) =>
    `(SELECT ${column} FROM sessions WHERE id = :parent AND end_reason = 'compression')`;
  const more: [string, string][] = [];
  for (const name of INHERITED) if (file.sessions.has(name)) more.push([name, ofParent(name)]);
  if (file.isSchema17)
    for (const name of INHERITED_BY_CONTINUATIONS) {
      const isFlag = ["pinned", "hidden", "archived"].includes(name);
      if (file.sessions.has(name))
        more.push([name, isFlag ? `COALESCE(${ofCompressed(name)}, 0)` : ofCompressed(name)]);
    }
  if (file.sessions.has("profile_name"))
    more.push([
      "profile_name",
      `COALESCE(${ofCompressed("profile_name")}, :profile, ${ofParent("profile_name")})`,
    ]);
  if (hasPromptTable(file)) more.push(["system_prompt_hash", ":hash"]);
  return `
    INSERT OR IGNORE INTO sessions (id, source, model, model_config, system_prompt, user_id, parent_session_id, cwd, started_at
      ${more.map(([name]) => `, ${name}`).join("")})
    SELECT :id, :source, :model, :config, :prompt, COALESCE(:user, ${ofParent("user_id")}), :parent,
      COALESCE(:cwd, ${ofParent("cwd")}), :started ${more.map(([, value]) => `, ${value}`).join("")}
  `;
});
/**
 * Fills missing values of an existing session. Source, owner and settings change only while it has no messages: Hermes Agent's
 * search index depends on source and settings and is not updated.
 */
const FILL_MISSING = `
  UPDATE sessions SET model = COALESCE(model, :model), cwd = COALESCE(cwd, :cwd) WHERE id = :id
`;
const FILL_EMPTY = `
  UPDATE sessions SET source = CASE WHEN source = 'unknown' THEN :source ELSE source END,
    user_id = COALESCE(user_id, :user), model_config = COALESCE(model_config, :config)
  WHERE id = :id AND NOT EXISTS (SELECT 1 FROM messages WHERE session_id = :id)
`;
const HAS_PROMPT =
  "SELECT 1 FROM sessions WHERE id = :id AND (system_prompt_hash IS NOT NULL OR system_prompt <> '')";
const GET_SESSION = byFile(
  (file) => `SELECT ${sessionFields(file)} FROM sessions s WHERE s.id = :id AND ${isVisible("s")}`,
);
export const IS_THERE_FOR = `SELECT 1 FROM sessions s WHERE s.id = :id AND ${isVisible("s")}`;

const END = "UPDATE sessions SET ended_at = :now, end_reason = :reason WHERE id = :id AND ended_at IS NULL";
const REOPEN = "UPDATE sessions SET ended_at = NULL, end_reason = NULL WHERE id = :id";
const SET_PROMPT = byFile((file) => {
  const hash = hasPromptTable(file) ? ", system_prompt_hash = :hash" : "";
  return `UPDATE sessions SET system_prompt = :prompt ${hash} WHERE id = :id`;
});
const PUT_PROMPT = "INSERT OR IGNORE INTO system_prompts (hash, prompt) VALUES (:hash, :prompt)";
const PROMPT_HASH = "SELECT system_prompt_hash AS hash FROM sessions WHERE id = :id";
const DROP_PROMPT = `
  DELETE FROM system_prompts WHERE hash = :hash AND NOT EXISTS (SELECT 1 FROM sessions WHERE system_prompt_hash = :hash)
`;
const KEY_OF = "SELECT source, session_key FROM sessions WHERE id = :id AND session_key <> ''";
const NEXT_GENERATION = `
  INSERT INTO conversation_generations (source, session_key, generation) VALUES (:source, :session_key, 1)
  ON CONFLICT (source, session_key) DO UPDATE SET generation = generation + 1
`;
const SET_MODEL = "UPDATE sessions SET model = :model WHERE id = :id";

const FILLED_ONCE = `
  model = COALESCE(model, :model), billing_provider = COALESCE(billing_provider, :provider),
  billing_base_url = COALESCE(billing_base_url, :baseUrl), billing_mode = COALESCE(billing_mode, :mode),
  cost_status = COALESCE(:costStatus, cost_status), cost_source = COALESCE(:costSource, cost_source),
  pricing_version = COALESCE(:pricing, pricing_version)
`;
const ADD = (column: string, value: string) =>
  `${column} = ${clampInteger(`COALESCE(${column}, 0) + ${value}`)}`;
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

export function sessionOperations(context: StoreContext) {
  const { connection, clock } = context;
  const { visible } = context.person;
  return {
    async createSession(id, options = {}) {
      checkSessionId(id);
      refuseOtherOwner(context.person, readOwner(options));
      return connection.write(() => insertSession(context, id, options, seconds(clock)));
    },
    async endSession(id, reason) {
      await writeTo(context, id, (session) => endSession(connection, session, reason, seconds(clock)));
    },
    async reopenSession(sessionId) {
      await writeTo(context, sessionId, (id) => connection.run(REOPEN, { id }));
    },
    async updateSessionModel(sessionId, model) {
      await writeTo(context, sessionId, (id) => connection.run(SET_MODEL, { id, model }));
    },
    async updateTokenCounts(id, update) {
      checkSessionId(id);
      await connection.write(
        () => {
          insertSession(context, id, {}, seconds(clock));
          connection.run(update.absolute ? SET_TOKENS : ADD_TOKENS, tokenValues(id, update));
        },
        { isUnsynced: true },
      ); // the reply that was counted is stored next
    },
    getSession: (id) => connection.read(() => findSession(connection, id, visible)),
  } satisfies Partial<SessionRecords>;
}

/** Inside a transaction. An existing session stays unchanged; with schema 17, its missing values are filled. */
export function insertSession(context: StoreContext, id: string, asked: NewSession, now: number): string {
  const { connection, profile } = context;
  const options = isEverybody(context.person) ? asked : theirs(context, id, asked);
  const parent = options.parentSessionId || null;
  const owner = readOwner(options);
  const file = featuresOf(connection);
  const prompt = options.systemPrompt ?? null;
  const hash = hasPromptTable(file) && prompt !== null ? storePrompt(connection, prompt) : null;
  const given = {
    source: options.source ?? "unknown",
    model: options.model ?? null,
    config: modelConfigText({
      ...plainConfig(options.modelConfig),
      ...platformMark(connection, options, owner),
    }),
    user: owner.userId ?? null,
    cwd: options.cwd ?? null,
  };
  try {
    const { changes } = connection.run(INSERT_SESSION(connection), {
      id,
      ...given,
      parent,
      prompt: hash === null ? prompt : null,
      started: finite(options.startedAt) ?? now,
      ...(hasPromptTable(file) ? { hash } : {}),
      ...(file.sessions.has("profile_name") ? { profile } : {}),
    });
    if (changes === 0 && file.isSchema17) {
      const { model, cwd, ...once } = given;
      connection.run(FILL_MISSING, { id, model, cwd });
      connection.run(FILL_EMPTY, { id, ...once });
      if (hash !== null && connection.get(HAS_PROMPT, { id }) === undefined)
        writePrompt(connection, id, prompt);
      if (hash !== null) connection.run(DROP_PROMPT, { hash });
    }
    if (!isEverybody(context.person)) takeOverLease(context, id);
    return id;
  } catch (cause) {
    if (!isForeignKeyFailure(cause)) throw cause;
    throw sessionError(
      "unknown-parent",
      `The parent session '${asked.parentSessionId}' of '${id}' does not exist.`,
      {
        hint: "Create the parent first, or leave parentSessionId out.",
        cause,
      },
    );
  }
}

function refuseOtherOwner({ scope }: Person, given: Scope): void {
  const isOwn = (key: keyof Scope) => given[key] === undefined || given[key] === scope[key];
  if (Object.keys(scope).length === 0 || (isOwn("userId") && isOwn("userPlatform"))) return;
  throw sessionError("bad-user-id", "This is the store of one person, and another one was passed.", {
    hint: "Leave the user out, or use the store of the whole home.",
  });
}

/** Inside a transaction: a new session of the person whose store this is. Its id must be free in the whole file. */
function theirs(context: StoreContext, id: string, asked: NewSession): NewSession {
  const { user } = context.person;
  if (isOthers(context, id))
    throw sessionError("bad-session-id", `The session '${id}' cannot be created: ${TAKEN}.`, {
      hint: "Choose another id.",
    });
  const { parentSessionId: parent, modelConfig, ...others } = asked;
  return {
    ...others,
    ...(user === undefined ? { userId: null } : scopeOfUser(user)),
    modelConfig: ownConfig(context, plainConfig(modelConfig)),
    parentSessionId: parent && !sees(context, parent) ? unseen(context.person, parent) : (parent ?? null),
  };
}

export const TAKEN = "a session with this id exists";

/**
 * Inside a transaction: settings without the mark that names another platform's user. A subagent run whose session the person does not have
 * stays a run, marked as orphaned, so that it is not deleted with another person's session. The other marks have no effect without a
 * parent; they stay as given, because a mark that disappeared would say that the session exists.
 */
export function ownConfig(
  context: StoreContext,
  config: Readonly<Record<string, unknown>> | null,
  platform?: string,
): Record<string, unknown> | null {
  if (config === null) return null;
  const own: Record<string, unknown> = { ...config };
  if (platform === undefined) delete own[USER_PLATFORM];
  else own[USER_PLATFORM] = platform;
  for (const key of Object.values(MARK_KEYS)) {
    const named = own[key];
    if (named === undefined || named === null) continue;
    if (typeof named !== "string") delete own[key];
    else if (key === MARK_KEYS.delegateFrom && !sees(context, named)) own[key] = ORPHANED;
  }
  return own;
}

/** Inside a transaction. True when the session was not ended before. */
export function endSession(connection: Connection, id: string, reason: string, now: number): boolean {
  if (connection.run(END, { id, reason, now }).changes === 0) return false;
  const file = featuresOf(connection);
  if (RESET_REASONS.includes(reason) && file.tables.has("conversation_generations")) {
    const chat = connection.get<{ source: string; session_key: string }>(KEY_OF, { id });
    if (chat !== undefined) connection.run(NEXT_GENERATION, { ...chat });
  }
  return true;
}

/** Inside a transaction. Stored by its hash if the file has a prompt table; prompts without a session are deleted. */
function writePrompt(connection: Connection, id: string, prompt: string | null): void {
  if (!hasPromptTable(featuresOf(connection))) {
    connection.run(SET_PROMPT(connection), { id, prompt });
    return;
  }
  const before = promptHash(connection, id);
  const hash = prompt === null ? null : storePrompt(connection, prompt);
  connection.run(SET_PROMPT(connection), { id, prompt: null, hash });
  for (const each of new Set([before, hash])) dropUnusedPrompt(connection, each);
}

export function promptHash(connection: Connection, id: string): string | null {
  if (!hasPromptTable(featuresOf(connection))) return null;
  return connection.get<{ hash: string | null }>(PROMPT_HASH, { id })?.hash ?? null;
}

export function dropUnusedPrompt(connection: Connection, hash: string | null): void {
  if (hash !== null) connection.run(DROP_PROMPT, { hash });
}

export function storePrompt(connection: Connection, prompt: string): string {
  const hash = sha256(prompt.toWellFormed());
  connection.run(PUT_PROMPT, { hash, prompt });
  return hash;
}

/** Only if the user's platform is not the session's source, so that ordinary rows stay unchanged. */
function platformMark(
  connection: Connection,
  { source = "unknown", parentSessionId }: NewSession,
  { userId, userPlatform }: Scope,
): Record<string, string> {
  const parent = userId === undefined && parentSessionId ? ownerOf(connection, parentSessionId) : undefined;
  const platform = userPlatform ?? (parent?.user ? parent.platform : null);
  return platform === null || platform === source ? {} : { [USER_PLATFORM]: platform };
}

export function findSession(
  connection: Connection,
  id: string,
  visible: Visible = ALL_USERS,
): SessionRow | null {
  const row = connection.get<SessionRow>(GET_SESSION(connection), { id, ...visible });
  return row === undefined ? null : shownTo(connection, row, visible);
}

/** A copy of the row. If the user may not see the parent, its id is removed. */
export function shownTo<Row extends SessionRow>(connection: Connection, row: Row, visible: Visible): Row {
  const { parent_session_id: parent } = row;
  if (visible.user === null || parent === null) return { ...row };
  if (connection.get(IS_THERE_FOR, { id: parent, ...visible }) !== undefined) return { ...row };
  return { ...row, parent_session_id: null, model_config: withoutMarksOf(row.model_config, parent) };
}

/** The nearest safe integer; null when it is not a number. */
export function safeInteger(value: number | null | undefined): number | null {
  const number = finite(value);
  return number === null ? null : Math.max(-LARGEST_INTEGER, Math.min(LARGEST_INTEGER, Math.trunc(number)));
}

function tokenValues(id: string, update: TokenUpdate) {
  return {
    id,
    input: safeInteger(update.inputTokens) ?? 0,
    output: safeInteger(update.outputTokens) ?? 0,
    cacheRead: safeInteger(update.cacheReadTokens) ?? 0,
    cacheWrite: safeInteger(update.cacheWriteTokens) ?? 0,
    reasoning: safeInteger(update.reasoningTokens) ?? 0,
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

// ---- System prompts made by this program ----
// In their own table, so that a prompt another program wrote into a session's row is neither used as ours nor overwritten.

const PROMPTS_TABLE = OWN_PROMPTS.name;
const GET_OWN_PROMPT = `
  SELECT p.prompt AS text, ${readableField("p.version", "version")}
  FROM ${PROMPTS_TABLE} p JOIN sessions s ON s.id = p.session_id WHERE p.session_id = :id AND ${isVisible("s")}
`;
const CLEAR_OWN_PROMPT = `DELETE FROM ${PROMPTS_TABLE} WHERE session_id = :id`;
const PUT_OWN_PROMPT = `
  INSERT INTO ${PROMPTS_TABLE} (session_id, prompt, version, created_at) VALUES (:id, :text, :version, :now)
`;
export function ownPromptOperations(context: StoreContext) {
  const { connection, clock, person } = context;
  return {
    async saveOwnPrompt(sessionId, text, version) {
      await writeTo(context, sessionId, (id) => {
        requireStored(connection, id, " to store a prompt for");
        const inRow = findSession(connection, id)?.system_prompt ?? null;
        const before = readOwnPrompt(connection, id)?.text ?? null;
        writeOwnPrompt(connection, id, { text, version }, seconds(clock));
        if (inRow === null || inRow === "" || inRow === before) writePrompt(connection, id, text);
      });
    },
    getOwnPrompt: (id) => connection.read(() => readOwnPrompt(connection, id, person.visible)),
  } satisfies Partial<SessionRecords>;
}

export function readOwnPrompt(
  connection: Connection,
  id: string,
  visible: Visible = ALL_USERS,
): OwnPrompt | null {
  const values = { id, ...visible };
  const row = connection.get<OwnPrompt>(GET_OWN_PROMPT, values);
  return row !== undefined && typeof row.text === "string" ? { ...row } : null;
}

/** Inside a transaction. */
export function writeOwnPrompt(
  connection: Connection,
  id: string,
  { text, version }: OwnPrompt,
  now: number,
): void {
  connection.run(CLEAR_OWN_PROMPT, { id });
  connection.run(PUT_OWN_PROMPT, { id, text, version, now });
}

// ---- Extraction of facts ----

const GET_EXTRACTED = `
  SELECT ${readableField("e.message_id", "message")} FROM ${EXTRACTED.name} e JOIN sessions s ON s.id = e.session_id
  WHERE e.session_id = :id AND ${isVisible("s")}
`;
const CLEAR_EXTRACTED = `DELETE FROM ${EXTRACTED.name} WHERE session_id = :id`;
const PUT_EXTRACTED = `INSERT INTO ${EXTRACTED.name} (session_id, message_id) VALUES (:id, :message)`;

export function extractionOperations(context: StoreContext) {
  const { connection, person } = context;
  return {
    async setExtractedId(sessionId, messageId) {
      await writeTo(context, sessionId, (id) => {
        requireStored(connection, id, " to note an extraction for");
        connection.run(CLEAR_EXTRACTED, { id });
        connection.run(PUT_EXTRACTED, { id, message: messageId });
      });
    },
    getExtractedId: (id) =>
      connection.read(() => {
        const row = connection.get<{ message: unknown }>(GET_EXTRACTED, { id, ...person.visible });
        return typeof row?.message === "number" ? row.message : null;
      }),
  } satisfies Partial<SessionRecords>;
}
