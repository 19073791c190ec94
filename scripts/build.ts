// Makes packages/<name>/dist: each package as it is published, with a package.json, declarations, README and docs of its own.
// `npm pack ./packages/<name>/dist` packs it.
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { build, type Plugin } from "esbuild";

type Manifest = {
  readonly name: string;
  readonly version: string;
  readonly engines: { readonly node: string };
  readonly exports: Readonly<Record<string, string>>;
  readonly bin?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
};

type Package = { readonly folder: string; readonly dist: string; readonly manifest: Manifest };

const root = resolve(import.meta.dirname, "..");

/** Each after those it depends on: its declarations are made against theirs. */
const packages = ["core", "agent", "hermes-memory"].map(readPackage);

/** On the path of every command, so it is bundled instead of being loaded from a folder of its own. */
const BUNDLED = ["commander"];

/** Fields of the source's package.json that are published as they are. */
const PUBLISHED = [
  ...["name", "version", "description", "license", "keywords", "type", "engines", "sideEffects"],
  "optionalDependencies",
];

// Importing a built-in as a module reads every property it has, and with them streams, web crypto and more that a short command never
// uses. Taken from the plain object it is, only the names we use get loaded (docs/decisions/0003-bundled-command-line.md has the times).
const plainBuiltins: Plugin = {
  name: "plain-builtins",
  setup({ onEnd }) {
    onEnd(({ outputFiles }) => {
      for (const { path, text } of outputFiles ?? []) write(path, text.replace(BUILTIN_IMPORT, takeBuiltin));
    });
  },
};

// The one form in which the bundler writes such an import.
const BUILTIN_IMPORT = /\bimport\s*(?:\{([^{}]*)\}|(\w+))\s*from\s*"(node:[\w/]+)";/g;

function takeBuiltin(
  _line: string,
  names: string | undefined,
  whole: string | undefined,
  name: string,
): string {
  const binding = names === undefined ? whole : `{${names.replace(/\s+as\s+/g, ":")}}`;
  return `const ${binding}=process.getBuiltinModule("${name}");`;
}

/** What nearly every caller loads anyway, by package. */
const GROUND: Readonly<Record<string, readonly string[]>> = {
  "@hermes-memory/core": [
    "lib/index.ts",
    "security/index.ts",
    "config/index.ts",
    "home.ts",
    "memory/index.ts",
    "tools/index.ts",
    "version.ts",
  ],
  // Not main.ts: it waits for the command, and a command that waited for main.ts would never begin.
  "hermes-memory": [
    "cli/program.ts",
    "cli/command.ts",
    "cli/failure.ts",
    "cli/terminal.ts",
    "cli/printing.ts",
  ],
};

// The bundler makes one file of all modules that the same entries need. With 15 entries of core and 67 parts of the command line that
// are loaded on demand, that came to a dozen small files in the way of every command, 1 to 2 ms each. Here every entry and every such
// part names the ground, so the ground is one file.
function sharedGround({ folder, manifest }: Package): Plugin {
  const ground = (GROUND[manifest.name] ?? []).map((name) => join(folder, "src", name));
  // Entries of the product stay as they are: main.ts has the ground, and index.ts nothing of it.
  const kinds = manifest.bin ? ["dynamic-import"] : ["dynamic-import", "entry-point"];
  return {
    name: "shared-ground",
    setup({ onResolve, onLoad }) {
      if (ground.length === 0) return;
      onResolve({ filter: /^[./]/ }, ({ path, kind, resolveDir }) =>
        // From the root, because the bundler writes the path into a comment.
        kinds.includes(kind)
          ? { path: relative(root, resolve(resolveDir, path)), namespace: "part" }
          : undefined,
      );
      onLoad({ filter: /.*/, namespace: "part" }, ({ path }) => {
        const imports = ground.map((file) => `import ${JSON.stringify(file)};\n`);
        const part = JSON.stringify(join(root, path));
        return { contents: `${imports.join("")}export * from ${part};`, resolveDir: folder };
      });
    },
  };
}

