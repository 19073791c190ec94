// A conversation as a client sends it: its list of messages, a rolling hash over them, which messages are the user's own words, and which
// are copies of replies. Pure. Works on the parsed body of each wire; what is changed in the text is in insert.ts.
import { isRecord, sha256 } from "@hermes-memory/core/internal/lib";
import { type Message, textOf, toolCallsOf } from "@hermes-memory/core/internal/message";
import { isClientSummary, strippedUserText, summaryBodies } from "@hermes-memory/core/internal/security";
import type { GatewayProblem, JsonObject, ModelTurn } from "../types.ts";
import { listOf as itemsIn, recordOf, recordsIn } from "../wires/fields.ts";
import type { WireName } from "../wires/wire.ts";

/** The list of messages: `messages`, or `input` of the Responses API, where a text is one message of the user. */
export function listOf(wire: WireName, body: JsonObject): readonly JsonObject[] {
  const list = wire === "responses" ? body.input : body.messages;
  if (typeof list === "string") return [{ role: "user", content: list }];
  return itemsIn(list).map(recordOf);
}

// ---- Hashes ----

type Sent = {
  readonly message: JsonObject;
  readonly isReply: boolean;
  /** Of the conversation up to it. */
  readonly hash: string;
  /** As 0.3.0 and before hashed, with what clients add and ids of results: their marks are still found. */
  readonly former: string;
};

/** A request asks for its own several times. */
const sent = new WeakMap<JsonObject, readonly Sent[]>();

/**
 * The list with the hash of the conversation up to each message. The same conversation in a later request of the client has the same hashes: cache
 * markers, the spelling of a content (text, or one text part), ids of calls, and the reasoning that a client may drop from replies do not
 * count. Nor does what the client adds to the words of the user, and the instructions in front: it puts the date and other changing
 * things there.
 */
export function sentIn(wire: WireName, body: JsonObject): readonly Sent[] {
  const known = sent.get(body);
  if (known !== undefined) return known;
  let hash = start(wire, body);
  let former = hash;
  let isInFront = true;
  const list = listOf(wire, body).map((message): Sent => {
    const isTold = isReply(message);
    isInFront &&= isInstruction(message);
    if (!isInFront) {
      const texts = unitsOf(message).map((unit) => JSON.stringify(unit));
      const before = isTold ? texts : formerUnits(message).map((unit) => JSON.stringify(unit));
      const isSame =
        former === hash && before.length === texts.length && before.every((unit, at) => unit === texts[at]);
      hash = linked(hash, texts);
      former = isSame ? hash : linked(former, before);
    }
    return { message, isReply: isTold, hash, former };
  });
  sent.set(body, list);
  return list;
}

/** Up to the end of the list. */
function endOf(wire: WireName, body: JsonObject): string {
  return sentIn(wire, body).at(-1)?.hash ?? "";
}

/** The hash after a reply has been added, as the client will send it back. */
function withReply(hash: string, reply: Message): string {
  const units = [...textUnits("assistant", textOf(reply.content)), ...toldCalls(reply)];
  return linked(
    hash,
    units.map((unit) => JSON.stringify(unit)),
  );
}

/**
 * The marks by which a request without any id finds its session, the longest first. Only prefixes that end with a reply count: first
 * messages such as "hi" are the same in many conversations. Instructions do not count: clients put the time and other changing things there.
 */
export function prefixMarks(
  wire: WireName,
  body: JsonObject,
): readonly { readonly mark: string; readonly isReply: boolean }[] {
  const list = sentIn(wire, body);
  const firstReply = list.findIndex((each) => each.isReply);
  if (firstReply < 0) return [];
  const told = list.slice(firstReply).reverse();
  return [
    ...told.map(({ hash, isReply: isTold }) => ({ mark: markOf(hash), isReply: isTold })),
    ...told.flatMap(({ hash, former }) =>
      former === hash ? [] : [{ mark: markOf(former), isReply: false }],
    ),
  ];
}

