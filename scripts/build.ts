// Makes packages/<name>/dist for each published package: bundle, package.json, declarations, README and docs.
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
import { type BuildOptions, build, type Plugin } from "esbuild";

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

/** Each after its dependencies, whose declarations it needs. */
const packages = ["core", "providers", "agent", "mcp", "import", "gateway", "hermes-memory"].map(readPackage);

// commander: every command loads it. yaml: bundlers take its CommonJS build, whose `require("process")` fails in a bundle of ES modules.
const BUNDLED = ["commander", "yaml"];

/** Fields of the source's package.json that are published unchanged. */
const PUBLISHED = [
  ...["name", "version", "description", "license", "keywords", "type", "engines", "sideEffects"],
  ...["optionalDependencies", "peerDependencies", "peerDependenciesMeta"],
];

/**
 * Put in front of every file that imports no other file of ours, because one of those is the first to run. npm only warns about
 * `engines`, and an older Node would fail later: 20 has no SQLite, and that of 22 cuts texts off at a NUL.
 */
function nodeCheck({ name, engines }: Manifest): string {
  const needed = /\d+/.exec(engines.node)?.[0];
  const message = `${name} needs Node ${needed} or newer; this is Node \${process.versions.node}. Update Node, then run it again.`;
  return [
    `if (Number.parseInt(process.versions.node, 10) < ${needed})`,
    `  throw Object.assign(new Error(\`${message}\`), { name: "HermesError", code: "unsupported-node" });`,
    "",
  ].join("\n");
}

// Importing a built-in as a module reads all its properties, which loads streams, web crypto and more that a short command never uses.
// `process.getBuiltinModule` loads only the names that we read (times: docs/decisions/0003-bundled-command-line.md).
function writeOutput(manifest: Manifest): Plugin {
  return {
    name: "write-output",
    setup({ onEnd }) {
      onEnd(({ outputFiles, metafile }) => {
        for (const { path, text } of outputFiles ?? []) {
          const { imports } = metafile?.outputs[relative(root, path)] ?? { imports: [] };
          const isFirst = !imports.some(({ kind, external }) => kind === "import-statement" && !external);
          // The command line has its launcher for this.
          const check = isFirst && manifest.bin === undefined ? nodeCheck(manifest) : "";
          write(path, check + text.replace(BUILTIN_IMPORT, takeBuiltin));
        }
      });
    },
  };
}

// The bundler writes such an import only in this form.
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

/** The build of yaml with ES modules. Its `exports` offer that to browsers only; it uses nothing of a browser. */
const yamlModules: Plugin = {
  name: "yaml-modules",
  setup({ onResolve }) {
    onResolve({ filter: /^yaml$/ }, () => ({
      path: join(root, "node_modules/yaml/browser/dist/index.js"),
      sideEffects: false,
    }));
  },
};

/** Pages about the sources, which are not published. */
const FOR_MAINTAINERS = /[/\\]docs[/\\](?:architecture\.md|style\.md|decisions)$/;

/** Modules that nearly every caller loads, by package. */
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
  // Not start.ts: it waits for the command, so a command that imports start.ts would never start.
  "hermes-memory": [
    "cli/program.ts",
    "cli/command.ts",
    "cli/failure.ts",
    "cli/terminal.ts",
    "cli/printing.ts",
  ],
};

