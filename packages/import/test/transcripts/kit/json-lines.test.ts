// Files with one JSON object per line: what is given, what is reported, and where the reading ends.
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { jsonLines } from "../../../src/transcripts/kit/json-lines.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "hermes-lines-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function read(path: string, each: () => void = () => {}) {
  const values: unknown[] = [];
  const malformed: string[] = [];
  let bytes = 0;
  const told = {
    signal: new AbortController().signal,
    malformed: (line: number, reason: string) => void malformed.push(`${line} ${reason}`),
    advanced: (count: number) => {
      bytes += count;
    },
  };
  for await (const { line, value } of jsonLines(path, told)) {
    values.push([line, value]);
    each();
  }
  return { values, malformed, bytes };
}

it("reports bad lines and leaves out a last line that is still being written", async () => {
  const path = join(folder, "a.jsonl");
  writeFileSync(path, '\uFEFF{"a":1}\r\n\n[1]\nnot json\n{"a":2}\n{"a":');
  const { values, malformed } = await read(path);
  expect(values).toEqual([
    [1, { a: 1 }],
    [5, { a: 2 }],
  ]);
  expect(malformed).toEqual(["3 not a JSON object", "4 not valid JSON"]);
});

it("stops at the size the file had when it was opened", async () => {
  const path = join(folder, "a.jsonl");
  writeFileSync(path, '{"a":1}\n{"a":2}\n');
  const { values } = await read(path, () => appendFileSync(path, '{"a":3}\n'));
  expect(values).toHaveLength(2);
});
