// A conversation as a client sends it: its list of messages, a rolling hash over them, which messages are the user's own words, and which
// are copies of replies. Pure. Works on the parsed body of each wire; what is changed in the text is in insert.ts.
import { setImmediate as nextTurn } from "node:timers/promises";
import { isRecord, sha256 } from "@hermes-memory/core/internal/lib";
import { type Message, textOf, toolCallsOf } from "@hermes-memory/core/internal/message";
import { isClientSummary, strippedUserText } from "@hermes-memory/core/internal/security";
import type { JsonObject, ModelTurn } from "../types.ts";
import type { WireName } from "../wires/wire.ts";

/** The list of messages: `messages`, or `input` of the Responses API, where a text is one message of the user. */
export function listOf(wire: WireName, body: JsonObject): readonly JsonObject[] {
  const list = wire === "responses" ? body.input : body.messages;
  if (typeof list === "string") return [{ role: "user", content: list }];
  return Array.isArray(list) ? list.map((item) => (isRecord(item) ? item : {})) : [];
}

// ---- Hashes ----

/**
 * For each message the hash of the conversation up to it. The same conversation in a later request of the client has the same hashes: cache
 * markers, the spelling of a content (text, or one text part), and the reasoning that a client may drop from replies do not count. Nor do
 * the instructions in front: clients put the date and other changing things there.
 */
export function chainOf(wire: WireName, body: JsonObject): readonly string[] {
  const known = hashed.get(body);
  if (known !== undefined) return known;
  const steps = hashing(wire, body);
  let step = steps.next();
  while (!step.done) step = steps.next();
  hashed.set(body, step.value);
  return step.value;
}

/** A request needs its own several times. */
const hashed = new WeakMap<JsonObject, readonly string[]>();
/** Takes about 15 ms. */
const UNITS_BETWEEN_TURNS = 2_000_000;

/** For a large body: other requests are answered meanwhile, and `chainOf` has the result at hand. */
export async function hashInSteps(wire: WireName, body: JsonObject): Promise<void> {
  const steps = hashing(wire, body);
  let step = steps.next();
  for (; !step.done; step = steps.next()) await nextTurn();
  hashed.set(body, step.value);
}

function* hashing(wire: WireName, body: JsonObject): Generator<void, string[]> {
  let hash = start(wire, body);
  let isInFront = true;
  let units = 0;
  const chain: string[] = [];
  for (const message of listOf(wire, body)) {
    isInFront &&= isInstruction(message);
    for (const unit of isInFront ? [] : unitsOf(message)) {
      const text = JSON.stringify(unit);
      hash = sha256(`${hash}\n${text}`);
      units += text.length;
    }
    chain.push(hash);
    if (units < UNITS_BETWEEN_TURNS) continue;
    units = 0;
    yield;
  }
  return chain;
}

/** The hash after a reply has been added, as the client will send it back. */
function withReply(hash: string, reply: Message): string {
  const calls = toolCallsOf(reply).map(({ name, arguments: given }) => callUnit(name, given));
  return linked(hash, [...textUnits("assistant", textOf(reply.content)), ...calls]);
}

/**
 * The marks by which a request without any id finds its session, the longest first. Only prefixes that end with a reply count: first
 * messages such as "hi" are the same in many conversations. Instructions do not count: clients put the time and other changing things there.
 */
export function prefixMarks(
  wire: WireName,
  body: JsonObject,
): readonly { readonly mark: string; readonly isReply: boolean }[] {
  const list = listOf(wire, body);
  const firstReply = list.findIndex(isReply);
  if (firstReply < 0) return [];
  const chain = chainOf(wire, body);
  return list
    .map((message, at) => ({ mark: markOf(chain[at] ?? ""), isReply: isReply(message) }))
    .slice(firstReply)
    .reverse();
}

/** The mark of what was asked before the first reply. */
export function questionMark(wire: WireName, body: JsonObject): string {
  const replied = listOf(wire, body).findIndex(isReply);
  const chain = chainOf(wire, body);
  return `question:${(replied < 0 ? chain : chain.slice(0, replied)).at(-1) ?? ""}`;
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
  const isNamed = kind !== "prefix" && kind !== "previous-response";
  const before = isNamed ? undefined : chainOf(wire.name, body).at(-1);
  const prefixes = before === undefined ? [] : [markOf(before), markOf(withReply(before, told))];
  return [...prefixes, ...(wire.name === "responses" ? responseIds.map(responseMark) : [])];
}

export function responseMark(id: string): string {
  return `response:${id}`;
}

export function markOf(hash: string): string {
  return `prefix:${hash}`;
}

/** What stands before the first message. Requests that continue a stored response have only the rest of the list. */
function start(wire: WireName, body: JsonObject): string {
  const before =
    wire === "responses" ? [body.previous_response_id, body.conversation].filter((id) => id != null) : [];
  return linked("", before.length === 0 ? [] : [["after", canonical(before)]]);
}

function linked(hash: string, units: readonly unknown[]): string {
  return units.reduce<string>((before, unit) => sha256(`${before}\n${JSON.stringify(unit)}`), hash);
}