/** The messages of the user, and the marks under which recall of each is kept: the first one of new ones. */
export function placesOf(
  wire: WireName,
  body: JsonObject,
): readonly { readonly index: number; readonly marks: readonly string[] }[] {
  return sentIn(wire, body).flatMap(({ message, hash, former }, index) => {
    if (!mayBeSaid(message)) return [];
    return [{ index, marks: former === hash ? [markOf(hash)] : [markOf(hash), markOf(former)] }];
  });
}

/** The mark of what was asked before the first reply. */
export function questionMark(wire: WireName, body: JsonObject): string {
  const list = sentIn(wire, body);
  const replied = list.findIndex((each) => each.isReply);
  return `question:${(replied < 0 ? list : list.slice(0, replied)).at(-1)?.hash ?? ""}`;
}

/**
 * The marks of a reply that was just stored: where a later request goes on, if nothing else names the conversation, and on the Responses API
 * the ids of responses and items that it may name.
 */
export function replyMarks(
  { wire, body, identity }: Pick<ModelTurn, "wire" | "body" | "identity">,
  told: Message,
  responseIds: readonly string[],
): readonly string[] {
  const { kind } = identity.session;
  const before = endOf(wire.name, body);
  const isUnnamed = kind === "prefix" || kind === "previous-response";
  const prefixes = isUnnamed ? [markOf(before), markOf(withReply(before, told))] : [];
  if (isUnnamed) prefixes.push(turnMark(lastSaid(listOf(wire.name, body)), textOf(told.content)));
  if (mayFork(identity)) prefixes.push(forkMark(markOf(withReply(before, told))));
  return [...prefixes, ...(wire.name === "responses" ? responseIds.map(responseMark) : [])];
}

/** Of the reply to a request for a summary, and of the message that the client makes of it. */
export function summaryMarks(text: string): readonly string[] {
  return summaryBodies(text).map((body) => `summary:${sha256(spaceless(body))}`);
}

/**
 * By which a client that has compacted its list, and names no session, finds its chat: by the summary in front, or by the newest replies
 * that it has kept. None for other lists.
 */
export function compactedMarks(wire: WireName, body: JsonObject): readonly string[] {
  const list = listOf(wire, body).filter((message) => !isInstruction(message));
  const summary = partsOf(list[0]?.content)
    .map((part) => plainText(part) ?? "")
    .find(isClientSummary);
  if (summary === undefined) return [];
  const kept = list.flatMap((message, at) => (isReply(message) ? [{ message, at }] : []));
  const turns = kept
    .reverse()
    .slice(0, MOST_KEPT)
    .map(({ message, at }) => turnMark(lastSaid(list.slice(0, at)), replyText(message)));
  return [...summaryMarks(summary), ...turns];
}

const MOST_KEPT = 8;

/** A question and its reply, wherever in a conversation. */
function turnMark(question: string, reply: string): string {
  return `turn:${sha256(JSON.stringify([question, reply].map(spaceless)))}`;
}

function lastSaid(list: readonly JsonObject[]): string {
  return saidIn(list.findLast((message) => saidIn(message) !== "") ?? {});
}

/** `claude --fork-session` goes on under another id. The marks of the replies that its list has, the newest first. */
export function forkMarks({ wire, body, identity }: Pick<ModelTurn, "wire" | "body" | "identity">): string[] {
  const marks = mayFork(identity) ? prefixMarks(wire.name, body) : [];
  return marks.flatMap(({ mark, isReply }) => (isReply ? [forkMark(mark)] : []));
}

function mayFork({ session }: ModelTurn["identity"]): boolean {
  return session.kind === "claude-code" && session.parentChatId === undefined;
}

/** Another text than `prefix:`: a client without ids must not go on in a chat that has one. */
function forkMark(mark: string): string {
  return `fork:${mark}`;
}

export function responseMark(id: string): string {
  return `response:${id}`;
}

/** Whoever else may know it. */
export const UNKNOWN_RESPONSE: GatewayProblem = {
  status: 404,
  code: "previous_response_not_found",
  message: "This gateway gave this user no response with the id in 'previous_response_id'.",
  hint: "Send the whole conversation in 'input', or the id of a response that this user got from this gateway.",
  param: "previous_response_id",
};

function markOf(hash: string): string {
  return `prefix:${hash}`;
}

