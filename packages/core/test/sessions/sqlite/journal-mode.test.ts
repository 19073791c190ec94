import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { type JournalDatabase, setJournalMode } from "../../../src/sessions/sqlite/journal-mode.ts";
import { startChild } from "../../fakes/child.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";

type Answers = { readonly probe?: string | Error; readonly set?: string | Error };

/** A fake connection with scripted answers that records statements: a local disk does not refuse WAL. */
function connection(answers: Answers): JournalDatabase & { readonly asked: string[] } {
  const asked: string[] = [];
  const answer = (value: string | Error | undefined) => {
    if (value instanceof Error) throw value;
    return { journal_mode: value };
  };
  return {
    asked,
    prepare: (sql) => {
      asked.push(sql);
      return { get: () => answer(sql.includes("=") ? answers.set : answers.probe) };
    },
    exec: (sql) => asked.push(sql),
  };
}

function sqliteError(message: string, errcode: number): Error {
  return Object.assign(new Error(message), { code: "ERR_SQLITE_ERROR", errcode });
}

let labels = 0;

/** Warnings are given once per label, so each test uses its own label. */
function warnings(path: string) {
  const given: string[] = [];
  labels += 1;
  return { label: `state-${labels}.db`, path, warn: (message: string) => given.push(message), given };
}

function newDatabase(mode: "wal" | "delete"): string {
  const path = join(tempDirectory(), "state.db");
  const db = new DatabaseSync(path);
  db.exec(`PRAGMA journal_mode=${mode}; CREATE TABLE t (x)`);
  db.close();
  return path;
}

const REFUSALS = [
  ["locking protocol", sqliteError("locking protocol", 15)],
  ["not authorized", sqliteError("not authorized", 23)],
  ["locking protocol", new Error("sqlite: locking protocol")],
] as const;

describe("journal mode", () => {
  it("puts a new file into WAL mode", () => {
    const path = join(tempDirectory(), "state.db");
    using db = new DatabaseSync(path);
    const options = warnings(path);
    expect(setJournalMode(db, options)).toBe("wal");
    db.exec("CREATE TABLE t (x)");
    expect(db.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
    expect([...readFileSync(path).subarray(18, 20)]).toEqual([2, 2]);
    expect(options.given).toEqual([]);
  });

  it("asks a file that is in WAL mode for nothing", () => {
    const db = connection({ probe: "WAL", set: new Error("must not be asked") });
    expect(setJournalMode(db, warnings("state.db"))).toBe("wal");
    expect(db.asked).toEqual(["PRAGMA journal_mode"]);
  });

  it("recognises the WAL mode of a real file while another connection writes to it", () => {
    const path = newDatabase("wal");
    using writer = new DatabaseSync(path);
    writer.exec("BEGIN IMMEDIATE");
    using db = new DatabaseSync(path);
    expect(setJournalMode(db, warnings(path))).toBe("wal");
  });

  it("sets the mode when asking for it fails", () => {
    const db = connection({ probe: sqliteError("disk I/O error", 10), set: "wal" });
    expect(setJournalMode(db, warnings("state.db"))).toBe("wal");
    expect(db.asked).toEqual(["PRAGMA journal_mode", "PRAGMA journal_mode=WAL"]);
  });

  it.each(REFUSALS)("falls back to DELETE, with a warning, when SQLite says '%s'", (text, refusal) => {
    const db = connection({ probe: "delete", set: refusal });
    const options = warnings(newDatabase("delete"));
    expect(setJournalMode(db, options)).toBe("delete");
    expect(db.asked.at(-1)).toBe("PRAGMA journal_mode=DELETE");
    expect(options.given).toHaveLength(1);
    for (const part of [options.label, text, "journal_mode=DELETE"]) expect(options.given[0]).toContain(part);
  });

  it("warns once per label, however often the database is opened", () => {
    const path = newDatabase("delete");
    const first = warnings(path);
    const second = warnings(path);
    const refused = { probe: "delete", set: sqliteError("locking protocol", 15) };
    for (let time = 0; time < 3; time += 1) setJournalMode(connection(refused), first);
    setJournalMode(connection(refused), second);
    expect([first.given.length, second.given.length]).toEqual([1, 1]);
  });

  it("falls back for a file that does not exist yet", () => {
    const db = connection({ probe: "delete", set: sqliteError("locking protocol", 15) });
    expect(setJournalMode(db, warnings(join(tempDirectory(), "none.db")))).toBe("delete");
  });

  it.each(REFUSALS)("never takes a file out of WAL mode, though SQLite says '%s'", (_text, refusal) => {
    const db = connection({ probe: refusal, set: refusal });
    const options = warnings(newDatabase("wal"));
    expect(() => setJournalMode(db, options)).toThrow(refusal);
    expect(db.asked).not.toContain("PRAGMA journal_mode=DELETE");
    expect(options.given).toEqual([]);
  });

  it("does not fall back when the file's header cannot be read", () => {
    const path = join(tempDirectory(), "a-folder");
    mkdirSync(path);
    const refusal = sqliteError("locking protocol", 15);
    const db = connection({ probe: "delete", set: refusal });
    expect(() => setJournalMode(db, warnings(path))).toThrow(refusal);
    expect(db.asked).not.toContain("PRAGMA journal_mode=DELETE");
  });

  it.each([
    ["disk I/O error", 10],
    ["disk I/O error", 10 | (22 << 8)],
    ["database is locked", 5],
    ["unable to open database file", 14],
  ])("does not fall back on '%s' (%i)", (message, code) => {
    const failure = sqliteError(message, code);
    const db = connection({ probe: "delete", set: failure });
    const options = warnings(newDatabase("delete"));
    expect(() => setJournalMode(db, options)).toThrow(failure);
    expect(db.asked).not.toContain("PRAGMA journal_mode=DELETE");
    expect(options.given).toEqual([]);
  });

  it("does not vacuum a file that another process has open, and says so", () => {
    const path = newDatabase("delete");
    using holder = new DatabaseSync(path);
    holder.exec("BEGIN EXCLUSIVE");
    using db = new DatabaseSync(path);
    expect(() => setJournalMode(db, warnings(path))).toThrow("database is locked");
    holder.exec("ROLLBACK");
    expect([...readFileSync(path).subarray(18, 20)]).toEqual([1, 1]);
  });

  it("reports and warns when SQLite declines without an error", () => {
    const db = connection({ probe: "delete", set: "delete" });
    const options = warnings("state.db");
    expect(setJournalMode(db, options)).toBe("delete");
    expect(options.given).toHaveLength(1);
    expect(db.asked).not.toContain("PRAGMA journal_mode=DELETE");
  });

  it("has nothing to warn about in memory", () => {
    using db = new DatabaseSync(":memory:");
    const options = warnings(":memory:");
    expect(setJournalMode(db, options)).toBe("delete");
    expect(options.given).toEqual([]);
  });

  it.skipIf(process.platform === "win32")(
    "looks at the header without dropping this process's locks",
    async () => {
      const path = newDatabase("delete");
      using writer = new DatabaseSync(path);
      writer.exec("BEGIN IMMEDIATE");
      setJournalMode(connection({ set: sqliteError("locking protocol", 15) }), warnings(path));
      const script = `
      const db = new (require("node:sqlite").DatabaseSync)(process.argv[1]);
      try { db.exec("BEGIN IMMEDIATE"); console.log("got the lock"); } catch (error) { console.log(error.message); }
    `;
      const others = startChild(process.execPath, ["-e", script, path]);
      expect(await others.nextLine()).toBe("database is locked");
    },
  );
});
