import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { findCycles } from "../../scripts/architecture/find-cycles.ts";
import { measureFlow } from "../../scripts/house/flows.ts";
import { readImportGraph } from "../../scripts/house/import-graph.ts";
import { readTree } from "../../scripts/house/tree.ts";

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
});

describe("coverage", () => {
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
});
