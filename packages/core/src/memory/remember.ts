// What `remember` stores: reads its arguments, and decides which messages the chat does not have yet and which are taken back.
import { HermesError, isRecord, pyStrip } from "../lib/index.ts";
import { type Message, newMessage, withMeta } from "../message/index.ts";
import type { SessionStore } from "../sessions/index.ts";
import { type Alignment, align, alignExchange, commonStart, inCallOrder } from "./align.ts";
import { isTold } from "./chat-history.ts";
import { asShown, isSpoken, readGiven, readReply } from "./chat-messages.ts";
import { findSummary, type HeldChat, loadChat, loadWholeChat } from "./chat-session.ts";
import { planShown, readShown } from "./follow-shown.ts";
import { badOption } from "./options.ts";
import { exchangeId, isSame, withStoredIds } from "./same-message.ts";
import type { RememberOptions } from "./user-memory.ts";

// ---- The arguments ----

export type RememberArguments = {
  readonly given: readonly Message[];
  readonly isExchange: boolean;
  readonly options: RememberOptions;
};

/** Reads the arguments of `UserMemory.remember` after the chat's id, before anything is stored. May wait for a model's reply. */
export async function readArguments(args: readonly unknown[]): Promise<RememberArguments> {
  const [first, second, third] = args;
  if (typeof first !== "string") {
    const given = readGiven(first, "messages");
    const options = readOptions(second);
    options.signal?.throwIfAborted();
    return { given: given.filter(isTold), isExchange: false, options };
  }
  const options = readOptions(third);
  options.signal?.throwIfAborted();
  if (options.follow)
    throw badOption(
      "'follow' was set for one exchange, which is not the whole chat.",
      "Pass the whole list of messages with 'follow', or leave it out.",
    );
  if (pyStrip(first) === "")
    throw new HermesError("bad-message", "The text of the user is empty. Nothing was stored.", {
      hint: "For a message without text, such as an image, pass a list: remember(chatId, [{ role: 'user', content: [...] }, reply]).",
    });
  const said = newMessage({ role: "user", content: first });
  const given = [said, ...(await readReply(second))].filter(isTold);
  return { given, isExchange: true, options };
}

function readOptions(value: unknown): RememberOptions {
  if (value === undefined) return {};
  if (!isRecord(value))
    throw badOption(
      "The options of remember were not passed as an object.",
      "Pass (chatId, text, reply, { id }) or (chatId, messages, { id }).",
    );
  const options = value as RememberOptions;
  const { id, follow, hiddenTools } = options;
  if (id !== undefined && (typeof id !== "string" || id === ""))
    throw badOption(
      "The id of an exchange must be a text that is not empty.",
      "Leave it out, or pass the id of the request.",
    );
  if (follow !== undefined && typeof follow !== "boolean" && follow !== "shown")
    throw badOption(
      "'follow' is neither true, nor false, nor 'shown'.",
      "Pass true for the whole list of the chat, or 'shown' for the list as a client shows it.",
    );
  if (
    hiddenTools !== undefined &&
    !(Array.isArray(hiddenTools) && hiddenTools.every((name) => typeof name === "string"))
  )
    throw badOption(
      "'hiddenTools' is not a list of names.",
      "Pass the names of the tools whose calls the client does not see.",
    );
  return options;
}

// ---- What changes ----

export type Change = {
  readonly known: number;
  readonly takenBack: number;
  readonly add: readonly Message[];
  readonly isNew: boolean;
  /** A row: it and everything after it is taken back. */
  readonly takeBackFrom?: number | undefined;
  /** Messages at the beginning of `add` that are stored again because they stand behind one that is taken back. */
  readonly storedAgain?: number;
  /** The list goes along with everything that is stored: only what comes behind it is new. */
  readonly isAppend: boolean;
};

const NO_CHANGE: Change = { known: 0, takenBack: 0, add: [], isNew: false, isAppend: false };

/** What to do with the list. Changes nothing. */
export async function planChange(
  chat: HeldChat,
  stored: readonly Message[],
  { given, isExchange, options }: RememberArguments,
): Promise<Change> {
  switch (options.follow) {
    case "shown":
      return (await followingShown(chat, stored, given, options))?.change ?? NO_CHANGE;
    case true:
      return following(chat, stored, given);
    default:
      return appending(chat, stored, given, isExchange, options);
  }
}

