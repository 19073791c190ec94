// Hostile input: numbers that are not numbers, ids with paths, rows that other programs damaged, clocks that jump. Each gets a
// clear answer, and no stored data is lost. Files and locks are in hostile-files.slow.test.ts.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { type HomeStore, openSessionStore } from "../../../src/sessions/index.ts";
import { HOUR, ManualClock, withSessions } from "../../../testing/session-store/support.ts";
import { ALL_READS, ALL_WRITES, HOME_WRITES, outcomeOf, READS, WRITES } from "../../fakes/every-call.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";

async function open(options: { clock?: ManualClock } = {}): Promise<HomeStore> {
  return openSessionStore({ path: join(tempDirectory(), "state.db"), ...options });
}

/** Changes rows like a program that follows no rules. */
function meddle(store: HomeStore, sql: string, ...values: (string | number | Uint8Array | null)[]): void {
  using db = new DatabaseSync(store.location, { enableForeignKeyConstraints: false, timeout: 5000 });
  db.prepare(sql).run(...values);
}

describe("numbers", () => {
  const NUMBERS = [-1, -1e9, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 2.5, 1e300];

  it.for(NUMBERS)(
    "a limit, window or offset of %d gives a part of the rows, never an error",
    async (number) => {
      await using store = await open();
      const run = "cron_x_1";
      await store.createSession(run, { source: "cron" });
      const ids = await store.appendMany(run, Array(12).fill({ role: "user", content: "x" }));
      const anchor = ids[5] ?? 0;
      // NaN counts as not given, so the default applies.
      const shown = Number.isNaN(number) || number >= 1 ? 1 : 0;
      const first = number > 0 ? 0 : shown;
      const recent = await store.listRecentUserMessages(run, { limit: number });
      expect(recent).toHaveLength(shown === 0 ? 0 : number === 2.5 ? 2 : 12);
      for (const orderByLastActive of [true, false]) {
        expect(await store.listSessionsRich({ limit: number, orderByLastActive })).toHaveLength(shown);
        expect(await store.listSessionsRich({ offset: number, orderByLastActive })).toHaveLength(
          number > 0 ? 0 : 1,
        );
      }
      expect(await store.searchSessions({ limit: number })).toHaveLength(shown);
      expect(await store.searchSessions({ limit: number, offset: number })).toHaveLength(first);
      expect(await store.searchSessionsById(run, { limit: number })).toHaveLength(shown);
      expect(await store.listCronJobRuns("x", { limit: number })).toHaveLength(shown);
      expect(await store.sessionCount({ minMessageCount: number })).toBe(number > 12 ? 0 : 1);
      const around = await store.getMessagesAround(run, anchor, { window: number });
      expect(around.window.map(({ id }) => id)).toContain(anchor);
      if (number < 0) expect(around.window).toHaveLength(1);
      const view = await store.getAnchoredView(run, anchor, { window: number, bookend: number });
      if (number < 0) expect(view).toMatchObject({ bookend_start: [], bookend_end: [], messages_before: 0 });
    },
  );

  it.for(NUMBERS)("%d as the id of a message names none", async (number) => {
    await using store = await open();
    await store.createSession("a");
    await store.appendMessage("a", { role: "user", content: "x" });
    expect(await store.getMessagesAround("a", number)).toMatchObject({ window: [] });
    expect(await outcomeOf(store.rewindToMessage("a", number))).toBe("unknown-message");
    if (!(number < 0)) expect(await store.restoreRewound("a", number)).toBe(0);
    expect(await store.undoTurns("a", number)).toMatchObject({ turns_undone: 1 });
  });

  it.for([Number.NaN, Number.POSITIVE_INFINITY])(
    "a session that starts at %d starts now",
    async (startedAt) => {
      const clock = new ManualClock();
      await using store = await open({ clock });
      await store.createSession("a", { startedAt });
      expect(await store.getSession("a")).toMatchObject({ started_at: clock.seconds });
    },
  );

  it.for([Number.NaN, Number.POSITIVE_INFINITY])(
    "a token count of %d leaves the counters alone",
    async (number) => {
      await using store = await open();
      await store.updateTokenCounts("a", {
        inputTokens: 5,
        outputTokens: 7,
        apiCallCount: 1,
        actualCostUsd: 2,
      });
      await store.updateTokenCounts("a", {
        inputTokens: number,
        outputTokens: number,
        apiCallCount: number,
        estimatedCostUsd: number,
        actualCostUsd: number,
      });
      expect(await store.getSession("a")).toMatchObject({
        input_tokens: 5,
        output_tokens: 7,
        api_call_count: 1,
        actual_cost_usd: 2,
      });
    },
  );

  it.for([-1, -5000, Number.NaN, Number.NEGATIVE_INFINITY])(
    "pruning what is older than %d days removes nothing",
    async (olderThanDays) => {
      await using store = await withSessions(open(), "a");
      await store.appendMessage("a", { role: "user", content: "x" });
      await store.endSession("a", "cli_close");
      await outcomeOf(store.pruneSessions({ olderThanDays }));
      await store.file!.maybeAutoPruneAndVacuum({ retentionDays: olderThanDays });
      expect(await store.messageCount("a")).toBe(1);
    },
  );

  it("messages with impossible times and counts are stored, at the time they came", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await store.createSession("a");
    for (const timestamp of [Number.NaN, Number.POSITIVE_INFINITY, "soon", new Date(Number.NaN), ""])
      await store.appendMessage("a", { role: "user", content: "x", timestamp, tokenCount: Number.NaN });
    const rows = await store.getMessages("a");
    expect(rows.map((row) => [row.timestamp, row.token_count])).toEqual(Array(5).fill([clock.seconds, null]));
  });
});

