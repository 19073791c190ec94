// The queue file of the Python edition: rows go to our outbox, and nothing else in the file changes.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { MemoryProvider } from "../../../core/src/providers/index.ts";
import { FakeRetainDb } from "../fakes/servers/retaindb.ts";
import { KEY, projectOf, providerFor } from "./harness.ts";

const NOW = new Date("2026-01-02T12:00:00.000Z");

type Row = {
  readonly user?: string | null;
  readonly session?: string;
  readonly text: string;
  readonly createdAt?: string;
  readonly json?: string;
};

function homeWith(rows: readonly Row[]): string {
  const home = mkdtempSync(join(tmpdir(), "hermes-retaindb-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  using db = new DatabaseSync(join(home, "retaindb_queue.db"));
  db.exec(
    "CREATE TABLE pending (id INTEGER PRIMARY KEY AUTOINCREMENT, user_id TEXT, session_id TEXT, messages_json TEXT, created_at TEXT, last_error TEXT)",
  );
  const insert = db.prepare(
    "INSERT INTO pending (user_id, session_id, messages_json, created_at) VALUES (?, ?, ?, ?)",
  );
  for (const {
    user = "default",
    session = "s1",
    text,
    createdAt = "2026-01-02T11:00:00.123456+00:00",
    json,
  } of rows) {
    const messages = [
      { role: "user", content: text, timestamp: createdAt },
      { role: "assistant", content: "Noted.", timestamp: createdAt },
    ];
    insert.run(user, session, json ?? JSON.stringify(messages), createdAt);
  }
  return home;
}

function textsLeft(home: string): readonly string[] {
  using db = new DatabaseSync(join(home, "retaindb_queue.db"), { readOnly: true });
  const rows = db.prepare("SELECT messages_json FROM pending ORDER BY id").all() as {
    messages_json: string;
  }[];
  return rows.map(({ messages_json }) => messages_json);
}

async function open(
  home: string,
  options: { user_id?: string; platform?: string; outbox?: boolean; agent_context?: "subagent" } = {},
) {
  const fake = await new FakeRetainDb({ edition: "open" }).start(); // it refuses times that do not end in Z
  onTestFinished(() => fake.stop());
  fake.requireAuth(KEY);
  const provider = providerFor(fake, home, { clock: { now: () => NOW } });
  onTestFinished(() => provider.shutdown?.({}));
  await provider.initialize("s-new", { hermes_home: home, platform: "cli", ...options });
  return { fake, provider };
}

async function drain(provider: MemoryProvider): Promise<void> {
  await provider.onSessionEnd?.([], {});
}

describe("rows of the Python edition", () => {
  it("are sent in their order before our own turns, with times the open server accepts, and are then gone", async () => {
    const home = homeWith([{ text: "first" }, { text: "second" }, { text: "third" }]);
    const { fake, provider } = await open(home);
    await provider.syncTurn?.("fourth", "Noted.", { session_id: "s1" });
    await drain(provider);
    const messages = fake.messagesOf(projectOf(home), "s1").filter(({ role }) => role === "user");
    expect(messages.map(({ content }) => content)).toEqual(["first", "second", "third", "fourth"]);
    expect(messages[0]?.timestamp).toBe("2026-01-02T11:00:00.123Z");
    expect(textsLeft(home)).toEqual([]);
  });

  it("leave no bytes of their texts in the file", async () => {
    const home = homeWith([{ text: "the code is QUARTZ-7" }, { text: "stays", json: "QUARTZ-8 {" }]);
    const { provider } = await open(home);
    await drain(provider);
    expect(readFileSync(join(home, "retaindb_queue.db")).includes("QUARTZ-7")).toBe(false);
    expect((await provider.forget?.("QUARTZ-8", {}))?.remaining).toContain("has 1 unsent turns that hold it");
  });

  it("are moved also when there are more than the 200 that the Python edition replays", async () => {
    const home = homeWith(Array.from({ length: 230 }, (_, index) => ({ text: `turn ${index}` })));
    const { fake, provider } = await open(home);
    await vi.waitFor(() => expect(textsLeft(home)).toEqual([]), 10_000);
    await drain(provider);
    const said = fake.messagesOf(projectOf(home), "s1").filter(({ role }) => role === "user");
    expect(said.map(({ content }) => content)).toEqual(
      Array.from({ length: 230 }, (_, index) => `turn ${index}`),
    );
    expect(textsLeft(home)).toEqual([]);
  });

  it("that are younger than 60 s stay: a running Python process may be sending them", async () => {
    const home = homeWith([
      { text: "old", createdAt: "2026-01-02T11:58:59.000000+00:00" },
      { text: "young", createdAt: "2026-01-02T11:59:30.000000+00:00" },
      { text: "sqlite time", createdAt: "2026-01-02 11:00:00" },
      { text: "no time", createdAt: "" },
    ]);
    const { fake, provider } = await open(home);
    await drain(provider);
    const said = fake.messagesOf(projectOf(home), "s1").filter(({ role }) => role === "user");
    expect(said.map(({ content }) => content)).toEqual(["old", "sqlite time", "no time"]);
    expect(textsLeft(home)).toEqual([expect.stringContaining("young")]);
  });

  it("that cannot be read stay as they are", async () => {
    const home = homeWith([{ text: "", json: "not json" }, { text: "", json: "[]" }, { text: "fine" }]);
    const { fake, provider } = await open(home);
    await drain(provider);
    expect(fake.memories("default").map(({ content }) => content)).toEqual(["fine"]);
    expect(textsLeft(home)).toEqual(["not json", "[]"]);
  });

  it("belong to the user whose id they have, and are sent under that id", async () => {
    const home = homeWith([
      { text: "of the owner" },
      { text: "of 42", user: "42" },
      { text: "of nobody", user: null },
    ]);
    const { fake, provider } = await open(home, { platform: "telegram", user_id: "42" });
    await drain(provider);
    expect(fake.memories("42").map(({ content }) => content)).toEqual(["of 42"]);
    expect(textsLeft(home)).toHaveLength(2);
  });

  it("are delivered once when they were put into the outbox and the process died before they were deleted", async () => {
    const home = homeWith([{ text: "once" }]);
    const [json = ""] = textsLeft(home);
    const { fake, provider } = await open(home);
    await drain(provider);
    await provider.shutdown?.({});
    {
      using db = new DatabaseSync(join(home, "retaindb_queue.db"));
      db.prepare(
        "INSERT INTO pending (id, user_id, session_id, messages_json, created_at) VALUES (1, 'default', 's1', ?, '2026-01-02T11:00:00.123456+00:00')",
      ).run(json);
    }
    const again = providerFor(fake, home, { clock: { now: () => NOW } });
    onTestFinished(() => again.shutdown?.({}));
    await again.initialize("s-new", { hermes_home: home });
    await drain(again);
    expect(fake.memories("default")).toHaveLength(1);
    expect(textsLeft(home)).toEqual([]);
  });

  it("stay in the file for an agent that may not write, and when the outbox is not kept on disk", async () => {
    const home = homeWith([{ text: "stays" }]);
    for (const options of [{ agent_context: "subagent" }, { outbox: false }] as const) {
      const { fake, provider } = await open(home, options);
      await drain(provider);
      expect(fake.memories("default")).toEqual([]);
    }
    expect(textsLeft(home)).toHaveLength(1);
  });

  it("that had to stay are named when their text or their user is erased", async () => {
    const home = homeWith([{ text: "young secret", createdAt: NOW.toISOString() }]);
    const { provider } = await open(home);
    const { remaining: ofText } = (await provider.forget?.("young secret", {})) ?? {};
    expect(ofText).toContain("retaindb_queue.db of the Python edition has 1 unsent");
    expect(ofText).not.toContain("young secret");
    expect((await provider.forget?.("something else", {}))?.remaining).not.toContain("retaindb_queue.db");
    expect((await provider.eraseUser?.({}))?.remaining).toContain("retaindb_queue.db");
  });

  it("leave the file's tables, its version and its sequence as they were", async () => {
    const home = homeWith([{ text: "first" }, { text: "second" }]);
    const path = join(home, "retaindb_queue.db");
    const read = () => {
      using db = new DatabaseSync(path, { readOnly: true });
      return [
        "SELECT type, name, sql FROM sqlite_master ORDER BY name",
        "SELECT * FROM sqlite_sequence",
        "PRAGMA user_version",
        "PRAGMA journal_mode",
      ].map((sql) => db.prepare(sql).all());
    };
    const before = read();
    const { provider } = await open(home);
    await drain(provider);
    expect(textsLeft(home)).toEqual([]);
    expect(read()).toEqual(before);
  });
});
