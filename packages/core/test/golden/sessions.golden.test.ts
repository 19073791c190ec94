// Databases of the Python original, of June's and of today's, read and changed by us: same lists, conversations, windows, titles, tips
// and effects. What only today's files have is in sessions-v30.golden.test.ts.
import { describe, expect, it, onTestFinished } from "vitest";
import { codePointLength, HermesError } from "../../src/lib/index.ts";
import { type HomeStore, openSessionStore } from "../../src/sessions/index.ts";
import { exportAll } from "../../testing/session-store/support.ts";
import { keepsGatewayRecords } from "../fakes/gateway-records.ts";
import { columnsOf, copyOf, type Folder, readAnswers, toOptions } from "./session-databases.ts";
import { callByName, stateOf } from "./session-mutations.ts";

type Args = Record<string, unknown>;
type Row = Record<string, unknown> & { id: string };
type View = { window: number[]; bookend_start?: number[]; bookend_end?: number[] };
type Call = { method: string; args: unknown[]; kwargs: Args; result?: unknown; error?: string };
type State = { sessions: unknown[][]; messages_total: number; inactive: number };
type Answers = {
  counts: { sessions: number; messages: number };
  sessions: Row[];
  list_sessions_rich: { args: Args; rows: Row[] }[];
  session_count: { args: Args; count: number }[];
  search_sessions: { args: Args; rows: [string, number][] }[];
  search_sessions_by_id: { query: string; args: Args; rows: Row[] }[];
  list_cron_job_runs: { job_id: string; args: Args; rows: Row[] }[];
  get_compression_tip: Record<string, string>;
  resolve_resume_session_id: Record<string, string>;
  resolve_session_id: Record<string, string | null>;
  titles: { next: [string, string][]; resolve: [string, string | null][] };
  message_ids: Record<string, { active: number[]; all: number[] }>;
  get_messages_as_conversation: {
    session: string;
    args: Args;
    count: number;
    messages: object[] | null;
    outline?: [string, number | null][];
  }[];
  list_recent_user_messages: { session: string; args: Args; rows: object[] }[];
  get_anchored_view: { session: string; message_id: number; args: Args; view: View }[];
  get_messages_around: { session: string; message_id: number; args: Args; view: View }[];
  export_session: Record<string, object | null>;
  export_all_cron: [string, number, number][];
  mutations: { clock: number; runs: { title: string; calls: Call[]; state: State }[] };
};

/** Where ours does otherwise on purpose. */
type Differences = {
  /** Rows with pictures: the original passes over structured content in bookends, ours shows it (spec 4.3). */
  readonly structuredBookends: Readonly<Record<number, Partial<View>>>;
};
const FOLDERS: Readonly<Record<Folder, Differences>> = {
  "sessions-db": { structuredBookends: { 420: { bookend_start: [413, 414, 415] } } },
  "sessions-db-v30": { structuredBookends: { 435: { bookend_start: [428, 429, 430] } } },
};

