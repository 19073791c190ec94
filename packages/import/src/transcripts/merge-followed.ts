// A session that a gateway has stored from the requests of a program, and the transcript that the program wrote of it, become one
// conversation: which rows are messages of the transcript, and where messages belong that only one of both has seen. Pure.
import { isClientSummary, strippedUserText } from "@hermes-memory/core/internal/security";
import type { MessageRow, TranscriptInput, TranscriptMerge } from "@hermes-memory/core/internal/sessions";

/** `message.isBranch`: on a branch that was left. */
type Given = TranscriptInput & { readonly isBranch: boolean };

/** `rows`: all of the session, also those that were taken back, in stored order. */
export function mergeFollowed(rows: readonly MessageRow[], messages: readonly Given[]): TranscriptMerge {
  const stored = rows.map(outlineOfRow);
  // What is still part of the conversation is compared first: a turn that was taken back may be stored a second time.
  const isActive = (at: number): boolean => rows[at]?.active !== 0;
  const active = stored.flatMap((row, at) => (isActive(at) ? [{ row, at }] : []));
  const given = withIdsOf(
    active.map(({ row }) => row),
    messages.map(outlineOfMessage),
  );
  const pairs = aligned(given, active);
  const joined = joinedTo(given, stored, pairs, isActive);
  const taken = new Set(pairs.values());
  // Both have it once, at different places: the stored one stays where it is.
  for (const [at, place] of onceInBoth(given, active)) {
    const row = active[place]?.at ?? -1;
    if (pairs.has(at) || joined.has(at) || taken.has(row)) continue;
    pairs.set(at, row);
    taken.add(row);
  }
  // A turn that was taken back here, at its place in the conversation: the same words elsewhere are said again.
  const behind = given.map(() => rows.length);
  for (let at = given.length - 2; at >= 0; at -= 1)
    behind[at] = pairs.get(at + 1) ?? joined.get(at + 1) ?? behind[at + 1] ?? rows.length;
  let before = -1;
  for (const [at, one] of given.entries()) {
    const known = pairs.get(at) ?? joined.get(at);
    before = known ?? before;
    if (known !== undefined) continue;
    const row = stored.findIndex(
      (other, index) =>
        index > before &&
        index < (behind[at] ?? rows.length) &&
        !isActive(index) &&
        !taken.has(index) &&
        isSame(one, other),
    );
    if (row < 0) continue;
    before = row;
    taken.add(row);
    pairs.set(at, row);
  }
  return { order: orderOf(rows, messages, pairs, joined, isActive), known: knownOf(rows, messages, pairs) };
}

export type Likeness = {
  /** Seconds between the moments at which both noted the same words, where they are nearest. */
  readonly apart: number;
  /** How many messages both have. */
  readonly count: number;
  /** The chat begins with the client's summary of what came before, and the transcript has all of it. */
  readonly isRest: boolean;
};

/**
 * Undefined for another conversation: the chat begins neither as the transcript nor with the client's summary, it has a question that the
 * transcript does not have at that place, or answers of which the transcript has none.
 */
export function likenessOf(
  rows: readonly MessageRow[],
  messages: readonly (Given & { readonly isTimed: boolean })[],
): Likeness | undefined {
  const given = messages.map(outlineOfMessage);
  const own = rows.filter(({ role, content }) => role !== "user" || !isClientSummary(wordsOf(content)));
  const question = own.find(({ role }) => role === "user");
  if (question === undefined) return undefined;
  const begins = outlineOfRow(question).text;
  // Commands to the program itself are in no request.
  const first = given.find(({ role, text }) => role === "user" && (text === begins || !text.startsWith("/")));
  const hasSummary = own.length < rows.length;
  if (!hasSummary && begins !== first?.text) return undefined;
  let [next, apart, answers, same, count] = [0, Number.POSITIVE_INFINITY, 0, 0, 0];
  for (const row of own) {
    const { role, text } = outlineOfRow(row);
    if (text === "" || (role !== "user" && role !== "assistant")) continue;
    const at = given.findIndex((one, index) => index >= next && one.role === role && one.text === text);
    if (at < 0 && role === "user") return undefined;
    if (role === "assistant") answers += 1;
    const message = messages[at];
    if (message === undefined) continue;
    next = at + 1;
    count += 1;
    if (role === "assistant") same += 1;
    if (message.isTimed) apart = Math.min(apart, Math.abs(message.timestamp - row.timestamp));
  }
  if (answers > 0 && same === 0) return undefined;
  if (same > 0 && !messages.some((message) => message.isTimed)) apart = 0;
  const outlines = own.map(outlineOfRow);
  const pairs = aligned(
    withIdsOf(outlines, given),
    outlines.map((row, at) => ({ row, at })),
  );
  const isWhole = pairs.size === own.length && rows.every(({ active }) => active !== 0);
  return { apart, count, isRest: hasSummary && isWhole };
}

