import { pyStrip } from "@hermes-memory/core/internal/lib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  parseCount,
  splitCommand,
  takeConsent,
  withoutOuter,
  withoutQuotes,
} from "../../../src/agent/commands/command.ts";

describe("a typed line", () => {
  it("is a command when its first word is a slash and a name", () => {
    expect(splitCommand("/help")).toEqual({ name: "help", args: "" });
    expect(splitCommand("/Title  My talk ")).toEqual({ name: "title", args: "My talk" });
    expect(splitCommand("/memory add one\ntwo")).toEqual({ name: "memory", args: "add one\ntwo" });
  });

  it.each([
    "/etc/hosts is odd",
    "/home/me",
    "/",
    "/ help",
    "//",
    "/.profile",
    "/file.txt",
    "/*.ts",
    " /help",
    "help",
    "",
    "what does /help do",
    "/2026",
  ])("is a message: %j", (line) => {
    expect(splitCommand(line)).toBeUndefined();
  });

  it("keeps every text behind the name", () => {
    const text = fc.string({ unit: "grapheme" }).filter((each) => pyStrip(each) === each);
    const keeps = fc.property(text, (args) => {
      expect(splitCommand(`/search ${args}`)).toEqual({ name: "search", args });
    });
    fc.assert(keeps);
  });
});

describe("words that answer the question beforehand", () => {
  it.each([
    ["now", ""],
    ["--yes", ""],
    ["-y", ""],
    ["NOW", ""],
    ["My talk now", "My talk"],
    ["My talk --yes", "My talk"],
    ["-y My talk", "My talk"],
    ["3 now", "3"],
  ])("are taken out of %j", (args, rest) => {
    expect(takeConsent(args)).toEqual({ isGiven: true, rest });
  });

  it.each(["", "My talk", "now playing", "nowhere", "know", '"do it now"', "--yesterday"])(
    "are not in %j",
    (args) => {
      expect(takeConsent(args)).toEqual({ isGiven: false, rest: args });
    },
  );
});

describe("quotes and brackets", () => {
  it.each([
    ['"kiln"', "kiln"],
    ["[3]", "3"],
    ["<kiln notes>", "kiln notes"],
    ['["kiln"]', "kiln"],
    ["“kiln”", "kiln"],
    ["[a] and [b]", "[a] and [b]"],
    ['"open', '"open'],
    ["'", "'"],
    ["[]", ""],
    ["kiln", "kiln"],
  ])("around the whole of %j are removed", (text, inner) => {
    expect(withoutOuter(text)).toBe(inner);
  });

  it("of a title: quotes go, brackets stay", () => {
    expect(withoutQuotes('"kiln"')).toBe("kiln");
    expect(withoutQuotes("[kiln]")).toBe("[kiln]");
  });
});

describe("numbers", () => {
  it("count whole numbers from 1 on", () => {
    expect(["1", "20", "0", "-1", "1.5", "x", "", "9999999999"].map(parseCount)).toEqual([
      1,
      20,
      ...Array.from({ length: 6 }, () => undefined),
    ]);
  });
});
