// The repository follows the rules of scripts/architecture, and each rule notices when it does not.
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { breaches, FLOORS, RULES, type RuleName } from "../scripts/architecture/rules.ts";
import {
  type Package,
  readWorkspace,
  type Workspace,
  workspaceOf,
} from "../scripts/architecture/workspace.ts";
import { importsOf } from "../scripts/house/import-graph.ts";

const workspace = readWorkspace(resolve(import.meta.dirname, ".."));

describe("the repository", () => {
  it("follows every rule", () => {
    expect(breaches(workspace)).toEqual([]);
  });

  it("is read whole: every package, and imports of every kind", () => {
    const directories = workspace.packages.map(({ directory }) => directory);
    expect(directories.toSorted()).toEqual(["", ...Object.keys(FLOORS)].toSorted());
    expect(workspace.files.length).toBeGreaterThan(1_000);
    const kinds = Object.groupBy(workspace.imports, ({ kind }) => kind);
    expect(kinds.value?.length).toBeGreaterThan(3_000);
    expect(kinds.type?.length).toBeGreaterThan(500);
    expect(kinds.dynamic?.length).toBeGreaterThan(50);
  });

  it("has a file behind every import in its sources", () => {
    const known = new Set(workspace.files.map(({ path }) => path));
    const lost = workspace.imports.filter(({ to }) => to?.endsWith(".ts") && !known.has(to));
    // Tests, such as this one, hold imports as text.
    expect(lost.filter(({ from }) => from.includes("/src/"))).toEqual([]);
  });
});

