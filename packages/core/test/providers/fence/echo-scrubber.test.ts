// Recall that a model repeats never shows in its reply, wherever the fence is. Text about the fence stays.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EchoScrubber } from "../../../src/providers/fence/echo-scrubber.ts";
import { isInProportion, leastCpuMs } from "../../fakes/cpu-time.ts";
import { CLOSE_TAGS, echo, echoStream, NOTE, OPEN_TAGS, RECALL } from "./echoes.ts";
import { streamOf } from "./streams.ts";

function scrubbed(chunks: readonly string[], block = RECALL): string {
  const scrubber = new EchoScrubber(block);
  return chunks.map((chunk) => scrubber.feed(chunk)).join("") + scrubber.end();
}

const TEA = "The user drinks oolong tea in the morning.";
const KILN = "Ana's kiln is called Vesuvius";
const LONG = "words of my own ".repeat(80);

/** `MC` stands for the name in the tags. */
const CASES: readonly (readonly [what: string, reply: string, shown: string])[] = [
  ["within a line", `Sure: <MC>${TEA}</MC> Done.`, "Sure:  Done."],
  ["never closed", `Sure: <MC>${TEA}`, "Sure: "],
  ["never closed, and cut off within a line", "Sure: <MC>The user drinks oolo", "Sure: "],
  [
    "never closed, with an answer behind it",
    `Sure: <MC>${TEA}\n\nHave some **tea**.`,
    "Sure: Have some **tea**.",
  ],
  ["never closed, with an answer behind it in the line", `<b><MC>${TEA} So have some.`, "<b>So have some."],
  ["with the note", `Sure: <MC>\n${NOTE}\n\n${TEA}\n</MC>\nDone.`, "Sure: \nDone."],
  ["the note alone", `Sure: <MC>${NOTE}</MC>`, "Sure: "],
  ["several lines joined by blanks", `Sure: <MC>${TEA} ${KILN} likes tea</MC>.`, "Sure: ."],
  ["in another order and with other bullets", `Sure: <MC>\n* ${KILN}\n+ ${TEA}</MC>.`, "Sure: ."],
  [
    "wrapped in other lines and case",
    "Sure: <MC>THE USER\ndrinks\noolong   tea\nin the morning</MC>.",
    "Sure: .",
  ],
  [
    "with words of its own behind",
    `Sure: <MC>${TEA}\n${KILN}\nThat is all I know.</MC> Done.`,
    "Sure:  Done.",
  ],
  ["with words of its own before", `Sure: <MC>This is what I know: ${KILN}</MC> Done.`, "Sure:  Done."],
  ["with a heading, never closed", `Sure: <MC>\nWhat I know:\n- ${TEA}\nSo: tea.`, "Sure: So: tea."],
  ["nested", `Sure: <MC><MC>${KILN}</MC></MC> Done.`, "Sure:  Done."],
  [
    "nested, with recall between the close tags",
    `<MC>\n${KILN}\n<MC>\n${TEA}\n</MC>\nlikes tea\n</MC>end`,
    "end",
  ],
  ["indented", `Top\n    <MC>\n    ${KILN}\n    </MC>\nDone.`, "Top\n    \nDone."],
  ["in a quote", `> <MC>\n> ${KILN}\n> </MC>\nDone.`, "> \nDone."],
  ["a part of a line and nothing else", "Sure: <MC>drinks oolong tea</MC>.", "Sure: ."],
  ["a short line", "Sure: <MC>likes tea</MC>.", "Sure: ."],
  ["with line breaks as JSON has them", `Sure: <MC>\\n${KILN}\\n${TEA}\\n</MC>.`, "Sure: ."],
  ["with numbers of a list", `Sure: <MC>1. ${KILN} 2. ${TEA}</MC>.`, "Sure: ."],
  ["in a language without blanks", "Sure: <MC>用户喜欢在早上喝乌龙茶。</MC>好", "Sure: 好"],
  ["twice", `<MC>${TEA}</MC>a<MC>${KILN}</MC>b`, "ab"],
  ["after the tag was mentioned", `The <MC> tag, and <MC>${KILN}</MC> done.`, "The <MC> tag, and  done."],
  ["with much of its own behind, closed late", `a <MC>${KILN} ${LONG}</MC>z`, `a ${LONG}z`],
  ["on a line of its own, closed late", `<MC>\n${KILN}\n${LONG}\n</MC>z`, "z"],
];

const MENTIONS: readonly string[] = [
  "The <MC> tag marks recalled memory.",
  `The \`<MC>\` tag marks what I recall. ${TEA}`,
  `I keep that in <MC>. ${TEA}`,
  `Your <MC> block says:\n- ${TEA}`,
  "Write <MC>...</MC> around it.",
  "Write <MC></MC> around it, or <MC/>.",
  "It looks like <MC>the text of a note goes here</MC>.",
  "<MC> comes from the agent's own persistent memory.",
  `${TEA}</MC>`,
  "&lt;MC&gt; is how HTML has it.",
  "a <memory b <memory-con c &lt;memory d \\<mem e",
  "<MC",
  "see <MC",
  "see [memory-context](https://example.org) and [memory] and <!-- a comment -->, [1], a[i]",
  "<memory-context-size> and <memory-contexts> and [memory-context: on] are other tags",
  `no tag at all: ${TEA}`,
];

