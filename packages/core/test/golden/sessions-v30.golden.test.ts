// What only today's files have: archives within a session, prompts by hash, resets, hidden and pinned sessions, turn leases. The rest
// of these databases is compared in sessions.golden.test.ts.
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { HermesError } from "../../src/lib/index.ts";
import { type HomeStore, openSessionStore } from "../../src/sessions/index.ts";
import { columnsOf, copyOf, readAnswers, toOptions } from "./session-databases.ts";
import { callByName } from "./session-mutations.ts";

type Args = Record<string, unknown>;
type Row = Record<string, unknown> & { id: string };
type Call = { method: string; args: unknown[]; kwargs: Args; result?: unknown; error?: string };
type Run = {
  title: string;
  session: string;
  calls: Call[];
  rows: [number, string, number, number][];
  session_row: unknown[] | null;
  prompts: number;
  sessions: string[];
};
type Answers = {
  session_names: Record<string, string>;
  prompts: { table: [string, number][]; of_session: Record<string, string | null> };
  message_flags: Record<string, [number, number, number, number][]>;
  display_history: Record<string, number[]>;
  conversation_ids: Record<string, number[]>;
  conversation_in_place: [string, string][];
  listing_v30: { args: Args; rows: Row[] }[];
  locks_v30: { compression_lock_holder: string };
  mutations: { clock: number };
  mutations_v30: Run[];
};

const FOLDER = "sessions-db-v30";
const answers = readAnswers<Answers>("expected.json", FOLDER);

