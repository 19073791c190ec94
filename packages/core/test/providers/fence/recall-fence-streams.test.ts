// Fenced memory never shows in a streamed answer, and nothing else is lost, for every division into chunks.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  buildMemoryContextBlock,
  StreamingContextScrubber,
} from "../../../src/providers/fence/recall-fence.ts";
import { isInProportion, leastCpuMs } from "../../fakes/cpu-time.ts";
import { shownSoFar, visibleText } from "./oracle.ts";
import { stream, streamOf, streamText } from "./streams.ts";

/** Chunks, the text that each shows, and the text of the flush. `MC` stands for the name in the tags. */
const FIXTURES: readonly (readonly [readonly string[], readonly string[], string])[] = [
  [["<MC>\nold note\n</MC>\n\nAnswer"], ["\n\nAnswer"], ""],
  [["Top\n", "<MC>\nold ", "note\n", "</MC> tail"], ["Top\n", "", "", " tail"], ""],
  [["Top\n<memo", "ry-context>\nold</MC> tail"], ["Top\n", " tail"], ""],
  [["Top\n<MC>", "\nold</MC> tail"], ["Top\n", " tail"], ""],
  [["Top\n<MC>\nold</memory-con", "text> tail"], ["Top\n", " tail"], ""],
  [["if a <m", "ax then"], ["if a ", "<max then"], ""],
  [["if a <m"], ["if a "], "<m"],
  [["see `<memory", "-context>` above, ", "ok"], ["see `", "<MC>` above, ", "ok"], ""],
  [["the <MC> marker"], ["the <MC> marker"], ""],
  [["Top\n", "<MC>", " names a marker"], ["Top\n", "", "<MC> names a marker"], ""],
  [["Top\n<MC>"], ["Top\n"], "<MC>"],
  [["the <MC>", "\nold</MC>tail"], ["the <MC>", "\nold</MC>tail"], ""],
  [["Top\n<MC>\nold, never closed"], ["Top\n"], ""],
  [["<Memory-CONTEXT>\nold", "</MEMORY-context>tail"], ["", "tail"], ""],
  [[" \t <MC>\nold</MC>tail"], [" \t tail"], ""],
  [["<MC>\r\nold</MC>tail"], ["tail"], ""],
  [["<MC >\nold</MC>tail"], ["<MC >\nold</MC>tail"], ""],
  [["<MC>\nold</ MC>tail"], [""], ""],
  [["<MC>\nA\n<MC>\nB</MC>mid</MC>end"], ["mid</MC>end"], ""],
  [["x</MC>y"], ["x</MC>y"], ""],
  [["<MC>\nA</MC><MC>\nB</MC>end"], ["end"], ""],
  [["Top\n<MC>\nA</MC>mid <MC>\nB</MC>end"], ["Top\nmid <MC>\nB</MC>end"], ""],
  [["> <MC>\nold</MC>tail"], ["> <MC>\nold</MC>tail"], ""],
  [["<<MC>\nold</MC>tail"], ["<<MC>\nold</MC>tail"], ""],
  [["<MC><MC>\nold</MC>tail"], ["<MC><MC>\nold</MC>tail"], ""],
  [["```\n<MC>\nsample\n</MC>\n```\n"], ["```\n\n```\n"], ""],
  [["<MC>\nold</memory-con", "flict", "</MC>tail"], ["", "", "tail"], ""],
  [["Top\n", "   ", "<MC>\nold</MC>tail"], ["Top\n", "   ", "tail"], ""],
  [["Top", "<MC>\nold</MC>tail"], ["Top", "<MC>\nold</MC>tail"], ""],
];

describe("a stream", () => {
  it.each(FIXTURES)("%j shows %j, at the end %j", (chunks, outputs, rest) => {
    const scrubber = new StreamingContextScrubber();
    expect(chunks.map((chunk) => scrubber.feed(named(chunk)))).toEqual(outputs.map(named));
    expect(scrubber.flush()).toBe(named(rest));
  });

  it("is not misled by letters whose lower case is longer", () => {
    expect(scrub([`\u0130 \n${named("<MC>\nold</MC>")}b`])).toBe("\u0130 \nb");
    expect(scrub([`\u0130\u0130\u0130\n${named("<MC>\n\u0130\u0130 old</MC>")}b`])).toBe(
      "\u0130\u0130\u0130\nb",
    );
  });

  it("knows the whitespace of other scripts in front of a tag, and that a byte order mark is none", () => {
    expect(scrub([named("\u3000\u2003\u0085<MC>\nold</MC>b")])).toBe("\u3000\u2003\u0085b");
    expect(scrub([named("\ufeff<MC>\nold</MC>b")])).toBe(named("\ufeff<MC>\nold</MC>b"));
  });
});

