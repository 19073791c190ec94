// Files of JSON lines: every whole line survives, a torn one costs only itself.
import { appendFileSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { appendJsonLines, parseJsonLines, readJsonLines } from "../../src/lib/index.ts";
import { startChild } from "../fakes/child.ts";
import { startMounted, whyNoMounts } from "../fakes/mounts.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";

const line = { text: 'quotes "and"\nline breaks § 🧶' };

describe("reading", () => {
  it("throws when the file is there but cannot be read", () => {
    const path = join(tempDirectory(), "a-directory.jsonl");
    mkdirSync(path);
    expect(() => readJsonLines(path)).toThrow(/EISDIR/);
  });

  it("counts damaged lines and keeps the others", () => {
    const text = '{"a":1}\n{"a":2\nnot json\n\n{"a":3}\n{"a":';
    expect(parseJsonLines(text)).toEqual({ values: [{ a: 1 }, { a: 3 }], damaged: 3 });
  });

  it("gives back what was appended, wherever the last line was torn", () => {
    fc.assert(
      fc.property(
        fc.array(fc.jsonValue(), { minLength: 1 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (values, at) => {
          const lines = values.map((value) => `${JSON.stringify(value)}\n`);
          const last = lines.pop()!;
          const torn = last.slice(0, Math.floor((last.length - 1) * at));
          const { values: read } = parseJsonLines(lines.join("") + torn);
          const plain = values.slice(0, -1).map((value) => JSON.parse(JSON.stringify(value)) as unknown);
          expect(read.slice(0, plain.length)).toEqual(plain);
        },
      ),
    );
  });
});

describe("appending", () => {
  it("makes the directory and a private file", () => {
    const path = join(tempDirectory(), "deep", "er", "log.jsonl");
    appendJsonLines(path, [line]);
    expect(readJsonLines(path).values).toEqual([line]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(path, "..")).mode & 0o777).toBe(0o700);
  });

  it("closes a torn line first, so that the new one is whole", () => {
    const path = join(tempDirectory(), "log.jsonl");
    appendJsonLines(path, [1]);
    appendFileSync(path, '{"half":');
    appendJsonLines(path, [line], { isDurable: true });
    expect(readFileSync(path, "utf8")).toBe(`1\n{"half":\n${JSON.stringify(line)}\n`);
    expect(readJsonLines(path)).toEqual({ values: [1, line], damaged: 1 });
  });

  it("by several processes at once never mixes two lines", async () => {
    const path = join(tempDirectory(), "log.jsonl");
    const module = join(import.meta.dirname, "../../src/lib/files.ts");
    const script = `import { appendJsonLines } from ${JSON.stringify(module)};
      for (let i = 0; i < 100; i += 1) appendJsonLines(process.argv[1], [{ who: process.pid, i, pad: "x".repeat(3000) }]);`;
    const children = [1, 2, 3].map(() =>
      startChild(process.execPath, ["--input-type=module", "-e", script, path]),
    );
    await Promise.all(children.map((child) => child.rest()));
    const { values, damaged } = readJsonLines(path);
    expect({ lines: values.length, damaged }).toEqual({ lines: 300, damaged: 0 });
  });

  it.skipIf(whyNoMounts)("to a full disk fails, and the next line is whole again", async () => {
    const home = tempDirectory();
    const module = join(import.meta.dirname, "../../src/lib/files.ts");
    const script = `import { appendJsonLines, readJsonLines } from ${JSON.stringify(module)};
      import { rmSync } from "node:fs";
      const path = process.argv[1] + "/log.jsonl";
      appendJsonLines(process.argv[1] + "/ballast.jsonl", ["y".repeat(12000)]);
      const codes = [];
      for (let i = 0; i < 40; i += 1) try { appendJsonLines(path, [{ i, pad: "x".repeat(1500) }]); } catch (cause) { codes.push(cause.code); }
      rmSync(process.argv[1] + "/ballast.jsonl");
      appendJsonLines(path, ["after"]);
      console.log(JSON.stringify({ codes: [...new Set(codes)], last: readJsonLines(path).values.at(-1) }));`;
    const child = startMounted(
      'mount -t tmpfs -o size=32k tmpfs "$1"',
      [home],
      [process.execPath, "--input-type=module", "-e", script, home],
    );
    expect(JSON.parse((await child.rest())[0]!)).toEqual({ codes: ["ENOSPC"], last: "after" });
  });
});
