// Finds which messages of a caller's list a chat does not have yet. Pure. The list may be the whole chat, its newest part with what
// came after it, or only what is new. What two equal messages are: same-message.ts. A result is the same if its call is.
import { handoffBody, isHandoff, withoutHandoff } from "../context/index.ts";
import { type Message, toolCallsOf } from "../message/index.ts";
import { halfOf, isSame, type Shown, said } from "./same-message.ts";

export type AlignOptions = {
  /** One exchange: it is compared with the newest one only. Default: a list, which may be the whole chat. */
  readonly isExchange?: boolean;
  /** The list is compared with the end of the chat, not with its beginning. */
  readonly isEnd?: boolean;
  /** The caller says that it is a new exchange, even if it equals the newest one. */
  readonly isNew?: boolean;
  readonly shown?: Shown;
};

export type Alignment = {
  /** Index in the caller's list: from here on the messages are new. */
  readonly fresh: number;
  /** Messages before it that the chat does not have: results that came later than their call, and turns that were edited. */
  readonly late: readonly Message[];
  /** The list and the chat have something in common. */
  readonly isAnchored: boolean;
};

export function align(
  stored: readonly Message[],
  given: readonly Message[],
  options: AlignOptions = {},
): Alignment {
  const chat = outlineOf(stored);
  const list = outlineOf(given, chat);
  const paired = alignOutlines(chat.messages, list.messages, options);
  if (options.isExchange && hasOtherResults(chat, list, paired.pairs, options.shown))
    return { fresh: 0, late: [], isAnchored: false };
  return alignmentOf(chat, list, given, paired);
}

/** For an exchange that the chat has, from its first message on: what was stored of it is known, and only what follows is new. */
export function alignExchange(
  stored: readonly Message[],
  given: readonly Message[],
  shown?: Shown,
): Alignment {
  const chat = outlineOf(stored);
  const list = outlineOf(given, chat);
  const shared = commonStart(chat.messages, list.messages, shown);
  const next = chat.messages[shared];
  // Another reply is stored under the same id: the exchange is known.
  const known = next === undefined || next.role === "user" ? shared : list.messages.length;
  const pairs = list.messages.slice(0, known).map((_, at) => (at < shared ? at : ELSEWHERE));
  return alignmentOf(chat, list, given, { pairs, isAnchored: true });
}

/** How many messages both lists begin with. */
export function commonStart(stored: readonly Message[], given: readonly Message[], shown?: Shown): number {
  let at = 0;
  while (at < stored.length && at < given.length && isSame(stored[at], given[at], shown)) at += 1;
  return at;
}

/** Results of one message's calls arrive in any order; here they have the order of the calls. */
export function inCallOrder(messages: readonly Message[]): readonly Message[] {
  const ordered: Message[] = [];
  let order = new Map<string, number>();
  let run: Message[] = [];
  const placeOf = (message: Message): number =>
    (message.role === "tool" ? order.get(halfOf(message.toolCallId)) : undefined) ?? order.size;
  const flush = (): void => {
    ordered.push(...run.sort((one, other) => placeOf(one) - placeOf(other)));
    run = [];
  };
  for (const message of messages) {
    if (message.role === "tool") {
      run.push(message);
      continue;
    }
    flush();
    ordered.push(message);
    order = new Map(toolCallsOf(message).map(({ id }, at) => [halfOf(id), at]));
  }
  flush();
  return ordered;
}

// ---- Outlines ----
// A result belongs to its call, whatever its text and its place: clients mask errors, shorten results, and send them late. So lists are
// compared without results, and a result is known if its call has one.

type Outline = {
  /** Without the results that belong to a call. */
  readonly messages: readonly Message[];
  /** The index of each in the list. */
  readonly places: readonly number[];
  /** By place in the list: the call that a result answers, as an index of `messages`. */
  readonly callOf: ReadonlyMap<number, number>;
  /** Results whose call only the chat has, by place in the list: the index in the chat's outline. */
  readonly callInChat: ReadonlyMap<number, number>;
  /** For each message the results of its calls, by id. */
  readonly answered: ReadonlyMap<number, ReadonlyMap<string, Message>>;
  /** The newest message that makes a call of this id. */
  readonly calls: ReadonlyMap<string, number>;
};

