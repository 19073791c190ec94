// Generated from the contract of the session store: every member of the store of one person is called with everything that belongs to another
// person (ids of sessions, messages and summaries, titles, jobs, holders of leases and locks), by every person against every other,
// and must do what it does for things that are not there. A member without a case fails the type check and the first test.
import { describe, expect, it } from "vitest";
import {
  type ExportedSession,
  type HomeStore,
  openSessionStore,
  resultNote,
  type SessionStore,
  WITHOUT_USER,
} from "../../src/sessions/index.ts";
import { liveOf, traceOf } from "../../testing/session-store/gateway-records.ts";
import { leafOf } from "../../testing/session-store/summary-nodes.ts";
import { exportAll, ManualClock, NOW } from "../../testing/session-store/support.ts";
import { type Method, READS, type Aim as Target, WRITES } from "../fakes/every-call.ts";
import { copiesOf } from "../fakes/store-copies.ts";

const PEOPLE = {
  "ann on cli": { platform: "cli", userId: "ann" },
  "ann on telegram": { platform: "telegram", userId: "ann" },
  "the owner": WITHOUT_USER,
} as const;
type Name = keyof typeof PEOPLE;
const NAMES = Object.keys(PEOPLE) as Name[];
const PAIRS = NAMES.flatMap((caller) =>
  NAMES.filter((name) => name !== caller).map((victim) => ({ caller, victim })),
);

/** Everything of a person that a call can name. `word` is in their messages, summaries and titles only. */
type Aim = Required<Target> & {
  readonly job: string;
  readonly holder: string;
  readonly lock: string;
  readonly result: string;
  readonly word: string;
};
/** `own` belongs to the caller. */
type Case = (store: SessionStore, aim: Aim, own: Aim) => Promise<unknown>;

const says = (content: string, more: object = {}) => ({ role: "user", content, ...more });

