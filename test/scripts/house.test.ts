// The report of `npm run house`: what it counts, on a made-up workspace, and one measured flow of this checkout.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { findCycles } from "../../scripts/architecture/find-cycles.ts";
import { countFunctions, measureFlow } from "../../scripts/house/flows.ts";
import { importsOf, readImportGraph } from "../../scripts/house/import-graph.ts";
import { countCodeLines, countLines, doorOf, folderOf, readTree } from "../../scripts/house/tree.ts";

const root = resolve(import.meta.dirname, "../..");
const folders: string[] = [];

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function checkout(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "hermes-house-test-"));
  folders.push(folder);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

/** Two packages: the product imports core by its name, core has a lazy file, a tested one and a cycle. */
const WORKSPACE = {
  "packages/core/package.json": JSON.stringify({
    name: "@made/core",
    exports: {
      ".": "./src/index.ts",
      "./lib": { types: "./dist/lib.d.ts", default: "./src/lib/index.ts" },
      "./layer/*": "./src/layer/*.ts",
    },
  }),
  "packages/core/src/index.ts": 'export { text } from "./lib/index.ts";\n',
  "packages/core/src/lib/index.ts":
    'export { text } from "./text.ts";\nexport type { Shape } from "./shape.ts";\n',
  "packages/core/src/lib/text.ts": 'import "./side.ts";\nexport const text = "a";\n',
  "packages/core/src/lib/side.ts": "export {};\n",
  "packages/core/src/lib/shape.ts": "export type Shape = string;\n",
  "packages/core/src/layer/open.ts":
    'import { close } from "./close.ts";\nexport const open = async () => [close, await import("./heavy.ts")];\n',
  "packages/core/src/layer/close.ts": 'import { open } from "./open.ts";\nexport const close = () => open;\n',
  "packages/core/src/layer/heavy.ts": "export const heavy = 1;\n",
  "packages/core/test/lib/side.test.ts": 'import "../../src/lib/side.ts";\n',
  "packages/product/package.json": JSON.stringify({ name: "made", exports: "./src/main.ts" }),
  "packages/product/src/main.ts":
    'import { text } from "@made/core";\nimport { text as again } from "@made/core/lib";\nimport { open } from "@made/core/layer/open";\nimport { parseArgs } from "node:util";\nopen(text, again, parseArgs);\n',
  "test/whole.test.ts": 'import "made";\n',
} as const;

describe("the import graph", () => {
  const tree = readTree(checkout(WORKSPACE));
  const graph = readImportGraph(tree);
  const from = (file: string) =>
    graph.edges.filter((edge) => edge.from === file).map(({ to, kind }) => `${kind} ${to}`);

  it("follows package names through exports: strings, conditions and patterns", () => {
    expect(from("packages/product/src/main.ts")).toEqual([
      "value packages/core/src/index.ts",
      "value packages/core/src/lib/index.ts",
      "value packages/core/src/layer/open.ts",
    ]);
  });

  it("tells type and dynamic imports from value imports", () => {
    expect(from("packages/core/src/lib/index.ts")).toEqual([
      "value packages/core/src/lib/text.ts",
      "type packages/core/src/lib/shape.ts",
    ]);
    expect(from("packages/core/src/layer/open.ts")).toEqual([
      "value packages/core/src/layer/close.ts",
      "dynamic packages/core/src/layer/heavy.ts",
    ]);
  });

  it("names files with one importer, and whether they are lazy or tested", () => {
    const rows = graph.singleImporters.map(({ file, isLazy, isTested }) => [
      file.slice(18),
      isLazy,
      isTested,
    ]);
    // text.ts has two: main.ts through lib/index.ts, and the users of the package, whose root index.ts exports it.
    expect(rows).toEqual([
      ["layer/close.ts", false, false],
      ["layer/heavy.ts", true, false],
      ["lib/side.ts", false, true],
    ]);
    expect(graph.withoutImporter).toEqual(["packages/product/src/main.ts"]);
  });

  it("finds cycles, and only among the edges it is given", () => {
    expect(graph.cycles).toEqual([["packages/core/src/layer/close.ts", "packages/core/src/layer/open.ts"]]);
    const edge = (pair: string) => ({ from: pair.charAt(0), to: pair.charAt(1), kind: "value" as const });
    const edges = ["ab", "bc", "ca", "cd", "de", "ed", "fa"].map(edge);
    expect(findCycles([..."abcdef"], edges)).toEqual([
      ["a", "b", "c"],
      ["d", "e"],
    ]);
    expect(findCycles([..."abcdef"], edges.slice(0, 2))).toEqual([]);
  });

  it("reads every form of import and no comment or string", () => {
    const text = `
      import type { A } from "./type.ts";
      import { type B } from "./loaded-though-only-types.ts";
      import "./side-effect.ts";
      export * from "./star.ts";
      export type { D } from "./type-again.ts";
      type E = import("./type-expression.ts").E;
      const f = await import(
        "./dynamic.ts"
      );
      // import "./comment.ts"; import("./comment.ts")
      /* export * from "./comment.ts" */
      const g = 'export * from "./string.ts"';
    `;
    expect(
      importsOf(text)
        .map(({ kind, specifier }) => `${kind} ${specifier}`)
        .sort(),
    ).toEqual([
      "dynamic ./dynamic.ts",
      "type ./type-again.ts",
      "type ./type-expression.ts",
      "type ./type.ts",
      "value ./loaded-though-only-types.ts",
      "value ./side-effect.ts",
      "value ./star.ts",
    ]);
  });
});

