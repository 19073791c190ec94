import { appendFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { zstdCompressSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { codex } from "../../../src/transcripts/formats/codex.ts";
import { DEFAULT_PREPARE, prepared } from "../../../src/transcripts/prepare.ts";
import { readHome } from "../read-fixture.ts";
import { plainReading } from "./plain-reading.ts";
import { eventsOf } from "./reading.ts";

const THREAD = "0199a000-0001-7000-8000-000000000001";
const OTHER = "0199a000-0002-7000-8000-000000000002";
const DAY = "sessions/2026/09/01";

let home = "";
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "hermes-codex-"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

function record(type: string, payload: object): string {
  return `${JSON.stringify({ timestamp: "2026-09-01T09:00:00Z", type, payload })}\n`;
}
function message(role: string, text: string): string {
  return record("response_item", { type: "message", role, content: [{ type: "input_text", text }] });
}
async function save(thread: string, text: string, folder = DAY, packed = false): Promise<string> {
  const name = `rollout-2026-09-01T09-00-00-${thread}.jsonl${packed ? ".zst" : ""}`;
  const path = join(home, ".codex", folder, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, packed ? zstdCompressSync(Buffer.from(text)) : text);
  return path;
}
async function saveThreads(folder: string, title: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const db = new DatabaseSync(join(folder, "state_5.sqlite"));
  db.exec("CREATE TABLE threads (id TEXT, title TEXT)");
  db.prepare("INSERT INTO threads VALUES (?, ?)").run(THREAD, title);
  db.close();
}

describe("Codex transcripts", () => {
  it("keep their ids while the file grows, and after it was compressed", async () => {
    const begin =
      record("session_meta", { id: THREAD }) + message("user", "one") + message("assistant", "two");
    const path = await save(THREAD, begin);
    const [before] = (await readHome(codex, home)).sessions;
    const more = message("user", "three");
    await appendFile(path, more);
    const [grown] = (await readHome(codex, home)).sessions;
    expect(grown?.messages.slice(0, 2)).toEqual(before?.messages);
    expect(grown?.messages.map(({ text }) => text)).toEqual(["one", "two", "three"]);
    await rm(path);
    await save(THREAD, begin + more, "archived_sessions", true);
    expect((await readHome(codex, home)).sessions[0]?.messages).toEqual(grown?.messages);
  });

  it("have a first line of any length", async () => {
    const meta = record("session_meta", { id: THREAD, base_instructions: { text: "x".repeat(200_000) } });
    await save(THREAD, meta + message("user", "after a long header"));
    const { sessions, malformed } = await readHome(codex, home);
    expect(sessions[0]?.messages).toHaveLength(1);
    expect(malformed).toEqual([]);
  });

  it("give no reasoning and no system text unless asked", async () => {
    const thought = { type: "reasoning", summary: [{ type: "summary_text", text: "hm" }] };
    await save(
      THREAD,
      record("session_meta", { id: THREAD }) +
        message("developer", "rules") +
        message("user", "hello") +
        record("response_item", thought) +
        message("assistant", "hi"),
    );
    const options = {
      includeBranches: false,
      includeReasoning: false,
      includeSystem: false,
      tools: "brief" as const,
    };
    const [session] = (await readHome(codex, home, { options })).sessions;
    expect(session?.messages.map(({ role, reasoning }) => [role, reasoning])).toEqual([
      ["user", undefined],
      ["assistant", undefined],
    ]);
  });

  it("are read to the end when the parent of a fork is gone", async () => {
    await save(
      THREAD,
      record("session_meta", { id: THREAD, forked_from_id: OTHER }) +
        record("turn_context", { turn_id: "t1", model: "gpt-5" }) +
        message("user", "copied or not, nobody knows"),
    );
    const [session] = (await readHome(codex, home)).sessions;
    expect(session?.messages).toHaveLength(1);
    expect(session?.facts.continues).toEqual({ how: "fork", session: OTHER });
  });

  it("leave out what a subagent copied from its parent, and keep a turn before the header of the parent", async () => {
    const turn = (id: string): string => record("turn_context", { turn_id: id, model: "gpt-5" });
    await save(OTHER, record("session_meta", { id: OTHER }) + turn("t1") + message("user", "parent"));
    const source = { subagent: { thread_spawn: { parent_thread_id: OTHER, depth: 1 } } };
    const meta = record("session_meta", { id: THREAD, source });
    const copy = record("session_meta", { id: OTHER }) + turn("t1") + message("user", "parent");
    const own = turn("t2") + message("user", "own task");
    await save(THREAD, meta + copy + own);
    const texts = async (): Promise<unknown> =>
      (await readHome(codex, home)).sessions[0]?.messages.map(({ text }) => text);
    expect(await texts()).toEqual(["own task"]);
    await save(THREAD, meta + own + copy);
    expect(await texts()).toEqual(["own task", "parent"]);
  });

  it("follow a setting that the user changed later in the thread", async () => {
    const meta = { id: THREAD, memory_mode: "enabled" };
    await save(
      THREAD,
      record("session_meta", meta) +
        message("user", "hello") +
        record("session_meta", { ...meta, memory_mode: "disabled" }),
    );
    expect((await readHome(codex, home)).sessions[0]?.skipped).toBe("memory disabled by the user");
  });

  it("with memory turned off are read when asked for", async () => {
    await save(
      THREAD,
      record("session_meta", { id: THREAD, memory_mode: "disabled" }) + message("user", "hi"),
    );
    const events = await eventsOf(codex, join(home, ".codex"), {
      options: { ...plainReading().options, includeMemoryDisabled: true },
    });
    expect(events.map(({ kind }) => kind)).toEqual(["session", "message"]);
  });

  it("have their titles in the database that a variable or a setting moves, else in the one beside them", async () => {
    await save(THREAD, record("session_meta", { id: THREAD }) + message("user", "hello"));
    const titleWith = async (env: Readonly<Record<string, string>>): Promise<unknown> => {
      const [first] = await eventsOf(codex, join(home, ".codex"), { env });
      return first?.kind === "session" ? first.facts.title : undefined;
    };
    await saveThreads(join(home, ".codex"), "beside");
    await saveThreads(join(home, "set"), "by the setting");
    await saveThreads(join(home, "named"), "by the variable");
    expect(await titleWith({})).toBe("beside");
    await writeFile(join(home, ".codex", "config.toml"), `sqlite_home = "${join(home, "set")}"\n`);
    expect(await titleWith({})).toBe("by the setting");
    expect(await titleWith({ CODEX_SQLITE_HOME: join(home, "named") })).toBe("by the variable");
    await writeFile(join(home, ".codex", "config.toml"), 'sqlite_home = "/nowhere/at/all"\n');
    expect(await titleWith({})).toBe("beside");
  });

  it("keep the command of a call when tools are left out", async () => {
    const call = { type: "function_call", name: "shell", call_id: "c1" };
    const item = { ...call, arguments: '{"command":["git","status"],"workdir":"/home/ana/project"}' };
    await save(THREAD, record("session_meta", { id: THREAD }) + record("response_item", item));
    const [found] = (await readHome(codex, home)).sessions[0]?.messages ?? [];
    const stored = found && prepared(found, { ...DEFAULT_PREPARE, tools: "none" });
    expect(JSON.parse(stored?.toolCalls ?? "[]")).toMatchObject([
      { function: { name: "shell", arguments: '{"command":"git status"}' } },
    ]);
  });

  it("leave out the summary of a compaction, and only that", async () => {
    const recap = { message: "Words of Codex.\nWalnut it is.", replacement_history: [] };
    const usage = record("token_usage_record", {}) + record("event_msg", { type: "token_count" });
    await save(
      THREAD,
      record("session_meta", { id: THREAD }) +
        message("user", "one") +
        message("assistant", "two") +
        record("compacted", recap) +
        message("assistant", "Walnut it is.\n") +
        usage +
        record("compacted", recap) +
        message("user", "three") +
        message("assistant", "Walnut it is."),
    );
    const [session] = (await readHome(codex, home)).sessions;
    expect(session?.messages.map(({ text }) => text)).toEqual(["one", "two", "three", "Walnut it is."]);
  });

  it("keep words that begin like a text of Codex", async () => {
    const texts = [
      "# AGENTS.md instructions: are they read?",
      "<skill> is what?",
      "Warning: Your account was",
    ];
    const own = [
      '<codex_internal_context source="x">y</codex_internal_context>',
      "<external_a>b</external_a>",
    ];
    const lines = [...own, ...texts].map((text) => message("user", text));
    await save(THREAD, record("session_meta", { id: THREAD }) + lines.join(""));
    expect((await readHome(codex, home)).sessions[0]?.messages.map(({ text }) => text)).toEqual(texts);
  });

  it("roll back no more turns than there are", async () => {
    await save(
      THREAD,
      record("session_meta", { id: THREAD }) +
        message("user", "one") +
        record("event_msg", { type: "thread_rolled_back", num_turns: 9 }) +
        record("event_msg", { type: "thread_rolled_back" }) +
        message("user", "two"),
    );
    expect((await readHome(codex, home)).sessions[0]?.inactive).toEqual(["l2"]);
  });

  it("get the new title after the list of names changed", async () => {
    await save(THREAD, record("session_meta", { id: THREAD }) + message("user", "hello"));
    const names = join(home, ".codex", "session_index.jsonl");
    await writeFile(names, `${JSON.stringify({ id: THREAD, thread_name: "first" })}\n`);
    expect((await readHome(codex, home)).sessions[0]?.facts.title).toBe("first");
    await appendFile(names, `${JSON.stringify({ id: THREAD, thread_name: "second name" })}\n`);
    expect((await readHome(codex, home)).sessions[0]?.facts.title).toBe("second name");
  });

  it("are read without titles when the database is damaged", async () => {
    await save(THREAD, record("session_meta", { id: THREAD }) + message("user", "hello"));
    await writeFile(join(home, ".codex", "state_5.sqlite"), "no database at all, only text".repeat(20));
    const { sessions, unreadable } = await readHome(codex, home);
    expect(sessions[0]?.messages).toHaveLength(1);
    expect(unreadable).toHaveLength(1);
  });
});
