// The tables of leases and of our prompts: between processes, and in files made by any program.
import { describe, expect, it } from "vitest";
import { openSessionStore } from "../../../src/sessions/index.ts";
import { type Child, startScript } from "../../fakes/child.ts";
import { outcomeOf } from "../../fakes/every-call.ts";
import {
  execute,
  hasPythonSqlite,
  makeReferenceFile,
  newPath,
  openPython,
  query,
} from "../../fakes/session-index.ts";

const WITHOUT_TABLES = `
  DROP TRIGGER hermes_memory_leases_delete; DROP TABLE hermes_memory_leases;
  DROP TRIGGER hermes_memory_prompts_delete; DROP TABLE hermes_memory_prompts`;
const OWN_NAMES =
  "SELECT name FROM sqlite_master WHERE name GLOB 'hermes_memory_[lp]*' AND name <> 'hermes_memory_large' ORDER BY name";

async function ownFile(): Promise<string> {
  const path = newPath();
  await using store = await openSessionStore({ path });
  await store.createSession("a", { source: "cli" });
  return path;
}

describe("leases between processes", () => {
  async function ask(child: Child, line: string): Promise<unknown> {
    child.say(line);
    return JSON.parse((await child.nextLine()) ?? "null");
  }
  async function start(path: string, holder: string, ttl = 60): Promise<Child> {
    const child = startScript("leasing-process.ts", [path, holder, String(ttl)]);
    expect(await child.nextLine()).toBe("ready");
    return child;
  }

  it("outlive a killed process until they run out or are broken in its name", async () => {
    const path = await ownFile();
    const first = await start(path, "h1", 3600);
    expect(await ask(first, "take")).toEqual({ acquired: true });
    await first.kill();
    await using store = await openSessionStore({ path });
    expect(await store.acquireSessionLease("s1", "h2")).toMatchObject({ acquired: false, holder: "h1" });
    expect(await store.breakSessionLease("s1", "h1")).toBe(true);
    expect(await store.acquireSessionLease("s1", "h2")).toEqual({ acquired: true });
  });
});

describe("a file without the tables", () => {
  it("gets them at the next writable open, and once only", async () => {
    const path = await ownFile();
    execute(path, WITHOUT_TABLES);
    {
      await using store = await openSessionStore({ path });
      expect(await store.acquireSessionLease("a", "h1")).toEqual({ acquired: true });
      await store.saveOwnPrompt("a", "ours", 1);
    }
    const names = query(path, OWN_NAMES).map(({ name }) => name);
    expect(names).toEqual([
      "hermes_memory_leases",
      "hermes_memory_leases_delete",
      "hermes_memory_live",
      "hermes_memory_live_active",
      "hermes_memory_live_delete",
      "hermes_memory_live_key",
      "hermes_memory_live_session",
      "hermes_memory_prompts",
      "hermes_memory_prompts_delete",
      "hermes_memory_provenance",
      "hermes_memory_provenance_delete",
    ]);
    const version = query(path, "PRAGMA schema_version");
    await using store = await openSessionStore({ path });
    expect(await store.getOwnPrompt("a")).toEqual({ text: "ours", version: 1 });
    expect(query(path, "PRAGMA schema_version")).toEqual(version);
  });

  it("opened read-only, or made by the original alone, has no leases and no prompts and takes none", async () => {
    const ours = await ownFile();
    execute(ours, WITHOUT_TABLES);
    const original = newPath();
    makeReferenceFile(original, [{ session: "a", content: "hello" }]);
    for (const path of [ours, original]) {
      await using store = await openSessionStore({ path, readOnly: true });
      expect(await store.getSessionLease("a")).toBeNull();
      expect(await store.getOwnPrompt("a")).toBeNull();
      expect(await store.getSessionMark("a")).toMatchObject({ rewind_count: 0, ended_at: null });
      expect(await outcomeOf(store.acquireSessionLease("a", "h1"))).toBe("session-db-read-only");
      expect(await outcomeOf(store.saveOwnPrompt("a", "ours", 1))).toBe("session-db-read-only");
    }
  });
});

describe.skipIf(!hasPythonSqlite)("Python's SQLite", () => {
  it("deletes lease and prompt with the session, without knowing of them", async () => {
    const path = await ownFile();
    await using store = await openSessionStore({ path });
    await store.acquireSessionLease("a", "h1");
    await store.saveOwnPrompt("a", "ours", 1);
    const python = openPython(path);
    await python.run({ sql: "DELETE FROM sessions WHERE id = 'a'" });
    await python.close();
    expect(query(path, "SELECT * FROM hermes_memory_leases")).toEqual([]);
    expect(query(path, "SELECT * FROM hermes_memory_prompts")).toEqual([]);
  });
});