describe("a checkout", () => {
  it("counts lines, and those without blanks and comments", () => {
    const text = '// head\n\nconst a = "// no comment"; // tail\n/* two\n lines */ const b = `\n\n`;\n';
    expect([countLines(text), countCodeLines(text)]).toEqual([7, 3]);
    expect([countLines(""), countLines("a"), countLines("a\n"), countLines("a\nb")]).toEqual([0, 1, 1, 2]);
  });

  it("is read with one package at the root as well", () => {
    const tree = readTree(
      checkout({
        "package.json": JSON.stringify({ name: "made" }),
        "src/cli/main.ts": "",
        "src/cli/deep/down.ts": "",
        "src/index.ts": "",
        "src/notes.md": "",
        "test/cli/main.test.ts": "",
        "node_modules/other/src/index.ts": "",
      }),
    );
    expect(tree.sources.map(({ path }) => `${folderOf(tree, path)} ${path}`)).toEqual([
      "cli src/cli/deep/down.ts",
      "cli src/cli/main.ts",
      ". src/index.ts",
    ]);
    expect(tree.tests.map(({ path }) => path)).toEqual(["test/cli/main.test.ts"]);
    expect(doorOf(tree, "cli/main.ts")).toBe(join(tree.root, "src/cli/main.ts"));
    expect(() => doorOf(tree, "agent/index.ts")).toThrow("None of these files exists: src/agent/index.ts.");
  });

  it("finds a door in whichever package has it", () => {
    const tree = readTree(checkout(WORKSPACE));
    expect(doorOf(tree, "layer/open.ts")).toBe(join(tree.root, "packages/core/src/layer/open.ts"));
  });
});

describe("coverage", () => {
  it("counts functions that ran, without module bodies, static fields and files that are not ours", () => {
    const tree = readTree(checkout(WORKSPACE));
    const url = (path: string) => pathToFileURL(join(tree.root, path)).href;
    const ran = (functionName: string, startOffset: number, count = 1) => ({
      functionName,
      isBlockCoverage: false,
      ranges: [{ startOffset, endOffset: startOffset + 5, count }],
    });
    const script = (path: string, functions: ReturnType<typeof ran>[]) => ({
      scriptId: "1",
      url: url(path),
      functions,
    });
    const open = "packages/core/src/layer/open.ts";
    const files = [
      {
        result: [
          script(open, [ran("", 0), ran("open", 10, 3), ran("", 20), ran("idle", 30, 0)]),
          script("packages/core/src/lib/text.ts", [ran("", 0), ran("<static_initializer>", 7)]),
          script("node_modules/other/index.ts", [ran("", 0), ran("theirs", 10)]),
        ],
        loadedBefore: [url("packages/core/src/lib/side.ts"), "node:fs"],
      },
      { result: [script(open, [ran("", 0), ran("open", 10), ran("late", 40)])] }, // of another process
    ];
    expect(countFunctions(tree, files)).toEqual({
      filesRun: 1,
      functionsRun: 3,
      filesLoaded: 3,
      functionsByFile: { [open]: 3 },
    });
  });

  it("shows the files of a memory write in this checkout", () => {
    const { filesRun, filesLoaded, functionsRun, functionsByFile } = measureFlow(
      readTree(root),
      "memory-add",
    );
    expect(Object.keys(functionsByFile)).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^packages\/hermes-memory\/src\/cli\//),
        expect.stringMatching(/^packages\/core\/src\/curated\//),
      ]),
    );
    expect(Object.keys(functionsByFile).join()).not.toMatch(/packages\/agent|core\/src\/context/);
    expect(filesLoaded).toBeGreaterThan(filesRun);
    expect(functionsRun).toBeGreaterThan(filesRun);
  });

  it("refuses a flow it does not know with exit code 2", () => {
    const args = [join(root, "scripts/house.ts"), "--files", "memory-ad"];
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: expect.stringContaining("Flows: memory-add, later-turn"),
    });
  });
});
