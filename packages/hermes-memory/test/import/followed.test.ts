// A session of Claude Code that the gateway stores from its requests and that is imported from its transcript, in either order: one
// session, nothing doubled, nothing lost that only one of both has seen.
import { appendFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openMemory, type UserMemory } from "@hermes-memory/core/internal/memory";
import type { HomeStore, MessageRow } from "@hermes-memory/core/internal/sessions";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { dryTarget } from "../../../import/src/internal.ts";
import { claudeCode } from "../../../import/src/transcripts/formats/claude-code.ts";
import { pi } from "../../../import/src/transcripts/formats/pi.ts";
import { mergeFollowed } from "../../../import/src/transcripts/merge-followed.ts";
import { line, linesOf, textOfLines, writeClaude } from "../../../import/test/transcripts/claude-lines.ts";
import { makeFixtureHome } from "../../../import/test/transcripts/fixture-home.ts";
import { importInto, temporaryFolder } from "../../../import/test/transcripts/import-suite.ts";
import { runJson } from "../cli/run.ts";

type Row = Readonly<Record<string, unknown>> & { readonly role: string };

const user = (content: unknown): Row => ({ role: "user", content });
const reply = (content: string | null, calls: readonly (readonly [string, string])[] = []): Row => ({
  role: "assistant",
  content,
  ...(calls.length === 0
    ? {}
    : {
        tool_calls: calls.map(([id, name]) => ({
          id,
          type: "function",
          function: { name, arguments: "{}" },
        })),
      }),
});
const result = (id: string, content: string): Row => ({ role: "tool", tool_call_id: id, content });

async function send(me: UserMemory, session: string, list: readonly Row[]) {
  const id = `claude-code-${session}`;
  return me.remember(id, list, { follow: "shown", source: "claude-code", sessionId: id });
}

async function storeOf(me: UserMemory): Promise<HomeStore> {
  return me.layers.memory.administrator.sessions({ mode: "write", create: true });
}

const FIXTURE = "10000000-0000-4000-8000-000000000001";

/** What Claude Code sends in this session: each request has the whole list. */
const LOG = "line of the log\n".repeat(400);
const OPENED = "<ide_opened_file>The user opened src/retry.ts</ide_opened_file>";
const START = [
  user([
    { type: "text", text: "<system-reminder>CLAUDE.md: use tabs</system-reminder>" },
    { type: "text", text: OPENED },
    { type: "text", text: "Why does the retry test fail on CI?" },
  ]),
  reply("I will look at the test and the log.", [
    ["toolu_1", "Read"],
    ["toolu_2", "Bash"],
  ]),
  result("toolu_1", 'it("retries", ...)'),
  result("toolu_2", LOG),
  reply("The test waits 5 ms, the runner needs more."),
];
const LEFT = [...START, user("Raise the wait to 50 ms."), reply("Done, 50 ms now.")];
const GOES_ON = [...START, user("Use fake timers instead.")];

