// How a stored chat follows the list that a client shows: the whole chat as the client has it, without the tool rounds that we ran
// ourselves, sometimes only its newest part, sometimes behind the client's own summary of what came before. Pure. What two equal
// messages are: same-message.ts. Which rows are taken back: remember.ts.
import { type Message, partsOf, textOf, toolCallsOf, wordsOf } from "../message/index.ts";
import { asksForClientSummary } from "../security/index.ts";
import { asShown } from "./chat-messages.ts";
import { FOLDED_CHARS, halfOf, isSame } from "./same-message.ts";

export type ShownRules = {
  /** Names of tools whose calls and results the client never sees. */
  readonly hiddenTools: ReadonlySet<string>;
  /** Rows of the chat come from an import: their texts are cut and joined in other ways than those of a request. */
  readonly isImported: boolean;
};

export type ShownPlan = {
  /** Messages of the list that are not stored, in order. */
  readonly add: readonly Message[];
  /** Stored messages from this index on are no longer part of the chat. Undefined: all stay. */
  readonly takeBack?: number;
  /** Index behind the last stored message that is in the list. */
  readonly end: number;
  /** The list goes along with the whole chat. */
  readonly isAppend: boolean;
};

/** `stored` and `given` in the order of calls (`inCallOrder`); `given` as `readShown` made it. */
export function planShown(stored: readonly Message[], given: ShownList, rules: ShownRules): ShownPlan {
  const chat = seenBy(stored, rules.hiddenTools);
  const list = seenBy(given.messages, rules.hiddenTools);
  const walk = (from: number, at: number) => walkAlong(chat, from, list, at, rules);
  const endOf = (chatEnd: number): number => chat[chatEnd - 1]?.end ?? 0;
  const addFrom = (at: number, isAppend = false): ShownPlan => ({
    add: withoutStoredRounds(stored, chat, given.messages, list, at),
    end: endOf(chat.length),
    isAppend,
  });
  const replaceFrom = ({ chatEnd, listEnd }: Run): ShownPlan => ({
    add: given.messages.slice(list[listEnd]?.start ?? given.messages.length),
    takeBack: chat[chatEnd]?.start ?? stored.length,
    end: endOf(chatEnd),
    isAppend: false,
  });

  const whole = walk(0, 0);
  if (whole.chatEnd === chat.length) return addFrom(whole.listEnd, true);
  const behind = list.findIndex(({ start }) => start >= given.behindSummary);
  if (given.behindSummary > 0) {
    if (behind < 0) return { add: [], end: endOf(chat.length), isAppend: false };
    const run = anchored(chat, behind, walk);
    if (run === undefined) return addFrom(behind);
    // Only the newest reply may have been made anew: what the summary stands for, and what came before it, stays.
    const isReply = run.chatEnd < chat.length && !chat.slice(run.chatEnd).some(isUser);
    return isReply ? replaceFrom(run) : addFrom(run.listEnd);
  }
  // An older state of the chat: a reply is made anew, or messages were deleted.
  if (whole.listEnd === list.length) return replaceFrom(whole);
  const part = anchored(chat, 0, walk);
  if (part === undefined || part.listEnd <= whole.listEnd) return replaceFrom(whole);
  // One turn that begins with the chat's first words is rather its first reply, made anew, than the end of a chat that repeats itself.
  if (whole.listEnd > 0 && list.slice(0, part.listEnd).filter(isUser).length < 2) return replaceFrom(whole);
  return part.chatEnd === chat.length ? addFrom(part.listEnd) : replaceFrom(part);
}

// ---- The client's list ----

export type ShownList = {
  readonly messages: readonly Message[];
  /** Index of the first message behind the client's summary; 0 without one. */
  readonly behindSummary: number;
};

