import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ifUsable, openHome } from "../../../src/memory/index.ts";
import type { ConfigField, MemoryProvider } from "../../../src/providers/contract.ts";
import {
  checkAnswer,
  collectAnswers,
  defaultAnswer,
  type Existing,
  fieldsOf,
  isAsked,
  preselected,
  readExisting,
  readFields,
  splitAnswers,
  variableOf,
} from "../../../src/providers/setup/setup.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";

const answers = (given: Readonly<Record<string, string>> = {}) => new Map(Object.entries(given));

describe("a field", () => {
  it("is asked when every answer in its `when` is the one given", () => {
    const field: ConfigField = { key: "url", when: { mode: "cloud", region: "eu" } };
    expect(isAsked({ key: "plain" }, answers())).toBe(true);
    expect(isAsked(field, answers({ mode: "cloud", region: "eu" }))).toBe(true);
    expect(isAsked(field, answers({ mode: "cloud", region: "us" }))).toBe(false);
    expect(isAsked(field, answers({ mode: "cloud" }))).toBe(false);
  });

  it("offers the saved value, then the default selected by an earlier answer, then its own default", () => {
    const field: ConfigField = {
      key: "url",
      default: "http://fallback",
      default_from: { field: "mode", map: { cloud: "https://cloud", local: "http://localhost" } },
    };
    expect(defaultAnswer(field, answers({ mode: "local" }), "http://mine")).toBe("http://mine");
    expect(defaultAnswer(field, answers({ mode: "local" }), "")).toBe("http://localhost");
    expect(defaultAnswer(field, answers({ mode: "toString" }))).toBe("http://fallback");
    expect(defaultAnswer(field, answers())).toBe("http://fallback");
    expect(defaultAnswer({ key: "bare" }, answers())).toBe("");
  });

  it("with choices preselects the present value, the default, or the first", () => {
    const field: ConfigField = { key: "mode", choices: ["a", "b", "c"], default: "b" };
    expect(preselected(field, answers(), "c")).toBe(2);
    expect(preselected(field, answers(), "gone")).toBe(1);
    expect(preselected({ key: "mode", choices: ["a", "b"] }, answers())).toBe(0);
    expect(defaultAnswer({ key: "mode", choices: ["a", "b"], default: "z" }, answers())).toBe("a");
  });

  it("accepts a trimmed single line, choices in any case", () => {
    expect(checkAnswer({ key: "k" }, "  x y \n")).toEqual({ ok: true, value: "x y" });
    expect(checkAnswer({ key: "k", choices: ["Local"] }, "local")).toEqual({ ok: true, value: "Local" });
    expect(checkAnswer({ key: "k", choices: ["a", "b"] }, "c")).toEqual({
      ok: false,
      error: "must be one of a, b",
    });
    expect(checkAnswer({ key: "k" }, "one\ntwo").ok).toBe(false);
    expect(checkAnswer({ key: "k" }, " ")).toEqual({ ok: true, value: "" });
    expect(checkAnswer({ key: "k", required: true }, " ").ok).toBe(false);
  });

  it.each<[ConfigField, string, string]>([
    [{ key: "k", type: "boolean" }, "Y", "true"],
    [{ key: "k", type: "boolean" }, "off", "false"],
    [{ key: "k", type: "integer", minimum: 1, maximum: 20 }, "20", "20"],
    [{ key: "k", type: "number", minimum: 0.5, maximum: 15 }, ".75", ".75"],
    [{ key: "k", type: "number", step: 0.1 }, "0.3", "0.3"],
    [{ key: "k", type: "number", minimum: 0.5, step: 0.5 }, "1.5", "1.5"],
    [{ key: "k", type: "number" }, "-4", "-4"],
    [{ key: "k", type: "integer", choices: ["auto", "4"] }, "auto", "auto"],
  ])("%o accepts %s", (field, text, value) => {
    expect(checkAnswer(field, text)).toEqual({ ok: true, value });
  });

  it.each<[ConfigField, string, string]>([
    [{ key: "k", type: "boolean" }, "perhaps", "must be yes or no"],
    [{ key: "k", type: "integer", minimum: 1, maximum: 20 }, "21", "must be a whole number from 1 to 20"],
    [{ key: "k", type: "integer" }, "1.5", "must be a whole number"],
    [{ key: "k", type: "integer" }, "1e3", "must be a whole number"],
    [{ key: "k", type: "number", minimum: 0.5 }, "0.4", "must be a number of at least 0.5"],
    [{ key: "k", type: "number", maximum: 1 }, "2", "must be a number of at most 1"],
    [{ key: "k", type: "number" }, "Infinity", "must be a number"],
    [{ key: "k", type: "number", step: 0.5 }, "0.3", "must be a number in steps of 0.5"],
  ])("%o refuses %s", (field, text, error) => {
    expect(checkAnswer(field, text)).toEqual({ ok: false, error });
  });

  it("that is secret has a variable, named after provider and key unless it says otherwise", () => {
    expect(variableOf("my-notes.2", { key: "api key", secret: true })).toBe("MY_NOTES_2_API_KEY");
    expect(variableOf("7brain", { key: "key", secret: true })).toBe("_7BRAIN_KEY");
    expect(variableOf("x", { key: "key", secret: true, env_var: "X_TOKEN" })).toBe("X_TOKEN");
    expect(variableOf("x", { key: "url", env_var: "X_URL" })).toBe("X_URL");
    expect(variableOf("x", { key: "url" })).toBeUndefined();
  });
});

