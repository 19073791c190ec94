// The door itself: what closing waits for, and that users cost nothing when they are gone.
import { expect, it } from "vitest";
import { openMemory } from "../../src/memory/index.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";

const ANA = { platform: "web", id: "ana" };

it("closing waits for what was asked to be stored before it", async () => {
  const home = tempDirectory();
  const memory = await openMemory({ home });
  const me = memory.user(ANA);
  const turns = Array.from({ length: 12 }, (_, at) => me.remember(`chat ${at % 3}`, `${at}?`, `${at}!`));
  const facts = Array.from({ length: 3 }, (_, at) => me.add(`Fact ${at}`));
  await memory.close();
  await expect(Promise.all([...turns, ...facts])).resolves.toHaveLength(15);
  await expect(me.list()).rejects.toMatchObject({ code: "memory-closed" });
  await using again = await openMemory({ home });
  const chats = await again.user(ANA).chats();
  expect(chats.map(({ messages }) => messages)).toEqual([8, 8, 8]);
  expect(await again.user(ANA).list()).toHaveLength(3);
});

it("a model that never answers does not keep the memory open", async () => {
  const memory = await openMemory({ home: tempDirectory() });
  const me = memory.user(ANA);
  await me.remember("c", "I live in Lisbon", "Noted.");
  const asked = Promise.withResolvers<void>();
  const told = Promise.withResolvers<string>();
  const complete = () => {
    asked.resolve();
    return told.promise;
  };
  const extracting = me.extract("c", { model: { complete } }).catch(({ code }: { code: string }) => code);
  await asked.promise;
  await memory.close();
  told.resolve('[{"target":"user","text":"Lives in Lisbon"}]');
  expect(await extracting).toBe("memory-closed");
});
