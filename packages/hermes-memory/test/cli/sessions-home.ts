// A home with a few conversations in its database.
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type HomeStore, openSessionStore } from "@hermes-memory/core/internal/sessions";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";

export const CRANE = "20260101_090000_aaaaaa";
export const CHINESE = "20260102_090000_bbbbbb";
export const PLAIN = "20260102_090000_bbcccc";
export const DELEGATE = "20260101_091500_dddddd";
export const TOOL_RUN = "20260103_090000_eeeeee";

const LONG_OUTPUT = `${"x".repeat(700)} the end`;

export function databaseOf(home: string): string {
  return join(home, "state.db");
}

export async function withStore<T>(home: string, work: (store: HomeStore) => Promise<T>): Promise<T> {
  await using store = await openSessionStore({ path: databaseOf(home) });
  return await work(store);
}

/** Newest first: a run of a tool, two short ones, one with a title, tool calls and a delegate run. */
export async function homeWithSessions(): Promise<string> {
  const home = tempDirectory();
  await withStore(home, async (store) => {
    const start = Date.UTC(2026, 0, 1, 9) / 1000;
    await store.createSession(CRANE, { source: "cli", model: "m-1", startedAt: start, cwd: "/harbour" });
    await store.setSessionTitle(CRANE, "Harbour crane");
    await store.appendMany(CRANE, [
      { role: "user", content: "which colour has the crane?", timestamp: start },
      {
        role: "assistant",
        content: "I will look.",
        toolCalls: [{ id: "1", function: { name: "terminal", arguments: '{"command":"ls"}' } }],
        timestamp: start + 1,
      },
      { role: "tool", toolName: "terminal", toolCallId: "1", content: LONG_OUTPUT, timestamp: start + 2 },
      { role: "assistant", content: "It is blue.", timestamp: start + 3 },
    ]);
    await store.createSession(DELEGATE, {
      source: "subagent",
      parentSessionId: CRANE,
      modelConfig: { _delegate_from: CRANE },
      startedAt: start + 2,
    });
    await store.createSession(CHINESE, { source: "telegram", startedAt: start + 86_400 });
    await store.appendMessage(CHINESE, {
      role: "user",
      content: "记忆系统怎么样",
      timestamp: start + 86_400,
    });
    await store.createSession(PLAIN, { source: "cli", startedAt: start + 86_401 });
    await store.appendMessage(PLAIN, {
      role: "user",
      content: "a plain question",
      timestamp: start + 86_401,
    });
    await store.createSession(TOOL_RUN, { source: "tool", startedAt: start + 172_800 });
    await store.appendMessage(TOOL_RUN, { role: "user", content: "run", timestamp: start + 172_800 });
  });
  return home;
}

/** Writes rows as other programs may, without the checks of the store. */
export function writeRaw(home: string, sql: string, ...values: (string | number | null)[]): void {
  using db = new DatabaseSync(databaseOf(home));
  db.prepare(sql).run(...values);
}
