import { describe, expect, it } from "vitest";
import { activeProviderName, isProviderName } from "../../../src/providers/discovery/find-providers.ts";

describe("the name in memory.provider", () => {
  it.each(["", "  ", "\u00a0\n", "builtin", "Built-In", " NONE ", "BUILTIN"])(
    "%j means built-in memory only",
    (value) => {
      expect(activeProviderName(value)).toBe("");
    },
  );

  it("is trimmed and keeps its case", () => {
    expect(activeProviderName("  MyNotes\n")).toBe("MyNotes");
    expect(activeProviderName("nonesuch")).toBe("nonesuch");
  });
});

it("a name cannot lead out of the plugin folder", () => {
  for (const name of ["a", "A1", "my.notes_2-x", "7"]) expect(isProviderName(name)).toBe(true);
  for (const name of ["", ".", "..", "../x", "a/b", "a\\b", "-x", "_x", "a b", "é", "a\n", "a\0"])
    expect(isProviderName(name)).toBe(false);
});