describe("a schema from a plugin", () => {
  it("becomes fields whose values are texts", () => {
    const schema = [
      {
        key: " mode ",
        description: "Mode",
        choices: ["a", 2, null],
        default: 2,
        when: { on: true, odd: [] },
      },
      { key: "token", secret: "yes", required: "true", choices: ["x"], env_var: "TOKEN", url: "https://x" },
      { key: "url", default_from: { field: "mode", map: { a: 1 } }, extra: {} },
    ];
    expect(readFields(schema)).toEqual({
      fields: [
        { key: "mode", description: "Mode", choices: ["a", "2"], default: "2", when: { on: "true" } },
        { key: "token", secret: true, required: true, env_var: "TOKEN", url: "https://x" },
        { key: "url", default_from: { field: "mode", map: { a: "1" } } },
      ],
      warnings: [],
    });
  });

  it("loses the fields that cannot be used, each with a warning", () => {
    const schema = [null, "text", {}, { key: "" }, { key: [] }, { key: "good" }, { key: "good" }, [1]];
    const { fields, warnings } = readFields(schema);
    expect(fields).toEqual([{ key: "good" }]);
    expect(warnings).toHaveLength(7);
  });

  it.each([7, {}, "x", new Map()])("that is no list asks nothing: %o", (schema) => {
    expect(readFields(schema)).toMatchObject({ fields: [], warnings: [expect.any(String)] });
  });

  it("that throws asks nothing, and none at all is no warning", () => {
    const provider: MemoryProvider = {
      name: "x",
      isAvailable: () => true,
      initialize() {},
      getToolSchemas: () => [],
    };
    const getConfigSchema = () => {
      throw new Error("no schema");
    };
    expect(fieldsOf(provider)).toEqual({ fields: [], warnings: [] });
    expect(fieldsOf({ ...provider, getConfigSchema }).warnings).toEqual([
      "getConfigSchema() failed: no schema. Nothing is asked.",
    ]);
  });
});

const FIELDS: readonly ConfigField[] = [
  { key: "mode", choices: ["cloud", "local"], default: "cloud" },
  { key: "token", secret: true, required: true, when: { mode: "cloud" } },
  {
    key: "url",
    env_var: "NOTES_URL",
    default: "http://fallback",
    default_from: { field: "mode", map: { cloud: "https://cloud" } },
  },
  { key: "path", required: true, when: { mode: "local" } },
  { key: "comment" },
];

const NOTHING: Existing = { settings: new Map(), secrets: new Map() };

function collect(given: Readonly<Record<string, string>>, existing: Partial<Existing> = {}) {
  const { answers, missing, ...rest } = collectAnswers(FIELDS, new Map(Object.entries(given)), {
    ...NOTHING,
    ...existing,
  });
  return { answers: Object.fromEntries(answers), missing: missing.map(({ key }) => key), ...rest };
}

describe("answers without asking", () => {
  it("are the given values, else defaults that follow from earlier answers", () => {
    expect(collect({ token: "t1" })).toEqual({
      answers: { mode: "cloud", token: "t1", url: "https://cloud" },
      missing: [],
      invalid: [],
      unknown: [],
      unasked: [],
    });
    expect(collect({ mode: "LOCAL", path: "/x" }).answers).toEqual({
      mode: "local",
      url: "http://fallback",
      path: "/x",
    });
  });

  it("use saved values: a setting is the default, a secret needs no answer", () => {
    const existing = {
      settings: new Map([
        ["url", "http://mine"],
        ["mode", "gone"],
      ]),
      secrets: new Map([["token", "old"]]),
    };
    expect(collect({}, existing)).toMatchObject({
      answers: { mode: "cloud", url: "http://mine" },
      missing: [],
    });
    expect(collect({ token: "new" }, existing).answers).toMatchObject({ token: "new" });
    expect(collect({ token: "" }, existing).answers).not.toHaveProperty("token");
  });
});

it("answers are split: secrets never reach the settings, a setting with a variable goes to both", () => {
  const answers = new Map([
    ["mode", "cloud"],
    ["token", "t1"],
    ["url", "https://u"],
    ["comment", ""],
    ["stranger", "x"],
  ]);
  expect(splitAnswers("notes", FIELDS, answers)).toEqual({
    settings: { mode: "cloud", url: "https://u" },
    secrets: [
      { key: "token", variable: "NOTES_TOKEN", value: "t1", isSecret: true },
      { key: "url", variable: "NOTES_URL", value: "https://u", isSecret: false },
    ],
  });
});

describe("the values of an earlier setup", () => {
  const read = async (home: string, env = {}) => {
    const config = await ifUsable(openHome({ home }).config());
    const { notes: section } = (config?.raw.memory ?? {}) as Record<string, unknown>;
    return readExisting({ home, name: "notes", fields: FIELDS, env, section });
  };

  it("comes from the provider's file, then from config; secrets from the environment, then from .env", async () => {
    const home = tempDirectory();
    writeFileSync(
      join(home, "notes.json"),
      '\ufeff{"mode":"local","comment":{"not":"a text"},"token":"never"}',
    );
    writeFileSync(
      join(home, "config.yaml"),
      "memory:\n  notes:\n    mode: cloud\n    path: 7\n    comment: from config\n",
    );
    writeFileSync(join(home, ".env"), "NOTES_TOKEN=from-file\nNOTES_URL=http://file\n");
    expect(await read(home)).toEqual({
      settings: new Map([
        ["mode", "local"],
        ["url", "http://file"],
        ["path", "7"],
        ["comment", "from config"],
      ]),
      secrets: new Map([["token", "from-file"]]),
    });
    expect((await read(home, { NOTES_TOKEN: "from-env" })).secrets.get("token")).toBe("from-env");
  });
});
