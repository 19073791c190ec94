// What a proxied request says besides the client's own words, and where: the frozen memory block, recall at its messages, our tools, and
// the hidden tool rounds. Pure. The client's text is changed at these places only; everything else stays as it was written, byte for byte.

import { HOOK_NOTE } from "@hermes-memory/core/internal/frozen-blocks";
import { isRecord } from "@hermes-memory/core/internal/lib";
import { defused } from "@hermes-memory/core/internal/security";
import type { ToolDefinition } from "@hermes-memory/core/internal/tools";
import type { JsonObject } from "../types.ts";
import { recordsIn } from "../wires/fields.ts";
import type { WireName } from "../wires/wire.ts";
import { callIds, isInstruction, isReply, partsOf, type Stretch } from "./chain.ts";
import {
  addMember,
  appendItems,
  appendToString,
  applyEdits,
  type Edit,
  insertItems,
  itemsOf,
  kindAt,
  memberOf,
  membersOf,
  rootOf,
  type Span,
  valueAt,
} from "./json-text.ts";

export type Insertions = {
  /** The memory block, for the instructions; "" for none. */
  readonly block: string;
  /** Of Codex the instructions are checked by the vendor, so the block becomes a message of the developer. */
  readonly isBlockMessage?: boolean;
  /** Texts for messages of the user, by their index in the client's list. */
  readonly recalls: readonly { readonly index: number; readonly text: string }[];
  readonly tools: readonly ToolDefinition[];
  readonly rounds: readonly (Stretch & { readonly round: HiddenRounds })[];
  /** Items of this turn's hidden rounds, behind the list. JSON texts. */
  readonly appended: readonly string[];
  /** The response that the hidden rounds of the last one have led to. */
  readonly previousResponseId?: string | undefined;
  /** The model's name, if the client asked for it under another one. */
  readonly model?: string | undefined;
};

export const NOTHING: Insertions = { block: "", recalls: [], tools: [], rounds: [], appended: [] };

/** What one reply has gone through without the client: several rounds, of which it was shown one reply. Items are JSON texts of the wire. */
export type HiddenRounds = {
  /** The replies that called our tools, and the results. */
  readonly before: readonly string[];
  /** The last reply as the model gave it, with all calls. None where the client's copy has to do. */
  readonly last: readonly string[];
  /** Of our calls in the last reply, next to calls of the client's tools. */
  readonly results: readonly string[];
};

/** The body for the model's server. `text` is the client's body, valid JSON with an object at the top. */
export function insert(wire: WireName, text: string, insertions: Insertions): string {
  const root = rootOf(text);
  const top: TopLevel = { root, members: membersOf(text, root) }; // bodies are long: read once
  const list = top.members.get(wire === "responses" ? "input" : "messages");
  const { block, tools, previousResponseId, model } = insertions;
  const isMessage = insertions.isBlockMessage === true && wire === "responses" && list !== undefined;
  const inFront = block !== "" && isMessage ? [developerMessage(block)] : [];
  const edits: Edit[] = [];
  if (list !== undefined) edits.push(...inList(wire, text, list, insertions, inFront));
  if (block !== "" && !isMessage) edits.push(...intoInstructions(wire, text, top, block));
  const written = tools.map((tool) => JSON.stringify(toolOn(wire, tool)));
  if (tools.length > 0) edits.push(...intoMember(text, top, "tools", written));
  const previous = top.members.get("previous_response_id");
  if (previousResponseId !== undefined && previous !== undefined)
    edits.push({ ...previous, text: JSON.stringify(previousResponseId) });
  if (model !== undefined) {
    const name = top.members.get("model");
    const written = JSON.stringify(model);
    edits.push(name === undefined ? addMember(text, root, "model", written) : { ...name, text: written });
  }
  return applyEdits(text, edits);
}

type TopLevel = { readonly root: Span; readonly members: ReadonlyMap<string, Span> };

// ---- The memory block ----

/** Whether a hook has put this block into the client's own list. The list only grows, so the answer holds for the session. */
export function carriesBlock(list: readonly JsonObject[], block: string): boolean {
  const lines = block.split("\n").filter((line) => line.trim() !== "");
  if (lines.length === 0) return false;
  return list.some(
    (message) =>
      !isReply(message) &&
      partsOf(message.content).some(
        ({ text }) =>
          typeof text === "string" &&
          text.includes(HOOK_NOTE) &&
          lines.every((line) => text.includes(defused(line))),
      ),
  );
}

