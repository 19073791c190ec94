// The identity of a session: its id, the user it belongs to, and the marks in `model_config` that say which session it comes from.
import { isDistinctName } from "../home.ts";
import { codePointLength, isRecord, outsideJsonOr, randomHex, sha256 } from "../lib/index.ts";
import { sessionError } from "./errors.ts";
import type { SessionRow } from "./rows.ts";

// ---- Session ids ----
// Other programs use ids of other forms, so every text is accepted that is safe in a path and in a column.

/** `20260131_094500_1f9a3c`: local time, then random digits (8 for sessions of a messaging gateway). */
export function newSessionId(now: Date, digits: 6 | 8 = 6): string {
  return `${localTimestamp(now)}_${randomHex(4).slice(0, digits)}`;
}

/** YYYYMMDD_HHMMSS in local time. */
export function localTimestamp(now: Date): string {
  const date = [padded(now.getFullYear(), 4), padded(now.getMonth() + 1, 2), padded(now.getDate(), 2)];
  const time = [now.getHours(), now.getMinutes(), now.getSeconds()].map((part) => padded(part, 2));
  return `${date.join("")}_${time.join("")}`;
}

/** Returns the id. Throws `bad-session-id`. */
export function checkSessionId(id: unknown): string {
  if (typeof id !== "string") throw badId(`is ${id === null ? "null" : `of type ${typeof id}`}, not text`);
  if (id === "") throw badId("is empty");
  if (id.includes("/")) throw badId("contains a slash, and ids also name files");
  if (id.includes("\u0000")) throw badId("contains the character U+0000, which the database cannot keep");
  if (!id.isWellFormed()) throw badId("contains half a surrogate pair, which the database cannot keep");
  const length = codePointLength(id);
  if (length > MAX_ID_CHARS) throw badId(`has ${length} characters, and ${MAX_ID_CHARS} is the most`);
  return id;
}

// Longer than any program uses, and short enough for an index and an error message.
const MAX_ID_CHARS = 512;

function badId(what: string) {
  return sessionError("bad-session-id", `This cannot be the id of a session: it ${what}.`, {
    hint: "List the ids with 'hermes sessions list', or leave the id out to get a new one.",
  });
}

function padded(value: number, width: number): string {
  return String(value).padStart(width, "0");
}

// ---- Users ----
// The user whose sessions a read may see, and the owner of a new session. A key that is present without a value means that the caller lost its
// user: that is an error, and never means "all users".

/**
 * Whose sessions a store has. Empty: those of everybody. With `userId`: only the sessions of that user. With `withoutUser`: only those of
 * the owner of the home. A key without a value is refused with `bad-user-id`.
 */
export type Scope = {
  readonly userId?: string;
  /**
   * The platform `userId` belongs to: the same id on two platforms is two people. Absent: that id on every platform. Only valid
   * together with `userId`.
   */
  readonly userPlatform?: string;
  /** The sessions that have no user, which are those of the owner of the home. Not together with `userId`. */
  readonly withoutUser?: true;
};

/** The scope of the owner of a home. */
export const WITHOUT_USER = { withoutUser: true } as const satisfies Scope;

/** Which part of a list a read returns. */
export type Page = { readonly limit?: number; readonly offset?: number };

/** The user a session belongs to: platform and id together. */
export type SessionUser = { readonly platform: string; readonly userId: string };

/** Undefined stands for administration, which sees all sessions. The owner of the home: `WITHOUT_USER`. */
export function scopeOfUser(user: SessionUser | undefined): Scope {
  return user === undefined ? {} : { userId: user.userId, userPlatform: user.platform };
}

/** Stands for a user where the name is not needed: rows of `addSpend` and `joinGroup`. */
export function personKey(platform: string, userId: string): string {
  return sha256(JSON.stringify([platform, userId]));
}

/** Checks the scope in an options object. Throws `bad-user-id`. */
export function readScope(options: Scope | null | undefined): Scope {
  return scopeIn(options ?? {}, "to read everybody's rows");
}

