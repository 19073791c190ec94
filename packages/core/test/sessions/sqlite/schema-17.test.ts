// Files upgraded to schema 17 or later: how our rows look in them, and what happens to Hermes Agent's rows.
import { createHash } from "node:crypto";
import { hostname } from "node:os";
import { describe, expect, it, onTestFinished } from "vitest";
import { isDeadHere } from "../../../src/lib/lease-holders.ts";
import { openSessionStore, type SessionStore } from "../../../src/sessions/index.ts";
import { exportAll } from "../../../testing/session-store/support.ts";
import { execute, newPath, query } from "../../fakes/session-index.ts";
import { upgradeToToday } from "../../fakes/today-file.ts";

const NOW = 1_790_000_000;
type Opened = { readonly store: SessionStore; readonly path: string; readonly clock: { at: number } };

async function today(options: { profile?: string | null } = {}): Promise<Opened> {
  const path = newPath();
  await (await openSessionStore({ path })).close();
  upgradeToToday(path);
  const clock = { at: NOW };
  const store = await openSessionStore({ path, clock: { now: () => new Date(clock.at * 1000) }, ...options });
  onTestFinished(() => store.close());
  return { store, path, clock };
}

const user = (content: string) => ({ role: "user", content });

describe("a file that is upgraded while our store has it open", () => {
  it("is written by the new rules from the next call on", async () => {
    const path = newPath();
    await using store = await openSessionStore({ path });
    await store.createSession("a", { source: "cli", systemPrompt: "inline" });
    await store.appendMessage("a", user("before"));
    upgradeToToday(path);
    await store.createSession("b", { source: "cli", systemPrompt: "by hash" });
    await store.appendMessage("b", user("after"));
    expect(
      query(path, "SELECT id, system_prompt, system_prompt_hash IS NULL AS plain FROM sessions ORDER BY id"),
    ).toEqual([
      { id: "a", system_prompt: "inline", plain: 1 },
      { id: "b", system_prompt: null, plain: 0 },
    ]);
    expect((await store.getSession("a"))?.system_prompt).toBe("inline");
    expect((await store.getSession("b"))?.system_prompt).toBe("by hash");
    execute(path, "UPDATE messages SET active = 0, compacted = 1 WHERE session_id = 'b'");
    expect(await store.getMessages("b")).toEqual([]);
    expect(await store.getDisplayHistory("b")).toHaveLength(1);
    expect(await store.restoreRewound("b", 1)).toBe(0);
  });
});

