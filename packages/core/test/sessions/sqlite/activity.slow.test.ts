// The last activity of each session: kept by triggers, read by listings.
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type HomeStore,
  type ListedSession,
  openSessionStore,
  type SessionRow,
  type SessionStore,
} from "../../../src/sessions/index.ts";
import { execute, hasPythonSqlite, newPath, openPython, query, type Row } from "../../fakes/session-index.ts";

const NOW = 1_770_000_000;
const IDS = ["a", "b", "c"];

/** The contents of the table, and the expected contents. */
function activity(path: string): { kept: Row[]; expected: Row[] } {
  return {
    kept: query(
      path,
      "SELECT session_id, last_active, user_id FROM hermes_memory_activity ORDER BY session_id",
    ),
    expected: query(
      path,
      `SELECT id AS session_id, user_id,
         COALESCE((SELECT MAX(timestamp) FROM messages WHERE session_id = sessions.id), started_at) AS last_active
       FROM sessions ORDER BY id`,
    ).map(({ session_id, last_active, user_id }) => ({ session_id, last_active, user_id })),
  };
}

function expectKept(path: string): void {
  const { kept, expected } = activity(path);
  expect(kept).toEqual(expected);
}

describe("the time of the latest message", () => {
  const session = fc.constantFrom(...IDS);
  const time = fc.integer({ min: NOW - 5, max: NOW + 5 });
  const messages = fc.array(fc.record({ role: fc.constantFrom("user", "assistant"), timestamp: time }), {
    maxLength: 4,
  });
  type Work = (store: HomeStore, python: Python | undefined) => Promise<unknown>;
  type Python = ReturnType<typeof openPython>;
  const ids = async (store: HomeStore, id: string) =>
    (await store.getMessages(id, { includeInactive: true })).filter(({ role }) => role === "user");

  const work: fc.Arbitrary<Work> = fc.oneof(
    fc.tuple(session, messages).map(
      ([id, list]): Work =>
        (store) =>
          store.appendMany(id, list),
    ),
    fc.tuple(session, messages).map(
      ([id, list]): Work =>
        (store) =>
          store.replaceMessages(id, list),
    ),
    session.map(
      (id): Work =>
        (store) =>
          store.clearMessages(id),
    ),
    session.map(
      (id): Work =>
        async (store) => {
          await store.deleteSession(id);
          await store.createSession(id, { source: "cli", startedAt: NOW });
        },
    ),
    session.map(
      (id): Work =>
        async (store) => {
          const [first] = await ids(store, id);
          if (first !== undefined) await store.rewindToMessage(id, first.id);
        },
    ),
    session.map(
      (id): Work =>
        async (store) => {
          const { id: child } = await store.branchSession(id);
          await store.deleteSession(child);
        },
    ),
    fc.tuple(session, time, fc.constantFrom("INSERT", "DELETE", "MOVE", "RETIME", "OWNER")).map(
      ([id, at, kind]): Work =>
        async (_store, python) => {
          const values = [id, at];
          const sql = {
            INSERT:
              "INSERT INTO messages(session_id, role, content, timestamp) VALUES (?, 'user', 'hello', ?)",
            DELETE: "DELETE FROM messages WHERE session_id = ? AND timestamp >= ?",
            MOVE: "UPDATE messages SET session_id = ? WHERE timestamp = ?",
            RETIME: "UPDATE messages SET timestamp = timestamp - 3 WHERE session_id = ? AND timestamp <= ?",
            OWNER: "UPDATE sessions SET user_id = 'owner of ' || ?, started_at = ?",
          }[kind];
          await python?.run({ sql: sql ?? "", values });
        },
    ),
  );

  it("is what the messages say after any work of ours and of Python's", async () => {
    const path = newPath();
    await using store = await openSessionStore({ path });
    for (const id of IDS) await store.createSession(id, { source: "cli", startedAt: NOW });
    const python = hasPythonSqlite ? openPython(path) : undefined;
    const property = fc.asyncProperty(fc.array(work, { minLength: 3, maxLength: 12 }), async (list) => {
      for (const each of list) {
        await each(store, python);
        expectKept(path);
      }
    });
    await fc.assert(property, { numRuns: 12 });
    expect(activity(path).kept).toHaveLength(IDS.length);
  }, 60_000);

  it("is computed again for a file that lost one of the triggers", async () => {
    const path = newPath();
    {
      await using store = await openSessionStore({ path });
      await store.createSession("a", { source: "cli", startedAt: NOW });
    }
    execute(path, "DROP TRIGGER hermes_memory_message_insert");
    execute(path, `INSERT INTO messages(session_id, role, timestamp) VALUES ('a', 'user', ${NOW + 9})`);
    await using store = await openSessionStore({ path });
    expectKept(path);
    expect(await store.searchSessions()).toMatchObject([{ id: "a", last_active: NOW + 9 }]);
  });
});