/** What stands before the first message. Requests that continue a stored response have only the rest of the list. */
function start(wire: WireName, body: JsonObject): string {
  const before =
    wire === "responses" ? [body.previous_response_id, body.conversation].filter((id) => id != null) : [];
  return linked("", before.length === 0 ? [] : [JSON.stringify(["after", canonical(before)])]);
}

function linked(hash: string, units: readonly string[]): string {
  return units.reduce((before, unit) => sha256(`${before}\n${unit}`), hash);
}

/** What counts of a message. A reply is its text and its calls, each on its own: one wire has them in one message, another in several items. */
function unitsOf(message: JsonObject): readonly unknown[] {
  const { type, content } = message;
  if (isReply(message)) return replyUnits(message);
  const role = roleOf(message);
  if (type !== undefined && type !== "message")
    return [
      ["item", canonical(role === "tool" ? { ...message, id: undefined, call_id: undefined } : message)],
    ];
  if (role !== "user") return [[role, contentOf(content)]];
  const own = contentOf(withoutResultIds(content), strippedUserText);
  return own.length === 0 && contentOf(content).length > 0 ? [] : [[role, own]];
}

function withoutResultIds(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  return content.map((part) =>
    isRecord(part) && part.type === "tool_result" ? { ...part, tool_use_id: undefined } : part,
  );
}

function formerUnits(message: JsonObject): readonly unknown[] {
  const { type, content, tool_call_id: answers } = message;
  if (type !== undefined && type !== "message") return [["item", canonical(message)]];
  return [[roleOf(message), ...(answers === undefined ? [] : [answers]), contentOf(content)]];
}

function replyUnits(message: JsonObject): readonly unknown[] {
  const { type } = message;
  if (type === "reasoning") return [];
  if (!isCall(message) && type !== undefined && type !== "message") return [["item", canonical(message)]];
  return [...textUnits("assistant", replyText(message)), ...callsOf(message)];
}

function callsOf(message: JsonObject): readonly unknown[] {
  return callsIn(message).map((call) => {
    const { name, arguments: given, input } = isRecord(call.function) ? call.function : call;
    return callUnit(name, given ?? input);
  });
}

/** On any wire. */
function callsIn(message: JsonObject): readonly JsonObject[] {
  if (isCall(message)) return [message];
  return [
    ...recordsIn(message.tool_calls),
    ...partsOf(message.content).filter(({ type }) => type === "tool_use"),
  ];
}

function toldCalls(reply: Message): readonly unknown[] {
  return toolCallsOf(reply).map(({ name, arguments: given }) => callUnit(name, given));
}

/** Clients join and trim texts. */
export function spaceless(text: string): string {
  return text.replace(/\s+/g, "");
}

function textUnits(role: string, text: string): readonly unknown[] {
  const bare = spaceless(text);
  return bare === "" ? [] : [[role, bare]];
}

function callUnit(name: unknown, given: unknown): unknown {
  return ["call", name, canonical(typeof given === "string" ? parsedOr(given) : given)];
}

function parsedOr(text: string): unknown {
  try {
    return JSON.parse(text === "" ? "{}" : text);
  } catch {
    return text;
  }
}

/** `read`: what counts of a text. */
function contentOf(content: unknown, read = (text: string): string => text): readonly unknown[] {
  if (typeof content === "string") return textParts(read(content));
  if (!Array.isArray(content)) return content == null ? [] : [canonical(content)];
  return content.flatMap((part) => {
    const text = isRecord(part) ? plainText(part) : undefined;
    if (text === undefined) return [canonical(part)];
    return text === "" ? [["text", ""]] : textParts(read(text));
  });
}

function textParts(text: string): readonly unknown[] {
  return text === "" ? [] : [["text", text]];
}

/** Undefined for a part that has more than text. */
function plainText(part: JsonObject): string | undefined {
  const { type, text, cache_control: _, ...rest } = part;
  const isText = type === "text" || type === "input_text" || type === "output_text";
  return isText && typeof text === "string" && Object.keys(rest).length === 0 ? text : undefined;
}

