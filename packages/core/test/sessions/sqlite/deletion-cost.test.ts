// Deleting many sessions scans the tables as often as deleting one, and holds the write lock only for a few sessions at a time.
import { DatabaseSync, StatementSync } from "node:sqlite";
import { expect, it, onTestFinished, vi } from "vitest";
import { type HomeStore, openSessionStore } from "../../../src/sessions/index.ts";
import { execute, newPath } from "../../fakes/session-index.ts";

const SESSIONS = 200;

/** Sessions that ended long ago, one message each; every tenth is a subagent run. */
function oldSessions(path: string): void {
  execute(
    path,
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${SESSIONS})
     INSERT INTO sessions(id, source, started_at, ended_at, model_config)
     SELECT printf('s%03d', i), 'cli', i, i + 1,
       CASE WHEN i % 10 = 0 THEN json_object('_delegate_from', printf('s%03d', i - 1)) END FROM n;
     INSERT INTO messages(session_id, role, content, timestamp) SELECT id, 'user', 'hello', started_at FROM sessions`,
  );
}

/** Counts how often each statement runs from now on. */
function countRuns(): Map<string, number> {
  const runs = new Map<string, number>();
  const count = (statement: StatementSync): void => {
    const sql = statement.sourceSQL;
    runs.set(sql, (runs.get(sql) ?? 0) + 1);
  };
  const { all, get, iterate, run } = StatementSync.prototype;
  const originals = { all, get, iterate, run };
  for (const name of ["all", "get", "iterate", "run"] as const) {
    const spy = vi.spyOn(StatementSync.prototype, name).mockImplementation(function (
      this: StatementSync,
      ...values: Parameters<StatementSync["all"]>
    ) {
      count(this);
      return Reflect.apply(originals[name], this, values);
    });
    onTestFinished(() => spy.mockRestore());
  }
  return runs;
}

/** The statements that scan every session or every message. */
function scans(path: string, runs: ReadonlyMap<string, number>): [string, number][] {
  using db = new DatabaseSync(path);
  return [...runs].filter(([sql]) => {
    if (!/^\s*(SELECT|UPDATE|DELETE|WITH)/i.test(sql)) return false;
    // The search index is updated in the background; each step reads at most 1,000 queued rows.
    if (/pragma_|hermes_memory_(queue|state|large)/.test(sql)) return false;
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
    return plan.some((row) => /^SCAN (?!.*CONSTANT ROW)/.test(String(row.detail)));
  });
}

it.each<[string, (store: HomeStore) => Promise<number>, number]>([
  ["pruning", (store) => store.pruneSessions(), SESSIONS * 0.9],
  ["deleting by id", async (store) => store.deleteSessions(await store.listSessionIds()), SESSIONS],
])(
  "%s many sessions looks through all of them once, in several transactions",
  async (_name, remove, number) => {
    const path = newPath();
    await using store = await openSessionStore({ path });
    oldSessions(path);
    const runs = countRuns();
    expect(await remove(store)).toBe(number);
    vi.restoreAllMocks();
    expect(await store.sessionCount()).toBe(0);
    expect(await store.messageCount()).toBe(0);
    for (const [sql, times] of scans(path, runs)) expect(times, sql).toBeLessThanOrEqual(1);
    expect(runs.get("BEGIN IMMEDIATE")).toBeGreaterThan(1);
    expect(runs.get("BEGIN IMMEDIATE")).toBeLessThan(SESSIONS / 4);
  },
);