// ---- Listings, compared with a simple implementation of the rules ----

type Tree = readonly {
  readonly parent: number | null;
  readonly kind:
    | "continuation"
    | "marked continuation"
    | "branch"
    | "ended as branch"
    | "delegate"
    | "untagged";
  readonly startedAt: number;
  readonly user: string | null;
  readonly times: readonly number[];
  readonly archived: boolean;
}[];

const small = fc.integer({ min: 0, max: 6 });
const tree: fc.Arbitrary<Tree> = fc
  .array(
    fc.record({
      parent: fc.option(fc.nat(20), { freq: 3 }),
      kind: fc.constantFrom(
        "continuation" as const,
        "continuation" as const,
        "marked continuation" as const,
        "branch" as const,
        "ended as branch" as const,
        "delegate" as const,
        "untagged" as const,
      ),
      startedAt: small,
      user: fc.constantFrom(null, "ann", "bob"),
      times: fc.array(small, { maxLength: 2 }),
      archived: fc.nat(5).map((number) => number === 0),
    }),
    { minLength: 1, maxLength: 14 },
  )
  .map((list) =>
    // A parent comes before its children, so that there are no cycles.
    list.map((each, at) => ({ ...each, parent: each.parent === null || at === 0 ? null : each.parent % at })),
  );

const idOf = (at: number) => `s${String(at).padStart(2, "0")}`;

function write(path: string, list: Tree): void {
  using db = new DatabaseSync(path);
  db.exec(
    "PRAGMA synchronous = OFF; BEGIN; DELETE FROM messages; UPDATE sessions SET parent_session_id = NULL",
  );
  db.exec("DELETE FROM sessions");
  const add = db.prepare(
    "INSERT INTO sessions(id, source, user_id, parent_session_id, started_at, archived, model_config) VALUES (?, 'cli', ?, ?, ?, ?, ?)",
  );
  const end = db.prepare("UPDATE sessions SET end_reason = ?, ended_at = ? WHERE id = ?");
  const say = db.prepare(
    "INSERT INTO messages(session_id, role, content, timestamp) VALUES (?, 'user', 'x', ?)",
  );
  for (const [at, { parent, kind, startedAt, user, times, archived }] of list.entries()) {
    const mark = {
      "marked continuation": "_compressed_from",
      branch: "_branched_from",
      delegate: "_delegate_from",
    }[kind as string];
    const config = parent === null || mark === undefined ? null : JSON.stringify({ [mark]: idOf(parent) });
    add.run(idOf(at), user, parent === null ? null : idOf(parent), startedAt, archived ? 1 : 0, config);
    if (parent !== null && kind === "continuation") end.run("compression", 3, idOf(parent));
    if (parent !== null && kind === "ended as branch") end.run("branched", 3, idOf(parent));
    for (const time of times) say.run(idOf(at), time);
  }
  db.exec("COMMIT");
}

type Session = SessionRow & { readonly times: readonly number[] };

class Reference {
  readonly #rows: readonly Session[];

  constructor(path: string, user: string | undefined) {
    const rows = query(path, "SELECT * FROM sessions") as unknown as SessionRow[];
    const times = query(path, "SELECT session_id, timestamp FROM messages");
    this.#rows = rows
      .filter((row) => user === undefined || row.user_id === user)
      .map((row) => ({
        ...row,
        times: times
          .filter(({ session_id }) => session_id === row.id)
          .map(({ timestamp }) => Number(timestamp)),
      }));
    this.#all = new Map(rows.map((row) => [row.id, row]));
  }
  readonly #all: ReadonlyMap<string, SessionRow>;

  list(options: { byActivity: boolean; limit: number; offset: number; idQuery?: string }): string[] {
    const { idQuery = "" } = options;
    const listed = this.#rows.filter(
      (row) =>
        row.archived === 0 &&
        this.#isListable(row) &&
        this.#chain(row).some(({ id }) => id.includes(idQuery)),
    );
    const active = (row: Session) => (options.byActivity ? this.#latest(row) : row.started_at);
    return listed
      .sort((a, b) => active(b) - active(a) || b.started_at - a.started_at || (a.id < b.id ? 1 : -1))
      .slice(options.offset, options.offset + options.limit)
      .map(({ id }) => id);
  }

