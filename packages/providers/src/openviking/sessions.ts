// Conversations at OpenViking: messages are posted to a session, and a commit lets the server make memories of them. The wire has no
// idempotency key. Before messages are posted again, the session is asked for what it has, so that each arrives once.
import { isRecord } from "@hermes-memory/core/internal/lib";
import { pause } from "../kit/deadline.ts";
import { ServiceError, segment } from "../kit/http.ts";
import { type Fields, fieldsOf, numberIn, recordsOf, textIn } from "../kit/networked/answers.ts";
import { ownerOfSession } from "./places.ts";
import type { VikingServer } from "./server.ts";

export type Message = {
  readonly role: "user" | "assistant";
  readonly content: string;
  readonly peer_id?: string;
};

type Post = {
  /** The same for each repetition. */
  readonly id: string;
  readonly isRepeated: boolean;
  readonly signal: AbortSignal;
};

/** The server's limit for one post. */
export const MAX_MESSAGES = 100;
/** A post with more is divided, in UTF-16 units; one message may be longer. */
const MAX_CHARS = 2_000_000;
/** Of the messages that were not committed yet, for the check before a repetition. */
const CHECK_BYTES = 64 * 2 ** 20;
/** As the official client asks; the newest messages are within it. */
const TOKEN_BUDGET = 128_000;

/** How long a request that was cut off may still take at the server before it is looked for. */
const SETTLE_MS = 1_000;

export class VikingSessions {
  readonly #server: VikingServer;
  readonly #settleMs: number;
  /** Sessions that this process has posted to. */
  readonly #posted = new Set<string>();
  /** How many messages a session had after our last post, if that succeeded. */
  readonly #counts = new Map<string, number>();
  /** How many it had before the post under way, which may have been cut off. */
  readonly #before = new Map<string, { readonly postId: string; readonly count: number | undefined }>();
  /** The server has answered single posts and no batches. */
  #hasNoBatch = false;

  constructor(server: VikingServer, settleMs = SETTLE_MS) {
    this.#server = server;
    this.#settleMs = settleMs;
  }

  /** Whether this process has posted to the session, so that the server knows it. */
  isKnown(sessionId: string): boolean {
    return this.#posted.has(sessionId);
  }

  /** Posts messages in order. `isRepeated`: an earlier call with the same id and messages may have reached the server. */
  async post(sessionId: string, messages: readonly Message[], post: Post): Promise<void> {
    if (!post.isRepeated)
      this.#before.set(sessionId, { postId: post.id, count: this.#counts.get(sessionId) });
    this.#counts.delete(sessionId); // unknown until this post has succeeded
    const arrived = post.isRepeated ? await this.#settled(sessionId, messages, post) : 0;
    let count: number | undefined;
    for (const part of inParts(messages.slice(arrived)))
      count = await this.#postPart(sessionId, part, post.signal);
    if (count !== undefined) this.#counts.set(sessionId, count);
    this.#before.delete(sessionId);
    this.#posted.add(sessionId);
  }

  /** The number of messages that the session has now. */
  async #postPart(
    sessionId: string,
    messages: readonly Message[],
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const send = async (path: string, json: unknown) =>
      numberIn((await this.#server.record({ method: "POST", path, json, signal })).message_count);
    const { wire } = await this.#server.info();
    const path = `${pathOf(sessionId)}/messages`;
    if (wire !== "0.3" && !this.#hasNoBatch) {
      try {
        return await send(`${path}/batch`, { messages });
      } catch (cause) {
        if (!(cause instanceof ServiceError) || cause.failure.kind !== "not-found") throw cause;
      }
    }
    let count: number | undefined;
    for (const message of messages) count = await send(path, message);
    this.#hasNoBatch = true;
    return count;
  }

  /** Gives a request of a killed process, or one that was cut off, the time to be handled; then looks twice, the second time right before more is sent. */
  async #settled(sessionId: string, messages: readonly Message[], post: Post): Promise<number> {
    await this.#server.info(); // nobody waits for a server that is off
    await pause(this.#settleMs, post.signal);
    const arrived = await this.#arrived(sessionId, messages, post);
    return arrived === messages.length ? arrived : await this.#arrived(sessionId, messages, post);
  }

  /** How many of the messages, from the first on, the session has already. */
  async #arrived(sessionId: string, messages: readonly Message[], post: Post): Promise<number> {
    const before = this.#before.get(sessionId);
    if (before?.postId === post.id && before.count !== undefined) {
      const call = { method: "GET", path: pathOf(sessionId), signal: post.signal } as const;
      const found = await this.#server.find(call);
      if (found === undefined) return 0; // the session does not exist
      const count = numberIn(fieldsOf(found).message_count);
      if (count !== undefined && count >= before.count)
        return Math.min(count - before.count, messages.length);
    }
    // The number before is not known, for instance in a new process: the last messages there are compared with these.
    const there = await this.#openMessages(sessionId, post.signal);
    return overlap(there.map(comparable), messages.map(comparable));
  }

