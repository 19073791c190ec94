// Conversations as Supermemory takes them. A post carries a conversation from its beginning, and the server compares it with what it has, so
// what was sent is kept here, in `<home>/supermemory.db`, until its part is full. A part is a conversation of its own at the server:
// `<session>`, `<session>-2`, ... This bounds every post, and what is kept.
import { closeSync, existsSync, mkdirSync, openSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import {
  codePointLength,
  describeCause,
  HermesError,
  sha256,
  takeCodePoints,
} from "@hermes-memory/core/internal/lib";

export type Message = { readonly role: "user" | "assistant"; readonly content: string };

/** Messages that are added together, with a key that tells whether they were. */
export type Turn = { readonly key: string; readonly messages: readonly Message[] };

/** The last part of a conversation, as it is at the server. */
export type Part = {
  /** Counted from 1. */
  readonly number: number;
  readonly messages: readonly Message[];
  /** Of the turns that were added last. */
  readonly keys: readonly string[];
};

const FIRST_PART: Part = { number: 1, messages: [], keys: [] };

export type PartLimits = { readonly messages: number; readonly chars: number };

/** 50 turns. Sent every 10 turns, a part is sent five times, and each message three times on average. */
const PART_LIMITS: PartLimits = { messages: 100, chars: 200_000 };
/** The longest message that is sent. */
export const MAX_MESSAGE_CHARS = 50_000;
/** More than a batch has: a batch that is delivered a second time finds all of its keys. */
const KEPT_KEYS = 200;

/**
 * The parts to post when these turns are added to a conversation, and what it is afterwards. Turns that it has already are left out. The same
 * input gives the same parts, so a delivery that is repeated posts what the server has.
 */
export function addTurns(
  part: Part,
  turns: readonly Turn[],
  limits: PartLimits = PART_LIMITS,
): { readonly posts: readonly Part[]; readonly next: Part } {
  const known = new Set(part.keys);
  const added = turns.filter(({ key }) => !known.has(key));
  const keys = [...part.keys, ...added.map(({ key }) => key)].slice(-KEPT_KEYS);
  const posts: Part[] = [];
  let current = part;
  let isChanged = false;
  for (const { messages } of added) {
    const whole = [...current.messages, ...messages];
    const isTooLong = whole.length > limits.messages || charsIn(whole) > limits.chars;
    if (isTooLong && current.messages.length > 0) {
      if (isChanged) posts.push(current);
      current = { ...current, number: current.number + 1, messages };
    } else current = { ...current, messages: whole };
    isChanged = true;
  }
  if (isChanged) posts.push(current);
  return { posts, next: { ...current, keys } };
}

function charsIn(messages: readonly Message[]): number {
  return messages.reduce((sum, { content }) => sum + content.length, 0);
}

/** One message of less than 20 characters says nothing worth a post. */
export function isWorthSending(messages: readonly Message[]): boolean {
  const [first, second] = messages;
  if (first === undefined) return false;
  return second !== undefined || codePointLength(first.content) >= 20;
}

/** The id of a part at the server, of at most 255 characters. */
export function conversationId(sessionId: string, number: number): string {
  const head =
    sessionId === ""
      ? "hermes"
      : codePointLength(sessionId) <= 240
        ? sessionId
        : `${takeCodePoints(sessionId, 200)}-${sha256(sessionId).slice(0, 16)}`;
  return number === 1 ? head : `${head}-${number}`;
}

/** The messages as one text, for a server without conversations. */
export function transcriptOf(messages: readonly Message[]): string {
  return messages.map(({ role, content }) => `${role}: ${content}`).join("\n\n");
}

// ---- What is kept ----

export type PartStore = ReturnType<typeof createPartStore>;

export function partsPath(home: string): string {
  return join(home, "supermemory.db");
}

/** A conversation that rested this long goes on in a new part, and its messages are no longer kept. */
const REST_MS = 30 * 24 * 3_600_000;
const BUSY_MS = 2_000;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS conversations (
    tag TEXT NOT NULL, session_id TEXT NOT NULL, part INTEGER NOT NULL, messages TEXT NOT NULL, keys TEXT NOT NULL, updated_at INTEGER NOT NULL,
    PRIMARY KEY (tag, session_id)
  ) STRICT
`;

type Row = {
  readonly session_id: string;
  readonly part: number;
  readonly messages: string;
  readonly keys: string;
};

const COLUMNS = "session_id, part, messages, keys";

/**
 * The last part of each conversation; `tag` is the container. Opened for each call, because several processes share the file and each call comes minutes after the one before. Without a home it is in
 * memory, for `memory.outbox: false`. Throws `HermesError`.
 */
export function createPartStore(home: string | undefined, nowMs: () => number) {
  const path = home === undefined ? ":memory:" : partsPath(home);
  const inMemory = home === undefined ? openParts(path) : undefined;
  const isEmpty = () => inMemory === undefined && !existsSync(path);

  function use<T>(work: (db: DatabaseSync) => T): T {
    if (inMemory !== undefined) return work(inMemory);
    try {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      if (!existsSync(path)) closeSync(openSync(path, "a", 0o600));
      using db = openParts(path);
      return work(db);
    } catch (cause) {
      const hint =
        "If it is damaged, move it away: conversations that are running then begin anew at the server.";
      throw new HermesError(
        "supermemory-conversations",
        `${path} cannot be used: ${describeCause(cause)}. ${hint}`,
        { cause },
      );
    }
  }

  const save = (db: DatabaseSync, tag: string, sessionId: string, { number, messages, keys }: Part): void => {
    db.prepare(
      `INSERT INTO conversations (tag, session_id, part, messages, keys, updated_at) VALUES (:tag, :sessionId, :number, :messages, :keys, :at)
       ON CONFLICT (tag, session_id) DO UPDATE SET part = :number, messages = :messages, keys = :keys, updated_at = :at`,
    ).run({
      tag,
      sessionId,
      number,
      messages: JSON.stringify(messages),
      keys: JSON.stringify(keys),
      at: nowMs(),
    });
  };

  return {
    read: (tag: string, sessionId: string): Part => {
      if (isEmpty()) return FIRST_PART;
      return use((db) => {
        const find = db.prepare(
          `SELECT ${COLUMNS} FROM conversations WHERE tag = :tag AND session_id = :sessionId`,
        );
        const row = find.get({ tag, sessionId }) as Row | undefined;
        return row === undefined ? FIRST_PART : toPart(row);
      });
    },
    write: (tag: string, sessionId: string, part: Part): void =>
      use((db) => {
        save(db, tag, sessionId, part);
        db.prepare(
          "UPDATE conversations SET part = part + 1, messages = '[]' WHERE updated_at < :since AND messages <> '[]'",
        ).run({ since: nowMs() - REST_MS });
      }),
    /** Takes messages with the text out of what is kept. */
    forget: (tag: string, text: string): void => {
      if (isEmpty()) return;
      use((db) => {
        const find = db.prepare(`SELECT ${COLUMNS} FROM conversations WHERE tag = :tag`);
        for (const row of find.all({ tag }) as Row[]) {
          const part = toPart(row);
          const messages = part.messages.filter(({ content }) => !content.includes(text));
          if (messages.length < part.messages.length) save(db, tag, row.session_id, { ...part, messages });
        }
      });
    },
    erase: (tag: string): void => {
      if (!isEmpty()) use((db) => db.prepare("DELETE FROM conversations WHERE tag = :tag").run({ tag }));
    },
  };
}

function openParts(path: string): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: BUSY_MS });
  try {
    db.exec(`PRAGMA secure_delete = ON; ${SCHEMA}`);
    return db;
  } catch (cause) {
    db.close();
    throw cause;
  }
}

function toPart({ part, messages, keys }: Row): Part {
  return { number: part, messages: JSON.parse(messages), keys: JSON.parse(keys) };
}

/** How many kept messages of all containers contain the text. Changes nothing; 0 also if the file cannot be read. */
export function countKept(home: string, text: string): number {
  const path = partsPath(home);
  if (!existsSync(path)) return 0;
  try {
    using db = new DatabaseSync(path, { readOnly: true, timeout: BUSY_MS });
    const rows = db.prepare(`SELECT ${COLUMNS} FROM conversations`).all() as Row[];
    return rows.flatMap((row) => toPart(row).messages).filter(({ content }) => content.includes(text)).length;
  } catch {
    return 0; // damaged, or not ours: 'forget' with this provider names the file
  }
}