// ---- What is compared ----

type Outline = {
  readonly role: string;
  /** The id that the transcript gives the message. */
  readonly native: string | null;
  /** What makes it the same message: the call it answers, its calls, or its words. */
  readonly key: string;
  readonly text: string;
  readonly calls: readonly Call[];
  readonly answers: string | null;
};

type Call = { readonly id: string; readonly does: string };

function outlineOfRow(row: MessageRow): Outline {
  const calls = callsOf(row.tool_calls);
  return outline(row.role, row.platform_message_id, wordsOf(row.content), calls, row.tool_call_id);
}

function outlineOfMessage(message: Given): Outline {
  const calls = callsOf(message.toolCalls === undefined ? null : JSON.parse(message.toolCalls));
  return outline(message.role, message.platformMessageId, message.content, calls, message.toolCallId ?? null);
}

function outline(
  role: string,
  native: string | null,
  content: string,
  calls: readonly Call[],
  answering: string | null,
): Outline {
  const text = plain(role === "user" ? strippedUserText(content) : content);
  const answers = answering === null ? null : callPart(answering);
  return keyed({ role, native, text, calls, answers });
}

function keyed(one: Omit<Outline, "key">): Outline {
  const { role, text, calls, answers } = one;
  if (role === "tool") return { ...one, key: `tool ${answers ?? text}` };
  const ids = calls.map(({ id }) => id).join(" ");
  return { ...one, key: ids === "" ? `${role} ${text}` : `calls ${ids}` };
}

/** An import cuts long arguments and results. */
const BEGINNING = 200;

/** OpenClaw writes ids of calls in another way in later requests. A call of the same question, arguments and result is the same call. */
function withIdsOf(stored: readonly Outline[], given: readonly Outline[]): readonly Outline[] {
  const idsOf = (list: readonly Outline[]) => new Set(list.flatMap(({ calls }) => calls.map(({ id }) => id)));
  const [known, shown] = [idsOf(stored), idsOf(given)];
  const free = Map.groupBy(
    callsIn(stored).filter(({ id }) => !shown.has(id)),
    ({ key }) => key,
  );
  const renamed = new Map<string, string>();
  for (const { id, key } of callsIn(given)) {
    const same = known.has(id) ? undefined : free.get(key)?.shift();
    if (same) renamed.set(id, same.id);
  }
  if (renamed.size === 0) return given;
  const idOf = (id: string): string => renamed.get(id) ?? id;
  return given.map(({ calls, answers, ...rest }) =>
    keyed({
      ...rest,
      calls: calls.map((call) => ({ ...call, id: idOf(call.id) })),
      answers: answers === null ? null : idOf(answers),
    }),
  );
}

function callsIn(list: readonly Outline[]): readonly { readonly id: string; readonly key: string }[] {
  const results = new Map(list.map(({ answers, text }) => [answers, text.slice(0, BEGINNING)]));
  let question = "";
  return list.flatMap(({ role, text, calls }) => {
    if (role === "user") question = text;
    return calls.map(({ id, does }) => ({ id, key: JSON.stringify([question, does, results.get(id)]) }));
  });
}

function isSame(one: Outline, other: Outline): boolean {
  return one.role === other.role && (one.native === other.native || one.key === other.key);
}

