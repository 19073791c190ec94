// How sessions hang together, as SQL conditions. `child` and `parent` are table aliases.
import { USER_PLATFORM } from "../lineage-marks.ts";

/** A reserved key of model_config. Text that is no JSON has none. */
export function mark(
  session: string,
  key: "_branched_from" | "_delegate_from" | "_compressed_from" | typeof USER_PLATFORM,
): string {
  return `CASE WHEN json_valid(${session}.model_config) THEN json_extract(${session}.model_config, '$.${key}') END`;
}

/** A mark goes before what the parent's end suggests: it may have been ended in another way since. */
export function isBranch(child: string, parent: string): string {
  const endedAsBranch =
    `(${parent}.end_reason = 'branched' AND ${child}.started_at >= ${parent}.ended_at ` +
    `AND ${mark(child, "_compressed_from")} IS NULL)`;
  return `(${mark(child, "_branched_from")} IS NOT NULL OR COALESCE(${endedAsBranch}, 0))`;
}

/**
 * The original goes by end reason and clock alone, so a clock step or a reopened parent cuts its chain. Our own rows
 * carry a mark as well.
 */
export function isContinuation(child: string, parent: string): string {
  const endedAsCompressed = `(${parent}.end_reason = 'compression' AND ${child}.started_at >= ${parent}.ended_at)`;
  return (
    `((COALESCE(${mark(child, "_compressed_from")} = ${parent}.id, 0) OR COALESCE(${endedAsCompressed}, 0)) ` +
    `AND ${mark(child, "_branched_from")} IS NULL AND ${mark(child, "_delegate_from")} IS NULL)`
  );
}

/** Roots and branches: what a person would call a conversation. A row whose parent is gone counts as a root. */
export function isListable(session: string): string {
  const branchOfParent = `EXISTS (SELECT 1 FROM sessions p WHERE p.id = ${session}.parent_session_id AND ${isBranch(session, "p")})`;
  const parentIsGone = `NOT EXISTS (SELECT 1 FROM sessions p WHERE p.id = ${session}.parent_session_id)`;
  return (
    `(${mark(session, "_delegate_from")} IS NULL AND ` +
    `(${session}.parent_session_id IS NULL OR ${branchOfParent} OR ${parentIsGone}))`
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
