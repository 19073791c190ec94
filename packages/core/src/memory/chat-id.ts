// The session that stores a chat. A chat id is any text of the caller; the session's id is made of it and of the user, so that two
// users may use the same chat id. Reversible, except for long ids, which are hashed. Pure, except for finding the sessions of a chat.
import { userScopeName } from "../home.ts";
import { HermesError, sha256 } from "../lib/index.ts";
import type { SessionRow, SessionStore } from "../sessions/index.ts";
import type { MemoryUser, Person } from "./types.ts";

/** Session ids also name files, and file names have at most 255 bytes. */
const MAX_SESSION_ID_CHARS = 200;
const MAX_CHAT_ID_CHARS = 4_096;
/** What stands for a long chat id. A chat id that looks like it is hashed too, so that no two ids share a session. */
const HASHED = /^~[0-9a-f]{64}$/;

/** The session of a chat: its first one, which compactions continue. Throws `bad-chat-id`. */
export function chatSessionId(user: MemoryUser | undefined, chatId: string): string {
  if (typeof chatId !== "string") throw badChatId(`is of type ${chatId === null ? "null" : typeof chatId}`);
  if (chatId === "") throw badChatId("is empty");
  if (!chatId.isWellFormed()) throw badChatId("contains half of a surrogate pair");
  if (chatId.length > MAX_CHAT_ID_CHARS)
    throw badChatId(`has ${chatId.length} characters, and ${MAX_CHAT_ID_CHARS} is the most`);
  const prefix = prefixOf(user);
  const id = prefix + encoded(chatId);
  return id.length > MAX_SESSION_ID_CHARS || HASHED.test(chatId) ? `${prefix}~${sha256(chatId)}` : id;
}

/** The session in which the chat goes on; undefined if there is no such chat. Throws `bad-chat-id`. */
export async function findChat(
  store: SessionStore,
  person: Person,
  chatId: string,
): Promise<SessionRow | undefined> {
  for (const id of [chatSessionId(person.user, chatId), chatId]) {
    const newest = await store.getNewestSession(id);
    if (newest !== null) return newest;
  }
  return undefined;
}

/** The chat that a session stores. A session that was not made for a chat, or for one with a long id, is named by its own id. */
export function chatIdOf(user: MemoryUser | undefined, sessionId: string): string {
  const prefix = prefixOf(user);
  if (!sessionId.startsWith(prefix)) return sessionId;
  const chatId = decoded(sessionId.slice(prefix.length));
  return chatId !== undefined && chatSessionId(user, chatId) === sessionId ? chatId : sessionId;
}

/** The same for a session that may continue another one after a compaction. `store`: the person's. */
export async function chatIdOfSession(
  store: SessionStore,
  user: MemoryUser | undefined,
  sessionId: string,
): Promise<string> {
  const [root = sessionId] = await store.listContinued(sessionId);
  return chatIdOf(user, root);
}

function prefixOf(user: MemoryUser | undefined): string {
  return user === undefined ? "chat." : `chat.${userScopeName(user.platform, user.userId)}.`;
}

/** Without a dot, so that the parts of the id stay apart. */
function encoded(chatId: string): string {
  return encodeURIComponent(chatId).replace(
    /[.!*'()]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function decoded(text: string): string | undefined {
  try {
    return text === "" ? undefined : decodeURIComponent(text);
  } catch {
    return undefined; // not written by `encoded`
  }
}

function badChatId(what: string): HermesError {
  return new HermesError("bad-chat-id", `This cannot be the id of a chat: it ${what}.`, {
    hint: "Pass a text of your own that names the conversation, such as the id of its row or page.",
  });
}