describe("rows of other programs", () => {
  it("with integers that no number holds are read as the nearest one", async () => {
    await using store = await withSessions(open(), "a");
    await store.appendMessage("a", { role: "user", content: "x" });
    const counters = ["message_count", "tool_call_count", "input_tokens", "output_tokens", "api_call_count"];
    const set = [...counters, "rewind_count"].map((name) => `${name} = 9223372036854775807`);
    meddle(store, `UPDATE sessions SET ${set.join(", ")}, reasoning_tokens = -9223372036854775807 - 1`);
    meddle(store, "UPDATE messages SET token_count = 9223372036854775807, observed = 9007199254740993");
    meddle(store, "INSERT INTO hermes_memory_origin(message_id, origin_id) VALUES (1, 9223372036854775807)");
    const most = Number.MAX_SAFE_INTEGER;
    expect(await store.getSession("a")).toMatchObject({
      message_count: most,
      input_tokens: most,
      rewind_count: most,
      reasoning_tokens: -most,
    });
    expect(await store.getMessages("a")).toMatchObject([{ token_count: most, origin_id: most }]);
    await expectReadable(store, "a");
    await store.appendMessage("a", { role: "user", content: "y" });
    await store.updateTokenCounts("a", { inputTokens: 7 });
    expect(await store.getSession("a")).toMatchObject({ message_count: most, input_tokens: most });
  });

  it("whose ids are used up to the last readable one can still be read and added to", async () => {
    await using store = await withSessions(open(), "a");
    meddle(
      store,
      "INSERT INTO messages(id, session_id, role, content, timestamp) VALUES (9007199254740993, 'a', 'user', 'far', 1)",
    );
    await store.appendMessage("a", { role: "user", content: "部署docker服务" });
    expect((await store.getMessages("a")).map(({ content }) => content)).toEqual(["far", "部署docker服务"]);
  });

  it("without an id are no sessions, and leave the file usable", async () => {
    await using store = await open();
    const insert = "INSERT INTO sessions(id, source, started_at, ended_at) VALUES (NULL, 'cli', 1, 2)";
    meddle(store, insert);
    await store.createSession("a", { source: "cli" });
    // Everything that is created again when a file is opened.
    for (const name of ["session_insert", "message_insert"])
      meddle(store, `DROP TRIGGER hermes_memory_${name}`);
    await using again = await openSessionStore({ path: store.location });
    for (const orderByLastActive of [true, false])
      expect(await again.listSessionsRich({ orderByLastActive })).toMatchObject([{ id: "a" }]);
    expect(await again.searchSessions()).toMatchObject([{ id: "a" }]);
    expect(await again.listPrunable()).toEqual([]);
    expect(await again.pruneSessions()).toBe(0);
    expect(await again.countEmptySessions()).toBe(0);
    meddle(again, insert);
    await expectReadable(again, "a");
  });
});

