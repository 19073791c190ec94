// Writes of the command line reach the active provider like the agent's own, and `forget` erases there too. Tests use the real
// holographic provider, and plugins where a provider has to fail.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { userMemoriesDirectory, userScopeName } from "@hermes-memory/core/internal/home";
import { describe, expect, it } from "vitest";
import { writePlugin } from "../../../core/test/fakes/plugins.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { createHolographicProvider } from "../../../providers/src/holographic/provider.ts";
import { runHere } from "./run.ts";

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
});
