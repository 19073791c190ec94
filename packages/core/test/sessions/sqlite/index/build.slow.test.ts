// Building the index: interrupted, by several processes, while others write, with very long messages.
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { fixtureHome } from "../../../../../../test/fixtures/fixture-home.ts";
import { openSessionStore } from "../../../../src/sessions/index.ts";
import { type Child, startScript } from "../../../fakes/child.ts";
import {
  documentsOf,
  documentsOfFresh,
  execute,
  finishIndex,
  hasPythonSqlite,
  makeReferenceFile,
  newPath,
  openIndex,
  openPython,
  query,
} from "../../../fakes/session-index.ts";

const MESSAGES = 6000;

function referenceFile(messages = MESSAGES): string {
  const path = newPath();
  makeReferenceFile(
    path,
    Array.from({ length: messages }, (_, n) => ({
      session: `s${n % 50}`,
      content:
        n % 7 === 0
          ? `\0json:[{"type":"text","text":"structured ${n}"}]`
          : `message ${n} 琥珀灯塔 ${"lamp ".repeat(n % 40)}`,
    })),
  );
  return path;
}

const todo = (path: string) => Number(query(path, "SELECT todo FROM hermes_memory_state")[0]?.todo ?? -1);

async function expectWhole(path: string): Promise<void> {
  await finishIndex(path);
  expect(todo(path)).toBe(0);
  const rows = Number(query(path, "SELECT COUNT(*) AS n FROM messages")[0]?.n);
  expect(query(path, "SELECT COUNT(*) AS n FROM hermes_memory_doc")).toEqual([{ n: rows }]);
  expect(documentsOf(path)).toEqual(await documentsOfFresh(path));
  // Python's SQLite and this one index NUL differently, so each complains about rows of the other in Hermes Agent's index.
  const complaints = query(path, "PRAGMA integrity_check").map((row) => String(row.integrity_check));
  expect(complaints.filter((line) => line !== "ok" && !line.includes("main.messages_fts"))).toEqual([]);
}

/** Kills optimizing processes repeatedly, each after a little more work, until one finishes. */
async function killAgainAndAgain(
  path: string,
  meanwhile: (round: number) => void = () => {},
): Promise<number> {
  for (let kills = 0; ; kills += 1) {
    const child: Child = startScript("optimizing-process.ts", [path]);
    for (let line = 0; line <= kills % 4; line += 1) {
      const said = await child.nextLine();
      if (said === undefined || "finished" in (JSON.parse(said) as object)) return kills;
    }
    await child.kill();
    meanwhile(kills);
    if (kills > 60) throw new Error("no process comes to an end");
  }
}

