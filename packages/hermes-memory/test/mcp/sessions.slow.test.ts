import { copyFileSync, existsSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { CRANE, databaseOf, homeWithSessions, withStore } from "../cli/sessions-home.ts";
import { call, connect, readText, toolNames } from "./connect.ts";

describe("past sessions over MCP", () => {
  it("lists recent conversations, each with its address, without runs of tools", async () => {
    const client = await connect(await homeWithSessions());
    const { sessions } = JSON.parse(await readText(client, "hermes://sessions"));
    expect(sessions.length).toBeGreaterThan(1);
    expect(sessions.map(({ source }: { source: string }) => source)).not.toContain("tool");
    const crane = sessions.find((each: { session_id: string }) => each.session_id === CRANE);
    expect(crane).toMatchObject({
      title: "Harbour crane",
      message_count: 4,
      uri: `hermes://sessions/${CRANE}`,
    });
    expect(await readText(client, crane.uri)).toContain("It is blue.");
  });

  it("shows a conversation as text, by its id or a unique beginning of it", async () => {
    const client = await connect(await homeWithSessions());
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(["hermes://sessions/{id}"]);
    const text = await readText(client, `hermes://sessions/${CRANE}`);
    expect(text).toMatch(/^A stored conversation, quoted for reference\./);
    expect(text).toContain("title: Harbour crane");
    expect(text).toMatch(/#\d+ user, 2026-01-01T09:00:00.000Z\nwhich colour has the crane\?/);
    expect(text).toContain('-> terminal({"command":"ls"})');
    expect(await readText(client, `hermes://sessions/${CRANE.slice(0, 15)}`)).toBe(text);
  });

  it("finds a session whose id needs escaping", async () => {
    const home = tempDirectory();
    const id = "chat 42#über?%41";
    await withStore(home, async (store) => {
      await store.createSession(id, { source: "telegram" });
      await store.appendMessage(id, { role: "user", content: "hello there" });
    });
    const client = await connect(home);
    const { sessions } = JSON.parse(await readText(client, "hermes://sessions"));
    expect(await readText(client, sessions[0].uri)).toContain("hello there");
  });

  it("leaves out the middle of a long conversation and says what is missing", async () => {
    const home = tempDirectory();
    await withStore(home, async (store) => {
      await store.createSession("long", { source: "cli" });
      const messages = Array.from({ length: 300 }, (_each, i) => ({
        role: i % 2 ? "assistant" : "user",
        content: `message number ${i}: ${"word ".repeat(200)}`,
      }));
      await store.appendMany("long", [...messages, { role: "user", content: "z".repeat(9_000) }]);
    });
    const client = await connect(home);
    const text = await readText(client, "hermes://sessions/long");
    expect([...text].length).toBeLessThan(61_500);
    expect(text).toContain("message number 0:");
    expect(text).toContain("message number 299:");
    expect(text).not.toContain("message number 100:");
    expect(text).toMatch(/\[2\d\d messages left out, from #\d+ on\./);
    expect(text).toContain("[5000 more characters]");
  });

  it("refuses missing resources", async () => {
    const client = await connect(await homeWithSessions());
    for (const uri of [
      "hermes://sessions/nobody",
      "hermes://sessions/",
      "hermes://sessions/%E0%A4%A",
      "file:///etc/passwd",
    ])
      await expect(client.readResource({ uri })).rejects.toMatchObject({ code: -32002 });
  });

  it("notices that the database came, was exchanged, broke and went", async () => {
    const home = tempDirectory();
    const path = databaseOf(home);
    const client = await connect(home);
    const listed = async () => JSON.parse(await readText(client, "hermes://sessions"));
    expect(await listed()).toMatchObject({
      sessions: [],
      message: expect.stringContaining("no session database"),
    });
    expect(existsSync(path)).toBe(false);

    copyFileSync(databaseOf(await homeWithSessions()), path);
    expect((await listed()).sessions.length).toBeGreaterThan(1);

    const other = tempDirectory();
    await withStore(other, async (store) => {
      await store.createSession("the-other-one", { source: "cli" });
      await store.appendMessage("the-other-one", { role: "user", content: "hello" });
    });
    renameSync(databaseOf(other), path);
    expect((await listed()).sessions).toMatchObject([{ session_id: "the-other-one" }]);

    writeFileSync(join(home, "garbage"), "this is no database ".repeat(500));
    renameSync(join(home, "garbage"), path);
    await expect(listed()).rejects.toThrow(/not a SQLite database.*move the file away/);
    const searched = await call(client, "session_search", { query: "crane" });
    expect(searched).toMatchObject({ isError: true, json: { success: false } });
    expect(searched.json.error).toContain("not a SQLite database");

    rmSync(path);
    expect(await listed()).toMatchObject({ sessions: [] });
    const added = await call(client, "memory", { action: "add", target: "memory", content: "still here" });
    expect(added.isError).toBe(false);
  });

  it("says that the database is locked, and reads it when it no longer is", async () => {
    const home = await homeWithSessions();
    const client = await connect(home);
    const holder = new DatabaseSync(databaseOf(home));
    onTestFinished(() => {
      if (holder.isOpen) holder.close();
    });
    holder.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; UPDATE sessions SET title = title");
    await expect(client.readResource({ uri: "hermes://sessions" })).rejects.toThrow(
      /locked by another process/,
    );
    const { json } = await call(client, "session_search", {});
    expect(json).toMatchObject({
      success: false,
      error: expect.stringContaining("locked by another process"),
    });
    holder.close();
    expect(await readText(client, "hermes://sessions")).toContain(CRANE);
  });

  it("finds a past message, with scroll and read from there", async () => {
    const client = await connect(await homeWithSessions());
    expect(await toolNames(client)).toEqual(["memory", "session_search", "memory_history"]);
    const { json } = await call(client, "session_search", { query: "colour of the crane" });
    expect(json).toMatchObject({ success: true, mode: "discover", results: [{ session_id: CRANE }] });
    const [hit] = json.results as { match_message_id: number }[];
    const scrolled = await call(client, "session_search", {
      session_id: CRANE,
      around_message_id: hit?.match_message_id,
    });
    expect(scrolled.json).toMatchObject({ success: true, mode: "scroll" });
    expect((await call(client, "session_search", { session_id: CRANE })).json).toMatchObject({
      mode: "read",
    });
    expect((await call(client, "session_search")).json).toMatchObject({ mode: "browse" });
  });

  it("answers odd calls of session_search in its own shape", async () => {
    const client = await connect(await homeWithSessions());
    for (const args of [{ session_id: "nobody" }, { session_id: CRANE, around_message_id: "x" }]) {
      const { isError, json } = await call(client, "session_search", args);
      expect({ isError, success: json.success }).toEqual({ isError: true, success: false });
    }
    const huge = await call(client, "session_search", { query: '"'.repeat(100_000) });
    expect(huge.json).toHaveProperty("success");
  });

  it("says that there is no database, and makes none", async () => {
    const home = tempDirectory();
    const client = await connect(home);
    const { isError, json } = await call(client, "session_search", { query: "crane" });
    expect(isError).toBe(true);
    expect(json.error).toMatch(/^Session database not available/);
    expect(existsSync(databaseOf(home))).toBe(false);
  });
});