describe("a session of the gateway and its transcript", () => {
  async function withFixture(
    use: (given: {
      readonly me: UserMemory;
      readonly store: HomeStore;
      readonly run: () => ReturnType<typeof importInto>;
      readonly texts: () => Promise<string[]>;
    }) => Promise<void>,
  ): Promise<void> {
    await using folder = await temporaryFolder();
    const home = join(folder.path, "home");
    await makeFixtureHome("claude-code", home);
    await using memory = await openMemory({ home: join(folder.path, "hermes") });
    const me = memory.owner;
    const store = await memory.administration.administrator.sessions({ mode: "write", create: true });
    await use({
      me,
      store,
      run: () => importInto(store, claudeCode, home),
      texts: async () =>
        (await store.getMessages(`claude-code-${FIXTURE}`)).map(({ role, content }) => `${role}: ${content}`),
    });
  }

  it("are one session when the gateway stored it first", () =>
    withFixture(async ({ me, store, run, texts }) => {
      for (let count = 1; count <= LEFT.length; count += 1) await send(me, FIXTURE, LEFT.slice(0, count));
      await send(me, FIXTURE, GOES_ON);
      const before = await texts();
      const rows = await store.messageCount(`claude-code-${FIXTURE}`);
      expect(before).toHaveLength(6);
      await run();
      const after = await texts();
      // Only the transcript has what came after the last request; the whole result, and the branch that was left, are there once.
      expect(after.slice(0, before.length)).toEqual(before);
      expect(after.slice(before.length).join("\n")).toContain("Rewriting with fake timers.");
      expect(after).toContain(`tool: ${LOG}`);
      expect(new Set(after).size).toBe(after.length);
      const all = await store.getMessages(`claude-code-${FIXTURE}`, { includeInactive: true });
      expect(all).toHaveLength(rows + after.length - before.length);
      expect(all.filter(({ content }) => content === "Done, 50 ms now.")).toMatchObject([{ active: 0 }]);
      const row = await store.getSession(`claude-code-${FIXTURE}`);
      expect(row).toMatchObject({
        source: "claude-code",
        user_id: null,
        ended_at: null,
        message_count: after.length,
      });
      expect(JSON.parse(row?.model_config ?? "{}")._import).toMatchObject({ native_id: FIXTURE });
      expect(await store.transcripts.listProvenance(all.map(({ id }) => id))).toHaveLength(all.length);
      // Nothing changes when both happen again.
      expect(await run()).toMatchObject({ sessionsAdded: 0, messagesAdded: 0 });
      expect(await texts()).toEqual(after);
      expect(await store.file!.checkHealth()).toMatchObject({ ok: true, problems: [] });
    }));

  it("are one session when it was imported first", () =>
    withFixture(async ({ me, store, run, texts }) => {
      await run();
      const before = await texts();
      const rows = await store.messageCount(`claude-code-${FIXTURE}`);
      const joined = ["and keep the old name", "also run the linter"].map((text) => ({ type: "text", text }));
      const command =
        "<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args>src/retry.ts</command-args>";
      const whole: Row[] = [
        ...GOES_ON,
        reply("Rewriting with fake timers.", [
          ["toolu_3", "Edit"],
          ["toolu_4", "Bash"],
        ]),
        result("toolu_3", "updated"),
        result("toolu_4", "the whole output"),
        user(joined),
        reply("Linter is clean."),
        user([
          { type: "text", text: "<local-command-stdout>ok</local-command-stdout>" },
          { type: "text", text: command },
        ]),
        reply("No further findings."),
        user("Commit it, please."),
        reply(null, [["toolu_5", "Bash"]]),
        result("toolu_5", "[main 1234567] test: fake timers"),
        reply("Committed as 1234567."),
        user("One more thing."),
      ];
      expect(await send(me, FIXTURE, whole)).toMatchObject({ stored: 1, takenBack: 0 });
      expect(await send(me, FIXTURE, [...whole, reply("Yes?")])).toMatchObject({ stored: 1, takenBack: 0 });
      expect(await texts()).toEqual([...before, "user: One more thing.", "assistant: Yes?"]);
      expect(await store.messageCount(`claude-code-${FIXTURE}`)).toBe(rows + 2);
      expect(await run()).toMatchObject({ messagesAdded: 0 });
      expect(await texts()).toEqual([...before, "user: One more thing.", "assistant: Yes?"]);
    }));
});