/** A stored content is a text or a list of parts. */
function wordsOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return (content as readonly { readonly text?: unknown }[])
    .map((part) => (typeof part?.text === "string" ? part.text : ""))
    .join("\n");
}

/** Requests and transcripts join texts in different ways, and attachments are notes in a transcript. */
function plain(text: string): string {
  return text.replace(/\[(?:image|file: [^\]]*)\]/g, "").replace(/\s+/g, "");
}

function callsOf(calls: unknown): readonly Call[] {
  if (!Array.isArray(calls)) return [];
  return calls.map((call) => ({
    id: callPart(String(call?.id)),
    does: plain(`${call?.function?.name} ${call?.function?.arguments}`.slice(0, BEGINNING)),
  }));
}

/** `call|item`, as pi keeps both ids of a call in the Responses API. */
function callPart(id: string): string {
  return id.split("|", 1)[0] ?? id;
}

// ---- Alignment ----

type Placed = { readonly row: Outline; readonly at: number };

/** For messages of the transcript the index of the row that is the same one; both in ascending order. */
function aligned(given: readonly Outline[], rows: readonly Placed[]): Map<number, number> {
  const pairs = new Map<number, number>();
  let [before, beforeRow] = [0, 0];
  for (const [at, row] of [...anchorsOf(given, rows), [given.length, rows.length] as const]) {
    const part = rows.slice(beforeRow, row);
    for (const [one, other] of commonSequence(given.slice(before, at), part))
      pairs.set(before + one, part[other]?.at ?? -1);
    const anchor = rows[row];
    if (anchor !== undefined && at < given.length) pairs.set(at, anchor.at);
    [before, beforeRow] = [at + 1, row + 1];
  }
  return pairs;
}

/** Messages that each side has once. */
function onceInBoth(given: readonly Outline[], rows: readonly Placed[]): ReadonlyMap<number, number> {
  const candidates: (readonly [number, number])[] = [];
  for (const name of [({ native }: Outline) => native, ({ key }: Outline) => key]) {
    const once = <T>(items: readonly T[], of: (item: T) => string | null): ReadonlyMap<string, number> => {
      const found = new Map<string, number>();
      for (const [at, item] of items.entries()) {
        const text = of(item);
        if (text !== null) found.set(text, found.has(text) ? -1 : at);
      }
      return found;
    };
    const theirs = once(rows, ({ row }) => name(row));
    for (const [text, at] of once(given, name)) {
      const row = theirs.get(text) ?? -1;
      if (at >= 0 && row >= 0 && given[at]?.role === rows[row]?.row.role) candidates.push([at, row]);
    }
  }
  return new Map(candidates.toReversed());
}

/** In the longest order that both share. */
function anchorsOf(
  given: readonly Outline[],
  rows: readonly Placed[],
): readonly (readonly [number, number])[] {
  return longestAscending([...onceInBoth(given, rows)].sort(([one], [other]) => one - other));
}

/** The longest part in which the second numbers ascend. */
function longestAscending(
  pairs: readonly (readonly [number, number])[],
): readonly (readonly [number, number])[] {
  const ends: number[] = []; // index of the pair with the smallest end, for each length
  const before = new Map<number, number | undefined>();
  for (const [at, [, row]] of pairs.entries()) {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((pairs[ends[middle] ?? 0]?.[1] ?? 0) < row) low = middle + 1;
      else high = middle;
    }
    before.set(at, ends[low - 1]);
    ends[low] = at;
  }
  const found: (readonly [number, number])[] = [];
  for (let at = ends.at(-1); at !== undefined; at = before.get(at)) {
    const pair = pairs[at];
    if (pair !== undefined) found.unshift(pair);
  }
  return found;
}

/** Between two anchors there is little; more than this is compared from both ends only. */
const MOST_COMPARED = 1_000_000;