// The bundler makes one file for each set of modules that the same entries need. With 15 entries of core and 67 lazily loaded parts of
// the command line, every command had to load a dozen small files, 1 to 2 ms each. Here every entry and every lazy part imports the
// modules of GROUND, so that these become one file.
function sharedGround({ folder, manifest }: Package): Plugin {
  const ground = (GROUND[manifest.name] ?? []).map((name) => join(folder, "src", name));
  // Entries of the product are unchanged: start.ts imports the ground already, and index.ts needs nothing of it.
  const kinds = manifest.bin ? ["dynamic-import"] : ["dynamic-import", "entry-point"];
  return {
    name: "shared-ground",
    setup({ onResolve, onLoad }) {
      if (ground.length === 0) return;
      onResolve({ filter: /^[./]/ }, ({ path, kind, resolveDir }) =>
        // Relative to the root, because the bundler writes the path into a comment.
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
  const commands = manifest.bin ? [["cli/main", join(folder, "src/cli/start.ts")]] : [];
  const options = {
    absWorkingDir: root,
    outdir: dist,
    bundle: true,
    splitting: true, // so that a caller loads only what it needs
    chunkNames: "chunks/[name]-[hash]",
    format: "esm",
    platform: "node",
    target: `node${/\d+/.exec(manifest.engines.node)?.[0]}`,
    // The libraries are not minified: readable in stack traces and debuggers, and they load as fast (measured).
    minifySyntax: manifest.bin !== undefined,
    minifyWhitespace: manifest.bin !== undefined,
    legalComments: "eof",
    logLevel: "warning",
    metafile: true,
    write: false,
    logOverride: { "ignored-bare-import": "silent" },
  } as const satisfies BuildOptions;
  const { metafile } = await build({
    ...options,
    entryPoints: Object.fromEntries([...entries, ...commands]),
    // Sibling packages too: a plugin must share classes and open files with the program that loads it.
    external: Object.keys(published(manifest)),
    plugins: [sharedGround({ folder, dist, manifest }), yamlModules, writeOutput(manifest)],
  });
  // A client waits for the hook at every turn, so it gets files of its own with only the functions that it calls, also those of core.
  if (manifest.bin)
    await build({
      ...options,
      entryPoints: { "cli/hook": join(folder, "src/cli/hook/main.ts") },
      plugins: [yamlModules, writeOutput(manifest)],
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
  // In the checkout, the names of sibling packages resolve to sources; here, to the declarations made before.
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
      rootDir: folder, // not src, because the contract suites of core are outside it
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
  cpSync(join(root, "docs"), join(dist, "docs"), {
    recursive: true,
    filter: (path) => !FOR_MAINTAINERS.test(path),
  });
  if (isProduct) copyFileSync(join(root, "CHANGELOG.md"), join(dist, "CHANGELOG.md"));
  for (const page of readdirSync(dist, { recursive: true, encoding: "utf8" }))
    if (page.endsWith(".md")) withoutDeadLinks(join(dist, page));
}

/** Sources and examples are not published: a link to them is replaced by its text. */
function withoutDeadLinks(page: string): void {
  const text = readFileSync(page, "utf8");
  const kept = text.replace(
    /\[([^\]\n]+)\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)/g,
    (link, label: string, path: string) => (existsSync(resolve(dirname(page), path)) ? link : label),
  );
  if (kept !== text) writeFileSync(page, kept);
}

/** Lets the built packages run in place. npm leaves node_modules out of a tarball. */
function linkSiblings({ dist, manifest }: Package): void {
  for (const other of packages.filter((each) => each.manifest.name in (manifest.dependencies ?? {}))) {
    const link = join(dist, "node_modules", other.manifest.name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(relative(dirname(link), other.dist), link, process.platform === "win32" ? "junction" : "dir");
  }
}

/** The launcher, and forwarders in its former places: entries of `hermes mcp install` before 0.3.0 point to `dist/hermes.js`. */
function addCommands({ dist }: Package): void {
  const launcher = join(dist, "hermes.js");
  copyFileSync(join(root, "scripts", "launcher.js"), launcher);
  const forwarders = [join(dist, "dist", "hermes.js"), join(root, "dist", "hermes.js")];
  for (const path of forwarders)
    write(path, forwarderTo(relative(dirname(path), launcher).replaceAll("\\", "/")));
  for (const path of [launcher, ...forwarders]) chmodSync(path, 0o755);
}

/** `hermes doctor` recognises such a file by its second line. */
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

/** Every importable subpath with its source: `["./curated", "./src/curated/index.ts"]`. */
function sources({ exports: paths }: Manifest): (readonly [subpath: string, source: string])[] {
  return Object.entries(paths).filter(([, source]) => source.endsWith(".ts"));
}

function outputName(subpath: string): string {
  return subpath === "." ? "index" : subpath.replace("./", "");
}

function declarationOf(source: string): string {
  return join("types", source.replace(/\.ts$/, ".d.ts")).replaceAll("\\", "/");
}

/** Dependencies that are not bundled; siblings in the version of this build. */
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
