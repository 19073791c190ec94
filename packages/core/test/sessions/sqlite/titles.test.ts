// Titles of users in the shared file: what other programs see and change of them, files without our table, and two processes.
import { describe, expect, it } from "vitest";
import { openSessionStore, type SessionStore, salvageCopy } from "../../../src/sessions/index.ts";
import { exportAll } from "../../../testing/session-store/support.ts";
import { type Child, startScript } from "../../fakes/child.ts";
import { outcomeOf } from "../../fakes/every-call.ts";
import { execute, hasPythonSqlite, newPath, openPython, query } from "../../fakes/session-index.ts";
import { upgradeToToday } from "../../fakes/today-file.ts";

const COLUMN = "SELECT id, title FROM sessions ORDER BY id";
const WITHOUT_TABLE = "DROP TRIGGER hermes_memory_titles_delete; DROP TABLE hermes_memory_titles";

async function sessionsOf(path: string, owners: Readonly<Record<string, string | null>>): Promise<void> {
  await using store = await openSessionStore({ path });
  for (const [id, userId] of Object.entries(owners)) await store.createSession(id, { source: "cli", userId });
}

async function titles(store: SessionStore, ...ids: string[]): Promise<(string | null)[]> {
  return Promise.all(ids.map((id) => store.getSessionTitle(id)));
}

describe("the column of the sessions", () => {
  it("gets a title where it is free, and loses it with the session's title", async () => {
    const path = newPath();
    await sessionsOf(path, { a: "ann", b: "bo", o: null });
    await using store = await openSessionStore({ path });
    for (const id of ["a", "b"]) expect(await store.setSessionTitle(id, "Harbour")).toBe(true);
    const column = () => query(path, COLUMN).map(({ title }) => title);
    expect(column()).toEqual(["Harbour", null, null]);
    expect(await store.setSessionTitle("o", "Harbour")).toBe(true);
    expect(column()).toEqual([null, null, "Harbour"]); // the owner uses programs that read only the column
    expect(await titles(store, "a", "b", "o")).toEqual(["Harbour", "Harbour", "Harbour"]);
    expect(await store.setSessionTitle("a", null)).toBe(true);
    expect(await titles(store, "a", "b", "o")).toEqual([null, "Harbour", "Harbour"]);
    expect(await store.resolveSessionByTitle("Harbour")).toBe("o"); // administration: the owner's comes first
    expect(await store.setSessionTitle("o", null)).toBe(true);
    expect(column()).toEqual([null, null, null]);
    expect(await titles(store, "a", "b", "o")).toEqual([null, "Harbour", null]);
    expect(query(path, "SELECT session_id FROM hermes_memory_titles")).toEqual([{ session_id: "b" }]);
  });

  it("counts again once another program has changed it", async () => {
    const path = newPath();
    await sessionsOf(path, { a: "ann", b: "bo", c: "bo" });
    await using store = await openSessionStore({ path });
    for (const id of ["a", "b"]) await store.setSessionTitle(id, "Harbour");
    execute(path, "UPDATE sessions SET title = 'Renamed ' || id WHERE id IN ('a', 'b')");
    expect(await titles(store, "a", "b")).toEqual(["Renamed a", "Renamed b"]);
    expect(await store.resolveSessionByTitle("Harbour")).toBeNull();
    expect(await store.setSessionTitle("c", "Harbour")).toBe(true);
    expect(await outcomeOf(store.setSessionTitle("c", "Renamed b"))).toBe("title-taken");
    execute(path, "UPDATE sessions SET title = NULL WHERE id = 'a'");
    expect(await titles(store, "a", "b", "c")).toEqual([null, "Renamed b", "Harbour"]);
  });

  it("stays as another program left it when a user takes the same title", async () => {
    const path = newPath();
    await sessionsOf(path, { a: "ann", b: "bo", o: null });
    execute(path, "UPDATE sessions SET title = 'Harbour' WHERE id = 'a'");
    await using store = await openSessionStore({ path });
    for (const id of ["b", "o"]) expect(await store.setSessionTitle(id, "Harbour")).toBe(true);
    expect(query(path, COLUMN)).toMatchObject([{ title: "Harbour" }, { title: null }, { title: null }]);
    expect(await store.getSession("a")).toMatchObject({ title: "Harbour" });
  });

  it("of today's Hermes keeps what it says about the title's source", async () => {
    const path = newPath();
    await sessionsOf(path, { a: "ann", b: "bo" });
    upgradeToToday(path);
    await using store = await openSessionStore({ path });
    for (const id of ["a", "b"]) await store.setSessionTitle(id, "Harbour");
    expect(await store.setSessionTitle("b", "By a model", { source: "llm" })).toBe(false);
    await store.setSessionTitle("b", null);
    expect(await store.setSessionTitle("b", "Harbour", { source: "llm" })).toBe(true);
    expect(await store.setSessionTitle("b", "Better", { source: "llm" })).toBe(true);
    expect(await store.getSession("b")).toMatchObject({ title: "Better", title_source: "llm" });
  });
});

