// Settings of RetainDB and the texts that are made of its answers.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { missing, RETAINDB_SETTINGS } from "../../src/retaindb/settings.ts";
import { compact, cutUnits, forModel, levelFor, overlayOf, selfModelOf } from "../../src/retaindb/texts.ts";

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
    expect(RETAINDB_SETTINGS.read({ home: "/h/.hermes", env })).toMatchObject({
      apiKey: "rdb-1",
      baseUrl: "http://host:3111/base",
      project: "kiln",
    });
  });

  it("have a project named after the profile, and 'default' for the usual home", () => {
    const project = (home: string) => RETAINDB_SETTINGS.read({ home, env: {} }).project;
    expect(project("/u/.hermes/profiles/work")).toBe("hermes-work");
    expect(project("/u/.hermes")).toBe("default");
    expect(project("/")).toBe("default");
  });

  it("need a key and an address, and say which variable is missing", () => {
    const settings = (env: Record<string, string>) => RETAINDB_SETTINGS.read({ home: homeWith(), env });
    expect(missing(settings({}))).toContain("RETAINDB_API_KEY");
    expect(missing(settings({ RETAINDB_API_KEY: "k", RETAINDB_BASE_URL: "nonsense" }))).toContain(
      "RETAINDB_BASE_URL",
    );
    expect(missing(settings({ RETAINDB_API_KEY: "k" }))).toBeUndefined();
  });
});

describe("the overlay", () => {
  const profile = (...contents: unknown[]) => ({ memories: contents.map((content) => ({ content })) });
  const found = (...contents: unknown[]) => ({ results: contents.map((content) => ({ content })) });

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
