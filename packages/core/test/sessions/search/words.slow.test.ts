import { describe, expect, it } from "vitest";
import { foldTerm, indexTerms, indexText, tokenize } from "../../../src/sessions/search/words.ts";
import { growthOf } from "./growth.ts";
import { realFts5 } from "./real-fts5.ts";

const SURROGATES = [0xd800, 0xdfff] as const;
const LAST = 0x10ffff;
/** From here on only a few characters of plane 14 and private use are assigned. */
const EMPTY_PLANES = 0x33000;

function everyCharacter(): string[] {
  const characters: string[] = [];
  const isSparse = (point: number) => point > EMPTY_PLANES && point >> 16 !== 0xe;
  for (let point = 1; point <= LAST; point += isSparse(point) ? 61 : 1) {
    if (point < SURROGATES[0] || point > SURROGATES[1]) characters.push(String.fromCodePoint(point));
  }
  return characters;
}

function terms(text: string): string[] {
  return tokenize(text).map(({ term }) => term);
}

describe("words of a text", () => {
  it("are terms that FTS5 takes as they are, with every character at the start, inside and at the end", () => {
    // Many characters per row, each in three words with nothing else of interest.
    const characters = everyCharacter();
    const texts: string[] = [];
    for (let at = 0; at < characters.length; at += 500) {
      const row = characters.slice(at, at + 500);
      texts.push(row.map((each) => `${each}x a${each}b z${each}`).join(" "));
    }
    const fts5 = realFts5([], "ascii");
    expect(fts5.words(texts.map(indexText))).toEqual(texts.map(indexTerms));
  }, 60_000);

  it("hold every letter, digit and combining mark of Unicode that is not a joiner, an accent or a point", () => {
    const lost = everyCharacter().filter(
      (each) => /[\p{L}\p{N}]/u.test(each) && !/[\u0640]/.test(each) && terms(`a${each}`).join("") === "a",
    );
    expect(lost).toEqual([]);
    const signs = everyCharacter().filter((each) => /\p{Mc}/u.test(each));
    expect(signs.filter((each) => terms(`क${each}क`).join("").length < 3)).toEqual([]);
  });

  it.each([
    ["Latin", "Żóć ĄĘ naïve ǅ İstanbul ŞIK ſo"],
    ["accents behind their letters", "e\u0301te\u0301 \u0301start o\u0308\u0323"],
    ["Greek", "ΚΟΣΜΟΣ ς ϐϑϕϖ µ"],
    ["Cyrillic", "ЙОД Ђ Ї"],
    ["other scripts with blanks", "العربية ქართული ፩ 𐐀 𝟘"],
    [
      "what machines write",
      "maria@studio.example src/a_b.py v1.4.2 C:\\x 100% it's $HOME <b> a\u00a0b a\u200bb \ue000",
    ],
  ])("are those of the original's index for %s", (_name, text) => {
    expect([terms(text)]).toEqual(realFts5().words([text]));
  });

  it("carry the places where they stand", () => {
    const text = "  Zoë's 🏺 𐐀x, end.";
    const places = tokenize(text).map(({ start, end }) => text.slice(start, end));
    expect(places).toEqual(["Zoë", "s", "🏺", "𐐀x", "end"]);
    expect(tokenize("(re\u0301sume\u0301)")).toEqual([{ term: "resume", start: 1, end: 9 }]);
  });

  it("end at half a surrogate pair and at a zero, as they do once stored", () => {
    expect(terms("a\ud83cb\udffac\ud83c")).toEqual(["a", "b", "c"]);
    expect(terms("a\0b")).toEqual(["a", "b"]);
  });

  it.each(["word ", "é", "🏺", "e\u0301", "--", "\ud83c", "漢字、"])(
    "take time in proportion to a run of %j",
    (unit) => {
      expect(growthOf((size) => unit.repeat(size), tokenize, 20_000)).toBeLessThan(4);
    },
  );
});

describe("a folded word", () => {
  it("is spelled as the index spells it", () => {
    expect(foldTerm("Crème")).toBe("creme");
    expect(foldTerm("ΚΌΣΜΟΣ")).toBe("κοσμοσ");
    expect(foldTerm("cafe\u0301")).toBe("cafe");
    expect(foldTerm("plain")).toBe("plain");
  });

  it.each([
    ["letters of full width", "Ｄｏｃｋｅｒ２", "docker2"],
    ["half-width katakana", "ﾊﾞｯｸｱｯﾌﾟ", "バックアップ"],
    ["a half-width mark behind a usual letter", "ハﾞ", "バ"],
    ["Greek accents", "Ὀδυσσεύς", "οδυσσευσ"],
    ["two Greek signs on one letter", "ΐϋᾳ", "ιυα"],
    ["ё", "ЁЛКА", "елка"],
    ["ё in two characters", "е\u0308лка", "елка"],
    ["sharp s", "STRAẞE Straße", "strasse strasse"],
    ["Polish, Danish, Croatian, Maltese", "Łódź Øre Đuro Ħal", "lodz ore duro hal"],
    ["Turkish", "Iğdır ışık", "igdir isik"],
    ["letters that are two", "Æsir Œuvre Þór Garður ǽ ǿ", "aesir oeuvre thor gardur ae o"],
    ["ligatures", "ﬁne ﬂow oﬃce", "fine flow office"],
    ["Korean in letters", "서버".normalize("NFD"), "서버"],
  ])("has one spelling for %s", (_name, typed, expected) => {
    expect(terms(typed).join(" ")).toBe(expected);
  });

  it("keeps letters apart that are different letters", () => {
    expect(foldTerm("ЙОД")).toBe("йод");
    expect(foldTerm("が")).toBe("が");
    expect(foldTerm("Ї")).toBe("ї");
  });

  it("stays as it is when folded again", () => {
    const unstable = everyCharacter().filter((text) => foldTerm(foldTerm(text)) !== foldTerm(text));
    expect(unstable).toEqual([]);
  });
});
