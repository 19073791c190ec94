// Transcripts that must not arrive in the database, and files whose product is hard to tell.
import { appendFile, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { claudeCode } from "../../src/transcripts/formats/claude-code.ts";
import { codex } from "../../src/transcripts/formats/codex.ts";
import { contentsOf, importInto, openEmptyStore, temporaryFolder } from "./import-suite.ts";

const OPT_OUT = "<INSTRUCTIONS-TO-EPISODIC-MEMORY>DO NOT INDEX THIS CHAT</INSTRUCTIONS-TO-EPISODIC-MEMORY>";
const PROJECT = ".claude/projects/-home-ana-project";

describe("a file with the tag that keeps it out", () => {
  it("is left out when the tag stands in a record that becomes no message", async () => {
    await using folder = await temporaryFolder();
    await using store = await openEmptyStore(folder.path);
    await save(folder.path, `${PROJECT}/s.jsonl`, [
      user("u0", OPT_OUT, { isMeta: true }),
      user("u1", "hello"),
    ]);
    const report = await importInto(store, claudeCode, folder.path);
    expect(report.skipped).toEqual({ "opted out": 1 });
    expect(await contentsOf(store)).toEqual([]);
  });

  it("is left out when the tag stands in the instructions that Codex adds", async () => {
    await using folder = await temporaryFolder();
    await using store = await openEmptyStore(folder.path);
    const message = (text: string): object => ({
      type: "response_item",
      payload: { type: "message", role: "user", content: [{ type: "input_text", text }] },
    });
    await save(folder.path, ".codex/sessions/rollout-1.jsonl", [
      { type: "session_meta", payload: { id: "t1" } },
      message(`# AGENTS.md instructions for /home/ana/project\n${OPT_OUT}`),
      message("hello"),
    ]);
    expect((await importInto(store, codex, folder.path)).skipped).toEqual({ "opted out": 1 });
  });

  it("goes again when the tag is added after an import", async () => {
    await using folder = await temporaryFolder();
    await using store = await openEmptyStore(folder.path);
    const path = await save(folder.path, `${PROJECT}/s.jsonl`, [user("u1", "hello")]);
    expect((await importInto(store, claudeCode, folder.path)).sessionsAdded).toBe(1);
    await appendFile(
      path,
      `${JSON.stringify(user("u2", OPT_OUT, { isMeta: true })).replaceAll("/", "\\/")}\n`,
    );
    await importInto(store, claudeCode, folder.path);
    expect(await contentsOf(store)).toEqual([]);
  });

  it("takes its subagents with it, also those that were imported before", async () => {
    await using folder = await temporaryFolder();
    await using store = await openEmptyStore(folder.path);
    const path = await save(folder.path, `${PROJECT}/s.jsonl`, [user("u1", "hello")]);
    await save(folder.path, `${PROJECT}/s/subagents/agent-1.jsonl`, [user("v1", "look for it")]);
    expect((await importInto(store, claudeCode, folder.path)).sessionsAdded).toBe(2);
    await appendFile(path, `${JSON.stringify(user("u2", OPT_OUT))}\n`);
    await save(folder.path, `${PROJECT}/s/subagents/agent-2.jsonl`, [user("w1", "look again")]);
    await importInto(store, claudeCode, folder.path);
    expect(await contentsOf(store)).toEqual([]);
  });

  it("is kept when a user only talks about the tag", async () => {
    await using folder = await temporaryFolder();
    await using store = await openEmptyStore(folder.path);
    await save(folder.path, `${PROJECT}/s.jsonl`, [user("u1", "What does DO NOT INDEX THIS CHAT do?")]);
    expect((await importInto(store, claudeCode, folder.path)).sessionsAdded).toBe(1);
  });
});

describe("what a memory tool wrote about other conversations", () => {
  it("is known by its folder, also without a working directory", async () => {
    await using folder = await temporaryFolder();
    await using store = await openEmptyStore(folder.path);
    const observers = ".claude/projects/-home-ana--claude-mem-observer-sessions";
    await save(folder.path, `${observers}/s.jsonl`, [user("u1", "Observe this")]);
    expect((await importInto(store, claudeCode, folder.path)).skipped).toEqual({
      "written by a memory tool": 1,
    });
  });
});

function user(uuid: string, content: string, more: object = {}): object {
  const message = { role: "user", content };
  return { type: "user", uuid, parentUuid: null, sessionId: "s", message, ...more };
}

async function save(home: string, name: string, records: readonly object[]): Promise<string> {
  const path = join(home, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, records.map((one) => `${JSON.stringify(one)}\n`).join(""));
  return path;
}
