import { describe, expect, it } from "vitest";
import { parseCall, type SearchRequest } from "../../../src/sessions/search-tool/request.ts";

const now = new Date(2026, 0, 31, 12, 0, 0);

const clock = { now: () => now };

function requestOf(args: unknown): SearchRequest {
  return parseCall(args, clock).request;
}

describe("which shape is meant", () => {
  it.each([
    [{ session_id: "a", around_message_id: 3, query: "x" }, "scroll"],
    [{ session_id: "a", around_message_id: 0 }, "scroll"],
    [{ session_id: "a", query: "x" }, "read"],
    [{ session_id: "a", around_message_id: null }, "read"],
    [{ session_id: "   ", around_message_id: 3 }, "browse"],
    [{ session_id: "", query: "x" }, "discover"],
    [{ session_id: null, query: "x" }, "discover"],
    [{ query: "  " }, "browse"],
    [{ query: 7 }, "browse"],
    [{ query: "x" }, "discover"],
    [{}, "browse"],
    [undefined, "browse"],
    [null, "browse"],
    ["query", "browse"],
    [[1, 2], "browse"],
  ])("%j is %s", (args, mode) => {
    expect(requestOf(args).mode).toBe(mode);
  });
});

describe("numbers", () => {
  it.each([
    [undefined, 3],
    [null, 3],
    ["x", 3],
    ["5.5", 3],
    [Number.NaN, 3],
    [Number.POSITIVE_INFINITY, 3],
    [{}, 3],
    [0, 1],
    [-4, 1],
    [999, 10],
    ["7", 7],
    [" 8 ", 8],
    [4.9, 4],
    [true, 1],
    ["99999999999999999999", 10],
  ])("limit %j counts as %i", (limit, expected) => {
    expect(requestOf({ limit })).toMatchObject({ limit: expected });
    expect(requestOf({ limit, query: "x" })).toMatchObject({ limit: expected });
  });

  it.each([
    [undefined, 5],
    ["bad", 5],
    [0, 1],
    [50, 20],
    ["2", 2],
  ])("window %j counts as %i", (window, expected) => {
    expect(requestOf({ session_id: "a", around_message_id: 1, window })).toMatchObject({ window: expected });
  });

  it("accepts an anchor as a number or a numeric string, and rejects anything else", () => {
    const anchorOf = (around_message_id: unknown) => requestOf({ session_id: "a", around_message_id });
    for (const seven of [7, "7", " 7 ", "+7", 7.9]) expect(anchorOf(seven)).toMatchObject({ anchor: 7 });
    for (const none of ["abc", "", "7.5", {}, [], Number.NaN])
      expect(anchorOf(none)).toMatchObject({ anchor: undefined });
  });
});

describe("profile and id in one", () => {
  const placeOf = (args: unknown) => {
    const { profile, request } = parseCall(args);
    return [profile, "sessionId" in request ? request.sessionId : undefined];
  };

  it.each([
    [{ session_id: "other/a" }, ["other", "a"]],
    [{ session_id: "wrong/a", profile: "other" }, ["other", "a"]],
    [{ session_id: "/a" }, [undefined, "a"]],
    [{ session_id: "other/" }, [undefined, "other/"]],
    [{ session_id: "a", profile: " other " }, ["other", "a"]],
    [{ session_id: "a", profile: "  " }, [undefined, "a"]],
    [{ session_id: " a " }, [undefined, "a"]],
    [{ session_id: "@session:other/a" }, ["other", "a"]],
    [{ session_id: "x/y/z" }, ["x", "y/z"]],
    [{ session_id: 20260131 }, [undefined, "20260131"]],
  ])("%j", (args, expected) => {
    expect(placeOf(args)).toEqual(expected);
  });
});

describe("filters", () => {
  it("reads roles and sources as comma lists or lists, and drops empty parts", () => {
    expect(requestOf({ query: "x", role_filter: " user , ,tool", source: ["cli", " "] })).toMatchObject({
      roles: ["user", "tool"],
      filters: { sources: ["cli"] },
    });
    expect(requestOf({ query: "x", role_filter: " , ", source: "" })).toMatchObject({
      roles: undefined,
      filters: {},
    });
  });

  it("reads times as dates, ages and seconds", () => {
    expect(requestOf({ after: "7d", before: 1_700_000_000 })).toMatchObject({
      filters: { after: now.getTime() / 1000 - 7 * 86_400, before: 1_700_000_000 },
    });
  });

  it.each([
    [{ query: "x", after: "some day" }, "after is not a time that can be read: some day."],
    [{ before: {} }, "before is not a time that can be read: {}."],
    [{ query: "x", scope: "mine" }, "scope must be others, lineage or all, but is mine"],
    [{ query: "x", detail: "some" }, "detail must be adaptive or full, but is some"],
    [{ scope: "x".repeat(100_000) }, `${"x".repeat(512)}...`],
    [{ session_id: "a", around_message_id: 1, scope: 3 }, "scope must be others, lineage or all, but is 3"],
    [{ session_id: ["a"] }, 'session_id must be a string, but is ["a"]'],
    [{ session_id: "a", profile: 5 }, "profile must be a string, but is 5"],
    [{ query: "x", source: 5 }, "source must be a name or several"],
    [{ query: "x", role_filter: {} }, "role_filter must be a name or several"],
  ])("refuses %o, because an answer without it would mislead", (args, message) => {
    expect(() => parseCall(args)).toThrow(message);
  });
});