  #isListable(row: SessionRow): boolean {
    if (mark(row, "_delegate_from") !== undefined) return false;
    const parent = row.parent_session_id === null ? undefined : this.#all.get(row.parent_session_id);
    if (parent === undefined || mark(row, "_branched_from") !== undefined) return true;
    return (
      mark(row, "_compressed_from") === undefined &&
      parent.end_reason === "branched" &&
      row.started_at >= (parent.ended_at ?? Number.POSITIVE_INFINITY)
    );
  }

  #continues(child: SessionRow, parent: SessionRow): boolean {
    if (child.parent_session_id !== parent.id) return false;
    if (mark(child, "_branched_from") !== undefined || mark(child, "_delegate_from") !== undefined)
      return false;
    if (mark(child, "_compressed_from") === parent.id) return true;
    return (
      parent.end_reason === "compression" && child.started_at >= (parent.ended_at ?? Number.POSITIVE_INFINITY)
    );
  }

  /** The rest of the conversation from this session on. */
  #chain(row: Session): Session[] {
    const next = this.#rows.filter((child) => this.#continues(child, row));
    return [row, ...next.flatMap((child) => this.#chain(child))];
  }

  #latest(row: Session): number {
    const own = ({ times, started_at }: Session) => (times.length === 0 ? started_at : Math.max(...times));
    return Math.max(...this.#chain(row).map(own));
  }
}

function mark(row: SessionRow, key: string): string | undefined {
  return row.model_config === null
    ? undefined
    : (JSON.parse(row.model_config) as Record<string, string>)[key];
}

function storeOf(home: HomeStore, userId: string | undefined): SessionStore {
  return userId === undefined ? home : home.forUser({ platform: "cli", userId });
}

describe("a listing", () => {
  it("shows what the rules say, in the order they say, page by page", async () => {
    const path = newPath();
    await using store = await openSessionStore({ path });
    const page = { limit: fc.integer({ min: 1, max: 5 }), offset: fc.integer({ min: 0, max: 4 }) };
    const user = fc.constantFrom(undefined, "ann", "bob");
    const property = fc.asyncProperty(
      tree,
      fc.record({ ...page, user, byActivity: fc.boolean() }),
      async (list, { limit, offset, user: userId, byActivity }) => {
        write(path, list);
        const rows = await storeOf(store, userId).listSessionsRich({
          limit,
          offset,
          orderByLastActive: byActivity,
        });
        const shown = rows.map((row) => row._lineage_root_id ?? row.id);
        expect(shown).toEqual(new Reference(path, userId).list({ byActivity, limit, offset }));
      },
    );
    await fc.assert(property, { numRuns: 150 });
  }, 60_000);

  it("by a part of an id shows the conversations that have it", async () => {
    const path = newPath();
    await using store = await openSessionStore({ path });
    const user = fc.constantFrom(undefined, "ann", "bob");
    const digits = fc.constantFrom("0", "1", "3", "s0", "S1", "s05", "nothing");
    const property = fc.asyncProperty(tree, user, digits, async (list, userId, idQuery) => {
      write(path, list);
      const shown = (rows: readonly ListedSession[]) => rows.map((row) => row._lineage_root_id ?? row.id);
      const all = { byActivity: true, limit: 99, offset: 0, idQuery: idQuery.toLowerCase() };
      const expected = new Reference(path, userId).list(all);
      const own = storeOf(store, userId);
      for (const limit of [2, 99])
        expect(shown(await own.listSessionsRich({ orderByLastActive: true, idQuery, limit }))).toEqual(
          expected.slice(0, limit),
        );
      const found = await own.searchSessionsById(idQuery, { includeArchived: false });
      expect(shown(found).sort()).toEqual([...expected].sort());
      const rank = (row: ListedSession) => {
        const ids = [row.id, row._lineage_root_id ?? row.id];
        const fits = (test: (id: string) => boolean) => ids.some(test);
        if (fits((id) => id === all.idQuery)) return 0;
        return fits((id) => id.startsWith(all.idQuery)) ? 1 : 2;
      };
      const places = found.map((row) => [rank(row), expected.indexOf(row._lineage_root_id ?? row.id)]);
      expect(places).toEqual([...places].sort(([a = 0, b = 0], [c = 0, d = 0]) => a - c || b - d));
      const first = await own.searchSessionsById(idQuery, { includeArchived: false, limit: 2 });
      expect(shown(first)).toEqual(shown(found).slice(0, 2));
    });
    await fc.assert(property, { numRuns: 100 });
  }, 60_000);
});