function intoInstructions(wire: WireName, text: string, top: TopLevel, block: string): readonly Edit[] {
  if (wire === "chat") {
    const list = top.members.get("messages");
    return list === undefined ? [] : intoSystemMessage(text, list, block);
  }
  const isParts = wire === "messages";
  const key = isParts ? "system" : "instructions";
  const value = top.members.get(key);
  if (value !== undefined && kindAt(text, value) === "string")
    return isParts ? asParts(wire, value, block) : [appended(value, block)];
  return intoMember(text, top, key, [textPart(wire, block)], isParts ? undefined : JSON.stringify(block));
}

/** At the end of a list at the top of the body. `whole`: the value where there is none. */
function intoMember(
  text: string,
  { root, members }: TopLevel,
  key: string,
  items: readonly string[],
  whole = `[${items.join(",")}]`,
): readonly Edit[] {
  const value = members.get(key);
  if (value === undefined) return [addMember(text, root, key, whole)];
  const kind = kindAt(text, value);
  if (kind === "array") return [appendItems(text, value, items)];
  return kind === "null" ? [{ ...value, text: whole }] : []; // the vendor will refuse it
}

/** At the end of the last instruction in front of the conversation, or as a message of its own. */
function intoSystemMessage(text: string, list: Span, block: string): readonly Edit[] {
  const items = itemsOf(text, list);
  const count = items.findIndex((item) => {
    const message = valueAt(text, item);
    return !isRecord(message) || !isInstruction(message);
  });
  const last = items[(count < 0 ? items.length : count) - 1];
  const content = last === undefined ? undefined : memberOf(text, last, "content");
  if (content !== undefined && kindAt(text, content) === "string") return [appended(content, block)];
  if (content !== undefined && kindAt(text, content) === "array")
    return [appendItems(text, content, [textPart("chat", block)])];
  const message = JSON.stringify({ role: "system", content: block });
  return [insertItems(text, list, 0, [message])];
}

function developerMessage(block: string): string {
  return JSON.stringify({
    type: "message",
    role: "developer",
    content: [{ type: "input_text", text: block }],
  });
}

/** At the end of a text, after a blank line. */
function appended(string: Span, addition: string): Edit {
  const isEmpty = string.end - string.start === 2;
  return appendToString(string, isEmpty ? addition : `\n\n${addition}`);
}

/** A text becomes a list with it as its first part: the other spelling of the same content, in which some clients send it later. */
function asParts(wire: WireName, string: Span, addition: string): readonly Edit[] {
  if (string.end - string.start === 2) return [appendToString(string, addition)]; // vendors refuse empty text parts
  const before = textPart(wire, "").slice(0, -3); // up to the text's opening quote
  return [
    { start: string.start, end: string.start, text: `[${before}` },
    { start: string.end, end: string.end, text: `},${textPart(wire, addition)}]` },
  ];
}

function textPart(wire: WireName, text: string): string {
  return JSON.stringify({ type: wire === "responses" ? "input_text" : "text", text });
}

// ---- The list ----

function inList(
  wire: WireName,
  text: string,
  list: Span,
  { recalls, rounds, appended: added }: Insertions,
  inFront: readonly string[],
): readonly Edit[] {
  if (kindAt(text, list) === "string") {
    if (recalls.length + added.length + inFront.length === 0) return [];
    const { start, end } = list;
    const parts = [...recalls].map((recall) => `,${textPart(wire, recall.text)}`).join("");
    const before = `[${inFront.map((item) => `${item},`).join("")}{"type":"message","role":"user","content":[`;
    return [
      { start, end: start, text: `${before}${textPart(wire, "").slice(0, -3)}` },
      { start: end, end, text: `}${parts}]}${added.map((item) => `,${item}`).join("")}]` },
    ];
  }
  const items = itemsOf(text, list);
  if (items.length === 0) return [appendItems(text, list, [...inFront, ...added])];
  const view: ListView = { wire, text, list, items };
  return [
    ...(inFront.length === 0 ? [] : [insertItems(text, list, leadingItems(view), inFront)]),
    ...recalls.flatMap(({ index, text: recall }) => intoMessage(view, index, recall)),
    ...rounds.flatMap(({ from, to, round }) => rejoin(view, { from, to }, round)),
    ...(added.length === 0 ? [] : [appendItems(text, list, added)]),
  ];
}