/** What counts of a message. A reply is its text and its calls, each on its own: one wire has them in one message, another in several items. */
function unitsOf(message: JsonObject): readonly unknown[] {
  const { type, content } = message;
  const role = roleOf(message);
  if (type === "reasoning") return [];
  if (isCall(message)) return [callUnit(message.name, message.arguments ?? message.input)];
  if (type !== undefined && type !== "message") return [["item", canonical(message)]];
  if (role !== "assistant") {
    const { tool_call_id: answers } = message;
    return [[role, ...(answers === undefined ? [] : [answers]), contentOf(content)]];
  }
  const calls = [
    ...(Array.isArray(message.tool_calls) ? message.tool_calls : [])
      .filter(isRecord)
      .map((call) => (isRecord(call.function) ? call.function : call)),
    ...partsOf(content).filter(({ type: kind }) => kind === "tool_use"),
  ].map((call) => callUnit(call.name, call.arguments ?? call.input));
  return [...textUnits("assistant", replyText(message)), ...calls];
}

function textUnits(role: string, text: string): readonly unknown[] {
  const bare = text.replace(/\s+/g, "");
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

function contentOf(content: unknown): readonly unknown[] {
  if (typeof content === "string") return content === "" ? [] : [["text", content]];
  if (!Array.isArray(content)) return content == null ? [] : [canonical(content)];
  return content.map((part) => {
    const text = isRecord(part) ? plainText(part) : undefined;
    return text === undefined ? canonical(part) : ["text", text];
  });
}

/** Undefined for a part that has more than text. */
function plainText(part: JsonObject): string | undefined {
  const { type, text, cache_control: _, ...rest } = part;
  const isText = type === "text" || type === "input_text" || type === "output_text";
  return isText && typeof text === "string" && Object.keys(rest).length === 0 ? text : undefined;
}

/** A copy without cache markers and with sorted keys. The depth of bodies is limited where they are parsed. */
export function canonical(value: unknown): unknown {
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
  return Array.isArray(content) ? content.filter(isRecord) : [];
}

/** The text that a client was shown of a reply. */
function replyText({ content }: JsonObject): string {
  return partsOf(content)
    .flatMap(({ type, text }) => (typeof text === "string" && type !== "thinking" ? [text] : []))
    .join("");
}

// ---- The user's own words ----

/** Codex sends these as messages of the user. Its importer leaves the same ones out. */
const OF_CODEX =
  /^(?:<(environment_context|user_instructions|INSTRUCTIONS|skill|turn_aborted|user_shell_command|subagent_notification|goal_context|recommended_plugins)>[\s\S]*<\/\1>$|# AGENTS\.md instructions)/;

/** Without what Codex says as if the user had said it. */
export function withoutCodexContext(messages: readonly Message[]): readonly Message[] {
  return messages.flatMap((message): readonly Message[] => {
    const { role, content } = message;
    if (role !== "user" || content === null) return [message];
    if (typeof content === "string") return OF_CODEX.test(content.trim()) ? [] : [message];
    const own = content.filter((part) => part.type !== "text" || !OF_CODEX.test(part.text.trim()));
    if (own.length === content.length) return [message];
    return own.length === 0 ? [] : [{ ...message, content: own }];
  });
}

/** The text that the user typed; "" if the message is a tool's result, or something that the client adds by itself. */
export function saidIn(message: JsonObject): string {
  if (roleOf(message) !== "user" || (message.type !== undefined && message.type !== "message")) return "";
  const parts = partsOf(message.content);
  if (parts.some(({ type }) => type === "tool_result")) return "";
  const texts = parts.flatMap(({ type, text }) =>
    (type === "text" || type === "input_text") && typeof text === "string" ? [text] : [],
  );
  const said = texts.map((text) => strippedUserText(text).trim());
  return said.filter((text) => text !== "" && !OF_CODEX.test(text) && !isClientSummary(text)).join("\n\n");
}

/** The message that asks for this reply: the newest one, if it is the user's. Undefined while a model works with tools. */
export function questionOf(
  list: readonly JsonObject[],
): { readonly index: number; readonly text: string } | undefined {
  const index = list.findLastIndex((message) => !isInstruction(message));
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
  /** Under which hidden tool rounds of this reply are kept. */
  readonly mark: string;
};

export function stretchesOf(
  wire: WireName,
  list: readonly JsonObject[],
  chain: readonly string[],
): readonly Stretch[] {
  const stretches: Stretch[] = [];
  for (let from = 0; from < list.length; from += 1) {
    if (!isReply(list[from] ?? {})) continue;
    let to = from + 1;
    while (wire === "responses" && to < list.length && isReply(list[to] ?? {})) to += 1;
    const items = list.slice(from, to);
    const mark = stretchMark(chain[from - 1] ?? "", items.map(replyText).join(""), items.flatMap(callIds));
    stretches.push({ from, to, mark });
    from = to - 1;
  }
  return stretches;
}

/** `before`: the hash up to the message that was answered. White space does not count, because clients join and trim texts. */
export function stretchMark(before: string, text: string, calls: readonly string[]): string {
  return `round:${sha256(JSON.stringify([before, text.replace(/\s+/g, ""), calls]))}`;
}

function callIds(message: JsonObject): readonly string[] {
  if (isCall(message)) return [String(message.call_id)];
  const calls = Array.isArray(message.tool_calls) ? message.tool_calls.filter(isRecord) : [];
  const uses = partsOf(message.content).filter(({ type }) => type === "tool_use");
  return [...calls, ...uses].map(({ id }) => String(id));
}