describe.skipIf(!answers)("a database of today's original", () => {
  if (!answers) return;
  const idOf = (name: string) => answers.session_names[name] ?? "";

  it("gives prompts by their hash", async () => {
    const { store } = await opened();
    for (const [id, prompt] of Object.entries(answers.prompts.of_session))
      expect((await store.getSession(id))?.system_prompt ?? null).toBe(prompt);
  });

  it("has the same archives, and shows people what the original shows", async () => {
    const { store } = await opened();
    for (const [name, flags] of Object.entries(answers.message_flags)) {
      const rows = await store.getMessages(idOf(name), { includeInactive: true });
      const found = rows.map((row) => [row.id, row.active, row.compacted, row._compressed_summary ? 1 : 0]);
      expect(found).toEqual(flags);
    }
    for (const [name, ids] of Object.entries(answers.display_history))
      expect((await store.getDisplayHistory(idOf(name))).map(({ id }) => id)).toEqual(ids);
  });

  it("gives the model the active rows in order of their ids", async () => {
    const { store } = await opened();
    for (const [name, ids] of Object.entries(answers.conversation_ids)) {
      const id = idOf(name);
      expect((await store.getMessages(id)).map((row) => row.id)).toEqual(ids);
      expect(await store.getMessagesAsConversation(id)).toHaveLength(ids.length);
    }
    const conversation = await store.getMessagesAsConversation(idOf("in_place"));
    expect(conversation.map(({ role, content }) => [role, content])).toEqual(answers.conversation_in_place);
  });

  it.each(answers.listing_v30.map((each) => [JSON.stringify(each.args), each] as const))(
    "lists sessions %s",
    async (_name, { args, rows }) => {
      const { store } = await opened();
      expect(columnsOf(await store.listSessionsRich(toOptions(args)), rows)).toEqual(rows);
    },
  );

  it("says whose turn and whose compaction is under way", async () => {
    const { store } = await opened();
    const id = idOf("leased");
    expect(await store.getCompressionLockHolder(id)).toBe(answers.locks_v30.compression_lock_holder);
    expect(await store.getSessionLease(id)).toMatchObject({ holder: expect.any(String) });
    expect(await store.getSessionLease(idOf("in_place"))).toBeNull();
  });

  /** Without what we do not offer: replacing with the dropped rows kept, and compacting within a session. */
  const NOT_OURS = /dropped rows kept|compact a third time/;
  it.each(
    answers.mutations_v30
      .filter(({ title }) => !NOT_OURS.test(title))
      .map((run) => [run.title, run] as const),
  )("changes as the original changes it: %s", async (title, run) => {
    const { store, path } = await opened(answers.mutations.clock);
    if (title.startsWith("prompts of the last user")) {
      // The original's raw delete does not look at leases; ours does.
      await expect(store.deleteSession(run.session)).rejects.toMatchObject({ code: "session-busy" });
      execute(path, "DELETE FROM session_turn_leases");
    }
    for (const call of run.calls) {
      const outcome = callByName(store, call.method, call.args, call.kwargs);
      if (call.error === undefined) expect(await outcome).toEqual(asOurs(call));
      else await expect(outcome).rejects.toMatchObject({ code: "session-closed" });
    }
    const rows = await store.getMessages(run.session, { includeInactive: true });
    expect(rows.map((row) => [row.id, row.role, row.active, row.compacted])).toEqual(run.rows);
    const row = await store.getSession(run.session);
    const flags = row && [
      row.message_count,
      row.ended_at === null ? 0 : 1,
      row.end_reason,
      row.archived,
      row.hidden,
      row.pinned,
      row.rewind_count,
    ];
    expect(flags).toEqual(run.session_row);
    expect((await store.listSessionIds()).sort()).toEqual([...run.sessions].sort());
    expect(query(path, "SELECT COUNT(*) AS n FROM system_prompts")).toEqual([{ n: run.prompts }]);
  });

  it("keeps its archive through rewinding, restoring, replacing and clearing", async () => {
    const { store, path } = await opened();
    const id = idOf("in_place");
    const archive = () =>
      query(path, "SELECT id, content FROM messages WHERE compacted = 1 AND active = 0 ORDER BY id");
    const before = archive();
    const live = (await store.getMessages(id)).map((row) => row.id);
    expect(await store.undoTurns(id, 1)).toMatchObject({ rewound_count: 2, turns_undone: 1 });
    expect(await store.restoreRewound(id, 1)).toBe(2);
    expect((await store.getMessages(id)).map((row) => row.id)).toEqual(live);
    // The summary is no turn, so this is as far as one can go back.
    expect(await store.undoTurns(id, 9)).toMatchObject({ turns_undone: 1 });
    const archived = answers.message_flags.in_place?.find(([, active, compacted]) => !active && compacted);
    await expect(store.rewindToMessage(id, archived?.[0] ?? 0)).rejects.toMatchObject({
      code: "unknown-message",
    });
    await store.replaceMessages(id, [{ role: "user", content: "rewritten" }]);
    expect(await store.restoreRewound(id, 1)).toBe(0);
    expect(await store.getSession(id)).toMatchObject({ message_count: 1, tool_call_count: 0 });
    await store.clearMessages(id);
    expect(await store.getMessages(id)).toEqual([]);
    expect(archive()).toEqual(before);
  });

  it("refuses to change a session with a turn under way, and says whose it is and until when", async () => {
    const { store } = await opened();
    const id = idOf("leased");
    const [message] = await store.getMessages(id);
    const edits = [
      () => store.rewindToMessage(id, message?.id ?? 0),
      () => store.restoreRewound(id, 1),
      () => store.undoTurns(id),
      () => store.replaceMessages(id, []),
      () => store.clearMessages(id),
      () => store.deleteSession(id),
      () => store.deleteSessions([idOf("in_place"), id]),
    ];
    for (const edit of edits) {
      const refused: unknown = await edit().catch((cause: unknown) => cause);
      expect(refused).toBeInstanceOf(HermesError);
      expect(refused).toMatchObject({ code: "session-busy", message: expect.stringMatching(/until 2100-/) });
    }
    expect(await store.getMessages(id)).toEqual([message]);
    expect(await store.getSession(idOf("in_place"))).not.toBeNull();
    expect(await store.acquireSessionLease(id, "me")).toMatchObject({ acquired: false });
  });
});

/** Ours names the flag of a summary only on summaries. */
function asOurs({ method, result }: Call): unknown {
  return method === "rewind_to_message" ? JSON.parse(JSON.stringify(result), dropZero) : result;
}

function dropZero(key: string, value: unknown): unknown {
  return key === "_compressed_summary" && value === 0 ? undefined : value;
}

async function opened(clockSeconds?: number): Promise<{ store: HomeStore; path: string }> {
  const clock = clockSeconds === undefined ? {} : { clock: { now: () => new Date(clockSeconds * 1000) } };
  const path = copyOf("state.db", FOLDER);
  const store = await openSessionStore({ path, ...clock });
  onTestFinished(() => store.close());
  return { store, path };
}

function query(path: string, sql: string): object[] {
  using db = new DatabaseSync(path, { readOnly: true });
  return db
    .prepare(sql)
    .all()
    .map((row) => ({ ...row }));
}

function execute(path: string, sql: string): void {
  using db = new DatabaseSync(path);
  db.exec(sql);
}