for (const each of packages) {
  rmSync(each.dist, { recursive: true, force: true });
  await bundle(each);
  declare(each);
  writeManifest(each);
  copyPages(each);
  linkSiblings(each);
  if (each.manifest.bin) addCommands(each);
}

async function bundle({ folder, dist, manifest }: Package): Promise<void> {
  const entries = sources(manifest).map(([subpath, source]) => [outputName(subpath), join(folder, source)]);
  const commands = manifest.bin ? [["cli/main", join(folder, "src/cli/main.ts")]] : [];
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: Object.fromEntries([...entries, ...commands]),
    outdir: dist,
    bundle: true,
    splitting: true, // what a caller does not need stays in a file it does not load
    chunkNames: "chunks/[name]-[hash]",
    format: "esm",
    platform: "node",
    target: `node${/\d+/.exec(manifest.engines.node)?.[0]}`,
    // The siblings too: a plugin has to meet the same classes and the same open files as the program that loads it.
    external: Object.keys(published(manifest)),
    // The libraries stay readable, in a stack trace and in a debugger; measured, they load as fast.
    minifySyntax: manifest.bin !== undefined,
    minifyWhitespace: manifest.bin !== undefined,
    legalComments: "eof",
    logLevel: "warning",
    metafile: true,
    write: false,
    logOverride: { "ignored-bare-import": "silent" },
    plugins: [sharedGround({ folder, dist, manifest }), plainBuiltins],
  });
  const foreign = Object.keys(metafile.inputs).flatMap(
    (path) => /node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? [],
  );
  const undeclared = new Set(foreign.map((path) => path.slice("node_modules/".length)));
  for (const name of BUNDLED) {
    if (!undeclared.delete(name)) continue;
    write(
      join(dist, "licenses", `${name}.txt`),
      readFileSync(join(root, "node_modules", name, "LICENSE"), "utf8"),
    );
  }
  if (undeclared.size > 0)
    throw new Error(
      `${manifest.name} bundles what its package.json does not name: ${[...undeclared].join(", ")}.`,
    );
}

function declare({ folder, dist, manifest }: Package): void {
  const config = join(root, "node_modules/.cache/hermes-build", `${outputName(manifest.name)}.json`);
  // In the checkout the siblings' names lead to their sources; here to the declarations that were just made of them.
  const siblings = packages.flatMap((other) =>
    sources(other.manifest).map(([subpath, source]) => [
      subpath.replace(".", other.manifest.name),
      [join(other.dist, declarationOf(source))],
    ]),
  );
  const options = {
    extends: join(root, "tsconfig.json"),
    compilerOptions: {
      noEmit: false,
      emitDeclarationOnly: true,
      declaration: true,
      rewriteRelativeImportExtensions: true,
      allowImportingTsExtensions: false,
      rootDir: folder, // not src: the contract suites of core are beside it
      outDir: join(dist, "types"),
      paths: Object.fromEntries(siblings),
    },
    include: [],
    files: sources(manifest).map(([, source]) => join(folder, source)),
  };
  write(config, JSON.stringify(options));
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  execFileSync(process.execPath, [tsc, "-p", config], { cwd: root, stdio: "inherit" });
}

function writeManifest({ dist, manifest }: Package): void {
  const { bin, optionalDependencies } = manifest;
  const paths = sources(manifest).map(([subpath, source]) => [
    subpath,
    { types: `./${declarationOf(source)}`, default: `./${outputName(subpath)}.js` },
  ]);
  const text = {
    ...Object.fromEntries(Object.entries(manifest).filter(([key]) => PUBLISHED.includes(key))),
    ...(bin && { bin: Object.fromEntries(Object.keys(bin).map((name) => [name, "hermes.js"])) }),
    exports: { ...Object.fromEntries(paths), "./package.json": "./package.json" },
    dependencies: Object.fromEntries(
      Object.entries(published(manifest)).filter(([name]) => !(name in (optionalDependencies ?? {}))),
    ),
  };
  write(join(dist, "package.json"), `${JSON.stringify(text, null, 2)}\n`);
}

