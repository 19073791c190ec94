// Importing again: what the user did to the sessions meanwhile stays, what was left out can still come, nothing comes twice.
import { appendFile, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { zstdCompressSync } from "node:zlib";
import { type HomeStore, openSessionStore } from "@hermes-memory/core/internal/sessions";
import { describe, expect, it } from "vitest";
import { filesOf, fixtureHome } from "../../../../test/fixtures/fixture-home.ts";
import {
  DEFAULT_PREPARE,
  importTranscripts,
  readerNamed,
  storeTarget,
  type TranscriptReader,
} from "../../../import/src/internal.ts";
import { line, linesOf, textOfLines, writeClaude } from "../../../import/test/transcripts/claude-lines.ts";
import {
  contentsOf,
  cutOff,
  type ImportOptions,
  importInto,
  openEmptyStore,
  temporaryFolder,
} from "../../../import/test/transcripts/import-suite.ts";
import { runHere, runJson } from "../cli/run.ts";

function reader(name: string): TranscriptReader {
  const found = readerNamed(name);
  if (found === undefined) throw new Error(`no reader ${name}`);
  return found;
}

/** A home with one session of Claude Code, imported. */
async function withImport(
  use: (given: {
    readonly store: HomeStore;
    readonly home: string;
    readonly path: string;
    readonly run: (options?: ImportOptions) => ReturnType<typeof importInto>;
    readonly texts: () => Promise<string[]>;
  }) => Promise<void>,
): Promise<void> {
  await using folder = await temporaryFolder();
  const home = join(folder.path, "home");
  const path = await writeClaude(home, "s", linesOf("s", 4));
  await using store = await openEmptyStore(folder.path);
  const run = (options?: ImportOptions) => importInto(store, reader("claude-code"), home, options);
  expect(await run()).toMatchObject({ sessionsAdded: 1, messagesAdded: 4 });
  const texts = async () => (await store.getMessages(ID)).map(({ content }) => String(content));
  await use({ store, home, path, run, texts });
}

const ID = "claude-code-s";
const grow = (path: string, ...texts: string[]) =>
  appendFile(path, textOfLines(texts.map((text, at) => line("s", 4 + at, text))));

describe("an import that was cut off", () => {
  it("leaves nothing of a long session that is left out in the end", async () => {
    await using folder = await temporaryFolder();
    const home = join(folder.path, "home");
    const long = Array.from({ length: 4 }, (_, at) => line("s", 2 * at + 1, "no user ".repeat(100_000)));
    await writeClaude(home, "s", long);
    await using store = await openEmptyStore(folder.path);
    const { target, signal } = cutOff(store, 1);
    await importInto(store, reader("claude-code"), home, { target, signal });
    expect(signal.aborted).toBe(true);
    expect(await store.sessionCount({})).toBe(1);
    const { skipped } = await importInto(store, reader("claude-code"), home);
    expect(skipped).toEqual({ "no text of the user": 1 });
    expect(await store.sessionCount({})).toBe(0);
  });

  it("does not take away what an earlier one stored", async () => {
    await withImport(async ({ store, path, run }) => {
      const before = await contentsOf(store);
      await writeFile(path, textOfLines([line("s", 1, "only an answer")]));
      expect((await run()).skipped).toEqual({ "no text of the user": 1 });
      expect(await contentsOf(store)).toEqual(before);
    });
  });
});

it("connects a session with the one it goes on from, also when that comes with a later import", async () => {
  await using folder = await temporaryFolder();
  const home = join(folder.path, "home");
  const before = await writeClaude(home, "before", linesOf("before", 4));
  const boundary = { type: "system", subtype: "compact_boundary", uuid: "b", parentUuid: null };
  const at = { timestamp: "2026-08-02T10:00:00Z", sessionId: "after", logicalParentUuid: "before-3" };
  const rest = linesOf("after", 2).map((one) => ({ ...one, timestamp: "2026-08-02T10:01:00Z" }));
  const after = await writeClaude(home, "after", [{ ...boundary, ...at }, ...rest]);
  await using store = await openEmptyStore(folder.path);
  await importInto(store, reader("claude-code"), home, { path: after });
  expect((await store.getSession("claude-code-after"))?.parent_session_id).toBeNull();
  await importInto(store, reader("claude-code"), home, { path: before });
  expect((await store.getSession("claude-code-after"))?.parent_session_id).toBe("claude-code-before");
});

it("goes on in a home with sessions of a source that this version has no reader for", async () => {
  await using folder = await temporaryFolder();
  const home = join(folder.path, "home");
  await writeClaude(home, "old", linesOf("old", 4));
  {
    await using store = await openEmptyStore(folder.path);
    await importInto(store, { ...reader("claude-code"), source: "vibe" }, home);
  }
  await rm(join(home, ".claude"), { recursive: true });
  await writeClaude(home, "new", linesOf("new", 4));
  const run = async (...words: string[]) => {
    const { stdout, code } = await runHere([...words, "--json"], { home: folder.path, env: { HOME: home } });
    return { code, text: stdout };
  };
  const again = await run("sessions", "import", "--from", "auto", "--yes");
  expect(JSON.parse(again.text)).toMatchObject({ sources: [{ source: "claude-code", sessions_added: 1 }] });
  for (const words of [
    ["list", "--source", "vibe"],
    ["search", "old says"],
    ["export", "-"],
  ])
    expect(await run("sessions", ...words)).toMatchObject({
      code: 0,
      text: expect.stringContaining("vibe-old"),
    });
  const named = await run("sessions", "import", "--from", "vibe");
  expect(named).toMatchObject({ code: 2, text: expect.stringContaining("There is no source 'vibe'") });
});

it("knows where messages stand when other lines were put before them", async () => {
  await withImport(async ({ store, path, run }) => {
    const before = textOfLines([{ type: "summary", summary: "A talk", leafUuid: "s-3" }]);
    await writeFile(path, before + textOfLines(linesOf("s", 4)));
    expect(await run()).toMatchObject({ sessionsUpdated: 0, messagesAdded: 0, messagesUpdated: 0 });
    const ids = (await store.getMessages(ID)).map(({ id }) => id);
    expect((await store.transcripts.listProvenance(ids)).map((place) => place.line)).toEqual([2, 3, 4, 5]);
  });
});

it("leaves a session its messages when a later one begins with the second of them", async () => {
  await withImport(async ({ store, home, run }) => {
    const [, second = {}, third = {}] = linesOf("s", 4);
    await writeClaude(home, "t", [{ ...second, parentUuid: null }, third]);
    await run();
    const before = await contentsOf(store);
    expect(await run({ force: true })).toMatchObject({ sessionsUpdated: 0, messagesAdded: 0 });
    expect(await contentsOf(store)).toEqual(before);
  });
});

describe("a session that the user", () => {
  it("deleted stays deleted while its file grows and moves, until --force", async () => {
    await withImport(async ({ store, home, path, run }) => {
      await store.deleteSession(ID);
      await grow(path, "more");
      expect(await run()).toMatchObject({ sessionsAdded: 0, skipped: { "deleted here": 1 } });
      const moved = join(home, ".claude", "projects", "elsewhere", "s.jsonl");
      await mkdir(dirname(moved), { recursive: true });
      await rename(path, moved);
      expect(await run()).toMatchObject({ sessionsAdded: 0, skipped: { "deleted here": 1 } });
      expect(await run({ force: true })).toMatchObject({ sessionsAdded: 1, messagesAdded: 5 });
    });
  });

  it("deleted stays deleted when the product packs its file", async () => {
    await using folder = await temporaryFolder();
    const id = "019a0000-0000-7000-8000-000000000001";
    const path = join(folder.path, ".codex/sessions/2026/08/01", `rollout-2026-08-01T10-00-00-${id}.jsonl`);
    const timestamp = "2026-08-01T10:00:00.000Z";
    const text = textOfLines([
      { timestamp, type: "session_meta", payload: { id, timestamp, cwd: "/home/ana/project" } },
      {
        timestamp,
        type: "response_item",
        payload: { type: "message", role: "user", content: [{ type: "input_text", text: "paint the gate" }] },
      },
    ]);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
    await using store = await openEmptyStore(folder.path);
    expect(await importInto(store, reader("codex"), folder.path)).toMatchObject({ sessionsAdded: 1 });
    await store.deleteSession(`codex-${id}`);
    await writeFile(`${path}.zst`, zstdCompressSync(Buffer.from(text)));
    await rm(path);
    const again = await importInto(store, reader("codex"), folder.path);
    expect(again).toMatchObject({ files: 1, sessionsAdded: 0, skipped: { "deleted here": 1 } });
  });

  it("renamed keeps its name", async () => {
    await withImport(async ({ store, path, run }) => {
      await store.setSessionTitle(ID, "The gate");
      await appendFile(path, textOfLines([{ type: "custom-title", customTitle: "theirs", sessionId: "s" }]));
      await grow(path, "more");
      expect(await run()).toMatchObject({ sessionsUpdated: 1, messagesAdded: 1 });
      expect((await store.getSession(ID))?.title).toBe("The gate");
    });
  });

  it("continued here is left alone, also when the file changes or is forced", async () => {
    await withImport(async ({ store, path, run, texts }) => {
      await store.appendMessage(ID, { role: "user", content: "my own turn" });
      await grow(path, "their turn");
      const before = await texts();
      for (const force of [false, true])
        expect(await run({ force })).toMatchObject({ messagesAdded: 0, skipped: { "continued here": 1 } });
      expect(await texts()).toEqual(before);
    });
  });

  it("continued while it was being imported loses nothing", async () => {
    await using folder = await temporaryFolder();
    const long = Array.from({ length: 8 }, (_, at) => line("s", at * 2, "word ".repeat(60_000)));
    await writeClaude(folder.path, "s", long);
    await using store = await openEmptyStore(folder.path);
    const target = storeTarget(store);
    let writes = 0;
    const { sources } = await importTranscripts(
      [{ reader: reader("claude-code") }],
      {},
      {
        target: {
          ...target,
          writeTranscript: async (write) => {
            const found = await target.writeTranscript(write);
            writes += 1;
            if (writes === 1) await store.appendMessage(ID, { role: "user", content: "my own turn" });
            return found;
          },
        },
        place: { home: folder.path, env: {}, platform: "linux", cwd: folder.path },
        signal: new AbortController().signal,
        now: Date.now,
        prepare: DEFAULT_PREPARE,
      },
    );
    expect(sources[0]?.skipped).toEqual({ "continued here": 1 });
    expect((await store.getMessages(ID)).at(-1)?.content).toBe("my own turn");
  });
});

describe("a file that", () => {
  it("becomes shorter keeps what was stored; one that takes another course replaces it", async () => {
    await withImport(async ({ home, run, texts }) => {
      const before = await texts();
      await writeClaude(home, "s", linesOf("s", 2));
      expect(await run()).toMatchObject({ sessionsUpdated: 0, messagesAdded: 0 });
      expect(await texts()).toEqual(before);
      const other = [
        line("s", 0, "s says 0"),
        line("s", 2, "another course", { parentUuid: "s-0", uuid: "o" }),
      ];
      await writeClaude(home, "s", other);
      expect(await run()).toMatchObject({ sessionsUpdated: 1, messagesAdded: 1 });
      expect(await texts()).toEqual(["s says 0", "another course"]);
    });
  });

  it("vanishes takes nothing with it", async () => {
    await withImport(async ({ path, run, texts }) => {
      await rm(path);
      expect(await run()).toMatchObject({ files: 0, errors: [] });
      expect(await texts()).toHaveLength(4);
    });
  });

  it("was read with filters is read again without them, but not with the same ones", async () => {
    await withImport(async ({ home, run }) => {
      await writeClaude(home, "mill", linesOf("mill", 2, { cwd: "/home/ana/mill" }));
      const project = { name: "project", has: (cwd?: string) => cwd === "/home/ana/project" };
      const late = { since: Date.parse("2026-08-02") / 1000 };
      const early = { until: Date.parse("2026-07-31") / 1000 };
      expect(await run({ project })).toMatchObject({ unchanged: 1, skipped: { "other project": 1 } });
      expect(await run({ project })).toMatchObject({ unchanged: 2, skipped: {} });
      expect(await run(late)).toMatchObject({ unchanged: 1, skipped: { "before --since": 1 } });
      expect(await run(early)).toMatchObject({ unchanged: 1, skipped: { "after --until": 1 } });
      expect(await run()).toMatchObject({ unchanged: 1, sessionsAdded: 1, messagesAdded: 2 });
      expect(await run()).toMatchObject({ unchanged: 2 });
    });
  });

  it("came after the limit comes with the next import", async () => {
    await withImport(async ({ home, run }) => {
      for (const name of ["a", "b", "c"]) await writeClaude(home, name, linesOf(name, 2));
      expect(await run({ limit: 2 })).toMatchObject({ sessionsAdded: 2 });
      expect(await run({ limit: 2 })).toMatchObject({ sessionsAdded: 1 });
      expect(await run()).toMatchObject({ sessionsAdded: 0, unchanged: 4 });
    });
  });
});

describe("rows that Hermes has compacted", () => {
  it("are never changed, removed or made active", async () => {
    await withImport(async ({ store, home, path }) => {
      const file = join(dirname(home), "state.db");
      await store.close();
      const compacted = () => {
        using db = new DatabaseSync(file);
        const columns = db.prepare("PRAGMA table_info(messages)").all();
        if (!columns.some(({ name }) => name === "compacted"))
          db.exec("ALTER TABLE messages ADD COLUMN compacted INTEGER NOT NULL DEFAULT 0");
        db.exec("UPDATE schema_version SET version = 17");
        db.exec("UPDATE messages SET compacted = 1, active = 0 WHERE platform_message_id <> 's-2'");
        return db.prepare("SELECT * FROM messages WHERE compacted = 1 ORDER BY id").all();
      };
      const before = compacted();
      expect(before).toHaveLength(3);
      await using again = await openSessionStore({ path: file });
      await rm(path);
      await writeClaude(home, "s", [line("s", 0, "changed"), line("s", 2, "other", { uuid: "o" })]);
      await importInto(again, reader("claude-code"), home);
      await writeClaude(home, "s", [...linesOf("s", 4), line("s", 4, "new")]);
      await importInto(again, reader("claude-code"), home);
      using db = new DatabaseSync(file, { readOnly: true });
      expect(db.prepare("SELECT * FROM messages WHERE compacted = 1 ORDER BY id").all()).toEqual(before);
    });
  });
});

describe("a home that holds conversations already", () => {
  it("of version 0.1.0 takes an import, and a second one finds nothing new", async () => {
    await using folder = await temporaryFolder();
    await writeClaude(folder.path, "s", linesOf("s", 4));
    const home = fixtureHome();
    const rows = () => {
      using db = new DatabaseSync(join(home, "state.db"), { readOnly: true });
      expect(db.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
      return {
        sessions: db.prepare("SELECT * FROM sessions WHERE id NOT LIKE 'claude-code-%' ORDER BY id").all(),
        messages: db
          .prepare("SELECT * FROM messages WHERE session_id NOT LIKE 'claude-code-%' ORDER BY id")
          .all(),
      };
    };
    const before = rows();
    const args = ["sessions", "import", "--from", "claude-code", "--path", folder.path];
    expect(await runJson(args, { home })).toMatchObject({ sources: [{ sessions_added: 1 }] });
    expect(await runJson(args, { home })).toMatchObject({ sources: [{ sessions_added: 0, unchanged: 1 }] });
    expect(rows()).toEqual(before);
    await using store = await openSessionStore({ path: join(home, "state.db") });
    expect((await store.searchMessages("m7x3", { limit: 1 }))[0]?.session_id).toBe("20260507_101500_000007");
    expect((await contentsOf(store)).length).toBe(25);
  });

  it("is not changed by a dry run, nor is one made", async () => {
    await using folder = await temporaryFolder();
    await writeClaude(folder.path, "s", linesOf("s", 4));
    const args = ["sessions", "import", "--from", "claude-code", "--path", folder.path, "--dry-run"];
    const home = fixtureHome();
    const before = filesOf(home);
    expect((await runHere(args, { home })).stdout).toContain("1 new session, 4 new messages.");
    const after = filesOf(home);
    // SQLite makes these two for every reader of a database with a log. The log is empty.
    expect(after.get("state.db-wal") ?? "").toBe("");
    for (const name of ["state.db-wal", "state.db-shm"]) after.delete(name);
    expect(after).toEqual(before);
    const missing = join(folder.path, "hermes");
    expect((await runHere(args, { home: missing })).code).toBe(0);
    expect([...filesOf(folder.path).keys()].filter((path) => path.startsWith("hermes"))).toEqual([]);
  });
});
