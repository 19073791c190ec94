// Turning the original's index into ours, undisturbed, interrupted, killed, in company, and short of space.
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSessionStore, type Progress, type SessionStore } from "../../../src/sessions/index.ts";
import { FTS_TABLES } from "../../../src/sessions/sqlite/index-layout.ts";
import { startScript } from "../../fakes/child.ts";
import { startMounted, whyNoMounts } from "../../fakes/mounts.ts";
import {
  complaints,
  execute,
  hasPythonSqlite,
  makeReferenceFile,
  matches,
  newPath,
  openPython,
  query,
  type ReferenceMessage,
  termsOf,
  termsOfRebuilt,
} from "../../fakes/session-index.ts";

const root = resolve(import.meta.dirname, "../../..");
const replay = join(resolve(root, process.env.HERMES_TOOLS ?? "../shared/tools"), "reference_replay.py");
const canReplay = hasPythonSqlite && existsSync(replay);
if (!canReplay) console.warn("No python3 or no reference_replay.py: its runs are skipped. Set HERMES_TOOLS.");

const MESSAGES = 4_000;
const PER_SESSION = 20;
const WORDS = ["harbour", "crane", "velvet", "anchor", "quartz", "wharf", "moss", "bridge", "opal", "hinge"];

/** A little of everything. Row n says `word<n>`, and belongs to session s<n / 20>. */
function* corpus(messages: number): Generator<ReferenceMessage> {
  for (let n = 1; n <= messages; n += 1) {
    const session = `s${Math.floor((n - 1) / PER_SESSION)}`;
    const words = `word${n} ${Array.from({ length: 12 }, (_, at) => WORDS[(n * (at + 3)) % 10]).join(" ")}`;
    const args = JSON.stringify({ query: words, depth: n });
    const parts = JSON.stringify([{ type: "text", text: words }]);
    switch (n % 10) {
      case 0:
        yield { session, content: `昨天讨论了琥珀灯塔的部署方案${n} ${words}` };
        break;
      case 3:
        yield {
          session,
          content: null,
          toolCalls: `[{"function": {"name": "grep", "arguments": ${JSON.stringify(args)}}}]`,
        };
        break;
      case 5:
        yield { session, content: words, toolName: "read_file" };
        break;
      case 7:
        yield { session, content: `\0json:${parts}` };
        break;
      default:
        yield { session, content: words };
    }
  }
}

let folder: string;
let template: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "hermes-test-"));
  template = join(folder, "template.db");
  makeReferenceFile(template, corpus(MESSAGES));
  await (await openSessionStore({ path: template })).close(); // so that each test need not take over the triggers
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A copy of a file with the original's index. */
function referenceFile(): string {
  const path = newPath();
  copyFileSync(template, path);
  return path;
}

/** Goes on until so many steps of the conversion were done; false when the work came to its end. */
async function convertSteps(store: SessionStore, steps: number): Promise<boolean> {
  const stop = new AbortController();
  let done = 0;
  const onProgress = () => {
    done += 1;
    if (done === steps) stop.abort();
  };
  const { finished } = await store.optimize({ signal: stop.signal, onProgress });
  return !finished;
}

async function expectSound(path: string): Promise<void> {
  expect(complaints(path)).toEqual([]);
  if (!hasPythonSqlite) return;
  const python = openPython(path);
  expect(await python.complaints()).toEqual([]);
  await python.close();
}

async function expectConverted(path: string): Promise<void> {
  await using store = await openSessionStore({ path });
  expect((await store.stats()).index).toBe("compact");
  await expectSound(path);
  for (const table of FTS_TABLES) expect(termsOf(path, table)).toEqual(termsOfRebuilt(path, table));
  const leftovers = query(
    path,
    "SELECT name FROM sqlite_master WHERE name GLOB 'hermes_memory_new*' OR name GLOB 'hermes_memory_build*'",
  );
  expect(leftovers).toEqual([]);
}

