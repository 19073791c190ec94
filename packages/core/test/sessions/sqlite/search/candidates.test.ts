// The forms of a word that a search also accepts, found among the words of the index.
import { describe, expect, it } from "vitest";
import { findForms } from "../../../../src/sessions/sqlite/search/candidates.ts";

/** An index with these words, all of which occur in messages of the user who asks, unless `own` names fewer. */
function formsIn(indexed: readonly string[], word: string, own: readonly string[] = indexed) {
  const sorted = [...indexed].sort();
  const terms = (beginning: string, most: number) =>
    sorted.filter((each) => each >= beginning && each.startsWith(beginning)).slice(0, most);
  return findForms({ terms }, word, { occurs: (each) => own.includes(each) });
}

describe("forms of a word", () => {
  it("have the same stem, irregular ones included", () => {
    const { forms } = formsIn(["run", "running", "runs", "ran", "rung", "rural"], "run");
    expect([...forms].sort()).toEqual(["ran", "running", "runs"]);
  });

  it("are guessed one typing error away, only when no form of the word occurs", () => {
    expect(formsIn(["kilns", "glaze"], "kilsn")).toEqual({ forms: ["kilns"], kin: [], isGuess: true });
    expect(formsIn(["kilns", "kilsn"], "kilsn")).toEqual({ forms: [], kin: [] });
  });

  it("are never guessed from words that only other users wrote", () => {
    expect(formsIn(["kilns"], "kilsn", [])).toEqual({ forms: [], kin: [] });
  });

  it("of seven letters and more bring words with the same beginning, which count less", () => {
    expect(formsIn(["deployment", "deploymate"], "deployments")).toEqual({
      forms: ["deployment"],
      kin: ["deploymate"],
    });
  });
});