/** A copy without cache markers and with sorted keys. The depth of bodies is limited where they are parsed. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (!isRecord(value)) return value;
  const keys = Object.keys(value).filter((key) => key !== "cache_control" && value[key] !== undefined);
  return keys.sort().map((key) => [key, canonical(value[key])]);
}

// ---- Roles ----

function roleOf({ role, type }: JsonObject): string {
  if (typeof role === "string") return role;
  return typeof type === "string" && /_output$/.test(type) ? "tool" : "assistant";
}

function isCall({ type }: JsonObject): boolean {
  return type === "function_call" || type === "custom_tool_call";
}

export function isInstruction(message: JsonObject): boolean {
  const role = roleOf(message);
  return role === "system" || role === "developer";
}

/** Something that a model wrote: a reply, or an item of one. */
export function isReply(message: JsonObject): boolean {
  return roleOf(message) === "assistant" && message.type !== "item_reference";
}

export function partsOf(content: unknown): readonly JsonObject[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return recordsIn(content);
}

/** The text that a client was shown of a reply. */
function replyText({ content }: JsonObject): string {
  return partsOf(content)
    .flatMap(({ type, text }) => (typeof text === "string" && type !== "thinking" ? [text] : []))
    .join("");
}

// ---- The user's own words ----

/** The text that the user typed; "" if the message is a tool's result, or something that the client adds by itself. */
export function saidIn(message: JsonObject): string {
  if (!mayBeSaid(message)) return "";
  const texts = partsOf(message.content).flatMap(({ type, text }) =>
    (type === "text" || type === "input_text") && typeof text === "string" ? [text] : [],
  );
  const said = texts.map((text) => strippedUserText(text).trim());
  return said.filter((text) => text !== "" && !isClientSummary(text)).join("\n\n");
}

/** By the user, and no result of a tool. */
function mayBeSaid(message: JsonObject): boolean {
  const isMessage = message.type === undefined || message.type === "message";
  if (roleOf(message) !== "user" || !isMessage) return false;
  return !partsOf(message.content).some(({ type }) => type === "tool_result");
}

/**
 * The message that asks for this reply: the newest one, if it is the user's. Undefined while a model works with tools. A client may put
 * messages of its own behind it.
 */
export function questionOf(
  list: readonly JsonObject[],
): { readonly index: number; readonly text: string } | undefined {
  const index = list.findLastIndex((message) => !isInstruction(message) && unitsOf(message).length > 0);
  const message = list[index];
  const text = message === undefined ? "" : saidIn(message);
  return text === "" ? undefined : { index, text };
}

// ---- Copies of replies ----

/** A reply in the client's list: one message, or of the Responses API all items between two messages of others. */
export type Stretch = {
  readonly from: number;
  /** Behind the last one. */
  readonly to: number;
  /** Under which hidden tool rounds of this reply are kept; the second one by 0.3.0 and before. */
  readonly marks: readonly string[];
};

export function stretchesOf(wire: WireName, body: JsonObject): readonly Stretch[] {
  const list = sentIn(wire, body);
  const stretches: Stretch[] = [];
  for (let from = 0; from < list.length; from += 1) {
    if (!list[from]?.isReply) continue;
    let to = from + 1;
    while (wire === "responses" && list[to]?.isReply) to += 1;
    const items = list.slice(from, to).map(({ message }) => message);
    const text = items.map(replyText).join("");
    const { hash = "", former = "" } = list[from - 1] ?? {};
    const marks = [stretchMark(hash, text, items.flatMap(callsOf))];
    const ids = items.flatMap(callIds);
    if (former !== hash || ids.length > 0) marks.push(stretchMark(former, text, ids));
    stretches.push({ from, to, marks });
    from = to - 1;
  }
  return stretches;
}

/** `before`: the hash up to the message that was answered. White space does not count, because clients join and trim texts. */
function stretchMark(before: string, text: string, calls: readonly unknown[]): string {
  return `round:${sha256(JSON.stringify([before, spaceless(text), calls]))}`;
}

/** The mark for the hidden rounds of a reply that was just told: behind the request, as the client will send it back. */
export function roundMark(wire: WireName, body: JsonObject, told: Message): string {
  return stretchMark(endOf(wire, body), textOf(told.content), toldCalls(told));
}

export function callIds(message: JsonObject): readonly string[] {
  return callsIn(message).map((call) => String(isCall(message) ? call.call_id : call.id));
}
