// Lists that a client sends after a compaction: what the summary stands for cannot be taken back, and nothing is stored twice.
import { expect, it } from "vitest";
import { openMemory } from "../../src/memory/index.ts";
import { owner } from "../fakes/opened-memory.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";

const TURNS = 12;
const model = { complete: async () => "## Summary\nThey talked." };
const user = (content: string) => ({ role: "user", content });
const reply = (content: string) => ({ role: "assistant", content });

async function compactedChat() {
  const memory = await openMemory({ home: tempDirectory() });
  const me = memory.user({ platform: "web", id: "ana" });
  const list: { role: string; content: string }[] = [];
  for (let at = 0; at < TURNS; at += 1) {
    const [question, answer] = [`q${at} ${"lorem ".repeat(150)}`, `a${at} ${"ipsum ".repeat(150)}`];
    list.push(user(question), reply(answer));
    await me.remember("c", question, answer);
  }
  const { kind } = await me.compact("c", { model, contextLength: 4_000, force: true });
  expect(kind).toBe("compacted");
  const texts = async () => {
    const transcript = await me.transcript("c", { limit: Number.POSITIVE_INFINITY, format: "hermes" });
    return (transcript?.messages ?? []).map(({ content }) => String(content).split(" ")[0]);
  };
  return { memory, me, list, texts };
}

const said = Array.from({ length: TURNS }, (_, at) => [`q${at}`, `a${at}`]).flat();

it.each([
  ["a turn in the summary is left out", (l: object[]) => [...l.slice(0, 4), ...l.slice(6)], said],
  ["the list ends in the summary", (l: object[]) => l.slice(0, 6), said],
  [
    "a question in the summary was changed",
    (l: object[]) => [...l.slice(0, 6), user("EDIT"), reply("NEW")],
    [...said, "EDIT", "NEW"],
  ],
  [
    "an answer in the summary was made again",
    (l: object[]) => [...l.slice(0, 5), reply("NEW")],
    [...said, "q2", "NEW"],
  ],
  [
    "the newest answer was made again",
    (l: object[]) => [...l.slice(0, -1), reply("NEW")],
    [...said.slice(0, -1), "NEW"],
  ],
  [
    "the newest question was changed",
    (l: object[]) => [...l.slice(0, -2), user("EDIT"), reply("NEW")],
    [...said.slice(0, -2), "EDIT", "NEW"],
  ],
  ["nothing was changed", (l: object[]) => l, said],
] as const)("%s", async (_case, change, expected) => {
  const { memory, me, list, texts } = await compactedChat();
  const given = change(list) as { role: string; content: string }[];
  await me.remember("c", given, { follow: true });
  expect(await texts()).toEqual(expected);
  expect(await me.remember("c", given, { follow: true })).toMatchObject({ stored: 0, takenBack: 0 });
  expect(await texts()).toEqual(expected);
  await memory.close();
});

it("the whole list is known, also if its first words were said again at the end", async () => {
  const me = await owner();
  const list: { role: string; content: string }[] = [];
  const say = async (question: string, answer: string, id?: string) => {
    list.push(user(question), reply(answer));
    await me.remember("c", question, answer, { id });
  };
  await say("ok", "fine", "first");
  for (let at = 0; at < TURNS; at += 1) await say(`q${at} ${"lorem ".repeat(150)}`, "ipsum ".repeat(150));
  await me.compact("c", { model, contextLength: 4_000, force: true });
  await say("ok", "fine", "second");
  const more = await me.remember("c", [...list, user("And now?"), reply("Now this.")]);
  expect(more).toMatchObject({ stored: 2, known: list.length });
});

it("a chat keeps its title when it is compacted, and can be renamed to it", async () => {
  const { memory, me } = await compactedChat();
  await me.rename("c", "Kiln");
  for (let at = 0; at < 8; at += 1)
    await me.remember("c", `r${at} ${"lorem ".repeat(150)}`, "ipsum ".repeat(150));
  await me.compact("c", { model, contextLength: 4_000, force: true });
  expect((await me.chats()).map(({ title }) => title)).toEqual(["Kiln"]);
  expect(await me.rename("c", "Kiln")).toBe(true);
  await memory.close();
});
