import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ContextCompressor } from "../../src/context/compressor/compressor.ts";
import type { ContextEngine } from "../../src/context/engine.ts";
import { listEngines, type SelectEngineOptions, selectEngine } from "../../src/context/select-engine.ts";
import {
  engineClass,
  engineMembers,
  registering,
  UPDATE_MODEL,
  writeEngine,
} from "../fakes/engine-plugins.ts";
import { writePlugin } from "../fakes/plugins.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";

const WINDOW = { model: "m", contextLength: 100_000 };

function compressor(): ContextEngine {
  return new ContextCompressor({ contextLength: 50_000, summarizer: undefined });
}

function select(home: string, engine: string, more: Partial<SelectEngineOptions> = {}) {
  const context = { engine, lcm: { leafTokens: 1, leafSummaryTokens: 1, fanout: 2, maxDepth: 1 } };
  return selectEngine({ context }, { home, window: WINDOW, builtIn: { compressor }, ...more });
}

describe("choosing the context engine", () => {
  it("gives the built-in one for its name, told the window, and looks at no plugin", async () => {
    const home = tempDirectory();
    writeEngine(home, "mine", "throw new Error('not asked for');");
    const { engine, source, warning } = await select(home, "compressor");
    expect(engine).toBeInstanceOf(ContextCompressor);
    expect({ source, warning, window: engine.contextLength }).toEqual({
      source: "built-in",
      warning: undefined,
      window: 100_000,
    });
  });

  it("gives the lossless one where there is a database for it", async () => {
    const home = tempDirectory();
    const lossless = Object.assign(compressor(), { name: "lcm" });
    const { engine, warning } = await select(home, "lcm", {
      builtIn: { compressor, lcm: () => lossless },
    });
    expect({ engine, warning }).toEqual({ engine: lossless, warning: undefined });
    const without = await select(home, "lcm");
    expect(without.engine.name).toBe("compressor");
    expect(without.warning).toContain("'lcm' is not used: It needs the session database");
    const failing = await select(home, "lcm", {
      builtIn: {
        compressor,
        lcm: () => {
          throw new Error("no table");
        },
      },
    });
    expect(failing.warning).toContain("no table");
  });

  it.each([
    ["register with camel case", registering("mine")],
    [
      "register with snake case",
      `${engineClass("S", "mine", UPDATE_MODEL)}export function register(ctx) { ctx.register_context_engine(new S()); }`,
    ],
    [
      "register that returns it",
      `${engineClass("S", "mine", UPDATE_MODEL)}export const register = () => new S();`,
    ],
    ["a default class", `export default class {${engineMembers("mine", UPDATE_MODEL)}}`],
    ["a default factory", `${engineClass("S", "mine", UPDATE_MODEL)}export default () => new S();`],
    ["a class by name", `export class Other {}\nexport ${engineClass("S", "mine", UPDATE_MODEL)}`],
    [
      "a factory by name",
      `${engineClass("S", "mine", UPDATE_MODEL)}export async function createEngine() { return new S(); }`,
    ],
    ["a ready object", `${engineClass("S", "mine", UPDATE_MODEL)}export const engine = new S();`],
  ])("takes a plugin's engine from %s", async (_what, source) => {
    const home = tempDirectory();
    writeEngine(home, "mine", source);
    const selected = await select(home, "mine");
    expect(selected).toMatchObject({ source: "plugin", commands: [], remarks: [] });
    expect(selected.warning).toBeUndefined();
    expect(selected.engine).toMatchObject({ name: "mine", contextLength: 100_000, thresholdTokens: 50_000 });
  });

  it("loads TypeScript, and gives the plugin the home, the window and a model for summaries", async () => {
    const home = tempDirectory();
    const source = `
export default class Mine {${engineMembers("mine")}
  given: unknown;
  constructor(host: { home: string }) { this.given = host; }
}`;
    writeEngine(home, "mine", source, { file: "index.ts" });
    const summarizer = { complete: async () => "" };
    const { engine } = await select(home, "mine", { summarizer });
    expect(engine).toMatchObject({ given: { home, contextLength: 100_000, model: "m", summarizer } });
  });

  it.each([
    ["there is none of that name", undefined, "There is no such engine."],
    ["its name is another one", registering("other"), "It calls itself 'other'"],
    [
      "it throws on loading",
      "throw new Error('broken key=sk-abcdefghijklmnopqrstuvwx');",
      "Loading it failed: broken",
    ],
    ["it is no JavaScript", "export default {{{", "Loading it failed"],
    ["it registers nothing", "export function register() {}", "it registered no engine"],
    [
      "it registers something else",
      "export function register(ctx) { ctx.registerContextEngine({ name: 'mine' }); }",
      "has no updateFromResponse()",
    ],
    [
      "it speaks the other spelling",
      `export default class {${engineMembers("mine").replace("updateFromResponse", "update_from_response")}}`,
      "has update_from_response(), but the contract calls it updateFromResponse()",
    ],
    [
      "it is made for a later contract",
      `export default class {${engineMembers("mine", "contract = 3;")}}`,
      "version 3 of the engine contract",
    ],
    ["it exports nothing", "export const a = 1;", "it exports nothing of that kind"],
    [
      "it says no itself",
      registering("mine", "isAvailable() { return false; }"),
      "It says that it is not available.",
    ],
    [
      "it cannot take the window",
      registering("mine", "updateModel() { throw new Error('too small for me'); }"),
      "updateModel() failed: too small for me",
    ],
  ])("falls back with one warning when %s", async (_what, source, why) => {
    const home = tempDirectory();
    if (source !== undefined) writeEngine(home, "mine", source);
    const { engine, source: where, warning } = await select(home, "mine");
    expect(engine).toBeInstanceOf(ContextCompressor);
    expect(where).toBe("built-in");
    expect(warning).toContain("The context engine 'mine' is not used: ");
    expect(warning).toContain(why);
    expect(warning).toContain("hermes context engines");
    expect(warning).not.toContain("sk-abcdefghij");
  });

  it("waits for a plugin no longer than it may", async () => {
    const home = tempDirectory();
    writeEngine(home, "mine", "export async function register() { await new Promise(() => {}); }");
    const { warning } = await select(home, "mine", { loadTimeoutMs: 50 });
    expect(warning).toContain("did not finish within 0.05 s");
  });

  it("refuses a second engine and foreign objects, and passes over what is not for engines", async () => {
    const home = tempDirectory();
    writeEngine(
      home,
      "mine",
      `${engineClass("S", "mine")}
export function register(ctx) {
  ctx.registerTool({}); ctx.register_hook("x", () => {}); ctx.register_memory_provider({}); ctx.registerCliCommand({});
  ctx.registerContextEngine(42);
  ctx.registerContextEngine(new S());
  ctx.registerContextEngine(new S());
}`,
    );
    const { warning, remarks } = await select(home, "mine");
    expect(warning).toBeUndefined();
    expect(remarks).toEqual([
      "The value it registered is a number, not an engine object.",
      "It registered a second engine, which was refused.",
    ]);
  });

  it("collects the plugin's commands under their proper names", async () => {
    const home = tempDirectory();
    writeEngine(
      home,
      "mine",
      `${engineClass("S", "mine")}
export function register(ctx) {
  ctx.registerContextEngine(new S());
  ctx.register_command("/Show Nodes", (args) => "nodes " + args, "lists them", "[depth]");
  ctx.registerCommand("show-nodes", () => {});
  ctx.registerCommand("help", () => {});
  ctx.registerCommand(" / ", () => {});
  ctx.registerCommand("odd");
}`,
    );
    const { commands, remarks } = await select(home, "mine", { reservedCommands: ["help"] });
    expect(commands).toMatchObject([
      { name: "show-nodes", description: "lists them", argsHint: "[depth]", owner: "context-engine:mine" },
    ]);
    expect(commands[0]?.handler("3")).toBe("nodes 3");
    expect(remarks).toEqual([
      "The command '/show-nodes' was refused: there is one of that name already.",
      "The command '/help' was refused: there is one of that name already.",
      "A command without a name was refused.",
      "The command '/odd' was refused: it has no handler.",
    ]);
  });
});

