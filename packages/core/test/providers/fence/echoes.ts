// Random replies for the echo scrubber, for the tests and for `npm run soak:scrubber`: lines of the recall, tags in every form, and other
// words.
import fc from "fast-check";
import { buildMemoryContextBlock } from "../../../src/providers/fence/recall-fence.ts";
import { type Stream, streamOf } from "./streams.ts";

const RECALL_LINES = [
  "## Preferences",
  "- The user drinks oolong tea in the morning.",
  "- Ana's kiln is called Vesuvius",
  "1. Deploys run on Fridays at noon",
  "* likes tea",
  "用户喜欢在早上喝乌龙茶",
] as const;

export const RECALL = buildMemoryContextBlock(RECALL_LINES.join("\n"));
export const NOTE = RECALL.split("\n")[1] ?? "";

export const OPEN_TAGS = [
  ...`<memory-context>|<Memory-CONTEXT>|< memory-context >|<memory-context source="x">`.split("|"),
  ..."<memory-context\n>|&lt;memory-context&gt;|\\<memory-context\\>|<memory_context>".split("|"),
  ..."<memory\\_context>|<MemoryContext>|<memory\u2010context>|<memory\u2011context>".split("|"),
  ..."<memory\u2014context>|<memory\u2212context>".split("|"),
  ..."<\u200bmem\u200bory\u00ad-con\ufefftext\u2060>|\uff1cmemory-context\uff1e".split("|"),
  ..."[memory-context]|\\[ memory_context \\]|<!--memory-context-->|<!-- memory-context -->".split("|"),
  ..."<memory-context/>|<memory-context />".split("|"),
] as const;
export const CLOSE_TAGS = [
  "</memory-context>",
  "</ Memory-Context >",
  "&lt;/memory-context&gt;",
  "</memory_context>",
  "[/memory-context]",
  "\uff1c/memory\u2011context\uff1e",
  "<!-- /memory-context -->",
] as const;

/** A line of the recall in a form in which a model may repeat it. */
const repeatedLine: fc.Arbitrary<string> = fc
  .tuple(
    fc.constantFrom(...RECALL_LINES.slice(1), NOTE),
    fc.constantFrom(
      (text: string) => text,
      (text: string) => text.toUpperCase(),
      (text: string) => text.replace(/^\S+ /, ""),
      (text: string) => text.replaceAll(" ", "  "),
      (text: string) => text.replaceAll(" ", "\n> "),
      (text: string) => text.replaceAll("'", "&#39;").replaceAll(".", "&period;"),
      (text: string) => `**${text}**`,
    ),
  )
  .map(([line, write]) => write(line));

const separator = fc.constantFrom("\n", " ", "\n\n", "\\n", "; ", "\n- ", "\n  ");

/** A fence that contains only recall. */
export const echo: fc.Arbitrary<string> = fc
  .tuple(
    fc.constantFrom(...OPEN_TAGS),
    fc.constantFrom("", "\n", " ", "\n  "),
    fc.array(fc.tuple(repeatedLine, separator), { minLength: 1, maxLength: 4 }),
    fc.constantFrom(...CLOSE_TAGS),
  )
  .map(([open, first, lines, close]) => open + first + lines.flat().join("") + close);

const own = fc.constantFrom(..."Sure: |so |x|\n|  |tea |the user |<|&|\\|a < b |`|. |é".split("|"));
const piece = fc.oneof(
  { arbitrary: own, weight: 6 },
  { arbitrary: fc.constantFrom(...OPEN_TAGS), weight: 3 },
  { arbitrary: fc.constantFrom(...CLOSE_TAGS), weight: 3 },
  { arbitrary: repeatedLine, weight: 3 },
  { arbitrary: separator, weight: 2 },
  { arbitrary: echo, weight: 2 },
  { arbitrary: fc.tuple(repeatedLine, fc.nat(40)).map(([line, end]) => line.slice(0, end)), weight: 1 },
  { arbitrary: fc.tuple(own, fc.nat(700)).map(([text, count]) => text.repeat(count)), weight: 1 },
  { arbitrary: fc.constantFrom(..."\ud83d\ude00\u200b\u0301&#x1f600;".split("")), weight: 1 },
);

const echoText: fc.Arbitrary<string> = fc
  .array(piece, { maxLength: 12, size: "max" })
  .map((parts) => parts.join(""));

export const echoStream: fc.Arbitrary<Stream> = streamOf(echoText);
