import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ifUsable, openMemory } from "../../../src/memory/index.ts";
import type { ConfigField } from "../../../src/providers/contract.ts";
import { collectAnswers, type Existing, splitAnswers } from "../../../src/providers/setup/questions.ts";
import { readExisting } from "../../../src/providers/setup/saved-setup.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";

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

describe("answers without a person", () => {
  it("are what was given, else defaults that follow from earlier answers", () => {
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

  it("tell what is missing, wrong, unknown and not asked", () => {
    expect(collect({ mode: "local", token: "t1", colour: "red" })).toMatchObject({
      missing: ["path"],
      unasked: ["token"],
      unknown: ["colour"],
    });
    expect(collect({ mode: "moon", token: " " })).toMatchObject({
      invalid: [{ key: "mode", message: "must be one of cloud, local" }],
    });
    expect(collect({ token: " " }).invalid).toEqual([{ key: "token", message: "must not be empty" }]);
  });

  it("take up what is there: a setting is the default, a secret needs no answer", () => {
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

describe("what an earlier setup left", () => {
  const read = async (home: string, env = {}) => {
    const config = await ifUsable(openMemory({ home }).config());
    const { notes: section } = (config?.raw.memory ?? {}) as Record<string, unknown>;
    return readExisting({ home, name: "notes", fields: FIELDS, env, section });
  };

  it("is nothing in a fresh home, and nothing where files are broken", async () => {
    const home = tempDirectory();
    expect(await read(home)).toEqual(NOTHING);
    writeFileSync(join(home, "notes.json"), "{ broken");
    writeFileSync(join(home, "config.yaml"), "memory: [");
    expect(await read(home)).toEqual(NOTHING);
  });

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