/** The owner of a new session. Without `userId`, or with null, it has no owner or its parent's. Throws `bad-user-id`. */
export function readOwner(options: {
  readonly userId?: string | null;
  readonly userPlatform?: string;
}): Scope {
  const { userId, ...others } = options;
  return scopeIn(userId === null ? others : options, "for a session without an owner, or with its parent's");
}

function scopeIn(
  given: { readonly userId?: unknown; readonly userPlatform?: unknown; readonly withoutUser?: unknown },
  without: string,
): Scope {
  if ("withoutUser" in given) return ownersScope(given, without);
  if (!("userId" in given)) {
    if (!("userPlatform" in given)) return {};
    throw sessionError("bad-user-id", "userPlatform was passed without userId, so it names no user.", {
      hint: `Pass both, or leave both out ${without}.`,
    });
  }
  const userId = userText(given.userId, without);
  return "userPlatform" in given ? { userId, userPlatform: platformText(given.userPlatform) } : { userId };
}

function ownersScope(given: Readonly<Record<string, unknown>>, without: string): Scope {
  const isAlone = !("userId" in given) && !("userPlatform" in given);
  if (given.withoutUser === true && isAlone) return WITHOUT_USER;
  const what = isAlone ? `as ${kindOf(given.withoutUser)}` : "together with a user";
  throw sessionError("bad-user-id", `withoutUser was passed ${what}, which names nobody.`, {
    hint: `Pass true and no user, or leave the key out ${without}.`,
  });
}

/** Some platforms pass ids as numbers; the database stores text. */
function userText(user: unknown, without: string): string {
  if (typeof user === "string") return distinct("userId", user);
  if (typeof user === "bigint" || (typeof user === "number" && Number.isSafeInteger(user)))
    return String(user);
  throw sessionError("bad-user-id", `userId was passed as ${kindOf(user)}, which names no user.`, {
    hint: `Leave the key out ${without}, or pass the user's id.`,
  });
}

function platformText(platform: unknown): string {
  if (typeof platform === "string") return distinct("userPlatform", platform);
  throw sessionError(
    "bad-user-id",
    `userPlatform was passed as ${kindOf(platform)}, which names no platform.`,
    { hint: "Leave the key out, or pass the platform's name." },
  );
}

/** Two users whose ids are stored as the same text could not be told apart. */
function distinct(key: string, text: string): string {
  if (isDistinctName(text)) return text;
  const message = `${key} contains U+0000 or half of a surrogate pair, so it cannot be distinguished from other ids.`;
  throw sessionError("bad-user-id", message, {
    hint: "Pass it as the platform has it, as well-formed text.",
  });
}

function kindOf(value: unknown): string {
  return value === null || value === undefined ? String(value) : `a value of type ${typeof value}`;
}

// ---- Marks in model_config ----
// Five keys of this JSON object are reserved: four say which session a session comes from, one says which platform its user is
// on.

type LineageMarks = {
  /** The session this one is a fork of. */
  readonly branchedFrom?: string;
  /** The session that ran this one as a subagent, or `__orphaned__`. */
  readonly delegateFrom?: string;
  /** The session this one continues after compaction. */
  readonly compressedFrom?: string;
  /** The session that a messaging gateway ended when it started this one for the same chat. */
  readonly resetFrom?: string;
};

export const MARK_KEYS = {
  branchedFrom: "_branched_from",
  delegateFrom: "_delegate_from",
  compressedFrom: "_compressed_from",
  resetFrom: "_reset_from",
} as const satisfies Record<keyof LineageMarks, string>;

/** The fifth key: the platform of the session's `user_id`, if that is not the session's source. Children inherit it. */
export const USER_PLATFORM = "_user_platform";

const RESERVED: readonly string[] = [USER_PLATFORM, ...Object.values(MARK_KEYS)];

/** The value of the delegate mark of a run whose session does not exist. */
export const ORPHANED = "__orphaned__";

