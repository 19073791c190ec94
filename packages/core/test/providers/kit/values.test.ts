import { describe, expect, it } from "vitest";
import {
  hasContext,
  hasTools,
  modeSentence,
  PROVIDER_MODES,
  parseMode,
} from "../../../src/providers/kit/recall-limits.ts";
import { readBoolean, readNumber, readText } from "../../../src/providers/kit/settings.ts";

describe("values of settings", () => {
  it.each([true, 1, -2, "true", " Yes ", "ON", "1"])("reads %j as true", (value) => {
    expect(readBoolean(value, false)).toBe(true);
  });

  it.each([false, 0, "false", " No", "OFF", "0"])("reads %j as false", (value) => {
    expect(readBoolean(value, true)).toBe(false);
  });

  it.each([undefined, null, "", "maybe", {}, [], Number.NaN])("leaves %j to the default", (value) => {
    expect([readBoolean(value, true), readBoolean(value, false)]).toEqual([true, false]);
  });

  it("reads numbers and texts of numbers, and keeps them within bounds", () => {
    const read = (value: unknown) => readNumber(value, 7, { min: 1, max: 50 });
    expect([3, "3", " 4.5 ", "1e1", 0, "-3", 51, "999"].map(read)).toEqual([3, 3, 4.5, 10, 1, 1, 50, 50]);
    expect([undefined, null, "", " ", "many", true, [5], {}, "Infinity", Number.NaN].map(read)).toEqual(
      Array(10).fill(7),
    );
  });

  it("reads texts without the blanks around them, and other scalars as text", () => {
    const read = (value: unknown) => readText(value, "x");
    expect([" a b ", 5, true].map(read)).toEqual(["a b", "5", "true"]);
    expect(["", "  ", undefined, null, {}, ["a"]].map(read)).toEqual(Array(6).fill("x"));
  });
});

describe("modes", () => {
  it("understands the three modes and takes anything else for hybrid", () => {
    expect([" Context ", "TOOLS", "hybrid"].map(parseMode)).toEqual(["context", "tools", "hybrid"]);
    expect(["both", "", undefined, null, 1, ["tools"]].map(parseMode)).toEqual(Array(6).fill("hybrid"));
  });

  it("gives context and tools as the table of the modes says", () => {
    expect(PROVIDER_MODES.map((mode) => [mode, hasContext(mode), hasTools(mode)])).toEqual([
      ["hybrid", true, true],
      ["context", true, false],
      ["tools", false, true],
    ]);
  });

  it("says something else for each mode", () => {
    expect(new Set(PROVIDER_MODES.map(modeSentence)).size).toBe(3);
  });
});
