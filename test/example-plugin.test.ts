// The plugin of examples/, used as its readers will: dropped into a home, found, set up, active, and told things.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import createNotesProvider from "../examples/memory-plugin/index.ts";
import { loadMemoryConfig } from "../packages/core/src/config/index.ts";
import { DEADLINES_MS } from "../packages/core/src/providers/contract.ts";
import {
  activateProvider,
  buildMemoryContextBlock,
  checkAvailability,
  findProviders,
  loadProvider,
  type MemoryManager,
  readProviderHealth,
} from "../packages/core/src/providers/index.ts";
import {
  collectAnswers,
  fieldsOf,
  saveSetup,
  splitAnswers,
} from "../packages/core/src/providers/setup/setup.ts";
import { writePlugin } from "../packages/core/test/fakes/plugins.ts";
import { tempDirectory } from "../packages/core/test/fakes/temp-directory.ts";
import { memoryProviderContract } from "../packages/core/testing/index.ts";

const examples = resolve(import.meta.dirname, "../examples");

memoryProviderContract({ describe, it, expect }, "of the example", {
  create: () => createNotesProvider(),
  stored: (home) => {
    const path = join(home, "notes.jsonl");
    return existsSync(path) ? readFileSync(path, "utf8") : "";
  },
});

describe("the example plugin in a home", () => {
  it("is found by its text, with its description, and a broken one beside it changes nothing", async () => {
    const home = homeWithPlugin();
    writePlugin(home, "broken", { "index.ts": "MemoryProvider; throw new Error('no');" });
    const { providers } = await findProviders(home);
    expect(providers.filter(({ source }) => source === "user")).toMatchObject([
      { name: "broken" },
      { name: "notes", manifest: { version: "1.0.0", description: expect.stringContaining("JSON lines") } },
    ]);
    expect(await loadProvider(home, "broken")).toMatchObject({ ok: false });
    expect(await loadProvider(home, "notes")).toMatchObject({ ok: true });
  });

  it("is loaded, set up and switched on", async () => {
    const home = homeWithPlugin();
    const outcome = await setUp(home, { mode: "context" });
    expect(outcome).toMatchObject({ activated: true, failed: [], unsaved: [] });
    expect(JSON.parse(readFileSync(join(home, "notes.json"), "utf8"))).toEqual({ mode: "context" });
    expect(readFileSync(join(home, "config.yaml"), "utf8")).toMatch(/provider: notes/);
    const manager = await activate(home);
    expect(manager.getAllToolSchemas()).toEqual([]);
    await manager.shutdownAll();
  });

  it("recalls in one session what it was told in another", async () => {
    const home = homeWithPlugin();
    await setUp(home);
    const first = await activate(home);
    first.finishTurn({ session_id: "one", user: "We fire the kiln at 1240 degrees.", assistant: "Noted." });
    first.onMemoryWrite("add", "user", "Owns a kiln called Vesuvius", {});
    await first.handleToolCall("notes_add", { text: "The glaze in the yard is celadon" });
    await first.onSessionEnd([]);
    await first.shutdownAll();

    const second = await activate(home);
    expect(await second.buildSystemPrompt()).toContain("# Notes");
    await second.onTurnStart(1, "How hot is the kiln?");
    const block = buildMemoryContextBlock(
      await second.prefetchAll("How hot is the kiln?", { session_id: "two" }),
    );
    expect(block).toMatch(/^<memory-context>\n\[System note: /);
    expect(block).toContain("We fire the kiln at 1240 degrees.");
    expect(block).toContain("Vesuvius");
    const found: unknown = JSON.parse(await second.handleToolCall("notes_find", { text: "which glaze?" }));
    expect(found).toEqual({ notes: ["The glaze in the yard is celadon"] });
    await second.shutdownAll();
    expect(readProviderHealth(home, "notes")?.hooks).toMatchObject({
      initialize: { calls: 2, failures: 0 },
      syncTurn: { calls: 1, failures: 0 },
      onMemoryWrite: { calls: 1, failures: 0 },
    });
    expect(statSync(join(home, "notes.jsonl")).mode & 0o777).toBe(0o600);
  });

  it("loses its recall, and nothing else, when its file is damaged, and the file stays as it is", async () => {
    const home = homeWithPlugin();
    await setUp(home);
    const damaged = '{"from":"memory","text":"The kiln"}\nnot json\n';
    writeFileSync(join(home, "notes.jsonl"), damaged);
    const manager = await activate(home);
    expect(await manager.prefetchAll("the kiln?", { session_id: "one" })).toBe("");
    expect(JSON.parse(await manager.handleToolCall("notes_find", { text: "kiln" }))).toHaveProperty("error");
    manager.onMemoryWrite("remove", "memory", "", { old_text: "kiln" });
    await manager.shutdownAll();
    expect(readFileSync(join(home, "notes.jsonl"), "utf8")).toBe(damaged);
    expect(readProviderHealth(home, "notes")).toMatchObject({
      hooks: { prefetch: { failures: 1 }, handleToolCall: { failures: 1 }, onMemoryWrite: { failures: 1 } },
    });
  });
});

describe("the example plugin while it is not open", () => {
  it("refuses to write, and leaves no file behind where it was started", async () => {
    const provider = createNotesProvider();
    const before = readdirSync(".");
    const told = async (): Promise<unknown> =>
      provider.onMemoryWrite?.("remove", "memory", "", { old_text: "kiln" });
    await expect(told()).resolves.toBeUndefined(); // nobody has said for whom it works
    await expect(async () => provider.selfTest?.(AbortSignal.timeout(1000))).rejects.toThrow();
    expect(readdirSync(".").filter((name) => !before.includes(name) && name.startsWith("."))).toEqual([]);
  });
});

describe("examples/use-provider.ts", () => {
  it("shows a turn with a provider from its start to its end", () => {
    const path = join(examples, "use-provider.ts");
    const { status, stdout, stderr } = spawnSync(process.execPath, [path], { encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toContain("system prompt: # Notes");
    expect(stdout).toContain("tools: [ 'notes_add', 'notes_find' ]");
    expect(stdout).toMatch(
      /request:\nHow hot is the kiln\?\n\n<memory-context>\n\[System note: [^\]]+\]\n\nAsked: We fire the kiln at 1240/,
    );
    expect(stdout).toContain("shown: 1240 degrees.\n\n");
    expect(stdout).toContain('tool: {"error":"text is missing"}');
    expect(stdout).toContain('tool: {"notes":["Owns a kiln called Vesuvius"]}');
  });
});

describe("docs/providers.md", () => {
  const page = readFileSync(resolve(examples, "../docs/providers.md"), "utf8");

  it.each([
    ["ts file=index.ts", "index.ts"],
    ["ts file=notes-file.ts", "notes-file.ts"],
    ["yaml", "plugin.yaml"],
  ])("shows the example as it is (%s: %s)", (language, file) => {
    const text = readFileSync(join(examples, "memory-plugin", file), "utf8");
    expect(page).toContain(`\`\`\`${language}\n${text}\`\`\`\n`);
  });

  it("gives each hook the deadline it has", () => {
    const seconds = (key: keyof typeof DEADLINES_MS): string => `${DEADLINES_MS[key] / 1000} s`;
    const expected: Readonly<Record<string, string>> = {
      isAvailable: seconds("availability"),
      initialize: seconds("initialize"),
      getToolSchemas: seconds("toolSchemas"),
      systemPromptBlock: seconds("systemPromptBlock"),
      onTurnStart: `${seconds("turnStart")}, together with \`prefetch\``,
      handleToolCall: seconds("toolCall"),
      onMemoryWrite: seconds("background"),
      onDelegation: seconds("background"),
      onPreCompress: seconds("preCompress"),
      onSessionEnd: seconds("sessionEnd"),
      onSessionSwitch: seconds("sessionSwitch"),
      shutdown: `${seconds("shutdown")} for all`,
    };
    const rows = page.split("\n").filter((line) => line.startsWith("| `"));
    for (const [hook, deadline] of Object.entries(expected)) {
      const row = rows.find((line) => line.startsWith(`| \`${hook}\` |`)) ?? "";
      expect(row.split(" | ")[3], hook).toBe(deadline);
    }
  });

  it("names every member of the contract", () => {
    const contract = readFileSync(resolve(examples, "../packages/core/src/providers/contract.ts"), "utf8");
    const members = /export interface MemoryProvider \{(.*?)\n\}\n/s.exec(contract)?.[1] ?? "";
    const names = [...members.matchAll(/^ {2}(?:readonly )?(\w+)\??[:(]/gm)].map((match) => match[1]);
    expect(names.length).toBeGreaterThan(20);
    expect(names.filter((name) => !page.includes(`\`${name}`))).toEqual([]);
  });
});

function homeWithPlugin(): string {
  const home = tempDirectory();
  cpSync(join(examples, "memory-plugin"), join(home, "plugins", "notes"), { recursive: true });
  return home;
}

/** What `hermes memory setup notes --set ...` does. */
async function setUp(home: string, given: Readonly<Record<string, string>> = {}) {
  const loaded = await loadProvider(home, "notes");
  if (!loaded.ok) throw new Error(loaded.error.message);
  const { provider } = loaded.value;
  expect(await checkAvailability(provider)).toEqual({ available: true });
  const { fields } = fieldsOf(provider);
  const existing = { settings: new Map(), secrets: new Map() };
  const { answers, missing, invalid } = collectAnswers(fields, new Map(Object.entries(given)), existing);
  expect({ missing, invalid }).toEqual({ missing: [], invalid: [] });
  return saveSetup({ home, name: "notes", provider, ...splitAnswers("notes", fields, answers) });
}

async function activate(home: string): Promise<MemoryManager> {
  const config = await loadMemoryConfig(home);
  if (!config.ok) throw new Error(config.error.message);
  const activation = await activateProvider({ home, config: config.value, sessionId: "one" });
  if (activation.kind !== "active") throw new Error(JSON.stringify(activation));
  return activation.manager;
}
