// The pages of docs/api: every public name of the packages with its signature and its doc comment, read from the sources with the
// TypeScript 5.9 that attw brings along (TypeScript 7 has no JavaScript API).
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, relative, resolve } from "node:path";
import type * as TypeScript from "../node_modules/@arethetypeswrong/core/node_modules/typescript/lib/typescript.js";

const root = resolve(import.meta.dirname, "..");
const attw = createRequire(createRequire(import.meta.url).resolve("@arethetypeswrong/core/package.json"));
const ts = attw("typescript") as typeof TypeScript;

type PublicName = {
  readonly name: string;
  readonly kind: "function" | "class" | "value" | "type";
  /** As TypeScript, without bodies. */
  readonly signature: string;
  /** Empty: it has no doc comment. */
  readonly comment: string;
  /** Where it is declared: `packages/core/src/curated/entries.ts:12`. */
  readonly place: string;
};

export type EntryPoint = {
  /** `@hermes-memory/core/internal/curated` */
  readonly specifier: string;
  readonly source: string;
  readonly names: readonly PublicName[];
};

let entryPoints: readonly EntryPoint[] | undefined;

/** Every entry point that is public: all of `exports` but `./internal/*`. Read once: it takes seconds. */
export function publicEntryPoints(): readonly EntryPoint[] {
  entryPoints ??= readEntryPoints();
  return entryPoints;
}

function readEntryPoints(): readonly EntryPoint[] {
  const entries = ["core", "agent", "mcp", "import", "gateway", "hermes-memory"].flatMap(entriesOf);
  const program = ts.createProgram({
    rootNames: entries.map(({ source }) => join(root, source)),
    options: {
      target: ts.ScriptTarget.ESNext,
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      allowImportingTsExtensions: true,
      noEmit: true,
      skipLibCheck: true,
      strict: true,
      types: ["node"],
    },
  });
  const checker = program.getTypeChecker();
  return entries.map(({ specifier, source }) => {
    const file = program.getSourceFile(join(root, source));
    const module = file && checker.getSymbolAtLocation(file);
    if (module === undefined) throw new Error(`${source} is no module.`);
    const names = checker
      .getExportsOfModule(module)
      .map((symbol) => describe(checker, symbol))
      .sort((a, b) => compare(a.name, b.name));
    return { specifier, source, names };
  });
}

function entriesOf(folder: string): { readonly specifier: string; readonly source: string }[] {
  const path = join(root, "packages", folder, "package.json");
  const { name, exports } = JSON.parse(readFileSync(path, "utf8")) as {
    name: string;
    exports: Record<string, string>;
  };
  return Object.entries(exports)
    .filter(([subpath, source]) => source.endsWith(".ts") && !subpath.startsWith("./internal"))
    .map(([subpath, source]) => ({
      specifier: subpath.replace(".", name),
      source: join("packages", folder, source),
    }));
}

function describe(checker: TypeScript.TypeChecker, exported: TypeScript.Symbol): PublicName {
  const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
  const [first] = symbol.declarations ?? [];
  if (first === undefined) throw new Error(`${exported.name} has no declaration.`);
  const line = first.getSourceFile().getLineAndCharacterOfPosition(first.getStart()).line + 1;
  const place = `${relative(root, first.getSourceFile().fileName).replaceAll("\\", "/")}:${line}`;
  const comment = ts.displayPartsToString(symbol.getDocumentationComment(checker)).trim();
  return { name: exported.name, comment, place, ...shape(checker, symbol, first) };
}

function shape(
  checker: TypeScript.TypeChecker,
  symbol: TypeScript.Symbol,
  first: TypeScript.Declaration,
): Pick<PublicName, "kind" | "signature"> {
  if (ts.isFunctionDeclaration(first)) {
    const overloads = (symbol.declarations ?? []).filter(ts.isFunctionDeclaration);
    const shown = overloads.length > 1 ? overloads.filter(({ body }) => body === undefined) : overloads;
    return { kind: "function", signature: shown.map((each) => headOf(each)).join("\n") };
  }
  if (ts.isClassDeclaration(first)) return { kind: "class", signature: classText(first) };
  if (ts.isVariableDeclaration(first)) {
    const type = checker.typeToString(checker.getTypeOfSymbolAtLocation(symbol, first), first);
    const isFunction = first.initializer !== undefined && ts.isArrowFunction(first.initializer);
    return { kind: isFunction ? "function" : "value", signature: `const ${symbol.name}: ${type}` };
  }
  return { kind: "type", signature: plain(first.getText().replace(/^export /, "")) };
}