/** Calls that name things in more ways than the one call of `every-call.ts`. */
const MORE: Partial<Record<Method, readonly Case[]>> = {
  getLiveSession: [(store, { session }) => store.gateway.getLiveSession(`key of ${session}`)],
  findMark: [
    (store) => store.gateway.findMark(["prefix:of all"]),
    (store, { session }, own) => store.gateway.findMark([`mark of ${session}`, `mark of ${own.session}`]),
  ],
  listRecalls: [
    (store) => store.turns.listRecalls(),
    (store) => store.turns.listRecalls({ since: 0, limit: 1 }),
  ],
  findRecalls: [(store, { session }, own) => store.turns.findRecalls(own.session, [`mark of ${session}`])],
  findRounds: [
    (store, { session }, own) => store.gateway.findRounds(own.session, () => [`mark of ${session}`], "chat"),
  ],
  deleteLiveSession: [(store) => store.gateway.deleteLiveSession("agent:main")],
  saveLiveSession: [
    (store, { session }, own) =>
      store.gateway.saveLiveSession(
        liveOf(own.session, { key: `key of ${session}`, last_active_at: NOW + 1 }),
      ),
  ],
  saveMarks: [(store, { session }, own) => store.gateway.saveMarks(own.session, [`mark of ${session}`])],
  forgetRecalls: [(store, { session }) => store.turns.forgetRecalls(session, { dryRun: true })],
  createSession: [
    (store, { session }) => store.createSession("new", { source: "cli", parentSessionId: session }),
    (store, { session }) =>
      store.createSession("new", {
        source: "subagent",
        modelConfig: { _delegate_from: session, _branched_from: session, _compressed_from: session },
      }),
  ],
  setSessionTitle: [
    (store, { title }, own) => store.setSessionTitle(own.session, title),
    (store, { title }) => store.setSessionTitle("to be created", title),
    (store, { title }, own) => store.setSessionTitle(own.session, title.toUpperCase(), { source: "llm" }),
  ],
  setExtractedId: [
    (store, { message }, own) => store.setExtractedId(own.session, message),
    (store, { session }, own) => store.setExtractedId(session, own.message),
  ],
  resolveSessionByTitle: [
    (store, { title }) => store.resolveSessionByTitle(title.toUpperCase(), { ignoreCase: true }),
  ],
  appendMessage: [
    (store, { message }, own) => store.appendMessage(own.session, says("a copy", { originId: message })),
    (store, { message, session }, own) =>
      store.appendMessage(own.session, says("a copy", { id: message, session_id: session })),
  ],
  appendMany: [
    (store, { message }, own) => store.appendMany(own.session, [says("a copy", { _row_id: message })]),
    (store, { holder, session }) => store.appendMany(session, [says("more")], { leaseHolder: holder }),
  ],
  setFinishReason: [
    (store, { message }, own) => store.setFinishReason(own.session, [message, own.message], "stop"),
    (store, { session }, own) => store.setFinishReason(session, [own.message], "stop"),
  ],
  replaceMessages: [
    (store, { message }, own) => store.replaceMessages(own.session, [says("a copy", { originId: message })]),
    (store, { session, holder }) => store.replaceMessages(session, [says("x")], { leaseHolder: holder }),
  ],
  clearMessages: [(store, { session, holder }) => store.clearMessages(session, { leaseHolder: holder })],
  getMessagesById: [(store, { message }, own) => store.getMessagesById([own.message, message])],
  getMessagesAround: [
    (store, { message }, own) => store.getMessagesAround(own.session, message),
    (store, { session }, own) => store.getMessagesAround(session, own.message),
  ],
  getAnchoredView: [
    (store, { message }, own) => store.getAnchoredView(own.session, message),
    (store, { session }, own) => store.getAnchoredView(session, own.message),
  ],
  listMessageKeys: [(store, { session }, own) => store.listMessageKeys([own.session, session])],
  listKeptResults: [
    (store, { session }, own) => store.listKeptResults([session, own.session], { ownFilesOnly: true }),
    async (store, { result }, own) => {
      await store.appendMessage(own.session, { role: "tool", toolCallId: "x", content: noteOf(result) });
      return store.listKeptResults([own.session], { ownFilesOnly: true });
    },
  ],
  messageCount: [(store) => store.messageCount()],
  rewindToMessage: [
    (store, { message }, own) => store.rewindToMessage(own.session, message),
    (store, { session, message, holder }) => store.rewindToMessage(session, message, { leaseHolder: holder }),
  ],
  restoreRewound: [(store, { message }, own) => store.restoreRewound(own.session, message)],
  undoTurns: [(store, { session, holder }) => store.undoTurns(session, 1, { leaseHolder: holder })],
  resolveSessionId: [(store, { session }) => store.resolveSessionId(session.slice(0, -2))],
  continueSession: [
    (store, { session, lock, holder }) =>
      store.continueSession(session, { id: "new", lockHolder: lock, leaseHolder: holder }),
    (store, { message, session }, own) =>
      store.continueSession(own.session, {
        id: "new",
        lockHolder: own.lock,
        leaseHolder: own.holder,
        messages: [says("a copy", { id: message, session_id: session })],
      }),
    (store, { lock }, own) => store.continueSession(own.session, { id: "new", lockHolder: lock }),
  ],
  branchSession: [
    (store, { title }, own) => store.branchSession(own.session, { id: "new", title }),
    (store, { message }, own) => store.branchSession(own.session, { id: "new", untilMessageId: message }),
  ],
  insertSummaryNodes: [
    (store, { message }, own) =>
      store.summaries.insertSummaryNodes([leafOf(own.session, [message], { node_id: "lcm_new" })]),
    (store, { node }, own) =>
      store.summaries.insertSummaryNodes([
        { ...leafOf(own.session, [own.message + 1]), node_id: "lcm_new", depth: 1, source_ids: [node] },
      ]),
  ],
  listSummaryNodes: [(store, { session }, own) => store.summaries.listSummaryNodes([own.session, session])],
  searchSummaryNodes: [
    (store, { word }) => store.summaries.searchSummaryNodes(word),
    (store, { session }) => store.summaries.searchSummaryNodes("lantern", { sessionIds: [session] }),
  ],
  search: [
    (store, { word }) => store.search(word),
    (store, { word }) => store.search(`${word.slice(0, -1)}*`),
    (store, { word }) => store.search(`${word} lantern`, { perLineage: true }),
    (store, { session }) => store.search("lantern", { sessionIds: [session] }),
    (store, { session, message }) =>
      store.search("lantern", { excludeSessionIds: [session], excludeMessageIds: [message] }),
  ],
  searchMessages: [(store, { word }) => store.searchMessages(word)],
  listSessionsRich: [
    (store, { session }) => store.listSessionsRich({ orderByLastActive: true, idQuery: session.slice(3) }),
  ],
  searchSessionsById: [(store, { session }) => store.searchSessionsById(session.slice(2, -1))],
  listCronJobRuns: [(store, { job }) => store.listCronJobRuns(job)],
  listSessionIds: [(store, { session }) => store.listSessionIds({ prefix: session.slice(0, -1) })],
  acquireSessionLease: [(store, { session, holder }) => store.acquireSessionLease(session, holder)],
  renewSessionLease: [(store, { session, holder }) => store.renewSessionLease(session, holder)],
  releaseSessionLease: [(store, { session, holder }) => store.releaseSessionLease(session, holder)],
  breakSessionLease: [(store, { session, holder }) => store.breakSessionLease(session, holder)],
  tryAcquireCompressionLock: [(store, { session, lock }) => store.tryAcquireCompressionLock(session, lock)],
  renewCompressionLock: [(store, { session, lock }) => store.renewCompressionLock(session, lock)],
  releaseCompressionLock: [(store, { session, lock }) => store.releaseCompressionLock(session, lock)],
  deleteSession: [(store, { session, holder }) => store.deleteSession(session, { leaseHolder: holder })],
  deleteSessions: [
    (store, { session, holder }, own) =>
      store.deleteSessions([session, own.session, null], { leaseHolder: holder }),
    (store, { session }, own) => store.deleteSessions([own.session, session], { leaseHolder: own.holder }),
  ],
  listDelegates: [(store, { session }, own) => store.listDelegates([own.session, session])],
  exportEach: [(store) => exportAll(store, { includeInactive: true })],
  importSessions: [
    (store, { session, message, title }, own) =>
      store.importSessions([
        {
          ...exported(own),
          id: "new",
          title,
          parent_session_id: session,
          model_config: JSON.stringify({ _delegate_from: session, _user_platform: "telegram" }),
          messages: [says("a copy", { origin_id: message, session_id: session })],
        } as unknown as ExportedSession,
      ]),
  ],
};

