import { describe, expect, it } from "vitest";
import { AnswerScrubber, scrubAnswer } from "../../../src/providers/index.ts";

const TEXTS: readonly (readonly [what: string, said: string, shown: string])[] = [
  ["a fence in the middle of a line", "Sure: <memory-context>\n- a\n</memory-context>\nBye", "Sure: \nBye"],
  ["one that is never closed", "Sure: <memory-context>\n- a", "Sure: "],
  ["in capitals, with a carriage return", "Sure: <Memory-Context>\r\n- a</MEMORY-context> b", "Sure:  b"],
  ["with blanks behind the tag", "Sure. <memory-context> \t\n- a\n</memory-context>\nBye", "Sure. \nBye"],
  ["at the start of a line", "<memory-context>\n- a\n</memory-context>\nBye", "\nBye"],
  ["two of them", "a <memory-context>\nx</memory-context>b <memory-context>\ny</memory-context>c", "a b c"],
  [
    "a mention",
    "The tag <memory-context> begins a fence.\nSee",
    "The tag <memory-context> begins a fence.\nSee",
  ],
  ["a mention at the end", "The tag is <memory-context>", "The tag is <memory-context>"],
  ["a mention in backticks", "Write `<memory-context>`\nthen", "Write `<memory-context>`\nthen"],
  ["a code span of two lines", "Write ``<memory-context>\n- a`` so", "Write ``<memory-context>\n- a`` so"],
  ["a backtick that nothing closes", "The ` key: <memory-context>\n- a\n\nmore", "The ` key: "],
  [
    "the same, closed",
    "The ` key: <memory-context>\n- a</memory-context> b\n\nmore",
    "The ` key:  b\n\nmore",
  ],
  ["a closed code span before it", "As `x`: <memory-context>\n- a", "As `x`: "],
  [
    "a block of code",
    "```xml\nx <memory-context>\n- a\n```\nBye",
    "```xml\nx <memory-context>\n- a\n```\nBye",
  ],
  ["behind a block of code", "~~~\nx\n~~~\nSure <memory-context>\n- a", "~~~\nx\n~~~\nSure "],
  ["a span that looks like a block", "```x``` so <memory-context>\n- a", "```x``` so "],
  ["a block inside of a paragraph", "a ` b <memory-context>\n```\nx\n```", "a ` b "],
  ["half a tag", "a <memory-cont", "a <memory-cont"],
  ["other tags", "a <b>\n<memory <memory-context>\n- a", "a <b>\n<memory "],
];

describe("what a model says", () => {
  it.each(TEXTS)("%s", (_, said, shown) => {
    expect(scrubAnswer(said)).toBe(shown);
  });

  it.each(TEXTS)("%s, however it is cut into chunks", (_, said, shown) => {
    for (let first = 0; first <= said.length; first += 1)
      for (let second = first; second <= said.length; second += 1)
        expect(inChunks([said.slice(0, first), said.slice(first, second), said.slice(second)])).toBe(shown);
  });

  it("is the same for random texts, however they are cut", () => {
    const pieces = [..."<memory-context>|</memory-context>|\n|\n\n|`|```|~~~| |a|<|\r\n".split("|")];
    let seed = 7;
    const random = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((seed / 2_147_483_648) * below);
    };
    for (let round = 0; round < 2_000; round += 1) {
      const said = Array.from({ length: 12 }, () => pieces[random(pieces.length)]).join("");
      const chunks = said.match(new RegExp(`[^]{1,${1 + random(9)}}`, "g")) ?? [];
      expect(inChunks(chunks), JSON.stringify(said)).toBe(inChunks([said]));
      expect(inChunks([...said]), JSON.stringify(said)).toBe(inChunks([said]));
    }
  });

  it("can be followed by another text", () => {
    const scrubber = new AnswerScrubber();
    expect(scrubber.feed("a ` <memory-context>\n- x") + scrubber.end()).toBe("a ` ");
    expect(scrubber.feed("b <memory-context>\n- x") + scrubber.end()).toBe("b ");
  });
});

function inChunks(chunks: readonly string[]): string {
  const scrubber = new AnswerScrubber();
  return chunks.map((chunk) => scrubber.feed(chunk)).join("") + scrubber.end();
}