describe("ids of sessions", () => {
  const REFUSED = ["", "../x", "a/b", "/etc/passwd", "a\u0000b", "\ud800", "x".repeat(513)];
  const ODD = [
    "..",
    ".",
    "%",
    "_",
    "C:\\x",
    "a'b\"c`d",
    "'; DROP TABLE sessions; --",
    "🦜👩‍🚀",
    "a\nb",
    " ",
    "x".repeat(512),
  ];

  it.for(REFUSED)("%j is refused, and no row is made", async (id) => {
    await using store = await open();
    await store.createSession("parent");
    const refused = "bad-session-id";
    expect(await outcomeOf(store.createSession(id))).toBe(refused);
    expect(await outcomeOf(store.updateTokenCounts(id, { inputTokens: 1 }))).toBe(refused);
    expect(await outcomeOf(store.continueSession("parent", { id }))).toBe(refused);
    expect(await outcomeOf(store.branchSession("parent", { id }))).toBe(refused);
    expect(await store.sessionCount({ includeArchived: true })).toBe(1);
    expect(await store.getSession("parent")).toMatchObject({ ended_at: null });
  });

  it.for(REFUSED)("asking about %j finds nothing and changes nothing", async (id) => {
    await using store = await open();
    await store.createSession("\ufffd"); // what half a surrogate pair becomes in a database
    await store.createSession("x");
    await store.appendMessage("x", { role: "user", content: "kept" });
    for (const [name, call] of Object.entries(ALL_READS))
      expect(await outcomeOf(call(store, { session: id, message: 1 })), name).toHaveProperty("value");
    expect(await store.getSession(id)).toBeNull();
    expect(await store.deleteSession(id)).toBe(false);
    expect(await store.deleteSessions([id])).toBe(0);
    expect(await store.setSessionTitle(id, "title")).toBe(false);
    expect(await store.setSessionArchived(id, true)).toBe(false);
    await store.endSession(id, "x");
    await store.clearMessages(id);
    expect(await outcomeOf(store.appendMessage(id, { role: "user", content: "x" }))).toBe("unknown-session");
    expect(await store.sessionCount()).toBe(2);
    expect(await store.messageCount()).toBe(1);
    expect(await store.getSession("\ufffd")).toMatchObject({ ended_at: null, title: null });
  });

  it.for(ODD)("%j is an id like any other", async (id) => {
    const sessionsDir = tempDirectory();
    await using store = await open();
    const others = ["a", "x", "zz", "a_b", "a%b"];
    for (const each of [id, ...others]) {
      await store.createSession(each, { source: "cli" });
      await store.appendMessage(each, { role: "user", content: `in ${each}` });
    }
    expect((await store.getMessages(id)).map(({ content }) => content)).toEqual([`in ${id}`]);
    expect(await store.resolveSessionId(id)).toBe(id);
    expect((await store.searchSessionsById(id)).map((row) => row.id)).toEqual(
      id === " " ? [] : expect.arrayContaining([id]),
    );
    expect((await store.continueSession(id, { id: "next" })).id).toBe("next");
    expect(await store.getCompressionTip(id)).toBe("next");
    expect((await store.listLineage("next")).sort()).toEqual([id, "next"].sort());
    expect(await store.deleteSession(id, { sessionsDir })).toBe(true);
    expect(await store.sessionCount()).toBe(others.length + 1);
    expect(await store.messageCount()).toBe(others.length);
  });

  it("deleting a session removes its transcripts and no other session's files's", async () => {
    const home = tempDirectory();
    const sessionsDir = join(home, "sessions");
    mkdirSync(join(sessionsDir, "sub"), { recursive: true });
    mkdirSync(join(sessionsDir, "folder.json"));
    const own = ["s.json", "s.jsonl", "request_dump_s_20260101.json", "*.json", "...json", "[ab].json"];
    const foreign = [
      "t.json",
      "a.json",
      "s.txt",
      "ss.json",
      "request_dump_t_1.json",
      "sub/y.json",
      "sub/s.json",
      ".json",
    ];
    for (const name of [...own, ...foreign]) writeFileSync(join(sessionsDir, name), "kept");
    const outside = [join(home, "x.json"), join(home, "x.jsonl"), join(home, "state.json")];
    for (const path of outside) writeFileSync(path, "kept");

    await using store = await open();
    const written = ["s", "*", "..", "[ab]", "folder", "nothing"];
    for (const id of written) await store.createSession(id);
    const stored = ["../x", "../state", "sub/y", join(home, "x"), "..\\x", "s/../t"];
    for (const id of stored)
      meddle(store, "INSERT INTO sessions (id, source, started_at) VALUES (?, 'cli', 1)", id);
    for (const id of [...written, ...stored])
      expect(await store.deleteSession(id, { sessionsDir }), id).toBe(true);

    const left = (names: readonly string[]) => names.filter((name) => existsSync(join(sessionsDir, name)));
    expect(left(own)).toEqual([]);
    expect(left(foreign)).toEqual(foreign);
    expect(existsSync(join(sessionsDir, "folder.json"))).toBe(true);
    expect(outside.filter((path) => !existsSync(path))).toEqual([]);
    expect(await store.sessionCount()).toBe(0);
  });
});

