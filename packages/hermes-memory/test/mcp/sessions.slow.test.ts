import { copyFileSync, existsSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { CRANE, databaseOf, homeWithSessions, withStore } from "../cli/sessions-home.ts";
import { call, connect, readText } from "./connect.ts";

describe("past sessions over MCP", () => {
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
});