describe("a transcript that goes on while the gateway stores the session", () => {
  it("is merged again and again, by the command too", async () => {
    await using folder = await temporaryFolder();
    const home = join(folder.path, "home");
    const hermes = join(folder.path, "hermes");
    const path = await writeClaude(home, "s", linesOf("s", 4));
    const list = linesOf("s", 4).map(
      (_, at): Row => (at % 2 === 0 ? user(`s says ${at}`) : reply(`s says ${at}`)),
    );
    const texts = async () => {
      await using memory = await openMemory({ home: hermes });
      const store = await storeOf(memory.owner);
      return (await store.getMessages("claude-code-s")).map(({ content }) => content);
    };
    const grow = async (rows: readonly Row[]) => {
      await using memory = await openMemory({ home: hermes });
      return send(memory.owner, "s", rows);
    };
    const importNow = () =>
      runJson(
        ["sessions", "import", "--from", "claude-code", "--path", join(home, ".claude", "projects"), "--yes"],
        {
          home: hermes,
        },
      );
    await grow(list);
    await importNow();
    expect(await texts()).toEqual(["s says 0", "s says 1", "s says 2", "s says 3"]);
    // The gateway is ahead, then the transcript is, then both have the same.
    await grow([...list, user("s says 4")]);
    await importNow();
    await appendFile(
      path,
      textOfLines([line("s", 4, "s says 4"), line("s", 5, "s says 5"), line("s", 6, "s says 6")]),
    );
    await importNow();
    expect(await texts()).toEqual([0, 1, 2, 3, 4, 5, 6].map((at) => `s says ${at}`));
    const more = [...list, user("s says 4"), reply("s says 5"), user("s says 6"), reply("s says 7")];
    expect(await grow(more)).toMatchObject({ stored: 1, takenBack: 0 });
    await appendFile(path, textOfLines([line("s", 7, "s says 7")]));
    await importNow();
    expect(await texts()).toEqual([0, 1, 2, 3, 4, 5, 6, 7].map((at) => `s says ${at}`));
    await using memory = await openMemory({ home: hermes });
    const store = await storeOf(memory.owner);
    expect(await store.getMessages("claude-code-s", { includeInactive: true })).toHaveLength(8);
    expect((await memory.owner.chats()).map(({ chatId }) => chatId)).toEqual(["claude-code-s"]);
  });

  it("brings what came before the gateway was in use, in its place", async () => {
    await using folder = await temporaryFolder();
    const home = join(folder.path, "home");
    await writeClaude(home, "s", linesOf("s", 8));
    await using memory = await openMemory({ home: join(folder.path, "hermes") });
    const store = await memory.administration.administrator.sessions({ mode: "write", create: true });
    const summary = user(
      "This session is being continued from a previous conversation that ran out of context.",
    );
    await send(memory.owner, "s", [summary, user("s says 4"), reply("s says 5")]);
    await store.search("says"); // indexed before the rows move
    expect(await importInto(store, claudeCode, home)).toMatchObject({ sessionsUpdated: 1, messagesAdded: 6 });
    const texts = (await store.getMessages("claude-code-s")).map(({ content }) =>
      String(content).slice(0, 12),
    );
    expect(texts.filter((text) => text !== "This session")).toEqual(
      [0, 1, 2, 3, 4, 5, 6, 7].map((at) => `s says ${at}`),
    );
    expect(texts).toHaveLength(9);
    expect((await store.search("says", { limit: 20 })).hits).toHaveLength(8);
    expect(await store.file!.checkHealth()).toMatchObject({ ok: true, problems: [] });
    const next = [
      summary,
      user("s says 4"),
      reply("s says 5"),
      user("s says 6"),
      reply("s says 7"),
      user("new"),
    ];
    expect(await send(memory.owner, "s", next)).toMatchObject({ stored: 1, takenBack: 0 });
  });

  it("is left alone when another process continued the session, or a user has one of this id", async () => {
    await using folder = await temporaryFolder();
    const home = join(folder.path, "home");
    await writeClaude(home, "s", linesOf("s", 4));
    await using memory = await openMemory({ home: join(folder.path, "hermes") });
    const store = await memory.administration.administrator.sessions({ mode: "write", create: true });
    await store.createSession("claude-code-s", { source: "cli" });
    expect(await importInto(store, claudeCode, home)).toMatchObject({
      skipped: { "a session with this id exists here": 1 },
    });
    expect(await store.messageCount("claude-code-s")).toBe(0);
  });
});