describe("rows another program spoilt", () => {
  const CONFIGS = [
    "{not json",
    "",
    "[1]",
    '"text"',
    "null",
    "12",
    '{"_branched_from": {"a": 1}}',
    "[".repeat(3000),
  ];

  it.for(CONFIGS)("a model_config of %j hides nothing and stops nothing", async (config) => {
    await using store = await open();
    for (const id of ["root", "bad", "other"]) {
      await store.createSession(id, { source: "cli" });
      await store.appendMessage(id, { role: "user", content: `in ${id}` });
    }
    meddle(store, "UPDATE sessions SET model_config = ? WHERE id = 'bad'", config);
    await expectReadable(store, "bad");
    expect((await store.listSessionsRich({ limit: 10 })).map((row) => row.id)).toContain("other");
    expect(await store.sessionCount({ excludeChildren: true })).toBe(3);
    expect((await store.branchSession("bad")).messageIds).toHaveLength(1);
    expect((await store.continueSession("bad", { id: "next" })).id).toBe("next");
    expect(await store.getCompressionTip("bad")).toBe("next");
    await store.file!.hideOrphanedDelegates();
    expect(await store.deleteSession("other")).toBe(true);
    expect(await store.deleteSession("bad")).toBe(true);
  });

  const VALUES = [
    "{not json",
    "",
    "[".repeat(3000),
    '"text"',
    "null",
    "\u0000json:{bad",
    "\u0000json:",
    "\u0000",
  ];

  it.for(VALUES)("%j in every JSON column of a message is read, searched and deleted", async (value) => {
    await using store = await open();
    await store.createSession("bad");
    const ids = await store.appendMany("bad", Array(3).fill({ role: "assistant", content: "words" }));
    meddle(store, "UPDATE messages SET content = ?, tool_calls = ? WHERE id = ?", value, value, ids[0] ?? 0);
    meddle(
      store,
      "UPDATE messages SET reasoning_details = ?, codex_reasoning_items = ?, codex_message_items = ? WHERE id = ?",
      value,
      value,
      value,
      ids[1] ?? 0,
    );
    await expectReadable(store, "bad");
    expect(await store.file!.checkHealth()).toMatchObject({ ok: true, problems: [] });
    expect((await store.branchSession("bad")).messageIds).toHaveLength(3);
    expect(await store.deleteSession("bad")).toBe(true);
    expect(await store.file!.checkHealth()).toMatchObject({ ok: true, problems: [] });
  });

  it("values of the wrong kind in any column are read", async () => {
    await using store = await withSessions(open(), "bad");
    await store.appendMany("bad", Array(3).fill({ role: "user", content: "words" }));
    const bytes = new Uint8Array([0, 255, 254, 106]);
    meddle(
      store,
      "UPDATE sessions SET model_config = ?, title = ?, model = ?, cwd = ?",
      bytes,
      bytes,
      bytes,
      bytes,
    );
    meddle(store, "UPDATE sessions SET message_count = NULL, tool_call_count = 'many', ended_at = 'late'");
    meddle(store, "UPDATE messages SET content = ?, tool_calls = ?, tool_name = ?", bytes, bytes, bytes);
    meddle(store, "UPDATE messages SET token_count = 'x', observed = NULL, reasoning = ?", bytes);
    meddle(store, "UPDATE messages SET timestamp = 'noon' WHERE id = 2");
    await expectReadable(store, "bad");
    await store.appendMessage("bad", { role: "user", content: "still possible" });
    expect(await store.file!.checkHealth()).toMatchObject({ ok: true, problems: [] });
    expect(await store.deleteSession("bad")).toBe(true);
    expect(await store.file!.checkHealth()).toMatchObject({ ok: true, problems: [] });
  });

  const LINKS: readonly (readonly [
    name: string,
    links: readonly (readonly [child: string, parent: string])[],
  ])[] = [
    ["its own parent", [["a", "a"]]],
    [
      "a pair",
      [
        ["a", "b"],
        ["b", "a"],
      ],
    ],
    [
      "a circle with a tail",
      [
        ["a", "b"],
        ["b", "c"],
        ["c", "a"],
        ["d", "a"],
      ],
    ],
    ["a parent that is gone", [["a", "nowhere"]]],
  ];
  const MARKS = [null, "_branched_from", "_delegate_from", "_compressed_from"] as const;

  it.for(LINKS.flatMap(([name, links]) => MARKS.map((mark) => ({ name, links, mark }))))(
    "parents in a circle end every call: $name, marked $mark",
    async ({ links, mark }) => {
      await using store = await open();
      const names = ["a", "b", "c", "d"];
      for (const id of names) await store.createSession(id, { source: "cli", startedAt: 1 });
      const message = await store.appendMessage("b", { role: "user", content: "x" });
      meddle(store, "UPDATE sessions SET ended_at = 1, end_reason = 'compression'");
      for (const [child, parent] of links) {
        const config = mark === null ? null : JSON.stringify({ [mark]: parent });
        meddle(
          store,
          "UPDATE sessions SET parent_session_id = ?, model_config = ? WHERE id = ?",
          parent,
          config,
          child,
        );
      }
      const reads = READS;
      const { continueSession, branchSession, setSessionArchived, deleteSession } = WRITES;
      const { hideOrphanedDelegates } = HOME_WRITES;
      const writes = {
        continueSession,
        branchSession,
        setSessionArchived,
        hideOrphanedDelegates,
        deleteSession,
      };
      for (const [name, call] of Object.entries({ ...reads, ...writes })) {
        for (const session of names) {
          const outcome = await outcomeOf(call(store, { session, message }));
          expect(outcome instanceof Error ? `${name}: ${outcome}` : "settled").toBe("settled");
        }
      }
      expect(await store.getSession("a")).toBeNull();
    },
  );
});