export async function appending(
  { store, row }: HeldChat,
  stored: readonly Message[],
  given: readonly Message[],
  isExchange: boolean,
  { id, isNew = id !== undefined }: { readonly id?: string | undefined; readonly isNew?: boolean } = {},
): Promise<Change> {
  const found = id === undefined ? undefined : await findExchange(store, row.id, stored, id);
  const { fresh, late, isAnchored } =
    found === undefined
      ? await alignChat(store, row.id, stored, given, { isExchange, isNew })
      : restOf(found, given);
  const add = [...late, ...given.slice(fresh)];
  const isAppend = isExchange || (late.length === 0 && isAnchored);
  return { known: given.length - add.length, takenBack: 0, add, isNew: add.length > 0, isAppend };
}

/** The list is the whole chat: rows after the last common message are taken back. */
async function following(
  chat: HeldChat,
  stored: readonly Message[],
  asGiven: readonly Message[],
): Promise<Change> {
  const given = inCallOrder(asGiven);
  const compared = await comparedList(chat, stored, given);
  const common = commonStart(compared.list, given, asShown);
  if (isSummarised(compared, common)) return appendingOnce(chat, stored, asGiven);
  const fresh = given.slice(common);
  return {
    known: common,
    isAppend: common === compared.list.length,
    ...replacedFrom(compared, common, fresh),
  };
}

type Followed = {
  readonly change: Change;
  /** What the list was compared with, and the index in it behind the last message that both have. */
  readonly list: readonly Message[];
  readonly end: number;
};

/** The same for a list as a client shows it. Undefined: with `keepsUnrelated`, if it has nothing in common with the chat. */
export async function followingShown(
  chat: HeldChat,
  stored: readonly Message[],
  asGiven: readonly Message[],
  { hiddenTools = [], keepsUnrelated }: Pick<RememberOptions, "hiddenTools" | "keepsUnrelated">,
): Promise<Followed | undefined> {
  const shown = readShown(asGiven);
  const given = { ...shown, messages: inCallOrder(withStoredIds(stored, shown.messages)) };
  const compared = await comparedList(chat, stored, given.messages);
  const { list } = compared;
  const rules = { hiddenTools: new Set(hiddenTools), isImported: isTranscriptRow(chat.row) };
  const { add: fresh, takeBack: keep = list.length, end, isAppend } = planShown(list, given, rules);
  if (keepsUnrelated && end === 0 && list.length > 0) return undefined;
  if (isSummarised(compared, keep))
    return { change: await appendingOnce(chat, stored, given.messages), list, end: 0 };
  const known = asGiven.length - fresh.length;
  return { change: { known, isAppend, ...replacedFrom(compared, keep, fresh) }, list, end };
}

/** From this index of the list on, what is stored is taken back, and `fresh` is stored instead. */
function replacedFrom(
  { list, isChangeable }: Compared,
  keep: number,
  fresh: readonly Message[],
): Pick<Change, "takenBack" | "takeBackFrom" | "add" | "storedAgain" | "isNew"> {
  const gone = list.slice(keep).filter(isChangeable);
  const isNew = fresh.length > 0;
  if (gone.length === 0) return { takenBack: 0, add: fresh, isNew };
  const takeBackFrom = Math.min(...gone.flatMap(({ meta }) => meta.rowId ?? []));
  // Results of one message's calls may be stored in another order than that of the list.
  const again = list.slice(0, keep).filter(({ meta }) => (meta.rowId ?? -1) >= takeBackFrom);
  const add = [...again, ...fresh];
  return { takenBack: gone.length, takeBackFrom, add, storedAgain: again.length, isNew };
}

type Compared = {
  /** The chat since it began, if the list begins before a compaction; otherwise since the newest one. */
  readonly list: readonly Message[];
  readonly isWhole: boolean;
  /** Rows that can be taken back. */
  readonly isChangeable: (message: Message) => boolean;
};

/** What the list of a caller is compared with. */
async function comparedList(
  { store, row }: Pick<HeldChat, "store" | "row">,
  stored: readonly Message[],
  given: readonly Message[],
): Promise<Compared> {
  const all = inCallOrder(stored.filter(isTold));
  const summary = await findSummary(store, row.id, stored);
  const isSummaryGiven = summary === undefined || commonStart(all, given, asShown) > all.indexOf(summary);
  const whole = isSummaryGiven ? undefined : await loadWholeChat(store, row.id, stored, summary);
  const list = whole === undefined ? all : inCallOrder(whole.filter(isTold));
  const behind = stored.slice(summary === undefined ? 0 : stored.indexOf(summary) + 1);
  const changeable = new Set(behind.flatMap(({ meta }) => meta.rowId ?? []));
  return { list, isWhole: whole !== undefined, isChangeable: ({ meta }) => changeable.has(meta.rowId ?? -1) };
}