describe("listing context engines", () => {
  it("leaves out other plugins, hidden folders and files", async () => {
    const home = tempDirectory();
    writePlugin(home, "notes", { "plugin.yaml": "name: notes\nkind: exclusive\n", "index.js": "" });
    writePlugin(home, "bare", { "index.js": "export const registerContextEngine = 1;" });
    writeEngine(home, "_draft", "");
    writeEngine(home, ".hidden", "");
    writeFileSync(join(home, "plugins", "file"), "");
    symlinkSync(join(home, "nowhere"), join(home, "plugins", "dangling"));
    expect((await listEngines(home)).engines).toHaveLength(2);
  });

  it("finds engines in plugins/context_engine/, where the folder tells the kind", async () => {
    const home = tempDirectory();
    writePlugin(home, "context_engine/tiny", { "index.js": "" });
    writePlugin(home, "context_engine/twice", { "index.js": "" });
    writeEngine(home, "twice", "");
    const { engines, warnings } = await listEngines(home);
    expect(warnings).toEqual([]);
    const own = join(home, "plugins", "context_engine");
    expect(engines.slice(2).map(({ entry }) => entry)).toEqual([
      join(own, "tiny", "index.js"),
      join(own, "twice", "index.js"),
    ]);
  });

  it("says why one cannot be used", async () => {
    const home = tempDirectory();
    writePlugin(home, "python", { "plugin.yaml": "kind: context_engine\n", "__init__.py": "" });
    writePlugin(home, "empty", { "plugin.yaml": "kind: Context_Engine\n" });
    writePlugin(home, "unbuilt", {
      "plugin.yaml": "kind: context_engine\n",
      "package.json": '{"main":"dist/a.js"}',
    });
    writePlugin(home, "outside", {
      "plugin.yaml": "kind: context_engine\n",
      "package.json": '{"main":"../a.js"}',
    });
    const { engines } = await listEngines(home);
    expect(engines.slice(2).map(({ name, problem, entry }) => [name, problem?.split(".")[0], entry])).toEqual(
      [
        ["empty", "It has no entry file", undefined],
        ["outside", "Its package", undefined],
        ["python", "It is a Python plugin (__init__", undefined],
        ["unbuilt", "Its package", undefined],
      ],
    );
    expect((await select(home, "python")).warning).toContain("Python plugin");
  });

  it("passes over one that is named like a built-in engine, or in a way that config could not say", async () => {
    const home = tempDirectory();
    writeEngine(home, "lcm", registering("lcm"));
    writeEngine(home, "my engine", registering("my engine"));
    const { engines, warnings } = await listEngines(home);
    expect(engines).toHaveLength(2);
    expect(warnings).toEqual([
      expect.stringContaining("'lcm' is built in"),
      expect.stringContaining("only letters, digits"),
    ]);
    expect((await select(home, "../plugins/lcm")).warning).toContain("There is no such engine.");
  });

  it("survives a plugins folder that is a file", async () => {
    const home = tempDirectory();
    writeFileSync(join(home, "plugins"), "");
    const { engines, warnings } = await listEngines(home);
    expect(engines).toHaveLength(2);
    expect(warnings).toHaveLength(1);
  });
});
