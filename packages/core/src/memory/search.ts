// One search over what a person's memory holds: live entries, the archive, and the sessions. The answer is for a program, so texts
// come as they are stored: unlike in the prompt and in the answers of tools, the threat scanner holds nothing back. Put them into a
// prompt only between fences, as `me.context` does with its recall.
import { existsSync } from "node:fs";
import { entryId, type MemoryStore, rankByWords } from "../curated/index.ts";
import { codePointLength, HermesError, preview } from "../lib/index.ts";
import { contentText } from "../message/index.ts";
import {
  cleanText,
  leftOutRemark,
  type MessageRow,
  type SearchAnswer,
  type SearchHit,
  type SessionStore,
} from "../sessions/index.ts";
import { chatIdOfSession } from "./chat-id.ts";
import { entriesIn } from "./entries.ts";
import type { Person } from "./types.ts";
import type { MemoryHit, MemorySearchAnswer, MemorySearchOptions } from "./user-memory.ts";

const PLACES = ["entries", "archive", "sessions"] as const;
type Place = (typeof PLACES)[number];

const DEFAULT_LIMIT = 10;
/** A message up to this length is given whole; of a longer one, the part that matches. */
const WHOLE_MESSAGE_CHARS = 600;

export async function searchMemory(
  person: Person,
  query: string,
  options: MemorySearchOptions = {},
): Promise<MemorySearchAnswer> {
  const { places, limit } = checked(query, options);
  const parts: MemorySearchAnswer[] = [];
  if (places.has("entries") || places.has("archive"))
    parts.push(...(await searchCurated(person, query, places, limit)));
  if (places.has("sessions")) parts.push(await searchSessions(person, query, limit));
  return {
    hits: parts.flatMap(({ hits }) => hits),
    leftOut: parts.reduce((sum, { leftOut }) => sum + leftOut, 0),
    notes: parts.flatMap(({ notes }) => notes),
  };
}

function checked(
  query: unknown,
  { in: places = PLACES, limit = DEFAULT_LIMIT }: MemorySearchOptions,
): { readonly places: ReadonlySet<Place>; readonly limit: number } {
  if (typeof query !== "string" || query.trim() === "")
    throw badSearch("The query has no words.", "Pass the words to look for; me.list() gives all entries.");
  if (!Array.isArray(places) || places.length === 0)
    throw badSearch("'in' names no place to search.", `Leave it out, or pass some of ${PLACES.join(", ")}.`);
  const unknown = places.find((place) => !PLACES.includes(place));
  if (unknown !== undefined)
    throw badSearch(
      `'in' contains '${preview(String(unknown), 40)}', which is no place to search.`,
      `Use ${PLACES.join(", ")}.`,
    );
  if (!(Number.isInteger(limit) && limit > 0))
    throw badSearch(`The limit ${limit} is not a positive integer.`, "It counts the hits of each kind.");
  return { places: new Set(places), limit };
}

function badSearch(message: string, hint: string): HermesError {
  return new HermesError("bad-search", message, { hint });
}

// ---- Entries and archive ----

async function searchCurated(
  person: Person,
  query: string,
  places: ReadonlySet<Place>,
  limit: number,
): Promise<MemorySearchAnswer[]> {
  const store = await person.curated({ isLoaded: existsSync(person.directory) });
  if (store === undefined)
    return [{ hits: [], leftOut: 0, notes: ["Entries: config.yaml switches both memory files off."] }];
  return [
    ...(places.has("entries") ? [ranked("Entries", liveEntries(store), query, limit)] : []),
    ...(places.has("archive") ? [ranked("Archive", archivedEntries(store), query, limit)] : []),
  ];
}

function liveEntries(store: MemoryStore): MemoryHit[] {
  const entries = [...entriesIn(store, "memory"), ...entriesIn(store, "user")];
  return entries.map((entry) => ({ kind: "entry", ...entry }));
}

/** Oldest first. */
function archivedEntries(store: MemoryStore): MemoryHit[] {
  return store.archived().map(({ target, text, time }) => ({
    kind: "archive",
    id: entryId(target, text),
    target,
    text,
    archivedAt: new Date(time),
  }));
}