describe("a program that names no session in its requests", () => {
  /** As pi writes it: `said` by the user and the model in turns, a second apart. */
  function transcriptOf(id: string, said: readonly string[], startedAt: number): string {
    const at = (seconds: number) => new Date(startedAt + seconds * 1000).toISOString();
    const lines = said.map((text, index) => ({
      ...{ type: "message", id: `${id}-${index}`, parentId: index === 0 ? null : `${id}-${index - 1}` },
      timestamp: at(index),
      message: { role: index % 2 === 0 ? "user" : "assistant", content: [{ type: "text", text }] },
    }));
    const head = { type: "session", version: 3, id, timestamp: at(0), cwd: "/home/ana/shop" };
    return [head, ...lines].map((each) => `${JSON.stringify(each)}\n`).join("");
  }

  const listOf = (said: readonly string[]): Row[] =>
    said.map((text, index) => (index % 2 === 0 ? user(text) : reply(text)));

  async function withChats(
    use: (given: {
      readonly me: UserMemory;
      readonly store: HomeStore;
      readonly path: (id: string) => string;
      readonly run: (isDry?: boolean) => ReturnType<typeof importInto>;
    }) => Promise<void>,
  ): Promise<void> {
    await using folder = await temporaryFolder();
    const home = join(folder.path, "home");
    const sessions = join(home, ".pi", "agent", "sessions", "--home-ana-shop--");
    await mkdir(sessions, { recursive: true });
    await using memory = await openMemory({ home: join(folder.path, "hermes") });
    const store = await memory.administration.administrator.sessions({ mode: "write", create: true });
    await use({
      me: memory.owner,
      store,
      path: (id) => join(sessions, `2026-11-18T00-00-00-000Z_${id}.jsonl`),
      run: (isDry) =>
        importInto(store, pi, home, { now: Date.now, ...(isDry && { target: dryTarget(store) }) }),
    });
  }

  it("has one session of the gateway's chat and its transcript, whichever is first", () =>
    withChats(async ({ me, store, path, run }) => {
      const said = ["Where is the kiln?", "Behind the barn.", "And the glaze?", "In the loft."];
      const now = Date.now();
      const follow = (chat: string, list: readonly string[]) =>
        me.remember(chat, listOf(list), { follow: "shown", source: "api" });
      // The gateway stores first.
      await follow("conversation-a", said.slice(0, 2));
      await writeFile(path("a"), transcriptOf("a", said.slice(0, 2), now));
      const planned = await run(true);
      expect(await run()).toMatchObject({ sessionsUpdated: 1, messagesAdded: 0 });
      expect(planned).toMatchObject({ sessionsUpdated: 1, messagesAdded: 0 });
      await follow("conversation-a", said);
      await writeFile(path("a"), transcriptOf("a", said, now));
      await run();
      // The transcript is first, and the gateway gets the whole list later.
      await writeFile(path("b"), transcriptOf("b", ["Hello", "Good day."], now - 3_600_000));
      await run();
      expect(await store.setSessionTitle("pi-b", "The hour")).toBe(true);
      await follow("conversation-b", ["Hello", "Good day.", "Is it late?", "Not yet."]);
      const late = transcriptOf("b", ["Hello", "Good day."], now - 3_600_000);
      const more = transcriptOf("b", ["", "", "Is it late?", "Not yet."], now)
        .split("\n")
        .slice(3)
        .join("\n");
      await writeFile(path("b"), late + more);
      await run();
      expect(await store.getSession("pi-b")).toBeNull();
      const texts = async (id: string) => (await store.getMessages(id)).map(({ content }) => content);
      expect(await texts("chat.conversation-a")).toEqual(said);
      expect(await texts("chat.conversation-b")).toEqual(["Hello", "Good day.", "Is it late?", "Not yet."]);
      expect(await store.sessionCount()).toBe(2);
      expect(await store.getSession("chat.conversation-b")).toMatchObject({ title: "The hour" });
      expect(await store.resolveSessionId("pi-b")).toBe("chat.conversation-b");
      expect(await run()).toMatchObject({ sessionsUpdated: 0, sessionsAdded: 0 });
      expect(await store.getSession("chat.conversation-a")).toMatchObject({
        source: "pi",
        cwd: "/home/ana/shop",
      });
      await follow("conversation-a", [...said, "Thanks."]);
      expect(await texts("chat.conversation-a")).toEqual([...said, "Thanks."]);
    }));

  it("keeps its newest reply as its newest mark, so that later requests still find it", () =>
    withChats(async ({ me, store, path, run }) => {
      const said = ["hi", "Hello!"];
      for (const chat of ["a", "b"]) {
        await me.remember(`conversation-${chat}`, listOf(said), { follow: "shown", source: "api" });
        await store.gateway.saveMarks(`chat.conversation-${chat}`, ["prefix:hi"]);
      }
      await store.gateway.saveMarks("chat.conversation-b", ["prefix:more"]);
      await writeFile(path("a"), transcriptOf("a", said, Date.now()));
      await run();
      // Of both, only one still stands at this reply.
      expect(await store.gateway.findMark(["prefix:hi"])).toMatchObject({
        session_id: "chat.conversation-a",
      });
    }));

  it("is found where the first prompt begins with a slash", () =>
    withChats(async ({ me, store, path, run }) => {
      const said = ["/home/ana/x.log explain this", "It is a log."];
      await me.remember("conversation-a", listOf(said), { follow: "shown", source: "api" });
      await writeFile(path("a"), transcriptOf("a", said, Date.now()));
      await run();
      expect(await store.sessionCount()).toBe(1);
    }));

  it("says again what was taken back earlier", () =>
    withChats(async ({ me, store, path, run }) => {
      const said = ["Where is the kiln?", "Behind the barn.", "Run it", "Started."];
      const follow = (list: readonly string[]) =>
        me.remember("conversation-a", listOf(list), { follow: "shown", source: "api" });
      const start = [...said.slice(0, 2), "Run the tests", "Done."];
      await follow(start);
      await follow(said);
      const now = Date.now();
      await writeFile(path("a"), transcriptOf("a", said, now));
      await run();
      // These turns are in the transcript only.
      const all = [...said, "Run the tests", "Done."];
      await writeFile(path("a"), transcriptOf("a", all, now));
      await run();
      expect((await store.getMessages("chat.conversation-a")).map(({ content }) => content)).toEqual(all);
    }));

  it("is whole in one session after the program's own compaction, where the gateway goes on too", () =>
    withChats(async ({ me, store, path, run }) => {
      const said = ["Where is the kiln?", "Behind the barn.", "And the glaze?", "In the loft."];
      const more = ["Which colour?", "Green."];
      const now = Date.now();
      const follow = (chat: string, list: readonly Row[]) =>
        me.remember(chat, list, { follow: "shown", source: "api" });
      await follow("conversation-a", listOf(said));
      await writeFile(path("a"), transcriptOf("a", said, now));
      await run();
      const summary = user(
        "The conversation history before this point was compacted into the following summary: a kiln",
      );
      await follow("conversation-b", [summary, ...listOf([...said.slice(2), ...more])]);
      await store.gateway.saveMarks("chat.conversation-b", ["prefix:b"]);
      await writeFile(path("a"), transcriptOf("a", [...said, ...more], now));
      const planned = await run(true);
      expect(await run()).toEqual(planned);
      const texts = async () =>
        (await store.getMessages("chat.conversation-a")).map(({ content }) => content);
      expect(await texts()).toEqual([...said, ...more]);
      expect(await store.sessionCount()).toBe(1);
      expect(await store.gateway.findMark(["prefix:b"])).toMatchObject({ session_id: "chat.conversation-a" });
      await follow("conversation-a", [summary, ...listOf([...said.slice(2), ...more, "Thanks."])]);
      expect(await texts()).toEqual([...said, ...more, "Thanks."]);
    }));

  it("has the chat that goes on as its transcript does, of two that began alike", () =>
    withChats(async ({ me, store, path, run }) => {
      const now = Date.now();
      const [short, long] = [
        ["Hi", "Good day."],
        ["Hi", "Good day.", "Is it late?", "Not yet."],
      ];
      for (const [name, said] of [
        ["long", long],
        ["short", short],
      ] as const) {
        await me.remember(`conversation-${name}`, listOf(said), { follow: "shown", source: "api" });
        await writeFile(path(name), transcriptOf(name, said, now + (name === "long" ? 5000 : 0)));
      }
      await run();
      expect(await store.sessionCount()).toBe(2);
      for (const name of ["long", "short"])
        expect(await store.transcripts.getTranscriptState(`pi-${name}`)).toMatchObject({
          session: `chat.conversation-${name}`,
        });
    }));

  it("does not lose what was imported before its file became shorter", () =>
    withChats(async ({ me, store, path, run }) => {
      const now = Date.now();
      await writeFile(path("a"), transcriptOf("a", ["Hi", "Good day.", "Keep this", "Kept."], now));
      await run();
      await me.remember("conversation-a", listOf(["Hi", "Good day."]), { follow: "shown", source: "api" });
      await writeFile(path("a"), transcriptOf("a", ["Hi", "Good day."], now));
      await run();
      expect(await store.messageCount("pi-a")).toBe(4);
    }));

  it("keeps apart chats that are not the same conversation", () =>
    withChats(async ({ me, store, path, run }) => {
      const now = Date.now();
      const chats: readonly (readonly [string, readonly string[]])[] = [
        ["other-answer", ["Hi", "Who is there?"]],
        ["more-questions", ["Hi", "Good day.", "Unknown to the transcript"]],
        ["within", ["Is it late?", "Not yet."]],
        ["same", ["Hi", "Good day."]],
      ];
      for (const [name, said] of chats)
        await me.remember(`conversation-${name}`, listOf(said), { follow: "shown", source: "api" });
      await me.remember("own-name", listOf(["Hi", "Good day."]), { follow: "shown", source: "api" });
      await writeFile(
        path("near"),
        transcriptOf("near", ["Hi", "Good day.", "Is it late?", "Not yet."], now),
      );
      await writeFile(path("far"), transcriptOf("far", ["Hi", "Good day."], now - 7_200_000));
      expect(await run()).toMatchObject({ sessionsAdded: 1, sessionsUpdated: 1, messagesAdded: 4 });
      expect(await store.transcripts.getTranscriptState("pi-near")).toMatchObject({
        session: "chat.conversation-same",
      });
      expect(await store.getSession("pi-far")).not.toBeNull();
      expect(await store.sessionCount()).toBe(6);
    }));
});