/** Whether the message at `at` was summarised by a compaction, so that it cannot be taken back. */
function isSummarised({ list, isWhole, isChangeable }: Compared, at: number): boolean {
  const message = list[at];
  return isWhole && message !== undefined && !isChangeable(message);
}

/** The session was imported, at least in part. */
function isTranscriptRow({ model_config }: HeldChat["row"]): boolean {
  return model_config?.includes('"_import"') === true;
}

/** A turn that a summary stands for cannot be taken back: what is new in the list counts as said now. */
async function appendingOnce(
  chat: HeldChat,
  stored: readonly Message[],
  given: readonly Message[],
): Promise<Change> {
  const change = await appending(chat, stored, given, false);
  const { add } = change;
  const newest = stored.filter(isSpoken).slice(-add.length);
  if (add.length === 0 || commonStart(newest, add, asShown) < add.length) return change;
  return { known: given.length, takenBack: 0, add: [], isNew: false, isAppend: false };
}

/**
 * The stored messages from the first one of the exchange on; undefined if there is none. Also looked for in the sessions before a
 * compaction, where a late retry may belong.
 */
export async function findExchange(
  store: SessionStore,
  sessionId: string,
  stored: readonly Message[],
  id: string,
): Promise<readonly Message[] | undefined> {
  const wanted = exchangeId(id);
  const from = (messages: readonly Message[]): readonly Message[] | undefined => {
    const spoken = messages.filter(isSpoken);
    const at = spoken.findIndex(({ meta }) => meta.platformMessageId === wanted);
    return at < 0 ? undefined : spoken.slice(at);
  };
  const here = from(stored);
  if (here !== undefined) return here;
  for (const earlier of (await store.listContinued(sessionId)).toReversed()) {
    const there = earlier === sessionId ? undefined : from(await loadChat(store, earlier));
    if (there !== undefined) return there;
  }
  return undefined;
}

/** What of the exchange is not stored yet: the first call may have had the question only. */
function restOf(stored: readonly Message[], given: readonly Message[]): Alignment {
  const [first] = stored;
  const from = given.findLastIndex((message) => isSame(first, message, asShown));
  if (from < 0) return { fresh: given.length, late: [], isAnchored: true };
  const { fresh, ...rest } = alignExchange(stored, given.slice(from), asShown);
  return { ...rest, fresh: from + fresh };
}

/** Which messages of the list the chat has. */
export async function alignChat(
  store: SessionStore,
  sessionId: string,
  stored: readonly Message[],
  given: readonly Message[],
  kind: { readonly isExchange?: boolean; readonly isNew?: boolean } = {},
): Promise<Alignment> {
  if (given.length === 0) return { fresh: 0, late: [], isAnchored: false };
  const options = { ...kind, shown: asShown };
  const newest = stored.filter(isSpoken);
  const summary = await findSummary(store, sessionId, stored);
  if (summary === undefined) return align(newest, given, options);
  const end = align(newest, given, { ...options, isEnd: true });
  // A list that has little in common with the end may be the whole chat, whose first words were said again.
  if (end.isAnchored && end.fresh * 2 >= given.length) return end;
  const told = stored.filter(isTold);
  if (commonStart(told, given, asShown) > told.indexOf(summary)) return align(newest, given, options);
  // The caller's list begins before the compaction.
  const messages = await loadWholeChat(store, sessionId, stored, summary);
  const whole = align(messages.filter(isSpoken), given, options);
  return end.isAnchored && end.fresh >= whole.fresh ? end : whole;
}

/** The new message at `idAt` carries the id of the exchange. Rows of other sessions and times of the past are not taken over. */
export function asNew(
  messages: readonly Message[],
  stored: readonly Message[],
  id: string | undefined,
  now: Date,
  idAt: number,
): readonly Message[] {
  let latest = stored.reduce((time, { meta }) => Math.max(time, meta.atSeconds), 0);
  return messages.map((message, index) => {
    const { atSeconds, platformMessageId } = message.meta;
    const isLater = atSeconds >= latest && atSeconds * 1000 <= now.getTime();
    if (isLater) latest = atSeconds;
    return withMeta(message, {
      rowId: undefined,
      originId: undefined,
      atSeconds: isLater ? atSeconds : 0,
      platformMessageId: id !== undefined && index === idAt ? exchangeId(id) : platformMessageId,
    });
  });
}