describe("rows we write", () => {
  it("name the profile and the time of the last activity", async () => {
    const { store, path, clock } = await today({ profile: "coder" });
    await store.createSession("a", { source: "cli" });
    clock.at += 60;
    await store.appendMessage("a", user("x"));
    await store.appendMessage("a", { ...user("brought from elsewhere"), timestamp: 5 });
    expect(query(path, "SELECT profile_name, last_activity_at FROM sessions")).toEqual([
      { profile_name: "coder", last_activity_at: NOW + 60 },
    ]);
    const [row] = await store.listSessionsRich({ orderByLastActive: true });
    expect(row).toMatchObject({ last_active: NOW + 60, unread: false });
    // Hermes Agent's activity column counts too, in lists and their order.
    await store.createSession("b", { source: "cli", startedAt: NOW + 61 });
    execute(path, `UPDATE sessions SET last_activity_at = ${NOW + 90} WHERE id = 'a'`);
    const rows = await store.listSessionsRich({ orderByLastActive: true });
    expect(rows.map(({ id, last_active }) => [id, last_active])).toEqual([
      ["a", NOW + 90],
      ["b", NOW + 61],
    ]);
  });

  it("have no profile outside of every profile's home", async () => {
    const { store } = await today();
    await store.createSession("a", { source: "cli" });
    expect((await store.getSession("a"))?.profile_name).toBeNull();
  });

  it("keep prompts by their hash, each once, and none that no session has", async () => {
    const { store, path } = await today();
    const prompts = () => query(path, "SELECT hash, prompt FROM system_prompts ORDER BY prompt");
    const kept = (prompt: string) => ({ hash: createHash("sha256").update(prompt).digest("hex"), prompt });
    await store.createSession("b", { source: "cli", systemPrompt: "one" });
    await store.createSession("c", { source: "cli", systemPrompt: "one" });
    expect(prompts()).toEqual([kept("one")]);
    await store.createSession("a", { source: "cli" });
    await store.saveOwnPrompt("a", "two", 1);
    expect(prompts()).toEqual([kept("one"), kept("two")]);
    await store.deleteSession("b");
    expect(prompts()).toEqual([kept("one"), kept("two")]);
    await store.saveOwnPrompt("c", "three", 1); // another program's text stays
    expect((await store.getSession("c"))?.system_prompt).toBe("one");
    await store.deleteSession("c");
    expect(prompts()).toEqual([kept("two")]);
    await store.saveOwnPrompt("a", "four", 1);
    expect(prompts()).toEqual([kept("four")]);
    const next = await store.continueSession("a", { ownPrompt: { text: "five", version: 1 } });
    expect((await store.getSession(next.id))?.system_prompt).toBe("five");
  });

  it("fill what a row lacks and overwrite nothing; source, owner and settings only before the first message", async () => {
    const { store } = await today();
    await store.createSession("a");
    await store.createSession("a", { source: "telegram", userId: "bo", model: "m", systemPrompt: "p" });
    expect(await store.getSession("a")).toMatchObject({
      source: "telegram",
      user_id: "bo",
      model: "m",
      system_prompt: "p",
    });
    await store.createSession("a", {
      source: "cli",
      userId: "ann",
      model: "n",
      systemPrompt: "q",
      cwd: "/work",
    });
    expect(await store.getSession("a")).toMatchObject({
      source: "telegram",
      user_id: "bo",
      model: "m",
      system_prompt: "p",
      cwd: "/work",
    });
    await store.createSession("said");
    await store.appendMessage("said", user("x"));
    await store.createSession("said", {
      source: "subagent",
      userId: "bo",
      modelConfig: { _delegate_from: "a" },
    });
    expect(await store.getSession("said")).toMatchObject({
      source: "unknown",
      user_id: null,
      model_config: null,
    });
  });

  it("give a continuation where its parent's chat goes on, a branch only the folder and the repository", async () => {
    const { store, path } = await today({ profile: "mine" });
    await store.createSession("a", { source: "telegram", cwd: "/work" });
    execute(
      path,
      `UPDATE sessions SET session_key = 'agent:x:telegram:dm:7', chat_id = '7', git_branch = 'main', pinned = 1, profile_name = 'theirs',
         title = 'T', title_source = 'llm'`,
    );
    await store.branchSession("a", { id: "branch" });
    await store.continueSession("a", { id: "next" });
    const shared = { cwd: "/work", git_branch: "main" };
    expect(await store.getSession("next")).toMatchObject({
      ...shared,
      session_key: "agent:x:telegram:dm:7",
      chat_id: "7",
      pinned: 1,
      profile_name: "theirs",
      title: "T #3",
      title_source: "llm",
    });
    expect(await store.getSession("branch")).toMatchObject({
      ...shared,
      session_key: null,
      chat_id: null,
      pinned: 0,
      profile_name: "mine",
      title: "T #2",
      title_source: "branch",
    });
  });

  it("copies of rows that only models see stay hidden, through a branch, a continuation, an export and an import", async () => {
    const { store, path } = await today();
    await store.createSession("a", { source: "cli" });
    const id = await store.appendMessage("a", user("for the model"));
    await store.appendMessage("a", user("said"));
    execute(path, `UPDATE messages SET display_kind = 'hidden' WHERE id = ${id}`);
    await store.branchSession("a", { id: "branch" });
    await store.continueSession("a", { id: "next", messages: await store.getMessages("a") });
    execute(path, "UPDATE messages SET active = 0, compacted = 1 WHERE session_id = 'next'");
    const kinds = async (from: SessionStore) =>
      (await exportAll(from, { includeInactive: true }))
        .flatMap(({ id: session, messages }) =>
          messages.map(({ display_kind, active, compacted }) => [session, display_kind, active, compacted]),
        )
        .sort();
    const all = await kinds(store);
    expect(all).toContainEqual(["branch", "hidden", 1, 0]);
    expect(all).toContainEqual(["next", "hidden", 0, 1]);
    const { store: other } = await today();
    await other.importSessions(await exportAll(store, { includeInactive: true }));
    expect(await kinds(other)).toEqual(all);
    const previews = (await other.listSessionsRich()).map(({ preview }) => preview);
    expect(previews).toEqual(["said", "said"]);
  });

  it("note who gave a title; a model's never replaces a person's", async () => {
    const { store, path } = await today();
    await store.createSession("a", { source: "cli" });
    expect(await store.setSessionTitle("a", "By a model", { source: "llm" })).toBe(true);
    expect(await store.setSessionTitle("a", "By a person")).toBe(true);
    expect(await store.setSessionTitle("a", "By a model again", { source: "llm" })).toBe(false);
    expect(await store.getSession("a")).toMatchObject({ title: "By a person", title_source: "user" });
    execute(path, "UPDATE sessions SET title_source = 'derived'");
    expect(await store.setSessionTitle("a", "Better", { source: "llm" })).toBe(true);
  });

  it("a reset begins the next generation of its chat, another end does not", async () => {
    const { store, path } = await today();
    for (const id of ["a", "b", "c"]) await store.createSession(id, { source: "discord" });
    execute(path, "UPDATE sessions SET session_key = 'key' WHERE id <> 'c'");
    await store.endSession("a", "idle");
    await store.endSession("a", "daily"); // it has already ended
    await store.endSession("b", "cli_close");
    await store.endSession("c", "session_reset");
    expect(query(path, "SELECT * FROM conversation_generations")).toEqual([
      { source: "discord", session_key: "key", generation: 1 },
    ]);
    await store.reopenSession("b");
    await store.endSession("b", "session_reset");
    expect(query(path, "SELECT generation FROM conversation_generations")).toEqual([{ generation: 2 }]);
  });
});

