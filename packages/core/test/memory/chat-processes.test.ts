// Several processes on one chat: an exchange that all of them store is stored once, and a killed one blocks nobody.
import { expect, it } from "vitest";
import { openMemory } from "../../src/memory/index.ts";
import { startScript } from "../fakes/child.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";

const ANA = { platform: "web", id: "ana" };

async function processes(home: string, count: number) {
  const children = Array.from({ length: count }, () => startScript("remembering-process.ts", [home]));
  for (const child of children) expect(await child.nextLine()).toBe("ready");
  return children;
}

it("two processes that remember the same exchange at once store it once", { timeout: 60_000 }, async () => {
  const home = tempDirectory();
  const children = await processes(home, 2);
  for (let round = 0; round < 5; round += 1) {
    for (const line of [`c\tquestion ${round}\tanswer ${round}`, `c\tsame\twords\trequest-${round}`]) {
      for (const child of children) child.say(line);
      const outcomes = await Promise.all(children.map((child) => child.nextLine()));
      expect(outcomes.map((text) => JSON.parse(text ?? "{}").stored).sort()).toEqual([0, 2]);
    }
  }
  for (const child of children) child.closeInput();
  await Promise.all(children.map((child) => child.rest()));
  await using memory = await openMemory({ home });
  const { messages } = await memory.user(ANA).context("c");
  expect(messages).toHaveLength(20);
  expect(messages.slice(0, 2)).toEqual([
    { role: "user", content: "question 0" },
    { role: "assistant", content: "answer 0" },
  ]);
});

it("what was acknowledged is there after a kill, and the next process goes on at once", {
  timeout: 60_000,
}, async () => {
  const home = tempDirectory();
  const [child] = await processes(home, 1);
  if (child === undefined) throw new Error("no child");
  for (let at = 0; at < 3; at += 1) {
    child.say(`c\tq${at}\ta${at}`);
    await child.nextLine();
  }
  child.say("c\tlast\tword");
  await child.kill();
  await using memory = await openMemory({ home });
  const me = memory.user(ANA);
  await me.remember("c", "last", "word");
  const { messages } = await me.context("c");
  expect(messages.map(({ content }) => content)).toEqual([
    "q0",
    "a0",
    "q1",
    "a1",
    "q2",
    "a2",
    "last",
    "word",
  ]);
});
