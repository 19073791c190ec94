// Writes of the command line reach the active provider like the agent's own, and `forget` erases there too. Tests use the real
// holographic provider, and plugins where a provider has to fail.
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { readPendingWrites } from "@hermes-memory/core/internal/curated";
import {
  pendingWritesDirectory,
  userMemoriesDirectory,
  userScopeName,
} from "@hermes-memory/core/internal/home";
import { describe, expect, it } from "vitest";
import { writePlugin } from "../../../core/test/fakes/plugins.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { createHolographicProvider } from "../../../providers/src/holographic/provider.ts";
import { runCurator } from "../../src/cli/chat/chat.ts";
import type { CommandContext } from "../../src/cli/command.ts";
import { runCommandLine } from "../../src/cli/program.ts";
import { memoryTool, openHome } from "../../src/index.ts";
import { runHere, runHermes } from "./run.ts";

function homeWith(provider: string, more = ""): string {
  const home = tempDirectory();
  writeFileSync(join(home, "config.yaml"), `memory:\n  provider: ${provider}\n${more}`);
  return home;
}

async function hermes(home: string, ...args: string[]) {
  const { code, stdout, stderr } = await runHere(["memory", ...args, "--json"], { home });
  return { code, json: JSON.parse(stdout) as Record<string, unknown>, stderr };
}

function facts(home: string): string[] {
  using db = new DatabaseSync(join(home, "memory_store.db"), { readOnly: true });
  return db
    .prepare("SELECT content FROM facts ORDER BY fact_id")
    .all()
    .map(({ content }) => String(content));
}

/** A fact that the agent stored itself, not a mirror of an entry. */
async function addFact(home: string, content: string): Promise<void> {
  const provider = createHolographicProvider();
  await provider.initialize("s", { hermes_home: home });
  await provider.handleToolCall?.("fact_store", { action: "add", content }, {});
  await provider.shutdown?.({});
}

