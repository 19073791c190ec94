import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadProvider } from "../../../src/providers/discovery/load-provider.ts";
import { startChild } from "../../fakes/child.ts";
import { members, providerClass, registeringPlugin, writePlugin } from "../../fakes/plugins.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";

describe("loading a plugin", () => {
  it("gives the provider and what was found, selected by the directory's name", async () => {
    const home = tempDirectory();
    writePlugin(home, "notes", { "index.mjs": registeringPlugin({ name: "another-name" }) });
    const loaded = await loadProvider(home, "notes");
    expect(loaded).toMatchObject({
      ok: true,
      value: { found: { name: "notes", source: "user" }, provider: { name: "another-name" } },
    });
  });

  it("runs the module once and makes a fresh instance each time", async () => {
    const home = tempDirectory();
    const counting = `let runs = 0; runs += 1; let made = 0;
      ${providerClass("CountingMemoryProvider", { more: "made = ++made; get runs() { return runs; }" })}`;
    writePlugin(home, "counting", { "index.mjs": counting });
    const [one, two] = [await loadProvider(home, "counting"), await loadProvider(home, "counting")];
    expect(one).toMatchObject({ ok: true, value: { provider: { made: 1, runs: 1 } } });
    expect(two).toMatchObject({ ok: true, value: { provider: { made: 2, runs: 1 } } });
  });

  it("imports between files and folders of the plugin work", async () => {
    const home = tempDirectory();
    writePlugin(home, "nested", {
      "index.mjs": 'export { NestedMemoryProvider } from "./impl/provider.mjs";\n',
      "impl/provider.mjs": `import { suffix } from "../shared/names.mjs";
        ${providerClass("NestedMemoryProvider", { more: "get suffix() { return suffix; }" })}`,
      "shared/names.mjs": 'export const suffix = "from afar";\n',
    });
    expect(await loadProvider(home, "nested")).toMatchObject({
      ok: true,
      value: { provider: { suffix: "from afar" } },
    });
  });

  it("works through a link", async () => {
    const home = tempDirectory();
    const source = writePlugin(tempDirectory(), "source", { "index.mjs": registeringPlugin() });
    writePlugin(home, "other", {});
    symlinkSync(source, join(home, "plugins", "linked"));
    expect(await loadProvider(home, "linked")).toMatchObject({
      ok: true,
      value: { found: { name: "linked" } },
    });
  });

  it.each(["holographic", "byterover"])("loads the bundled %s", async (name) => {
    const [one, two] = [await loadProvider(tempDirectory(), name), await loadProvider(tempDirectory(), name)];
    expect(one).toMatchObject({ ok: true, value: { found: { source: "bundled" }, provider: { name } } });
    expect(one.ok && two.ok && one.value.provider !== two.value.provider).toBe(true);
  });
});

describe("a provider that cannot be loaded", () => {
  it.each([
    ["../notes", "bad-name", /cannot be the name/],
    ["", "bad-name", /cannot be the name/],
    ["nowhere", "not-found", /There are: byterover, holographic, notes\./],
    ["none", "not-found", /There is no memory provider 'none'/],
  ])("%j: %s", async (name, kind, message) => {
    const home = tempDirectory();
    writePlugin(home, "notes", { "index.mjs": registeringPlugin() });
    expect(await loadProvider(home, name)).toMatchObject({
      ok: false,
      error: { kind, message: expect.stringMatching(message) },
    });
  });

  it("a Python plugin says that it is one", async () => {
    const home = tempDirectory();
    writePlugin(home, "snake", { "__init__.py": "class X(MemoryProvider): ..." });
    expect(await loadProvider(home, "snake")).toMatchObject({
      ok: false,
      error: {
        kind: "not-loadable",
        message: expect.stringMatching(/^Cannot load 'snake'. It is a Python plugin/),
      },
    });
  });

  it("a newer contract says what to do", async () => {
    const home = tempDirectory();
    const source = `export default { name: "new", contract: 2, ${members().replaceAll("}\n", "},\n")} }; // MemoryProvider`;
    writePlugin(home, "new", { "index.mjs": source });
    expect(await loadProvider(home, "new")).toMatchObject({
      ok: false,
      error: { kind: "wrong-contract", message: expect.stringMatching(/^Cannot use 'new': .*Update/) },
    });
  });
});

