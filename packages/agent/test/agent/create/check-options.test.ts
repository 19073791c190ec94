// Options that are unknown, of a wrong type, or contradict each other are refused before anything is opened.
import { readdirSync } from "node:fs";
import { loadConfig } from "@hermes-memory/core/internal/config";
import { openMemory } from "@hermes-memory/core/internal/memory";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../../core/test/fakes/temp-directory.ts";
import { checkOptions } from "../../../src/agent/create/check-options.ts";
import { type AgentOptions, createAgent } from "../../../src/agent/index.ts";

/** Of the check alone. */
function checked(options: unknown): unknown {
  try {
    checkOptions(options as AgentOptions);
    return undefined;
  } catch (cause) {
    return cause;
  }
}

async function refusal(options: object): Promise<unknown> {
  return createAgent(options as AgentOptions).then(
    () => "made",
    (cause: unknown) => cause,
  );
}

const LISTED = "The type AgentOptions and docs/agent.md list the options.";

describe("an option that createAgent does not know", () => {
  it.each([
    ["contextFile", `Did you mean 'contextFiles'? ${LISTED}`],
    ["titels", `Did you mean 'titles'? ${LISTED}`],
    ["zzzzzz", LISTED],
    ["userId", "Pass user: { platform, id }, or the memory of that user as 'memory'."],
    ["skipContextFiles", "Context files are read only with contextFiles: true."],
    ["systemMessage", "It is called 'instructions' now; 'identity' says who the agent is."],
  ])("%s is refused with the right name", (name, hint) => {
    expect(checked({ home: "x", [name]: "x" })).toMatchObject({
      code: "bad-option",
      message: `createAgent has no option '${name}'.`,
      hint,
    });
  });

  it("is refused before anything is made", async () => {
    const home = tempDirectory();
    expect(await refusal({ home, titels: true })).toMatchObject({ code: "bad-option" });
    expect(readdirSync(home)).toEqual([]);
  });

  it("in chat is refused, too", () => {
    expect(checked({ home: "x", chat: { thread: "t" } })).toMatchObject({
      code: "bad-option",
      message: "The option chat has no field 'thread'.",
    });
  });
});

it("a hook with a misspelt name is refused: a gate that is never asked would let every tool run", () => {
  expect(checked({ home: "x", hooks: { pretoolcall: () => ({ block: true }) } })).toMatchObject({
    code: "bad-option",
    message: "The option hooks has no field 'pretoolcall'.",
    hint: expect.stringMatching(/^Did you mean 'preToolCall'\? Its fields are preModelCall, /),
  });
});

it("an option without a value counts as left out", () => {
  const none = { chatId: undefined, store: undefined, maxTurns: undefined, hooks: undefined };
  expect(checked({ home: "x", ...none, chat: { id: undefined } })).toBeUndefined();
  expect(checked({ home: "x", hooks: { turnEnd: undefined } })).toBeUndefined();
});

describe("a value of a wrong type", () => {
  it.each([
    [{ home: 7 }, "The option home is 7."],
    [{ titles: "no" }, "The option titles is a text."],
    [{ tools: [] }, "The option tools is a list."],
    [{ onEvent: {} }, "The option onEvent is an object."],
    [{ identity: null }, "The option identity is null."],
    [{ identity: " " }, "The option identity is an empty text."],
    [{ chat: { userName: 7 } }, "The option chat.userName is 7."],
    [{ provider: {} }, "The option provider has no 'name'."],
    [{ contextEngine: { name: "x" } }, expect.stringContaining("The option contextEngine has no")],
    [{ contextLength: "8000" }, "The option contextLength is a text."],
    [{ contextLength: 0 }, "The option contextLength is 0."],
    [{ config: { model: { context_length: 8000 } } }, "The option config is an object."],
    [{ config: { ok: true, value: {} } }, "The option config is an object."],
    [{ maxTurns: -1 }, "The option maxTurns is -1."],
    [{ maxTurns: 0 }, "The option maxTurns is 0."],
    [{ maxTurns: 1.5 }, "The option maxTurns is 1.5."],
    [{ hooks: { preToolCall: 5 } }, "The option hooks.preToolCall is 5."],
  ])("%j is refused", (options, message) => {
    expect(checked({ home: "x", ...options })).toMatchObject({
      code: "bad-option",
      message,
      hint: expect.stringMatching(/^(It takes an? |Pass an? |It takes (the|true) )/),
    });
  });
});

it("takes options as they are documented, and values that are left open", async () => {
  const home = tempDirectory();
  const config = await loadConfig(home);
  expect(config.ok).toBe(true);
  if (!config.ok) return;
  expect(checked({ home, config: config.value, contextLength: 128_000, titles: undefined })).toBe(undefined);
  expect(checked("home")).toMatchObject({ code: "bad-option" });
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