describe("the build of an index", () => {
  it("goes on after kills, with rows added, changed and deleted in between", async () => {
    const path = referenceFile();
    const kills = await killAgainAndAgain(path, (round) =>
      execute(
        path,
        `INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s1', 'user', 'between ${round}', 5);
         UPDATE messages SET content = 'changed ${round}' WHERE id = ${100 + 37 * round};
         DELETE FROM messages WHERE id = ${5000 - 41 * round}`,
      ),
    );
    expect(kills).toBeGreaterThan(1);
    await expectWhole(path);
  });

  it("goes on after kills in a home of version 0.1.0, whose index goes at the end", async () => {
    const path = join(fixtureHome(), "state.db");
    execute(
      path,
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
       INSERT INTO messages (session_id, role, content, timestamp)
       SELECT (SELECT id FROM sessions LIMIT 1), 'user', 'copied lamp ' || i, 1.7e9 + i FROM n`,
    );
    const kills = await killAgainAndAgain(path, (round) =>
      execute(
        path,
        `INSERT INTO messages (session_id, role, content, timestamp) SELECT id, 'user', 'between ${round}', 5 FROM sessions LIMIT 1`,
      ),
    );
    expect(kills).toBeGreaterThan(1);
    await expectWhole(path);
    expect(query(path, "SELECT name FROM sqlite_master WHERE name GLOB 'messages_fts*'")).toEqual([]);
  });

  it("is done once by three processes that begin at the same moment, beside a writer", async () => {
    const path = referenceFile();
    const children = Array.from({ length: 3 }, () => startScript("optimizing-process.ts", [path]));
    await using store = await openSessionStore({ path });
    for (let row = 0; row < 50; row += 1)
      await store.appendMessage("s1", { role: "user", content: `live ${row}` });
    for (const child of children) {
      const last = (await child.rest()).at(-1) ?? "{}";
      expect(JSON.parse(last)).toMatchObject({ finished: true });
    }
    await store.close();
    await expectWhole(path);
  });

  it.skipIf(!hasPythonSqlite)("sees what Python writes while it runs", async () => {
    const path = referenceFile();
    const python = openPython(path);
    const child = startScript("optimizing-process.ts", [path]);
    for (let row = 0; row < 200; row += 1)
      await python.run(
        {
          sql: "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s2', 'user', ?, 7)",
          values: [`python ${row}`],
        },
        { sql: "UPDATE messages SET content = ? WHERE id = ?", values: [`by python ${row}`, row * 29 + 1] },
      );
    await child.rest();
    await python.close();
    await expectWhole(path);
  });

  it("finds recent messages first, and says how many it has not searched", async () => {
    const path = referenceFile(3000);
    await using reader = await openIndex(path, { readOnly: true });
    expect(await reader.find("message")).toHaveLength(3000 - Math.ceil(3000 / 7));
    expect(await reader.notSearched()).toBe(0); // all of it fits into memory
    await using opened = await openIndex(path);
    await opened.connection.write(() => undefined);
    using writer = new DatabaseSync(path);
    writer.exec("BEGIN IMMEDIATE"); // nothing can be indexed now
    expect(await opened.notSearched()).toBe(3000);
    writer.exec("ROLLBACK");
    expect(await opened.notSearched()).toBe(0);
  });

  it("finds everything in a file larger than what fits into memory, except what it counts", async () => {
    const path = referenceFile(21_000);
    await using opened = await openIndex(path, { readOnly: true });
    expect(await opened.notSearched()).toBe(1000);
    expect(await opened.find('"20998"')).toEqual([20_999]);
    expect(await opened.find('"900"')).toEqual([]);
  });
});

describe("a message of 30 MB", () => {
  const words = Array.from({ length: 40 }, (_, n) => `kelp${n.toString(36)} driftwood`).join(" ");
  const huge = `firstword ${`${words} `.repeat(Math.ceil(30_000_000 / words.length))} lastword`;

  it("is indexed whole without stopping the event loop", async () => {
    const path = newPath();
    {
      await using store = await openSessionStore({ path });
      await store.createSession("one", { source: "cli" });
      await store.appendMessage("one", { role: "user", content: huge });
      await store.appendMessage("one", { role: "user", content: "small" });
    }
    await using opened = await openIndex(path);
    let last = performance.now();
    let longest = 0;
    const timer = setInterval(() => {
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    }, 10);
    const start = performance.now();
    expect(await opened.index.finish({})).toBe(true);
    clearInterval(timer);
    const total = performance.now() - start;
    expect(await opened.find("firstword AND lastword")).toEqual([1]);
    expect(await opened.find('"driftwood lastword"')).toEqual([1]);
    expect(await opened.find("small")).toEqual([2]);
    expect(longest).toBeLessThan(total / 3);
  });

  it("that changes while a thread works on it is indexed as it is then", async () => {
    const path = newPath();
    {
      await using store = await openSessionStore({ path });
      await store.createSession("one", { source: "cli" });
      await store.appendMessage("one", { role: "user", content: huge });
    }
    await using opened = await openIndex(path);
    const working = opened.index.finish({});
    await expect
      .poll(() => query(path, "SELECT ticket FROM hermes_memory_large WHERE ticket <> ''").length, {
        interval: 5,
        timeout: 20_000,
      })
      .toBe(1);
    execute(path, "PRAGMA busy_timeout = 20000; UPDATE messages SET content = 'heronloft' WHERE id = 1");
    await working;
    expect(await opened.find("heronloft")).toEqual([1]);
    expect(await opened.find("driftwood")).toEqual([]);
    expect(query(path, "SELECT * FROM hermes_memory_large")).toEqual([]);
  });

  it("is taken over when the process that began with it was killed", async () => {
    const path = newPath();
    {
      await using store = await openSessionStore({ path });
      await store.createSession("one", { source: "cli" });
      await store.appendMessage("one", { role: "user", content: huge });
    }
    await using opened = await openIndex(path);
    execute(path, "UPDATE hermes_memory_large SET ticket = 'of a dead process', until = 1");
    expect(await opened.find("lastword")).toEqual([1]);
  });
});

describe("the write-ahead log", () => {
  it("stays bounded while three processes write all the time", async () => {
    const path = newPath();
    await (await openSessionStore({ path })).close();
    const writers = Array.from({ length: 3 }, (_, n) =>
      startScript("endless-appender.ts", [path, `writer${n}`]),
    );
    for (const writer of writers) expect(await writer.nextLine()).toBe("ready");
    let largest = 0;
    let messages = 0;
    while (messages < 1500) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      largest = Math.max(largest, statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0);
      messages = Number(query(path, "SELECT COALESCE(MAX(id), 0) AS n FROM messages")[0]?.n);
    }
    for (const writer of writers) await writer.kill();
    const written = statSync(path).size;
    expect(written).toBeGreaterThan(50_000_000);
    expect(largest).toBeLessThan(34_000_000);
    await finishIndex(path);
    const rows = query(path, "SELECT COUNT(*) AS n FROM messages");
    expect(query(path, "SELECT COUNT(*) AS n FROM hermes_memory_doc")).toEqual(rows);
  });
});

it("an interrupted conversion of 0.2.0 is finished by two processes at once", async () => {
  const path = newPath();
  const packed = readFileSync(
    join(import.meta.dirname, "../../../../../../test/fixtures/half-converted-0.2.0.db.gz"),
  );
  writeFileSync(path, gunzipSync(packed));
  const children = Array.from({ length: 2 }, () => startScript("optimizing-process.ts", [path]));
  for (const child of children)
    expect(JSON.parse((await child.rest()).at(-1) ?? "{}")).toMatchObject({ finished: true });
  expect(query(path, "SELECT name FROM sqlite_master WHERE name GLOB 'hermes_memory_new_*'")).toEqual([]);
  await expectWhole(path);
});