/** Creating needs an id that is free in the whole file, and says so if it is not. It is all that can be learnt about another's id. */
const CREATES: Partial<Record<Method, readonly Case[]>> = {
  createSession: [(store, { session }) => store.createSession(session, { source: "cli" })],
  updateTokenCounts: [(store, { session }) => store.updateTokenCounts(session, { inputTokens: 1 })],
  continueSession: [
    (store, { session }, own) =>
      store.continueSession(own.session, { id: session, lockHolder: own.lock, leaseHolder: own.holder }),
  ],
  branchSession: [(store, { session }, own) => store.branchSession(own.session, { id: session })],
};

const { updateTokenCounts: _creates, ...OTHER_WRITES } = WRITES;
const CASES = Object.entries<Case>({ ...READS, ...OTHER_WRITES }).flatMap(([name, first]) =>
  [first, ...(MORE[name as Method] ?? [])].map((call, at) => ({ name, at, call })),
);
const isRead = (name: string) => name in READS && name !== "listKeptResults";

const newCopy = copiesOf(async (path) => {
  await using home = await openSessionStore({ path, clock: new ManualClock() });
  await home.importSessions([
    { ...exported({ session: "first" }), messages: [says("x", { id: 5_123_400 })] },
  ] as never);
  for (const name of NAMES) await settle(home, name);
});

let calls = 0;

