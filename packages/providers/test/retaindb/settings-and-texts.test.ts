// Settings of RetainDB and the texts that are made of its answers.
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { missing, readSettings, savedSettings, saveSettings } from "../../src/retaindb/settings.ts";
import {
  compact,
  cutUnits,
  forModel,
  levelFor,
  overlayOf,
  promptBlock,
  selfModelOf,
  synthesisOf,
} from "../../src/retaindb/texts.ts";

function homeWith(values?: object): string {
  const home = mkdtempSync(join(tmpdir(), "hermes-retaindb-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  if (values !== undefined) writeFileSync(join(home, "retaindb.json"), JSON.stringify(values));
  return home;
}

describe("settings of RetainDB", () => {
  it("come from the environment, without 'Bearer' and trailing slashes", () => {
    const env = {
      RETAINDB_API_KEY: " Bearer rdb-1 ",
      RETAINDB_BASE_URL: "http://host:3111/base//",
      RETAINDB_PROJECT: "kiln",
    };
    expect(readSettings({ home: "/h/.hermes", env })).toMatchObject({
      apiKey: "rdb-1",
      baseUrl: "http://host:3111/base",
      project: "kiln",
    });
  });

  it("have a project named after the profile, and 'default' for the usual home", () => {
    const project = (home: string) => readSettings({ home, env: {} }).project;
    expect(project("/u/.hermes/profiles/work")).toBe("hermes-work");
    expect(project("/u/.hermes")).toBe("default");
    expect(project("/")).toBe("default");
  });

  it("take the file for what no variable says, booleans and numbers also as text", () => {
    const home = homeWith({
      base_url: "http://file",
      project: "of-file",
      mode: "tools",
      mirror_memory: "false",
      max_chars: "90",
      user_scope: "id",
      dialectic_cadence: "3",
    });
    const settings = readSettings({ home, env: { RETAINDB_PROJECT: "of-env" } });
    expect(settings).toEqual({
      apiKey: "",
      baseUrl: "http://file",
      uploadRoots: [],
      project: "of-env",
      mode: "tools",
      isMirroring: false,
      maxChars: 90,
      userScope: "id",
      dialecticCadence: 3,
    });
  });

  it("need a key and an address, and say which variable is missing", () => {
    const settings = (env: Record<string, string>) => readSettings({ home: homeWith(), env });
    expect(missing(settings({}))).toContain("RETAINDB_API_KEY");
    expect(missing(settings({ RETAINDB_API_KEY: "k", RETAINDB_BASE_URL: "nonsense" }))).toContain(
      "RETAINDB_BASE_URL",
    );
    expect(missing(settings({ RETAINDB_API_KEY: "k" }))).toBeUndefined();
  });

  it("are saved beside keys of others, readable by the owner only", () => {
    const home = homeWith({ soul_sha256: { "u p": "abc" }, theirs: 1 });
    saveSettings({ mode: "context", mirror_memory: "false", max_chars: "50" }, home);
    const file = join(home, "retaindb.json");
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({
      soul_sha256: { "u p": "abc" },
      theirs: 1,
      mode: "context",
      mirror_memory: false,
      max_chars: 50,
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(savedSettings({ home, env: {} })).toEqual({
      mode: "context",
      mirror_memory: false,
      max_chars: 50,
    });
  });
});

describe("the overlay", () => {
  const profile = (...contents: unknown[]) => ({ memories: contents.map((content) => ({ content })) });
  const found = (...contents: unknown[]) => ({ results: contents.map((content) => ({ content })) });

  it("is empty without memories", () => {
    expect(overlayOf({}, undefined)).toEqual({ text: "", count: 0 });
    expect(overlayOf(profile(null, "", 7), found(undefined))).toEqual({ text: "", count: 0 });
  });

  it("names both sections, and says None for an empty one", () => {
    expect(overlayOf(profile("Likes  tea\n"), found())).toEqual({
      text: "[RetainDB Context]\nProfile:\n- Likes tea\nRelevant memories:\n- None",
      count: 1,
    });
  });

  it("has each text once, also when only case and punctuation differ, and none that is known already", () => {
    const { text, count } = overlayOf(
      profile("Likes tea.", "Owns a kiln"),
      found("likes TEA!", "Fires at 1240"),
      ["owns a kiln"],
    );
    expect(count).toBe(2);
    expect(text.split("\n")).toEqual([
      "[RetainDB Context]",
      "Profile:",
      "- Likes tea.",
      "Relevant memories:",
      "- Fires at 1240",
    ]);
  });

  it("has at most five items in a section", () => {
    const many = Array.from({ length: 8 }, (_, index) => `Fact ${index}`);
    expect(overlayOf(profile(...many), {}).count).toBe(5);
    expect(overlayOf({}, found(...many)).count).toBe(5);
  });

  it("keeps texts apart that have no Latin letters", () => {
    expect(overlayOf(profile("陶芸が好き", "お茶が好き", "!!", "??"), {}).count).toBe(4);
  });

  it("reads a search result in the shape of every edition", () => {
    const results = [{ memory: { content: "cloud" } }, { content: "local", memory: { content: "local" } }];
    expect(overlayOf({}, { results }).count).toBe(2);
  });

  it("cuts an item to 320 characters, and never inside one", () => {
    expect([...compact("🏺".repeat(400))]).toHaveLength(320);
  });
});

describe("other texts", () => {
  it.each([
    [0, "low"],
    [119, "low"],
    [120, "medium"],
    [399, "medium"],
    [400, "high"],
  ])("a question of %d characters gets the level %s", (chars, level) => {
    expect(levelFor(chars)).toBe(level);
  });

  it("an agent without memories has no self-model", () => {
    const model = { persona: "Dry", persistent_instructions: ["Be short", null], working_style: "calm" };
    expect(selfModelOf({ ...model, memory_count: 0 })).toBe("");
    expect(selfModelOf({ ...model, memory_count: 2 })).toBe(
      "[RetainDB Agent Self-Model]\nPersona: Dry\nInstructions:\n- Be short\nWorking style: calm",
    );
  });

  it("an empty answer is no synthesis", () => {
    expect(synthesisOf({ answer: " " })).toBe("");
    expect(synthesisOf({ answer: "Likes tea." })).toBe("[RetainDB User Synthesis]\nLikes tea.");
  });

  it("the prompt block names tools only where there are some", () => {
    expect(promptBlock({ project: "p", mode: "hybrid" })).toContain("retaindb_search");
    expect(promptBlock({ project: "p", mode: "context" })).not.toContain("retaindb_search");
  });

  it("a cut in UTF-16 units leaves no half character", () => {
    expect(cutUnits("ab🏺", 3)).toBe("ab");
    expect(cutUnits("ab🏺", 4)).toBe("ab🏺");
  });

  it("answers lose vectors and traces, and are bounded", () => {
    const memory = { id: "m", content: "x", embedding: [1, 2], content_vector: [3] };
    expect(forModel({ results: [{ memory, similarity: 1 }], trace_id: "t" })).toEqual({
      results: [{ memory: { id: "m", content: "x" }, similarity: 1 }],
    });
    const long = { memories: Array.from({ length: 500 }, (_, id) => ({ id, content: "y".repeat(1_000) })) };
    const answer = forModel(long);
    expect(answer.truncated).toBe(true);
    expect(JSON.stringify(answer).length).toBeLessThan(61_000);
    expect(forModel(undefined)).toEqual({ result: null });
  });

  it.each(["🌵", "\u0001", '"', "y"])("texts of %j are cut, each and together", (character) => {
    const memories = Array.from({ length: 40 }, () => ({ content: character.repeat(9_000) }));
    const answer = forModel({ memories, rest: memories.map(() => 1e300) });
    expect(answer.truncated).toBe(true);
    const [first] = answer.memories as { content: string }[];
    expect(first?.content.length).toBeLessThanOrEqual(4_001);
    expect(first?.content).toMatch(/…$/);
    expect(JSON.stringify(answer).length).toBeLessThan(61_000);
  });
});
