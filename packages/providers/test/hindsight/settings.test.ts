// Settings of Hindsight: files, variables, unusable values, availability, and the names of banks.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { bankIdOf } from "../../src/hindsight/provider.ts";
import { baseUrlOf, HINDSIGHT_SETTINGS, missingFor, parseTags } from "../../src/hindsight/settings.ts";

function placeWith(values: object, env: Record<string, string> = {}) {
  const home = tempDirectory();
  mkdirSync(join(home, "hindsight"));
  writeFileSync(join(home, "hindsight", "config.json"), JSON.stringify(values));
  return { home, env: { HOME: "/nowhere", PATH: "", ...env } };
}

const parse = (values: object = {}, env: Record<string, string> = {}) =>
  HINDSIGHT_SETTINGS.read(placeWith(values, env));

describe("values", () => {
  it("may have the names of other editions, and a bank may be nested", () => {
    const settings = parse({
      apiKey: "k",
      llmApiKey: "l",
      prefetch_method: "reflect",
      banks: { hermes: { bankId: "nested", budget: "high" } },
    });
    expect(settings).toMatchObject({
      apiKey: "k",
      bankId: "nested",
      budget: "high",
      recallMethod: "reflect",
    });
    expect(settings.embedded.llmApiKey).toBe("l");
    expect(parse({ budget: "low" }).budget).toBe("low");
    expect(parse({ mode: "local" }).deployment).toBe("local_embedded");
  });

  it("come from a variable when the file has none, and from the file when it has one", () => {
    const env = {
      HINDSIGHT_MODE: "local_external",
      HINDSIGHT_API_KEY: "env-key",
      HINDSIGHT_API_URL: "http://env",
      HINDSIGHT_TIMEOUT: "7",
      HINDSIGHT_IDLE_TIMEOUT: "0",
      HINDSIGHT_BANK_ID: "env-bank",
      HINDSIGHT_BUDGET: "low",
      HINDSIGHT_RETAIN_TAGS: "a, b ,a",
      HINDSIGHT_RETAIN_OBSERVATION_SCOPES: "per_tag",
      HINDSIGHT_RETAIN_SOURCE: "env",
      HINDSIGHT_RETAIN_USER_PREFIX: "Human",
      HINDSIGHT_RETAIN_ASSISTANT_PREFIX: "Bot",
      HINDSIGHT_LLM_API_KEY: "llm",
      HINDSIGHT_API_LLM_BASE_URL: "http://llm",
    };
    expect(parse({ bank_id: "", timeout: null }, env)).toMatchObject({
      deployment: "local_external",
      apiKey: "env-key",
      apiUrl: "http://env",
      timeoutS: 7,
      bankId: "env-bank",
      budget: "low",
      retainTags: ["a", "b"],
      observationScopes: "per_tag",
      retainSource: "env",
      userPrefix: "Human",
      assistantPrefix: "Bot",
      embedded: { idleTimeoutS: 0, llmApiKey: "llm", llmBaseUrl: "http://llm" },
    });
    expect(parse({ bank_id: "file", timeout: "9" }, env)).toMatchObject({ bankId: "file", timeoutS: 9 });
  });

  it("that cannot be used become defaults, with a sentence that does not repeat them", () => {
    const place = placeWith({
      timeout: "soon",
      recall_budget: "enormous",
      mode: "moon",
      memory_mode: "x",
      retain_every_n_turns: 0,
    });
    const settings = HINDSIGHT_SETTINGS.read(place);
    expect(settings).toMatchObject({
      timeoutS: 120,
      budget: "mid",
      deployment: "cloud",
      mode: "hybrid",
    });
    expect(settings.retainEvery).toBe(1);
    expect(HINDSIGHT_SETTINGS.remarks(place)).toEqual([
      "'mode' must be one of cloud, local_embedded, local_external; 'cloud' is used.",
      "'mode' must be one of hybrid, context, tools; 'hybrid' is used.",
      "'recall_budget' must be one of low, mid, high; 'mid' is used.",
      "'timeout' is not a number; 120 is used.",
    ]);
  });

  it.each([
    [
      ["world", "experience"],
      ["world", "experience"],
    ],
    ["world, observation", ["world", "observation"]],
    [[], ["observation"]],
    ["", undefined],
    [undefined, ["observation"]],
    [["opinion"], ["observation"]],
  ])("recall_types %j are %j", (value, types) => {
    expect(parse({ recall_types: value }).recallTypes).toEqual(types);
  });

  it.each([
    ["", undefined],
    ["per_tag", "per_tag"],
    ["shared", "shared"],
    ["nonsense", undefined],
    ['[["a"],["a","b"]]', [["a"], ["a", "b"]]],
    [["a", "b"], [["a", "b"]]],
    [[["a"], "b"], undefined],
    [{ a: 1 }, undefined],
  ])("observation_scopes %j are %j", (value, scopes) => {
    expect(parse({ observation_scopes: value }).observationScopes).toEqual(scopes);
  });

  it.each([
    ["a, b,, a ", ["a", "b"]],
    ['["x","y","x"]', ["x", "y"]],
    [
      ["z", 1, null, " z "],
      ["z", "1"],
    ],
    ["[broken", ["[broken"]],
    [7, []],
  ])("tags %j are %j", (value, tags) => {
    expect(parseTags(value)).toEqual(tags);
  });
});