/** The declaration without its body. */
function headOf(node: TypeScript.FunctionLikeDeclaration): string {
  const text = node.getText();
  const end = node.body === undefined ? text.length : node.body.getStart() - node.getStart();
  return plain(
    text
      .slice(0, end)
      .replace(/^export /, "")
      .trim()
      .replace(/;$/, ""),
  );
}

/** A class with its public members: comments and signatures, no bodies. */
function classText(node: TypeScript.ClassDeclaration): string {
  const [open = ""] = /^[^{]*(?=\{)/.exec(node.getText().replace(/^export /, "")) ?? [];
  const members = node.members.filter(isPublic).map((member) => {
    const head = isFunctionLike(member) ? headOf(member) : withoutValue(member);
    const comment = ts.getJSDocCommentsAndTags(member).map((each) => `${each.getText()}\n`);
    return `${comment.join("")}${head};`.replace(
      /^\s*/gm,
      (space) => `  ${space.startsWith(" ") ? " " : ""}`,
    );
  });
  return plain(`${open}{\n${members.join("\n")}\n}`);
}

function isPublic(member: TypeScript.ClassElement): boolean {
  if (ts.isClassStaticBlockDeclaration(member)) return false;
  if (member.name !== undefined && ts.isPrivateIdentifier(member.name)) return false;
  return !(ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Private);
}

function isFunctionLike(
  node: TypeScript.ClassElement,
): node is TypeScript.ClassElement & TypeScript.FunctionLikeDeclaration {
  return (
    ts.isMethodDeclaration(node) ||
    ts.isConstructorDeclaration(node) ||
    ts.isGetAccessor(node) ||
    ts.isSetAccessor(node)
  );
}

/** A field without its initial value. */
function withoutValue(member: TypeScript.ClassElement): string {
  const text = member.getText().replace(/;$/, "");
  if (!ts.isPropertyDeclaration(member) || member.initializer === undefined) return text;
  return text.slice(0, member.initializer.getStart() - member.getStart()).replace(/\s*=\s*$/, "");
}

/** Types that are imported where they are used are shown by their name; notes for the linter are left out. */
function plain(text: string): string {
  return text
    .replace(/import\("[^"]*"\)\./g, "")
    .replace(/^\s*\/\/ biome-ignore.*\n/gm, "")
    .trimEnd();
}

// ---- Pages ----

/** The pages by name (`curated.md`). Each name is described once, on the page of its subpath where it has one. */
export function apiPages(entries: readonly EntryPoint[] = publicEntryPoints()): ReadonlyMap<string, string> {
  const own = entries.filter(({ specifier }) => specifier.startsWith("@hermes-memory/"));
  const subpathsFirst = [...own].sort((a, b) => depth(b) - depth(a));
  const homes = new Map<string, string>();
  for (const { specifier, names } of subpathsFirst)
    for (const { name, place } of names)
      if (!homes.has(`${name} ${place}`)) homes.set(`${name} ${place}`, pageOf(specifier));
  const pages = own.map((entry): [string, string] => [
    pageOf(entry.specifier),
    entryPage(entry, entries, homes),
  ]);
  return new Map([["README.md", overview(own, entries)], ...pages]);
}

const MADE_BY = "<!-- Made by `npm run docs` from the sources. Change the doc comments there. -->";

function overview(own: readonly EntryPoint[], all: readonly EntryPoint[]): string {
  const rows = own.map(({ specifier, source, names }) => {
    const values = names.filter(({ kind }) => kind !== "type").length;
    const product = inProduct(specifier, all);
    const page = pageOf(specifier);
    return `| [\`${specifier}\`](${page}) | \`${product}\` | ${purposeOf(source)} | ${values} + ${names.length - values} types |`;
  });
  return [
    MADE_BY,
    "# API reference",
    "",
    "Every public name, with its type and what it is for. Start with [`UserMemory`](memory.md#usermemory): it is the door most programs need. The guides are in [Build with it](../build.md).",
    "",
    "With only `hermes-memory` installed, use the names of the second column: they export the same.",
    "",
    "| import from | or from | holds | names |",
    "|---|---|---|---|",
    ...rows,
    "",
    "`/internal` and `/internal/*` of each package are how the packages use each other. They may change in any version.",
    "",
  ].join("\n");
}

function entryPage(
  entry: EntryPoint,
  all: readonly EntryPoint[],
  homes: ReadonlyMap<string, string>,
): string {
  const here = pageOf(entry.specifier);
  const homeOf = ({ name, place }: PublicName) => homes.get(`${name} ${place}`) ?? here;
  const rows = inOrder(entry.names).map((each) => {
    const link = `${homeOf(each) === here ? "" : homeOf(each)}#${each.name.toLowerCase()}`;
    return `| [\`${each.name}\`](${link}) | ${each.kind} | ${inCell(firstSentence(each.comment))} |`;
  });
  const described = inOrder(entry.names).filter((each) => homeOf(each) === here);
  const sections = described.flatMap(({ name, comment, signature }) => [
    `## ${name}`,
    "",
    ...(comment === "" ? [] : [comment, ""]),
    "```ts",
    signature,
    "```",
    "",
  ]);
  return [
    MADE_BY,
    `# ${entry.specifier}`,
    "",
    `${purposeOf(entry.source)} Also as \`${inProduct(entry.specifier, all)}\`. [All entry points](README.md).`,
    "",
    "| name | kind | what it is |",
    "|---|---|---|",
    ...rows,
    "",
    ...sections,
  ].join("\n");
}

/** Values first: they are what a program starts from. */
function inOrder(names: readonly PublicName[]): readonly PublicName[] {
  const isType = ({ kind }: PublicName) => (kind === "type" ? 1 : 0);
  return [...names].sort((a, b) => isType(a) - isType(b) || compare(a.name, b.name));
}

/** The first comment of the entry's file. */
function purposeOf(source: string): string {
  const [comment = ""] = /^(?:\/\/.*\n)+/.exec(readFileSync(join(root, source), "utf8")) ?? [];
  return comment
    .replace(/^\/\/ ?/gm, "")
    .replace(/\s+/g, " ")
    .trim();
}

/** The entry point of `hermes-memory` that exports the same. */
function inProduct(specifier: string, all: readonly EntryPoint[]): string {
  const [, name, subpath] = /^@hermes-memory\/(\w+)\/?(.*)$/.exec(specifier) ?? [];
  const wanted = ["hermes-memory", subpath || (name === "core" ? "" : name)].filter((part) => part !== "");
  const same = all.find((each) => each.specifier === wanted.join("/"));
  if (same === undefined) throw new Error(`hermes-memory has no subpath for ${specifier}.`);
  return same.specifier;
}

function pageOf(specifier: string): string {
  const [, name = "", subpath] = /^@hermes-memory\/(\w+)\/?(.*)$/.exec(specifier) ?? [];
  return `${(subpath || name).replaceAll("/", "-")}.md`;
}

function depth({ specifier }: EntryPoint): number {
  return specifier.split("/").length;
}

function firstSentence(comment: string): string {
  const [line = ""] = comment.split(/\n\s*\n|\n-/);
  return /^.*?[.!?](?=\s+[A-Z`]|\s*$)/s.exec(line.replace(/\s+/g, " "))?.[0] ?? line.replace(/\s+/g, " ");
}

function inCell(text: string): string {
  return text.replaceAll("|", "\\|");
}

function compare(a: string, b: string): number {
  return a.toLowerCase() < b.toLowerCase() ? -1 : a.toLowerCase() > b.toLowerCase() ? 1 : a < b ? -1 : 1;
}
