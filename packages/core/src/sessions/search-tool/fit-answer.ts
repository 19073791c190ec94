// Shortens an answer for a small context window: first its texts, then it drops messages far from the match, then whole results.
// The result is the same JSON with less text, and says what is missing. Pure.
import { codePointLength, isRecord, takeCodePoints } from "../../lib/index.ts";
import { cutMessage, cutSnippet, matchPosition, type ToolMessage } from "./answer-parts.ts";

/** True when the text is short enough. */
export type Fits = (text: string) => boolean;

type Json = Readonly<Record<string, unknown>>;

/** Which parts of an answer are kept. */
type Shape = {
  readonly bookends: boolean;
  /** Messages of one result, or of the session that is read. */
  readonly messages: number;
  readonly results: number;
};

/** Texts are cut down to this length before anything is dropped. */
const SHORTEST = 120;
const LONGEST = 100_000;
const FEWER_MESSAGES = [15, 9, 5, 3, 1];

export function fitAnswer(answer: object, fits: Fits): object {
  if (fits(JSON.stringify(answer)) || !isRecord(answer) || answer.success !== true) return answer;
  const shape =
    shapesOf(answer).find((each) => fits(JSON.stringify(shaped(answer, each, SHORTEST)))) ?? LEAST;
  return shaped(
    answer,
    shape,
    longestTexts((most) => fits(JSON.stringify(shaped(answer, shape, most)))),
  );
}

const LEAST: Shape = { bookends: false, messages: 1, results: 1 };

/** From the complete answer to the smallest. */
function shapesOf(answer: Json): readonly Shape[] {
  const all = Number.POSITIVE_INFINITY;
  const fewerResults = Array.from(listOf(answer.results), (_, place) => ({ ...LEAST, results: place }));
  return [
    { bookends: true, messages: all, results: all },
    { bookends: false, messages: all, results: all },
    ...FEWER_MESSAGES.map((messages) => ({ bookends: false, messages, results: all })),
    ...fewerResults.slice(1).toReversed(),
  ];
}

function longestTexts(isShort: (most: number) => boolean): number {
  let [low, high] = [SHORTEST, LONGEST];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (isShort(middle)) low = middle;
    else high = middle;
  }
  return low;
}

type Missing = { cut: number; messages: number; results: number };

function shaped(answer: Json, shape: Shape, most: number): Json {
  const missing: Missing = { cut: 0, messages: 0, results: 0 };
  const part = (each: Json): Json => ({
    ...each,
    ...textFields(each, most, missing),
    ...messageFields(each, shape, most, missing),
  });
  const results = listOf(answer.results);
  const kept = results.slice(0, shape.results);
  missing.results = results.length - kept.length;
  const found = "results" in answer ? { results: kept.map(part), count: kept.length } : {};
  return { ...part(answer), ...found, shortened: told(missing) };
}

/** `query`, and the texts of a result other than its messages. */
function textFields(part: Json, most: number, missing: Missing): Json {
  const cut: Record<string, string> = {};
  for (const name of ["query", "summary", "preview", "title"]) {
    const text = part[name];
    if (typeof text === "string" && codePointLength(text) > most) {
      cut[name] = `${takeCodePoints(text, most)}...`;
      missing.cut += 1;
    }
  }
  if (typeof part.snippet === "string" && part.snippet.length > most) {
    cut.snippet = cutSnippet(part.snippet, most);
    missing.cut += 1;
  }
  return cut;
}

const MESSAGE_LISTS = ["bookend_start", "messages", "bookend_end"] as const;

function messageFields(part: Json, { bookends, messages }: Shape, most: number, missing: Missing): Json {
  const fields: Record<string, unknown> = {};
  for (const name of MESSAGE_LISTS) {
    const list = part[name];
    if (!Array.isArray(list)) continue;
    const all = list as readonly ToolMessage[];
    const kept = name === "messages" ? nearest(all, messages) : bookends ? all : [];
    missing.messages += all.length - kept.length;
    fields[name] = kept.map((message) => {
      const focus = message.anchor && typeof part.snippet === "string" ? part.snippet : undefined;
      const focusAt = focus === undefined ? 0 : matchPosition(focus, message.content);
      const short = cutMessage(message, most, most, focusAt);
      if (short !== message) missing.cut += 1;
      return short;
    });
  }
  return fields;
}

/** The messages around the anchor; without an anchor the first and the last ones. */
function nearest(messages: readonly ToolMessage[], most: number): readonly ToolMessage[] {
  if (messages.length <= most) return messages;
  const anchor = messages.findIndex((message) => message.anchor);
  if (anchor < 0) {
    const last = Math.floor(most / 3);
    return [...messages.slice(0, most - last), ...messages.slice(messages.length - last)];
  }
  const start = Math.max(0, Math.min(anchor - Math.floor(most / 2), messages.length - most));
  return messages.slice(start, start + most);
}

function told({ cut, messages, results }: Missing): string {
  const parts = [
    ...(cut > 0 ? [`${cut} long texts are cut`] : []),
    ...(messages > 0 ? [`${messages} messages are left out`] : []),
    ...(results > 0 ? [`${results} results are left out`] : []),
  ];
  return (
    `To fit your context window, ${parts.join(", ")}. ` +
    "For more of one place pass its session_id with around_message_id and a small window; for other results narrow the query."
  );
}

function listOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value : [];
}
