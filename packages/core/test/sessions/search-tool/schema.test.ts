import { describe, expect, it } from "vitest";
import {
  sessionSearchPreview,
  sessionSearchSchema,
  sessionSearchToolSchema,
} from "../../../src/sessions/search-tool/entry.ts";

describe("the schema of session_search", () => {
  const { name, description, parameters } = sessionSearchToolSchema;

  it("offers every argument, requires none and has no mode", () => {
    expect(name).toBe("session_search");
    expect(Object.keys(parameters.properties as object).sort()).toEqual(
      [
        "query",
        "detail",
        "limit",
        "sort",
        "session_id",
        "around_message_id",
        "window",
        "role_filter",
        "profile",
        "scope",
        "after",
        "before",
        "source",
      ].sort(),
    );
    expect(parameters.required).toEqual([]);
  });

  it.each([
    "DISCOVERY",
    "SCROLL",
    "READ",
    "BROWSE",
    "scroll FORWARD",
    "@session:<profile>/<id>",
    "OR",
    "NOT",
    "deploy*",
    "quoted phrase",
    "bookend_start",
    "match_message_id",
    "scope='lineage'",
    "No LLM",
  ])("tells the model about %s", (part) => {
    expect(description).toContain(part);
  });

  it("has summarize only where it is switched on, and then does not deny that a model is involved", () => {
    const on = sessionSearchSchema({ summarize: true });
    expect(Object.keys(on.parameters.properties as object)).toContain("summarize");
    expect(on.description).not.toContain("No LLM");
    expect(on.description).toContain("summarize: true");
    expect(sessionSearchSchema({ summarize: false })).toEqual(sessionSearchToolSchema);
  });
});

describe("the line in a transcript", () => {
  it.each([
    [{ query: "kiln\n  glaze" }, 'search past sessions: "kiln glaze"'],
    [{ query: "x".repeat(200) }, `search past sessions: "${"x".repeat(60)}..."`],
    [{ session_id: "other/a" }, "read session a (profile other)"],
    [{ session_id: "a", around_message_id: 7 }, "scroll session a around message 7"],
    [{ session_id: "a", around_message_id: "x" }, "scroll session a around message ?"],
    [{}, "list recent sessions"],
    [{ scope: "nowhere" }, "search past sessions"],
  ])("%j", (args, line) => {
    expect(sessionSearchPreview(args)).toBe(line);
  });
});
