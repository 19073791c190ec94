// Calls that run while their chat is forgotten or their person is erased: nothing of it comes back.
import { describe, expect, it } from "vitest";
import { Gate } from "../../src/memory/gate.ts";
import { openMemory, type UserMemory } from "../../src/memory/index.ts";
import { holders } from "../fakes/filled-person.ts";
import { ana } from "../fakes/opened-memory.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";

const ANA = { platform: "web", id: "ana" };
const SECRET = "quartzitekiln";

/** A model that answers when told to. */
function waiting(answer: string) {
  const asked = Promise.withResolvers<void>();
  const told = Promise.withResolvers<void>();
  const complete = async () => {
    asked.resolve();
    await told.promise;
    return answer;
  };
  return { model: { complete }, asked: asked.promise, tell: () => told.resolve() };
}

const CALLS = {
  extract: (me: UserMemory) => {
    const { model, ...rest } = waiting(JSON.stringify([{ target: "user", text: `They like ${SECRET}` }]));
    return { ...rest, ended: me.extract("c", { model }).catch(({ code }: { code: string }) => code) };
  },
  compact: (me: UserMemory) => {
    const { model, ...rest } = waiting(`## Summary\n${SECRET}`);
    const options = { model, contextLength: 8_000, force: true };
    return { ...rest, ended: me.compact("c", options).catch(({ code }: { code: string }) => code) };
  },
};

describe.each(Object.entries(CALLS))("%s whose model answers later", (name, call) => {
  it.each(["erase", "forgetChat"] as const)("writes nothing after %s", async (end) => {
    const home = tempDirectory();
    const memory = await openMemory({ home });
    const me = memory.user(ANA);
    for (let at = 0; at < 25; at += 1)
      await me.remember("c", `${at} I like ${SECRET} ${"lorem ".repeat(80)}`, "ipsum ".repeat(80));
    const { ended, asked, tell } = call(me);
    await asked;
    await (end === "erase" ? me.erase() : me.forgetChat("c"));
    tell();
    expect(await ended).toBe("unknown-chat");
    expect(await me.chats()).toEqual([]);
    expect(await me.list()).toEqual([]);
    expect(await me.history()).toEqual([]);
    await memory.close();
    if (end === "erase") expect(holders(home, SECRET)).toEqual([]);
  });

  it("writes nothing about messages that are gone, also if the chat began anew", async () => {
    const me = await ana();
    for (let at = 0; at < 25; at += 1)
      await me.remember("c", `${at} I like ${SECRET} ${"lorem ".repeat(80)}`, "ipsum ".repeat(80));
    const { ended, asked, tell } = call(me);
    await asked;
    await me.forgetChat("c");
    await me.remember("c", "Something else", "Fine.");
    tell();
    expect(await ended).toMatchObject(
      name === "extract" ? { messages: 0, added: [] } : { kind: "unchanged" },
    );
    expect(await me.list()).toEqual([]);
    expect(JSON.stringify(await me.context("c"))).not.toContain(SECRET);
  });
});

it("leaves no byte when turns run on all sides of an erasure", async () => {
  const home = tempDirectory();
  const memory = await openMemory({ home });
  const me = memory.user(ANA);
  await me.add(`Keeps a ${SECRET}`, { target: "user" });
  for (let at = 0; at < 5; at += 1) await me.remember(`old ${at}`, `The ${SECRET} is hot`, "Is it?");
  const before = Array.from({ length: 15 }, (_, at) => me.context(`new ${at}`, { query: `the ${SECRET}?` }));
  const stored = Array.from({ length: 15 }, (_, at) =>
    me.remember(`old ${at}`, `My ${SECRET}, ${at}`, "Yes."),
  );
  const erasing = me.erase();
  const after = Array.from({ length: 15 }, (_, at) => me.context(`later ${at}`, { query: "What do I own?" }));
  const [erased] = await Promise.all([erasing, ...before, ...stored, ...after]);
  expect(erased.remaining).toEqual([]);
  expect((await me.chats()).length).toBe(15);
  await memory.close();
  expect(holders(home, SECRET)).toEqual([]);
});

it("does not store a block of entries that another process erased meanwhile", async () => {
  const home = tempDirectory();
  const memory = await openMemory({ home });
  const me = memory.user(ANA);
  await me.add(`Keeps a ${SECRET}`);
  await using other = await openMemory({ home });
  const person = me.layers;
  const curated = person.curated.bind(person);
  let isFirst = true;
  person.curated = async (options) => {
    const read = await curated(options);
    if (isFirst) {
      isFirst = false;
      await other.user(ANA).erase();
    }
    return read;
  };
  expect((await me.context("c")).system).not.toContain(SECRET);
  person.curated = curated;
  expect((await me.context("c")).system).not.toContain(SECRET);
  await memory.close();
  await other.close();
  expect(holders(home, SECRET)).toEqual([]);
});

it("can be erased while a reply arrives that needs this memory", async () => {
  const me = await ana();
  const erasing = Promise.withResolvers<void>();
  const reply = erasing.promise.then(async () => `You have ${(await me.list()).length} entries.`);
  const remembered = me.remember("c", "How many entries do I have?", reply);
  const erased = me.erase();
  erasing.resolve();
  expect((await erased).remaining).toEqual([]);
  expect(await remembered).toMatchObject({ stored: 2 });
});

describe("the gate", () => {
  it("does not wait for a step outside, and waits for what follows it", async () => {
    const gate = new Gate();
    const order: string[] = [];
    const told = Promise.withResolvers<void>();
    const call = gate.pass(async (step) => {
      await step(() => told.promise);
      order.push("call");
    });
    await gate.passAlone(async () => void order.push("alone"));
    const second = gate.passAlone(async () => {
      told.resolve();
      await new Promise(setImmediate);
      order.push("alone again");
    });
    await Promise.all([call, second]);
    expect(order).toEqual(["alone", "alone again", "call"]);
  });

  it("is not held by a step that nobody waited for", async () => {
    const gate = new Gate();
    const told = Promise.withResolvers<void>();
    let left: Promise<void> | undefined;
    await gate.pass(async (step) => {
      left = step(() => told.promise);
    });
    told.resolve();
    await left;
    await expect(gate.passAlone(async () => "alone")).resolves.toBe("alone");
  });

  it("goes on after a call that fails", async () => {
    const gate = new Gate();
    await expect(gate.pass(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
    await expect(gate.passAlone(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
    await expect(gate.pass(async () => "yes")).resolves.toBe("yes");
  });
});
