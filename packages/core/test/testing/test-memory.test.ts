import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fakeTextModel, openTestMemory, testClock } from "../../testing/index.ts";
import { NODE_COMPILE_CACHE } from "../fakes/compile-cache.ts";

const ANA = { platform: "web", id: "ana" } as const;

describe("a test memory", () => {
  it("is a real one in a home of its own, which is gone when it is closed", async () => {
    const one = await openTestMemory();
    const two = await openTestMemory();
    expect(one.home).not.toBe(two.home);
    await one.owner.add("Prefers metric units");
    await one.user(ANA).remember("chat", "Hello", "Hi");
    expect(await two.owner.list()).toEqual([]);
    expect(readdirSync(one.home)).toContain("state.db");
    await one.close();
    await one.close();
    expect(existsSync(one.home)).toBe(false);
    await expect(one.owner.add("x")).rejects.toMatchObject({ code: "memory-closed" });
    await two.close();
  });

  it("begins with the entries it is given", async () => {
    await using memory = await openTestMemory({
      entries: ["One", { text: "Two", target: "user" }, { text: "Hers", user: ANA }],
    });
    const texts = async (of: typeof memory.owner) =>
      (await of.list()).map(({ target, text }) => [target, text]);
    expect(await texts(memory.owner)).toEqual([
      ["memory", "One"],
      ["user", "Two"],
    ]);
    expect(await texts(memory.user(ANA))).toEqual([["memory", "Hers"]]);
  });

  it("has the config it is given, and refuses one that is wrong without leaving a home", async () => {
    await using memory = await openTestMemory({ config: { memory: { memory_char_limit: 20 } } });
    await expect(memory.owner.add("Longer than twenty characters")).rejects.toMatchObject({
      name: "HermesError",
    });
    const homes = () => [tmpdir(), "/dev/shm"].flatMap((path) => (existsSync(path) ? readdirSync(path) : []));
    const before = homes().filter((name) => name.startsWith("hermes-memory-"));
    await expect(openTestMemory({ config: { memory: { memory_char_limit: "many" } } })).rejects.toMatchObject(
      {
        code: "config",
      },
    );
    await expect(openTestMemory({ entries: [""] })).rejects.toMatchObject({ name: "HermesError" });
    expect(homes().filter((name) => name.startsWith("hermes-memory-") && !before.includes(name))).toEqual([]);
  });

  it("uses the clock it is given", async () => {
    const clock = testClock("2026-03-01T00:00:00Z");
    await using memory = await openTestMemory({ clock });
    await memory.owner.add("First");
    clock.tick(60_000);
    await memory.owner.add("Second");
    const times = (await memory.owner.history()).map(({ at }) => at.toISOString());
    expect(times).toEqual(["2026-03-01T00:01:00.000Z", "2026-03-01T00:00:00.000Z"]);
    clock.set(new Date(0));
    expect(clock.now().getTime()).toBe(0);
    expect(() => testClock("no date")).toThrow(RangeError);
  });

  it("works in a plain process, without a test runner", () => {
    const testing = join(import.meta.dirname, "../../testing/index.ts");
    const code = `
      const { openTestMemory } = await import(${JSON.stringify(testing)});
      await using memory = await openTestMemory({ entries: ["One"] });
      console.log((await memory.owner.list())[0].text);
    `;
    const env = { ...process.env, NODE_COMPILE_CACHE };
    const args = ["--input-type=module-typescript", "-e", code];
    expect(execFileSync(process.execPath, args, { env, encoding: "utf8" })).toBe("One\n");
  });
});

describe("a fake text model", () => {
  it("gives prepared answers in order, and records the requests", async () => {
    const model = fakeTextModel(["one", new Error("overloaded")]);
    expect(await model.complete({ prompt: "a", system: "s" })).toBe("one");
    await expect(model.complete({ prompt: "b" })).rejects.toThrow("overloaded");
    await expect(model.complete({ prompt: "c" })).rejects.toThrow("2 answers");
    expect(model.requests).toEqual([{ prompt: "a", system: "s" }, { prompt: "b" }, { prompt: "c" }]);
  });

  it("gives one answer always, or asks a function", async () => {
    const always = fakeTextModel("yes");
    expect([await always.complete({ prompt: "a" }), await always.complete({ prompt: "b" })]).toEqual([
      "yes",
      "yes",
    ]);
    const counting = fakeTextModel(({ prompt }, number) => `${number}: ${prompt}`);
    expect(await counting.complete({ prompt: "a" })).toBe("1: a");
    const signal = AbortSignal.abort();
    await expect(always.complete({ prompt: "c", signal })).rejects.toMatchObject({ name: "AbortError" });
  });
});