it("imports of every form are read, and none in comments and strings", () => {
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
    const g = 'export * from "./string.ts"';
  `;
  const found = importsOf(text).map(({ kind, specifier }) => `${kind} ${specifier}`);
  expect(found.sort()).toEqual([
    "dynamic ./dynamic.ts",
    "type ./type-again.ts",
    "type ./type-expression.ts",
    "type ./type.ts",
    "value ./loaded-though-only-types.ts",
    "value ./side-effect.ts",
    "value ./star.ts",
  ]);
});

/** By rule: a file, and what in it breaks the rule. */
const BREACHES: Partial<Record<RuleName, readonly (readonly [file: string, text: string])[]>> = {
  "every folder of src has a floor": [["packages/core/src/helpers/text.ts", "export const a = 1;"]],
  "imports inside a package point down": [
    ["packages/core/src/lib/text.ts", 'import { a } from "../config/index.ts";'],
    ["packages/core/src/curated/store.ts", 'import type { A } from "../sessions/index.ts";'],
    ["packages/hermes-memory/src/demo/index.ts", 'const { a } = await import("../cli/main.ts");'],
  ],
  "packages import lower packages": [
    ["packages/core/src/context/engine.ts", 'import { a } from "@hermes-memory/agent/models";'],
    ["packages/core/src/context/engine.ts", 'import { a } from "@hermes-memory/core/lib";'],
  ],
  "a relative import stays in its src": [
    ["packages/agent/src/agent/turn.ts", 'import { a } from "../../../core/src/lib/index.ts";'],
    ["packages/agent/src/agent/turn.ts", 'import { a } from "../../test/fakes/model-server.ts";'],
  ],
  "packages are entered through their exports": [
    ["packages/agent/src/agent/turn.ts", 'import { a } from "@hermes-memory/core/lib/text";'],
  ],
  "folders are entered through their index.ts": [
    ["packages/core/src/config/load.ts", 'import { a } from "../lib/text.ts";'],
  ],
  "tests import their own and lower packages": [
    ["packages/core/test/config/load.test.ts", 'import { a } from "@hermes-memory/agent";'],
    [
      "packages/agent/test/agent/turn.test.ts",
      'import { a } from "../../../hermes-memory/test/fakes/pty.ts";',
    ],
    ["packages/core/test/config/load.test.ts", 'import { a } from "../../../../bench/main.ts";'],
  ],
  "contract suites import sources only": [
    ["packages/core/testing/session-store.ts", 'import { it } from "vitest";'],
    ["packages/core/testing/session-store.ts", 'import { a } from "../test/fakes/child.ts";'],
  ],
  "package.json lists what is imported": [
    ["packages/agent/src/agent/turn.ts", 'import { parse } from "yaml";'],
    ["packages/core/src/config/load.ts", 'const { it } = await import("vitest");'],
    ["scripts/build.ts", 'import { parse } from "yaml";'],
  ],
  "sources do not use console": [["packages/core/src/config/load.ts", "console.log(1);"]],
};

describe("a rule", () => {
  it.each(Object.entries(BREACHES))("%s: notices what breaks it", (rule, rows) => {
    for (const [file, text] of rows) {
      const made = madeUp({ [file]: text });
      expect(RULES[rule as RuleName](made), text).toHaveLength(1);
      expect(breaches(made)).toContainEqual(expect.stringContaining(`${rule}: `));
    }
  });

  it("is tried above, each of them", () => {
    const tried = new Set([...Object.keys(BREACHES), "exports lists only doors"]);
    expect(Object.keys(RULES).filter((rule) => !tried.has(rule))).toEqual([]);
  });

  it("exports lists only doors: notices a file inside a folder", () => {
    const packages = PACKAGES.map((each) =>
      each.directory === "packages/core"
        ? { ...each, exports: { ...each.exports, "./text": "./src/lib/text.ts" } }
        : each,
    );
    expect(RULES["exports lists only doors"](workspaceOf(packages, []))).toEqual([
      "packages/core/src/lib/text.ts",
    ]);
  });

  it("lets everything pass that is allowed", () => {
    const made = madeUp({
      "packages/core/src/lib/text.ts": 'import { a } from "./more.ts";\nimport { join } from "node:path";',
      "packages/core/src/version.ts": 'import manifest from "../package.json" with { type: "json" };',
      "packages/core/src/config/load.ts":
        'import { a } from "../lib/index.ts";\nimport { b } from "../home.ts";\nimport { parse } from "yaml";',
      "packages/core/src/curated/store.ts": 'const { b } = await import("../lib/logger.ts");',
      "packages/core/testing/session-store.ts": 'import { a } from "../src/sessions/store.ts";',
      "packages/core/test/load.test.ts":
        'import { it } from "vitest";\nimport { a } from "../src/config/load.ts";',
      "packages/agent/src/agent/turn.ts": 'import { a } from "@hermes-memory/core/lib";',
      "packages/agent/test/turn.test.ts":
        'import { a } from "../../core/test/fakes/child.ts";\nimport { b } from "@hermes-memory/core";\nimport { c } from "../../../test/fixtures/fixture-home.ts";',
      "packages/hermes-memory/src/cli/main.ts": 'import { a } from "../mcp/index.ts";',
      "scripts/soak.ts":
        'import { a } from "@hermes-memory/agent";\nimport { b } from "../packages/core/test/fakes/child.ts";\nconsole.log(1);',
    });
    expect(breaches(made)).toEqual([]);
  });
});

describe("cycles", () => {
  const first = "packages/core/src/lib/first.ts";
  const second = "packages/core/src/lib/second.ts";
  const circle = (back: string) => madeUp({ [first]: 'import { b } from "./second.ts";', [second]: back });

  it.each([
    ["value", 'import { a } from "./first.ts";'],
    ["dynamic", 'const { a } = await import("./first.ts");'],
    ["type", 'import type { A } from "./first.ts";'],
  ])("are noticed and named once: %s", (kind, back) => {
    expect(breaches(circle(back))).toEqual([`no cycles: ${kind} imports form a cycle: ${first}, ${second}`]);
  });

  it("are noticed across packages, through exports", () => {
    const made = madeUp({
      "packages/agent/src/index.ts": 'import { a } from "@hermes-memory/core";',
      "packages/core/src/index.ts": 'import { b } from "@hermes-memory/agent";',
    });
    expect(breaches(made)).toContainEqual(
      "no cycles: value imports form a cycle: packages/agent/src/index.ts, packages/core/src/index.ts",
    );
  });
});

const PACKAGES: readonly Package[] = [
  { name: "root", directory: "", exports: {}, dependencies: [], devDependencies: ["vitest"] },
  {
    name: "@hermes-memory/core",
    directory: "packages/core",
    exports: {
      ".": "./src/index.ts",
      "./lib": "./src/lib/index.ts",
      "./package.json": "./package.json",
    },
    dependencies: ["yaml"],
    devDependencies: [],
  },
  {
    name: "@hermes-memory/agent",
    directory: "packages/agent",
    exports: { ".": "./src/index.ts", "./models": "./src/models/index.ts" },
    dependencies: ["@hermes-memory/core"],
    devDependencies: [],
  },
  {
    name: "hermes-memory",
    directory: "packages/hermes-memory",
    exports: { ".": "./src/index.ts" },
    dependencies: ["@hermes-memory/core", "@hermes-memory/agent"],
    devDependencies: [],
  },
];

/** A workspace of the same packages with these files only. */
function madeUp(files: Readonly<Record<string, string>>): Workspace {
  return workspaceOf(
    PACKAGES,
    Object.entries(files).map(([path, text]) => ({ path, text })),
  );
}
