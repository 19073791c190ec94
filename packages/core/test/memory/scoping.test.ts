// Generated from the type of the door: every member of one person's memory is called with everything that belongs to another person
// (ids of chats, sessions, entries and changes, titles, texts and words) and must do what it does for things that are not there. A
// member without a case fails the type check and the first test. The same for the session store: sessions/scoping.slow.test.ts.
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type Asked,
  type Memory,
  openMemory,
  type RecallAnswer,
  type UserMemory,
} from "../../src/memory/index.ts";
import { exportAll, ManualClock } from "../../testing/session-store/support.ts";
import { fillPerson } from "../fakes/filled-person.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";

const PEOPLE = {
  "ann on web": (memory: Memory) => memory.user({ platform: "web", id: "ann" }),
  "ann on telegram": (memory: Memory) => memory.user({ platform: "telegram", id: "ann" }),
  "the owner": (memory: Memory) => memory.owner,
} as const;
type Name = keyof typeof PEOPLE;
const NAMES = Object.keys(PEOPLE) as Name[];
const PAIRS = NAMES.flatMap((caller) =>
  NAMES.filter((name) => name !== caller).map((victim) => ({ caller, victim })),
);

/** Everything of a person that a call can name. */
type Aim = {
  /** Of a chat that only this person has; all have one called `main`. */
  readonly chat: string;
  readonly session: string;
  /** A session that was not made for a chat. */
  readonly other: string;
  readonly title: string;
  readonly entry: string;
  /** An entry that was removed, and the change that removed it. */
  readonly removed: string;
  readonly change: string;
  readonly text: string;
  readonly word: string;
};
type Case = (me: UserMemory, aim: Aim, own: Aim) => Promise<unknown>;

/** Both models answer with every secret that they were shown. */
const secretsIn = (prompt: string): string[] => [...new Set(prompt.match(/secret-of-[a-z-]+/g))];
const model = { complete: async ({ prompt = "" }) => `What was said: ${secretsIn(prompt).join(" ")}.` };
const finder = {
  complete: async ({ prompt = "" }) => JSON.stringify(secretsIn(prompt).map((secret) => `Knows ${secret}`)),
};

const untimed = ({ durationMs: _ms, ...answer }: RecallAnswer) => answer;