describe("the fact store follows the command line", () => {
  it("through add, replace, remove, undo, reset and purge", async () => {
    const home = homeWith("holographic");
    const added = await hermes(home, "add", "Deploys go through make ship");
    expect(added).toMatchObject({
      code: 0,
      stderr: "",
      json: { provider: { name: "holographic", status: "mirrored", writes: 1 } },
    });
    await hermes(home, "add", "Prefers metric units", "--target", "user");
    expect(facts(home)).toEqual(["Deploys go through make ship", "Prefers metric units"]);
    await hermes(home, "replace", "make", "Deploys go through make release");
    expect(facts(home)).toEqual(["Deploys go through make release", "Prefers metric units"]);
    await hermes(home, "undo");
    expect(facts(home)).toContain("Deploys go through make ship");
    await hermes(home, "remove", "make ship");
    expect(facts(home)).toEqual(["Prefers metric units"]);
    await hermes(home, "undo", "--target", "memory");
    expect(facts(home)).toEqual(["Prefers metric units", "Deploys go through make ship"]);
    await hermes(home, "reset", "--yes", "--target", "memory");
    expect(facts(home)).toEqual(["Prefers metric units"]);
    await hermes(home, "reset", "--purge", "--yes");
    expect(facts(home)).toEqual([]);
  });

  it("through approvals and what comes back from the archive", async () => {
    const home = homeWith("holographic", "  overflow: archive\n  memory_char_limit: 60\n");
    const store = await openHome({ home }).owner.curated();
    const args = { action: "add", target: "user", content: "Plays the oboe" };
    await memoryTool(store, args, { home, writeApproval: true });
    const [staged] = readPendingWrites(pendingWritesDirectory(home)).records;
    expect((await hermes(home, "approve", staged?.id ?? "")).json).toMatchObject({
      success: true,
      provider: { status: "mirrored", writes: 1 },
    });
    expect(facts(home)).toEqual(["Plays the oboe"]);

    await hermes(home, "add", "The first note is thirty-five long.");
    await hermes(home, "add", "The second note is as long as that.");
    // The first entry was archived to make room. The provider keeps it.
    expect(facts(home)).toContain("The first note is thirty-five long.");
    await hermes(home, "remove", "second");
    const archived = (await runHere(["memory", "archive", "list", "--json"], { home })).stdout;
    const [{ id }] = JSON.parse(archived) as [{ id: string }];
    expect((await hermes(home, "archive", "restore", id)).json).toMatchObject({ provider: { writes: 1 } });
    expect(facts(home).sort()).toEqual(["Plays the oboe", "The first note is thirty-five long."]);
  });

  it("and leaves alone a fact that the user's agent stored itself", async () => {
    const home = homeWith("holographic");
    await addFact(home, "Deploys go through make ship");
    await hermes(home, "add", "Deploys go through make ship");
    await hermes(home, "remove", "make ship");
    expect(facts(home)).toEqual(["Deploys go through make ship"]);
  });

  it("and leaves alone a mirrored fact that the user added again or changed with the tool", async () => {
    const home = homeWith("holographic");
    const tool = (...args: string[]) => runHere(["memory", "tool", "fact_store", ...args], { home });
    for (const entry of ["Alpha likes tea", "Delta note", "Gamma note", "Epsilon note"])
      await hermes(home, "add", entry);
    expect((await tool("action=add", "content=Alpha likes tea")).code).toBe(0);
    await tool("action=update", "fact_id=2", "content=Delta note with the why");
    await tool("action=update", "fact_id=3", "tags=mine");
    await tool("action=update", "fact_id=4", "trust_delta=0.1"); // a rating does not make the fact the user's
    for (const entry of ["Alpha likes tea", "Delta note", "Epsilon note"])
      await hermes(home, "remove", entry);
    await hermes(home, "replace", "Gamma note", "Gamma became another");
    expect(facts(home)).toEqual([
      "Alpha likes tea",
      "Delta note with the why",
      "Gamma note",
      "Gamma became another",
    ]);
  });

  it("through what the curator does and takes back", async () => {
    const home = homeWith("holographic");
    for (const entry of ["Deploys on Monday", "deploys on Monday."]) await hermes(home, "add", entry);
    const applied = await runHere(["curator", "run", "--apply", "--memory", "--no-model", "--json"], {
      home,
    });
    expect(applied.code).toBe(0);
    expect(facts(home)).toEqual(["Deploys on Monday"]);
    await runHere(["curator", "rollback", "--yes"], { home });
    expect(facts(home).sort()).toEqual(["Deploys on Monday", "deploys on Monday."]);
  });

  it("through /curator in a chat, which goes on afterwards", async () => {
    const home = homeWith("holographic");
    for (const entry of ["Deploys on Monday", "deploys on Monday."]) await hermes(home, "add", entry);
    await runHere(["curator", "run", "--memory", "--no-model"], { home });
    const endings: string[] = [];
    const io = { env: { HERMES_HOME: home }, endWithoutWaiting: () => endings.push("ended") };
    const system = { env: io.env, platform: process.platform, userHome: home };
    const runCommand: CommandContext["runCommand"] = (words, terminal) =>
      runCommandLine(words, terminal, system);
    const context = { io, runCommand } as unknown as CommandContext;
    expect(await runCurator(context, ["approve"], async () => true)).toMatchObject({ kind: "text" });
    expect(facts(home)).toEqual(["Deploys on Monday"]);
    expect(endings).toEqual([]);
  });

  it("not for another directory", async () => {
    const home = homeWith("holographic");
    const { json } = await hermes(home, "add", "Elsewhere", "--dir", tempDirectory());
    expect(json).not.toHaveProperty("provider");
    expect(existsSync(join(home, "memory_store.db"))).toBe(false);
  });
});

const MISBEHAVING = (hook: string, more = ""): string => `export default () => ({
  name: "odd",
  isAvailable: () => true,
  initialize() {},
  getToolSchemas: () => [],
  onMemoryWrite(action, target, content, metadata) { ${hook} },
  ${more}
});
// registerMemoryProvider`;

function pluginHome(hook: string, more = ""): string {
  const home = homeWith("odd");
  writePlugin(home, "odd", { "index.mjs": MISBEHAVING(hook, more) });
  return home;
}

