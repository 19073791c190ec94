import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  activeProviderName,
  findProvider,
  findProviders,
} from "../../../src/providers/discovery/find-providers.ts";
import { isProviderName } from "../../../src/providers/discovery/plugins.ts";
import { MANIFEST_TEXT, providerClass, registeringPlugin, writePlugin } from "../../fakes/plugins.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";

const BUNDLED = [..."byterover hindsight holographic honcho mem0 openviking retaindb supermemory".split(" ")];

async function usersOf(home: string): Promise<string[]> {
  const { providers } = await findProviders(home);
  return providers.filter(({ source }) => source === "user").map(({ name }) => name);
}

function plugin(home: string, name: string, files: Readonly<Record<string, string>> = {}): string {
  return writePlugin(home, name, { "index.ts": registeringPlugin(), "plugin.yaml": MANIFEST_TEXT, ...files });
}

describe("finding providers", () => {
  it("gives bundled ones first, then the user's, each by name", async () => {
    const home = tempDirectory();
    for (const name of ["zeta", "alpha", "Beta"]) plugin(home, name);
    const { providers, warnings } = await findProviders(home);
    expect(providers.map(({ name }) => name)).toEqual([...BUNDLED, "Beta", "alpha", "zeta"]);
    expect(warnings).toEqual([]);
    expect(providers.at(-1)).toMatchObject({
      source: "user",
      directory: join(home, "plugins", "zeta"),
      manifest: { name: "sample", version: "1.10", description: "Keeps samples" },
    });
  });

  it("runs no plugin's code", async () => {
    const home = tempDirectory();
    const mark = join(home, "was-run");
    const code = `import { writeFileSync } from "node:fs";\nwriteFileSync(${JSON.stringify(mark)}, "");\n`;
    plugin(home, "loud", { "index.ts": code + registeringPlugin(), "cli.ts": code });
    expect(await usersOf(home)).toEqual(["loud"]);
    expect(await findProvider(home, "loud")).toMatchObject({ name: "loud" });
    expect(existsSync(mark)).toBe(false);
  });

  it.each(["register_memory_provider", "registerMemoryProvider", "MemoryProvider"])(
    "takes %s near the top for a memory provider",
    async (sign) => {
      const home = tempDirectory();
      plugin(home, "near", { "index.ts": `${"é".repeat(8192 - sign.length)}${sign}` });
      plugin(home, "far", { "index.ts": `${"é".repeat(8193 - sign.length)}${sign}` });
      plugin(home, "plain", { "index.ts": "export const x = 1;" });
      expect(await usersOf(home)).toEqual(["near"]);
    },
  );

  it("lets plugin.yaml decide: exclusive is a provider whatever its source says, a context engine never", async () => {
    const home = tempDirectory();
    plugin(home, "minified", { "index.ts": "export default {}", "plugin.yaml": "kind: exclusive" });
    plugin(home, "engine", { "plugin.yaml": "kind: context_engine" });
    plugin(home, "other", { "plugin.yaml": "kind: tool" });
    expect(await usersOf(home)).toEqual(["minified", "other"]);
    expect(await findProvider(home, "engine")).toBeUndefined();
  });

  it("lists a Python plugin with the reason why it cannot be loaded", async () => {
    const home = tempDirectory();
    const python = "from agent.memory_provider import MemoryProvider\n";
    writePlugin(home, "snake", { "__init__.py": python, "plugin.yaml": "pip_dependencies: [requests]" });
    writePlugin(home, "snake-tool", { "__init__.py": "print('a tool')" });
    writePlugin(home, "both", { "__init__.py": python, "index.js": registeringPlugin() });
    writePlugin(home, "assets", { "__init__.py": python, "index.js": "console.log('a web page')" });
    const { providers } = await findProviders(home);
    const problems = providers.map(({ name, problem }) => [name, problem?.slice(0, 22)]);
    expect(problems.slice(BUNDLED.length)).toEqual([
      ["assets", "It is a Python plugin "],
      ["both", undefined],
      ["snake", "It is a Python plugin "],
    ]);
    expect(await findProvider(home, "snake")).toMatchObject({ manifest: { pipDependencies: ["requests"] } });
  });

  it("lists a plugin whose entry is missing or outside", async () => {
    const home = tempDirectory();
    writePlugin(home, "empty", { "plugin.yaml": "kind: exclusive" });
    writePlugin(home, "unbuilt", {
      "plugin.yaml": "kind: exclusive",
      "package.json": '{"main":"dist/index.js"}',
    });
    plugin(home, "astray", { "package.json": '{"main":"../inside/index.ts"}' });
    plugin(home, "inside");
    const { providers } = await findProviders(home);
    const problems = new Map(providers.map(({ name, problem }) => [name, problem]));
    expect(problems.get("empty")).toMatch(/has no entry file/);
    expect(problems.get("unbuilt")).toMatch(/dist\/index\.js', which does not exist/);
    expect(problems.get("astray")).toMatch(/outside/);
    expect(problems.get("inside")).toBeUndefined();
  });

  it("a bundled provider wins over a plugin of its name, once, and says so", async () => {
    const home = tempDirectory();
    const directory = plugin(home, "holographic");
    plugin(home, "byterover", { "index.ts": "export const aToolOfThatName = 1;" });
    const { providers, warnings } = await findProviders(home);
    expect(providers.map(({ name, source }) => [name, source])).toEqual(
      BUNDLED.map((name) => [name, "bundled"]),
    );
    expect(warnings).toEqual([expect.stringContaining(directory)]);
    expect(await findProvider(home, "holographic")).toMatchObject({ source: "bundled" });
  });
});

describe("odd folders", () => {
  it("follows links to plugins, and says when one leads nowhere or in a circle", async () => {
    const home = tempDirectory();
    const elsewhere = plugin(tempDirectory(), "source");
    mkdirSync(join(home, "plugins"));
    symlinkSync(elsewhere, join(home, "plugins", "linked"));
    symlinkSync(join(home, "gone"), join(home, "plugins", "dangling"));
    symlinkSync(join(home, "plugins", "circle"), join(home, "plugins", "circle"));
    const { warnings } = await findProviders(home);
    expect(await usersOf(home)).toEqual(["linked"]);
    expect(warnings.map((warning) => /plugins\/(\w+)/.exec(warning)?.[1]).sort()).toEqual([
      "circle",
      "dangling",
    ]);
  });

  it("a plugins folder that is no folder costs a warning, not the bundled providers", async () => {
    const home = tempDirectory();
    writeFileSync(join(home, "plugins"), "");
    const { providers, warnings } = await findProviders(home);
    expect(providers.map(({ name }) => name)).toEqual(BUNDLED);
    expect(warnings).toEqual([expect.stringMatching(/Only bundled providers are known/)]);
  });

  it("a plugin with a circle for an entry file is passed over", async () => {
    const home = tempDirectory();
    const directory = writePlugin(home, "knot", { "plugin.yaml": MANIFEST_TEXT });
    symlinkSync("index.ts", join(directory, "index.ts"));
    plugin(home, "fine");
    const { warnings } = await findProviders(home);
    expect(await usersOf(home)).toEqual(["fine"]);
    expect(warnings).toEqual([expect.stringMatching(/knot.*passed over/)]);
  });

  it.skipIf(process.platform === "win32")("a pipe is not waited for", async () => {
    const home = tempDirectory();
    const directory = writePlugin(home, "piped", { "index.js": providerClass("MemoryProvider") });
    execFileSync("mkfifo", [join(directory, "plugin.yaml"), join(directory, "index.ts")]);
    expect(await usersOf(home)).toEqual(["piped"]);
  });

  it("files, node_modules and unfinished folders are nothing", async () => {
    const home = tempDirectory();
    writePlugin(home, "node_modules", { "x/index.js": registeringPlugin() });
    writePlugin(home, "unfinished", {});
    writeFileSync(join(home, "plugins", "notes.txt"), "MemoryProvider");
    expect(await findProviders(home)).toMatchObject({
      providers: BUNDLED.map((name) => ({ name })),
      warnings: [],
    });
  });

  it("finding one takes no path for a name", async () => {
    const home = tempDirectory();
    plugin(home, "notes");
    for (const name of ["../plugins/notes", "notes/", "./notes", "", "none", "missing"])
      expect(await findProvider(home, name)).toBeUndefined();
  });
});

describe("the name in memory.provider", () => {
  it.each(["", "  ", "\u00a0\n", "builtin", "Built-In", " NONE ", "BUILTIN"])(
    "%j means built-in memory only",
    (value) => {
      expect(activeProviderName(value)).toBe("");
    },
  );

  it("is trimmed and keeps its case", () => {
    expect(activeProviderName("  MyNotes\n")).toBe("MyNotes");
    expect(activeProviderName("nonesuch")).toBe("nonesuch");
  });
});

it("a name cannot lead out of the plugin folder", () => {
  for (const name of ["a", "A1", "my.notes_2-x", "7"]) expect(isProviderName(name)).toBe(true);
  for (const name of ["", ".", "..", "../x", "a/b", "a\\b", "-x", "_x", "a b", "é", "a\n", "a\0"])
    expect(isProviderName(name)).toBe(false);
});
