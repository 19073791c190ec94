// Sessions of another home, profile or program version come into this home; the other database is only read.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import {
  type ExportedSession,
  openSessionStore,
  type SessionStore,
} from "@hermes-memory/core/internal/sessions";
import { describe, expect, it } from "vitest";
import { fixtureHome } from "../../../../test/fixtures/fixture-home.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { goldenDirectory, referenceReplay30 } from "../../../core/test/golden/vectors.ts";
import { line, linesOf, textOfLines, writeClaude } from "../../../import/test/transcripts/claude-lines.ts";
import { treeOf } from "../../../import/test/transcripts/tree.ts";
import { runHere } from "../cli/run.ts";

type Json = {
  databases: {
    imported: number;
    messages: number;
    skipped: unknown[];
    results_copied: number;
    extended: object;
  }[];
};

async function importInto(
  home: string,
  path: string,
  ...more: string[]
): Promise<Json["databases"][number] | undefined> {
  const words = ["sessions", "import", "--from", "hermes", "--path", path, "--json", ...more];
  const { stdout, stderr, code } = await runHere(words, { home });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return (JSON.parse(stdout) as Json).databases[0];
}

async function allIn(store: SessionStore): Promise<ExportedSession[]> {
  const all: ExportedSession[] = [];
  for await (const session of store.exportEach({ includeInactive: true })) all.push(session);
  return all.toSorted((a, b) => a.id.localeCompare(b.id));
}

async function sessionsOf(home: string): Promise<ExportedSession[]> {
  await using store = await openSessionStore({ path: join(home, "state.db") });
  return await allIn(store); // before the store is closed
}

describe("hermes sessions import --from hermes --path HOME", () => {
  it("takes every session of a home of version 0.1.0, with branches, users, titles and long tool results, and changes nothing there", async () => {
    const other = fixtureHome();
    const before = treeOf(other);
    const home = tempDirectory();
    expect(await importInto(home, other, "--dry-run")).toMatchObject({ imported: 24, messages: 382 });
    expect(existsSync(join(home, "state.db"))).toBe(false);
    expect(await importInto(home, other)).toMatchObject({ imported: 24, messages: 382, results_copied: 3 });
    expect(treeOf(other)).toEqual(before);
    expect(existsSync(join(home, "memories", "MEMORY.md"))).toBe(false);
    expect(readdirSync(join(home, "tool-results"))).toHaveLength(3);
    const found = await sessionsOf(home);
    expect(found).toEqual(await sessionsOf(other));
    expect(await importInto(home, other)).toMatchObject({
      imported: 0,
      skipped: [],
      results_copied: 0,
      extended: { sessions: 0, messages: 0, unchanged: 24 },
    });
    expect(await sessionsOf(home)).toEqual(found);
  });

  it("goes on with a long tool result that it was copying when it was killed", async () => {
    const [other, home] = [fixtureHome(), tempDirectory()];
    const results = join(home, "tool-results");
    const [name = ""] = readdirSync(join(other, "tool-results"));
    mkdirSync(results);
    writeFileSync(join(results, `${name}.tmp`), "half");
    expect(await importInto(home, other)).toMatchObject({ results_copied: 3 });
    expect(treeOf(results)).toEqual(treeOf(join(other, "tool-results")));
  });

  it("knows the transcripts that were imported there: their files are followed on here", async () => {
    const user = tempDirectory();
    const path = await writeClaude(user, "s", linesOf("s", 4));
    const [other, home] = [tempDirectory(), tempDirectory()];
    const transcripts = async (to: string) => {
      const words = ["sessions", "import", "--from", "claude-code", "--path", path, "--json"];
      return JSON.parse((await runHere(words, { home: to })).stdout).sources[0];
    };
    await transcripts(other);
    expect(await importInto(home, other)).toMatchObject({ imported: 1, messages: 4 });
    expect(await transcripts(home)).toMatchObject({ sessions_unchanged: 1, skipped: {} });
    await using store = await openSessionStore({ path: join(home, "state.db") });
    const ids = (await store.getMessages("claude-code-s")).map(({ id }) => id);
    expect(await store.transcripts.listProvenance(ids)).toMatchObject(
      [1, 2, 3, 4].map((line) => ({ path, line })),
    );
    await appendFile(path, textOfLines([line("s", 4, "more")]));
    expect(await transcripts(home)).toMatchObject({ sessions_updated: 1, messages_added: 1 });
    // A turn of this home stays one, and is not taken for a part of the transcript.
    await using there = await openSessionStore({ path: join(other, "state.db") });
    await there.appendMessage("claude-code-s", { role: "user", content: "on", platform_message_id: "7" });
    const third = tempDirectory();
    await importInto(third, other);
    expect(await transcripts(third)).toMatchObject({ skipped: { "continued here": 1 } });
  });

  it.for(["sessions-db", "sessions-db-v30"])("reads the databases of Hermes Agent in %s", async (folder) => {
    const names = existsSync(join(goldenDirectory, folder))
      ? readdirSync(join(goldenDirectory, folder)).filter((name) => name.endsWith(".db"))
      : [];
    for (const name of names) {
      const place = tempDirectory();
      cpSync(join(goldenDirectory, folder, name), join(place, name));
      const before = treeOf(place);
      const home = tempDirectory();
      const first = await importInto(home, join(place, name));
      expect(first?.skipped).toEqual([]);
      expect(treeOf(place)).toEqual(before);
      await using source = await openSessionStore({ path: join(place, name), readOnly: true });
      expect((await allIn(source)).map(texts)).toEqual((await sessionsOf(home)).map(texts));
      expect(await importInto(home, join(place, name))).toMatchObject({
        imported: 0,
        skipped: [],
        extended: { sessions: 0 },
      });
    }
  });

  it("reads a database that today's Hermes has just made", async ({ skip }) => {
    const path = join(tempDirectory(), "state.db");
    const made = spawnSync("python3", [referenceReplay30, "create", path]);
    if (made.status !== 0) skip("there is no Python with SQLite");
    const before = treeOf(join(path, ".."));
    const home = tempDirectory();
    const first = await importInto(home, path);
    expect(first?.imported).toBeGreaterThan(0);
    expect(treeOf(join(path, ".."))).toEqual(before);
    expect(spawnSync("python3", [referenceReplay30, "replay", path, "--keep"]).status).toBe(0);
    expect((await importInto(home, path))?.skipped).toEqual([]);
  });

  it("refuses its own database, other databases, and a mix", async () => {
    const home = tempDirectory();
    await (await openSessionStore({ path: join(home, "state.db") })).close();
    const link = join(tempDirectory(), "state.db");
    symlinkSync(join(home, "state.db"), link);
    const failed = (path: string, ...more: string[]) =>
      runHere(["sessions", "import", "--from", "hermes", "--path", path, ...more], { home });
    expect((await failed(home)).stderr).toContain("is the session database of this home itself");
    expect((await failed(link)).stderr).toContain("is the session database of this home itself");
    const foreign = join(tempDirectory(), "x.db");
    const db = new DatabaseSync(foreign);
    db.exec("CREATE TABLE notes (text)");
    db.close();
    expect((await failed(foreign)).stderr).toContain("not one with sessions of Hermes");
    expect(await failed(foreign, "--path", tempDirectory())).toMatchObject({ code: 2 });
  });
});

function texts({ id, user_id, messages }: ExportedSession): unknown {
  return {
    id,
    user_id,
    messages: messages.map(({ role, content, timestamp, active }) => ({ role, content, timestamp, active })),
  };
}