describe.each(Object.entries(FOLDERS) as [Folder, Differences][])("%s", (folder, differences) => {
  const answers = readAnswers<Answers>("expected.json", folder);

  describe.skipIf(!answers)("a database of the original reads as the original reads it", () => {
    if (!answers) return;

    it("has the same sessions and counts", async () => {
      const store = await opened();
      for (const session of answers.sessions) expect(await store.getSession(session.id)).toEqual(session);
      expect(await store.sessionCount({ includeArchived: true })).toBe(answers.counts.sessions);
      expect(await store.messageCount()).toBe(answers.counts.messages);
    });

    it("keeps the records of a gateway, and stays sound", async () => {
      await keepsGatewayRecords(copyOf("state.db", folder));
    });

    it.each(named(answers.list_sessions_rich, ({ args }) => args))(
      "lists sessions %s",
      async (_name, each) => {
        const rows = await (await opened()).listSessionsRich(toOptions(each.args));
        expect(columnsOf(rows, each.rows)).toEqual(each.rows);
      },
    );

    it.each(named(answers.session_count, ({ args }) => args))("counts sessions %s", async (_name, each) => {
      expect(await (await opened()).sessionCount(toOptions(each.args))).toBe(each.count);
    });

    it.each(named(answers.search_sessions, ({ args }) => args))(
      "searches sessions %s",
      async (_name, each) => {
        const rows = await (await opened()).searchSessions(toOptions(each.args));
        expect(rows.map(({ id, last_active }) => [id, last_active])).toEqual(each.rows);
      },
    );

    it.each(named(answers.search_sessions_by_id, ({ query, args }) => [query, args]))(
      "searches by id %s",
      async (_name, each) => {
        const rows = await (await opened()).searchSessionsById(each.query, toOptions(each.args));
        expect(columnsOf(rows, each.rows)).toEqual(each.rows);
      },
    );

    it.each(named(answers.list_cron_job_runs, ({ job_id, args }) => [job_id, args]))(
      "lists the runs of job %s",
      async (_name, each) => {
        const rows = await (await opened()).listCronJobRuns(each.job_id, toOptions(each.args));
        expect(columnsOf(rows, each.rows)).toEqual(each.rows);
      },
    );

    it("finds the same tips, places to resume, and ids typed in part", async () => {
      const store = await opened();
      expect(await mapped(answers.get_compression_tip, (id) => store.getCompressionTip(id))).toEqual(
        answers.get_compression_tip,
      );
      expect(
        await mapped(answers.resolve_resume_session_id, (id) => store.resolveResumeSessionId(id)),
      ).toEqual(answers.resolve_resume_session_id);
      expect(await mapped(answers.resolve_session_id, (text) => store.resolveSessionId(text))).toEqual(
        answers.resolve_session_id,
      );
    });

    it.each(answers.titles.next)("after the title '%s' comes '%s'", async (base, next) => {
      expect(await (await opened()).getNextTitleInLineage(base)).toBe(next);
    });

    it.each(answers.titles.resolve)("the title '%s' leads to %s", async (title, id) => {
      // Ours does not take a title in another case for the same title (spec 4.5), the original does.
      const expected = title === "kiln controller" ? null : id;
      expect(await (await opened()).resolveSessionByTitle(title)).toBe(expected);
    });

    it("has the same messages, active and rewound", async () => {
      const store = await opened();
      for (const [id, expected] of Object.entries(answers.message_ids)) {
        expect((await store.getMessages(id)).map((message) => message.id)).toEqual(expected.active);
        const all = await store.getMessages(id, { includeInactive: true });
        expect(all.map((message) => message.id)).toEqual(expected.all);
      }
    });

    it.each(named(answers.get_messages_as_conversation, ({ session, args }) => [session, args]))(
      "gives the conversation of %s",
      async (_name, each) => {
        const messages = await (await opened()).getMessagesAsConversation(each.session, toOptions(each.args));
        expect(messages).toHaveLength(each.count);
        if (each.messages) expect(messages).toEqual(each.messages);
        if (each.outline) {
          expect(
            messages.map(({ role, content }) => [
              role,
              typeof content === "string" ? codePointLength(content) : null,
            ]),
          ).toEqual(each.outline);
        }
      },
    );

    it.each(named(answers.list_recent_user_messages, ({ session, args }) => [session, args]))(
      "lists the recent user messages of %s",
      async (_name, each) => {
        expect(await (await opened()).listRecentUserMessages(each.session, toOptions(each.args))).toEqual(
          each.rows,
        );
      },
    );

    it.each(
      named(answers.get_messages_around, ({ session, message_id, args }) => [session, message_id, args]),
    )("shows the window around %s", async (_name, { session, message_id, args, view }) => {
      const { window, ...counts } = await (await opened()).getMessagesAround(
        session,
        message_id,
        toOptions(args),
      );
      expect({ window: window.map(({ id }) => id), ...counts }).toEqual(view);
    });

    it.each(named(answers.get_anchored_view, ({ session, message_id, args }) => [session, message_id, args]))(
      "shows the view around %s",
      async (_name, { session, message_id, args, view }) => {
        const found = await (await opened()).getAnchoredView(session, message_id, toOptions(args));
        const { window, bookend_start, bookend_end, ...counts } = found;
        const ids = (rows: typeof window): number[] => rows.map(({ id }) => id);
        expect({
          window: ids(window),
          bookend_start: ids(bookend_start),
          bookend_end: ids(bookend_end),
          ...counts,
        }).toEqual({
          ...view,
          ...differences.structuredBookends[message_id],
        });
      },
    );

    it.each(Object.entries(answers.export_session))("exports %s", async (id, expected) => {
      expect(await (await opened()).exportSession(id)).toEqual(expected);
    });

    it("exports all scheduled runs", async () => {
      const all = await exportAll(await opened(), { source: "cron" });
      expect(all.map(({ id, messages, last_active }) => [id, messages.length, last_active])).toEqual(
        answers.export_all_cron,
      );
    });
  });

  describe.skipIf(!answers)("a database of the original changes as the original changes it", () => {
    if (!answers) return;
    const { clock, runs } = answers.mutations;

    it.each(runs.map((run) => [run.title, run] as const))("%s", async (_title, run) => {
      const store = await opened(clock);
      for (const call of run.calls) {
        const outcome = callByName(store, call.method, call.args, call.kwargs);
        if (call.error === undefined)
          expect(withoutTimes(call, await outcome)).toEqual(withoutFlag(call.result));
        else await expectFailure(outcome, call.error);
      }
      expect(await stateOf(store)).toEqual(
        run.title === "prune" ? prunedWithDelegates(run.state) : run.state,
      );
    });
  });

  async function opened(clockSeconds?: number): Promise<HomeStore> {
    const clock = clockSeconds === undefined ? {} : { clock: { now: () => new Date(clockSeconds * 1000) } };
    const store = await openSessionStore({ path: copyOf("state.db", folder), ...clock });
    onTestFinished(() => store.close());
    return store;
  }

  /** The original leaves the delegates of pruned sessions behind; ours takes them along (spec 8). */
  function prunedWithDelegates(state: State): State {
    const delegate = answers?.sessions.find(({ model_config }) =>
      String(model_config).includes("_delegate_from"),
    );
    const messages = answers?.message_ids[delegate?.id ?? ""]?.all.length ?? 0;
    expect(messages).toBeGreaterThan(0);
    return {
      ...state,
      sessions: state.sessions.filter(([id]) => id !== delegate?.id),
      messages_total: state.messages_total - messages,
    };
  }
});