function commonSequence(
  given: readonly Outline[],
  rows: readonly Placed[],
): readonly (readonly [number, number])[] {
  const pairs: (readonly [number, number])[] = [];
  let start = 0;
  const same = (one: number, other: number): boolean => {
    const [message, placed] = [given[one], rows[other]];
    return message !== undefined && placed !== undefined && isSame(message, placed.row);
  };
  while (same(start, start)) {
    pairs.push([start, start]);
    start += 1;
  }
  let [height, width] = [given.length - start, rows.length - start];
  while (height > 0 && width > 0 && same(start + height - 1, start + width - 1)) {
    [height, width] = [height - 1, width - 1];
    pairs.push([start + height, start + width]);
  }
  if (height <= 0 || width <= 0 || height * width > MOST_COMPARED) return pairs;
  const lengths = Array.from({ length: height + 1 }, () => new Uint32Array(width + 1));
  const lengthAt = (one: number, other: number): number => lengths[one]?.[other] ?? 0;
  for (let one = height - 1; one >= 0; one -= 1)
    for (let other = width - 1; other >= 0; other -= 1) {
      const row = lengths[one];
      if (row === undefined) continue;
      row[other] = same(start + one, start + other)
        ? lengthAt(one + 1, other + 1) + 1
        : Math.max(lengthAt(one + 1, other), lengthAt(one, other + 1));
    }
  for (let [one, other] = [0, 0]; one < height && other < width; ) {
    if (same(start + one, start + other)) {
      pairs.push([start + one, start + other]);
      one += 1;
      other += 1;
    } else if (lengthAt(one + 1, other) >= lengthAt(one, other + 1)) one += 1;
    else other += 1;
  }
  return pairs;
}

/** Messages of the user that a request has joined to one: for each the row that holds them. */
function joinedTo(
  given: readonly Outline[],
  stored: readonly Outline[],
  pairs: ReadonlyMap<number, number>,
  isActive: (row: number) => boolean,
): ReadonlyMap<number, number> {
  const joined = new Map<number, number>();
  const taken = new Set(pairs.values());
  const free = new Map<string, number>();
  for (const [at, { role, text }] of stored.entries())
    if (role === "user" && text !== "" && isActive(at) && !taken.has(at)) free.set(text, at);
  if (free.size === 0) return joined;
  for (let from = 0; from < given.length; from += 1) {
    let text = "";
    for (let at = from; given[at]?.role === "user" && !pairs.has(at); at += 1) {
      text += given[at]?.text ?? "";
      const row = at > from ? free.get(text) : undefined;
      if (row === undefined) continue;
      for (let one = from; one <= at; one += 1) joined.set(one, row);
      free.delete(text);
      from = at;
      break;
    }
  }
  return joined;
}

// ---- The outcome ----

function orderOf(
  rows: readonly MessageRow[],
  messages: readonly Given[],
  pairs: ReadonlyMap<number, number>,
  joined: ReadonlyMap<number, number>,
  isActive: (row: number) => boolean,
): TranscriptMerge["order"] {
  const order: (number | TranscriptInput)[] = [];
  let next = 0;
  const upTo = (row: number): void => {
    for (; next <= row; next += 1) order.push(rows[next]?.id ?? -1);
  };
  for (const [at, message] of messages.entries()) {
    const row = pairs.get(at) ?? joined.get(at);
    if (row === undefined) order.push(message);
    else if (isActive(row)) upTo(row);
  }
  upTo(rows.length - 1);
  return order;
}

function knownOf(
  rows: readonly MessageRow[],
  messages: readonly Given[],
  pairs: ReadonlyMap<number, number>,
): TranscriptMerge["known"] {
  return [...pairs].flatMap(([at, index]) => {
    const [row, message] = [rows[index], messages[at]];
    if (row === undefined || message === undefined) return [];
    const isOwnId = row.platform_message_id === message.platformMessageId;
    // A message that the transcript has completed since. Rows of a request are whole, and results there are not cut.
    const isLonger =
      isOwnId &&
      typeof row.content === "string" &&
      message.role !== "tool" &&
      message.content.length > wordsOf(row.content).length;
    return isOwnId && row.timestamp === message.timestamp && !isLonger
      ? []
      : [{ id: row.id, message, isLonger }];
  });
}
