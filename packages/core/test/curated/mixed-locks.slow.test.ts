import { describe, it } from "vitest";
import { expectNothingLost } from "./mixed-writers.ts";

describe("four processes, two with koffi, one with flock(1), one with neither", () => {
  it("lose none of 800 adds", () => expectNothingLost(200));
});
