// Lines out of bytes: the same lines however the bytes are cut, and work that grows with the bytes and nothing else.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ByteLine, ByteLines } from "../../src/lib/index.ts";

function read(chunks: readonly Uint8Array[], maxBytes = 1_000): ByteLine[] {
  const lines = new ByteLines(maxBytes);
  const found = chunks.flatMap((chunk) => [...lines.push(chunk)]);
  const last = lines.end();
  return last === undefined ? found : [...found, last];
}

describe("lines", () => {
  it("are the same wherever the chunks are cut", () => {
    const pieces = fc.array(fc.constantFrom("\n", "a", "é", "\n\n", "bc", "𝄞"), { maxLength: 40 });
    fc.assert(
      fc.property(pieces, fc.array(fc.nat(40), { maxLength: 6 }), (words, cuts) => {
        const bytes = Buffer.from(words.join(""));
        const places = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)), bytes.length].sort(
          (a, b) => a - b,
        );
        const chunks = places.slice(1).map((end, index) => bytes.subarray(places[index], end));
        const expected = words.join("").split("\n");
        if (expected.at(-1) === "") expected.pop();
        const texts = read(chunks).map((line) => line.kind === "line" && line.bytes.toString("utf8"));
        expect(texts).toEqual(expected);
      }),
    );
  });

  it("above the limit are dropped, and the lines around them are whole", () => {
    const long = `{"id":7,${"x".repeat(5_000)},"z":1}`;
    const chunks = [`one\n${long.slice(0, 700)}`, long.slice(700, 4_000), `${long.slice(4_000)}\ntwo\n`];
    const [one, middle, two] = read(chunks.map((text) => Buffer.from(text)));
    expect(one).toEqual({ kind: "line", bytes: Buffer.from("one") });
    expect(middle).toEqual({ kind: "too_long" });
    expect(two).toEqual({ kind: "line", bytes: Buffer.from("two") });
  });

  it("are looked at once, byte by byte: 60 MB in one line cost 60 MB of search", () => {
    let searched = 0;
    class Counted extends Uint8Array {
      override indexOf(value: number, from = 0): number {
        searched += this.length - from;
        return super.indexOf(value, from);
      }
    }
    const chunk = new Counted(64 * 1024).fill(0x61);
    const lines = new ByteLines(8 * 1024 * 1024);
    let refusedAfter = 0;
    for (let sent = 0; sent < 960; sent += 1) {
      expect([...lines.push(chunk)]).toEqual([]);
      if (lines.isTooLong && refusedAfter === 0) refusedAfter = (sent + 1) * chunk.length;
    }
    expect(searched).toBe(960 * chunk.length);
    expect(refusedAfter).toBe(8 * 1024 * 1024 + chunk.length); // known as soon as it is passed
    expect(lines.end()).toEqual({ kind: "too_long" });
  });
});
