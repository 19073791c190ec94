// How sessions hang together, as SQL conditions. `child` and `parent` are table aliases; `file` says which rules hold.
import { USER_PLATFORM } from "../identity.ts";
import { type FileFeatures, JUNE } from "./features.ts";

type Mark = "_branched_from" | "_delegate_from" | "_compressed_from" | "_reset_from" | typeof USER_PLATFORM;

/** A reserved key of model_config. Text that is no JSON has none. */
export function mark(session: string, key: Mark): string {
  return `CASE WHEN json_valid(${session}.model_config) THEN json_extract(${session}.model_config, '$.${key}') END`;
}

/** The reasons with which a messaging gateway ends a session to begin another one for the same chat. */
export const RESET_REASONS: readonly string[] = [
  "session_reset",
  "session_switch",
  "idle",
  "daily",
  "suspended",
  "resume_pending_expired",
];

/**
 * A mark goes before what the parent's end suggests: it may have been ended in another way since. In today's files a continuation
 * has its parent's settings word for word, so a mark that names another session is inherited.
 */
export function isBranch(child: string, parent: string, file: FileFeatures = JUNE): string {
  const endedAsBranch =
    `(${parent}.end_reason = 'branched' AND ${child}.started_at >= ${parent}.ended_at ` +
    `AND ${mark(child, "_compressed_from")} IS NULL)`;
  const isMarked = file.isToday
    ? `${mark(child, "_branched_from")} IS ${parent}.id`
    : `${mark(child, "_branched_from")} IS NOT NULL`;
  return `(${isMarked} OR COALESCE(${endedAsBranch}, 0))`;
}

/** What a gateway began anew for the same chat. It is a conversation of its own. */
export function isReset(child: string, parent: string, file: FileFeatures): string {
  if (!file.isToday) return "0";
  const reasons = RESET_REASONS.map((reason) => `'${reason}'`).join(", ");
  const isUnmarked = file.sessions.has("session_key")
    ? `(${child}.session_key <> '' AND ${child}.session_key = ${parent}.session_key AND ${parent}.end_reason IN (${reasons}))`
    : "0";
  return `(${mark(child, "_reset_from")} IS ${parent}.id OR COALESCE(${isUnmarked}, 0))`;
}

/**
 * June's original goes by end reason and clock alone, so a clock step or a reopened parent cuts its chain. Our own rows carry a mark
 * as well. Today's original inserts the child before it ends the parent, so there the clock says nothing.
 */
export function isContinuation(child: string, parent: string, file: FileFeatures = JUNE): string {
  const isMarked = `COALESCE(${mark(child, "_compressed_from")} = ${parent}.id, 0)`;
  if (file.isToday) {
    const isOther = (["_branched_from", "_delegate_from", "_reset_from"] as const)
      .map((key) => `${mark(child, key)} IS NOT ${parent}.id`)
      .join(" AND ");
    const isUnmarked = `COALESCE(${parent}.end_reason = 'compression' AND ${child}.source <> 'tool', 0)`;
    return `((${isMarked} OR ${isUnmarked}) AND ${isOther})`;
  }
  const endedAsCompressed = `(${parent}.end_reason = 'compression' AND ${child}.started_at >= ${parent}.ended_at)`;
  return (
    `((${isMarked} OR COALESCE(${endedAsCompressed}, 0)) ` +
    `AND ${mark(child, "_branched_from")} IS NULL AND ${mark(child, "_delegate_from")} IS NULL)`
  );
}

/** Which of several continuations a conversation goes on in. `activity` is the alias of hermes_memory_activity. */
export function continuationOrder(child: string, activity: string, file: FileFeatures): string {
  const newest = `${child}.started_at DESC, ${child}.id DESC`;
  if (!file.isToday) return newest;
  const state = `CASE WHEN ${child}.end_reason = 'compression' THEN 0 WHEN ${child}.ended_at IS NULL THEN 1 ELSE 2 END`;
  return `${state}, ${activity}.last_active DESC, ${newest}`;
}

/** Roots, branches and resets: what a person would call a conversation. A row whose parent is gone counts as a root. */
export function isListable(session: string, file: FileFeatures): string {
  const ofParent = `(${isBranch(session, "p", file)} OR ${isReset(session, "p", file)})`;
  const ownOfParent = `EXISTS (SELECT 1 FROM sessions p WHERE p.id = ${session}.parent_session_id AND ${ofParent})`;
  const parentIsGone = `NOT EXISTS (SELECT 1 FROM sessions p WHERE p.id = ${session}.parent_session_id)`;
  return (
    `(${mark(session, "_delegate_from")} IS NULL AND ` +
    `(${session}.parent_session_id IS NULL OR ${ownOfParent} OR ${parentIsGone}))`
  );
}

/**
 * The platform a session's `user_id` belongs to: its source, unless a mark says otherwise (a subagent's run, for instance). Runs that
 * version 0.1.0 stored have no mark; theirs is the source of the session they were made for.
 */
export function userPlatform(session: string): string {
  const marked = mark(session, USER_PLATFORM);
  // The first look spares reading the JSON of all other rows.
  const ofParent = `(SELECT r.source FROM sessions r WHERE r.id = ${session}.parent_session_id)`;
  return `COALESCE(CASE WHEN instr(${session}.model_config, '"${USER_PLATFORM}"') > 0 THEN ${marked} END,
    CASE WHEN ${session}.source = 'subagent' THEN ${ofParent} END, ${session}.source)`;
}

/** `:user` NULL means everybody, `:platform` NULL the user's id on every platform. */
export function isVisible(session: string): string {
  const onPlatform = `(:platform IS NULL OR ${userPlatform(session)} = :platform)`;
  return `(:user IS NULL OR (${session}.user_id = :user AND ${onPlatform}))`;
}