describe("lineage", () => {
  /** As Hermes Agent does it: the child starts before the parent ends. */
  async function rotated(): Promise<Opened> {
    const opened = await today();
    const { store, path } = opened;
    for (const id of ["root", "next"]) await store.createSession(id, { source: "cli", startedAt: NOW });
    await store.appendMessage("root", user("first words"));
    await store.appendMessage("next", user("[CONTEXT SUMMARY]: of it"));
    execute(
      path,
      `UPDATE sessions SET ended_at = ${NOW + 5}, end_reason = 'compression', title = 'Of the root' WHERE id = 'root';
       UPDATE sessions SET parent_session_id = 'root' WHERE id = 'next'`,
    );
    return opened;
  }

  it("a child of a compacted session is its continuation whatever the clock says, and shows the root's title", async () => {
    const { store } = await rotated();
    expect(await store.getCompressionTip("root")).toBe("next");
    expect(await store.resolveResumeSessionId("root")).toBe("next");
    const [row, ...others] = await store.listSessionsRich();
    expect(others).toEqual([]);
    expect(row).toMatchObject({ id: "next", _lineage_root_id: "root", title: "Of the root", preview: "" });
  });

  it("of several, one that was compacted itself goes first, then a live one, then the most active", async () => {
    const { store, path } = await rotated();
    const child = (id: string, more: string) =>
      execute(
        path,
        `INSERT INTO sessions (id, source, parent_session_id, started_at, ended_at, end_reason) VALUES ('${id}', 'cli', 'root', ${more})`,
      );
    child("ended", `${NOW + 9}, ${NOW + 99}, 'cli_close'`);
    child("live", `${NOW + 1}, NULL, NULL`);
    await store.appendMessage("live", { ...user("newer"), timestamp: NOW + 50 });
    expect(await store.getCompressionTip("root")).toBe("live");
    child("compacted", `${NOW}, ${NOW + 2}, 'compression'`);
    expect(await store.getCompressionTip("root")).toBe("compacted");
  });

  it("a mark counts when it names the parent; another one was inherited", async () => {
    const { store, path } = await rotated();
    const config = (json: string) =>
      execute(path, `UPDATE sessions SET model_config = '${json}' WHERE id = 'next'`);
    for (const mark of ["_branched_from", "_delegate_from", "_reset_from"]) {
      config(`{"${mark}": "somebody"}`);
      expect(await store.getCompressionTip("root")).toBe("next");
      config(`{"${mark}": "root"}`);
      expect(await store.getCompressionTip("root")).toBe("root");
    }
    config("{}");
    execute(path, "UPDATE sessions SET source = 'tool' WHERE id = 'next'");
    expect(await store.getCompressionTip("root")).toBe("root");
  });

  it("a session that a gateway started after a reset is a separate conversation: listed, not a continuation, and not deleted with the previous one", async () => {
    const { store, path } = await today();
    for (const id of ["marked", "unmarked", "before"]) await store.createSession(id, { source: "discord" });
    execute(
      path,
      `UPDATE sessions SET session_key = 'key', parent_session_id = CASE WHEN id = 'before' THEN NULL ELSE 'before' END;
       UPDATE sessions SET ended_at = 1, end_reason = 'session_reset' WHERE id = 'before';
       UPDATE sessions SET session_key = NULL, model_config = '{"_reset_from": "before"}' WHERE id = 'marked'`,
    );
    expect((await store.listSessionsRich()).map(({ id }) => id).sort()).toEqual([
      "before",
      "marked",
      "unmarked",
    ]);
    expect(await store.getCompressionTip("before")).toBe("before");
    expect(await store.resolveResumeSessionId("before")).toBe("before");
    await store.deleteSession("before");
    expect((await store.listSessionIds()).sort()).toEqual(["marked", "unmarked"]);
  });

  it("a session closed by a compaction takes no messages, and the error names where it goes on", async () => {
    const { store } = await rotated();
    const refused: unknown = await store.appendMessage("root", user("late")).catch((cause: unknown) => cause);
    expect(refused).toMatchObject({ code: "session-closed", message: expect.stringContaining("'next'") });
    await expect(store.appendMany("root", [user("late")])).rejects.toMatchObject({ code: "session-closed" });
    expect(await store.messageCount("root")).toBe(1);
    await store.deleteSession("next");
    await expect(store.appendMessage("root", user("late"))).rejects.toThrow("has no continuation");
    await store.reopenSession("root");
    await store.appendMessage("root", user("again"));
  });
});

