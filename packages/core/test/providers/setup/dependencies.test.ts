import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { type FoundProvider, findProvider } from "../../../src/providers/discovery/find-providers.ts";
import { EMPTY_MANIFEST } from "../../../src/providers/discovery/plugins.ts";
import {
  checkExternal,
  installPackages,
  isUsableSpec,
  missingPackages,
  packageNameOf,
  splitCommandLine,
} from "../../../src/providers/setup/dependencies.ts";
import { startChild } from "../../fakes/child.ts";
import { registeringPlugin, writePlugin } from "../../fakes/plugins.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";

async function found(home: string, name: string): Promise<FoundProvider> {
  const provider = await findProvider(home, name);
  if (provider === undefined) throw new Error(`no ${name}`);
  return provider;
}

/** A package in a folder, with an install script that would write a file. */
function writePackage(root: string, name: string): string {
  const directory = join(root, name.replace("/", "-"));
  mkdirSync(directory, { recursive: true });
  const manifest = {
    name,
    version: "1.0.0",
    type: "module",
    exports: "./index.js",
    scripts: { install: "touch was-run" },
  };
  writeFileSync(join(directory, "package.json"), JSON.stringify(manifest));
  writeFileSync(join(directory, "index.js"), `export default "hello from ${name}";\n`);
  return directory;
}

/** An environment in which this program is found first. */
function withProgram(name: string, script: string): NodeJS.ProcessEnv {
  const directory = tempDirectory();
  writeFileSync(join(directory, name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(directory, name), 0o755);
  return { ...process.env, PATH: `${directory}${delimiter}${process.env.PATH}` };
}

const bare: FoundProvider = { name: "p", source: "user", manifest: EMPTY_MANIFEST };

describe.skipIf(process.platform === "win32")("npm packages of a plugin", () => {
  it("are missing, are installed into its own folder without running scripts, and are there", async () => {
    const root = join(tempDirectory(), "mein Heim – 家");
    const first = writePackage(root, "greeting");
    const second = writePackage(root, "@scope/other");
    const directory = writePlugin(root, "notes", {
      "index.js": `import greeting from "greeting";\nimport other from "@scope/other";\n${registeringPlugin({ more: "get said() { return greeting + other; }" })}`,
      "plugin.yaml": `npm_dependencies: ["greeting@file:${first}", "@scope/other@file:../../@scope-other"]\n`,
    });
    const plugin = await found(root, "notes");
    expect(missingPackages(plugin.directory ?? "", plugin.manifest)).toEqual([
      `greeting@file:${first}`,
      "@scope/other@file:../../@scope-other",
    ]);

    expect(await installPackages(plugin, missingPackages(plugin.directory ?? "", plugin.manifest))).toEqual({
      ok: true,
      value: undefined,
    });
    expect(missingPackages(plugin.directory ?? "", plugin.manifest)).toEqual([]);
    expect(existsSync(join(directory, "node_modules", "greeting", "index.js"))).toBe(true);
    expect([first, second].some((place) => existsSync(join(place, "was-run")))).toBe(false);
    // npm created a package.json; Node must neither refuse the plugin nor warn that it had to guess the module type.
    expect(JSON.parse(readFileSync(join(directory, "package.json"), "utf8"))).toMatchObject({
      type: "module",
    });
    const script = `process.on("warning", (warning) => console.log(warning.message));
      const { SampleMemoryProvider } = await import(${JSON.stringify(join(directory, "index.js"))});
      setImmediate(() => console.log(new SampleMemoryProvider().said));`;
    const child = startChild(process.execPath, ["--input-type=module", "-e", script]);
    expect(await child.rest()).toEqual(["hello from greetinghello from @scope/other"]);
  });

  it("an existing package.json of the plugin is not changed", async () => {
    const root = tempDirectory();
    const local = writePackage(root, "greeting");
    const directory = writePlugin(root, "notes", {
      "index.cjs": "// MemoryProvider",
      "package.json": '{"name":"notes","main":"index.cjs"}',
      "plugin.yaml": `npm_dependencies: ["file:${local}"]\n`,
    });
    const plugin = await found(root, "notes");
    const [spec = ""] = missingPackages(plugin.directory ?? "", plugin.manifest);
    expect((await installPackages(plugin, [spec])).ok).toBe(true);
    expect(missingPackages(plugin.directory ?? "", plugin.manifest)).toEqual([]);
    const content = JSON.parse(readFileSync(join(directory, "package.json"), "utf8"));
    expect(content).toMatchObject({ name: "notes", main: "index.cjs" });
    expect(content).not.toHaveProperty("type");
  });

  it("that cannot be installed give the reason and the command to type, without secrets", async () => {
    const directory = tempDirectory();
    const plugin = { ...bare, directory };
    const failing = withProgram(
      "npm",
      'echo "npm error token=sk-ant-abc123def456ghi789" >&2; yes x | head -c 9000 >&2; exit 3',
    );
    const failed = await installPackages(plugin, ["some pkg"], { env: failing });
    expect(failed).toMatchObject({ ok: false, error: { kind: "failed" } });
    const message = failed.ok ? "" : failed.error.message;
    expect(message).toMatch(/^npm ended with code 3: npm error token=/);
    expect(message).not.toContain("abc123");
    expect(message.endsWith(`--ignore-scripts 'some pkg'`)).toBe(true);
    expect(message.length).toBeLessThan(300 + 2 * directory.length + 120);

    expect(await installPackages(plugin, ["pkg"], { env: { PATH: tempDirectory() } })).toMatchObject({
      ok: false,
      error: { kind: "npm-missing", message: expect.stringMatching(/not found.*npm install --prefix/) },
    });
  });

  it("that look like options are refused before npm runs", async () => {
    const mark = join(tempDirectory(), "npm-was-run");
    const env = withProgram("npm", `touch ${mark}`);
    const plugin = { ...bare, directory: tempDirectory() };
    expect(await installPackages(plugin, ["ok", "--global"], { env })).toMatchObject({
      ok: false,
      error: { kind: "bad-spec", message: expect.stringMatching(/"--global"/) },
    });
    expect((await installPackages(plugin, [], { env })).ok).toBe(true);
    expect((await installPackages(bare, ["ok"], { env })).ok).toBe(false);
    expect(existsSync(mark)).toBe(false);
  });

  it("an npm that hangs ends with its children at the time limit, or when the user stops", async () => {
    const place = tempDirectory();
    const ids = join(place, "ids");
    const env = withProgram("npm", `sleep 600 & echo $! $$ > ${ids}.part; mv ${ids}.part ${ids}; wait`);
    const plugin = { ...bare, directory: place };
    expect(await installPackages(plugin, ["x"], { env, timeoutMs: 200 })).toMatchObject({
      ok: false,
      error: { kind: "timed-out", message: expect.stringMatching(/within 0\.2 s/) },
    });
    rmSync(ids, { force: true });

    const stop = new AbortController();
    const stopped = installPackages(plugin, ["x"], { env, signal: stop.signal });
    await vi.waitFor(() => expect(existsSync(ids)).toBe(true), { timeout: 20_000, interval: 10 });
    stop.abort();
    expect(await stopped).toMatchObject({ ok: false, error: { kind: "stopped" } });
    // A killed grandchild stays in the process table until its new parent has reaped it.
    await vi.waitFor(() => expect(idsIn(ids).filter(isRunning)).toEqual([]), {
      timeout: 10_000,
      interval: 10,
    });
    expect(await installPackages(plugin, ["x"], { env, signal: stop.signal })).toMatchObject({
      ok: false,
      error: { kind: "stopped" },
    });
  });
});

describe.skipIf(process.platform === "win32")("programs a plugin needs", () => {
  const check = (line: string, options = {}) =>
    checkExternal({ name: "tool", install: "", check: line }, options);

  it("are there when their check succeeds", async () => {
    expect(await check(`"${process.execPath}" -e 'process.exit(0)'`)).toEqual({ kind: "present" });
    const env = withProgram("tool", 'test "$1" = "two words"');
    expect(await check("tool 'two words'", { env })).toEqual({ kind: "present" });
  });

  it("are missing when it fails, does not exist, hangs or cannot be read", async () => {
    const reasonOf = async (line: string, options = {}) => {
      const outcome = await check(line, options);
      return outcome.kind === "missing" ? outcome.reason : outcome.kind;
    };
    expect(await reasonOf(`"${process.execPath}" -e 'process.exit(3)'`)).toMatch(/ended with code 3$/);
    expect(await reasonOf("no-such-program-here --version")).toBe(
      "there is no program 'no-such-program-here'",
    );
    expect(await reasonOf("sleep 600", { timeoutMs: 50 })).toMatch(/no answer within 0\.05 s/);
    expect(await reasonOf(dirname(process.execPath))).toMatch(/could not be started/);
  });

  it("run in no shell, and an empty check says nothing", async () => {
    const mark = join(tempDirectory(), "was-run");
    expect((await check(`true; touch ${mark}`)).kind).toBe("missing");
    expect(await check(`true && touch ${mark}`)).toEqual({ kind: "present" });
    expect(existsSync(mark)).toBe(false);
    expect(await check("  ")).toEqual({ kind: "unchecked" });
  });
});

function idsIn(path: string): number[] {
  const ids = readFileSync(path, "utf8").trim().split(" ").map(Number);
  expect(ids).toHaveLength(2);
  return ids;
}

/** A zombie process does not count as running. */
function isRunning(id: number): boolean {
  const state = `/proc/${id}/stat`;
  if (existsSync("/proc/self/stat")) return existsSync(state) && !/\) Z /.test(readFileSync(state, "utf8"));
  try {
    process.kill(id, 0);
    return true;
  } catch {
    return false;
  }
}