function named<T>(cases: readonly T[], name: (each: T) => unknown): [string, T][] {
  return cases.map((each) => [JSON.stringify(name(each)), each]);
}

async function mapped(
  expected: Readonly<Record<string, unknown>>,
  answer: (key: string) => Promise<unknown>,
): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (const key of Object.keys(expected)) found[key] = await answer(key);
  return found;
}

/** The original's answer about replaced messages leaves their times out: they are made from the clock. */
function withoutTimes({ method }: Call, result: unknown): unknown {
  if (method !== "get_messages_as_conversation" || !Array.isArray(result)) return result;
  return result.map(({ timestamp: _timestamp, ...message }: Row) => message);
}

/** Ours names the flag of a summary only on summaries. */
function withoutFlag(result: unknown): unknown {
  if (result === undefined) return undefined;
  return JSON.parse(JSON.stringify(result), (key, value: unknown) =>
    key === "_compressed_summary" && value === 0 ? undefined : value,
  );
}

async function expectFailure(outcome: Promise<unknown>, error: string): Promise<void> {
  const failure = await outcome.then(
    () => undefined,
    (cause: unknown) => cause,
  );
  expect(failure).toBeInstanceOf(HermesError);
  if (!(failure instanceof HermesError)) return;
  if (error.startsWith("IntegrityError"))
    expect(["unknown-session", "unknown-parent"]).toContain(failure.code);
  else expect(failure.message).toContain(error);
}
