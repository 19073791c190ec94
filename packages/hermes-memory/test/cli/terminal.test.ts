import { expect, it } from "vitest";
import { painter, wantsColour } from "../../src/cli/terminal.ts";

it.each([
  [{}, true, true],
  [{}, false, false],
  [{ NO_COLOR: "1" }, true, false],
  [{ TERM: "dumb" }, true, false],
  [{ FORCE_COLOR: "1" }, false, true],
  [{ FORCE_COLOR: "0" }, false, false],
  [{ FORCE_COLOR: "1", NO_COLOR: "1" }, true, false],
])("with %o on a terminal: %s, colour is %s", (env, isTerminal, expected) => {
  expect(wantsColour(env, isTerminal)).toBe(expected);
});

it("uses colour only when allowed", () => {
  expect(painter(false)("red", "x")).toBe("x");
  expect(painter(true)("red", "x")).toBe("\u001b[31mx\u001b[39m");
});