  /** Those that were not committed yet, oldest first. */
  async #openMessages(sessionId: string, signal: AbortSignal): Promise<readonly Fields[]> {
    const call = {
      method: "GET",
      path: `${pathOf(sessionId)}/context`,
      query: { token_budget: TOKEN_BUDGET },
      maxBytes: CHECK_BYTES,
      signal,
    } as const;
    return await this.#server.list(call, "messages");
  }

  /** The server makes memories of what was posted since the last commit. Nothing to do for a session that does not exist. */
  async commit(sessionId: string, signal: AbortSignal): Promise<void> {
    const path = `${pathOf(sessionId)}/commit`;
    // A second commit is answered with `skipped`.
    const call = { method: "POST", path, json: {}, isRepeatable: true, signal } as const;
    const answer = await this.#server.find(call);
    if (answer !== undefined && !isRecord(answer)) throw this.#server.foreign(call);
    this.#counts.delete(sessionId); // what was committed no longer counts
  }

  /** Those of the user, and how many more there are that may be anyone's: some servers keep sessions for the whole account. */
  async list(signal: AbortSignal): Promise<{ readonly ids: readonly string[]; readonly unclear: number }> {
    const { user } = await this.#server.info();
    const list = await this.#server.list({ method: "GET", path: "/api/v1/sessions", signal });
    const owned = (owner: string | undefined) =>
      list
        .filter(({ uri }) => ownerOfSession(textIn(uri)) === owner)
        .map(({ session_id }) => textIn(session_id));
    return { ids: owned(user).filter((id) => id !== ""), unclear: owned(undefined).length };
  }

  /** The texts of messages that were not committed yet. */
  async openTexts(sessionId: string, signal: AbortSignal): Promise<readonly string[]> {
    return (await this.#openMessages(sessionId, signal)).map(textOf);
  }

  async remove(sessionId: string, signal: AbortSignal): Promise<void> {
    await this.#server.find({ method: "DELETE", path: pathOf(sessionId), isRepeatable: true, signal });
    this.#counts.delete(sessionId);
  }
}

function pathOf(sessionId: string): string {
  return `/api/v1/sessions/${segment(sessionId)}`;
}

/** At most 100 messages and about 2 million characters in each. */
export function inParts(messages: readonly Message[]): readonly (readonly Message[])[] {
  const parts: Message[][] = [];
  let chars = 0;
  for (const message of messages) {
    const last = parts.at(-1);
    const isFull =
      last === undefined || last.length >= MAX_MESSAGES || chars + message.content.length > MAX_CHARS;
    if (isFull) {
      parts.push([message]);
      chars = 0;
    } else last.push(message);
    chars += message.content.length;
  }
  return parts;
}

/** The longest beginning of `wanted` that `there` ends with. */
export function overlap(there: readonly string[], wanted: readonly string[]): number {
  for (let count = Math.min(there.length, wanted.length); count > 0; count -= 1) {
    const tail = there.slice(there.length - count);
    if (tail.every((text, index) => text === wanted[index])) return count;
  }
  return 0;
}

function comparable(message: Fields): string {
  return `${textIn(message.role)}\n${textOf(message).trim()}`;
}

function textOf({ content, parts }: Fields): string {
  if (typeof content === "string") return content;
  return recordsOf(parts)
    .map(({ text }) => textIn(text))
    .join("\n");
}