describe("a write stays written", () => {
  it("when the provider fails: a warning, and a field in --json", async () => {
    const home = pluginHome(`throw new Error("the tape is full");`);
    const { code, json, stderr } = await hermes(home, "add", "Drinks tea");
    expect(code).toBe(0);
    expect(json).toMatchObject({
      success: true,
      provider: { name: "odd", status: "failed", problem: expect.stringContaining("the tape is full") },
    });
    expect(stderr).toContain("Saved, but the memory provider 'odd' did not get the change");
    expect(readFileSync(join(home, "memories", "MEMORY.md"), "utf8")).toBe("Drinks tea");
  });

  it("when it is not there, or does not start", async () => {
    const missing = await hermes(homeWith("nowhere"), "add", "Drinks tea");
    expect(missing).toMatchObject({ code: 0, json: { provider: { name: "nowhere", status: "failed" } } });
    const broken = homeWith("holographic");
    mkdirSync(join(broken, "memory_store.db"));
    expect(await hermes(broken, "add", "Drinks tea")).toMatchObject({
      code: 0,
      json: { provider: { name: "holographic", status: "failed" } },
    });
  });

  it("and a plugin gets whole texts, with their origin", async () => {
    const log = join(tempDirectory(), "heard.jsonl");
    const home = pluginHome(
      `appendFileSync(${JSON.stringify(log)}, JSON.stringify([action, target, content, metadata]) + "\\n");`,
    );
    const plugin = join(home, "plugins", "odd", "index.mjs");
    writeFileSync(plugin, `import { appendFileSync } from "node:fs";\n${readFileSync(plugin, "utf8")}`);
    await hermes(home, "add", "Drinks tea in the morning", "--target", "user");
    await hermes(home, "replace", "tea", "Drinks coffee in the morning", "--target", "user");
    const heard = readFileSync(log, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown);
    const known = {
      write_origin: "cli",
      execution_context: "foreground",
      platform: "cli",
      tool_name: "memory",
    };
    expect(heard).toEqual([
      ["add", "user", "Drinks tea in the morning", known],
      [
        "replace",
        "user",
        "Drinks coffee in the morning",
        { ...known, old_text: "Drinks tea in the morning" },
      ],
    ]);
  });

  it("and a plugin that never answers does not end the command without output", async () => {
    const home = pluginHome("", `forget: () => new Promise(() => {}), isAvailable: () => true,`);
    const hook = join(home, "hang.mjs");
    // Only this promise keeps the process alive, so the event loop runs empty.
    writeFileSync(hook, `globalThis.setTimeout = ((set) => (...a) => set(...a).unref())(setTimeout);`);
    const { code, stderr } = await runHermes(["memory", "forget", "x", "--yes"], {
      home,
      env: { NODE_OPTIONS: `--import=${hook}` },
    });
    expect(code).toBe(1);
    expect(stderr).toContain("stopped before it could report");
  });

  it("when the provider refuses it: --json and a warning say why", async () => {
    const home = homeWith("holographic", "  memory_char_limit: 9000\n");
    const { code, json, stderr } = await hermes(home, "add", "long ".repeat(500).trim());
    expect(code).toBe(0);
    expect(json.provider).toMatchObject({
      status: "refused",
      refused: 1,
      problem: expect.stringContaining("2499 characters; a fact may have 2000"),
    });
    expect(stderr).toContain("'holographic' did not take it");
    expect(facts(home)).toEqual([]);
    expect((await hermes(pluginHome(""), "add", "Drinks tea")).json.provider).toMatchObject({
      status: "told",
    });
  });

  it("without a provider nothing is said about one", async () => {
    const home = tempDirectory();
    expect((await hermes(home, "add", "Drinks tea")).json).not.toHaveProperty("provider");
  });
});

const SECRET = "the vault code is nineteen seventy";

/** All bytes of the store's files. */
function bytesOf(home: string): string {
  return ["memory_store.db", "memory_store.db-wal"]
    .map((name) => join(home, name))
    .flatMap((path) => (existsSync(path) ? [readFileSync(path, "latin1")] : []))
    .join("");
}

