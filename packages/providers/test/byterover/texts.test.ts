import { describe, expect, it } from "vitest";
import { codePointLength } from "../../../core/src/lib/index.ts";
import { checkSetting, readByteroverSettings } from "../../src/byterover/setup.ts";
import {
  mirrorNote,
  preCompressNote,
  queryRecall,
  searchRecall,
  toolAnswer,
  turnNote,
} from "../../src/byterover/texts.ts";

describe("notes for ByteRover", () => {
  it("hold the texts of both sides, each cut at 2000 characters", () => {
    expect(turnNote("a question?", "an answer")).toBe("User: a question?\nAssistant: an answer");
    const [user, assistant] = (turnNote("ü😀".repeat(1_500), "x".repeat(2_001)) ?? "").split("\n");
    expect(user).toBe(`User: ${"ü😀".repeat(1_000)}`);
    expect(assistant).toBe(`Assistant: ${"x".repeat(2_000)}`);
  });

  it("are not made of turns in which the user wrote fewer than 10 characters", () => {
    expect(turnNote("  123456789  ", "a long answer")).toBeUndefined();
    expect(turnNote("  1234567890 ", "x")).toBe("User:   1234567890 \nAssistant: x");
  });

  it("say whose memory changed, and leave removals out", () => {
    expect(mirrorNote("add", "user", "likes tea")).toBe("[User profile] likes tea");
    expect(mirrorNote("replace", "memory", "uses pnpm")).toBe("[Agent memory] uses pnpm");
    expect(mirrorNote("remove", "memory", "")).toBeUndefined();
    expect(mirrorNote("add", "user", " \n")).toBeUndefined();
  });

  it("hold the last ten messages before a compression, texts of the two sides only, 500 characters each", () => {
    const messages = [
      { role: "user", content: "too old" },
      ...Array.from({ length: 4 }, (_, index) => ({ role: "user", content: `question ${index}` })),
      { role: "system", content: "rules" },
      { role: "tool", content: "output" },
      { role: "assistant", content: [{ type: "text" as const, text: "parts" }] },
      { role: "assistant", content: "  \n" },
      { role: "assistant" },
      { role: "assistant", content: "y".repeat(501) },
    ];
    expect(preCompressNote(messages)).toBe(
      [
        "[Pre-compression context]",
        "user: question 0",
        "user: question 1",
        "user: question 2",
        "user: question 3",
        `assistant: ${"y".repeat(500)}`,
      ].join("\n"),
    );
    expect(preCompressNote(messages.slice(5, 8))).toBeUndefined();
    expect(preCompressNote([])).toBeUndefined();
  });
});

describe("recall from ByteRover", () => {
  const hit = { title: "Ports", path: "infra/ports.md", score: 0.8, excerpt: "The database port is 5433." };

  it("lists hits with title and path, a blank line between them", () => {
    const other = { excerpt: "\nStaging uses 5434.\n" };
    expect(searchRecall({ results: [hit, other, "odd", {}, { title: "empty", excerpt: " " }] }, 500)).toBe(
      "## ByteRover Context\n**Ports** (infra/ports.md)\nThe database port is 5433.\n\nStaging uses 5434.",
    );
  });

  it("is empty without hits", () => {
    expect(searchRecall({ results: [], message: "Context tree not initialized." }, 500)).toBe("");
    expect(searchRecall({ message: "no results at all, but a long sentence" }, 500)).toBe("");
  });

  it("keeps within its room", () => {
    const text = searchRecall({ results: Array(50).fill(hit) }, 200);
    expect(codePointLength(text)).toBeLessThanOrEqual(200);
    expect(text.startsWith("## ByteRover Context\n**Ports**")).toBe(true);
    expect(searchRecall({ results: [hit] }, 0)).toBe("");
  });

  it("takes a model's answer without its footer, and only one of more than 20 characters", () => {
    const footer = "\n\n---\nSource: ByteRover Knowledge Base";
    const answer = "It is 5433 everywhere";
    expect(queryRecall({ result: answer + footer }, 500)).toBe(`## ByteRover Context\n${answer}`);
    expect(queryRecall({ result: answer.slice(0, 20) + footer }, 500)).toBe("");
    expect(queryRecall({ result: footer }, 500)).toBe("");
    expect(queryRecall({ content: answer }, 500)).toBe(`## ByteRover Context\n${answer}`);
    expect(queryRecall({}, 500)).toBe("");
  });

  it("takes the sentence that nothing was found for nothing", () => {
    const nothing = '**Summary**: No matching knowledge found for "zebra".\n\n**Details**: not covered.';
    expect(queryRecall({ result: nothing }, 500)).toBe("");
    expect(toolAnswer({ result: nothing })).toBe("No relevant memories found.");
  });

  it("answers a tool with 8000 characters at most, and says when there was more", () => {
    expect(toolAnswer({ result: "😀".repeat(8_000) })).toBe("😀".repeat(8_000));
    expect(toolAnswer({ result: "😀".repeat(8_001) })).toBe(`${"😀".repeat(8_000)}\n\n[... truncated]`);
    expect(toolAnswer({ result: "x".repeat(19) })).toBe("No relevant memories found.");
    expect(toolAnswer({ result: "x".repeat(20) })).toBe("x".repeat(20));
    expect(toolAnswer({})).toBe("No relevant memories found.");
  });
});

describe("settings of ByteRover", () => {
  it("have defaults for missing and unusable values", () => {
    const defaults = {
      mode: "hybrid",
      maxChars: 5_000,
      prefetchCommand: "search",
      searchLimit: 5,
      queryTimeoutSeconds: 10,
    };
    expect(readByteroverSettings({})).toEqual(defaults);
    expect(
      readByteroverSettings({ mode: 3, max_chars: "many", prefetch_command: "guess", search_limit: null }),
    ).toEqual(defaults);
  });

  it("are read in the spellings that users write, and limited to the range that brv accepts", () => {
    expect(
      readByteroverSettings({
        mode: " TOOLS ",
        max_chars: "900",
        prefetch_command: "Query",
        search_limit: 99.7,
        query_timeout: 1,
      }),
    ).toEqual({
      mode: "tools",
      maxChars: 900,
      prefetchCommand: "query",
      searchLimit: 50,
      queryTimeoutSeconds: 10,
    });
  });

  it("are checked by setup", () => {
    expect(checkSetting("mode", " Tools ")).toEqual({ ok: true, value: "tools" });
    expect(checkSetting("search_limit", "7")).toEqual({ ok: true, value: 7 });
    expect(checkSetting("search_limit", "51")).toMatchObject({
      ok: false,
      error: expect.stringContaining("1 to 50"),
    });
    expect(checkSetting("search_limit", "2.5").ok).toBe(false);
    expect(checkSetting("max_chars", "").ok).toBe(false);
    expect(checkSetting("prefetch_command", "guess")).toMatchObject({
      ok: false,
      error: expect.stringContaining("search, query"),
    });
    expect(checkSetting("api_key", "k").ok).toBe(false);
    expect(checkSetting("toString", "1").ok).toBe(false);
  });
});