function copyPages({ folder, dist, manifest }: Package): void {
  const isProduct = manifest.bin !== undefined;
  const readme = readFileSync(join(isProduct ? root : folder, "README.md"), "utf8");
  write(join(dist, "README.md"), readme.replaceAll("](../../docs/", "](docs/"));
  copyFileSync(join(root, "LICENSE"), join(dist, "LICENSE"));
  cpSync(join(root, "docs"), join(dist, "docs"), { recursive: true });
  if (isProduct) copyFileSync(join(root, "CHANGELOG.md"), join(dist, "CHANGELOG.md"));
  for (const page of readdirSync(dist, { recursive: true, encoding: "utf8" }))
    if (page.endsWith(".md")) withoutDeadLinks(join(dist, page));
}

/** Sources and examples are not published: where a page links to them, the text of the link stays. */
function withoutDeadLinks(page: string): void {
  const text = readFileSync(page, "utf8");
  const kept = text.replace(
    /\[([^\]\n]+)\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)/g,
    (link, label: string, path: string) => (existsSync(resolve(dirname(page), path)) ? link : label),
  );
  if (kept !== text) writeFileSync(page, kept);
}

/** So that what was built runs where it is. npm leaves node_modules out of a tarball. */
function linkSiblings({ dist, manifest }: Package): void {
  for (const other of packages.filter((each) => each.manifest.name in (manifest.dependencies ?? {}))) {
    const link = join(dist, "node_modules", other.manifest.name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(relative(dirname(link), other.dist), link, process.platform === "win32" ? "junction" : "dir");
  }
}

/** The launcher, and what stands in its former places: entries of `hermes mcp install` before 0.3.0 name `dist/hermes.js`. */
function addCommands({ dist }: Package): void {
  const launcher = join(dist, "hermes.js");
  copyFileSync(join(root, "scripts", "launcher.js"), launcher);
  const forwarders = [join(dist, "dist", "hermes.js"), join(root, "dist", "hermes.js")];
  for (const path of forwarders)
    write(path, forwarderTo(relative(dirname(path), launcher).replaceAll("\\", "/")));
  for (const path of [launcher, ...forwarders]) chmodSync(path, 0o755);
}

/** `hermes doctor` knows such a file by its second line. */
function forwarderTo(target: string): string {
  return [
    "#!/usr/bin/env node",
    "// hermes-memory: moved. Starts the launcher, which was here before version 0.3.0.",
    'import { fileURLToPath } from "node:url";',
    "",
    `const launcher = new URL(${JSON.stringify(target)}, import.meta.url);`,
    "process.argv[1] = fileURLToPath(launcher);",
    "await import(launcher.href);",
    "",
  ].join("\n");
}

function readPackage(name: string): Package {
  const folder = join(root, "packages", name);
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
  return { folder, dist: join(folder, "dist"), manifest };
}

/** `["./curated", "./src/curated/index.ts"]` for everything that can be imported. */
function sources({ exports: paths }: Manifest): (readonly [subpath: string, source: string])[] {
  return Object.entries(paths).filter(([, source]) => source.endsWith(".ts"));
}

function outputName(subpath: string): string {
  return subpath === "." ? "index" : subpath.replace("./", "");
}

function declarationOf(source: string): string {
  return join("types", source.replace(/\.ts$/, ".d.ts")).replaceAll("\\", "/");
}

/** What is loaded from other packages, siblings in the version they were built with. */
function published({ dependencies, optionalDependencies }: Manifest): Record<string, string> {
  const versions = new Map(packages.map(({ manifest }) => [manifest.name, manifest.version]));
  const all = Object.entries({ ...dependencies, ...optionalDependencies });
  return Object.fromEntries(
    all
      .filter(([name]) => !BUNDLED.includes(name))
      .map(([name, range]) => [name, versions.get(name) ?? range]),
  );
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
