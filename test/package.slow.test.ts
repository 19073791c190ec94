// The packages as users get them: built, packed, unpacked into projects, started, imported, type-checked and linted. Needs no
// network: the projects are below the root's node_modules, so what is not ours is found there.
import { execFileSync, spawnSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { VERSION } from "@hermes-memory/core/internal/version";
import { transformSync } from "esbuild";
import { publint } from "publint";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { median } from "../bench/statistics.ts";
import { packProduct } from "./consumers/pack.ts";

const root = resolve(import.meta.dirname, "..");
const cache = join(root, "node_modules", ".cache");
mkdirSync(cache, { recursive: true });
const folder = mkdtempSync(join(cache, "hermes-package-"));

const CORE = "@hermes-memory/core";
const PROVIDERS = "@hermes-memory/providers";
const AGENT = "@hermes-memory/agent";
const MCP = "@hermes-memory/mcp";
const IMPORT = "@hermes-memory/import";
const GATEWAY = "@hermes-memory/gateway";
const PRODUCT = "hermes-memory";
const LIBRARIES = [CORE, PROVIDERS, AGENT, MCP, IMPORT, GATEWAY];
/** The folder in packages/, and the project that has this package and those that it needs, as npm would install them. */
const PACKAGES = [
  { name: CORE, source: "core", consumer: "core", installed: [CORE] },
  { name: PROVIDERS, source: "providers", consumer: "providers", installed: [CORE, PROVIDERS] },
  { name: AGENT, source: "agent", consumer: "agent", installed: [CORE, AGENT] },
  { name: MCP, source: "mcp", consumer: "mcp", installed: [CORE, MCP] },
  { name: IMPORT, source: "import", consumer: "import", installed: [CORE, IMPORT] },
  { name: GATEWAY, source: "gateway", consumer: "gateway", installed: [CORE, AGENT, MCP, GATEWAY] },
  { name: PRODUCT, source: "hermes-memory", consumer: "product", installed: [...LIBRARIES, PRODUCT] },
] as const;

beforeAll(() => {
  packProduct(folder);
  for (const { consumer, installed } of PACKAGES) {
    for (const name of installed) {
      const target = packageIn(consumer, name);
      mkdirSync(target, { recursive: true });
      execFileSync("tar", ["-xzf", tarball(name), "-C", target, "--strip-components", "1"]);
    }
    writeJson(join(folder, consumer, "package.json"), { name: consumer, private: true, type: "module" });
    // Node takes the types out of no file below a node_modules.
    const script = readFileSync(join(root, "test", "packed", `${consumer}.ts`), "utf8");
    writeFileSync(join(folder, consumer, `${consumer}.js`), transformSync(script, { loader: "ts" }).code);
  }
}, 180_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each(PACKAGES)("the packed package $name", ({ name, source, consumer }) => {
  const manifest = () => readJson(join(packageIn(consumer, name), "package.json"));

  it("holds what it needs and nothing of the workshop", () => {
    const names = execFileSync("tar", ["-tzf", tarball(name)], { encoding: "utf8" })
      .trim()
      .split("\n");
    expect(names).toEqual(
      expect.arrayContaining(["package/README.md", "package/LICENSE", "package/index.js"]),
    );
    expect(
      names.filter((each) => /\/(?:test|bench|scripts|node_modules)\/|(?<!\.d)\.ts$/.test(each)),
    ).toEqual([]);
    expect(readFileSync(join(packageIn(consumer, name), "README.md"), "utf8")).not.toContain("](../");
    const files = names.map((each) => join(packageIn(consumer, name), each.slice("package/".length)));
    expect(files.filter((path) => readFileSync(path, "utf8").includes(root))).toEqual([]);
  });

  it("has no dead link in its pages, and none of the pages for maintainers", () => {
    const inside = packageIn(consumer, name);
    const pages = readdirSync(inside, { recursive: true, encoding: "utf8" }).filter((each) =>
      /^(?!.*node_modules).*\.md$/.test(each),
    );
    expect(pages.map((each) => each.replaceAll("\\", "/"))).toEqual(
      expect.arrayContaining(["README.md", "docs/build.md", "docs/api/README.md", "docs/guides/ai-sdk.md"]),
    );
    expect(pages.filter((each) => /architecture|decisions|style/.test(each))).toEqual([]);
    const dead = pages.flatMap((page) => {
      const text = readFileSync(join(inside, page), "utf8").replace(/^```[\s\S]*?^```$/gm, "");
      const links = [...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map((match) => match[1] as string);
      return links
        .filter((link) => !existsSync(resolve(inside, dirname(page), link)))
        .map((link) => `${page}: ${link}`);
    });
    expect(dead).toEqual([]);
  });

  it("says what it needs: siblings in one version, nothing for development, no path into the sources", () => {
    const { dependencies = {}, optionalDependencies = {}, ...rest } = manifest();
    const siblings = Object.entries(dependencies).filter(([each]) => each.includes("hermes-memory"));
    expect(siblings.map(([, range]) => range)).toEqual(siblings.map(() => VERSION));
    expect(Object.values({ ...dependencies, ...optionalDependencies })).not.toContain("*");
    expect(rest).toMatchObject({
      name,
      version: VERSION,
      type: "module",
      license: "MIT",
      sideEffects: false,
    });
    expect(Object.keys(rest)).not.toContain("devDependencies");
    expect(Object.keys(rest)).not.toContain("scripts");
    expect(rest.engines).toEqual(readJson(join(root, "packages", source, "package.json")).engines);
  });

  it("exports under every name what the sources export", async () => {
    const specifiers = specifiersOf(name, manifest());
    const inSources = specifiersOf(name, readJson(join(root, "packages", source, "package.json")));
    expect(specifiers).toEqual(inSources);
    const script = `
      const names = {};
      for (const each of ${JSON.stringify(specifiers)}) names[each] = Object.keys(await import(each)).sort();
      console.log(JSON.stringify(names));
    `;
    const { stdout, stderr } = run(consumer, ["--input-type=module", "-e", script]);
    expect(stderr).toBe("");
    const wanted: Record<string, string[]> = {};
    for (const each of inSources) wanted[each] = Object.keys((await import(each)) as object).sort();
    expect(JSON.parse(stdout)).toEqual(wanted);
  });

  it("has no complaint of publint", async () => {
    const bytes = readFileSync(tarball(name));
    const data = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
    const { messages } = await publint({ pack: { tarball: data }, strict: true });
    expect(messages).toEqual([]);
  });

  it("has no complaint of attw, as a package for ES modules only", async () => {
    const analysis = await checkPackage(createPackageFromTarballData(readFileSync(tarball(name))));
    if (!analysis.types) throw new Error("attw found no types");
    // What `attw --profile esm-only` leaves out: resolvers that know no `exports`, and require().
    const others = ["node10", "node16-cjs"];
    const problems = analysis.problems.filter(
      (each) => !("resolutionKind" in each && others.includes(each.resolutionKind)),
    );
    expect(problems).toEqual([]);
  });
});

describe("the types of all packages", () => {
  it.each([
    ["7", join(root, "node_modules", "typescript")],
    ["5.9", dirname(typescriptOfAttw())],
  ])("hold in TypeScript %s, libraries checked too, with nothing but @types/node", (version, typescript) => {
    expect(readJson(join(typescript, "package.json")).version).toMatch(new RegExp(`^${version}\\.`));
    const project = join(folder, "product");
    const specifiers = PACKAGES.flatMap(({ name }) =>
      specifiersOf(name, readJson(join(packageIn("product", name), "package.json"))),
    );
    const lines = specifiers.map((each, i) => `export * as e${i} from "${each}";\n`);
    writeFileSync(join(project, "every-export.ts"), lines.join(""));
    const scripts = PACKAGES.map(({ consumer }) => `${consumer}.ts`);
    for (const each of scripts) copyFileSync(join(root, "test", "packed", each), join(project, each));
    writeJson(join(project, "tsconfig.json"), {
      compilerOptions: {
        noEmit: true,
        strict: true,
        module: "nodenext",
        target: "es2022",
        types: ["node"],
        skipLibCheck: false,
      },
      files: ["every-export.ts", ...scripts],
    });
    const { stdout, stderr, status } = run("product", [join(typescript, "bin", "tsc"), "-p", "."]);
    expect({ problems: stdout + stderr, status }).toEqual({ problems: "", status: 0 });
  });
});

describe("@hermes-memory/core alone", () => {
  it("does the work of each layer", () => {
    const { stdout, stderr } = run("core", ["core.js", home("core")]);
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toMatchObject({
      curated: ["Entry added.", { success: true }, true, ["Prefers tea"], false],
      sessions: [1, 1, { success: true, count: 1 }],
      context: ["compacted", true, "function"],
      skills: [{ success: true }, { skills: [{ name: "fire" }] }],
    });
  });

  it("says what to install when a home names a bundled provider", () => {
    // Outside of the checkout, whose node_modules has all packages.
    const alone = mkdtempSync(join(tmpdir(), "hermes-core-"));
    cpSync(join(folder, "core"), alone, { recursive: true });
    const { stdout, stderr } = spawnSync(process.execPath, ["core.js", home("alone")], {
      cwd: alone,
      encoding: "utf8",
    });
    rmSync(alone, { recursive: true, force: true });
    expect(stderr).toMatch(/\[HERMES_PROVIDERS_NOT_INSTALLED\].*npm install @hermes-memory\/providers/);
    expect(JSON.parse(stdout).providers).toBe(
      "Cannot load 'holographic'. It comes with the package @hermes-memory/providers, which is not installed: 'npm install @hermes-memory/providers'.",
    );
  });

  it("loads no other package, and no model SDK", () => {
    const script = `
      import { registerHooks } from "node:module";
      const urls = [];
      registerHooks({ load: (url, context, next) => (urls.push(url), next(url, context)) });
      await import("@hermes-memory/core");
      console.log(JSON.stringify(urls));
    `;
    const { stdout, stderr } = run("core", ["--input-type=module", "-e", script]);
    expect(stderr).toBe("");
    const urls = JSON.parse(stdout) as string[];
    expect(urls.some((url) => url.endsWith("@hermes-memory/core/index.js"))).toBe(true);
    const names = urls.flatMap((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []);
    expect([...new Set(names)].filter((each) => each !== CORE)).toEqual([]);
  });
});

describe("the doors and the providers, each with what it needs and no more", () => {
  it.each([
    ["providers", ["fact_store", { fact_id: 1, status: "added" }, true]],
    ["mcp", { jsonrpc: "2.0", id: 1, result: {} }],
    ["import", [2, 0]],
    ["gateway", [200, 401]],
  ])("@hermes-memory/%s works", (consumer, seen) => {
    const { stdout, stderr } = run(consumer, [`${consumer}.js`, home(consumer)]);
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toEqual(seen);
  });
});

describe("@hermes-memory/agent", () => {
  it("makes an agent that talks to a model of the caller's", () => {
    const { stdout, stderr } = run("agent", ["agent.js", home("agent")]);
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toEqual([
      "HELLO",
      ["memory", "read_result", "session_search"],
      ["turn-start", "text-delta", "turn-end"],
      2,
    ]);
  });
});

describe("hermes-memory", () => {
  const installed = () => packageIn("product", PRODUCT);
  const hermes = (...args: string[]) => run("product", [join(installed(), "hermes.js"), ...args]);

  it("exports the very classes of the packages below it", () => {
    const { stdout, stderr } = run("product", ["product.js", home("product")]);
    expect({ stdout, stderr }).toEqual({ stdout: "[true,true,true]\n", stderr: "" });
  });

  it.each(["hermes", "hermes-memory"])("starts as `%s` and says its version", (name) => {
    const script = readJson(join(installed(), "package.json")).bin[name] as string;
    const { stdout, status } = run("product", [join(installed(), script), "--version"]);
    expect({ stdout, status }).toEqual({ stdout: `${VERSION}\n`, status: 0 });
  });

  it("starts where earlier versions had their launcher, in the package and in a checkout, as the program of today", () => {
    for (const former of [join(installed(), "dist", "hermes.js"), join(root, "dist", "hermes.js")]) {
      const { stdout, status } = run("product", [former, "--version"]);
      expect({ stdout, status }).toEqual({ stdout: `${VERSION}\n`, status: 0 });
      const config = join(folder, "product", "mcp.json");
      run("product", [former, "mcp", "install", "--client", "cursor", "--config", config]);
      const [script] = readJson(config).mcpServers["hermes-memory"].args as string[];
      expect(script).toBe(
        former.startsWith(installed())
          ? join(installed(), "hermes.js")
          : join(root, "packages/hermes-memory/dist/hermes.js"),
      );
      // And `hermes doctor` knows such an entry.
      const entry = { command: process.execPath, args: [former, "mcp"] };
      writeJson(join(home("product"), ".cursor", "mcp.json"), { mcpServers: { "hermes-memory": entry } });
      expect(hermes("doctor").stdout).toContain(`starts ${former}, which an earlier version installed.`);
    }
  });

  it("remembers and shows an entry", () => {
    expect(hermes("memory", "add", "The kiln fires at 1240").status).toBe(0);
    expect(hermes("memory", "show").stdout).toContain("The kiln fires at 1240");
    expect(hermes("config", "check").status).toBe(0);
  });

  it("answers a hook of another agent within three times the start of Node", () => {
    hermes("memory", "add", "The glaze is lead-free");
    const user = home("product");
    const transcript = join(user, ".claude", "projects", "p", "s1.jsonl");
    mkdirSync(dirname(transcript), { recursive: true });
    writeFileSync(transcript, "{}\n");
    const script = join(installed(), "hermes.js");
    const calls = {
      node: ["-e", "0"],
      start: [script, "hook", "claude-code", "SessionStart"],
      stop: [script, "hook", "claude-code", "Stop"],
    };
    const times: Record<keyof typeof calls, number[]> = { node: [], start: [], stop: [] };
    const input = JSON.stringify({ source: "startup", transcript_path: transcript });
    for (let round = 0; round < 23; round += 1)
      for (const name of ["node", "start", "stop"] as const) {
        const startedAt = performance.now();
        const { status, stdout } = run("product", calls[name], input);
        const took = performance.now() - startedAt;
        if (round >= 3) times[name].push(took); // the first rounds fill the caches
        // Every call has to start a worker, which finds nothing to import.
        rmSync(join(user, "hermes", "capture"), { recursive: true, force: true });
        expect({ status, isAnswered: stdout.includes("lead-free") }).toEqual({
          status: 0,
          isAnswered: name === "start",
        });
      }
    expect(median(times.start) / median(times.node)).toBeLessThan(3);
    expect(median(times.stop) / median(times.node)).toBeLessThan(3);
  });

  it("gives the offline demo, with every step as it should be", () => {
    const { stdout, stderr, status } = hermes("demo", "--json");
    expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, model: { scripted: true }, home: null });
  });

  it("says in one line that an older Node is too old", () => {
    const launcher = readFileSync(join(installed(), "hermes.js"), "utf8");
    const old = launcher.replace("process.versions.node;", '"20.11.0";');
    expect(old).not.toBe(launcher);
    writeFileSync(join(folder, "old.mjs"), old);
    const { status, stderr, stdout } = run("product", [join(folder, "old.mjs"), "--version"]);
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toMatch(/^hermes needs Node 24 or newer; this is Node 20\.11\.0\..*\n$/);
  });
});

function packageIn(project: string, name: string): string {
  return join(folder, project, "node_modules", name);
}

function tarball(name: string): string {
  return join(folder, `${name.replace("@", "").replace("/", "-")}-${VERSION}.tgz`);
}

/** attw brings it along, in the version that `overrides` of the root's package.json names. A second `tsc` at the root would hide the first. */
function typescriptOfAttw(): string {
  const attw = createRequire(createRequire(import.meta.url).resolve("@arethetypeswrong/core/package.json"));
  return attw.resolve("typescript/package.json");
}

/** `@hermes-memory/core/internal/curated` and all others that can be imported. */
function specifiersOf(name: string, manifest: { readonly exports: object }): string[] {
  const subpaths = Object.keys(manifest.exports).filter((each) => each !== "./package.json");
  return subpaths.map((each) => each.replace(".", name));
}

function home(project: string): string {
  const path = join(folder, `home-${project}`);
  mkdirSync(path, { recursive: true });
  return path;
}

function run(
  project: string,
  args: readonly string[],
  input = "",
): { stdout: string; stderr: string; status: number | null } {
  const own = { HOME: home(project), USERPROFILE: home(project), HERMES_HOME: join(home(project), "hermes") };
  const env = { ...process.env, ...own };
  const cwd = join(folder, project);
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { cwd, env, input, encoding: "utf8" });
  return { stdout, stderr, status };
}

// biome-ignore lint/suspicious/noExplicitAny: a package.json has fields of every kind, and a test fails at a wrong one anyway
function readJson(path: string): any {
  return JSON.parse(readFileSync(path, "utf8"));
}

function writeJson(path: string, value: unknown): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, JSON.stringify(value));
}
