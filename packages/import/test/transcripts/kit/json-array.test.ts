// Huge JSON arrays, element by element.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonArrayItems, wholeJson } from "../../../src/transcripts/kit/json-array.ts";

const signal = new AbortController().signal;

async function* split(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let at = 0;
  for (let turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    yield bytes.slice(at, at + size);
    at += size;
  }
}

async function read(
  text: string | Uint8Array,
  { sizes = [7], ...options }: { sizes?: number[]; at?: string[]; maxItemBytes?: number } = {},
) {
  const values: unknown[] = [];
  const places: string[] = [];
  const malformed: string[] = [];
  const others: Record<string, unknown> = {};
  const told = {
    signal,
    malformed: (line: number, reason: string) => void malformed.push(`${line} ${reason}`),
  };
  const bytes = typeof text === "string" ? Buffer.from(text) : text;
  const beside = (name: string, value: unknown) => {
    others[name] = value;
  };
  for await (const { index, line, value } of jsonArrayItems(split(bytes, sizes), told, {
    ...options,
    beside,
  })) {
    values.push(value);
    places.push(`${index}@${line}`);
  }
  return { values, places, malformed, others };
}

describe("the elements of an array", () => {
  it("are the same however the bytes are split", async () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });
    const indent = fc.constantFrom(0, 2);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.jsonValue()), sizes, indent, async (values, parts, spaces) => {
        const text = JSON.stringify(values, undefined, spaces);
        const same = JSON.parse(text);
        expect(await read(text, { sizes: parts })).toMatchObject({ values: same, malformed: [] });
        const around = `{"id": 1, ${JSON.stringify("the list")} :${text}, "after": {"the list": [1]}}`;
        expect(await read(around, { sizes: parts, at: ["the list"] })).toMatchObject({
          values: same,
          malformed: [],
          others: { id: 1, after: { "the list": [1] } },
        });
      }),
      { numRuns: 150 },
    );
  });

  it("are found in nested objects, past properties of the same name", async () => {
    const text =
      '{"list":[9],"a":{"list":{"list":[8]},"x":[7]},"chats":{"about":"b","list":[1,[2]],"n":1},"list":[3]}';
    expect(await read(text, { at: ["chats", "list"] })).toMatchObject({
      values: [1, [2]],
      malformed: [],
      others: { about: "b", n: 1, list: [3] },
    });
    expect(await read(text, { at: ["chats", "none"] })).toMatchObject({ values: [], malformed: [] });
  });

  it("have a position and a line", async () => {
    const { values, places } = await read('\uFEFF \n[\n  {"a": "]},\\"["},\n  2\n]\n trailing');
    expect(values).toEqual([{ a: ']},"[' }, 2]);
    expect(places).toEqual(["0@3", "1@4"]);
  });

  it("are given without the broken ones", async () => {
    const { values, places, malformed } = await read("[1,\n{a:1},,\ntru, 5]");
    expect(values).toEqual([1, 5]);
    expect(places).toEqual(["0@1", "4@3"]);
    expect(malformed).toEqual([
      "2 element 1 is not valid JSON",
      "2 element 2 is not valid JSON",
      "3 element 3 is not valid JSON",
    ]);
  });

  it("are given up to where the file ends", async () => {
    expect(await read('[1,\n{"a":"cut')).toMatchObject({
      values: [1],
      malformed: ["2 the file ends in the middle of element 1"],
    });
    expect(await read("[1,\n")).toMatchObject({
      values: [1],
      malformed: ["2 the file ends before element 1"],
    });
    expect(await read(" ")).toMatchObject({ values: [], malformed: ["1 the file is empty"] });
  });

  it("are left out when they are too large, without keeping their bytes", async () => {
    const { values, malformed } = await read(`[1,"${"x".repeat(500)}",3]`, { maxItemBytes: 100 });
    expect(values).toEqual([1, 3]);
    expect(malformed).toEqual(["1 element 1 is larger than 100 bytes"]);
  });

  it("are not looked for in another value", async () => {
    await expect(read('{"a":[1]}')).rejects.toThrow("not a JSON array");
    await expect(read("[1]", { at: ["a"] })).rejects.toThrow("not a JSON object");
    await expect(read("<html>")).rejects.toThrow("not a JSON array");
    expect(await read('{"b":[1],"a":5}', { at: ["a"] })).toMatchObject({ values: [], malformed: [] });
  });

  it("never make any bytes a crash", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: fc.constantFrom(...'[]{},:"\\ 1a\n') }), async (text) => {
        await read(`[${text}`);
        await read(`{"a":${text}`, { at: ["a"] });
      }),
      { numRuns: 200 },
    );
  });
});

it("reads a whole file, unless it is too large or incomplete", async () => {
  const folder = mkdtempSync(join(tmpdir(), "hermes-json-"));
  const path = join(folder, "a.json");
  const told = { signal, advanced: () => {} };
  writeFileSync(path, '\uFEFF{"a":1}');
  expect(await wholeJson(path, told)).toEqual({ a: 1 });
  await expect(wholeJson(path, told, 5)).rejects.toThrow(/at most 0 MiB/);
  writeFileSync(path, '{"a":');
  await expect(wholeJson(path, told)).rejects.toThrow(/still being written/);
  rmSync(folder, { recursive: true });
});
