// What it costs to import the built @hermes-memory/core and @hermes-memory/agent (time and memory of a process), and the sizes of
// bundles of parts of them. `--root DIR` measures another checkout. Needs `npm run build`.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { median, round } from "./statistics.ts";

/** A line of a user's program each; `{core}` and `{agent}` are the built packages. */
const BUNDLES: Readonly<Record<string, string>> = {
  memory_store: 'export { MemoryStore } from "{core}/index.js";',
  memory_store_subpath: 'export { MemoryStore } from "{core}/curated.js";',
  open_memory:
    'import { openMemory } from "{core}/index.js"; const memory = await openMemory({ home: "data" }); await memory.owner.add("x");',
  core: 'export * from "{core}/index.js";',
  create_agent: 'export { createAgent } from "{agent}/index.js";',
};

export async function run(flags: Readonly<Record<string, string>>): Promise<Record<string, unknown>> {
  const root = resolve(flags.root ?? join(import.meta.dirname, ".."));
  const built = { core: join(root, "packages/core/dist"), agent: join(root, "packages/agent/dist") };
  if (!existsSync(built.core)) throw new Error(`${built.core} is missing. Run 'npm run build' first.`);
  const rounds = Number(flags.rounds ?? 20);
  return {
    bench: "library",
    rounds,
    ...measureImports({ core: join(built.core, "index.js"), agent: join(built.agent, "index.js") }, rounds),
    bundle_kb: await measureBundles(built),
  };
}

/** In processes of their own, in turn with one that imports nothing. */
function measureImports(files: Readonly<Record<string, string>>, rounds: number): Record<string, number> {
  const cases = [["nothing", undefined], ...Object.entries(files)] as const;
  const seen = new Map(cases.map(([name]) => [name, { ms: [] as number[], rss: [] as number[] }]));
  for (let i = 0; i < rounds + 2; i += 1) {
    for (const [name, file] of cases) {
      const { ms, rss } = importOnce(file);
      if (i < 2) continue; // these fill the disk cache
      seen.get(name)?.ms.push(ms);
      seen.get(name)?.rss.push(rss);
    }
  }
  const nothing = median(seen.get("nothing")?.rss ?? []);
  const figures = Object.keys(files).flatMap((name) => {
    const { ms, rss } = seen.get(name) ?? { ms: [], rss: [] };
    return [
      [`${name}_ms`, round(median(ms))],
      [`${name}_rss_mb`, round((median(rss) - nothing) / 2 ** 20)],
    ];
  });
  return Object.fromEntries(figures);
}

function importOnce(file: string | undefined): { readonly ms: number; readonly rss: number } {
  const load = file === undefined ? "" : `await import(${JSON.stringify(pathToFileURL(file).href)});`;
  const script = `const start = performance.now(); ${load}
    console.log(JSON.stringify({ ms: performance.now() - start, rss: process.memoryUsage.rss() }));`;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
    encoding: "utf8",
  });
  if (stdout === "") throw new Error(stderr);
  return JSON.parse(stdout);
}

async function measureBundles(
  built: Readonly<Record<"core" | "agent", string>>,
): Promise<Record<string, number>> {
  const sizes: Record<string, number> = {};
  for (const [name, program] of Object.entries(BUNDLES)) {
    const { metafile } = await build({
      stdin: {
        contents: program.replace("{core}", built.core).replace("{agent}", built.agent),
        resolveDir: built.core,
      },
      bundle: true,
      minify: true,
      platform: "node",
      format: "esm",
      outdir: "out",
      write: false,
      metafile: true,
      logLevel: "error",
    });
    const bytes = Object.values(metafile.outputs).reduce((sum, output) => sum + output.bytes, 0);
    sizes[name] = Math.round(bytes / 1000);
  }
  return sizes;
}