describe("a conversion", () => {
  it("makes a file of the original small and leaves every word to be found", async () => {
    const path = newPath();
    makeReferenceFile(path, corpus(20_000));
    const asked = ["word1234", "harbour", "read", "grep", "琥珀灯塔的部署方案20000"];
    const search = () => asked.map((word) => matches(path, "messages_fts", `"${word}"`));
    const found = search();
    const chinese = matches(path, "messages_fts_trigram", '"灯塔的"');
    const seen: Progress[] = [];
    {
      await using store = await openSessionStore({ path });
      const outcome = await store.optimize({ onProgress: (progress) => seen.push(progress) });
      expect(outcome).toMatchObject({ converted: true, finished: true });
      expect(outcome.bytesAfter).toBeLessThan(outcome.bytesBefore / 2);
      expect((await store.stats()).bytes).toBe(outcome.bytesAfter);
      expect((await store.checkHealth()).problems).toEqual([]);
    }
    expect(search()).toEqual(found);
    expect(matches(path, "messages_fts_trigram", '"灯塔的"')).toEqual(chinese);
    const building = seen.filter(({ step }) => step === "building the compact index");
    expect(building.length).toBeGreaterThan(50);
    for (const [at, { done, total }] of building.entries()) {
      expect(total).toBe(20_000);
      expect(done).toBeGreaterThan(building[at - 1]?.done ?? 0);
    }
    expect(building.at(-1)?.done).toBe(20_000);
    expect(seen.slice(building.length).map(({ step }) => step)).toEqual([
      "merging the index",
      "giving space back",
    ]);
    await expectConverted(path);
  }, 120_000);

  it("only merges and gives space back the second time", async () => {
    const path = referenceFile();
    await using store = await openSessionStore({ path });
    await store.optimize();
    const before = query(path, "SELECT type, name, sql FROM sqlite_master ORDER BY name");
    const seen: string[] = [];
    const outcome = await store.optimize({ onProgress: ({ step }) => seen.push(step) });
    expect(outcome).toMatchObject({ converted: false, finished: true });
    expect(seen).toEqual(["merging the index", "giving space back"]);
    expect(query(path, "SELECT type, name, sql FROM sqlite_master ORDER BY name")).toEqual(before);
    await expectConverted(path);
  });

  it("lets the old index answer, and misses nothing that happens meanwhile", async () => {
    const path = referenceFile();
    await using store = await openSessionStore({ path });
    await store.createSession("new", { source: "cli" });
    const python = hasPythonSqlite ? openPython(path) : undefined;
    const appended: number[] = [];
    for (let round = 0; await convertSteps(store, 3); round += 1) {
      expect((await store.stats()).index).toBe("converting");
      expect(matches(path, "messages_fts", "word3999")).toEqual([3999]);
      expect(matches(path, "messages_fts_trigram", '"灯塔的"')).not.toEqual([]);
      // Near the beginning, which is converted first, and near the end, which comes last.
      for (const near of [0, 190]) {
        const session = `s${near + (round % 10)}`;
        await store.appendMessage(session, { role: "user", content: `appended${round} 新灯塔的` });
        const [first, second] = await store.getMessages(session);
        if (first === undefined || second === undefined) continue;
        await store.rewindToMessage(session, second.id);
        execute(path, `UPDATE messages SET content = 'bynode${round}' WHERE id = ${first.id}`);
        await python?.run(
          {
            sql: "UPDATE messages SET tool_calls = ? WHERE id = ?",
            values: [`["bypython${round}"]`, second.id],
          },
          { sql: "DELETE FROM messages WHERE id = ?", values: [second.id + 2] },
          {
            sql: "INSERT INTO messages(session_id, role, content, timestamp) VALUES (?, 'user', ?, 9)",
            values: [session, `\0json:["inserted${round}"]`],
          },
        );
      }
      await store.deleteSession(`s${20 + round}`);
      appended.push(await store.appendMessage("new", { role: "user", content: `late${round}` }));
      if (round % 3 === 0) await expectSound(path);
    }
    expect(appended.length).toBeGreaterThan(4);
    await expectConverted(path);
    for (const [round, id] of appended.entries()) {
      expect(matches(path, "messages_fts", `late${round}`)).toEqual([id]);
      for (const word of ["appended", "bynode", ...(python === undefined ? [] : ["bypython", "inserted"])])
        expect(matches(path, "messages_fts", `${word}${round}`), word).toHaveLength(2);
      expect(matches(path, "messages_fts", `word${(20 + round) * PER_SESSION + 1}`)).toEqual([]);
    }
    expect(matches(path, "messages_fts_trigram", '"新灯塔"')).toHaveLength(appended.length * 2);
  }, 120_000);

  it("indexes a row whose id comes back from an import", async () => {
    const path = referenceFile();
    await using store = await openSessionStore({ path });
    const exported = await store.exportSession("s0");
    await store.deleteSession("s0");
    await convertSteps(store, 3);
    if (exported === null) throw new Error("s0 was not there");
    expect(await store.importSessions([exported])).toMatchObject({ imported: 1, messages: PER_SESSION });
    expect((await store.getMessages("s0"))[0]?.id).toBe(1);
    await store.optimize();
    expect(matches(path, "messages_fts", "word1")).toEqual([1]);
    await expectConverted(path);
    await store.deleteSession("s0");
    await expectConverted(path);
  });

  it("forgets the words of rows that changed or went before it came to them", async () => {
    const path = referenceFile();
    await using store = await openSessionStore({ path });
    await convertSteps(store, 1);
    await store.createSession("late", { source: "cli" });
    const content = (word: string) => `昨天部署${word}服务`;
    const words = ["docker", "velvet", "anchor", "quartz"];
    const ids = await store.appendMany(
      "late",
      words.map((word) => ({ role: "user", content: content(word) })),
    );
    const [changed = 0, called = 0, back = 0, gone = 0] = ids;
    const withCalls = `tool_calls = '["fern"]'`;
    execute(path, `UPDATE messages SET content = '${content("hinge")}' WHERE id = ${changed}`);
    execute(path, `UPDATE messages SET ${withCalls} WHERE id = ${called}`);
    execute(path, `DELETE FROM messages WHERE id IN (${back}, ${gone})`);
    execute(
      path,
      `INSERT INTO messages(id, session_id, role, content, timestamp, tool_calls) VALUES (${back}, 'late', 'user', 'plain', 9, '["moss"]')`,
    );
    expect(await store.optimize()).toMatchObject({ converted: true, finished: true });
    expect(matches(path, "messages_fts", "hinge").at(-1)).toBe(changed);
    for (const word of ["docker", "fern", "plain"])
      expect(matches(path, "messages_fts", word), word).toEqual(
        { docker: [], fern: [called], plain: [back] }[word],
      );
    const orphans =
      "SELECT message_id FROM hermes_memory_text WHERE message_id NOT IN (SELECT id FROM messages)";
    expect(query(path, orphans)).toEqual([]);
    await expectConverted(path);
    // An id that comes back afterwards is indexed by what it says now.
    execute(
      path,
      `INSERT INTO messages(id, session_id, role, content, timestamp, tool_calls) VALUES (${gone}, 'late', 'user', 'again', 9, '["opal"]')`,
    );
    expect(matches(path, "messages_fts", "again opal")).toEqual([gone]);
    await expectConverted(path);
  });

  it("takes few rows at a time when they are long", async () => {
    const path = newPath();
    const text = "velvet anchor ".repeat(25_000);
    makeReferenceFile(
      path,
      Array.from({ length: 12 }, () => ({ session: "s", content: `\0json:${JSON.stringify([{ text }])}` })),
    );
    await using store = await openSessionStore({ path });
    const seen: number[] = [];
    await store.optimize({ onProgress: ({ step, done }) => step.startsWith("building") && seen.push(done) });
    expect(seen.length).toBeGreaterThanOrEqual(4);
  });

  it("is not stopped by a view of others that names a table which is gone", async () => {
    const path = referenceFile();
    execute(path, "CREATE VIEW harbour AS SELECT mood FROM nowhere");
    await using store = await openSessionStore({ path });
    expect(await store.optimize()).toMatchObject({ converted: true, finished: true });
    await expectConverted(path);
    expect(query(path, "SELECT name FROM sqlite_master WHERE name = 'harbour'")).toHaveLength(1);
  });

  it("does nothing but say so when it is stopped before it began", async () => {
    const path = referenceFile();
    await using store = await openSessionStore({ path });
    expect(await store.optimize({ signal: AbortSignal.abort() })).toMatchObject({
      converted: false,
      finished: false,
    });
    expect(matches(path, "messages_fts", "word3999")).toEqual([3999]);
    expect(await store.optimize()).toMatchObject({ converted: true, finished: true });
    await expectConverted(path);
  });

  it.skipIf(!canReplay)("can be shared with the original while it is half done", async () => {
    const path = referenceFile();
    {
      await using store = await openSessionStore({ path });
      await convertSteps(store, 7);
    }
    const play = (...flags: string[]) => {
      const { status, stdout } = spawnSync("python3", [replay, path, ...flags], { encoding: "utf8" });
      expect(status, stdout).toBe(0);
    };
    play(); // on a copy
    play("--keep");
    await using store = await openSessionStore({ path });
    expect((await store.stats()).index).toBe("converting");
    await store.optimize();
    expect(matches(path, "messages_fts", "velvetanchor")).toHaveLength(1);
    await expectConverted(path);
    play("--keep");
    await expectConverted(path);
  });
});

