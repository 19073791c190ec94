import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Piece, ThinkTags } from "../../../src/models/access/think-tags.ts";

function joined(pieces: readonly Piece[]): { text: string; reasoning: string } {
  const of = (kind: Piece["kind"]): string =>
    pieces
      .filter((piece) => piece.kind === kind)
      .map(({ text }) => text)
      .join("");
  return { text: of("text"), reasoning: of("reasoning") };
}

function split(chunks: readonly string[]): { text: string; reasoning: string } {
  const tags = new ThinkTags();
  return joined([...chunks.flatMap((chunk) => tags.feed(chunk)), ...tags.flush()]);
}

describe("thoughts in the text", () => {
  it.each([
    ["<think>a</think>b", "b", "a"],
    ["<thinking>a</thinking>\n\nb", "b", "a"],
    ["<REASONING>a</Reasoning>b", "b", "a"],
    ["one\n<think>a</think>\ntwo", "one\n\ntwo", "a"],
    ["one <think>a</think> two", "one  two", "a"],
    ["<think>a</think>b\n<think>c</think>d", "b\nd", "ac"],
    ["<think>never closed", "", "never closed"],
    ["<think>a</thinking> still", "", "a</thinking> still"],
  ])("%j", (whole, text, reasoning) => {
    expect(split([whole])).toEqual({ text, reasoning });
  });

  it.each([
    "Plain text.",
    "  indented, and a < b > c",
    "The tag `<think>` opens a thought.",
    "Write <think> to open one.",
    "```\n<think>code</think>\n```",
    "<thin",
    "<thinker>x</thinker>",
  ])("stays text: %j", (whole) => {
    expect(split([whole])).toEqual({ text: whole, reasoning: "" });
  });

  it("come out the same whatever the pieces", () => {
    const token = fc.constantFrom(
      "<think>",
      "</think>",
      "<thinking>",
      "</thinking>",
      "<",
      "`",
      "```",
      "\n",
      " ",
      "a",
      "é🏗",
    );
    fc.assert(
      fc.property(
        fc.array(token, { maxLength: 14 }),
        fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1 }),
        (tokens, sizes) => {
          const whole = tokens.join("");
          const chunks: string[] = [];
          for (let at = 0, turn = 0; at < whole.length; turn += 1) {
            const size = sizes[turn % sizes.length] ?? 1;
            chunks.push(whole.slice(at, at + size));
            at += size;
          }
          expect(split(chunks)).toEqual(split([whole]));
        },
      ),
    );
  });

  it("are told as they come, when they begin a line", () => {
    const tags = new ThinkTags();
    expect(tags.feed("<think>a long")).toEqual([{ kind: "reasoning", text: "a long" }]);
    expect(tags.feed(" thought</thi")).toEqual([{ kind: "reasoning", text: " thought" }]);
    expect(tags.feed("nk>x")).toEqual([{ kind: "text", text: "x" }]);
  });
});
