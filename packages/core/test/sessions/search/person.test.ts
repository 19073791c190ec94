// The same user id on two platforms is two people: neither appears in the other's answers.
import { expect, it } from "vitest";
import { openSessionStore, type SessionStore } from "../../../src/sessions/index.ts";
import { openSqliteStore } from "../../../src/sessions/sqlite/store.ts";
import { newPath, query } from "../../fakes/session-index.ts";

const ANA = { userId: "ana", userPlatform: "telegram" };
const SAID = [
  "the kiln needs repairs in march",
  "the harbour festival is in march",
  "buy glaze for the kiln",
  "call Martina tomorrow",
];

async function told(store: SessionStore, byOther: readonly string[]): Promise<void> {
  await store.createSession("mine", { source: "telegram", userId: "ana" });
  await store.appendMany(
    "mine",
    SAID.map((content, at) => ({ role: "user", content, timestamp: 1_780_000_000 + at })),
  );
  await store.createSession("theirs", { source: "discord", userId: "ana" });
  await store.appendMany(
    "theirs",
    byOther.map((content, at) => ({ role: "user", content, timestamp: 1_780_000_100 + at })),
  );
}

const QUESTIONS = ["kiln march", "when is the harbour festival?", "glaze OR kiln", "who is Martino", "kil*"];

it.each([
  ["the index", false],
  ["a read-only handle, over messages that are not indexed yet", true],
])("confidence and order do not depend on what another person wrote: %s", async (_name, isReadOnly) => {
  const answers = async (byOther: readonly string[]) => {
    const path = newPath();
    await using writer = await openSessionStore({ path });
    await told(writer, byOther);
    await using store = isReadOnly ? await openSqliteStore({ path, readOnly: true }) : undefined;
    const found = [];
    for (const question of QUESTIONS) {
      const { hits, stage, confidence, empty } = await (store ?? writer).search(question, ANA);
      found.push({
        stage,
        confidence,
        empty,
        hits: hits.map(({ id, score, matched }) => ({ id, score, matched })),
      });
    }
    return found;
  };
  const alone = await answers([]);
  const quiet = await answers(Array.from({ length: 60 }, (_, at) => `nothing about it ${at}`));
  const loud = await answers(Array.from({ length: 60 }, (_, at) => `kiln harbour glaze Martino ${at}`));
  expect(quiet).toEqual(alone);
  expect(loud).toEqual(alone);
  expect(loud.map(({ hits }) => hits.length > 0)).toEqual(QUESTIONS.map(() => true));
});

it("a word that may be a slip counts half, and the answer names the word that was found", async () => {
  await using store = await openSessionStore({ path: newPath() });
  await store.createSession("a", { source: "cli" });
  await store.appendMany("a", [
    { role: "user", content: "call Martina tomorrow, Martina is back" },
    { role: "user", content: "nothing else" },
  ]);
  const guessed = await store.search("who is Martino");
  expect(guessed.hits).toMatchObject([
    { snippet: expect.stringContaining(">>>Martina<<<"), matched: ["martina"] },
  ]);
  expect(guessed.confidence?.score).toBeLessThanOrEqual(0.5);
  const known = await store.search("who is Martina");
  expect(known).toMatchObject({ hits: [{ matched: ["martina"] }], confidence: { score: 1 } });
  const mixed = await store.search("call Martino tomorrow");
  expect(mixed.hits[0]?.matched).toEqual(["call", "martina", "tomorrow"]);
  expect(mixed.confidence?.score).toBeLessThan(1);
  expect(mixed.confidence?.score).toBeGreaterThan(guessed.confidence?.score ?? 1);
});

it("a run for a person is found by the platform that its settings name, also when they change", async () => {
  const path = newPath();
  await using store = await openSessionStore({ path });
  await store.createSession("chat", { source: "telegram", userId: "ana" });
  await store.createSession("run", { source: "subagent", userId: "ana", parentSessionId: "chat" });
  const id = await store.appendMessage("run", { role: "user", content: "quartzwharf" });
  const found = async (userPlatform: string) =>
    (await store.search("quartzwharf", { userId: "ana", userPlatform })).hits.map((hit) => hit.id);
  expect(await found("telegram")).toEqual([id]);
  expect(await found("discord")).toEqual([]);
  query(path, `UPDATE sessions SET model_config = '{"_user_platform":"discord"}' WHERE id = 'run'`);
  expect([await found("telegram"), await found("discord")]).toEqual([[], [id]]);
  query(path, "UPDATE sessions SET model_config = NULL WHERE id = 'run'");
  expect([await found("telegram"), await found("discord")]).toEqual([[id], []]);
  query(path, "UPDATE sessions SET source = 'signal' WHERE id = 'chat'");
  expect([await found("telegram"), await found("signal")]).toEqual([[], [id]]);
  expect((await store.search("quartzwharf", { userId: "ana" })).hits).toHaveLength(1);
});
