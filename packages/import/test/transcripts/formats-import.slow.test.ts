// Every format on its way into the database: what arrives, that a second import adds nothing, and that a file imported in two halves
// gives the same as one imported whole.
import { readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { dryTarget, READERS } from "../../src/internal.ts";
import { makeFixtureHome } from "./fixture-home.ts";
import { contentsOf, cutOff, importInto, openEmptyStore, temporaryFolder } from "./import-suite.ts";

// Times without a zone, as Aider writes them, are those of the machine.
const zone = process.env.TZ;
beforeAll(() => {
  process.env.TZ = "UTC";
});
afterAll(() => {
  if (zone === undefined) delete process.env.TZ;
  else process.env.TZ = zone;
});

describe.each(READERS)("$source", (reader) => {
  let named: string | undefined;
  beforeAll(async () => {
    const file = join(import.meta.dirname, "fixtures", reader.source, "expected.json");
    named = JSON.parse(await readFile(file, "utf8")).path;
  });
  const pathIn = (home: string) => (named === undefined ? {} : { path: join(home, named) });

  it("is imported once: a second import reads nothing, and a forced one changes nothing", async () => {
    await using folder = await temporaryFolder();
    const home = join(folder.path, "home");
    await makeFixtureHome(reader.source, home);
    await using store = await openEmptyStore(folder.path);
    const first = await importInto(store, reader, home, pathIn(home));
    expect(first.sessionsAdded).toBeGreaterThan(0);
    expect(first.messagesAdded).toBeGreaterThan(0);
    const before = await contentsOf(store);
    expect(before.length).toBe(first.sessionsAdded);
    const again = await importInto(store, reader, home, pathIn(home));
    const couldRead = first.files - first.errors.length;
    expect(again).toMatchObject({ sessionsAdded: 0, sessionsUpdated: 0, messagesAdded: 0 });
    expect(again.unchanged).toBeGreaterThanOrEqual(Math.min(1, couldRead));
    const forced = await importInto(store, reader, home, { ...pathIn(home), force: true });
    expect(forced).toMatchObject({
      sessionsAdded: 0,
      sessionsUpdated: 0,
      messagesAdded: 0,
      messagesUpdated: 0,
    });
    expect(await contentsOf(store)).toEqual(before);
  });

  it("is foretold by a dry run", async () => {
    await using folder = await temporaryFolder();
    const home = join(folder.path, "home");
    await makeFixtureHome(reader.source, home);
    await using store = await openEmptyStore(folder.path);
    const dry = await importInto(store, reader, home, { ...pathIn(home), target: dryTarget(undefined) });
    expect(await contentsOf(store)).toEqual([]);
    expect(dry).toEqual(await importInto(store, reader, home, pathIn(home)));
  });

  it("gives the same when its files are imported as they grow", async () => {
    await using folder = await temporaryFolder();
    const home = join(folder.path, "home");
    await makeFixtureHome(reader.source, home);
    await using whole = await openEmptyStore(folder.path, "whole.db");
    await importInto(whole, reader, home, pathIn(home));
    const files = await growingFiles(home);
    await using store = await openEmptyStore(folder.path, "grown.db");
    for (const share of [0.35, 0.7, 1]) {
      for (const { path, bytes, mtime } of files) {
        await writeFile(path, bytes.subarray(0, Math.floor(bytes.length * share)));
        await utimes(path, mtime, mtime);
      }
      await importInto(store, reader, home, pathIn(home));
    }
    // Files of one session may refer to each other, so one that did not grow any more is read once more.
    await importInto(store, reader, home, { ...pathIn(home), force: true });
    expect(await contentsOf(store)).toEqual(await contentsOf(whole));
  });

  it("gives the same when an import is cut off and run again", async () => {
    await using folder = await temporaryFolder();
    const home = join(folder.path, "home");
    await makeFixtureHome(reader.source, home);
    await using whole = await openEmptyStore(folder.path, "whole.db");
    const all = cutOff(whole, Number.POSITIVE_INFINITY);
    await importInto(whole, reader, home, { ...pathIn(home), target: all.target });
    const expected = await contentsOf(whole);
    // The last writes connect the sessions, when every file has its note.
    for (const most of new Set([Math.floor(all.writes / 2), all.writes - 2, all.writes - 1])) {
      await using store = await openEmptyStore(folder.path, `cut-${most}.db`);
      const { target, signal } = cutOff(store, most);
      await importInto(store, reader, home, { ...pathIn(home), target, signal });
      expect(signal.aborted).toBe(true);
      await importInto(store, reader, home, pathIn(home));
      expect(await contentsOf(store)).toEqual(expected);
    }
  });
});

type GrowingFile = { readonly path: string; readonly bytes: Buffer; readonly mtime: Date };

/** Files that their product extends line by line. */
async function growingFiles(folder: string): Promise<GrowingFile[]> {
  const found: GrowingFile[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith(".jsonl")) continue;
    const path = join(entry.parentPath, entry.name);
    found.push({ path, bytes: await readFile(path), mtime: (await stat(path)).mtime });
  }
  return found;
}