it.each([
  ["brv --version", ["brv", "--version"]],
  ["  a\t b \n", ["a", "b"]],
  ["", []],
  [`run 'one word' "two words" ''`, ["run", "one word", "two words", ""]],
  ["echo $HOME | cat > x; y && z", ["echo", "$HOME", "|", "cat", ">", "x;", "y", "&&", "z"]],
])("a command line has words: %j", (line, words) => {
  expect(splitCommandLine(line)).toEqual(words);
});

describe("npm specs of a plugin", () => {
  it.each([
    ["left-pad", "left-pad"],
    ["left-pad@^1.2", "left-pad"],
    ["@scope/pkg", "@scope/pkg"],
    ["@scope/pkg@>=1 <3", "@scope/pkg"],
    ["alias@npm:other@1", "alias"],
    ["local@file:../local", "local"],
    ["file:../local", undefined],
    ["../local", undefined],
    ["https://example.com/x.tgz", undefined],
    ["github:user/repo", undefined],
    ["user/repo", undefined],
    ["..", undefined],
  ])("%s is the package %s", (spec, name) => {
    expect(packageNameOf(spec)).toBe(name);
  });

  it("is nothing that npm would take for an option", () => {
    for (const spec of ["-g", "--prefix=/", "", " x", "a\nb", "a\0"]) expect(isUsableSpec(spec)).toBe(false);
    for (const spec of ["x", "@s/x@1", "file:../a b"]) expect(isUsableSpec(spec)).toBe(true);
  });
});
