// Functions, classes and types that the pages name can be imported from the package.
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { publicEntryPoints } from "../scripts/api-reference.ts";

const root = resolve(import.meta.dirname, "..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const pages = [
  "README.md",
  ...["docs", "docs/guides"].flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((name) => name.endsWith(".md") && name !== "style.md") // for maintainers: it names internals
      .map((name) => join(folder, name)),
  ),
];

/** Every public name of `hermes-memory` and its subpaths, types included. */
const product = publicEntryPoints().filter(({ specifier }) => specifier.startsWith("hermes-memory"));
const exported = new Set(product.flatMap(({ names }) => names.map(({ name }) => name)));

const examples = ["examples", "test/consumers"].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name) && !/node_modules|\.(?:work|next)/.test(name))
    .map((name) => join(folder, name)),
);

function isExported(specifier: string, name: string): boolean {
  const entry = publicEntryPoints().find((each) => each.specifier === specifier);
  return entry?.names.some((each) => each.name === name) ?? false;
}

/** What some file of the library exports, whether or not the package does. */
const declared = new Set(
  readdirSync(join(root, "packages"), { recursive: true, encoding: "utf8" })
    .filter((name) => /^[^/\\]+[/\\]src[/\\].*\.ts$/.test(name))
    .flatMap((name) => [
      ...read(join("packages", name)).matchAll(
        /^export (?:async )?(?:function\*?|(?:abstract )?class|const|type) (\w+)/gm,
      ),
    ])
    .map((match) => match[1] ?? ""),
);

/** Meant otherwise: options, fields and methods that share their name with a function inside the library. */
const OTHER_THINGS: ReadonlySet<string> = new Set([
  "leftOut", // a field of what a compaction returns
  "platformHint", // an option of createAgent
  "readConfig", // a hook of a provider
  "registerCli", // an export of a plugin's cli file
  "shouldCompress", // a method of an engine
  "switchModel", // a method of Agent
  "toolCalls", // a field of a message
  "userPlatform", // an option of a search
]);

/** Names in code, of the forms that only programs have. Those that a sample declares itself are its own. */
function namesIn(page: string): string[] {
  const text = read(page);
  const samples = [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1] ?? "");
  const own = new Set(
    samples
      .flatMap((sample) => [...sample.matchAll(/\b(?:function|class|const|type) (\w+)/g)])
      .map((match) => match[1]),
  );
  const spans = [...text.replace(/```[\s\S]*?```/g, "").matchAll(/`([^`\n]+)`/g)].map(
    (match) => match[1] ?? "",
  );
  const words = [...spans, ...samples].flatMap((code) => [
    ...code.matchAll(/(?<![\w./-])([A-Za-z]\w*[a-z][A-Z]\w*)(?![\w-]|\.\w)/g),
  ]);
  return [...new Set(words.map((match) => match[1] ?? ""))].filter((name) => !own.has(name));
}

describe("the package", () => {
  it.each(pages)("exports what %s names", (page) => {
    const missing = namesIn(page).filter(
      (name) => declared.has(name) && !exported.has(name) && !OTHER_THINGS.has(name),
    );
    const advice =
      "Export them in a file of src/public of their package, or add fields and options of the same name to OTHER_THINGS.";
    expect(missing, advice).toEqual([]);
  });

  it.each([...pages, ...examples])("exports what %s imports from it", (page) => {
    const imports = [
      ...read(page).matchAll(
        /import (?:type )?\{([^}]*)\} from "((?:@hermes-memory\/|hermes-memory)[^"]*)"/g,
      ),
    ].flatMap(([, names = "", specifier = ""]) =>
      names
        .split(",")
        .map((name) =>
          name
            .replace(/^\s*type\s+/, "")
            .replace(/ as .*/s, "")
            .trim(),
        )
        .filter((name) => name !== "")
        .map((name) => ({ name, specifier })),
    );
    const missing = imports.filter(({ name, specifier }) => !isExported(specifier, name));
    expect(missing).toEqual([]);
  });

  it("exports every name that docs/upgrading.md says has moved from where it says", () => {
    const rows = [...read("docs/upgrading.md").matchAll(/^\| `(hermes-memory\/[\w-]+)` \| (.*) \|$/gm)];
    const moved = rows.flatMap(([, specifier = "", names = ""]) =>
      [...names.matchAll(/`(\w+)`/g)].map(([, name = ""]) => ({ specifier, name })),
    );
    expect(moved.length).toBeGreaterThan(300);
    expect(moved.filter(({ specifier, name }) => !isExported(specifier, name))).toEqual([]);
  });

  it("finds names that are not exported", () => {
    expect(declared.has("requestMessages") && !exported.has("requestMessages")).toBe(true);
    expect(namesIn("docs/skills.md")).toContain("undoSkillChange");
  });
});