const CASES: Readonly<Record<keyof UserMemory, readonly Case[]>> = {
  user: [async (me) => me.user],
  layers: [async (me) => ({ ...me.layers.scope, user: me.layers.user })],
  openChat: [
    (me, { chat }) => me.openChat(chat),
    (me, { session }) => me.openChat(session, { source: "cli" }),
    (me, { other }) => me.openChat(other),
    (me, { session }) => me.openChat("new chat", { parentChatId: session }),
    (me, { chat }) => me.openChat("new chat", { parentChatId: chat }),
    (me, { word }) => me.openChat(word, { sessionId: word }),
    (me) => me.openChat("main"),
  ],
  block: [
    (me, { chat }) => me.block(chat),
    (me, { session }) => me.block(session),
    (me, { other }) => me.block(other),
    (me) => me.block("main"),
  ],
  recall: [
    (me, { chat, word }) => me.recall(chat, `What about ${word}?`).then(untimed),
    (me, { session, text }) => me.recall(session, text).then(untimed),
    (me, { word, text }, own) => me.recall(own.chat, `${text} ${word}`).then(untimed),
  ],
  context: [
    (me, { chat, word }) => me.context(chat, { query: `What about ${word}?` }),
    (me, { session }) => me.context(session, { format: "openai" }),
    (me, { other }) => me.context(other),
    (me, { word, text }, own) => me.context(own.chat, { query: `${text} ${word}` }),
    (me, { word }) => me.context("main", { messages: [{ role: "user", content: word }] }),
  ],
  ask: [
    async (me, { session, text }) =>
      withoutToken(me.ask(session, [{ role: "user", content: text }], { list: "either", request: "r" })),
    async (me, { chat }) =>
      withoutToken(me.ask(chat, [{ role: "user", content: "hello" }], { list: "whole", request: "r" })),
    async (me, { text }, own) =>
      withoutToken(me.ask(own.chat, [{ role: "user", content: text }], { list: "newest", request: "r" })),
  ],
  answer: [
    async (me, { session }, own) => {
      const asked = await me.ask(own.chat, [{ role: "user", content: "hi" }], {
        list: "whole",
        request: "r",
      });
      return me.answer({ ...asked, sessionId: session, rowId: 1 }, [{ role: "assistant", content: "hi" }]);
    },
  ],
  remember: [
    (me, { chat }) => me.remember(chat, "hello", "hi"),
    (me, { session }) => me.remember(session, "hello", "hi", { id: "exchange" }),
    (me, { other, text }) => me.remember(other, [{ role: "user", content: text }], { follow: true }),
    (me, { text }, own) => me.remember(own.chat, text, "noted", { id: "exchange" }),
    (me, { session, text }) => me.remember(session, [{ role: "user", content: text }], { follow: "shown" }),
    (me, { text }, own) => me.remember(own.chat, [{ role: "user", content: text }], { follow: "shown" }),
  ],
  transcript: [
    (me, { chat }) => me.transcript(chat, { format: "openai" }),
    (me, { session }) => me.transcript(session),
    (me, { other }) => me.transcript(other, { limit: 1 }),
    (me) => me.transcript("main", { format: "hermes" }),
  ],
  chats: [(me) => me.chats(), (me) => me.chats({ limit: 1, offset: 1 })],
  chat: [
    (me, { chat }) => me.chat(chat),
    (me, { session }) => me.chat(session),
    (me, { other }) => me.chat(other),
    (me) => me.chat("main"),
  ],
  rename: [
    (me, { chat }) => me.rename(chat, "Mine now"),
    (me, { session }) => me.rename(session, null),
    (me, { other }) => me.rename(other, "Mine now"),
    (me, { title }, own) => me.rename(own.chat, title),
  ],
  forgetChat: [
    (me, { chat }) => me.forgetChat(chat),
    (me, { session }) => me.forgetChat(session),
    (me, { other }) => me.forgetChat(other),
    (me) => me.forgetChat("main"),
  ],
  compact: [
    (me, { chat }) => me.compact(chat, { model, contextLength: 100_000, force: true }),
    (me, { session }) => me.compact(session, { model, contextLength: 100_000, force: true }),
    (me) => me.compact("main", { model, contextLength: 100_000, force: true }),
  ],
  extract: [
    (me, { chat }) => me.extract(chat, { model: finder }),
    (me, { session }) => me.extract(session, { model: finder }),
    (me, { other }) => me.extract(other, { model: finder }),
    (me) => me.extract("main", { model: finder }),
  ],
  add: [
    (me, { text }) => me.add(text),
    (me, { chat }) => me.add("In a chat", { chatId: chat, reason: "asked" }),
  ],
  list: [(me) => me.list(), (me) => me.list({ target: "user" })],
  update: [
    (me, { entry }) => me.update(entry, "Changed"),
    (me, { removed }) => me.update(removed, "Changed"),
    (me, { text }) => me.update(text, "Changed"),
    (me, { text }, own) => me.update(own.entry, text),
  ],
  remove: [
    (me, { entry }) => me.remove(entry),
    (me, { removed }) => me.remove(removed),
    (me, { text }) => me.remove(text),
  ],
  undo: [(me, { change }) => me.undo(change), (me, { entry }) => me.undo(entry)],
  history: [(me) => me.history(), (me) => me.history({ target: "memory", limit: 2 })],
  explain: [
    (me, { entry }) => me.explain(entry),
    (me, { removed }) => me.explain(removed),
    (me, { text }) => me.explain(text),
    (me, { word }) => me.explain(word),
  ],
  search: [
    (me, { word }) => me.search(word),
    (me, { text }) => me.search(text, { in: ["entries", "archive"] }),
    (me, { word }) => me.search(`${word.slice(0, -1)}*`, { in: ["sessions"], limit: 100 }),
    (me, { title, session }) => me.search(`${title} ${session}`),
  ],
  erase: [(me) => me.erase({ dryRun: true }), (me) => me.erase()],
};
const withoutToken = async (asked: Promise<Asked>) => ({ ...(await asked), token: "" });

