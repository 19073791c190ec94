// Files that belong to no session: how they are found, and when they are removed automatically.
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sessionFiles } from "../../src/home.ts";
import {
  findOrphans,
  type HomeStore,
  openSessionStore,
  resultNote,
  STORED_SNAPSHOT,
} from "../../src/sessions/index.ts";
import { maintainSessions } from "../../src/sessions/maintain.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";

const DAY_MS = 86_400_000;
const SETTINGS = {
  autoPrune: false,
  retentionDays: 90,
  vacuumAfterPrune: false,
  minIntervalHours: 24,
  orphanFileDays: 30,
};

type Home = { readonly home: string; readonly store: HomeStore; readonly path: (name: string) => string };

/** A database that was started `ageDays` ago, with one session that names the result `named-00000001`. */
async function homeWith(files: Readonly<Record<string, number>>, ageDays = 400): Promise<Home> {
  const home = tempDirectory();
  const { sessionsDir, resultsDir } = sessionFiles(home);
  for (const directory of [sessionsDir, resultsDir]) mkdirSync(directory);
  const path = (name: string): string => join(name.endsWith(".json") ? sessionsDir : resultsDir, name);
  for (const [name, days] of Object.entries(files)) {
    const isOurs = name.startsWith("session_gone");
    writeFileSync(
      path(name),
      isOurs ? JSON.stringify({ ...STORED_SNAPSHOT, messages: [] }, null, 2) : "12345",
    );
    const time = (Date.now() - days * DAY_MS) / 1000;
    utimesSync(path(name), time, time);
  }
  const store = await openSessionStore({ path: join(home, "state.db") });
  await store.createSession("live", { source: "cli", startedAt: (Date.now() - ageDays * DAY_MS) / 1000 });
  const note = resultNote({ id: "named-00000001", chars: 5, shownChars: 1, reader: "read_result" });
  await store.appendMany("live", [{ role: "tool", toolCallId: "named", content: `1\n\n${note}` }]);
  return { home, store, path };
}

const FILES = {
  "named-00000001.txt": 300,
  "orphan-00000001.txt": 31,
  "orphan-00000002.txt": 29,
  "orphan-00000003.txt": 0,
  "notes.txt": 300,
  "session_live.json": 300,
  "session_gone.json": 31,
  "session_of another program.json": 300,
};

describe("files of no session", () => {
  it("are found by what the rows name; files that are young, named otherwise or the only copy are not among them", async () => {
    const { home, store } = await homeWith(FILES);
    await using _store = store;
    const found = await findOrphans(store, sessionFiles(home), { nowMs: Date.now() });
    const names = (files: readonly { path: string }[]) =>
      files.map(({ path }) => path.split("/").at(-1)).sort();
    expect(names(found.results)).toEqual(["orphan-00000001.txt", "orphan-00000002.txt"]);
    expect(names(found.snapshots)).toEqual(["session_gone.json"]);
    expect(names(found.unknownSnapshots)).toEqual(["session_of another program.json"]);
    expect(found.results[0]).toMatchObject({ bytes: 5 });
  });

  it("are none where there are no directories", async () => {
    const home = tempDirectory();
    await using store = await openSessionStore({ path: join(home, "state.db") });
    expect(await findOrphans(store, sessionFiles(home), { nowMs: Date.now() })).toEqual({
      results: [],
      snapshots: [],
      unknownSnapshots: [],
    });
  });
});

describe("maintenance", () => {
  it("removes them when they are older than the limit, and nothing else", async () => {
    const { home, store, path } = await homeWith(FILES);
    await using _store = store;
    expect(await maintainSessions(store, SETTINGS, sessionFiles(home))).toMatchObject({
      orphanFiles: 2,
      problems: [],
    });
    const gone = Object.keys(FILES).filter((name) => !existsSync(path(name)));
    expect(gone).toEqual(["orphan-00000001.txt", "session_gone.json"]);
  });

  it("looks once in the interval, and never with a limit of 0", async () => {
    const { home, store } = await homeWith({ "orphan-00000001.txt": 31 });
    await using _store = store;
    const files = sessionFiles(home);
    expect(await maintainSessions(store, { ...SETTINGS, orphanFileDays: 0 }, files)).toMatchObject({
      orphanFiles: 0,
    });
    expect(await maintainSessions(store, SETTINGS, files)).toMatchObject({ orphanFiles: 1 });
    const again = join(files.resultsDir, "orphan-00000002.txt");
    writeFileSync(again, "x");
    utimesSync(again, 1, (Date.now() - 40 * DAY_MS) / 1000);
    expect(await maintainSessions(store, SETTINGS, files)).toMatchObject({ orphanFiles: 0 });
    expect(await maintainSessions(store, { ...SETTINGS, minIntervalHours: 0 }, files)).toMatchObject({
      orphanFiles: 1,
    });
  });

  it("leaves files alone that are older than everything in the database: it may have replaced another one", async () => {
    const { home, store } = await homeWith(FILES, 2);
    await using _store = store;
    expect(await maintainSessions(store, SETTINGS, sessionFiles(home))).toMatchObject({ orphanFiles: 0 });
    expect(readdirSync(sessionFiles(home).resultsDir)).toHaveLength(5);
  });
});
