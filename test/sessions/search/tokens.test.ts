import { describe, expect, it } from "vitest";
import { pick, randomNumbers } from "../../../bench/corpus/random.ts";
import { foldTerm, tokenize } from "../../../src/sessions/search/tokens.ts";
import { growthOf } from "./growth.ts";
import { realFts5 } from "./real-fts5.ts";

const SURROGATES = [0xd800, 0xdfff] as const;
const LAST = 0x10ffff;
/** From here on nothing is assigned but a few characters of plane 14 and private use. */
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
  it("treat every character of Unicode as FTS5 does, at the start, inside and at the end of a word", () => {
    // Many to a row, each in three words that hold nothing else of interest.
    const characters = everyCharacter();
    const texts: string[] = [];
    for (let at = 0; at < characters.length; at += 500) {
      const row = characters.slice(at, at + 500);
      texts.push(row.map((each) => `${each}x a${each}b z${each}`).join(" "));
    }
    expect(texts.map(terms)).toEqual(realFts5().words(texts));
  }, 60_000);

  it.each([
    ["Latin", "Żółć ĄĘ naïve Straße Æsir ŒUVRE ǅ İstanbul ıŞIK Ǽ ǿ ﬁne ſo ẞ"],
    ["accents behind their letters", "e\u0301te\u0301 \u0301start o\u0308\u0323 x\u0305y a\u0334b"],
    ["Greek", "Ὀδυσσεύς ΚΌΣΜΟΣ ς ϐϑϕϖ ά Ώ µ"],
    ["Cyrillic", "Ёлка ЙОД Ђ Ї Ԩ ё"],
    ["emoji", "kiln🏺shop 🔥hot 🥰🤔 👩‍👩‍👧 ❤️ ☕️cup 🇩🇪"],
    ["CJK", "釉料数据库。备份，策略 カタカナ・テスト ｶﾅ 한국어 조합 ㈱ 〇"],
    ["other scripts", "ภาษาไทย हिन्दी עִבְרִית العربية ქართული Ა ፩ Ꭰ 𐐀 𝟘"],
    [
      "what machines write",
      "maria@studio.example src/a_b.py v1.4.2 C:\\x 100% it's $HOME <b> a\u00a0b a\u200bb \ue000",
    ],
  ])("are those of FTS5 for %s", (_name, text) => {
    expect([terms(text)]).toEqual(realFts5().words([text]));
  });

  it("are those of FTS5 for texts of chance", () => {
    const random = randomNumbers(3);
    const blocks = [
      0x20, 0x60, 0xc0, 0x300, 0x370, 0x400, 0x600, 0x900, 0xe00, 0x3040, 0x4e00, 0xac00, 0x1f300, 0x1f900,
    ];
    const texts = Array.from({ length: 1500 }, () =>
      Array.from({ length: 60 }, () =>
        random() < 0.2 ? " " : String.fromCodePoint(pick(blocks, random) + Math.floor(random() * 0x80)),
      ).join(""),
    );
    expect(texts.map(terms)).toEqual(realFts5().words(texts));
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
    expect(foldTerm("ΚΌΣΜΟΣ")).toBe("κόσμοσ");
    expect(foldTerm("cafe\u0301")).toBe("cafe");
    expect(foldTerm("plain")).toBe("plain");
  });

  it("stays as it is when folded again", () => {
    const unstable = everyCharacter().filter((text) => foldTerm(foldTerm(text)) !== foldTerm(text));
    expect(unstable).toEqual([]);
  });
});