function outlineOf(list: readonly Message[], chat?: Outline): Outline {
  const messages: Message[] = [];
  const places: number[] = [];
  const callOf = new Map<number, number>();
  const callInChat = new Map<number, number>();
  const answered = new Map<number, Map<string, Message>>();
  const calls = new Map<string, number>();
  for (const [place, message] of list.entries()) {
    const id = message.role === "tool" ? halfOf(message.toolCallId) : "";
    const call = calls.get(id);
    const there = chat?.calls.get(id);
    if (call !== undefined) {
      callOf.set(place, call);
      answered.set(call, (answered.get(call) ?? new Map<string, Message>()).set(id, message));
    } else if (there !== undefined) callInChat.set(place, there);
    else {
      for (const each of toolCallsOf(message)) calls.set(halfOf(each.id), messages.length);
      messages.push(message);
      places.push(place);
    }
  }
  return { messages, places, callOf, callInChat, answered, calls };
}

/**
 * An exchange comes from the model's call itself, not from a client that masks results. Some models number the calls of every turn from
 * the start, so that another result means another exchange.
 */
function hasOtherResults(chat: Outline, list: Outline, pairs: Pairs, shown?: Shown): boolean {
  return pairs.some((pair, at) => {
    const known = typeof pair === "number" ? chat.answered.get(pair) : undefined;
    return [...(list.answered.get(at) ?? [])].some(([id, given]) => {
      const stored = known?.get(id);
      if (stored === undefined || stored.meta.originId !== undefined) return false;
      const other = shown?.(stored);
      return said(stored) !== said(given) && (other === undefined || said(other) !== said(given));
    });
  });
}

/** For each known message at the front of the caller's outline the index of its equal in the chat's. */
type Pairs = readonly (number | typeof LATE | typeof ELSEWHERE)[];
type Paired = { readonly pairs: Pairs; readonly isAnchored: boolean };

/** In the list before known messages, and not in the chat. */
const LATE = "late";
/** Known, but without an equal in this part of the chat. */
const ELSEWHERE = "elsewhere";

function alignmentOf(chat: Outline, list: Outline, given: readonly Message[], paired: Paired): Alignment {
  const { pairs } = paired;
  const fresh = list.places[pairs.length] ?? given.length;
  const places = new Map(list.places.map((place, at) => [place, at]));
  const isLate = (message: Message, place: number): boolean => {
    const at = places.get(place);
    if (at !== undefined) return pairs[at] === LATE;
    const call = list.callOf.get(place);
    const there = call === undefined ? list.callInChat.get(place) : pairs[call];
    if (there === LATE) return true;
    const id = message.role === "tool" ? halfOf(message.toolCallId) : "";
    return typeof there === "number" && chat.answered.get(there)?.has(id) !== true;
  };
  const late = given.slice(0, fresh).filter(isLate);
  return { fresh, late, isAnchored: paired.isAnchored || list.callInChat.size > 0 };
}

function alignOutlines(stored: readonly Message[], given: readonly Message[], options: AlignOptions): Paired {
  const { shown } = options;
  const overlap = overlapOf(stored, given, shown);
  if (overlap.length > 0) {
    const isAll = overlap.length === given.length && options.isNew === true;
    return { pairs: isAll ? overlap.slice(0, newestTurn(given)) : overlap, isAnchored: true };
  }
  if (options.isExchange) return { pairs: [], isAnchored: false };
  const shared = commonStart(stored, given, shown);
  const behind = behindHandoff(stored, given, shared, options);
  if (behind !== undefined) return behind;
  if (options.isEnd || shared === 0) return { pairs: [], isAnchored: false };
  // An older state of the chat. A single exchange is one that was repeated: only equal to the newest one it counts as the same.
  if (shared === given.length && turnsIn(given) > 1) return { pairs: range(0, shared), isAnchored: true };
  // The list differs inside a turn: the whole turn is stored again, because a reply alone would follow another reply.
  const fresh = turnStart(given, shared);
  const edited = fresh > 0 ? aroundEdit(stored, given, fresh, shown) : undefined;
  if (edited !== undefined) return { pairs: edited, isAnchored: true };
  return { pairs: range(0, fresh), isAnchored: fresh > 0 };
}

/**
 * The end of the chat that the list begins with, the longest one. Within a turn, older rounds of tool calls may be missing: `context`
 * leaves them out when they do not fit.
 */
function overlapOf(stored: readonly Message[], given: readonly Message[], shown?: Shown): readonly number[] {
  for (let from = 0; from < stored.length; from += 1) {
    const pairs = walk(stored, from, given, shown);
    if (pairs !== undefined) return pairs;
  }
  return [];
}

