// Finds which messages of a caller's list a chat does not have yet. Pure. The list may be the whole chat, its newest part with what
// came after it, or only what is new. Two messages are the same if they say the same: row ids, times, vendors' fields, and the
// spelling of JSON arguments do not count.
import { isHandoff } from "../context/index.ts";
import { isRecord, outsideJsonOr, pyStrip, sha256 } from "../lib/index.ts";
import { type Content, type Message, partJson, partsOf, toolCallsOf } from "../message/index.ts";
import { sanitizeContext } from "../security/index.ts";

export type AlignOptions = {
  /** One exchange: it is compared with the newest one only. Default: a list, which may be the whole chat. */
  readonly isExchange?: boolean;
  /** The caller says that it is a new exchange, even if it equals the newest one. */
  readonly isNew?: boolean;
  readonly shown?: Shown;
};

/** A stored message as the caller got it, if that is not how it is stored. */
export type Shown = (stored: Message) => Message | undefined;

export type Alignment = {
  /** Index in the caller's list: from here on the messages are new. */
  readonly fresh: number;
  /** The list and the chat have something in common. */
  readonly isAnchored: boolean;
};

export function align(
  stored: readonly Message[],
  given: readonly Message[],
  options: AlignOptions = {},
): Alignment {
  const { shown } = options;
  const overlap = overlapOf(stored, given, shown);
  if (overlap === given.length && options.isNew) return { fresh: newestTurn(given), isAnchored: true };
  if (overlap > 0) return { fresh: overlap, isAnchored: true };
  const shared = options.isExchange ? 0 : commonStart(stored, given, shown);
  if (shared === 0) return { fresh: 0, isAnchored: false };
  // An older state of the chat. A single exchange is one that was repeated: only equal to the newest one it counts as the same.
  if (shared === given.length && turnsIn(given) > 1) return { fresh: given.length, isAnchored: true };
  // The list differs inside a turn: the whole turn is stored again, because a reply alone would follow another reply.
  const fresh = turnStart(given, shared);
  return { fresh, isAnchored: fresh > 0 };
}

/** How many messages both lists begin with. */
export function commonStart(stored: readonly Message[], given: readonly Message[], shown?: Shown): number {
  let at = 0;
  while (at < stored.length && at < given.length && isSame(stored[at], given[at], shown)) at += 1;
  return at;
}

/** The longest end of the chat that the list begins with. */
function overlapOf(stored: readonly Message[], given: readonly Message[], shown?: Shown): number {
  for (let count = Math.min(stored.length, given.length); count > 0; count -= 1) {
    const from = stored.length - count;
    let at = 0;
    while (at < count && isSame(stored[from + at], given[at], shown)) at += 1;
    if (at === count) return count;
  }
  return 0;
}

/** The index of the last message of the user up to `at`; 0 if there is none. */
function turnStart(messages: readonly Message[], at: number): number {
  const from = Math.min(at, messages.length - 1);
  for (let index = from; index > 0; index -= 1) if (messages[index]?.role === "user") return index;
  return 0;
}

function newestTurn(messages: readonly Message[]): number {
  return turnStart(messages, messages.length - 1);
}

function turnsIn(messages: readonly Message[]): number {
  return messages.filter(({ role }) => role === "user").length;
}

// ---- What a message says ----

/** `stored` may be a copy that a compaction shortened: then the ids of its calls decide. */
function isSame(stored: Message | undefined, given: Message | undefined, shown?: Shown): boolean {
  if (stored === undefined || given === undefined || stored.role !== given.role) return false;
  if (haveOtherIds(stored, given)) return false;
  if (said(stored) === said(given)) return true;
  const other = shown?.(stored);
  if (other !== undefined && said(other) === said(given)) return true;
  if (stored.meta.originId === undefined || isHandoff(stored)) return false;
  const calls = callIds(stored);
  return calls !== "" && calls === callIds(given);
}

/** Ids of different kinds, such as that of an exchange and that of a model's response, cannot be compared. */
function haveOtherIds(stored: Message, given: Message): boolean {
  const [one, other] = [stored.meta.platformMessageId, given.meta.platformMessageId];
  return one !== undefined && other !== undefined && kindOf(one) === kindOf(other) && one !== other;
}

const EXCHANGE = "exchange:";
const RESPONSE = "response:";

function kindOf(id: string): string {
  return [EXCHANGE, RESPONSE].find((kind) => id.startsWith(kind)) ?? "";
}

/** The id of an exchange in the column that holds a message's id. */
export function exchangeId(id: string): string {
  return EXCHANGE + id;
}

/** The same for the id of a model's response, which tells equal replies apart. */
export function responseId(id: string): string {
  return RESPONSE + id;
}

function callIds(message: Message): string {
  return message.role === "tool"
    ? message.toolCallId
    : toolCallsOf(message)
        .map(({ id }) => id)
        .join(" ");
}

const texts = new WeakMap<Message, string>();

function said(message: Message): string {
  const known = texts.get(message);
  if (known !== undefined) return known;
  const calls = toolCallsOf(message).map(({ id, name, arguments: given }) => [id, name, canonical(given)]);
  const answers = message.role === "tool" ? message.toolCallId : "";
  const text = sha256(JSON.stringify([message.role, answers, contentKey(message), calls]));
  texts.set(message, text);
  return text;
}

function contentKey({ role, content }: Message): string {
  const pieces: string[] = [];
  let text = "";
  for (const part of partsOf(content)) {
    if (part.type === "text") text += part.text;
    else pieces.push(part.type === "image" ? dataOf(part.url) : (otherKey(part.value) ?? partJson(part)));
  }
  const plain = role === "tool" ? canonical(text) : oneSpaced(sanitizeContext(text));
  return JSON.stringify([plain, ...pieces]);
}

/** A file keeps its bytes, whatever type and name a converter gives it. */
function otherKey(value: unknown): string | undefined {
  return isRecord(value) && typeof value.data === "string" ? dataOf(value.data) : undefined;
}

function dataOf(url: string): string {
  return url.replace(/^data:[^,]*,/, "");
}

/** JSON without regard to blanks and the order of keys; other text without regard to blanks. */
function canonical(text: string): string {
  const value = outsideJsonOr(text, undefined);
  return value === undefined ? oneSpaced(text) : JSON.stringify(sorted(value));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  );
}

function oneSpaced(text: string): string {
  return pyStrip(text.replace(/\s+/g, " "));
}

/** False for a message without text, parts and calls, which is not sent to a model. */
export function saysSomething(message: Message): boolean {
  return toolCallsOf(message).length > 0 || message.role === "tool" || hasContent(message.content);
}

function hasContent(content: Content): boolean {
  return partsOf(content).some((part) => part.type !== "text" || pyStrip(part.text) !== "");
}