describe("clocks", () => {
  it("a clock set back keeps messages in the order they came, and the conversation in one piece", async () => {
    const clock = new ManualClock();
    await using store = await withSessions(open({ clock }), "a");
    for (const [index, step] of [0, 10, -50 * HOUR, 5, 200 * HOUR, -300 * HOUR].entries()) {
      clock.advance(step);
      await store.appendMessage("a", {
        role: index % 2 === 0 ? "user" : "assistant",
        content: `turn ${index}`,
      });
    }
    const told = (await store.getMessagesAsConversation("a")).map(({ content }) => content);
    expect(told).toEqual([0, 1, 2, 3, 4, 5].map((index) => `turn ${index}`));
    const ids: string[] = ["a"];
    for (const step of [-1000 * HOUR, 500 * HOUR, -1]) {
      clock.advance(step);
      const next = await store.continueSession(ids.at(-1) ?? "", {
        id: `next-${ids.length}`,
        messages: [{ role: "user", content: `after step ${ids.length}` }],
      });
      ids.push(next.id);
    }
    for (const id of ids) expect(await store.getCompressionTip(id)).toBe(ids.at(-1));
    expect((await store.listSessionsRich()).map((row) => [row.id, row._lineage_root_id])).toEqual([
      [ids.at(-1), "a"],
    ]);
    const all = await store.getMessagesAsConversation(ids.at(-1) ?? "", { includeAncestors: true });
    expect(all.map(({ content }) => content).slice(-3)).toEqual([
      "after step 1",
      "after step 2",
      "after step 3",
    ]);
  });
});