describe("every member of the store of one person", () => {
  it("has a case, at run time too", async () => {
    await using home = await openSessionStore({ path: await newCopy() });
    for (const store of [home.forUser(WITHOUT_USER), home.forUser(PEOPLE["ann on cli"])]) {
      const { summaries, turns, gateway, ...own } = store;
      const members = Object.entries({ ...own, ...summaries, ...turns, ...gateway }).flatMap(
        ([name, value]) => (typeof value === "function" && name !== "close" ? [name] : []),
      );
      expect(members.sort()).toEqual(Object.keys({ ...READS, ...WRITES }).sort());
    }
    expect(Object.keys(MORE).filter((name) => !(name in READS || name in WRITES))).toEqual([]);
  });

  it.each(PAIRS)(
    "called by $caller with what belongs to $victim finds nothing",
    async ({ caller, victim }) => {
      const path = await newCopy();
      await using shared = await openSessionStore({ path, clock: new ManualClock() });
      const aims = await aimsOf(shared);
      const own = aims[caller];
      const theirs = aims[victim];
      const nowhere = nowhereLike(theirs);
      const before = {} as Record<Name, object>;
      for (const name of NAMES) before[name] = await stateOf(shared, name);
      for (const { name, at, call } of CASES) {
        const outcomes: string[] = [];
        for (const aim of [theirs, nowhere]) {
          const isAlone = !isRead(name);
          const home = isAlone
            ? await openSessionStore({ path: await newCopy(), clock: new ManualClock() })
            : shared;
          const others = NAMES.filter((each) => each !== caller);
          const outcome = await describeOutcome(call(home.forUser(PEOPLE[caller]), aim, own));
          calls += 1;
          if (isAlone)
            for (const other of others)
              expect([name, at, await stateOf(home, other)]).toEqual([name, at, before[other]]);
          const after = isAlone ? JSON.stringify(await stateOf(home, caller)) : "";
          if (isAlone) await home.close();
          expect([
            name,
            at,
            outcome.includes("secret of") && !outcome.includes(`secret of ${caller}`),
          ]).toEqual([name, at, false]);
          expect(outcome).not.toContain(`secret of ${victim}`);
          outcomes.push(anonymous(`${outcome} ${after}`, aim));
        }
        expect([name, at, difference(outcomes)]).toEqual([name, at, undefined]);
      }
    },
  );

  it.each(PAIRS)(
    "$caller cannot create a session with the id of one of $victim",
    async ({ caller, victim }) => {
      for (const ways of Object.values(CREATES))
        for (const call of ways) {
          await using home = await openSessionStore({ path: await newCopy(), clock: new ManualClock() });
          const aims = await aimsOf(home);
          const before = await Promise.all(NAMES.map((name) => stateOf(home, name)));
          const outcome = await describeOutcome(
            call(home.forUser(PEOPLE[caller]), aims[victim], aims[caller]),
          );
          calls += 1;
          expect(outcome).toContain('"bad-session-id"');
          expect(outcome).not.toContain("secret of");
          expect(await Promise.all(NAMES.map((name) => stateOf(home, name)))).toEqual(before);
        }
    },
  );

  it("was called this often", () => {
    const created = Object.values(CREATES).flat().length;
    expect(calls).toBe(PAIRS.length * (2 * CASES.length + created));
    console.log(`scoping: ${calls} calls of ${Object.keys({ ...READS, ...WRITES }).length} members, 0 leaks`);
  });
});

const slug = (name: Name): string => name.replaceAll(" ", "-");
const noteOf = (id: string): string =>
  `a\n\n${resultNote({ id, chars: 9, shownChars: 1, reader: "read_result" })}`;

function exported({ session }: Pick<Aim, "session">): object {
  return { id: session, source: "cli", started_at: NOW, messages: [] };
}

/** A session of the person with everything that another one could read or change, and a gap in the ids of messages. */
async function settle(home: HomeStore, name: Name): Promise<void> {
  const store = home.forUser(PEOPLE[name]);
  const id = `cron_${slug(name)}_20260101`;
  const word = wordOf(name);
  await store.createSession(id, { source: "cron" });
  const [first = -1] = await store.appendMany(id, [
    says(`a secret of ${name}: the lantern of ${word}`),
    { role: "assistant", content: "noted" },
    says("and another"),
    { role: "tool", toolCallId: "c1", content: noteOf(`c1-${slug(name)}`) },
  ]);
  await store.setSessionTitle(id, `Title ${word}`);
  await store.saveOwnPrompt(id, `the secret of ${name}`, 1);
  await store.setExtractedId(id, first);
  await store.gateway.saveLiveSession(liveOf(id)); // all have the same key
  await store.gateway.saveLiveSession(liveOf(id, { key: `key of ${id}` }));
  await store.gateway.saveMarks(id, [`mark of ${id}`, "prefix:of all"]);
  const mark = `mark of ${id}`;
  await store.turns.addRecall(
    traceOf(id, { mark, query: `recall of ${id}`, injected: `the secret of ${name}` }),
  );
  await store.gateway.saveAsk(id, { token: `token of ${id}`, request: `secret of ${name}` });
  await store.gateway.saveRound({ session_id: id, mark, wire: "chat", items: `["secret of ${name}"]` });
  const summary = `the secret of ${name}, lantern ${word}`;
  await store.summaries.insertSummaryNodes([
    leafOf(id, [first], { node_id: `lcm_${slug(name)}`, method: "extract", summary }),
  ]);
  await store.turns.addTurn({
    session_id: id,
    at: 1,
    duration_ms: 1,
    mode: "agent",
    model: `secret of ${name}`,
  });
  await store.createSession(`run of ${slug(name)}`, {
    source: "subagent",
    parentSessionId: id,
    modelConfig: { _delegate_from: id },
  });
  await store.acquireSessionLease(id, `holder of ${slug(name)}`, { ttl: 1e6 });
  await store.tryAcquireCompressionLock(id, `lock of ${slug(name)}`, { ttl: 1e6 });
  await home.createSession("gap", { source: "cli" });
  await home.appendMessage("gap", says("gone"));
  await home.deleteSession("gap");
}