describe("in a process of its own, where Node imports the plugins", () => {
  /** Plugins that are not worth waiting for, and for how many milliseconds they are. */
  const HANGING: Readonly<Record<string, number>> = { hanging: 300, stuck: 300 };

  async function load(home: string, names: readonly string[]): Promise<unknown[]> {
    const child = startChild(process.execPath, [join(import.meta.dirname, "loading-process.ts")]);
    for (const name of names) child.say(`${home}\t${name}\t${HANGING[name] ?? 10_000}`);
    child.closeInput();
    return (await child.rest()).map((line) => JSON.parse(line));
  }

  it("types are stripped, CommonJS works, and nothing of one plugin touches the next", async () => {
    const home = join(tempDirectory(), "mein Heim – 家 #1?%20");
    writePlugin(home, "typed", {
      "index.ts": `import { answer } from "./answer.ts";
        type Context = { registerMemoryProvider(provider: object): void };
        class TypedMemoryProvider {
          readonly name: string = "typed";
          isAvailable(): boolean { return answer === 42; }
          initialize(_id: string): void {}
          getToolSchemas(): readonly object[] { return []; }
        }
        export function register(ctx: Context): void { ctx.registerMemoryProvider(new TypedMemoryProvider()); }\n`,
      "answer.ts": "export const answer: number = 42;\n",
    });
    writePlugin(home, "common", {
      "index.js": `class MemoryProvider { get name() { return "common"; } ${members()} }\nmodule.exports = { MemoryProvider };\n`,
      "package.json": '{"type":"commonjs"}',
    });
    writePlugin(home, "syntax", { "index.mjs": "// MemoryProvider\nconst = 1;\n" });
    writePlugin(home, "throwing", {
      "index.mjs": '// MemoryProvider\nthrow new Error("bad token sk-ant-abc123def456ghi789");\n',
    });
    writePlugin(home, "lacking", { "index.mjs": `import "not-installed";\n${registeringPlugin()}` });
    writePlugin(home, "enums", { "index.ts": `enum A { B }\n${registeringPlugin()}` });

    const names = ["typed", "syntax", "throwing", "lacking", "enums", "common", "typed"];
    const outcomes = await load(home, names);
    const failed = (message: RegExp) => ({
      kind: "import-failed",
      message: expect.stringMatching(message),
      strays: [],
    });
    expect(outcomes).toEqual([
      { name: "typed", available: true, strays: [] },
      failed(/^Loading 'syntax' failed: Unexpected token '='\. Repair.*node ".*index\.mjs"/),
      failed(/^Loading 'throwing' failed: bad token sk-ant-\*\*\*\. Repair/),
      failed(
        /^Loading 'lacking' failed: Cannot find package 'not-installed'.*'hermes memory setup lacking --yes'/,
      ),
      failed(/^Loading 'enums' failed: .*build to JavaScript/),
      { name: "common", available: true, strays: [] },
      { name: "typed", available: true, strays: [] },
    ]);
  });

  it("a module that never finishes is left behind, and one that leaks a rejection is no crash", async () => {
    const home = tempDirectory();
    writePlugin(home, "hanging", { "index.mjs": `await new Promise(() => {});\n${registeringPlugin()}` });
    writePlugin(home, "stuck", {
      "index.mjs": `${providerClass("MemoryProvider")}\nexport const register = (_ctx) => new Promise(() => {});\n`,
    });
    writePlugin(home, "leaking", {
      "index.mjs": `Promise.reject(new Error("left behind"));\n${registeringPlugin()}`,
    });
    const late = {
      kind: "import-failed",
      message: expect.stringMatching(/did not finish within 0\.3 s/),
      strays: [],
    };
    expect(await load(home, ["hanging", "stuck", "leaking"])).toEqual([
      late,
      late,
      { name: "sample", available: true, strays: ["Error: left behind"] },
    ]);
  });
});