function ranked(
  name: string,
  candidates: readonly MemoryHit[],
  query: string,
  limit: number,
): MemorySearchAnswer {
  const { hits, matched } = rankByWords(candidates, wordsIn(query));
  const note =
    hits.length === 0
      ? candidates.length === 0
        ? `${name}: there are none.`
        : `${name}: none of ${candidates.length} has a word of the query.`
      : matched === "all"
        ? `${name}: every word of the query was found.`
        : `${name}: none has all words of the query; these have some of them.`;
  return { hits: hits.slice(0, limit), leftOut: Math.max(0, hits.length - limit), notes: [note] };
}

/** A question without its punctuation, and without words like `a` and `of`, which are in almost every text. */
function wordsIn(query: string): string {
  const words = query.match(/[\p{L}\p{M}\p{N}][\p{L}\p{M}\p{N}_.:@/'-]*/gu) ?? [];
  const plain = words.map((word) => word.replace(/[_.:@/'-]+$/, ""));
  const telling = plain.filter((word) => !/^[a-z]{1,2}$/i.test(word));
  if (telling.length > 0) return telling.join(" ");
  return plain.length > 0 ? plain.join(" ") : query;
}

// ---- Sessions ----

async function searchSessions(person: Person, query: string, limit: number): Promise<MemorySearchAnswer> {
  const store = await openSessions(person);
  if (store === undefined) return { hits: [], leftOut: 0, notes: ["Sessions: nothing is stored yet."] };
  const answer = await store.search(query, { limit: limit + 1 }); // one more shows that there are more
  const found = answer.hits.slice(0, limit);
  const rows = await store.getMessagesById(found.map(({ id }) => id));
  const byId = new Map(rows.map((row) => [row.id, row]));
  const chats = new Map<string, { readonly chatId: string; readonly title: string | null }>();
  const hits: MemoryHit[] = [];
  for (const hit of found) {
    const { id, session_id: sessionId, role, timestamp } = hit;
    const chat = chats.get(sessionId) ?? {
      chatId: await chatIdOfSession(store, person.user, sessionId),
      title: await store.getSessionTitle(sessionId),
    };
    chats.set(sessionId, chat);
    const text = textOf(hit, byId.get(id));
    hits.push({
      kind: "session",
      ...chat,
      sessionId,
      messageId: id,
      role,
      text,
      at: new Date(timestamp * 1000),
    });
  }
  return { hits, leftOut: answer.hits.length - found.length, notes: notesOn(answer) };
}

/** For writing, so that messages of other programs get into the index; for reading where that is impossible. */
async function openSessions(person: Person): Promise<SessionStore | undefined> {
  try {
    return await person.sessions({ mode: "write" });
  } catch (cause) {
    if (!(cause instanceof HermesError) || cause.code === "memory-closed") throw cause;
    return person.sessions({ mode: "read" });
  }
}

function textOf(hit: SearchHit, row: MessageRow | undefined): string {
  const whole = row === undefined ? "" : contentText(row.content);
  if (whole !== "" && codePointLength(whole) <= WHOLE_MESSAGE_CHARS) return whole;
  return cleanText(hit.snippet).replaceAll(">>>", "").replaceAll("<<<", "");
}

function notesOn(answer: SearchAnswer): string[] {
  const { notSearched, confidence, isPartlyRanked, hits } = answer;
  const notes = [
    stageInWords(answer),
    hits.length > 0 && confidence?.isWeak && "none clearly answers the query; these are the nearest.",
    leftOutRemark(answer),
    isPartlyRanked && "so many messages match that not all were compared; more words give a better order.",
    notSearched && `${notSearched.messages} messages are not in the index yet and were not searched.`,
  ];
  return notes.flatMap((note) => (note ? [`Sessions: ${note}`] : []));
}

function stageInWords({ stage, empty }: SearchAnswer): string {
  switch (stage) {
    case "exact":
      return "the query was taken literally, because it has quotes, operators or a star.";
    case "strict":
      return "every word of the query was found.";
    case "widened":
      return "no message has all words of the query; these have some of them, or other forms.";
    case "none":
      return empty === "blank" ? "the query has no words to search for." : "no message matches.";
    default:
      return stage satisfies never;
  }
}
