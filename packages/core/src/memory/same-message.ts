// Whether two messages say the same: row ids, times, vendors' fields, blanks, the spelling of JSON arguments, and what client programs add
// to the words of the user do not count. Pure.
import { isCutOf, isHandoff, withoutMedia, withShortCalls } from "../context/index.ts";
import { isRecord, outsideJsonOr, pyStrip, sha256 } from "../lib/index.ts";
import { type Content, type Message, partJson, partsOf, textOf, toolCallsOf } from "../message/index.ts";
import { sanitizeContext, strippedUserText } from "../security/index.ts";

/** A stored message as the caller got it, if that is not how it is stored. */
export type Shown = (stored: Message) => Message | undefined;

/** `stored` may be a copy that a compaction shortened: then the ids of its calls decide. So does the id of a result's call. */
export function isSame(stored: Message | undefined, given: Message | undefined, shown?: Shown): boolean {
  if (stored === undefined || given === undefined || stored.role !== given.role) return false;
  if (stored.role === "tool" && given.role === "tool" && stored.toolCallId !== "")
    return halfOf(stored.toolCallId) === halfOf(given.toolCallId);
  if (haveOtherIds(stored, given)) return false;
  if (areEqualTexts(stored, given) || said(stored) === said(given)) return true;
  const other = shown?.(stored);
  if (other !== undefined && said(other) === said(given)) return true;
  if (isShortened(stored, given)) return true;
  if (stored.meta.originId === undefined || isHandoff(stored)) return false;
  const calls = callIds(stored);
  return calls !== "" && calls === callIds(given);
}

/** Most messages are plain texts, and long lists are compared again and again. */
function areEqualTexts(stored: Message, given: Message): boolean {
  if (typeof stored.content !== "string" || stored.content !== given.content || stored.role === "tool")
    return false;
  return toolCallsOf(stored).length === 0 && toolCallsOf(given).length === 0;
}

/** Some APIs join two ids: `call_1|fc_1`. */
export function halfOf(id: string): string {
  return id.split("|")[0] ?? id;
}

/** In every note that `isCutOf` knows; looked for first, because most messages are whole. */
const CUT = "characters are left out here";

const cuts = new WeakMap<Message, boolean>();

/** Kept, as `said`. */
function isCut(message: Message): boolean {
  const known = cuts.get(message) ?? textOf(message.content).includes(CUT);
  cuts.set(message, known);
  return known;
}

/** `given` is `stored` as `context` shortened it. */
function isShortened(stored: Message, given: Message): boolean {
  const ids = callIds(stored);
  if (ids !== callIds(given)) return false;
  if (ids === "" && typeof stored.content === "string" && !isCut(given)) return false;
  const areCalls = (one: Message): boolean => callsKey(one) === callsKey(given);
  if (!areCalls(stored) && !areCalls(withShortCalls(stored))) return false;
  if (contentKey(stored) === contentKey(given)) return true;
  if (typeof stored.content !== "string" && contentKey(withoutMedia(stored)) === contentKey(given))
    return true;
  const [whole, cut] = [stored, given].map(({ content }) => pyStrip(sanitizeContext(textOf(content))));
  return isCutOf(cut ?? "", whole ?? "");
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

export function said(message: Message): string {
  const known = texts.get(message);
  if (known !== undefined) return known;
  const answers = message.role === "tool" ? message.toolCallId : "";
  const text = sha256(JSON.stringify([message.role, answers, contentKey(message), callsKey(message)]));
  texts.set(message, text);
  return text;
}

/**
 * Some clients rewrite the ids of calls. A call whose id is not stored, of the same question, name and arguments as a stored one whose id
 * is not in the list, is that one, unless it has another result. It gets the stored id, and so does its result.
 */
export function withStoredIds(stored: readonly Message[], given: readonly Message[]): readonly Message[] {
  const known = new Set(stored.flatMap(toolCallsOf).map(({ id }) => halfOf(id)));
  const shown = new Set(given.flatMap(toolCallsOf).map(({ id }) => halfOf(id)));
  if ([...shown].every((id) => known.has(id))) return given;
  const free = Map.groupBy(
    callsIn(stored).filter(({ id }) => !shown.has(halfOf(id))),
    ({ key }) => key,
  );
  const renamed = new Map<string, string>();
  for (const { id, key, result } of callsIn(given)) {
    if (known.has(halfOf(id))) continue;
    const [same] = free.get(key) ?? [];
    if (same === undefined || ![undefined, result].includes(same.result)) continue;
    free.get(key)?.shift();
    renamed.set(id, same.id);
  }
  const idOf = (id: string): string => renamed.get(id) ?? id;
  return given.map((message) => {
    if (message.role === "tool") return { ...message, toolCallId: idOf(message.toolCallId) };
    const calls = toolCallsOf(message);
    if (message.role !== "assistant" || calls.length === 0) return message;
    return { ...message, toolCalls: calls.map((call) => ({ ...call, id: idOf(call.id) })) };
  });
}

type Call = { readonly id: string; readonly key: string; readonly result: string | undefined };

function callsIn(list: readonly Message[]): readonly Call[] {
  const results = new Map<string, string>();
  for (const message of list)
    if (message.role === "tool") results.set(message.toolCallId, contentKey(message));
  let question = "";
  return list.flatMap((message) => {
    if (message.role === "user") question = said(message);
    return toolCallsOf(message).map(({ id, name, arguments: given }) => ({
      id,
      key: JSON.stringify([question, name, canonical(given)]),
      result: results.get(id),
    }));
  });
}

function callsKey(message: Message): string {
  return JSON.stringify(
    toolCallsOf(message).map(({ id, name, arguments: given }) => [id, name, canonical(given)]),
  );
}

function contentKey({ role, content }: Message): string {
  const pieces: string[] = [];
  let text = "";
  for (const part of partsOf(content)) {
    if (part.type === "text") text += part.text;
    else pieces.push(part.type === "image" ? dataOf(part.url) : (otherKey(part.value) ?? partJson(part)));
  }
  const own = role === "user" ? strippedUserText(text) : text;
  const plain = role === "tool" ? canonical(text) : oneSpaced(sanitizeContext(own));
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

/** Longer texts are compared as they are: replacing millions of blanks would stop everybody else for seconds. */
export const FOLDED_CHARS = 200_000;

function oneSpaced(text: string): string {
  return pyStrip(text.length > FOLDED_CHARS ? text : text.replace(/\s+/g, " "));
}

/** False for a message without text, parts and calls, which is not sent to a model. */
export function saysSomething(message: Message): boolean {
  return toolCallsOf(message).length > 0 || message.role === "tool" || hasContent(message.content);
}

function hasContent(content: Content): boolean {
  return partsOf(content).some((part) => part.type !== "text" || pyStrip(part.text) !== "");
}