describe("a conversion in another process", () => {
  it("can be killed at any point, ten times over, and gone on with", async () => {
    const path = referenceFile();
    let built = 0;
    for (let round = 0; round < 10; round += 1) {
      const child = startScript("optimizing-process.ts", [path]);
      for (let lines = 1 + (round % 2); lines > 0; lines -= 1) expect(await child.nextLine()).toBeDefined();
      await child.kill();
      await using store = await openSessionStore({ path });
      expect(store.warnings).toEqual([]);
      expect((await store.stats()).index).toBe("converting");
      const now = Number(query(path, "SELECT built FROM hermes_memory_build")[0]?.built);
      expect(now).toBeGreaterThan(built);
      built = now;
      const id = await store.appendMessage("s1", { role: "user", content: `survived${round}` });
      expect(matches(path, "messages_fts", `survived${round}`)).toEqual([id]);
      expect(matches(path, "messages_fts", "word3999")).toEqual([3999]);
      expect(await store.getMessages("s1")).toHaveLength(PER_SESSION + round + 1);
      await expectSound(path);
    }
    await using store = await openSessionStore({ path });
    expect(await store.optimize()).toMatchObject({ converted: true, finished: true });
    for (let round = 0; round < 10; round += 1)
      expect(matches(path, "messages_fts", `survived${round}`)).toHaveLength(1);
    await expectConverted(path);
  }, 120_000);

  it.each(["merging the index", "giving space back"])("can be killed while it is %s", async (step) => {
    const path = referenceFile();
    const child = startScript("optimizing-process.ts", [path]);
    for (let line = await child.nextLine(); !line?.includes(step); line = await child.nextLine())
      expect(line).toBeDefined();
    await child.kill();
    await expectConverted(path);
    await using store = await openSessionStore({ path });
    expect(await store.messageCount()).toBe(MESSAGES);
    expect(await store.optimize()).toMatchObject({ converted: false, finished: true });
    await expectConverted(path);
  });

  it("can run in two processes at once", async () => {
    const path = referenceFile();
    const children = [1, 2].map(() => startScript("optimizing-process.ts", [path]));
    const answers = await Promise.all(children.map((child) => child.rest()));
    for (const lines of answers) expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({ finished: true });
    await expectConverted(path);
  }, 60_000);

  it("keeps both old and new words when others write all the time", async () => {
    const path = referenceFile();
    const child = startScript("optimizing-process.ts", [path]);
    await child.nextLine();
    await using store = await openSessionStore({ path });
    let isRunning = true;
    const ended = child.rest().finally(() => {
      isRunning = false;
    });
    const ids: number[] = [];
    while (isRunning)
      ids.push(await store.appendMessage("s0", { role: "user", content: "meanwhile 新灯塔" }));
    expect(JSON.parse((await ended).at(-1) ?? "")).toMatchObject({ converted: true, finished: true });
    expect(matches(path, "messages_fts", "meanwhile")).toEqual(ids);
    await expectConverted(path);
  }, 60_000);

  describe.skipIf(whyNoMounts !== undefined)("short of space for temporary files", () => {
    async function optimizeWith(path: string, size: string): Promise<unknown> {
      const tiny = join(dirname(path), "tiny");
      mkdirSync(tiny);
      const script = join(root, "test/fakes/optimizing-process.ts");
      const setUp = `mount -t tmpfs -o size=${size} tmpfs "$1"; export SQLITE_TMPDIR="$1"`;
      const lines = await startMounted(setUp, [tiny], [process.execPath, script, path]).rest();
      return JSON.parse(lines.at(-1) ?? "");
    }

    it.each([
      ["in the middle of the conversion", "64k", "converting", MESSAGES],
      ["when the file is to be made smaller", "512k", "compact", 4 * MESSAGES], // more than SQLite does in memory
    ])("leaves a working database %s", async (_when, size, index, messages) => {
      const path = newPath();
      makeReferenceFile(path, corpus(messages));
      await (await openSessionStore({ path })).close();
      expect(await optimizeWith(path, size)).toEqual({ error: "session-db-full" });
      await expectSound(path);
      await using store = await openSessionStore({ path });
      expect((await store.stats()).index).toBe(index);
      expect(await store.messageCount()).toBe(messages);
      const id = await store.appendMessage("s0", { role: "user", content: "afterwards" });
      expect(matches(path, "messages_fts", "afterwards")).toEqual([id]);
      const { bytesBefore, bytesAfter, converted } = await store.optimize();
      expect(converted).toBe(index === "converting");
      expect(bytesAfter).toBeLessThan(bytesBefore);
      await expectConverted(path);
    });
  });
});
