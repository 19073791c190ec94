// Options that are unknown, of a wrong type, or contradict each other are refused before anything is opened.
import { readdirSync } from "node:fs";
import { openMemory } from "@hermes-memory/core/memory";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../../core/test/fakes/temp-directory.ts";
import { type AgentOptions, createAgent } from "../../../src/agent/index.ts";

async function refusal(options: object): Promise<unknown> {
  return createAgent(options as AgentOptions).then(
    () => "made",
    (cause: unknown) => cause,
  );
}

describe("an option that createAgent does not know", () => {
  it.each([
    ["contextFile", "Did you mean 'contextFiles'?"],
    ["titels", "Did you mean 'titles'?"],
    ["userId", "Pass user: { platform, id }, or the memory of that user as 'memory'."],
    ["skipContextFiles", "Context files are read only with contextFiles: true."],
    ["systemMessage", "It is called 'instructions' now; 'identity' says who the agent is."],
  ])("%s is refused with the right name", async (name, hint) => {
    const home = tempDirectory();
    expect(await refusal({ home, [name]: "x" })).toMatchObject({
      code: "bad-option",
      message: `createAgent has no option '${name}'.`,
      hint,
    });
    expect(readdirSync(home)).toEqual([]);
  });

  it("lists the options where none is similar", async () => {
    expect(await refusal({ home: "x", zzzzzz: 1 })).toMatchObject({
      hint: expect.stringMatching(/^The options are memory, home, user, /),
    });
  });

  it("in chat is refused, too", async () => {
    expect(await refusal({ home: "x", chat: { thread: "t" } })).toMatchObject({
      code: "bad-option",
      message: "The option chat has no field 'thread'.",
    });
  });
});

describe("a value of a wrong type", () => {
  it.each([
    [{ home: 7 }, "The option home is number."],
    [{ titles: "no" }, "The option titles is string."],
    [{ tools: [] }, "The option tools is a list."],
    [{ onEvent: {} }, "The option onEvent is object."],
    [{ identity: null }, "The option identity is null."],
    [{ identity: " " }, "The option identity is empty."],
    [{ chat: { userName: 7 } }, "The option chat.userName is number."],
    [{ provider: {} }, "The option provider has no 'name'."],
    [{ contextEngine: { name: "x" } }, expect.stringContaining("The option contextEngine has no")],
  ])("%j is refused", async (options, message) => {
    expect(await refusal({ home: tempDirectory(), ...options })).toMatchObject({
      code: "bad-option",
      message,
    });
  });
});

it("a model that is only a name is refused with the way out", async () => {
  expect(await refusal({ home: tempDirectory(), env: {}, model: "gpt-5" })).toMatchObject({
    code: "bad-model",
  });
});

describe("whose agent it is", () => {
  it("has to be said, and said once", async () => {
    const home = tempDirectory();
    await using memory = await openMemory({ home });
    const ana = memory.user({ platform: "web", id: "ana" });
    const wrong: readonly (readonly [object, string])[] = [
      [{}, "bad-option"],
      [{ memory: undefined }, "bad-option"],
      [{ memory: undefined, home }, "bad-option"],
      [{ memory }, "bad-option"],
      [{ memory: ana, home: tempDirectory() }, "bad-option"],
      [{ memory: ana, administrator: true }, "bad-option"],
      [{ memory: ana, user: { platform: "web", id: "bo" } }, "user-mismatch"],
      [{ memory: memory.owner, user: { platform: "web", id: "ana" } }, "user-mismatch"],
      [{ memory: ana, user: undefined }, "bad-user-id"],
      [{ memory: ana, chatId: "1", sessionId: "2" }, "bad-option"],
      [{ memory: ana, chatId: "1", continueLast: true }, "bad-option"],
    ];
    for (const [options, code] of wrong)
      expect(await refusal({ env: {}, ...options }), JSON.stringify(Object.keys(options))).toMatchObject({
        code,
        hint: expect.stringMatching(/./),
      });
    expect(await refusal({ memory })).toMatchObject({
      message: "The option memory is the memory of a whole home, and not of one person.",
    });
  });
});