const ALL = Object.entries(CASES).flatMap(([name, ways]) => ways.map((call, at) => ({ name, at, call })));

/** Members that change nothing, also for things that are not there. */
const READS: ReadonlySet<string> = new Set([
  "user",
  "layers",
  "transcript",
  "chats",
  "chat",
  "list",
  "history",
  "explain",
  "search",
]);

let calls = 0;
let original = "";
let aims: Readonly<Record<Name, Aim>>;

async function open(home: string): Promise<Memory> {
  return openMemory({ home, clock: new ManualClock() });
}

async function openCopy(): Promise<Memory> {
  const home = join(tempDirectory(), "home");
  cpSync(original, home, { recursive: true });
  return open(home);
}

beforeAll(async () => {
  original = mkdtempSync(join(tmpdir(), "hermes-test-"));
  await using memory = await open(original);
  const all: [Name, Aim][] = [];
  for (const name of NAMES) all.push([name, await fill(memory, name)]);
  aims = Object.fromEntries(all) as Record<Name, Aim>;
});

afterAll(() => rmSync(original, { recursive: true, force: true }));

describe("every member of a person's memory", () => {
  it("has a case, at run time too", async () => {
    await using memory = await openCopy();
    const me: object = memory.owner;
    const names = [...Object.keys(me), ...Object.getOwnPropertyNames(Object.getPrototypeOf(me))];
    const notOfTheDoor = ["constructor", "settled"];
    expect(names.filter((name) => !notOfTheDoor.includes(name)).sort()).toEqual(Object.keys(CASES).sort());
  });

  it.each(PAIRS)(
    "called by $caller with what belongs to $victim finds nothing",
    async ({ caller, victim }) => {
      await using shared = await openCopy();
      const theirs = aims[victim];
      const nowhere = nowhereLike(theirs);
      const before = {} as Record<Name, string>;
      for (const name of NAMES) before[name] = await stateOf(shared, name);
      for (const { name, at, call } of ALL) {
        const outcomes: string[] = [];
        for (const aim of [theirs, nowhere]) {
          await using copy = READS.has(name) ? undefined : await openCopy();
          const memory = copy ?? shared;
          const outcome = await describeOutcome(call(PEOPLE[caller](memory), aim, aims[caller]));
          calls += 1;
          expect([name, at, leaks(outcome, victim)]).toEqual([name, at, undefined]);
          let after = "";
          if (copy !== undefined) {
            for (const other of NAMES.filter((each) => each !== caller))
              expect([name, at, other, await stateOf(copy, other)]).toEqual([name, at, other, before[other]]);
            after = await stateOf(copy, caller);
            expect([name, at, leaks(after, victim)]).toEqual([name, at, undefined]);
          }
          outcomes.push(anonymous(`${outcome} ${after}`, aim));
        }
        expect([name, at, difference(outcomes)]).toEqual([name, at, undefined]);
      }
    },
  );

  it("was called this often", () => {
    expect(calls).toBe(PAIRS.length * 2 * ALL.length);
    console.log(`scoping of the door: ${calls} calls of ${Object.keys(CASES).length} members, 0 leaks`);
  });
});

const slug = (name: Name): string => name.replaceAll(" ", "-");
/** A word that only this person writes. The cases pass it on, so what shows a leak is the secret beside it. */
const wordOf = (name: Name): string => `zq${["amber", "birch", "cobalt"][NAMES.indexOf(name)]}`;
const secretOf = (name: Name): string => `secret-of-${slug(name)}`;

