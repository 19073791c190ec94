import { existsSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Home, openHome, type SessionStore } from "../../src/index.ts";
import { systemClock } from "../../src/lib/index.ts";
import { SessionDatabase } from "../../src/memory/session-database.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";

function lasting(home: string): { readonly memory: Home; readonly warnings: string[] } {
  const warnings: string[] = [];
  const memory = openHome({ home, log: { warn: (line) => void warnings.push(line) } });
  onTestFinished(() => memory.close());
  return { memory, warnings };
}

/** A database with one session of this id, in a home of its own. */
async function databaseWith(id: string): Promise<string> {
  const home = tempDirectory();
  await using memory = openHome({ home });
  const store = await memory.administrator.sessions({ mode: "write", create: true });
  await store.createSession(id, { source: "cli" });
  await store.appendMessage(id, { role: "user", content: "hello" });
  return join(home, "state.db");
}

const idsIn = async (store: SessionStore | undefined): Promise<string[] | undefined> =>
  (await store?.listSessionsRich())?.map(({ id }) => id);

describe("a home that begins to close", () => {
  it("opens and creates no database, neither for a command nor for a server", async () => {
    const path = join(tempDirectory(), "state.db");
    const refuseIfClosed = () => {
      throw new Error("closing");
    };
    await using database = new SessionDatabase({
      path,
      warn: () => undefined,
      clock: systemClock,
      refuseIfClosed,
    });
    await expect(database.open({ mode: "write", create: true })).rejects.toThrow("closing");
    await expect(database.use(idsIn)).rejects.toThrow("closing");
    expect(existsSync(path)).toBe(false);
  });
});

describe("a database that is used for days", () => {
  it("is followed when it comes, is exchanged, breaks and goes", async () => {
    const home = tempDirectory();
    const path = join(home, "state.db");
    const { memory } = lasting(home);
    const look = () => memory.administrator.withSessions(idsIn);
    expect(await look()).toBeUndefined();
    expect(existsSync(path)).toBe(false);
    renameSync(await databaseWith("first"), path);
    expect(await look()).toEqual(["first"]);
    renameSync(await databaseWith("second"), path);
    expect(await look()).toEqual(["second"]);
    writeFileSync(join(home, "garbage"), "this is no database ".repeat(500));
    renameSync(join(home, "garbage"), path);
    await expect(look()).rejects.toMatchObject({ code: "session-db-not-sqlite" });
    rmSync(path);
    expect(await look()).toBeUndefined();
    renameSync(await databaseWith("third"), path);
    expect(await look()).toEqual(["third"]);
  });

  it("is read again when it was exchanged in the middle of the work, and one opening serves all", async () => {
    const home = tempDirectory();
    const path = join(home, "state.db");
    renameSync(await databaseWith("first"), path);
    const { memory } = lasting(home);
    const stores = await Promise.all(
      [1, 2, 3].map(() => memory.administrator.withSessions(async (store) => store)),
    );
    expect(new Set(stores).size).toBe(1);
    const next = await databaseWith("second");
    let calls = 0;
    const seen = await memory.administrator.withSessions(async (store) => {
      calls += 1;
      if (calls === 1) renameSync(next, path);
      return idsIn(store);
    });
    expect({ calls, seen }).toEqual({ calls: 2, seen: ["second"] });
  });

  it("is read where it cannot be written, and written to again afterwards", async () => {
    const home = tempDirectory();
    const path = join(home, "state.db");
    renameSync(await databaseWith("first"), path);
    const { memory, warnings } = lasting(home);
    using holder = new DatabaseSync(path);
    // Opening for writing has something to write: one of our own triggers is gone.
    holder.exec(
      `DROP TRIGGER ${holder.prepare("SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'hermes_memory%'").get()?.name}`,
    );
    holder.exec("BEGIN IMMEDIATE");
    const held = await memory.administrator.withSessions(async (store) => [
      store?.readOnly,
      await idsIn(store),
    ]);
    expect(held).toEqual([true, ["first"]]);
    expect(warnings).toContain("The session database is opened for reading only");
    holder.exec("ROLLBACK");
    expect(await memory.administrator.withSessions(async (store) => store?.readOnly)).toBe(false);
  });
});

it("what a damaged database still holds is read from a copy, which goes with the home", async () => {
  const home = tempDirectory();
  const path = join(home, "state.db");
  renameSync(await databaseWith("first"), path);
  const memory = openHome({ home });
  const { store, loss } = await memory.administrator.salvage();
  expect(await idsIn(store)).toEqual(["first"]);
  expect(loss.lost).toEqual([]);
  const copy = store.location;
  expect(existsSync(copy)).toBe(true);
  await memory.close();
  expect(existsSync(copy)).toBe(false);
});