/** Without what client programs put into messages of the user. */
export function readShown(given: readonly Message[]): ShownList {
  const messages: Message[] = [];
  let behindSummary = 0;
  let isAnswer = false;
  for (const message of given) {
    if (message.role !== "user") {
      messages.push(message);
      if (isAnswer || isAcknowledgement(message, messages.length - 1 === behindSummary && behindSummary > 0))
        behindSummary = messages.length;
      isAnswer = false;
      continue;
    }
    isAnswer = messages.length === 0 && asksForClientSummary(textOf(message.content));
    const { summary, own } = wordsOf(message);
    if (summary !== undefined) {
      messages.push(summary);
      behindSummary = messages.length;
    }
    if (own !== undefined) messages.push(own);
  }
  return { messages, behindSummary };
}

/** Gemini CLI and Qwen Code let the model answer so to their summary. */
function isAcknowledgement(message: Message, isBehindSummary: boolean): boolean {
  return isBehindSummary && textOf(message.content).trim() === "Got it. Thanks for the additional context!";
}

// ---- What the client sees of a list ----

type Seen = {
  readonly message: Message;
  /** The same with the text that the model wrote before rounds of hidden calls, which streams show as one reply. */
  readonly joined?: Message | undefined;
  /** Index in the list: of the first hidden message before it, and behind it. */
  readonly start: number;
  readonly end: number;
};

function seenBy(messages: readonly Message[], hiddenTools: ReadonlySet<string>): readonly Seen[] {
  const seen: Seen[] = [];
  const hidden = new Set<string>(); // calls of the newest message that has some
  let before: string[] = [];
  let start = 0;
  for (const [at, message] of messages.entries()) {
    const calls = toolCallsOf(message);
    if (message.role === "tool" && hidden.has(halfOf(message.toolCallId))) continue;
    for (const { id, name } of calls)
      if (hiddenTools.has(name)) hidden.add(halfOf(id));
      else hidden.delete(halfOf(id));
    const own = calls.filter(({ name }) => !hiddenTools.has(name));
    if (calls.length > 0 && own.length === 0) {
      before.push(textOf(message.content));
      continue;
    }
    const shown =
      message.role === "assistant" && own.length < calls.length ? { ...message, toolCalls: own } : message;
    const joined =
      message.role === "assistant" && before.some((text) => text !== "")
        ? { ...shown, content: [...before, textOf(message.content)].join("") }
        : undefined;
    seen.push({ message: shown, joined, start, end: at + 1 });
    before = [];
    start = at + 1;
  }
  return seen;
}

function isUser({ message }: Seen): boolean {
  return message.role === "user";
}

/** New messages from this one on, without hidden rounds before it that are stored already. */
function withoutStoredRounds(
  stored: readonly Message[],
  chat: readonly Seen[],
  given: readonly Message[],
  list: readonly Seen[],
  at: number,
): readonly Message[] {
  const rounds = stored.slice(chat.at(-1)?.end ?? 0);
  const fresh = given.slice(list[at]?.start ?? list.at(-1)?.end ?? 0);
  let known = 0;
  while (known < rounds.length && isSame(rounds[known], fresh[known], asShown)) known += 1;
  return fresh.slice(known);
}

// ---- Along the chat ----

/** How far both go along: the first differing messages. */
type Run = { readonly chatEnd: number; readonly listEnd: number };

function walkAlong(
  chat: readonly Seen[],
  from: number,
  list: readonly Seen[],
  at: number,
  rules: ShownRules,
): Run {
  let [chatEnd, listEnd] = [from, at];
  const most = rules.isImported ? MOST_SKIPPED : 0;
  while (chatEnd < chat.length && listEnd < list.length) {
    let skipped = 0;
    let step = stepOf(chat, chatEnd, list, listEnd, rules);
    while (step === undefined && skipped < most && listEnd > at) {
      skipped += 1;
      step = stepOf(chat, chatEnd + skipped, list, listEnd, rules);
    }
    if (step === undefined) break;
    chatEnd += skipped + step.chat;
    listEnd += step.list;
  }
  return { chatEnd, listEnd };
}

/** Messages in a row that a transcript has and the request has not, such as commands of the client and its errors. */
const MOST_SKIPPED = 6;

/** A chat that says the same ten thousand times goes along from everywhere. Then the newest places are looked at. */
const MOST_STEPS = 200_000;