async function fill(memory: Memory, name: Name): Promise<Aim> {
  const me = PEOPLE[name](memory);
  const [word, secret] = [wordOf(name), secretOf(name)];
  await fillPerson(memory.administration, me.layers, slug(name), `${word} ${secret}`);
  await me.remember("main", `In main, ${word} is my ${secret}`, "noted");
  const { sessionId: session } = await me.remember(
    `only ${slug(name)}`,
    `My ${word} has a ${secret}`,
    "noted",
  );
  const title = `Title ${word}`;
  await me.rename(`only ${slug(name)}`, title);
  await me.rename("main", "Main");
  const { id: entry } = await me.add(`Likes ${word}: ${secret}`);
  const gone = await me.add(`Disliked ${word}: ${secret}`);
  const { change } = await me.remove(gone.id);
  const chat = `only ${slug(name)}`;
  const other = `${slug(name)}.archived`;
  return { chat, session, other, title, entry, removed: gone.id, change, text: `Likes ${word}`, word };
}

/** The same kinds of names, of the same length, that nothing has. */
function nowhereLike(aim: Aim): Aim {
  const swapped = (text: string) =>
    text.replace(/[a-z0-9](?=[^a-z0-9]*$)/, (last) => (last === "7" ? "8" : "7"));
  const word = swapped(aim.word);
  return {
    chat: swapped(aim.chat),
    session: swapped(aim.session),
    other: swapped(aim.other),
    title: `Title ${word}`,
    entry: swapped(aim.entry),
    removed: swapped(aim.removed),
    change: swapped(aim.change),
    text: `Likes ${word}`,
    word,
  };
}

function leaks(text: string, victim: Name): string | undefined {
  const at = text.indexOf(secretOf(victim));
  return at < 0 ? undefined : text.slice(Math.max(0, at - 80), at + 80);
}

/** With the names of the call replaced, and everything that differs from run to run: new ids, and the times of files and leases. */
function anonymous(text: string, aim: Aim): string {
  const keys = ["session", "title", "chat", "other", "entry", "removed", "change", "text", "word"] as const;
  const encoded = (value: string) => encodeURIComponent(value).replaceAll(".", "%2E");
  const named = keys.reduce(
    (rest, key) => rest.replaceAll(aim[key], `<${key}>`).replaceAll(encoded(aim[key]), `<${key}>`),
    text,
  );
  return named
    .replace(/\d{8}_\d{6}_[0-9a-f]{6}/g, "<new session>")
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "<uuid>")
    .replace(/"(change|id|group)":"[0-9a-f]{6,12}"/g, '"$1":"<new>"')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>")
    .replace(/\b\d{10}(\.\d+)?\b/g, "<time>");
}

async function stateOf(memory: Memory, name: Name): Promise<string> {
  const me = PEOPLE[name](memory);
  const store = await me.layers.sessions({ mode: "read" });
  const sessions = store === undefined ? [] : await exportAll(store, { includeInactive: true });
  return JSON.stringify({
    entries: await me.list(),
    history: await me.history(),
    chats: await me.chats(),
    sessions: sessions.sort((a, b) => (a.id < b.id ? -1 : 1)),
  });
}

/** Where two texts begin to differ. */
function difference([one = "", other = ""]: readonly string[]): readonly string[] | undefined {
  if (one === other) return undefined;
  let at = 0;
  while (one[at] === other[at]) at += 1;
  return [one, other].map((text) => text.slice(Math.max(0, at - 80), at + 160));
}

/** The value, or the code and text of the error. */
async function describeOutcome(call: Promise<unknown>): Promise<string> {
  return call.then(
    (value) => JSON.stringify({ value }) ?? "undefined",
    (cause: unknown) => {
      const { code, message, hint } = Object(cause) as Record<string, unknown>;
      return JSON.stringify({ code, message, hint });
    },
  );
}
