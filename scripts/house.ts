// Reports the size of the code base and the number of files that take part in each flow. No check fails because of it:
//   npm run house -- [--root DIR] [--json | --files FLOW]
// Exit code 0 when everything could be measured, 1 when a checkout or a flow could not, 2 for wrong usage.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { FLOWS, type FlowFigures, type FlowName, measureFlow } from "./house/flows.ts";
import { type ImportGraph, readImportGraph } from "./house/import-graph.ts";
import { folderOf, packageOf, readTree, type Tree } from "./house/tree.ts";

type Counts = {
  readonly files: number;
  readonly lines: number;
  readonly codeLines: number;
  /** Files that exactly one other source file imports. */
  readonly singleImporter: number;
  /** Of these: neither lazy nor imported by a test, so by the style guide a section of their importer. */
  readonly singleImporterUnearned: number;
};

type FolderCounts = Counts & { readonly package: string; readonly folder: string };

type House = {
  readonly folders: readonly FolderCounts[];
  readonly total: Counts;
  readonly tests: Pick<Counts, "files" | "lines" | "codeLines">;
  readonly imports: Omit<ImportGraph, "edges"> & { readonly edges: number };
  readonly flows: Readonly<Partial<Record<FlowName, FlowFigures>>>;
};

const names = Object.keys(FLOWS) as FlowName[];
const usage = `Usage: npm run house -- [--root DIR] [--json | --files FLOW]\nFlows: ${names.join(", ")}\n`;

main();

function main(): void {
  const flags = readFlags();
  if (flags === undefined) {
    process.stderr.write(usage);
    process.exitCode = 2;
    return;
  }
  try {
    if (flags.root !== undefined && !existsSync(flags.root))
      throw new Error(`There is no folder ${flags.root}.`);
    const tree = readTree(flags.root ?? resolve(import.meta.dirname, ".."));
    if (flags.files !== undefined) print(fileLines(measureFlow(tree, flags.files)));
    else if (flags.json === true) print([JSON.stringify(measure(tree), null, 2)]);
    else print(houseLines(measure(tree)));
  } catch (cause) {
    process.exitCode = 1;
    process.stderr.write(`${cause instanceof Error ? cause.message : String(cause)}\n`);
  }
}

function readFlags() {
  try {
    const { values } = parseArgs({
      options: { root: { type: "string" }, json: { type: "boolean" }, files: { type: "string" } },
    });
    const files = names.find((name) => name === values.files);
    if (values.files !== undefined && (files === undefined || values.json)) return undefined;
    return { root: values.root, json: values.json, files };
  } catch {
    return undefined; // an unknown flag
  }
}

function measure(tree: Tree): House {
  const { edges, ...imports } = readImportGraph(tree);
  const single = new Map(imports.singleImporters.map((each) => [each.file, each]));
  const count = (files: Tree["sources"]): Counts => {
    const singles = files.flatMap(({ path }) => single.get(path) ?? []);
    return {
      ...sizeOf(files),
      singleImporter: singles.length,
      singleImporterUnearned: singles.filter(({ isLazy, isTested }) => !isLazy && !isTested).length,
    };
  };
  const byFolder = Map.groupBy(
    tree.sources,
    ({ path }) => `${packageOf(tree, path).name} ${folderOf(tree, path)}`,
  );
  const folders = [...byFolder].map(([key, files]) => {
    const [name = "", folder = ""] = key.split(" ");
    return { package: name, folder, ...count(files) };
  });
  return {
    folders,
    total: count(tree.sources),
    tests: sizeOf(tree.tests),
    imports: { edges: edges.length, ...imports },
    flows: Object.fromEntries(names.map((name) => [name, measureFlow(tree, name)])),
  };
}

function sizeOf(files: Tree["sources"]): Pick<Counts, "files" | "lines" | "codeLines"> {
  const sum = (key: "lines" | "codeLines"): number => files.reduce((total, file) => total + file[key], 0);
  return { files: files.length, lines: sum("lines"), codeLines: sum("codeLines") };
}

function houseLines({ folders, total, tests, imports, flows }: House): string[] {
  const rows: Row[] = [["", "files", "lines", "code", "1 importer", "unearned"]];
  for (const [name, each] of Map.groupBy(folders, (folder) => folder.package)) {
    rows.push([name, ...cells(add(each))]);
    for (const { folder, ...counts } of each.sort((a, b) => (a.folder < b.folder ? -1 : 1)))
      rows.push([folder === "." ? "  (in src itself)" : `  ${folder}`, ...cells(counts)]);
  }
  rows.push(["all sources", ...cells(total)], ["tests", ...cells(tests)]);
  const share = ((100 * total.singleImporter) / total.files).toFixed(1);
  const flowRows: Row[] = [["flow", "files run", "functions run", "files loaded"]];
  for (const [name, { title, ...figures }] of Object.entries(flows))
    flowRows.push([`${name}: ${title}`, figures.filesRun, figures.functionsRun, figures.filesLoaded]);
  return [
    ...table(rows),
    "",
    `1 importer: ${share} % of the files. Unearned: of these, neither imported lazily nor by a test.`,
    `code: lines without blank ones and comments. Files without importer: ${imports.withoutImporter.join(", ")}`,
    `Import cycles (files in each): ${sizes(imports.cycles)} by value imports, ${sizes(imports.cyclesOfAnyKind)} by imports of any kind.`,
    "",
    ...table(flowRows),
  ];
}

function fileLines({ title, filesRun, functionsRun, filesLoaded, functionsByFile }: FlowFigures): string[] {
  const head = `${title}: ${functionsRun} functions in ${filesRun} files; ${filesLoaded} files loaded`;
  return [head, ...table(Object.entries(functionsByFile))];
}

type Row = readonly [string, ...(string | number)[]];

function cells(counts: Partial<Counts>): (string | number)[] {
  const { files, lines, codeLines, singleImporter = "", singleImporterUnearned = "" } = counts;
  return [files ?? "", lines ?? "", codeLines ?? "", singleImporter, singleImporterUnearned];
}

function add(counts: readonly Counts[]): Counts {
  const sum = (key: keyof Counts): number => counts.reduce((total, each) => total + each[key], 0);
  return {
    files: sum("files"),
    lines: sum("lines"),
    codeLines: sum("codeLines"),
    singleImporter: sum("singleImporter"),
    singleImporterUnearned: sum("singleImporterUnearned"),
  };
}

function sizes(cycles: readonly (readonly string[])[]): string {
  return cycles.length === 0 ? "none" : cycles.map(({ length }) => length).join(" + ");
}

/** The first column is left-aligned; the others hold numbers and are right-aligned. */
function table(rows: readonly Row[]): string[] {
  const texts = rows.map((row) =>
    row.map((cell) => (typeof cell === "number" ? cell.toLocaleString("en") : cell)),
  );
  const widths = (texts[0] ?? []).map((_, column) =>
    Math.max(...texts.map((row) => row[column]?.length ?? 0)),
  );
  return texts.map((row) =>
    row
      .map((text, column) =>
        column === 0 ? text.padEnd(widths[0] ?? 0) : text.padStart((widths[column] ?? 0) + 2),
      )
      .join("")
      .trimEnd(),
  );
}

function print(lines: readonly string[]): void {
  process.stdout.write(`${lines.join("\n")}\n`);
}
