import { DatabaseSync, type StatementSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { isReadBack, readsWholeTexts } from "../../../src/sessions/sqlite/open-database.ts";

/** Reads texts like Node 22. */
class UpToZero extends DatabaseSync {
  override prepare(): StatementSync {
    return super.prepare("SELECT substr(?, 1, instr(?1, char(0)) - 1) AS text");
  }
}

describe("a SQLite that reads texts up to a zero character", () => {
  it("is distinguished from one that reads them whole, like this Node's", () => {
    expect(isReadBack(() => new UpToZero(":memory:"))).toBe(false);
    expect(readsWholeTexts()).toBe(true);
  });
});