describe("the table of titles", () => {
  it("is made when it is missing; without it, read-only, the column counts", async () => {
    const path = newPath();
    await sessionsOf(path, { a: "ann", b: "bo" });
    execute(path, `${WITHOUT_TABLE}; UPDATE sessions SET title = 'Old' WHERE id = 'a'`);
    {
      await using store = await openSessionStore({ path, readOnly: true });
      expect(await titles(store, "a", "b")).toEqual(["Old", null]);
      expect(await store.resolveSessionByTitle("Old")).toBe("a");
    }
    await using store = await openSessionStore({ path });
    expect(await store.setSessionTitle("b", "Old")).toBe(true);
    expect(await titles(store, "a", "b")).toEqual(["Old", "Old"]);
  });

  it("is part of a salvaged copy", async () => {
    const path = newPath();
    await sessionsOf(path, { a: "ann", b: "bo" });
    {
      await using store = await openSessionStore({ path });
      for (const id of ["a", "b"]) await store.setSessionTitle(id, "Harbour");
    }
    using copy = await salvageCopy(path);
    await using store = await openSessionStore({ path: copy.path, readOnly: true });
    expect(await titles(store, "a", "b")).toEqual(["Harbour", "Harbour"]);
    expect((await exportAll(store)).map(({ title }) => title)).toEqual(["Harbour", "Harbour"]);
  });

  it.skipIf(!hasPythonSqlite)("loses its row with the session, whoever deletes it", async () => {
    const path = newPath();
    await sessionsOf(path, { a: "ann", b: "bo" });
    await using store = await openSessionStore({ path });
    for (const id of ["a", "b"]) await store.setSessionTitle(id, "Harbour");
    const python = openPython(path);
    await python.run({ sql: "DELETE FROM sessions WHERE id = 'a'" });
    await python.close();
    expect(query(path, "SELECT session_id FROM hermes_memory_titles")).toEqual([{ session_id: "b" }]);
    await store.deleteSession("b");
    expect(query(path, "SELECT session_id FROM hermes_memory_titles")).toEqual([]);
  });
});

it("of two processes that give one title to two sessions of a user, one gets it; two users both do", async () => {
  const path = newPath();
  await sessionsOf(path, { a1: "ann", a2: "ann", b: "bo" });
  const start = async (id: string): Promise<Child> => {
    const child = startScript("leasing-process.ts", [path, id]);
    expect(await child.nextLine()).toBe("ready");
    return child;
  };
  const children = await Promise.all(["a1", "a2", "b"].map(start));
  for (let round = 0; round < 5; round += 1) {
    for (const child of children) child.say(`Title ${round}`);
    const lines = await Promise.all(children.map((child) => child.nextLine()));
    const [first, second, other] = lines.map((line) => JSON.parse(line ?? "null") as unknown);
    expect(new Set([first, second].map((each) => JSON.stringify(each)))).toEqual(
      new Set(['{"value":true}', '"title-taken"']),
    );
    expect(other).toEqual({ value: true });
  }
});
