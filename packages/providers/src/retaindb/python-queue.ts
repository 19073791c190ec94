// Turns that the Python edition could not send, in its `<home>/retaindb_queue.db`. They are moved into our outbox: a row is deleted only after
// the outbox has it, as the Python edition deletes a row after delivery. Nothing else in that file is changed.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isRecord, parseOutsideJson, sha256 } from "@hermes-memory/core/internal/lib";
import type { OutboxLane } from "../kit/outbox/outbox.ts";
import type { Message } from "./wire.ts";

/** A running Python process sends a new row at once. */
const YOUNG_MS = 60_000;
const BUSY_MS = 2_000;
/** Rows per call: each is synced to disk twice. */
const ROWS = 100;

export function queuePath(home: string): string {
  return join(home, "retaindb_queue.db");
}

export type Moved = {
  readonly moved: number;
  /** Left alone for now: younger than 60 s. */
  readonly young: number;
  /** Left alone for good: their messages cannot be read. */
  readonly unreadable: number;
  /** More rows wait for another call. */
  readonly hasMore: boolean;
  /** Why the outbox takes no more rows. */
  readonly stopped?: string;
};

/** The body of a turn in the outbox, ours and moved ones. */
export type TurnBody = { readonly user: string; readonly messages: readonly Message[] };

type Row = {
  readonly id: number;
  readonly session_id: string | null;
  readonly messages_json: string | null;
  readonly created_at: string | null;
};

const OWN_ROWS = `
  SELECT id, session_id, messages_json, created_at FROM pending
  WHERE coalesce(nullif(user_id, ''), 'default') = :user AND id > :after
  ORDER BY id LIMIT :limit
`;
const DELETE_ROW =
  "DELETE FROM pending WHERE id = :id AND messages_json IS :messages AND created_at IS :created";

/**
 * Moves the oldest rows of one user after the row `after`. `user` is an id of the Python edition; the messages are sent under that id. Rejects
 * with an SQLite error when the file cannot be used now.
 */
export async function moveRows(
  home: string,
  { user, after, outbox, now }: { user: string; after: number; outbox: OutboxLane; now: number },
): Promise<Moved & { readonly last: number }> {
  const counts = { moved: 0, young: 0, unreadable: 0, hasMore: false, last: after };
  const path = queuePath(home);
  if (!existsSync(path)) return counts;
  using db = new DatabaseSync(path, { timeout: BUSY_MS });
  db.exec("PRAGMA secure_delete = ON"); // of this connection: what was moved can be forgotten
  if (db.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'pending'").get() === undefined)
    return counts;
  const rows = db.prepare(OWN_ROWS).all({ user, after, limit: ROWS }) as unknown as readonly Row[];
  const remove = db.prepare(DELETE_ROW);
  // All are handed over at once, so that a turn of our own comes after them.
  const moving: { row: Parameters<typeof remove.run>[0]; added: ReturnType<OutboxLane["add"]> }[] = [];
  for (const { id, session_id, messages_json: messages, created_at: created } of rows) {
    counts.last = id;
    if (isYoung(created, now)) {
      counts.young += 1;
      continue;
    }
    const parsed = messagesIn(messages, created);
    if (parsed === undefined) {
      counts.unreadable += 1;
      continue;
    }
    const item = {
      kind: "turn",
      sessionId: session_id ?? "",
      body: { user, messages: parsed } satisfies TurnBody,
      dedupeKey: `retaindb_queue ${sha256(JSON.stringify([user, session_id, messages, created]))}`,
    };
    moving.push({ row: { id, messages, created }, added: outbox.add(item) });
  }
  for (const { row, added } of moving) {
    const result = await added;
    if (result.kind === "full" || result.kind === "failed") return { ...counts, stopped: result.reason };
    remove.run(row);
    counts.moved += 1;
  }
  return { ...counts, hasMore: rows.length === ROWS };
}

/** How many rows of this user are left, and hold the text. 0 when the file cannot be read. */
export function countRows(home: string, user: string, text: string): number {
  const path = queuePath(home);
  if (!existsSync(path)) return 0;
  try {
    using db = new DatabaseSync(path, { readOnly: true, timeout: BUSY_MS });
    const rows = db
      .prepare(
        "SELECT messages_json FROM pending WHERE coalesce(nullif(user_id, ''), 'default') = :user AND messages_json IS NOT NULL",
      )
      .all({ user }) as unknown as readonly { readonly messages_json: string }[];
    return rows.filter(({ messages_json }) => {
      const messages = messagesIn(messages_json, null) ?? [{ content: messages_json }];
      return messages.some(({ content }) => content.includes(text));
    }).length;
  } catch {
    return 0; // another program has locked the file, or it is not a queue
  }
}

/** A time that is more than 60 s in the future comes from a wrong clock and says nothing. */
function isYoung(created: string | null, now: number): boolean {
  return Math.abs(now - timeOf(created)) < YOUNG_MS;
}

/** NaN when it is not a time. */
function timeOf(text: string | null): number {
  const [, day, time] = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)$/.exec(text ?? "") ?? []; // SQLite's own form is UTC
  return Date.parse(day === undefined ? (text ?? "") : `${day}T${time}Z`);
}

/** Undefined when there is nothing that could be sent. Times get the form that ends in `Z`. */
function messagesIn(json: string | null, created: string | null): readonly Message[] | undefined {
  const parsed = parseOutsideJson(json ?? "");
  if (!parsed.ok || !Array.isArray(parsed.value)) return undefined;
  const messages = parsed.value.flatMap((each): readonly Message[] => {
    if (!isRecord(each) || typeof each.content !== "string" || each.content === "") return [];
    const { role, content, timestamp } = each;
    const at = [timestamp, created].map((time) => timeOf(typeof time === "string" ? time : null));
    const known = at.find((ms) => !Number.isNaN(ms)) ?? 0;
    return [
      {
        role: role === "assistant" ? "assistant" : "user",
        content,
        timestamp: new Date(known).toISOString(),
      },
    ];
  });
  return messages.length === 0 ? undefined : messages;
}