describe("flush", () => {
  it("shows the held text once", () => {
    const scrubber = new StreamingContextScrubber();
    scrubber.feed("a\n<memory-con");
    expect([scrubber.flush(), scrubber.flush()]).toEqual(["<memory-con", ""]);
  });

  it("drops a block that was never closed and leaves it", () => {
    const scrubber = new StreamingContextScrubber();
    scrubber.feed(named("a\n<MC>\nold</memory-"));
    expect([scrubber.flush(), scrubber.feed("context>b")]).toEqual(["", "context>b"]);
  });
});

describe("reset", () => {
  it.each([
    ["a held beginning of a tag", "a\n<memory-con"],
    ["a block that was never closed", "a\n<memory-context>\nold</memory-"],
    ["a line that has begun", "a"],
  ])("forgets %s", (_, before) => {
    const scrubber = new StreamingContextScrubber();
    scrubber.feed(before);
    scrubber.reset();
    expect(scrubber.feed(named("<MC>\nold</MC>text>b"))).toBe("text>b");
    expect(scrubber.flush()).toBe("");
  });
});

describe("any stream", () => {
  it("shows in the end the same as the rule applied to the whole text", () => {
    fc.assert(
      fc.property(stream, ({ text, chunks }) => {
        expect(scrub(chunks)).toBe(visibleText(text));
      }),
      { numRuns: Number(process.env.HERMES_CASES ?? 5000) },
    );
  });

  it("shows every character as soon as the rule allows", () => {
    fc.assert(
      fc.property(stream, ({ chunks }) => {
        const scrubber = new StreamingContextScrubber();
        let fed = "";
        let shown = "";
        for (const chunk of chunks) {
          fed += chunk;
          shown += scrubber.feed(chunk);
          expect(shown).toBe(shownSoFar(fed));
        }
      }),
      { numRuns: Number(process.env.HERMES_CASES ?? 1000) },
    );
  });

  it("shows the same however it is cut", () => {
    const twoCuts = streamText.chain((text) =>
      fc.tuple(streamOf(fc.constant(text)), streamOf(fc.constant(text))),
    );
    fc.assert(
      fc.property(twoCuts, ([one, other]) => {
        expect(scrub(one.chunks)).toBe(scrub(other.chunks));
      }),
      { numRuns: 2000 },
    );
  });

  it("never shows the content of a block that we built", () => {
    const marked = fc
      .tuple(streamText, streamText, streamText, streamText)
      .map(
        ([prefix, head, tail, suffix]) =>
          `${prefix}\n${buildMemoryContextBlock(`${head}SECRET${tail}`)}${suffix}`,
      );
    fc.assert(
      fc.property(streamOf(marked), ({ chunks }) => {
        expect(scrub(chunks)).not.toContain("SECRET");
      }),
      { numRuns: 2000 },
    );
  });
});

describe("cost", () => {
  const hostile: readonly (readonly [string, string, string])[] = [
    ["prose", "", "The user prefers short answers.\n"],
    ["angle brackets", "", "<"],
    ["beginnings of tags", "", "\n<memory-contex"],
    ["tags that are no blocks", "", "\n<memory-context>x"],
    ["blanks", "", "  \t "],
    ["hidden text", "<memory-context>\n", "prose and more of it, "],
    ["hidden beginnings of close tags", "<memory-context>\n", "</memory-contex"],
  ];

  it.each(hostile)("does not grow with the length of the stream: %s", (_, opening, unit) => {
    for (const size of [3, Number.MAX_SAFE_INTEGER]) {
      const small = cpuMs(opening, unit.repeat(Math.ceil(50_000 / unit.length)), size);
      const large = cpuMs(opening, unit.repeat(Math.ceil(200_000 / unit.length)), size);
      expect({ small, large }).toSatisfy(() => isInProportion(small, large));
    }
  });
});

function scrub(chunks: readonly string[]): string {
  const scrubber = new StreamingContextScrubber();
  return chunks.map((chunk) => scrubber.feed(chunk)).join("") + scrubber.flush();
}

function cpuMs(opening: string, text: string, size: number): number {
  return leastCpuMs(() => {
    const scrubber = new StreamingContextScrubber();
    scrubber.feed(opening);
    for (let at = 0; at < text.length; at += size) scrubber.feed(text.slice(at, at + size));
  });
}

function named(text: string): string {
  return text.replaceAll("MC", "memory-context");
}
