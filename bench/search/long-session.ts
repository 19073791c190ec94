// A hit in a session of thousands of messages compared with the same hit in a short one. Both sessions are added to the database
// through the store and removed afterwards.
import { HermesError } from "@hermes-memory/core/internal/lib";
import { type SessionStore, sessionSearchTool } from "@hermes-memory/core/internal/sessions";
import { pick, type Random, randomNumbers } from "../../packages/core/test/fakes/random.ts";
import { contentText, generateCorpus } from "../corpus/index.ts";
import { progress } from "../statistics.ts";
import { checkScrolled, discover, measure, type Timed } from "./measure.ts";

export type LongSession = {
  /** A word that one message contains. */
  readonly discover: Pair;
  /** A word that a hundred messages contain: all in the long session, or each in a short one. */
  readonly discover_often: Pair;
  readonly scroll: Pair;
};
export type Pair = { readonly long: Timed; readonly short: Timed };

const LONG = 5_000;
const SHORT = 20;
const WORDS = 30;
/** A word is repeated once in this many messages. */
const REPEATED = 50;
/** The fewest messages that have room for the words. */
const LEAST = 10 * WORDS;

/** `--long-session N`: how many messages a long session has. */
export function longSessionSize(flags: Readonly<Record<string, string>>): number {
  const size = Number(flags["long-session"] ?? LONG);
  if (Number.isSafeInteger(size) && size >= LEAST) return size;
  throw new HermesError("usage", `--long-session takes a whole number, at least ${LEAST}.`);
}

/** The same number of messages goes into short sessions. */
export async function measureLongSession(store: SessionStore, messages: number): Promise<LongSession> {
  const random = randomNumbers(23);
  const created: string[] = [];
  try {
    const short = await addSessions(store, { name: "short", messages, size: SHORT, random, created });
    const long = await addSessions(store, { name: "long", messages, size: messages, random, created });
    progress("long and short sessions added");
    const both = async <T>(of: (set: Planted) => readonly T[], call: (item: T) => Promise<number>) => ({
      short: await measure(of(short), call),
      long: await measure(of(long), call),
    });
    return {
      discover: await both(
        ({ once }) => once,
        (word) => discover(store, word),
      ),
      discover_often: await both(
        ({ often }) => often,
        (word) => discover(store, word),
      ),
      scroll: await both(
        ({ places }) => places,
        (place) => scroll(store, place),
      ),
    };
  } finally {
    await store.deleteSessions(created);
  }
}

type Place = { readonly sessionId: string; readonly messageId: number };
type Planted = {
  readonly once: readonly string[];
  readonly often: readonly string[];
  readonly places: Place[];
};
type Plan = {
  readonly name: string;
  readonly messages: number;
  /** Of a session. */
  readonly size: number;
  readonly random: Random;
  readonly created: string[];
};

/** The same texts in every call, in sessions of `size` messages, with unique words added. */
async function addSessions(store: SessionStore, plan: Plan): Promise<Planted> {
  const { name, size, random, created } = plan;
  const step = Math.floor(plan.messages / WORDS);
  const once = Array.from({ length: WORDS }, () => madeUpWord(random));
  const often = Array.from({ length: WORDS }, () => madeUpWord(random));
  const places: Place[] = [];
  const messages = [...generateCorpus({ messages: plan.messages, seed: 5 })].map((message, at) => ({
    role: at % 2 === 0 ? "user" : "assistant",
    content: [contentText(message), plantedOnce(once, at, step), often[at % REPEATED]]
      .filter(Boolean)
      .join(" "),
    timestamp: message.ts,
  }));
  for (let from = 0; from < plan.messages; from += size) {
    const sessionId = `hermes_bench_${name}_${from}`;
    const part = messages.slice(from, from + size);
    await store.deleteSession(sessionId); // a killed run may have left it
    await store.createSession(sessionId, { source: "cli", startedAt: part[0]?.timestamp ?? 0 });
    created.push(sessionId);
    const ids = await store.appendMany(sessionId, part);
    ids.forEach((messageId, i) => {
      if (plantedOnce(once, from + i, step) !== undefined) places.push({ sessionId, messageId });
    });
  }
  return { once, often, places };
}

/** Evenly spaced; the first is not at the beginning. */
function plantedOnce(words: readonly string[], at: number, step: number): string | undefined {
  return at % step === step >> 1 ? words[Math.floor(at / step)] : undefined;
}

async function scroll(store: SessionStore, { sessionId, messageId }: Place): Promise<number> {
  checkScrolled(await sessionSearchTool(store, { session_id: sessionId, around_message_id: messageId }));
  return 1;
}

/** Shares no beginning with any other word: words with the same beginning are looked up together. */
function madeUpWord(random: Random): string {
  return Array.from({ length: 9 }, () => pick([..."bcdfghjklmnpqrtvwxz"], random)).join("");
}
