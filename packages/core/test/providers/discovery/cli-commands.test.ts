import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadProvider, loadProviderCommands } from "../../../src/providers/discovery/load-provider.ts";
import { MANIFEST_TEXT, registeringPlugin, writePlugin } from "../../fakes/plugins.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";

const CLI = "export function registerCli(command) { command.seen = true; }\n";

function plugin(home: string, name: string, files: Readonly<Record<string, string>>): void {
  writePlugin(home, name, { "index.mjs": registeringPlugin(), ...files });
}

describe("commands of the active provider", () => {
  it("come from its cli file, without its provider, which still loads afterwards", async () => {
    const home = tempDirectory();
    const mark = join(home, "provider-was-run");
    const marking = `import { writeFileSync } from "node:fs";\nwriteFileSync(${JSON.stringify(mark)}, "");\n`;
    plugin(home, "notes", {
      "index.mjs": marking + registeringPlugin(),
      "cli.mjs": `${CLI}export const notes_command = (args) => "ran " + args;\n`,
      "plugin.yaml": MANIFEST_TEXT,
    });
    const { command, warning } = await loadProviderCommands(home, "notes");
    expect(warning).toBeUndefined();
    expect(command).toMatchObject({ name: "notes", help: "Keeps samples", description: "Keeps samples" });
    const given = {};
    command?.setup(given);
    expect(given).toEqual({ seen: true });
    expect(command?.handler?.("it")).toBe("ran it");
    expect(existsSync(mark)).toBe(false);
    expect((await loadProvider(home, "notes")).ok).toBe(true);
    expect(existsSync(mark)).toBe(true);
  });

  it.each(["my_notes_2_command", "honcho_command"])("finds the handler %s", async (name) => {
    const home = tempDirectory();
    plugin(home, "my-notes.2", { "cli.mjs": `${CLI}export const ${name} = () => "handled";\n` });
    expect((await loadProviderCommands(home, "my-notes.2")).command?.handler?.({})).toBe("handled");
  });

  it("are none without an active provider, a cli file or a registerCli", async () => {
    const home = tempDirectory();
    plugin(home, "bare", {});
    plugin(home, "other", { "cli.mjs": "export const unrelated = 1;\n" });
    writePlugin(home, "snake", { "__init__.py": "MemoryProvider", "cli.js": CLI });
    writePlugin(home, "tool", { "index.mjs": "export {}", "cli.mjs": CLI });
    for (const name of ["", "bare", "other", "snake", "tool", "missing", "../other", "holographic"])
      expect(await loadProviderCommands(home, name)).toEqual({});
  });

  it("that fail while they are added throw at once, or are told as left behind", async () => {
    const home = tempDirectory();
    const strays: unknown[] = [];
    const told = Promise.withResolvers<void>();
    const onStray = (cause: unknown): void => {
      strays.push(cause);
      told.resolve();
    };
    plugin(home, "direct", { "cli.mjs": 'export function registerCli() { throw new Error("now"); }\n' });
    plugin(home, "later", {
      "cli.mjs": 'export async function registerCli() { throw new Error("later"); }\n',
    });
    const { command: direct } = await loadProviderCommands(home, "direct");
    expect(() => direct?.setup({})).toThrow("now");
    const { command: later } = await loadProviderCommands(home, "later", { onStray });
    later?.setup({});
    await told.promise;
    expect(String(strays)).toBe("Error: later");
  });

  it("that fail to load are a warning", async () => {
    const home = tempDirectory();
    plugin(home, "throwing", { "cli.mjs": 'throw new Error("no commands today");\n' });
    plugin(home, "hanging", { "cli.mjs": "await new Promise(() => {});\n" });
    plugin(home, "wrong", { "cli.mjs": "export const registerCli = 7;\n" });
    const warningOf = async (name: string) =>
      (await loadProviderCommands(home, name, { timeoutMs: name === "hanging" ? 50 : 10_000 })).warning;
    expect(await warningOf("throwing")).toMatch(/'throwing'.*no commands today\.$/);
    expect(await warningOf("hanging")).toMatch(/did not finish within 0\.05 s\.$/);
    expect(await warningOf("wrong")).toMatch(/is no function\.$/);
  });
});
