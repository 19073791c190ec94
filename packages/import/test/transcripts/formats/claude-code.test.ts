// What the fixture of Claude Code cannot show: files that grow, long and looping chains, links, forks of forks.
import { appendFile, mkdir, mkdtemp, readFile, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { claudeCode } from "../../../src/transcripts/formats/claude-code.ts";
import { RecordTree } from "../../../src/transcripts/formats/claude-code-branches.ts";
import { type Found, readHome } from "../read-fixture.ts";

const EVERYTHING = {
  includeBranches: true,
  includeReasoning: true,
  includeSystem: true,
  tools: "brief" as const,
};
let home = "";
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "hermes-claude-code-"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

describe("a file that grows", () => {
  it("keeps the ids of its messages", async () => {
    await write("s", [user("u1", null, "one"), answer("a1", "u1", "m1", "two")]);
    const before = idsOf(await read());
    await append("s", [user("u2", "a1", "three"), answer("a2", "u2", "m2", "four")]);
    expect(before).toEqual(["u1", "m1"]);
    expect(idsOf(await read())).toEqual(["u1", "m1", "u2", "m2"]);
  });

  it("keeps the id of an answer whose blocks arrive in later lines", async () => {
    await write("s", [user("u1", null, "one"), answer("a1", "u1", "m1", "I look")]);
    const before = (await read()).sessions[0]?.messages;
    await append("s", [answer("a2", "a1", "m1", "I look into it."), answer("a3", "a2", "m1", "Found it.")]);
    const after = (await read()).sessions[0]?.messages;
    expect(before?.at(-1)).toMatchObject({ id: "m1", text: "I look", line: 2 });
    expect(after?.at(-1)).toMatchObject({ id: "m1", text: "I look into it.\n\nFound it.", line: 2 });
    expect(after).toHaveLength(2);
  });

  it("has a last line that is not counted until it is whole", async () => {
    await write("s", [user("u1", null, "one")]);
    const line = JSON.stringify(answer("a1", "u1", "m1", "two"));
    await appendFile(path("s"), line.slice(0, 40));
    const torn = await read();
    await appendFile(path("s"), `${line.slice(40)}\n`);
    expect(torn.malformed).toEqual([]);
    expect(idsOf(torn)).toEqual(["u1"]);
    expect(idsOf(await read())).toEqual(["u1", "m1"]);
  });

  it("changes which branch is active", async () => {
    await write("s", [user("u1", null, "one"), answer("a1", "u1", "m1", "two"), user("u2", "a1", "left")]);
    const before = await read();
    await append("s", [user("u3", "a1", "taken")]);
    expect(before.sessions[0]?.inactive).toEqual([]);
    expect((await read()).sessions[0]?.inactive).toEqual(["u2"]);
  });
});

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

  it("calls everything active when a line is missing", async () => {
    await write("s", [user("u1", null, "one"), user("u2", "u1", "two"), user("u3", "gone", "three")]);
    expect((await read()).sessions[0]?.inactive).toEqual([]);
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

  it("are found by their origin when a branch gave them new ids", async () => {
    const from = (messageUuid: string): object => ({ forkedFrom: { sessionId: "a", messageUuid } });
    await write("a", [user("u1", null, "one"), call("a1", "u1", "m1", "t1"), result("r1", "a1", "t1")], 1);
    const copied = [
      { ...user("n1", null, "one"), ...from("u1") },
      { ...call("n2", "n1", "m1", "t1"), ...from("a1") },
      { ...result("n3", "n2", "t1"), ...from("r1") },
    ];
    await write("b", [...copied, user("n4", "n3", "two")], 2);
    const [, branch] = (await read()).sessions;
    expect(branch?.messages.map(({ id }) => id)).toEqual(["n4"]);
    expect(branch?.facts.continues).toMatchObject({ how: "fork", session: "a" });
  });

  it("are found behind a compaction that the fork begins with", async () => {
    const kept = [user("u2", "cut", "kept"), answer("a2", "u2", "m2", "copied")];
    await write("a", [user("u1", null, "one"), boundary("cut", "u1"), ...kept], 1);
    await write("b", [boundary("cut", "u1"), ...kept, user("u3", "a2", "new")], 2);
    const [, fork] = (await read()).sessions;
    expect(fork?.messages.map(({ id }) => id)).toEqual(["u3"]);
    expect(fork?.facts.continues).toEqual({ how: "compaction", session: "a", messageId: "u1" });
  });

  it("are also left out of inline subagents", async () => {
    const agent = { ...user("g1", null, "look"), isSidechain: true };
    await write("a", [user("u1", null, "one"), agent], 1);
    await write("b", [user("u1", null, "one"), agent, user("u2", "u1", "two")], 2);
    expect((await read()).sessions.map(({ facts }) => facts.nativeId)).toEqual(["a", "a-agent-g1", "b"]);
  });

  it("do not count as copies in their own session when it is read again", async () => {
    await write("s", [user("u1", null, "one"), user("u1", null, "one"), user("u2", "u1", "two")]);
    expect(idsOf(await read())).toEqual(["u1", "u2"]);
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

it("finds the session that a file goes on from in the folder of another project", async () => {
  const projects = join(home, "projects");
  await mkdir(join(projects, "-home-ana-project"), { recursive: true });
  await mkdir(join(projects, "-home-ana-worktree"), { recursive: true });
  await write("projects/-home-ana-project/first", [user("u1", null, "one"), answer("a1", "u1", "m1", "two")]);
  await write("projects/-home-ana-worktree/second", [user("u2", "a1", "three")], 2);
  const second = (await read()).sessions.find(({ facts }) => facts.nativeId === "second");
  expect(second?.facts.continues).toMatchObject({ how: "fork", session: "first" });
});

it("gives a late line of an answer an id of its own", async () => {
  await write("s", [
    answer("a1", null, "m1", "first"),
    user("u1", "a1", "wait"),
    answer("a2", "u1", "m1", "late"),
  ]);
  expect(idsOf(await read())).toEqual(["m1", "u1", "a2"]);
});

it("counts the tokens of an answer once, also when a line of it comes late", async () => {
  const line = (uuid: string, parent: string | null, text: string, output: number): object =>
    record("assistant", uuid, parent, {
      id: "m1",
      content: [{ type: "text", text }],
      usage: { input_tokens: 10, output_tokens: output },
    });
  await write("s", [line("a1", null, "first", 5), user("u1", "a1", "wait"), line("a2", "u1", "late", 9)]);
  const usages = (await read()).sessions[0]?.messages.flatMap(({ usage }) => usage ?? []);
  expect(usages).toMatchObject([
    { inputTokens: 10, outputTokens: 5 },
    { inputTokens: 0, outputTokens: 4 },
  ]);
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

it("gives commands of the program neither as rows nor as the title", async () => {
  const command = (name: string, args: string) =>
    `<command-name>/${name}</command-name>\n  <command-message>${name}</command-message>\n  <command-args>${args}</command-args>`;
  const texts = [
    command("clear", ""),
    "<local-command-stdout></local-command-stdout>",
    "<bash-input>ls</bash-input>",
    "<bash-stdout>a.txt</bash-stdout><bash-stderr></bash-stderr>",
    command("compact", "keep the names"),
    "Fresh start, please",
  ];
  await write(
    "s",
    texts.map((text, at) => user(`u${at}`, at === 0 ? null : `u${at - 1}`, text)),
  );
  const [session] = (await read()).sessions;
  expect(session?.messages.map(({ text }) => text)).toEqual(["Fresh start, please"]);
  expect(session?.facts.title).toBe("Fresh start, please");
});

it("gives thoughts only when they are asked for", async () => {
  const thought = { type: "thinking", thinking: "hm" };
  await write("s", [user("u1", null, "one"), answer("a1", "u1", "m1", [thought])]);
  const options = { ...EVERYTHING, includeReasoning: false };
  expect(idsOf(await readHome(claudeCode, home, { path: home, options }))).toEqual(["u1"]);
  expect((await read()).sessions[0]?.messages[1]).toMatchObject({ id: "m1", reasoning: "hm", text: "" });
});

it("reads subagents after all main files, whatever their age", async () => {
  await write("z", [user("u1", null, "one")], 9);
  await mkdir(join(home, "a", "subagents"), { recursive: true });
  await write("a/subagents/agent-1", [user("g1", null, "two")], 1);
  expect((await read()).sessions.map(({ facts }) => facts.nativeId)).toEqual(["z", "a-agent-1"]);
});

it("looks in the configured folder, else at both usual places", () => {
  const roots = (env: Record<string, string>): readonly string[] =>
    claudeCode.roots({ home: "/home/ana", env, platform: "linux", cwd: "/" });
  expect(roots({ CLAUDE_CONFIG_DIR: "/srv/claude" })).toContain("/srv/claude/projects");
  expect(roots({ CLAUDE_CONFIG_DIR: "/srv/claude" })).not.toContain("/home/ana/.claude/projects");
  expect(roots({})).toEqual(
    expect.arrayContaining(["/home/ana/.claude/projects", "/home/ana/.config/claude/projects"]),
  );
});

it("finds sessions below a folder whose own path has the names of the product's folders", async () => {
  const project = join(home, "subagents", "local_1", "projects", "plugins");
  await mkdir(join(project, "s", "subagents"), { recursive: true });
  const records = `${JSON.stringify(user("u1", null, "one"))}\n`;
  await writeFile(join(project, "s.jsonl"), records);
  await writeFile(join(project, "s", "subagents", "agent-1.jsonl"), records.replaceAll("u1", "g1"));
  const found = await readHome(claudeCode, home, { path: join(home, "subagents", "local_1", "projects") });
  expect(found.sessions.map(({ facts }) => facts.nativeId)).toEqual(["s", "s-agent-1"]);
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

function boundary(uuid: string, logicalParentUuid: string): object {
  return { ...record("system", uuid, null, {}), subtype: "compact_boundary", logicalParentUuid };
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
