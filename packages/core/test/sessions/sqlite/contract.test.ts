// The session store contract, run against SQLite files.
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { openSessionStore } from "../../../src/sessions/index.ts";
import { type SessionStoreHarness, sessionStoreContract } from "../../../testing/index.ts";
import { copiesOf } from "../../fakes/store-copies.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";
import { callProperties, searchProperties } from "../store-properties.ts";

const newCopy = copiesOf(async (path) => (await openSessionStore({ path })).close());

const harness: SessionStoreHarness = {
  open: async (options) => openSessionStore({ path: await newCopy(), ...options }),
  reopen: (store) => openSessionStore({ path: store.location }),
};

sessionStoreContract({ describe, it, expect }, "SQLite", harness);
searchProperties("SQLite", harness);
callProperties("SQLite", harness);

it("parents in a circle, left by another program, end every walk", async () => {
  const path = join(tempDirectory(), "state.db");
  await using store = await openSessionStore({ path });
  for (const id of ["a", "b", "c"]) {
    await store.createSession(id, { source: "cli", startedAt: 1 });
    await store.appendMessage(id, { role: "user", content: `in ${id}` });
  }
  const database = new DatabaseSync(path);
  database.exec("UPDATE sessions SET ended_at = 1, end_reason = 'compression'");
  const link = database.prepare("UPDATE sessions SET parent_session_id = ? WHERE id = ?");
  for (const [child, parent] of [
    ["a", "b"],
    ["b", "c"],
    ["c", "a"],
  ] as const) {
    link.run(parent, child);
  }
  database.close();
  for (const id of ["a", "b", "c"]) {
    expect(["a", "b", "c"]).toContain(await store.getCompressionTip(id));
    expect((await store.listLineage(id)).sort()).toEqual(["a", "b", "c"]);
    const texts = (await store.getMessagesAsConversation(id, { includeAncestors: true })).map(
      (each) => each.content,
    );
    expect([...texts].sort()).toEqual(["in a", "in b", "in c"]);
  }
  await store.clearMessages("a");
  expect(["b", "c"]).toContain(await store.resolveResumeSessionId("a"));
  expect(await store.listSessionsRich({ includeChildren: true, orderByLastActive: true })).toHaveLength(3);
  expect(await store.listSessionsRich({ orderByLastActive: true, idQuery: "a" })).toEqual([]);
  expect(await store.searchSessionsById("a")).toEqual([]);
  expect(await store.setSessionArchived("a", true)).toBe(true);
  expect(await store.sessionCount({ archivedOnly: true })).toBe(3);
  expect(await store.deleteSessions(["a", "b", "c"])).toBe(3);
});
