import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { entryOfExports, findEntryFile } from "../../../src/providers/discovery/plugin-files.ts";
import { writePlugin } from "../../fakes/plugins.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";

function entryOf(files: Readonly<Record<string, string>>): string {
  const directory = writePlugin(tempDirectory(), "p", files);
  const entry = findEntryFile(directory);
  return entry.kind === "file" ? entry.path.slice(directory.length + 1) : entry.kind;
}

describe("the entry file", () => {
  it("is the first of index.ts, .mts, .js and .mjs", () => {
    expect(entryOf({ "index.mjs": "", "index.js": "", "index.mts": "", "index.ts": "" })).toBe("index.ts");
    expect(entryOf({ "index.mjs": "", "index.js": "", "index.mts": "" })).toBe("index.mts");
    expect(entryOf({ "index.mjs": "", "index.js": "" })).toBe("index.js");
    expect(entryOf({ "index.mjs": "" })).toBe("index.mjs");
    expect(entryOf({ "index.cjs": "", "readme.md": "" })).toBe("none");
  });

  it("is what package.json names, exports before main", () => {
    const files = { "lib/a.js": "", "lib/b.js": "", "index.ts": "" };
    const named = (content: object) => entryOf({ ...files, "package.json": JSON.stringify(content) });
    expect(named({ main: "lib/a.js" })).toBe(join("lib", "a.js"));
    expect(named({ main: "./lib/a" })).toBe(join("lib", "a.js"));
    expect(named({ main: "lib/a.js", exports: "./lib/b.js" })).toBe(join("lib", "b.js"));
    expect(named({ main: "lib/a.js", exports: { "./other": "./lib/b.js" } })).toBe(join("lib", "a.js"));
    expect(named({ exports: { ".": { types: "./x.d.ts", default: "./lib/b.js" } } })).toBe(
      join("lib", "b.js"),
    );
  });

  it("may be a folder's index.js, as Node has it", () => {
    expect(entryOf({ "lib/index.js": "", "package.json": '{"main":"lib"}' })).toBe(join("lib", "index.js"));
  });

  it("falls back to index.ts when package.json names nothing, a missing file, or is no JSON", () => {
    for (const text of [
      '{"name":"p"}',
      '{"main":""}',
      '{"main":"dist/not-built.js"}',
      "{ broken",
      "[]",
      "null",
    ])
      expect(entryOf({ "index.ts": "", "package.json": text })).toBe("index.ts");
    expect(entryOf({ "package.json": '{"main":"dist/not-built.js"}' })).toBe("missing");
  });

  it("never lies outside of the plugin, even when an index.ts is there", () => {
    for (const main of ["../other/index.js", "/etc/hosts", "lib/../../x.js"])
      expect(entryOf({ "index.ts": "", "package.json": JSON.stringify({ main }) })).toBe("outside");
    expect(entryOf({ "..x.js": "", "package.json": '{"main":"..x.js"}' })).toBe("..x.js");
  });

  it("is a file, not a folder of that name", () => {
    const directory = writePlugin(tempDirectory(), "p", { "index.mjs": "" });
    mkdirSync(join(directory, "index.ts"));
    expect(findEntryFile(directory)).toEqual({ kind: "file", path: join(directory, "index.mjs") });
  });
});

it("takes from exports what an import may take, in the order of the file", () => {
  expect(entryOfExports({ require: "./a.cjs", import: "./b.js" })).toBe("./b.js");
  expect(entryOfExports({ node: { import: "./n.js" }, default: "./d.js" })).toBe("./n.js");
  expect(entryOfExports({ ".": [{ browser: "./w.js" }, "./d.js"] })).toBe("./d.js");
  expect(entryOfExports({ require: "./a.cjs" })).toBeUndefined();
  expect(entryOfExports(7)).toBeUndefined();
});
