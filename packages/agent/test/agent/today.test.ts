// An agent on a database of the original: it waits for the original's turns and follows its compactions.

import { sessionDatabasePath } from "@hermes-memory/core/internal/home";
import { expect, it } from "vitest";
import { execute, query } from "../../../core/test/fakes/session-index.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { upgradeToToday } from "../../../core/test/fakes/today-file.ts";
import { type AgentHome, agentHome } from "./agent-home.ts";
import { alteredStore } from "./altered-store.ts";

const ANSWERS = [{ text: "one" }, { text: "two" }, { text: "three" }];
const LATER = "strftime('%s', 'now') + 300";

async function begun(): Promise<AgentHome & { path: string; id: string }> {
  const made = await agentHome(ANSWERS);
  await made.agent.run("first");
  const path = sessionDatabasePath(made.home);
  upgradeToToday(path);
  return { ...made, path, id: made.agent.sessionId };
}

/** As the original rotates: the child first, its parent's end after it. */
function rotate(path: string, from: string, to: string): void {
  execute(
    path,
    `INSERT INTO sessions (id, source, parent_session_id, started_at, message_count)
       SELECT '${to}', source, id, started_at, 1 FROM sessions WHERE id = '${from}';
     INSERT INTO messages (session_id, role, content, timestamp) VALUES ('${to}', 'user', '[CONTEXT SUMMARY]: of it', 1);
     UPDATE sessions SET ended_at = strftime('%s', 'now'), end_reason = 'compression' WHERE id = '${from}'`,
  );
}

const said = (path: string, id: string) =>
  query(path, `SELECT content FROM messages WHERE session_id = '${id}' ORDER BY id`).map(
    ({ content }) => content,
  );

it("a turn of the original keeps ours from beginning, and the answer says whose it is and until when", async () => {
  const { agent, path, id } = await begun();
  execute(
    path,
    `INSERT INTO session_turn_leases VALUES ('${id}', 'pid=7:host=elsewhere:turn=1', strftime('%s', 'now'), ${LATER})`,
  );
  const busy = await agent.run("second");
  expect(busy).toMatchObject({ exit: "session_busy", failed: true });
  expect(busy.error).toMatch(
    /is in use by process 7 on elsewhere since [\d:]+\. .* reservation ends at [\d:]+ unless it is renewed\./,
  );
  expect(await agent.undo()).toMatchObject({ ok: false, error: { kind: "busy" } });
  execute(path, "DELETE FROM session_turn_leases");
  expect(await agent.run("second")).toMatchObject({ exit: "text_response", final_response: "two" });
});

it("our turn holds a lease that the original sees, and gives it back", async () => {
  const home = tempDirectory();
  const path = sessionDatabasePath(home);
  let during: unknown[] = [];
  const store = await alteredStore(home, (real) => ({
    appendMany: (id, rows, options) => {
      during = query(path, "SELECT conversation_id, holder FROM session_turn_leases");
      return real.appendMany(id, rows, options);
    },
  }));
  upgradeToToday(path);
  const { agent } = await agentHome(ANSWERS, { home, options: { store } });
  await agent.run("first");
  expect(during).toEqual([
    { conversation_id: agent.sessionId, holder: expect.stringMatching(`^pid=${process.pid}:`) },
  ]);
  expect(query(path, "SELECT * FROM session_turn_leases")).toEqual([]);
});

it("a compaction of the original between two turns is followed", async () => {
  const { agent, path, id } = await begun();
  rotate(path, id, "rotated");
  expect(await agent.run("second")).toMatchObject({ exit: "text_response" });
  expect(agent.sessionId).toBe("rotated");
  expect(said(path, "rotated")).toEqual(["[CONTEXT SUMMARY]: of it", "second", "two"]);
  expect(said(path, id)).toEqual(["first", "one"]);
});

it("a session that is closed in the middle of a turn is followed, and nothing that was said gets lost", async () => {
  const home = tempDirectory();
  const path = sessionDatabasePath(home);
  let isRotated = false;
  const store = await alteredStore(home, (real) => ({
    appendMany: async (id, rows, options) => {
      if (!isRotated && rows.some((row) => row.role === "assistant")) {
        isRotated = true;
        rotate(path, id, "rotated");
      }
      return real.appendMany(id, rows, options);
    },
  }));
  upgradeToToday(path);
  const { agent } = await agentHome(ANSWERS, { home, options: { store } });
  expect(await agent.run("first")).toMatchObject({ exit: "text_response", final_response: "one" });
  expect(agent.sessionId).toBe("rotated");
  expect(said(path, "rotated")).toEqual(["[CONTEXT SUMMARY]: of it", "one"]);
  expect(query(path, "SELECT * FROM session_turn_leases")).toEqual([]);
});

it("a session whose continuation was deleted goes on where it is", async () => {
  const { agent, path, id } = await begun();
  rotate(path, id, "rotated");
  await agent.store?.deleteSession("rotated");
  expect(await agent.run("second")).toMatchObject({ exit: "text_response" });
  expect(agent.sessionId).toBe(id);
  expect(said(path, id)).toEqual(["first", "one", "second", "two"]);
});

it("a compaction within the session by the original is read before the next turn, and no undo brings back its archive", async () => {
  const { agent, path, id, wire } = await begun();
  execute(
    path,
    `UPDATE messages SET active = 0, compacted = 1;
     INSERT INTO messages (session_id, role, content, timestamp, _compressed_summary) VALUES ('${id}', 'user', '[CONTEXT SUMMARY]: short', 2, 1);
     UPDATE sessions SET message_count = 1`,
  );
  expect(await agent.run("second")).toMatchObject({ exit: "text_response" });
  expect(JSON.stringify(wire.requests.at(-1))).toContain("[CONTEXT SUMMARY]: short");
  expect(await agent.undo()).toMatchObject({ ok: true, value: { turns: 1, text: "second" } });
  expect(await agent.undo()).toMatchObject({ ok: false, error: { kind: "nothing" } });
  expect(query(path, "SELECT content FROM messages WHERE compacted = 1 AND active = 0")).toHaveLength(2);
});
