// Conversations: which parts are posted, and what is kept of them.
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import {
  addTurns,
  conversationId,
  countKept,
  createPartStore,
  type Part,
  partsPath,
  type Turn,
} from "../../src/supermemory/conversations.ts";

const EMPTY: Part = { number: 1, messages: [], keys: [] };
const LIMITS = { messages: 6, chars: 1_000 };

function turn(number: number, text = `message ${number}`): Turn {
  return {
    key: `key-${number}`,
    messages: [
      { role: "user", content: text },
      { role: "assistant", content: `answer ${number}` },
    ],
  };
}

const turns = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => turn(from + index));
const userTexts = ({ messages }: Part) =>
  messages.filter(({ role }) => role === "user").map(({ content }) => content);

describe("adding turns", () => {
  it("posts the conversation from its beginning", () => {
    const { next } = addTurns(EMPTY, turns(1, 2), LIMITS);
    const { posts } = addTurns(next, turns(3, 3), LIMITS);
    expect(posts.map(userTexts)).toEqual([["message 1", "message 2", "message 3"]]);
  });

  it("goes on in the next part when one is full, in messages or in characters", () => {
    const { posts, next } = addTurns(EMPTY, turns(1, 7), LIMITS);
    expect(posts.map(({ number }) => number)).toEqual([1, 2, 3]);
    expect(posts.map(userTexts)).toEqual([
      ["message 1", "message 2", "message 3"],
      ["message 4", "message 5", "message 6"],
      ["message 7"],
    ]);
    expect(next.messages).toHaveLength(2);
    const long = addTurns(EMPTY, [turn(1, "x".repeat(900)), turn(2, "y".repeat(900))], LIMITS);
    expect(long.posts.map(({ number }) => number)).toEqual([1, 2]);
  });

  it("posts a full part again only if it got something new", () => {
    const { next } = addTurns(EMPTY, turns(1, 3), LIMITS);
    expect(addTurns(next, turns(4, 4), LIMITS).posts.map(({ number }) => number)).toEqual([2]);
  });

  it("is the same when it is repeated, before and after it was noted", () => {
    const { next: before } = addTurns(EMPTY, turns(1, 2), LIMITS);
    const first = addTurns(before, turns(3, 8), LIMITS);
    expect(addTurns(before, turns(3, 8), LIMITS)).toEqual(first);
    expect(addTurns(first.next, turns(3, 8), LIMITS)).toEqual({ posts: [], next: first.next });
  });

  it("sends each message a bounded number of times in a long session", () => {
    let part = EMPTY;
    let sent = 0;
    for (let from = 1; from <= 1_000; from += 10) {
      const { posts, next } = addTurns(part, turns(from, from + 9));
      sent += posts.reduce((sum, { messages }) => sum + messages.length, 0);
      part = next;
    }
    expect(sent).toBe(3 * 2_000);
    expect(part.number).toBe(20);
  });
});

it("names the parts of a session, within 255 characters", () => {
  expect([1, 2, 12].map((number) => conversationId("sess-1", number))).toEqual([
    "sess-1",
    "sess-1-2",
    "sess-1-12",
  ]);
  const [one, other] = ["a", "b"].map((end) => conversationId("s".repeat(300) + end, 3));
  expect(one).not.toBe(other);
  expect(one?.length).toBeLessThanOrEqual(255);
});

describe.each([
  ["on disk", (home: string) => createPartStore(home, Date.now)],
  ["in memory", () => createPartStore(undefined, Date.now)],
])("parts %s", (_, create) => {
  it("are kept by container and session, and erased by container", () => {
    const store = create(tempDirectory());
    const { next } = addTurns(EMPTY, turns(1, 2));
    store.write("a", "s", next);
    store.write("b", "s", { ...next, number: 7 });
    expect(store.read("a", "s")).toEqual(next);
    expect(store.read("b", "s").number).toBe(7);
    expect(store.read("a", "other")).toEqual(EMPTY);
    store.erase("a");
    expect(store.read("a", "s")).toEqual(EMPTY);
    expect(store.read("b", "s").number).toBe(7);
  });

  it("lose the messages with a text that is forgotten, and only those of the container", () => {
    const store = create(tempDirectory());
    const { next } = addTurns(EMPTY, turns(1, 2));
    store.write("a", "s", next);
    store.write("b", "s", next);
    store.forget("a", "message 1");
    expect(userTexts(store.read("a", "s"))).toEqual(["message 2"]);
    expect(store.read("b", "s")).toEqual(next);
  });
});

describe("the file", () => {
  it("does not exist before something is kept, is private, and keeps no bytes of what was erased", () => {
    const home = tempDirectory();
    const store = createPartStore(home, Date.now);
    store.read("a", "s");
    store.erase("a");
    expect(() => statSync(partsPath(home))).toThrow("ENOENT");
    store.write("a", "s", addTurns(EMPTY, [turn(1, "the obsidian gate")]).next);
    expect(statSync(partsPath(home)).mode & 0o777).toBe(0o600);
    expect(readFileSync(partsPath(home)).includes("obsidian")).toBe(true);
    store.erase("a");
    expect(readFileSync(partsPath(home)).includes("obsidian")).toBe(false);
  });

  it("tells how many messages hold a text, without being made or changed", () => {
    const home = tempDirectory();
    expect(countKept(home, "obsidian")).toBe(0);
    expect(() => statSync(partsPath(home))).toThrow("ENOENT");
    createPartStore(home, Date.now).write(
      "a",
      "s",
      addTurns(EMPTY, [turn(1, "the obsidian gate"), turn(2)]).next,
    );
    expect(countKept(home, "obsidian")).toBe(1);
    expect(countKept(home, "Obsidian")).toBe(0);
    writeFileSync(partsPath(home), "not a database ".repeat(500));
    expect(countKept(home, "obsidian")).toBe(0);
  });

  it("drops the messages of a conversation that rested for a month, which goes on in a new part", () => {
    const home = tempDirectory();
    const day = 24 * 3_600_000;
    const { next } = addTurns(EMPTY, turns(1, 1));
    createPartStore(home, () => 0).write("a", "old", next);
    createPartStore(home, () => 31 * day).write("a", "new", next);
    const store = createPartStore(home, () => 31 * day);
    expect(store.read("a", "old")).toMatchObject({ number: 2, messages: [] });
    expect(store.read("a", "new")).toEqual(next);
  });

  it("that is damaged is an error that names it, and is left alone", () => {
    const home = tempDirectory();
    writeFileSync(partsPath(home), "not a database, and long enough to be read as one ".repeat(100));
    const store = createPartStore(home, Date.now);
    expect(() => store.read("a", "s")).toThrow("supermemory.db cannot be used");
    expect(readFileSync(partsPath(home), "utf8")).toContain("not a database");
  });
});
