// Chats of a messenger: the words of several people, cut into sessions of one day or one thread.
import type { Draft, Said } from "../declare.ts";
import type { Reading, ReadOptions, SessionFacts } from "../reader.ts";

export type Chat = {
  readonly id: string;
  readonly name: string;
  /** The whole chat is one thread, so it is one session. */
  readonly isThread?: boolean;
};

export type ChatMessage = {
  readonly id: string;
  /** Seconds since 1970. */
  readonly at: number | undefined;
  /** The export holds only what its owner wrote. */
  readonly isMine?: true;
  /** The author's id, and other ways of writing it. */
  readonly authorIds: readonly string[];
  readonly author: string;
  readonly text: string;
  readonly thread?: string | undefined;
  readonly line: number;
  readonly path: string | undefined;
};

export const MESSENGER = { evidence: "P", isExperimental: true, isMessenger: true } as const;

/** The chat, if the user wants it; without a choice, every one is wanted. */
export async function* chatIfChosen(
  chat: Chat,
  messages: AsyncIterable<ChatMessage>,
  reading: Reading,
): AsyncGenerator<Said> {
  const chosen = reading.options.chat;
  if (chosen === undefined || chosen === chat.id || chosen === chat.name)
    return yield* chatEvents(chat, messages, reading);
  // For the report, so that a chat whose name was misspelt does not look like an empty export.
  yield { nativeId: chat.id };
  yield { kind: "skip", reason: "another chat", keepsStored: true };
  yield { kind: "end" };
}

/**
 * The messages of one chat, which come in the order of their times. All sessions are hidden: most words in them are of other people, who
 * are named in the text (`Ana: see you`).
 */
async function* chatEvents(
  chat: Chat,
  messages: AsyncIterable<ChatMessage>,
  reading: Reading,
): AsyncGenerator<Said> {
  /** Threads, and the current day. */
  const open = new Map<string, SessionFacts>();
  const ended = new Set<string>();
  let day: string | undefined;
  let current: string | undefined;
  for await (const message of messages) {
    if (message.at === undefined) {
      reading.malformed(message.line, "a message without time");
      continue;
    }
    if (message.text.trim() === "") continue;
    const facts = sessionOf(chat, message, message.at);
    const { nativeId } = facts;
    if (ended.has(nativeId)) {
      reading.malformed(message.line, "a message out of the order of time");
      continue;
    }
    if (message.thread === undefined && chat.isThread !== true) {
      if (day !== undefined && day !== nativeId) {
        yield* ending(day);
        ended.add(day);
        open.delete(day);
      }
      day = nativeId;
    }
    if (!open.has(nativeId)) open.set(nativeId, facts);
    if (current !== nativeId) yield open.get(nativeId) ?? facts;
    current = nativeId;
    yield spoken(message, reading.options);
  }
  for (const nativeId of open.keys()) yield* ending(nativeId);
}

function* ending(nativeId: string): Generator<Said> {
  yield { nativeId };
  yield { kind: "end" };
}

function sessionOf(chat: Chat, { thread, text }: ChatMessage, at: number): SessionFacts {
  const date = dayOf(at);
  const title = thread === undefined ? `${chat.name} ${date}` : `${chat.name}: ${text.slice(0, 60)}`;
  if (chat.isThread === true) return { nativeId: chat.id, title: chat.name, visibility: "hidden" };
  return { nativeId: `${chat.id}-${thread ?? date}`, title, visibility: "hidden" };
}

/** The day in UTC, so that an import elsewhere gives the same sessions. A time beyond what dates can hold counts as the first day. */
function dayOf(at: number): string {
  const date = new Date(at * 1000);
  return (Number.isNaN(date.getTime()) ? new Date(0) : date).toISOString().slice(0, 10);
}

function spoken(message: ChatMessage, { me, assistant }: ReadOptions): Draft {
  const { id, at, isMine, authorIds, author, text, line, path } = message;
  const shared = { id, at, line, path };
  const isBy = (who: string | undefined): boolean =>
    who !== undefined && (authorIds.includes(who) || author === who);
  if (isMine === true || isBy(me)) return { ...shared, role: "user", text };
  if (isBy(assistant)) return { ...shared, role: "assistant", text };
  return { ...shared, role: "user", text: `${author}: ${text}` };
}