describe("the life of a store", () => {
  it("every method of a closed store says that it is closed", async () => {
    const store = await open();
    await store.createSession("a");
    const message = await store.appendMessage("a", { role: "user", content: "x" });
    await store.close();
    await store.close();
    for (const [name, call] of Object.entries({ ...ALL_READS, ...ALL_WRITES })) {
      const outcome = await outcomeOf(call(store, { session: "a", message }));
      // These two never reject.
      if (name === "tryAcquireCompressionLock") expect(outcome).toEqual({ value: false });
      else if (name === "maybeAutoPruneAndVacuum")
        expect(outcome).toMatchObject({ value: { error: /closed/ } });
      else expect(outcome, name).toBe("session-db-closed");
    }
  });

  it("no method throws before it returns a promise", async () => {
    await using store = await open();
    await store.createSession("a");
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    const calls: readonly (() => Promise<unknown>)[] = [
      () => store.createSession(""),
      () => store.createSession("a/b"),
      () => store.updateTokenCounts("", {}),
      () => store.setSessionTitle("a", "x".repeat(101)),
      () => store.createSession("b", { modelConfig: circle }),
      () => store.appendMessage("a", JSON.parse("null")),
      () => store.continueSession("a", { id: "" }),
    ];
    for (const call of calls) {
      let promise: Promise<unknown> | undefined;
      expect(() => {
        promise = call();
      }).not.toThrow();
      await expect(promise).rejects.toThrow();
    }
  });

  it("work that was begun before closing either happened or says that the store was closed", async () => {
    const path = join(tempDirectory(), "state.db");
    const store = await openSessionStore({ path });
    await store.createSession("a");
    const appends = Array.from({ length: 50 }, (_, index) =>
      outcomeOf(store.appendMessage("a", { role: "user", content: `${index}` })),
    );
    await store.close();
    const outcomes = await Promise.all(appends);
    const stored = outcomes.filter((outcome) => outcome !== "session-db-closed");
    await using again = await openSessionStore({ path });
    expect((await again.getMessages("a")).map(({ id }) => ({ value: id }))).toEqual(stored);
  });
});

/** Every read answers for it, and the answers can leave the process as JSON. */
async function expectReadable(store: HomeStore, session: string): Promise<void> {
  for (const [name, call] of Object.entries(ALL_READS)) {
    const outcome = await outcomeOf(call(store, { session, message: 1 }));
    expect(outcome, name).toHaveProperty("value");
    expect(() => JSON.stringify(outcome), name).not.toThrow();
  }
}