describe("files", () => {
  const place = () => {
    const [home, userHome] = [tempDirectory(), tempDirectory()];
    return { home, userHome, env: { HOME: userHome, PATH: "" } };
  };
  const write = (directory: string, text: string) => {
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, "config.json"), text);
  };

  it("the file of the home wins over the one of an older installation as a whole", () => {
    const { home, userHome, env } = place();
    write(join(userHome, ".hindsight"), '{"bank_id":"old","retain_source":"old"}');
    expect(HINDSIGHT_SETTINGS.read({ home, env })).toMatchObject({ bankId: "old", retainSource: "old" });
    write(join(home, "hindsight"), '{"bank_id":"new"}');
    expect(HINDSIGHT_SETTINGS.read({ home, env })).toMatchObject({ bankId: "new", retainSource: "" });
  });

  it("a broken file means defaults and a remark", () => {
    const { home, env } = place();
    write(join(home, "hindsight"), '{"api_key": "secret-key",');
    expect(HINDSIGHT_SETTINGS.read({ home, env }).bankId).toBe("hermes");
    const remarks = HINDSIGHT_SETTINGS.remarks({ home, env });
    expect(remarks).toHaveLength(1);
    expect(remarks[0]).not.toContain("secret-key");
  });
});

describe("availability", () => {
  it("needs a key or an address in the cloud", () => {
    expect(missingFor(parse())).toContain("HINDSIGHT_API_KEY");
    expect(missingFor(parse({}, { HINDSIGHT_API_KEY: "k" }))).toBeUndefined();
    expect(missingFor(parse({ api_url: "http://x" }))).toBeUndefined();
    expect(baseUrlOf(parse())).toBe("https://api.hindsight.vectorize.io");
  });

  it("needs nothing for a server of the user's", () => {
    expect(missingFor(parse({ mode: "local_external" }))).toBeUndefined();
    expect(baseUrlOf(parse({ mode: "local_external" }))).toBe("http://localhost:8888");
  });

  it("needs hindsight-embed or uvx for the daemon, and prefers the first", () => {
    const [one, other] = [tempDirectory(), tempDirectory()];
    const embedded = (path: string) =>
      parse({ mode: "local_embedded", embed_version: "0.9" }, { PATH: path });
    expect(missingFor(embedded(one))).toContain("uvx");
    writeFileSync(join(other, "uvx"), "", { mode: 0o755 });
    writeFileSync(join(one, "hindsight-embed"), "", { mode: 0o644 }); // not executable
    expect(embedded(`${one}:${other}`).embedded.program).toEqual({
      command: join(other, "uvx"),
      args: ["hindsight-embed@0.9"],
    });
    writeFileSync(join(other, "hindsight-embed"), "", { mode: 0o755 });
    expect(embedded(`${one}:${other}`).embedded.program).toEqual({
      command: join(other, "hindsight-embed"),
      args: [],
    });
    expect(missingFor(embedded(other))).toBeUndefined();
  });
});

describe("the bank", () => {
  const PARTS = {
    profile: "coder",
    workspace: "hermes",
    platform: "telegram",
    session: "s-1",
    user: undefined,
  };
  const bank = (
    bankTemplate: string,
    parts: Partial<Record<keyof typeof PARTS, string>> = {},
    userScope = "platform",
  ) =>
    bankIdOf({ bankId: "static", bankTemplate, userScope: userScope as "platform" }, {
      ...PARTS,
      ...parts,
    } as Parameters<typeof bankIdOf>[1]);

  it.each([
    ["", "static"],
    ["hermes-{user}", "hermes"],
    ["{profile}-{workspace}-{platform}-{session}", "coder-hermes-telegram-s-1"],
    ["{user}", "static"],
    ["{nobody}-x", "static"],
    ["{profile", "static"],
    ["a--{user}__b", "a-_b"],
  ])("of the owner by template %j is %s", (template, id) => {
    expect(bank(template)).toBe(id);
  });

  it("has each value made safe", () => {
    expect(bank("x-{profile}", { profile: "--my profile/№1__" })).toBe("x-my-profile-1");
  });

  it("of a user is never that of the owner or of another user", () => {
    const users = [
      undefined,
      "telegram:42",
      "discord:42",
      "telegram:4:2",
      "telegram:4-2",
      "telegram:ä",
      "telegram:ö",
    ];
    for (const template of ["", "hermes-{user}", "{user}", "{platform}", "{unknown}"]) {
      const banks = users.map((user) => bank(template, user === undefined ? {} : { user }));
      expect(new Set(banks).size).toBe(users.length);
    }
  });

  it("of a user by id is named as in the Python edition where the template names users", () => {
    expect(bank("hermes-{user}", { user: "42" }, "id")).toBe("hermes-42");
    expect(bank("hermes-{user}", { user: "a b@c" }, "id")).toBe("hermes-a-b-c");
    expect(bank("hermes-{user}", { user: "ä" }, "id")).not.toBe("hermes");
    expect(bank("", { user: "42" }, "id")).toBe("static-42");
    expect(bank("{user}", { user: "42" }, "id")).toBe("42");
  });

  it("of a user by id is never that of the owner, nor that of a user who was kept apart from the owner", () => {
    const apart = bank("{user}", { user: "static" }, "id");
    expect(apart).not.toBe(bank("{user}"));
    expect(bank("{user}", { user: apart }, "id")).not.toBe(apart);
    expect(bank("{profile}-{user}", { profile: "", user: "static" }, "id")).not.toBe("static");
    expect(bank("{platform}-{user}", { platform: "", user: "cli" }, "id")).not.toBe(
      bank("{platform}-{user}", { platform: "cli" }),
    );
  });
});
