import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { absoluteTime, cutToWidth, displayWidth, fitToWidth, relativeTime } from "../../src/cli/printing.ts";
import { linesOf, lineText } from "../../src/cli/sessions/input-lines.ts";

const NOW = new Date("2026-03-10T12:00:00");
const SECONDS = NOW.getTime() / 1000;
const DAY = 86_400;

describe("a time ago", () => {
  it.each([
    [0, "just now"],
    [59, "just now"],
    [-600, "just now"],
    [60, "1m ago"],
    [3599, "59m ago"],
    [3600, "1h ago"],
    [DAY - 1, "23h ago"],
    [DAY, "yesterday"],
    [2 * DAY - 1, "yesterday"],
    [2 * DAY, "2d ago"],
    [7 * DAY - 1, "6d ago"],
    [7 * DAY, "2026-03-03"],
  ])("of %d seconds is '%s'", (age, expected) => {
    expect(relativeTime(SECONDS - age, NOW)).toBe(expected);
  });

  it.each([null, undefined, 0, Number.NaN, 1e300])("that is %s is unknown", (seconds) => {
    expect(relativeTime(seconds, NOW)).toBe("?");
    expect(absoluteTime(seconds)).toBe("?");
  });
});

describe("columns of a text", () => {
  it.each([
    ["crane", 5],
    ["记忆", 4],
    ["ｶﾅ", 2],
    ["e\u0301", 1],
    ["👩‍👩‍👧", 2],
    ["한글", 4],
    ["", 0],
  ])("of '%s' are %d", (text, columns) => {
    expect(displayWidth(text)).toBe(columns);
  });

  it("are never more than asked for, and fitting gives exactly that many", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 0, max: 40 }), (text, columns) => {
        expect(displayWidth(cutToWidth(text, columns))).toBeLessThanOrEqual(columns);
        expect(displayWidth(fitToWidth(text, columns))).toBe(columns);
        if (displayWidth(text) <= columns) expect(cutToWidth(text, columns)).toBe(columns === 0 ? "" : text);
      }),
    );
  });
});

describe("lines of a stream", () => {
  const collect = async (
    chunks: readonly Uint8Array[],
    maxBytes?: number,
  ): Promise<(string | undefined)[]> => {
    const lines: (string | undefined)[] = [];
    const stream = (async function* () {
      yield* chunks;
    })();
    for await (const line of linesOf(stream, maxBytes)) lines.push(lineText(line));
    return lines;
  };

  it("are the same however the bytes are cut into pieces", async () => {
    const text = fc.array(fc.string({ unit: "grapheme" }).map((each) => each.replaceAll(/[\r\n]/g, "")));
    await fc.assert(
      fc.asyncProperty(
        text,
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
        async (lines, sizes) => {
          const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
          const chunks: Uint8Array[] = [];
          for (let start = 0, turn = 0; start < bytes.length; turn += 1) {
            const size = sizes[turn % sizes.length] ?? 1;
            chunks.push(bytes.subarray(start, start + size));
            start += size;
          }
          expect(await collect(chunks)).toEqual(lines);
        },
      ),
    );
  });

  it("need no end at the end, and may end in CR LF", async () => {
    expect(await collect([Buffer.from("a\r\n\nb")])).toEqual(["a", "", "b"]);
  });

  it("that are no UTF-8 have no text, and neither has one that is too long, after which the reading ends", async () => {
    expect(await collect([Buffer.from([0x61, 0xe9, 0x0a])])).toEqual([undefined]);
    expect(await collect([Buffer.from("a\n"), Buffer.alloc(50, 0x62), Buffer.from("\nb")], 40)).toEqual([
      "a",
      undefined,
    ]);
  });
});