/**
 * The place in the chat where the list goes along the furthest, from its message `at` on: best to the end of the chat. One message alone
 * says too little, because people repeat themselves, except in the newest turn.
 */
function anchored(
  chat: readonly Seen[],
  at: number,
  walk: (from: number, at: number) => Run,
): Run | undefined {
  const newest = chat.findLastIndex(isUser);
  let best: Run | undefined;
  let steps = 0;
  for (let from = chat.length - 1; from >= 0 && steps < MOST_STEPS; from -= 1) {
    const run = walk(from, at);
    steps += 1 + run.listEnd - at;
    if (run.listEnd - at < (from >= newest ? 1 : 2)) continue;
    const [isEnd, isBestEnd] = [run, best].map((one) => one?.chatEnd === chat.length);
    if (best === undefined || (isEnd === isBestEnd ? run.listEnd > best.listEnd : isEnd)) best = run;
  }
  return best;
}

/** How many messages of each are the same; undefined if the next ones differ. Clients join messages that follow each other. */
function stepOf(
  chat: readonly Seen[],
  from: number,
  list: readonly Seen[],
  at: number,
  rules: ShownRules,
): { readonly chat: number; readonly list: number } | undefined {
  const [one, other] = [chat[from], list[at]];
  if (one === undefined || other === undefined) return undefined;
  if (isSeenAs(one, other, rules)) return { chat: 1, list: 1 };
  if (!isUser(one) || !isUser(other)) return undefined;
  const joinedChat = joinedLength(chat, from, other.message);
  if (joinedChat > 1) return { chat: joinedChat, list: 1 };
  const joinedList = joinedLength(list, at, one.message);
  return joinedList > 1 ? { chat: 1, list: joinedList } : undefined;
}

function isSeenAs(one: Seen, other: Seen, { isImported }: ShownRules): boolean {
  if (isSame(one.message, other.message, asShown)) return true;
  if (one.joined !== undefined && isSameJoined(one.joined, other.message)) return true;
  if (other.joined !== undefined && isSameJoined(one.message, other.joined)) return true;
  return isImported && isLike(one.message, other.message);
}

/** One program joins the texts as they are, another puts an empty line between them. */
function isSameJoined(stored: Message, given: Message): boolean {
  if (isSame(stored, given, asShown)) return true;
  return plain(stored) === plain(given) && isSame(stored, { ...given, content: stored.content }, asShown);
}

const MOST_JOINED = 8;

/** How many messages of the user from here on make up the text of `whole` together; 0 if none do. */
function joinedLength(list: readonly Seen[], from: number, whole: Message): number {
  if (hasMedia(whole)) return 0;
  const wanted = plain(whole);
  let text = "";
  for (let count = 1; count <= MOST_JOINED; count += 1) {
    const next = list[from + count - 1];
    if (next === undefined || !isUser(next) || hasMedia(next.message)) return 0;
    text += plain(next.message);
    if (text === wanted) return count;
    if (!wanted.startsWith(text)) return 0;
  }
  return 0;
}

/** An import keeps the words, and the ids of calls; arguments and results may be cut, and attachments are notes in the text. */
function isLike(stored: Message, given: Message): boolean {
  if (stored.role !== given.role) return false;
  const [one, other] = [stored, given].map((message) =>
    toolCallsOf(message)
      .map(({ id }) => halfOf(id))
      .join(" "),
  );
  if (one !== other) return false;
  return one !== "" || plain(stored) === plain(given);
}

const ATTACHMENT = /\[(?:image|file: [^\]]*)\]/g;

const plainTexts = new WeakMap<Message, string>();

/** The words without white space and attachments. Kept: one message of a list is compared with every message of a chat. */
function plain(message: Message): string {
  const known = plainTexts.get(message);
  if (known !== undefined) return known;
  const whole = textOf(message.content);
  const text = whole.length > FOLDED_CHARS ? whole : whole.replace(ATTACHMENT, "").replace(/\s+/g, "");
  plainTexts.set(message, text);
  return text;
}

function hasMedia({ content }: Message): boolean {
  return partsOf(content).some(({ type }) => type !== "text");
}