type ListView = {
  readonly wire: WireName;
  readonly text: string;
  readonly list: Span;
  readonly items: readonly Span[];
};

/**
 * How many items stand in front of the conversation: instructions and lists of tools. They are the same in the next session, and the block
 * may not be, so it comes behind them. A client only adds to the end of its list, so the place stays the same in a session.
 */
function leadingItems({ text, items }: ListView): number {
  const first = items.findIndex((item) => {
    const value = valueAt(text, item);
    return !isRecord(value) || !(isInstruction(value) || value.type === "additional_tools");
  });
  return first < 0 ? items.length : first;
}

function intoMessage({ wire, text, items }: ListView, index: number, recall: string): readonly Edit[] {
  const item = items[index];
  const content = item === undefined ? undefined : memberOf(text, item, "content");
  if (content === undefined) return [];
  switch (kindAt(text, content)) {
    case "string":
      // Some servers of the chat wire read no parts.
      return wire === "chat" ? [appended(content, recall)] : asParts(wire, content, recall);
    case "array":
      return [appendItems(text, content, [textPart(wire, recall)])];
    default:
      return [];
  }
}

// ---- Our tools ----

function toolOn(wire: WireName, { name, description, parameters }: ToolDefinition): JsonObject {
  switch (wire) {
    case "chat":
      return { type: "function", function: { name, description, parameters } };
    case "responses":
      return { type: "function", name, description, parameters, strict: false };
    case "messages":
      return { name, description, input_schema: parameters };
    default:
      return wire satisfies never;
  }
}

/** The names of the client's tools. */
export function toolNames(body: JsonObject): ReadonlySet<string> {
  const tools = recordsIn(body.tools);
  return new Set(
    tools.flatMap((tool) => {
      const { name } = isRecord(tool.function) ? tool.function : tool;
      return typeof name === "string" ? [name] : [];
    }),
  );
}

// ---- Hidden rounds of earlier turns: the list as the model's server saw it ----

type Place = { readonly from: number; readonly to: number };

/** In place of the client's copy of the reply. Nothing but the rounds before it if that copy is not the whole of its last round. */
function rejoin(
  view: ListView,
  { from, to }: Place,
  { before, last, results }: HiddenRounds,
): readonly Edit[] {
  const { text, list, items } = view;
  const inFront = before.length === 0 ? [] : [insertItems(text, list, from, before)];
  const copies = items.slice(from, to);
  const answers = results.length === 0 ? [] : besideResults(view, to, results);
  const said = withIdsOf(copies.map((item) => valueAt(text, item)).filter(isRecord), last, results);
  const [first, end] = [copies[0], copies.at(-1)];
  if (answers === undefined || said === undefined || first === undefined || end === undefined) return inFront;
  return [...inFront, { start: first.start, end: end.end, text: said.join(",") }, ...answers];
}

/** Our results in front of the client's. Undefined if it does not bring any. */
function besideResults(
  { wire, text, list, items }: ListView,
  to: number,
  results: readonly string[],
): readonly Edit[] | undefined {
  const next = items[to];
  const answer = next === undefined ? undefined : valueAt(text, next);
  if (next === undefined || !isRecord(answer)) return undefined;
  if (wire !== "messages") {
    const isResult = wire === "chat" ? answer.role === "tool" : answer.type === "function_call_output";
    return isResult ? [insertItems(text, list, to, results)] : undefined;
  }
  const content = memberOf(text, next, "content");
  const hasResults = partsOf(answer.content).some(({ type }) => type === "tool_result");
  return content === undefined || !hasResults ? undefined : [insertItems(text, content, 0, results)];
}

/** The items with the ids that the client gives its calls: some clients rewrite them. Undefined if it has other calls. */
function withIdsOf(
  copies: readonly JsonObject[],
  last: readonly string[],
  results: readonly string[],
): readonly string[] | undefined {
  const isTheirs = (id: string): boolean => !results.some((result) => result.includes(JSON.stringify(id)));
  const given = last.flatMap((item) => callIds(JSON.parse(item) as JsonObject)).filter(isTheirs);
  const shown = copies.flatMap(callIds);
  if (last.length === 0 || shown.length !== given.length) return undefined;
  return last.map((item) =>
    given.reduce((said, id, at) => said.replaceAll(JSON.stringify(id), JSON.stringify(shown[at])), item),
  );
}