/** A word that only this person writes. */
function wordOf(name: Name): string {
  return `zq${["amber", "birch", "cobalt"][NAMES.indexOf(name)]}`;
}

async function aimsOf(home: HomeStore): Promise<Readonly<Record<Name, Aim>>> {
  const aims = NAMES.map(async (name): Promise<[Name, Aim]> => {
    const session = `cron_${slug(name)}_20260101`;
    const [message] = await home.getMessages(session);
    if (message === undefined) throw new Error(`${name} has no message`);
    const named = {
      holder: `holder of ${slug(name)}`,
      lock: `lock of ${slug(name)}`,
      result: `c1-${slug(name)}`,
    };
    return [
      name,
      {
        session,
        message: message.id,
        title: `Title ${wordOf(name)}`,
        node: `lcm_${slug(name)}`,
        job: slug(name),
        word: wordOf(name),
        ...named,
      },
    ];
  });
  return Object.fromEntries(await Promise.all(aims)) as Record<Name, Aim>;
}

/** The same kinds of names, of the same length and at the same place, that nothing has. */
function nowhereLike(aim: Aim): Aim {
  const other = (text: string) => text.slice(0, -4) + "wxyz".slice(0, Math.min(4, text.length));
  const name = "n".repeat(aim.job.length);
  return {
    session: `cron_${name}_20260101`,
    message: aim.message + 4, // the gap
    title: other(aim.title),
    node: other(aim.node),
    job: name,
    holder: other(aim.holder),
    lock: other(aim.lock),
    result: other(aim.result),
    word: other(aim.word),
  };
}

function anonymous(text: string, aim: Aim): string {
  const keys = ["session", "title", "node", "holder", "lock", "result", "job", "word"] as const;
  const named = keys.reduce(
    (rest, key) => rest.replaceAll(aim[key], `<${key}>`).replaceAll(aim[key].toUpperCase(), `<${key}>`),
    text,
  );
  return named.replaceAll(String(aim.message), "<message>");
}

async function stateOf(home: HomeStore, name: Name): Promise<object> {
  const store = home.forUser(PEOPLE[name]);
  const ids = (await store.listSessionIds()).sort();
  return {
    sessions: (await exportAll(store, { includeInactive: true })).sort((a, b) => (a.id < b.id ? -1 : 1)),
    prompts: await Promise.all(ids.map((id) => store.getOwnPrompt(id))),
    extracted: await Promise.all(ids.map((id) => store.getExtractedId(id))),
    nodes: await store.summaries.listSummaryNodes(ids),
    leases: await Promise.all(ids.map((id) => store.getSessionLease(id))),
    locks: await Promise.all(ids.map((id) => store.getCompressionLockHolder(id))),
    live: await store.gateway.listLiveSessions(),
    marks: await Promise.all(ids.map((id) => store.gateway.findMark([`mark of ${id}`]))),
    recalls: await store.turns.listRecalls(),
    asks: await Promise.all(ids.map((id) => store.gateway.getAsk(id))),
    rounds: await Promise.all(ids.map((id) => store.gateway.findRounds(id, () => [`mark of ${id}`], "chat"))),
    turns: await store.turns.listTurns(),
  };
}

/** Where two texts begin to differ. */
function difference([one = "", other = ""]: readonly string[]): readonly string[] | undefined {
  if (one === other) return undefined;
  let at = 0;
  while (one[at] === other[at]) at += 1;
  return [one, other].map((text) => text.slice(Math.max(0, at - 80), at + 160));
}

/** The value, or the code and text of the error. */
async function describeOutcome(call: Promise<unknown>): Promise<string> {
  return call.then(
    (value) => JSON.stringify({ value }) ?? "undefined",
    (cause: unknown) => {
      const { code, message, hint } = Object(cause) as Record<string, unknown>;
      return JSON.stringify({ code, message, hint });
    },
  );
}
