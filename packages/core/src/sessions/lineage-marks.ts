// What a session's model_config says about where it comes from. Five keys of that JSON object are reserved for it.
import { isRecord, outsideJsonOr } from "../lib/index.ts";
import type { SessionRow } from "./rows.ts";
import type { SessionUser } from "./scope.ts";

export type LineageMarks = {
  /** The session this one is a fork of. */
  readonly branchedFrom?: string;
  /** The session that ran this one as a subagent, or `__orphaned__`. */
  readonly delegateFrom?: string;
  /** The session this one continues after compaction. */
  readonly compressedFrom?: string;
  /** The session that a messaging gateway ended to begin this one for the same chat. */
  readonly resetFrom?: string;
};

export const MARK_KEYS = {
  branchedFrom: "_branched_from",
  delegateFrom: "_delegate_from",
  compressedFrom: "_compressed_from",
  resetFrom: "_reset_from",
} as const satisfies Record<keyof LineageMarks, string>;

/** A fifth one: the platform the session's `user_id` belongs to, where that is not its source. Children inherit it. */
export const USER_PLATFORM = "_user_platform";

const RESERVED: readonly string[] = [USER_PLATFORM, ...Object.values(MARK_KEYS)];

/** In place of the session of a run whose session is not there. */
export const ORPHANED = "__orphaned__";

/** No marks when the text is no JSON object: one damaged row must not hide the others. */
export function readMarks(modelConfig: string | null): LineageMarks {
  const config = parseConfig(modelConfig) ?? {};
  const marks: { -readonly [name in keyof LineageMarks]: LineageMarks[name] } = {};
  for (const name of ["branchedFrom", "delegateFrom", "compressedFrom", "resetFrom"] as const) {
    const value = config[MARK_KEYS[name]];
    // Any value but null counts as set, as in the queries that look at the same keys.
    if (value !== undefined && value !== null)
      marks[name] = typeof value === "string" ? value : JSON.stringify(value);
  }
  return marks;
}

/** Whose session it is; undefined for one without an owner. */
export function userOfSession(
  row: Pick<SessionRow, "user_id" | "source" | "model_config">,
): SessionUser | undefined {
  if (row.user_id === null) return undefined;
  // The queries look for the key as plain text first (`userPlatform` in sqlite/lineage-sql.ts), so an escaped one is none here too.
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

/** The same settings without the marks that name this session. */
export function withoutMarksOf(modelConfig: string | null, sessionId: string): string | null {
  const config = parseConfig(modelConfig);
  if (config === null) return modelConfig;
  const marks: ReadonlySet<string> = new Set(Object.values(MARK_KEYS));
  const entries = Object.entries(config).filter(([key, value]) => !marks.has(key) || value !== sessionId);
  return modelConfigText(Object.fromEntries(entries));
}

/** As it is stored; an empty object is NULL. */
export function modelConfigText(config: Readonly<Record<string, unknown>> | null | undefined): string | null {
  if (config === null || config === undefined) return null;
  const text = JSON.stringify(config);
  return text === "{}" ? null : text;
}

/**
 * A text from another program as it is stored. JSON may have a key twice, or spell it with escapes, and readers differ about both:
 * a text with a reserved key is written anew. Any other stays byte for byte.
 */
export function normalMarks(modelConfig: string | null): string | null {
  const config = parseConfig(modelConfig);
  return config === null || !hasMarks(config) ? modelConfig : modelConfigText(config);
}

export function hasMarks(config: Readonly<Record<string, unknown>>): boolean {
  return RESERVED.some((key) => Object.hasOwn(config, key));
}

/** For text that is no JSON here: another program's parser may be less strict. */
export function mentionsMarks(text: string | null): boolean {
  return text !== null && RESERVED.some((key) => text.includes(key));
}

/** The settings as they will be read back: `toJSON` and getters have run, once. Null for what is no object. */
export function plainConfig(config: unknown): Record<string, unknown> | null {
  return parseConfig(JSON.stringify(config) ?? null);
}

/** SQLite reads no JSON that is nested deeper, so marks in it count nowhere. */
const MAX_DEPTH = 1_000;

export function parseConfig(modelConfig: string | null): Record<string, unknown> | null {
  if (modelConfig === null) return null;
  const limits = { maxDepth: MAX_DEPTH, maxChars: Number.POSITIVE_INFINITY };
  const parsed = outsideJsonOr(modelConfig, null, limits);
  return isRecord(parsed) ? parsed : null;
}
