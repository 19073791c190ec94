import type { ModelIdentity } from "@hermes-memory/agent/internal/models";
import type { ModelConfig } from "@hermes-memory/core/internal/config";
import { describe, expect, it } from "vitest";
import { message } from "../../../agent/test/messages.ts";
import { isOtherServer, plannedModel, settingsPlan } from "../../src/cli/model/set-model.ts";
import { callProblem } from "../../src/cli/model/test-model.ts";

const NONE: ModelConfig = {
  default: "",
  provider: "",
  baseUrl: "",
  apiKey: "",
  apiMode: "",
  probeRemote: false,
};
const OWN: ModelConfig = {
  ...NONE,
  default: "old",
  provider: "custom",
  baseUrl: "http://127.0.0.1:1/v1",
  apiKey: "own-key",
  apiMode: "chat_completions",
  contextLength: 8192,
};
const identity = (provider: string, baseUrl = ""): ModelIdentity => {
  return { model: "m", provider, apiMode: "chat_completions", baseUrl };
};

describe("what changes in config.yaml for another model", () => {
  it("another model of the same server keeps address, key and protocol, but not the window of the old one", () => {
    const planned = plannedModel(OWN, { model: "new" }, false);
    expect(settingsPlan(OWN, planned, { hasLength: true })).toEqual({
      unset: ["context_length"],
      set: [["default", "new"]],
    });
  });

  it("the same model again changes nothing", () => {
    const planned = plannedModel(OWN, { model: "old" }, false);
    expect(settingsPlan(OWN, planned, { hasLength: true })).toEqual({ unset: [], set: [] });
  });

  it("another server removes everything of the old one, its key first", () => {
    const planned = plannedModel(OWN, { model: "new", provider: "anthropic" }, true);
    const plan = settingsPlan(OWN, planned, { hasLength: true });
    expect(plan.unset).toEqual(["api_key", "base_url", "api_mode", "context_length"]);
    expect(plan.set).toEqual([
      ["provider", "anthropic"],
      ["default", "new"],
    ]);
  });

  it("a new key is written last, after the address it belongs to", () => {
    const wanted = { model: "new", provider: "custom", baseUrl: "http://127.0.0.1:2/v1", apiKey: "new-key" };
    const plan = settingsPlan(OWN, plannedModel(OWN, wanted, true), { hasLength: true });
    expect(plan.unset).toContain("api_key");
    expect(plan.set).toEqual([
      ["base_url", "http://127.0.0.1:2/v1"],
      ["default", "new"],
      ["api_key", "new-key"],
    ]);
  });

  it("an invalid window is removed too, and a given one is written", () => {
    const { contextLength: _ignored, ...unread } = OWN;
    expect(
      settingsPlan(unread, plannedModel(unread, { model: "new" }, false), { hasLength: true }).unset,
    ).toEqual(["context_length"]);
    const planned = plannedModel(NONE, { model: "new", contextLength: 4096 }, false);
    expect(settingsPlan(NONE, planned, { hasLength: false }).set).toEqual([
      ["default", "new"],
      ["context_length", 4096],
    ]);
  });

  it.each([
    ["nothing but a model is wanted", {}, identity("custom", "http://127.0.0.1:1/v1"), false],
    [
      "the same provider is named",
      { provider: "custom" },
      identity("custom", "http://127.0.0.1:1/v1"),
      false,
    ],
    ["another provider is named", { provider: "anthropic" }, identity("anthropic"), true],
    [
      "the same address is written otherwise",
      { baseUrl: "x" },
      identity("custom", "http://127.0.0.1:1/v1/"),
      false,
    ],
    ["another address is given", { baseUrl: "x" }, identity("custom", "http://127.0.0.1:2/v1"), true],
  ])("when %s", (_when, wanted, after, expected) => {
    const before = identity("custom", "http://127.0.0.1:1/v1");
    expect(isOtherServer(OWN, before, wanted, after)).toBe(expected);
  });

  it("settings that lead to no server are replaced, and so are missing ones", () => {
    expect(isOtherServer(OWN, undefined, { provider: "anthropic" }, identity("anthropic"))).toBe(true);
    expect(isOtherServer(NONE, undefined, { provider: "anthropic" }, identity("anthropic"))).toBe(false);
  });
});

describe("the tool call of a test", () => {
  const calling = (name: string, args: unknown) => {
    const call = { id: "1", type: "function", function: { name, arguments: args } };
    return { role: "assistant" as const, tool_calls: [call] };
  };

  it.each([
    ["the right call", calling("report_number", '{"number": 7}'), undefined],
    ["another number", calling("report_number", '{"number": 8}'), "the arguments"],
    ["malformed arguments", calling("report_number", '{"number": 7'), "the arguments"],
    ["a list for arguments", calling("report_number", "[7]"), "the arguments"],
    ["a tool nobody offered", calling("memory", "{}"), "does not exist"],
    ["no call", { role: "assistant" as const, content: "7" }, "text instead"],
    ["an empty list", { role: "assistant" as const, content: "", tool_calls: [] }, "text instead"],
  ])("is judged with %s", (_what, row, problem) => {
    const found = callProblem(message(row));
    if (problem === undefined) expect(found).toBeUndefined();
    else expect(found).toContain(problem);
  });
});