describe("rewinding beside compactions within a session", () => {
  it("restores what our rewind took back, not rows other programs left, and nothing before a later compaction", async () => {
    const { store, path } = await today();
    await store.createSession("a", { source: "cli" });
    const ids = await store.appendMany("a", ["1", "2", "3", "4"].map(user));
    execute(path, `UPDATE messages SET active = 0 WHERE id = ${ids[1]}`); // superseded, or taken back by another program
    await store.rewindToMessage("a", ids[2] ?? 0);
    expect(await store.restoreRewound("a", 1)).toBe(2);
    expect((await store.getMessages("a")).map(({ content }) => content)).toEqual(["1", "3", "4"]);
    await store.rewindToMessage("a", ids[2] ?? 0);
    const summary = await store.appendMessage("a", user("summary"));
    execute(path, `UPDATE messages SET active = 0, compacted = 1 WHERE id = ${ids[0]}`);
    expect(await store.restoreRewound("a", 1)).toBe(0);
    expect((await store.getMessages("a")).map(({ id }) => id)).toEqual([summary]);
  });
});

describe("turn leases of the original", () => {
  const turns = (path: string) =>
    query(
      path,
      "SELECT conversation_id, holder, expires_at FROM session_turn_leases ORDER BY conversation_id",
    );
  const hold = (path: string, key: string, holder: string, until = NOW + 300) =>
    execute(
      path,
      `INSERT OR REPLACE INTO session_turn_leases VALUES ('${key}', '${holder}', ${NOW}, ${until})`,
    );

  it("are honoured, and held besides ours by the root of the conversation, through a compaction to its end", async () => {
    const { store, path, clock } = await today();
    await store.createSession("root", { source: "cli" });
    hold(path, "root", "host=elsewhere:turn=1");
    const refused = await store.acquireSessionLease("root", "pid=1:me");
    expect(refused).toEqual({
      acquired: false,
      holder: "host=elsewhere:turn=1",
      acquired_at: NOW,
      expires_at: NOW + 300,
    });
    expect(await store.getSessionLease("root")).toMatchObject({ holder: "host=elsewhere:turn=1" });
    clock.at += 301; // it has expired
    expect(await store.acquireSessionLease("root", "pid=1:me", { ttl: 60 })).toEqual({ acquired: true });
    expect(turns(path)).toEqual([{ conversation_id: "root", holder: "pid=1:me", expires_at: clock.at + 60 }]);
    await store.acquireSessionLease("next", "pid=1:me");
    await store.continueSession("root", { id: "next", leaseHolder: "pid=1:me" });
    await store.releaseSessionLease("root", "pid=1:me");
    expect(await store.renewSessionLease("next", "pid=1:me", { ttl: 90 })).toBe(true);
    expect(turns(path)).toContainEqual({
      conversation_id: "root",
      holder: "pid=1:me",
      expires_at: clock.at + 90,
    });
    await store.releaseSessionLease("next", "pid=1:me");
    expect(turns(path)).toEqual([]);
  });

  it("taken by another process end ours: nothing more is stored", async () => {
    const { store, path } = await today();
    await store.createSession("a", { source: "cli" });
    await store.acquireSessionLease("a", "me");
    hold(path, "a", "other");
    await expect(store.appendMany("a", [user("x")], { leaseHolder: "me" })).rejects.toMatchObject({
      code: "lease-lost",
    });
    expect(await store.renewSessionLease("a", "me")).toBe(false);
    expect(await store.getSessionLease("a")).toMatchObject({ holder: "other" });
  });

  it("do not keep their own holder from editing, and are swept a day after they ran out", async () => {
    const { store, path, clock } = await today();
    await store.createSession("a", { source: "cli" });
    await store.appendMany("a", [user("1"), user("2")]);
    hold(path, "old", "gone", NOW - 90_000);
    await store.acquireSessionLease("a", "me");
    expect(turns(path).map((row) => row.conversation_id)).toEqual(["a"]);
    await expect(store.undoTurns("a", 1)).rejects.toMatchObject({ code: "session-busy" });
    expect(await store.undoTurns("a", 1, { leaseHolder: "me" })).toMatchObject({ rewound_count: 1 });
    clock.at += 3600;
    expect(await store.undoTurns("a", 1)).toMatchObject({ rewound_count: 1 });
  });

  it("and compression locks of a process of this machine that is gone are taken over", async () => {
    const { store, path } = await today();
    await store.createSession("a", { source: "cli" });
    const dead = `pid=${2 ** 22 + 1}:host=${hostname()}:nonce=0badcafe`;
    hold(path, "a", dead);
    expect(await store.getSessionLease("a")).toBeNull();
    expect(await store.acquireSessionLease("a", "me")).toEqual({ acquired: true });
    execute(path, `INSERT INTO compression_locks VALUES ('a', '${dead}', ${NOW}, ${NOW + 300})`);
    await store.appendMessage("a", user("x"));
    expect(await store.undoTurns("a", 1, { leaseHolder: "me" })).toMatchObject({ rewound_count: 1 });
    expect(await store.tryAcquireCompressionLock("a", "me")).toBe(true);
    await expect(store.undoTurns("a", 1, { leaseHolder: "other" })).rejects.toMatchObject({
      code: "session-busy",
    });
  });

  it("keep the conversation from being continued elsewhere, and so does another process's compression lock", async () => {
    const { store, path } = await today();
    for (const id of ["leased", "locked"]) await store.createSession(id, { source: "cli" });
    hold(path, "leased", "host=elsewhere:turn=1");
    execute(
      path,
      `INSERT INTO compression_locks VALUES ('locked', 'host=elsewhere:agent=1', ${NOW}, ${NOW + 300})`,
    );
    for (const id of ["leased", "locked"]) {
      await expect(store.continueSession(id)).rejects.toMatchObject({ code: "session-busy" });
      expect(await store.getSession(id)).toMatchObject({ end_reason: null });
    }
    await store.acquireSessionLease("leased", "host=elsewhere:turn=1");
    const { id } = await store.continueSession("leased", { leaseHolder: "host=elsewhere:turn=1" });
    expect(await store.getCompressionTip("leased")).toBe(id);
  });

  it("of a live process, or of one on another machine, stay", () => {
    expect(isDeadHere(`pid=${process.pid}:tid=1:agent=x:nonce=y`)).toBe(false);
    expect(isDeadHere("pid=4194305:host=elsewhere:turn=1")).toBe(false);
    expect(isDeadHere("host=elsewhere:turn=1")).toBe(false);
    // Without a machine the process may be in a container, whose numbers are its own.
    if (process.platform === "linux") expect(isDeadHere("pid=4194305:tid=1:agent=x:nonce=y")).toBe(false);
  });
});

describe("hidden and pinned sessions", () => {
  it("hiding takes the whole conversation out of lists, not out of counts; pinning brings it back", async () => {
    const { store } = await today();
    await store.createSession("a", { source: "cli" });
    await store.continueSession("a", { id: "b" });
    expect(await store.setSessionHidden("b", true)).toBe(true);
    expect(await store.listSessionsRich()).toEqual([]);
    expect((await store.listSessionsRich({ includeHidden: true })).map(({ id }) => id)).toEqual(["b"]);
    expect(await store.sessionCount()).toBe(2);
    expect(await store.sessionCount({ includeHidden: false })).toBe(0);
    expect(await store.setSessionPinned("a", true)).toBe(true);
    expect(await store.getSession("b")).toMatchObject({ pinned: 1, hidden: 0 });
    expect(await store.listSessionsRich()).toHaveLength(1);
  });
});