describe("a repetition of the recall is taken out", () => {
  it.each(CASES)("%s", (_what, reply, shown) => {
    for (const open of OPEN_TAGS) {
      const [text, expected] = [reply, shown].map((each) => withTags(each, open));
      const isLineRule = /^<MC>\n/.test(reply) && open !== "<memory-context>"; // counts for the plain tag alone
      if (!isLineRule) expect(scrubbed([text ?? ""])).toBe(expected);
    }
  });

  it("in any form, between any words", () => {
    const words = fc.constantFrom("", "Sure: ", "word ", "line\n", "(", "é", "\u{1f600}");
    fc.assert(
      fc.property(
        streamOf(fc.tuple(words, echo, words, echo).map((parts) => parts.join("\u0001"))),
        ({ text, chunks }) => {
          const [first, , second] = text.split("\u0001");
          expect(scrubbed(chunks)).toBe(`${first}\u0001\u0001${second}\u0001`);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});

describe("text that only mentions the tag stays", () => {
  it.each(MENTIONS)("%s", (mention) => {
    for (const open of OPEN_TAGS) {
      const text = withTags(mention, open);
      expect(scrubbed([text])).toBe(text);
    }
  });

  it("as does everything when the recall was about something else", () => {
    const other = RECALL.replace(NOTE, "")
      .split("\n")
      .map((line) => line.replace(/\p{L}+/gu, "zebra"))
      .join("\n");
    fc.assert(
      fc.property(echoStream, ({ text, chunks }) => {
        expect(scrubbed(chunks, other.replaceAll("zebra-zebra", "memory-context"))).toBe(text);
      }),
    );
  });
});

describe("how the reply is cut into chunks", () => {
  it("does not matter: at every place, and one character at a time", () => {
    for (const [, reply] of CASES) {
      const text = withTags(reply, "<memory-context>");
      const whole = scrubbed([text]);
      expect(scrubbed([...text])).toBe(whole);
      if (text.length > 400) continue;
      for (let at = 1; at < text.length; at += 1)
        expect(scrubbed([text.slice(0, at), text.slice(at)]), `cut at ${at}`).toBe(whole);
    }
  });

  it("does not matter for random replies", () => {
    fc.assert(
      fc.property(echoStream, ({ text, chunks }) => {
        expect(scrubbed(chunks)).toBe(scrubbed([text]));
      }),
      { numRuns: Number(process.env.HERMES_CASES ?? 1_000) },
    );
  });

  it("does not change how little is held back", () => {
    for (const filler of [
      "x",
      " ",
      "tea ",
      "own words. ",
      "<",
      "&",
      "<memory-context>",
      `${TEA} `,
      "likes tea ",
      "own ".repeat(90) + TEA,
    ]) {
      const scrubber = new EchoScrubber(RECALL);
      let [fed, shown] = [0, 0];
      const isEcho = /oolong|likes/.test(filler); // what is dropped is not held
      for (const chunk of `a <memory-context>\t${filler.repeat(3_000)}`.slice(0, 30_000)) {
        fed += chunk.length;
        shown += scrubber.feed(chunk).length;
        if (!isEcho) expect(fed - shown).toBeLessThan(2_300);
      }
    }
  });

  it("takes no longer for a reply than it is long", () => {
    const reply = (times: number): string =>
      `x <memory-context>${TEA} and my own words </memory-context> `.repeat(times);
    const costOf = (times: number) => leastCpuMs(() => scrubbed([...reply(times)]));
    expect(isInProportion(costOf(100), costOf(400))).toBe(true);
  });
});

it("is as new after the end of a piece", () => {
  const scrubber = new EchoScrubber(RECALL);
  expect(scrubber.feed(`a <memory-context>${KILN}`) + scrubber.end()).toBe("a ");
  expect(scrubber.feed("b </memory-context>c") + scrubber.end()).toBe("b </memory-context>c");
});

it("compares with the recall of its turn alone", () => {
  expect(scrubbed([`x <memory-context>${KILN}</memory-context>`], "")).toBe(
    `x <memory-context>${KILN}</memory-context>`,
  );
});

function withTags(text: string, open: string): string {
  const close = open.startsWith("&") ? CLOSE_TAGS[2] : CLOSE_TAGS[0];
  return text
    .replaceAll("</MC>", close)
    .replaceAll("<MC>", open)
    .replace(/<MC(?=$|\/)|(?<=&lt;)MC/g, (found) => found.replace("MC", "memory-context"));
}