describe("hermes memory forget", () => {
  it("erases the bytes in the active fact store, also of facts that are no mirrors", async () => {
    const home = homeWith("holographic");
    await hermes(home, "add", `Remember: ${SECRET}`);
    await hermes(home, "add", "Fires the kiln on Mondays");
    await addFact(home, `Ann "Vault Keeper" says ${SECRET}`);
    await hermes(home, "replace", "Remember", `Note: ${SECRET}`); // leaves an older copy in free pages
    expect(bytesOf(home)).toContain(SECRET);
    const { code, json } = await hermes(home, "forget", SECRET, "--yes");
    expect(code).toBe(0);
    expect(json).toMatchObject({
      success: true,
      provider: { name: "holographic", status: "forgot", erased: 2 },
    });
    expect(JSON.stringify(json.provider)).not.toContain("remaining");
    expect(facts(home)).toEqual(["Fires the kiln on Mondays"]);
    expect(bytesOf(home)).not.toContain(SECRET);
    for (const word of ["vault", "nineteen", "Vault Keeper"]) expect(bytesOf(home)).not.toContain(word);
    using db = new DatabaseSync(join(home, "memory_store.db"), { readOnly: true });
    expect(db.prepare("SELECT name FROM entities").all()).toEqual([]);
    expect(db.prepare("SELECT 1 FROM facts_fts WHERE facts_fts MATCH 'kiln'").all()).toHaveLength(1);
  });

  it("waits for a slow provider before it reports", async () => {
    const home = pluginHome(
      "",
      `forget: async (text, { dry_run }) => {
        if (!dry_run) await new Promise((resolve) => setTimeout(resolve, 1300));
        return { erased: 1 };
      },`,
    );
    // In a child process: after a provider has run, the process ends without waiting, but not before its report.
    const { code, stdout } = await runHermes(["memory", "forget", "x", "--yes", "--json"], { home });
    expect({ code, json: JSON.parse(stdout) }).toMatchObject({ code: 0, json: { provider: { erased: 1 } } });
  });

  it("has nothing to do after a purge, which leaves facts that are no mirrors", async () => {
    const home = homeWith("holographic");
    await hermes(home, "add", `${SECRET}, twice`);
    await hermes(home, "add", "Fires the kiln");
    await addFact(home, "Fires the kiln on Mondays");
    const { code, json, stderr } = await hermes(home, "reset", "--purge", "--yes");
    expect(code).toBe(0);
    expect(json.provider_remaining).toContain("has 1 of the texts in other records");
    expect(stderr).toContain("which stay");
    expect(facts(home)).toEqual(["Fires the kiln on Mondays"]);
    for (const word of [SECRET, "vault", "nineteen"]) expect(bytesOf(home)).not.toContain(word);
  });

  it("lists what the provider has before it asks, and leaves it when the answer is no", async () => {
    const home = homeWith("holographic");
    await addFact(home, SECRET);
    const { code, stderr } = await runHere(["memory", "forget", "vault code"], { home, answers: [false] });
    expect(code).toBe(1);
    expect(stderr).toContain("memory provider holographic  1");
    expect(facts(home)).toEqual([SECRET]);
  });

  it("reports what an inactive fact store holds", async () => {
    const home = homeWith("''");
    await addFact(home, SECRET);
    await hermes(home, "add", SECRET);
    const { code, json, stderr } = await hermes(home, "forget", "vault code", "--yes");
    expect({ code, success: json.success }).toEqual({ code: 0, success: true });
    expect(json.elsewhere).toEqual([
      { provider: "holographic", found: expect.stringContaining("has 1 fact that contains it") },
    ]);
    expect(stderr).toContain("hermes memory setup holographic");
    expect(facts(home)).toEqual([SECRET]);
    expect((await hermes(home, "forget", "never said", "--yes")).json).not.toHaveProperty("elsewhere");
  });

  it("names the files of other users and the skills that still hold it, and fails", async () => {
    const home = homeWith("holographic");
    const scope = userMemoriesDirectory(home, "telegram", "7");
    const skill = join(home, "skills", "safe", "SKILL.md");
    for (const dir of [scope, join(home, "skills", "safe")]) mkdirSync(dir, { recursive: true });
    writeFileSync(join(scope, "MEMORY.md"), SECRET);
    writeFileSync(skill, SECRET);
    const provider = createHolographicProvider();
    await provider.initialize("s", { hermes_home: home, platform: "telegram", user_id: "7" });
    await provider.handleToolCall?.("fact_store", { action: "add", content: SECRET }, {});
    await provider.shutdown?.({});
    const store = join(home, `memory_store.${userScopeName("telegram", "7")}.db`);
    await hermes(home, "add", SECRET);
    for (const round of ["erased", "nothing of the owner's"]) {
      const { code, json, stderr } = await hermes(home, "forget", "vault code", "--yes");
      expect({ round, code, success: json.success }).toEqual({ round, code: 1, success: false });
      expect(json.left).toEqual([
        { path: join(scope, "MEMORY.md"), reach: expect.stringContaining(`forget --dir ${scope} `) },
        { path: skill, reach: expect.stringContaining("edit or delete") },
        { path: store, reach: expect.stringContaining(`db_path ${store}`) },
      ]);
      for (const path of [scope, skill, store]) expect(stderr).toContain(path);
    }
    expect((await hermes(home, "forget", "vault code", "--dir", scope, "--yes")).code).toBe(0);
    await runHere(["config", "set", "plugins.hermes-memory-store.db_path", store], { home });
    await hermes(home, "forget", "vault code", "--yes");
    await runHere(["config", "unset", "plugins.hermes-memory-store.db_path"], { home });
    writeFileSync(skill, "clean");
    expect((await hermes(home, "forget", "vault code", "--yes")).json).not.toHaveProperty("left");
  });

  it("says so when the provider has no way to erase", async () => {
    const home = pluginHome("");
    await hermes(home, "add", SECRET);
    const { code, json, stderr } = await hermes(home, "forget", "vault code", "--yes");
    expect({ code, provider: json.provider }).toEqual({
      code: 0,
      provider: { name: "odd", status: "cannot" },
    });
    expect(stderr).toContain("'odd' has no way to erase a text");
  });

  it("fails when the provider could not be reached, after the files are clean", async () => {
    const home = pluginHome("", `forget() { throw new Error("the line is dead"); },`);
    await hermes(home, "add", SECRET);
    const { code, json, stderr } = await hermes(home, "forget", "vault code", "--yes");
    expect({ code, success: json.success }).toEqual({ code: 1, success: false });
    expect(stderr).toContain("the line is dead");
    expect(readFileSync(join(home, "memories", "MEMORY.md"), "utf8")).toBe("");
  });

  it("prints what a plugin says is left, and refuses an invalid answer", async () => {
    const left = pluginHome(
      "",
      `forget: (text, { dry_run }) => ({ erased: 3, remaining: dry_run ? undefined : "One copy is on paper." }),`,
    );
    await hermes(left, "add", SECRET);
    expect((await hermes(left, "forget", "vault code", "--yes")).json.provider).toEqual({
      name: "odd",
      status: "forgot",
      erased: 3,
      remaining: "One copy is on paper.",
    });
    const nonsense = pluginHome("", `forget: () => "yes",`);
    await hermes(nonsense, "add", SECRET);
    expect((await hermes(nonsense, "forget", "vault code", "--yes")).json).toMatchObject({
      success: false,
      provider: { status: "failed" },
    });
  });

  it("names the notes of ByteRover that it cannot erase", async () => {
    const home = homeWith("''");
    mkdirSync(join(home, "byterover", ".brv", "context-tree"), { recursive: true });
    appendFileSync(join(home, "byterover", ".brv", "context-tree", "note.md"), SECRET);
    const { json } = await hermes(home, "forget", "vault code", "--yes");
    expect(json.elsewhere).toEqual([
      { provider: "byterover", found: expect.stringContaining(".brv/context-tree/note.md") },
    ]);
  });
});
