// Random streams for the scrubber, for the tests and for `npm run soak:scrubber`: texts with many tags, parts of tags and the characters
// around them that decide whether a tag counts, cut into chunks in every way.
import fc from "fast-check";

export type Stream = { readonly text: string; readonly chunks: readonly string[] };

const OPEN = "<memory-context>";
const CLOSE = "</memory-context>";

const openTag = inAnyCase(OPEN);
const closeTag = inAnyCase(CLOSE);
const lineBreak = fc.constantFrom("\n", "\n", "\r\n", "\r");
const blank = fc.constantFrom(..." \t\v\f\x1c\x1f\x85\xa0\u1680\u2003\u2028\u3000");
const partOfTag = fc
  .tuple(fc.oneof(openTag, closeTag), fc.nat(CLOSE.length), fc.nat(CLOSE.length))
  .map(([tag, a, b]) => tag.slice(Math.min(a, b), Math.max(a, b)));
const beginningOfTag = fc
  .tuple(fc.oneof(openTag, closeTag), fc.nat(CLOSE.length))
  .map(([tag, end]) => tag.slice(0, end));

/** Characters that are neither whitespace nor part of a tag, although the rules of another language say so. */
const lookalike = fc.constantFrom(
  ...["\u200b", "\ufeff", "\u0130", "\u0130\u0130 \n", "\u212a", "\u017f", "\ud83d", "\ude00", "\u{1f600}"],
  ...[
    "< memory-context>",
    "<memory-context >",
    "</ memory-context>",
    "<memory-context/>",
    "<memory-context\n>",
  ],
  ...["<memory\u2010context>", "<mem\u00f6ry-context>", "> <memory-context>\n", "<<memory-context>\n"],
);
const word = fc.constantFrom(..."x|tea time|glaze.|a < b|<|>|<<|</|<b>|<m|-context>|```\n".split("|"));
const block = fc
  .tuple(openTag, lineBreak, fc.oneof(word, partOfTag, openTag), closeTag)
  .map((parts) => parts.join(""));
const piece = fc.oneof(
  { arbitrary: word, weight: 4 },
  { arbitrary: openTag, weight: 3 },
  { arbitrary: closeTag, weight: 3 },
  { arbitrary: fc.tuple(openTag, lineBreak).map((parts) => parts.join("")), weight: 3 },
  { arbitrary: block, weight: 2 },
  { arbitrary: lineBreak, weight: 5 },
  { arbitrary: blank, weight: 4 },
  { arbitrary: beginningOfTag, weight: 3 },
  { arbitrary: partOfTag, weight: 2 },
  { arbitrary: lookalike, weight: 2 },
);

export const streamText: fc.Arbitrary<string> = fc
  .array(piece, { maxLength: 14, size: "max" })
  .map((parts) => parts.join(""));

/** Lengths of chunks, repeated until the end of the text: the whole text, equal lengths, single characters, or a mixture. */
const lengths: fc.Arbitrary<readonly number[]> = fc.oneof(
  fc.constantFrom([Number.MAX_SAFE_INTEGER], [1], [2], [3], [15], [16], [17]),
  fc.array(fc.nat(20), { minLength: 1, maxLength: 12 }),
  fc.array(fc.nat(3), { minLength: 1, maxLength: 12 }),
);

export const stream: fc.Arbitrary<Stream> = streamOf(streamText);

export function streamOf(texts: fc.Arbitrary<string>): fc.Arbitrary<Stream> {
  return fc.tuple(texts, lengths).map(([text, sizes]) => ({ text, chunks: cut(text, sizes) }));
}

function cut(text: string, sizes: readonly number[]): string[] {
  const usable = sizes.some((size) => size > 0) ? sizes : [...sizes, 1];
  const chunks: string[] = [];
  for (let at = 0, turn = 0; at < text.length; turn += 1) {
    const end = at + (usable[turn % usable.length] as number);
    chunks.push(text.slice(at, end));
    at = end;
  }
  return chunks;
}

/** In the given spelling, or with capitals at random places. */
function inAnyCase(tag: string): fc.Arbitrary<string> {
  const mixed = fc
    .array(fc.boolean(), { minLength: tag.length, maxLength: tag.length })
    .map((capitals) => [...tag].map((letter, i) => (capitals[i] ? letter.toUpperCase() : letter)).join(""));
  return fc.oneof({ arbitrary: fc.constant(tag), weight: 3 }, { arbitrary: mixed, weight: 1 });
}
