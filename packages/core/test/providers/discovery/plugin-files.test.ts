import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  EMPTY_MANIFEST,
  entryOfExports,
  findEntryFile,
  parseManifest,
  readManifest,
} from "../../../src/providers/discovery/plugins.ts";
import { writePlugin } from "../../fakes/plugins.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";

const parse = (text: string) => parseManifest(text, "plugin.yaml");

describe("plugin.yaml", () => {
  it("gives every field that is read, with a byte order mark before it", async () => {
    const text = `\ufeffname: notes
version: 1.10
description: Keeps notes
kind: Exclusive
hooks: [on_session_end]
requires_env: [NOTES_KEY, {name: NOTES_URL, url: "https://example.org"}]
npm_dependencies: [left-pad@^1, "@scope/pkg"]
pip_dependencies:
  - requests>=2
external_dependencies:
  - {name: brv, install: npm install -g byterover-cli, check: brv --version}
`;
    expect(await parse(text)).toEqual({
      manifest: {
        name: "notes",
        version: "1.10",
        description: "Keeps notes",
        kind: "exclusive",
        requiresEnv: [
          { name: "NOTES_KEY", url: "" },
          { name: "NOTES_URL", url: "https://example.org" },
        ],
        npmDependencies: ["left-pad@^1", "@scope/pkg"],
        pipDependencies: ["requests>=2"],
        externalDependencies: [
          { name: "brv", install: "npm install -g byterover-cli", check: "brv --version" },
        ],
      },
    });
  });

  it.each([
    ["a broken text", "name: [never closed\nother: }"],
    ["a list", "- a\n- b"],
    ["a word", "hello"],
    ["nothing", "\n# only a comment\n"],
    [
      "aliases without end",
      `a: &a [x,x,x,x,x,x,x,x,x]\n${[..."bcdefgh"].map((to, i) => `${to}: &${to} [${`*${"abcdefg"[i]},`.repeat(9)}]`).join("\n")}\n`,
    ],
  ])("%s is an empty manifest and a warning without an excerpt", async (_what, text) => {
    const { manifest, warning } = await parse(text);
    expect(manifest).toEqual(EMPTY_MANIFEST);
    expect(warning).toMatch(/plugin\.yaml.*dependencies are not known\.$/);
  });
});

describe("reading it", () => {
  it("says when it is not there", async () => {
    const { manifest, warning } = await readManifest(tempDirectory());
    expect(manifest).toEqual(EMPTY_MANIFEST);
    expect(warning).toMatch(/^There is no .*plugin\.yaml\./);
  });

  it("refuses a directory and an enormous file", async () => {
    const one = tempDirectory();
    mkdirSync(join(one, "plugin.yaml"));
    expect((await readManifest(one)).warning).toMatch(/is not a file/);
    const other = tempDirectory();
    writeFileSync(join(other, "plugin.yaml"), `# ${"x".repeat(300_000)}\nname: a\n`);
    expect(await readManifest(other)).toMatchObject({
      manifest: { name: "" },
      warning: expect.stringMatching(/larger than/),
    });
  });
});

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

  it("is the file that package.json names, exports before main", () => {
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
});

it("takes from exports the first condition that applies to an import", () => {
  expect(entryOfExports({ require: "./a.cjs", import: "./b.js" })).toBe("./b.js");
  expect(entryOfExports({ node: { import: "./n.js" }, default: "./d.js" })).toBe("./n.js");
  expect(entryOfExports({ ".": [{ browser: "./w.js" }, "./d.js"] })).toBe("./d.js");
  expect(entryOfExports({ require: "./a.cjs" })).toBeUndefined();
  expect(entryOfExports(7)).toBeUndefined();
});
