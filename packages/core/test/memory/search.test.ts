import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { HermesError, type MemoryHit, type UserMemory } from "../../src/index.ts";
import { openedMemory } from "../fakes/opened-memory.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";

async function say(me: UserMemory, sessionId: string, ...texts: string[]): Promise<void> {
  const store = await me.layers.sessions({ mode: "write", create: true });
  if (!(await store.getSession(sessionId))) await store.createSession(sessionId, { source: "web" });
  for (const content of texts) await store.appendMessage(sessionId, { role: "user", content });
}

function texts(hits: readonly MemoryHit[]): string[] {
  return hits.map(({ kind, text }) => `${kind}: ${text}`);
}

const ARCHIVING = "memory:\n  memory_char_limit: 60\n  overflow: archive\n";

describe("one search over entries, archive and sessions", () => {
  it("finds a word in all three, each hit with the ids that lead to it", async () => {
    const memory = await openedMemory(ARCHIVING);
    const me = memory.user({ platform: "web", id: "ana" });
    const old = await me.add("The harbour crane is painted blue every spring");
    const live = await me.add("The crane operator is called Mio");
    await say(me, "s1", "When does the crane leave?", "Something else");
    const { hits, leftOut } = await me.search("crane");
    expect(hits).toEqual([
      { kind: "entry", id: live.id, target: "memory", text: "The crane operator is called Mio" },
      { kind: "archive", id: old.id, target: "memory", text: old.text, archivedAt: expect.any(Date) },
      {
        kind: "session",
        chatId: "s1",
        sessionId: "s1",
        messageId: expect.any(Number),
        role: "user",
        text: "When does the crane leave?",
        at: expect.any(Date),
        title: null,
      },
    ]);
    expect(leftOut).toBe(0);
    expect(await me.explain(old.id)).toMatchObject({ isStored: false, text: old.text });
  });

  it("searches only where it is told to", async () => {
    const memory = await openedMemory(ARCHIVING);
    const me = memory.owner;
    await me.add("The harbour crane is painted blue every spring");
    await me.add("The crane operator is called Mio");
    await say(me, "s1", "When does the crane leave?");
    for (const [place, kind] of [
      ["entries", "entry"],
      ["archive", "archive"],
      ["sessions", "session"],
    ] as const) {
      const { hits, notes } = await me.search("crane", { in: [place] });
      expect(hits.map((hit) => hit.kind)).toEqual([kind]);
      expect(notes).toHaveLength(1);
    }
  });

  it("says in words how the sessions were searched, and why nothing was found", async () => {
    const me = (await openedMemory()).owner;
    await say(me, "s1", "the harbour crane is blue");
    const notes = async (query: string) => (await me.search(query, { in: ["sessions"] })).notes[0];
    expect(await notes("harbour crane")).toBe("Sessions: every word of the query was found.");
    expect(await notes('"harbour crane"')).toContain("taken literally");
    expect(await notes("harbour giraffe")).toContain("no message has all words");
    expect(await notes("giraffe")).toBe("Sessions: no message matches.");
    expect(await notes("?!")).toContain("no words to search for");
  });

  it("gives a short message whole and of a long one the part that matches, without marks", async () => {
    const me = (await openedMemory()).owner;
    const short = "In [1]: >>> print('crane')";
    await say(
      me,
      "s1",
      short,
      `${"Nothing to see here. ".repeat(80)}The crane is blue. ${"And on it goes. ".repeat(80)}`,
    );
    const { hits } = await me.search("crane", { in: ["sessions"] });
    expect(texts(hits)).toContain(`session: ${short}`);
    const long = hits.find(({ text }) => text !== short);
    expect(long?.text).toContain("The crane is blue.");
    expect(long?.text.length).toBeLessThan(700);
    expect(long?.text).not.toMatch(/>>>|<<</);
  });

  it("in an empty home it finds nothing, says so and creates nothing", async () => {
    const memory = await openedMemory("", join(tempDirectory(), "none"));
    const { hits, notes } = await memory.user({ platform: "web", id: "ana" }).search("crane");
    expect(hits).toEqual([]);
    expect(notes).toEqual([
      "Entries: there are none.",
      "Archive: there are none.",
      "Sessions: nothing is stored yet.",
    ]);
    expect(existsSync(memory.home)).toBe(false);
  });

  it("with both files off it still searches the sessions, and says so", async () => {
    const me = (await openedMemory("memory:\n  memory_enabled: false\n  user_profile_enabled: false\n"))
      .owner;
    await say(me, "s1", "crane");
    const { hits, notes } = await me.search("crane");
    expect(hits).toHaveLength(1);
    expect(notes[0]).toContain("switches both memory files off");
  });

  it("refuses places, limits and queries that make no sense", async () => {
    const me = (await openedMemory()).owner;
    const bad = [
      me.search("crane", { in: ["everywhere" as "entries"] }),
      me.search("crane", { in: [] }),
      me.search("crane", { limit: 0 }),
      me.search("crane", { limit: 1.5 }),
      me.search(" "),
      me.search(undefined as unknown as string),
    ];
    for (const each of bad) {
      const cause = await each.catch((reason: unknown) => reason);
      expect(cause).toBeInstanceOf(HermesError);
      expect(cause).toMatchObject({ code: "bad-search", hint: expect.stringMatching(/\w/) });
    }
  });
});
