// What the fixture of Claude Code cannot show: files that grow, long and looping chains, links, forks of forks.
import { appendFile, mkdir, mkdtemp, readFile, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { claudeCode } from "../../../src/transcripts/formats/claude-code.ts";
import { RecordTree } from "../../../src/transcripts/formats/claude-code-branches.ts";
import { type Found, readHome } from "../read-fixture.ts";

let home = "";
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "hermes-claude-code-"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

it("gives the same ids in the same order wherever a file was cut when it was read before", async () => {
  const fixture = join(
    import.meta.dirname,
    "../fixtures/claude-code/home/dot-claude/projects/-home-ana-project",
  );
  const whole = await readFile(join(fixture, "10000000-0000-4000-8000-000000000001.jsonl"));
  await writeFile(path("s"), whole);
  const ids = idsOf(await read());
  for (let end = 1; end < whole.length; end += 97) {
    await writeFile(path("s"), whole.subarray(0, end));
    const before = idsOf(await read());
    expect(before).toEqual(ids.slice(0, before.length));
  }
});

describe("the tree of records", () => {
  it("takes a chain of 100,000 records and a branch as long in linear time", () => {
    const tree = new RecordTree();
    for (const branch of ["left", "taken"])
      for (let at = 0; at < 100_000; at++) {
        const parent = at === 0 ? "root" : `${branch}-${at - 1}`;
        if (tree.add(`${branch}-${at}`, parent, true)) tree.name(`${branch}-${at}`, `${branch}-${at}`);
      }
    tree.add("root", undefined, false); // a parent may also stand behind its children
    const inactive = tree.inactive();
    expect(inactive).toHaveLength(100_000);
    expect(inactive.every((id) => id.startsWith("left-"))).toBe(true);
  });

  it("ends where parents go round in a circle, and then calls everything active", async () => {
    await write("s", [
      user("u1", "u3", "one"),
      user("u2", "u1", "two"),
      user("u3", "u2", "three"),
      user("self", "self", "four"),
      user("x", "y", "five"),
      user("y", "x", "six"),
      user("u4", "u3", "seven"),
    ]);
    const found = await read();
    expect(found.sessions[0]?.inactive).toEqual([]);
    expect(found.sessions[0]?.messages).toHaveLength(7);
  });

  it("keeps results of parallel calls, whose parents are the lines of their calls", async () => {
    await write("s", [
      user("u1", null, "one"),
      call("a1", "u1", "m1", "t1"),
      call("a2", "a1", "m1", "t2"),
      result("r1", "a1", "t1"),
      result("r2", "a2", "t2"),
      answer("a3", "r2", "m2", "done"),
    ]);
    const found = await read();
    expect(idsOf(found)).toEqual(["u1", "m1", "r1:t1", "r2:t2", "m2"]);
    expect(found.sessions[0]?.inactive).toEqual([]);
  });

  it("keeps the branch of a second terminal, which is written while the other one goes on", async () => {
    await write("s", [
      user("u1", null, "one"),
      answer("a1", "u1", "m1", "two"),
      user("left", "a1", "a branch that was left before both"),
      user("first", "a1", "first terminal"),
      user("second", "a1", "second terminal"),
      answer("a2", "first", "m2", "to the first"),
      answer("a3", "second", "m3", "to the second"),
    ]);
    expect((await read()).sessions[0]?.inactive).toEqual(["left"]);
  });
});

describe("copies of history", () => {
  it("are found in a fork of a fork", async () => {
    const first = [user("u1", null, "one"), answer("a1", "u1", "m1", "two")];
    const second = [...first, user("u2", "a1", "three"), answer("a2", "u2", "m2", "four")];
    await write("a", first, 1);
    await write("b", second, 2);
    await write("c", [...second, user("u3", "a2", "five")], 3);
    const found = await read();
    expect(found.sessions.map(({ messages }) => messages.map(({ id }) => id))).toEqual([
      ["u1", "m1"],
      ["u2", "m2"],
      ["u3"],
    ]);
    expect(found.sessions[2]?.facts.continues).toEqual({ how: "fork", session: "b" });
  });
});

it("leaves out outputs that a link or a name leads out of the folder to", async () => {
  const placed = (name: string): object => result(name, "u1", name, persisted(`/x/s/tool-results/${name}`));
  await write("s", [user("u1", null, "one"), placed("link"), placed(".."), placed("here"), placed("big")]);
  await mkdir(join(home, "s", "tool-results"), { recursive: true });
  await writeFile(join(home, "secret"), "secret");
  await symlink(join(home, "secret"), join(home, "s", "tool-results", "link"));
  await writeFile(join(home, "s", "tool-results", "here"), "whole output");
  await writeFile(join(home, "s", "tool-results", "big"), "x".repeat(1024 ** 2 + 7));
  const texts = (await read()).sessions[0]?.messages.slice(1).map(({ text }) => text);
  expect(texts?.slice(0, 3)).toEqual([
    persisted("/x/s/tool-results/link"),
    persisted("/x/s/tool-results/.."),
    "whole output",
  ]);
  expect(texts?.[3]).toHaveLength(1024 ** 2 + "\n[7 more bytes]".length);
});

it.each([
  "<memory-context>\nlikes tabs\n</memory-context>\nFix the build",
  "<relevant_memories>likes tabs</relevant_memories>\n\nFix the build",
])("takes no injected text as the title: %j", async (prompt) => {
  await write("s", [
    user("u0", null, "<task-notification>build done</task-notification>"),
    user("u1", "u0", prompt),
  ]);
  expect((await read()).sessions[0]?.facts.title).toBe("Fix the build");
});

it("reads subagents after all main files, whatever their age", async () => {
  await write("z", [user("u1", null, "one")], 9);
  await mkdir(join(home, "a", "subagents"), { recursive: true });
  await write("a/subagents/agent-1", [user("g1", null, "two")], 1);
  expect((await read()).sessions.map(({ facts }) => facts.nativeId)).toEqual(["z", "a-agent-1"]);
});

it.each([
  [user("u1", null, "one"), true],
  [{ type: "summary", summary: "s", leafUuid: "x" }, true],
  [{ type: "file-history-snapshot", messageId: "m", snapshot: {} }, true],
  [{ ...user("u1", null, "one"), message: { role: "user", parts: [] } }, false],
  [{ type: "session", id: "x" }, false],
  [{ role: "user", content: "x" }, false],
  [{}, false],
])("recognises its files: %j", (first: object, isOurs) => {
  expect(claudeCode.recognises({ path: "x.jsonl", head: new Uint8Array(), first: { ...first } })).toBe(
    isOurs,
  );
});

function record(type: string, uuid: string, parentUuid: string | null, message: object): object {
  return { type, uuid, parentUuid, sessionId: "s", timestamp: "2026-09-01T09:00:00.000Z", message };
}

function user(uuid: string, parent: string | null, content: unknown): object {
  return record("user", uuid, parent, { role: "user", content });
}

function answer(uuid: string, parent: string | null, id: string, content: unknown): object {
  return record("assistant", uuid, parent, { id, role: "assistant", content });
}

function call(uuid: string, parent: string, id: string, tool: string): object {
  return answer(uuid, parent, id, [{ type: "tool_use", id: tool, name: "Bash", input: { command: tool } }]);
}

function result(uuid: string, parent: string, tool: string, content = "ok"): object {
  return user(uuid, parent, [{ type: "tool_result", tool_use_id: tool, content }]);
}

function persisted(where: string): string {
  return `<persisted-output>\nFull output saved to: ${where}\n</persisted-output>`;
}

function path(name: string): string {
  return join(home, `${name}.jsonl`);
}

async function write(name: string, records: readonly object[], day = 1): Promise<void> {
  await writeFile(path(name), "");
  await append(name, records);
  const changed = new Date(`2020-01-0${day}T00:00:00Z`);
  await utimes(path(name), changed, changed);
}

function append(name: string, records: readonly object[]): Promise<void> {
  return appendFile(path(name), records.map((one) => `${JSON.stringify(one)}\n`).join(""));
}

function read(): Promise<Found> {
  return readHome(claudeCode, home, { path: home });
}

function idsOf(found: Found): unknown[] {
  return found.sessions.flatMap(({ messages }) => messages.map(({ id }) => id));
}