it("and its fork are counted alike by a dry run and by the import", async () => {
  await using folder = await temporaryFolder();
  const home = join(folder.path, "home");
  const lines = linesOf("s", 8);
  await writeClaude(home, "s", lines);
  const copies = lines.map((one) => ({ ...one, sessionId: "t" }));
  await writeClaude(home, "t", [...copies, line("t", 8, "t says 8"), line("t", 9, "t says 9")]);
  await using memory = await openMemory({ home: join(folder.path, "hermes") });
  const store = await memory.administration.administrator.sessions({ mode: "write", create: true });
  await send(memory.owner, "s", [user("s says 0"), reply("s says 1"), user("s says 2"), reply("s says 3")]);
  await send(memory.owner, "t", [
    user("s says 0"),
    reply("s says 1"),
    user("s says 2"),
    reply("s says 3"),
    user("t says 8"),
  ]);
  const dry = await importInto(store, claudeCode, home, { target: dryTarget(store) });
  expect(dry).toMatchObject({ sessionsUpdated: 2, messagesAdded: 5, messagesUpdated: 5 });
  expect(await importInto(store, claudeCode, home)).toEqual(dry);
});

describe("merging", () => {
  const rowOf = (text: string, id: number, more: Partial<MessageRow> = {}): MessageRow =>
    ({
      id,
      role: text.startsWith("u") ? "user" : "assistant",
      content: text,
      tool_calls: null,
      tool_call_id: null,
      platform_message_id: null,
      timestamp: 1,
      active: 1,
      ...more,
    }) as unknown as MessageRow;
  const messageOf = (text: string, at: number) => ({
    role: text.startsWith("u") ? "user" : "assistant",
    content: text,
    platformMessageId: `m-${text}-${at}`,
    timestamp: 100 + at,
    isBranch: false,
  });
  const merged = (rows: readonly string[], texts: readonly string[]): string[] => {
    const { order } = mergeFollowed(
      rows.map((text, at) => rowOf(text, at + 1)),
      texts.map(messageOf),
    );
    return order.map((item) => (typeof item === "number" ? (rows[item - 1] ?? "?") : item.content));
  };

  it("has each message once, and both orders, when each side lacks some", () => {
    const sides = fc
      .array(fc.tuple(fc.constantFrom("u", "a"), fc.boolean(), fc.boolean()), { maxLength: 40 })
      .map((list) =>
        list.map(([role, isStored, isGiven], at) => ({ text: `${role}${at}`, isStored, isGiven })),
      );
    fc.assert(
      fc.property(sides, (list) => {
        const rows = list.filter(({ isStored }) => isStored).map(({ text }) => text);
        const texts = list.filter(({ isGiven }) => isGiven).map(({ text }) => text);
        const all = merged(rows, texts);
        expect([...all].sort()).toEqual([...new Set([...rows, ...texts])].sort());
        expect(all.filter((text) => rows.includes(text))).toEqual(rows);
        expect(all.filter((text) => texts.includes(text))).toEqual(texts);
      }),
    );
  });

  it("does not double long chats that repeat themselves, where the transcript has more in front", () => {
    const rows = Array.from({ length: 1100 }, (_, at) => (at % 2 === 0 ? "u continue" : "a OK"));
    expect(merged(rows, ["u first", "a well", ...rows])).toHaveLength(1102);
  });

  it("keeps the image of a row, and knows calls by their own half of an id", () => {
    const image = [
      { type: "text", text: "u look" },
      { type: "image_url", image_url: { url: "x" } },
    ];
    const given = { ...messageOf("u look\n\n[image]", 0) };
    const row = rowOf("u look", 1, { content: image as never, platform_message_id: given.platformMessageId });
    expect(mergeFollowed([row], [given]).known).toEqual([expect.objectContaining({ isLonger: false })]);
    const call = (id: string) => [{ id, function: { name: "run", arguments: "{}" } }];
    const calls = rowOf("", 1, { role: "assistant", tool_calls: call("call_A") as never });
    const result = rowOf("42", 2, { role: "tool", tool_call_id: "call_A" });
    const messages = [
      { ...messageOf("", 0), role: "assistant", toolCalls: JSON.stringify(call("call_A|fc_1")) },
      { ...messageOf("42", 1), role: "tool", toolCallId: "call_A|fc_1" },
    ];
    expect(mergeFollowed([calls, result], messages).order).toEqual([1, 2]);
  });

  it("knows calls whose ids the client rewrote, by question, arguments and result", () => {
    const call = (id: string) => [
      { id, type: "function", function: { name: "run", arguments: '{"c":"ls"}' } },
    ];
    const rows = [
      ...[rowOf("u look", 1), rowOf("", 2, { role: "assistant", tool_calls: call("call1") as never })],
      ...[rowOf("a.txt", 3, { role: "tool", tool_call_id: "call1" }), rowOf("done", 4)],
    ];
    const transcript = (result: string) => [
      messageOf("u look", 0),
      { ...messageOf("", 1), role: "assistant", toolCalls: JSON.stringify(call("call_1")) },
      { ...messageOf(result, 2), role: "tool", toolCallId: "call_1" },
      messageOf("done", 3),
    ];
    expect(mergeFollowed(rows, transcript("a.txt")).order).toEqual([1, 2, 3, 4]);
    expect(mergeFollowed(rows, transcript("b.txt")).order).toHaveLength(6);
  });

  it("does not double repeated texts", () => {
    const repeated = fc.array(fc.constantFrom("u again", "a ok", "u next", "a done"), { maxLength: 12 });
    fc.assert(
      fc.property(repeated, repeated, (before, after) => {
        const texts = [...before, "u the only one", ...after];
        expect(merged(texts, texts)).toEqual(texts);
        expect(merged([...before, "u the only one"], texts)).toEqual(texts);
      }),
    );
  });

  it("knows messages that a request has joined", () => {
    expect(merged(["u one\nu two", "a ok"], ["u one", "u two", "a ok", "u three"])).toEqual([
      "u one\nu two",
      "a ok",
      "u three",
    ]);
  });
});