/** The reasons with which a messaging gateway ends a session to start another one for the same chat. */
export const RESET_REASONS: readonly string[] = [
  "session_reset",
  "session_switch",
  "idle",
  "daily",
  "suspended",
  "resume_pending_expired",
];

/** Text that is not a JSON object has no marks: one damaged row must not hide the others. */
export function readMarks(modelConfig: string | null): LineageMarks {
  const config = parseConfig(modelConfig) ?? {};
  const marks: { -readonly [name in keyof LineageMarks]: LineageMarks[name] } = {};
  for (const name of ["branchedFrom", "delegateFrom", "compressedFrom", "resetFrom"] as const) {
    const value = config[MARK_KEYS[name]];
    // Any value but null counts as set, as in the SQL queries that read the same keys.
    if (value !== undefined && value !== null)
      marks[name] = typeof value === "string" ? value : JSON.stringify(value);
  }
  return marks;
}

/** The owner of a session; undefined when it has none. */
export function userOfSession(
  row: Pick<SessionRow, "user_id" | "source" | "model_config">,
): SessionUser | undefined {
  if (row.user_id === null) return undefined;
  // The SQL condition searches for the key as plain text first (`userPlatform` in sqlite/connection.ts), so an escaped key is
  // ignored here too.
  const isMarked = row.model_config?.includes(`"${USER_PLATFORM}"`);
  const marked = isMarked ? parseConfig(row.model_config)?.[USER_PLATFORM] : undefined;
  return { platform: typeof marked === "string" ? marked : row.source, userId: row.user_id };
}

/** The settings a child inherits; null when there are none. */
export function withoutMarks(modelConfig: string | null): Record<string, unknown> | null {
  const reserved: ReadonlySet<string> = new Set(Object.values(MARK_KEYS));
  const entries = Object.entries(parseConfig(modelConfig) ?? {}).filter(([key]) => !reserved.has(key));
  return entries.length === 0 ? null : Object.fromEntries(entries);
}

/** The settings without the marks that name this session. */
export function withoutMarksOf(modelConfig: string | null, sessionId: string): string | null {
  const config = parseConfig(modelConfig);
  if (config === null) return modelConfig;
  const marks: ReadonlySet<string> = new Set(Object.values(MARK_KEYS));
  const entries = Object.entries(config).filter(([key, value]) => !marks.has(key) || value !== sessionId);
  return modelConfigText(Object.fromEntries(entries));
}

/** The stored form. An empty object is stored as NULL. */
export function modelConfigText(config: Readonly<Record<string, unknown>> | null | undefined): string | null {
  if (config === null || config === undefined) return null;
  const text = JSON.stringify(config);
  return text === "{}" ? null : text;
}

/**
 * The stored form of a text from another program. A JSON text may contain a key twice, or spell it with escapes, and parsers
 * disagree about both: a text with a reserved key is therefore written again. Any other text stays byte for byte.
 */
export function normalMarks(modelConfig: string | null): string | null {
  const config = parseConfig(modelConfig);
  return config === null || !hasMarks(config) ? modelConfig : modelConfigText(config);
}

export function hasMarks(config: Readonly<Record<string, unknown>>): boolean {
  return RESERVED.some((key) => Object.hasOwn(config, key));
}

/** For text that is not valid JSON for us: another program's parser may accept it. */
export function mentionsMarks(text: string | null): boolean {
  return text !== null && RESERVED.some((key) => text.includes(key));
}

/** The settings as they will be read back, after `toJSON` and getters have run once. Null for anything but an object. */
export function plainConfig(config: unknown): Record<string, unknown> | null {
  return parseConfig(JSON.stringify(config) ?? null);
}

/** SQLite does not read JSON that is nested deeper, so its queries would not see marks in it. */
const MAX_DEPTH = 1_000;

export function parseConfig(modelConfig: string | null): Record<string, unknown> | null {
  if (modelConfig === null) return null;
  const limits = { maxDepth: MAX_DEPTH, maxChars: Number.POSITIVE_INFINITY };
  const parsed = outsideJsonOr(modelConfig, null, limits);
  return isRecord(parsed) ? parsed : null;
}
