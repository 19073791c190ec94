import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { duplicateSchemaRow, writeNoDatabase } from "../../../core/test/fakes/broken-database.ts";
import { makeOldDatabase } from "../../../core/test/fakes/old-database.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { runHere, runHermes, runJson } from "./run.ts";
import { CRANE, databaseOf, homeWithSessions, withStore } from "./sessions-home.ts";

describe("hermes sessions optimize", () => {
  it("answers Ctrl-C in the middle of the work with exit code 130 and a sound database", async () => {
    const home = tempDirectory();
    makeOldDatabase(databaseOf(home), 15);
    await withStore(home, async (store) => {
      const messages = Array.from({ length: 1000 }, (_, index) => ({
        role: "user",
        content: `message ${index} ${"some words of text ".repeat(20)}`,
      }));
      await store.createSession("long");
      for (let batch = 0; batch < 12; batch += 1) await store.appendMany("long", messages);
    });
    {
      using db = new DatabaseSync(databaseOf(home));
      db.exec("UPDATE hermes_memory_state SET version = 'of an older release'");
    }
    const main = new URL("../../src/cli/main.ts", import.meta.url).pathname;
    // The preloaded lines press Ctrl-C when the database has grown: the new index is being written then.
    const press = `data:text/javascript,${encodeURIComponent(PRESS_WHEN_WRITING)}`;
    const child = spawn(process.execPath, ["--import", press, main, "sessions", "optimize"], {
      env: { PATH: process.env.PATH, HERMES_HOME: home },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const errors: Buffer[] = [];
    child.stderr.on("data", (chunk: Buffer) => errors.push(chunk));
    const [code] = (await once(child, "close")) as [number];
    expect({ code, stderr: Buffer.concat(errors).toString() }).toEqual({
      code: 130,
      stderr: expect.stringContaining("goes on where this one stopped"),
    });
    expect(await runJson(["sessions", "stats"], { home })).toMatchObject({ index: "building" });
    expect((await runHermes(["sessions", "optimize"], { home })).stdout).toContain(
      "Optimized the search index.",
    );
    expect(await withStore(home, (store) => store.file!.checkHealth())).toMatchObject({
      ok: true,
      problems: [],
    });
  });
});

const PRESS_WHEN_WRITING = `
import { statSync } from "node:fs";
const wal = process.env.HERMES_HOME + "/state.db-wal";
const size = () => statSync(wal, { throwIfNoEntry: false })?.size ?? 0;
const watch = setInterval(() => {
  if (size() < 200_000) return;
  clearInterval(watch);
  process.kill(process.pid, "SIGINT");
}, 1);
watch.unref();
`;

describe("a page of messages that is gone", () => {
  it("export writes the rest, lists the losses and fails; doctor, check and repair agree", async () => {
    const home = tempDirectory();
    const path = databaseOf(home);
    await withStore(home, async (store) => {
      await store.createSession("one", { source: "cli" });
      await store.appendMany(
        "one",
        Array.from({ length: 200 }, (_, at) => ({ content: `number ${at} ${"crane ".repeat(40)}` })),
      );
    });
    const page = (() => {
      using db = new DatabaseSync(path);
      db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      const leaf =
        "SELECT pageno, ncell FROM dbstat WHERE name = 'messages' AND pagetype = 'leaf' ORDER BY path";
      return db.prepare(`${leaf} LIMIT 1 OFFSET 2`).get() as { pageno: number; ncell: number };
    })();
    const bytes = readFileSync(path);
    bytes.fill(0, (page.pageno - 1) * 4096, page.pageno * 4096);
    writeFileSync(path, bytes);
    const out = join(home, "all.jsonl");
    const exported = await runHermes(["sessions", "export", out, "--json"], { home });
    expect(exported.code).toBe(1);
    expect(exported.stderr).toContain(`messages: ${page.ncell} row(s), ids `);
    expect(JSON.parse(exported.stdout)).toMatchObject({
      success: false,
      sessions: 1,
      messages: 200 - page.ncell,
      lost: [{ table: "messages", rows: page.ncell }],
    });
    expect(JSON.parse(readFileSync(out, "utf8")).messages).toHaveLength(200 - page.ncell);
    const problem = `table messages: page ${page.pageno} is damaged`;
    for (const args of [["doctor"], ["sessions", "repair", "--check-only"]]) {
      const { stdout, code } = await runHermes(args, { home });
      expect({ args, code, isNamed: stdout.includes(problem) }).toEqual({ args, code: 1, isNamed: true });
    }
    const repaired = await runHermes(["sessions", "repair"], { home });
    expect(repaired).toMatchObject({ code: 0, stdout: expect.stringContaining(problem) });
    expect(repaired.stdout).toMatch(/\nlost +messages: \d+ row\(s\), ids \d+ to \d+\n/);
    expect((await runHermes(["sessions", "repair", "--check-only"], { home })).code).toBe(0);
  });
});

describe("hermes sessions repair", () => {
  it("reports a broken schema without touching it, then repairs it and keeps a copy", async () => {
    const home = await homeWithSessions();
    const path = databaseOf(home);
    duplicateSchemaRow(path, "messages");
    const broken = readFileSync(path);
    const check = await runHermes(["sessions", "repair", "--check-only"], { home });
    expect(check.code).toBe(1);
    expect(check.stdout).toMatch(/\nproblems \(1\)\n {2}.*malformed/);
    expect(readFileSync(path).equals(broken)).toBe(true);

    const { stdout, code } = await runHermes(["sessions", "repair"], { home });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^The database is sound: 5 sessions\.\n/);
    expect(stdout).toMatch(/\nfound \(1\)\n {2}malformed database schema/);
    expect(stdout).toMatch(/^strategy +dedup_schema$/m);
    const [, copy = ""] = /^backup +(.*)$/m.exec(stdout) ?? [];
    expect(readFileSync(copy).equals(broken)).toBe(true);
    expect((await runHere(["sessions", "show", CRANE], { home })).stdout).toContain("which colour");
  });

  it("happens by itself when something is to be written, and is told", async () => {
    const home = await homeWithSessions();
    duplicateSchemaRow(databaseOf(home), "messages");
    const read = await runHere(["sessions", "list"], { home });
    expect(read).toMatchObject({ code: 1, stderr: expect.stringContaining("Run 'hermes sessions repair'") });
    const written = await runHere(["sessions", "rename", "nobody", "x"], { home });
    expect(written).toMatchObject({ code: 1, stderr: expect.stringContaining("malformed-backup") });
    expect((await runHere(["sessions", "list"], { home })).code).toBe(0);
  });

  it("does not touch a file that is no database", async () => {
    const home = tempDirectory();
    writeNoDatabase(databaseOf(home));
    const before = readFileSync(databaseOf(home));
    for (const flags of [[], ["--check-only"]]) {
      const { stdout, stderr, code } = await runHere(["sessions", "repair", ...flags], { home });
      expect(code).toBe(1);
      expect(stdout + stderr).toContain("not a database");
    }
    expect(readFileSync(databaseOf(home)).equals(before)).toBe(true);
  });
});
