// Finding a text that is to be forgotten, and taking it out of bytes and of journal lines.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { makeNeedle, scrubArchive, scrubJournal } from "../../src/curated/erase.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";

function needleFor(text: string) {
  const needle = makeNeedle(text);
  if (needle === undefined) throw new Error("no needle");
  return needle;
}

function fileWith(...lines: string[]): string {
  const path = join(tempDirectory(), "lines.jsonl");
  writeFileSync(path, lines.map((line) => `${line}\n`).join(""));
  return path;
}

describe("a text to forget", () => {
  it("is stripped, and refused when nothing is left", () => {
    expect(makeNeedle("  the vault code\r\n")?.text).toBe("the vault code");
    expect(makeNeedle(" \n")).toBeUndefined();
  });

  it("is found in raw content whatever the line ends, and in its JSON spelling", () => {
    const needle = needleFor('one "two"\nthree');
    for (const raw of ['x one "two"\r\nthree', 'one "two"\rthree', JSON.stringify({ text: needle.text })])
      expect(needle.isInRaw(Buffer.from(raw)), raw).toBe(true);
    expect(needle.isInRaw(Buffer.from("one two three"))).toBe(false);
  });

  it.each(["forgotten", "[forgotten]", "[", "]", "…", "*"])("%j is not part of its stand-in", (text) => {
    expect(needleFor(text).standIn).not.toContain(text);
  });

  it("is gone from any bytes it was cut from, and the others stay", () => {
    const needle = needleFor("käfer");
    const noise = fc.uint8Array({ maxLength: 8 });
    fc.assert(
      fc.property(noise, noise, (before, after) => {
        const cut = needle.cutFrom(Buffer.concat([before, Buffer.from("käfer"), after]));
        expect(cut).toEqual(Buffer.concat([before, Buffer.from("[forgotten]"), after]));
      }),
    );
    expect(needle.cutFrom(Buffer.from("beetle"))).toBeUndefined();
  });
});

describe("lines", () => {
  const change = (after: string): string =>
    `{"v":1,"id":"0a0b0c0d","time":"2026-04-01T00:00:00.000Z","kind":"change","action":"add","origin":"tool","at":0,"before":null,"after":${JSON.stringify(after)},"file_before":null,"file_after":"abc"}`;

  it("of a journal lose the text and can no longer be undone; others stay byte for byte", () => {
    const other = change("kiln").replace('"v":1', '"v": 1');
    const path = fileWith(change("the vault code is 7"), other, '{"half": "li');
    const { lines, hits } = scrubJournal(path, needleFor("vault"));
    expect(hits).toBe(1);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({
      id: "0a0b0c0d",
      after: "[forgotten]",
      incomplete: true,
    });
    expect(lines.slice(1)).toEqual([other, '{"half": "li']);
  });

  it("that cannot be read go whole when they contain the text", () => {
    const path = fileWith('{"half": "the vault', '{"half": "kiln');
    expect(scrubJournal(path, needleFor("vault"))).toEqual({ lines: ['{"half": "kiln'], hits: 1 });
  });

  it("of an archive go whole", () => {
    const path = fileWith('{"id":"1","text":"the vault"}', '{"id":"2","text":"kiln"}');
    expect(scrubArchive(path, needleFor("vault"))).toEqual({ lines: ['{"id":"2","text":"kiln"}'], hits: 1 });
    expect(scrubArchive(join(path, "..", "missing"), needleFor("vault"))).toEqual({ lines: [], hits: 0 });
  });
});