/** Undefined if the list does not go along with the chat from here to its end. */
function walk(
  stored: readonly Message[],
  from: number,
  given: readonly Message[],
  shown?: Shown,
): readonly number[] | undefined {
  const pairs: number[] = [];
  let at = from;
  for (const message of given) {
    if (at === stored.length) break;
    if (!isSame(stored[at], message, shown)) {
      const next = pairs.length === 0 ? -1 : laterRound(stored, at, message, shown);
      if (next < 0) return undefined;
      at = next;
    }
    pairs.push(at);
    at += 1;
  }
  return at === stored.length && pairs.length > 0 ? pairs : undefined;
}

function laterRound(stored: readonly Message[], from: number, message: Message, shown?: Shown): number {
  if (toolCallsOf(message).length === 0) return -1;
  for (let at = from; at < stored.length && stored[at]?.role !== "user"; at += 1)
    if (isSame(stored[at], message, shown)) return at;
  return -1;
}

/** A list that `context` gave begins with the summary and goes on with the newest turns that fit; what is between is missing. */
function behindHandoff(
  stored: readonly Message[],
  given: readonly Message[],
  shared: number,
  options: AlignOptions,
): Paired | undefined {
  const at = given.findLastIndex(isHandoff);
  const handoff = given[at];
  if (handoff === undefined || shared > at) return undefined;
  const { shown } = options;
  const there = stored.findLastIndex((message) => isSameHandoff(message, handoff, shown));
  if (there < 0) return at === 0 ? behindForeign(stored, given, handoff, shown) : undefined;
  const front = stored.slice(Math.max(0, there - at), there);
  if (commonStart(front, given.slice(0, at), shown) < at) return undefined;
  const rest = alignOutlines(stored.slice(there + 1), given.slice(at + 1), options);
  const moved = rest.pairs.map((pair) => (typeof pair === "number" ? pair + there + 1 : pair));
  return { pairs: [...range(there - at, there + 1), ...moved], isAnchored: true };
}

/** The summary of an earlier compaction, which the chat no longer has, is known if what follows it is. */
function behindForeign(
  stored: readonly Message[],
  given: readonly Message[],
  handoff: Message,
  shown?: Shown,
): Paired | undefined {
  const own = withoutHandoff(handoff);
  const rest = own === undefined ? given.slice(1) : given.with(0, own);
  if (rest[0]?.role !== "user") return undefined; // a reply alone says too little
  const pairs = overlapOf(stored, rest, shown);
  if (pairs.length === 0) return undefined;
  return { pairs: own === undefined ? [ELSEWHERE, ...pairs] : pairs, isAnchored: true };
}

function isSameHandoff(stored: Message, given: Message, shown?: Shown): boolean {
  if (!isHandoff(stored)) return false;
  const body = handoffBody(stored);
  return isSame(stored, given, shown) || (body !== undefined && body === handoffBody(given));
}

/**
 * Turns in the middle were edited or left out, and the list goes on with the end of the chat: what follows is not stored again. An edited
 * turn is stored as one that was said later.
 */
function aroundEdit(
  stored: readonly Message[],
  given: readonly Message[],
  start: number,
  shown?: Shown,
): Pairs | undefined {
  const [chat, list] = [stored.slice(start), given.slice(start)];
  for (const [at, message] of list.entries()) {
    if (message.role !== "user") continue;
    const end = overlapOf(chat, list.slice(at), shown);
    const [first = 0] = end;
    if (end.length === 0 || chat[first]?.role !== "user") continue;
    const [instead, edited] = [inTurns(chat.slice(0, first)), inTurns(list.slice(0, at))];
    // Turns that were put in between are new ones, and so is what follows them.
    if (edited.length > instead.length) return undefined;
    const left = [...instead];
    const middle = edited.flatMap((turn) => {
      const same = left.findIndex(
        (each) => each.length === turn.length && commonStart(each, turn, shown) === turn.length,
      );
      if (same >= 0) left.splice(same, 1);
      return turn.map(() => (same >= 0 ? ELSEWHERE : LATE));
    });
    return [...range(0, start), ...middle, ...end.map((pair) => pair + start)];
  }
  return undefined;
}

function range(from: number, to: number): readonly number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, at) => from + at);
}

/** A turn begins with a message of the user; messages before the first one are a turn of their own. */
export function inTurns(messages: readonly Message[]): readonly (readonly Message[])[] {
  const turns: Message[][] = [];
  for (const message of messages) {
    const last = turns.at(-1);
    if (last === undefined || message.role === "user") turns.push([message]);
    else last.push(message);
  }
  return turns;
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
