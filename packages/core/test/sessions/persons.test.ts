// The store of one person: what it creates and imports, and several persons working in one file. Every member with what belongs to
// others: scoping.slow.test.ts. The contract itself runs in person-contract.slow.test.ts.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type ExportedSession,
  type MessageInput,
  openSessionStore,
  type SessionStore,
  sessionSearchTool,
  userOfSession,
  WITHOUT_USER,
} from "../../src/sessions/index.ts";
import { traceOf } from "../../testing/session-store/gateway-records.ts";
import { leafOf } from "../../testing/session-store/summary-nodes.ts";
import { exportAll, ManualClock } from "../../testing/session-store/support.ts";
import { outcomeOf } from "../fakes/every-call.ts";
import { copiesOf } from "../fakes/store-copies.ts";

const ANN = { platform: "cli", userId: "ann" };
const BEN = { platform: "cli", userId: "ben" };

describe("the store of one person", () => {
  const newCopy = copiesOf(async (path) => {
    await using home = await openSessionStore({ path, clock: new ManualClock() });
    await settle(home.forUser(BEN), "ben-1", "harbour", "lcm_1");
    await settle(home.forUser(ANN), "ann-1", "lighthouse", "lcm_ann");
  });

  async function opened() {
    const home = await openSessionStore({ path: await newCopy(), clock: new ManualClock() });
    const [ann, ben] = [home.forUser(ANN), home.forUser(BEN)];
    const [message] = await ben.getMessages("ben-1");
    return { home, ann, ben, message: message?.id ?? -1, [Symbol.asyncDispose]: () => home.close() };
  }

  it("for the owner of the home has the sessions without a user, and no others", async () => {
    await using files = await opened();
    const { home, ann } = files;
    const owner = home.forUser(WITHOUT_USER);
    expect([owner.user, owner.scope]).toEqual([undefined, { withoutUser: true }]);
    await owner.createSession("own", { source: "telegram", modelConfig: { _user_platform: "cli", a: 1 } });
    await owner.createSession("run", { source: "subagent", parentSessionId: "own" });
    await owner.appendMany("own", [userSays("a lantern of the owner")]);
    await owner.continueSession("own", { id: "next" });
    await owner.branchSession("own", { id: "fork" });
    const [mine] = await exportAll(ann);
    await owner.importSessions([{ ...mine, id: "imported", title: null } as ExportedSession]);
    const ids = ["fork", "imported", "next", "own", "run"];
    expect((await owner.listSessionIds()).sort()).toEqual(ids);
    for (const id of ids) {
      expect(await home.getSession(id)).toMatchObject({ user_id: null });
      expect(await ann.getSession(id)).toBeNull();
    }
    expect(await home.getSession("own")).toMatchObject({ model_config: '{"a":1}' });
    expect(await outcomeOf(owner.createSession("x", { userId: "ann" }))).toBe("bad-user-id");
    const answer = JSON.stringify(await sessionSearchTool(owner, { query: "lantern" }));
    expect(answer).toContain("a >>>lantern<<< of the owner");
    expect(answer).not.toContain("ann-1");
    expect(JSON.stringify(await sessionSearchTool(home, { query: "lantern" }))).toContain("ann-1");
  });

  it("finds the owner's messages among those of any number of users", async () => {
    await using files = await opened();
    const { home } = files;
    const owner = home.forUser(WITHOUT_USER);
    await owner.createSession("own", { source: "cli" });
    const [id] = await owner.appendMany("own", [userSays("a lantern of mine")]);
    for (let user = 0; user < 40; user += 1) {
      const store = home.forUser({ platform: "web", userId: `u${user}` });
      await store.createSession(`of u${user}`, { source: "web" });
      await store.appendMany(`of u${user}`, [userSays(`lantern number ${user}, zqcobalt`)]);
      const { hits } = await owner.search("lantern");
      expect(hits.map((hit) => hit.id)).toEqual([id]);
      expect(await owner.search("zqcobal")).toMatchObject({ hits: [], empty: "no-match" });
    }
  });

  it("makes sessions of its user, also of other sources, and takes no id that another has", async () => {
    await using files = await opened();
    const { home, ann, ben } = files;
    await ann.createSession("run", { source: "subagent", modelConfig: { _user_platform: "telegram", a: 1 } });
    await ann.updateTokenCounts("counted", { inputTokens: 1 });
    for (const id of ["run", "counted"]) {
      expect(await ann.getSession(id)).toMatchObject({ id, user_id: "ann" });
      expect(await ann.getSession(id)).not.toBeNull();
      expect(await home.forUser({ platform: "telegram", userId: "ann" }).getSession(id)).toBeNull();
    }
    await home.createSession("of nobody");
    for (const id of ["ben-1", "of nobody"]) {
      expect(await outcomeOf(ann.createSession(id, { source: "cli", model: "m" }))).toBe("bad-session-id");
      expect(await outcomeOf(ann.continueSession("ann-1", { id }))).toBe("bad-session-id");
      expect(await outcomeOf(ann.branchSession("ann-1", { id }))).toBe("bad-session-id");
      expect(await home.getSession(id)).toMatchObject({ model: null });
    }
    expect(await ann.getSession("ann-1")).toMatchObject({ ended_at: null });
    const below = ann.createSession("below", { source: "cli", parentSessionId: "ben-1" });
    await expect(below).rejects.toMatchObject({
      code: "unknown-parent",
      message: expect.stringContaining("'ben-1'"),
    });
    await ann.createSession("marked", { source: "cli", modelConfig: { _delegate_from: "ben-1", b: 2 } });
    expect(await ann.getSession("marked")).toMatchObject({
      model_config: '{"_delegate_from":"__orphaned__","b":2}',
    });
    expect(await ben.deleteSession("ben-1")).toBe(true);
    expect(await ann.getSession("marked")).not.toBeNull();
  });

  it("imports sessions as its user's, below its user's, and leaves those of others alone", async () => {
    await using files = await opened();
    const { home, ann, ben } = files;
    const theirs = await exportAll(ben);
    const before = await stateOf(ben, "ben-1", "lcm_1");
    const [first] = theirs;
    if (first === undefined) throw new Error("ben has no session");
    const child = { ...first, id: "child", title: null, parent_session_id: "ben-1", source: "telegram" };
    const marked = {
      ...child,
      id: "marked",
      model_config: '{"_branched_from":"ben-1","_user_platform":"x"}',
    };
    const outcome = await ann.importSessions([first, child, marked]);
    expect(outcome).toMatchObject({ imported: 2, skipped: [{ id: "ben-1" }] });
    for (const id of ["child", "marked"]) {
      expect(await home.getSession(id)).toMatchObject({ user_id: "ann", parent_session_id: null });
      expect(await ann.getSession(id)).not.toBeNull();
      expect((await ann.getMessages(id)).map((row) => row.origin_id)).toEqual(
        first.messages.map(() => undefined),
      );
    }
    expect((await home.getSession("marked"))?.model_config).toBe(
      '{"_branched_from":"ben-1","_user_platform":"cli"}',
    );
    expect(await stateOf(ben, "ben-1", "lcm_1")).toEqual(before);
  });

  it.each([
    ["with an escaped key", '{"\\u005fuser_platform":"telegram","_user\\u005fplatform":"x"}'],
    ["with a key twice", '{"_user_platform":"cli","_user_platform":"telegram"}'],
    ["with a number", '{"_user_platform":5}'],
    ["with a mark on another session twice", '{"_delegate_from":"ben-1","_delegate_from":"x"}'],
    ["with an escaped mark", '{"\\u005fdelegate_from":"ben-1"}'],
    ["with a mark that is a list", '{"_delegate_from":["ben-1"]}'],
    ["with a mark behind a NUL", '{"_user_platform":"telegram"}\0'],
    ["with settings that are no text", { _user_platform: "telegram" } as unknown as string],
  ])("imports a session %s as its user's, below nobody's", async (_case, modelConfig) => {
    await using files = await opened();
    const { home, ann } = files;
    const [first] = await exportAll(ann);
    if (first === undefined) throw new Error("ann has no session");
    await ann.importSessions([{ ...first, id: "planted", title: null, model_config: modelConfig }]);
    const row = await home.getSession("planted");
    expect(row && userOfSession(row)).toEqual(ANN);
    expect(await ann.getSession("planted")).not.toBeNull();
    expect([null, '{"_delegate_from":"__orphaned__"}']).toContain(row?.model_config);
    expect(await home.listDelegates(["ben-1"])).toEqual([]);
  });

  it("keeps a run below its session in an import, in whichever order they come, and names no other", async () => {
    await using files = await opened();
    const { home, ann, ben } = files;
    const [first] = await exportAll(ann);
    if (first === undefined) throw new Error("ann has no session");
    const run = (id: string, of: string) => ({
      ...first,
      id,
      title: null,
      model_config: JSON.stringify({ _delegate_from: of }),
    });
    const parent = { ...first, id: "parent", title: null };
    const sessions = [run("deep", "run"), run("run", "parent"), parent, run("lost", "to come")];
    const circle = [run("self", "self"), run("one", "two"), run("two", "one")];
    const outcome = await ann.importSessions([...sessions, ...circle]);
    expect(outcome).toMatchObject({ imported: 7, skipped: [] });
    expect((await home.listDelegates(["parent"])).sort()).toEqual(["deep", "run"]);
    await ann.createSession("lost too", { source: "cli", modelConfig: { _delegate_from: "to come" } });
    await ben.createSession("to come", { source: "cli" });
    expect(await home.listDelegates(["to come"])).toEqual([]);
    await ben.deleteSession("to come");
    for (const id of ["lost", "lost too"])
      expect(await home.getSession(id)).toMatchObject({ model_config: '{"_delegate_from":"__orphaned__"}' });
  });

  it("an import connects no session of another person with one of its own, and changes none later", async () => {
    await using files = await opened();
    const { home, ann, ben } = files;
    const [first] = await exportAll(ann);
    if (first === undefined) throw new Error("ann has no session");
    const named = (id: string, more: object = {}) => ({ ...first, id, title: null, ...more });
    await ann.importSessions([named("ben-1", { parent_session_id: "root" }), named("root")]);
    expect(await home.getSession("ben-1")).toMatchObject({ parent_session_id: null });
    await ann.deleteSession("root");
    expect(await ben.getSession("ben-1")).not.toBeNull();
    async function* stream() {
      yield named("run", { model_config: '{"_delegate_from":"sender"}' });
      await ann.deleteSession("run");
      await ben.createSession("run", { source: "cli", modelConfig: { a: 1 } });
      yield named("sender");
    }
    await ann.importSessions(stream() as never);
    expect(await home.getSession("run")).toMatchObject({ user_id: "ben", model_config: '{"a":1}' });
  });

  it("an import that stops early leaves a run below the session that came before the stop", async () => {
    await using files = await opened();
    const { home, ann } = files;
    const [first] = await exportAll(ann);
    async function* stream() {
      yield { ...first, id: "run", title: null, model_config: '{"_delegate_from":"sender","b":1}' };
      yield { ...first, id: "sender", title: null };
      throw new Error("the file ends here");
    }
    await expect(ann.importSessions(stream() as never)).rejects.toThrow("ends here");
    expect(await home.listDelegates(["sender"])).toEqual(["run"]);
  });

  it("a turn shows no recall but that of its own session", async () => {
    await using files = await opened();
    const { ann, ben } = files;
    const recall = await ben.turns.addRecall(traceOf("ben-1", { injected: "a secret of ben" }));
    await ann.turns.addTurn({ session_id: "ann-1", at: 1, duration_ms: 1, mode: "agent", recall });
    expect(await ann.turns.listTurns()).toMatchObject([{ session_id: "ann-1", recall: null }]);
  });

  it("a lease that was taken before its session is kept although an expired one is there", async () => {
    const clock = new ManualClock();
    await using home = await openSessionStore({ path: await newCopy(), clock });
    const ann = home.forUser(ANN);
    await home.acquireSessionLease("later", "somebody", { ttl: 10 });
    clock.advance(20);
    await ann.acquireSessionLease("later", "me");
    await ann.createSession("later", { source: "cli" });
    expect(await ann.getSessionLease("later")).toMatchObject({ holder: "me" });
    await ann.appendMany("later", [userSays("mine")], { leaseHolder: "me" });
  });

  it("a user in the options of the home's store is refused, not ignored", async () => {
    await using files = await opened();
    const { home, ann } = files;
    const old = { userId: "ann", userPlatform: "cli" } as object;
    for (const call of [
      () => home.getMessages("ben-1", old),
      () => home.listSessionsRich(old),
      () => home.eraseSessions(old),
      () => home.turns.listRecalls(old),
      () => home.turns.forgetRecalls("secret", old),
    ])
      expect(await outcomeOf((async () => call())())).toBe("bad-user-id");
    const answer = async (store: SessionStore, more: object) =>
      JSON.stringify(await sessionSearchTool(store, { query: "lantern" }, more));
    expect(await answer(home, old)).not.toContain("ben-1");
    expect(await answer(home, { userId: undefined })).toContain("names no user");
    expect(await answer(ann, { scope: { userId: "ben", userPlatform: "cli" } })).toContain(
      "another one was passed",
    );
    for (const lifted of [{ visible: { user: null, platform: null } }])
      expect(await ann.getMessages("ben-1", lifted as object)).toEqual([]);
    await ann.endSession(77n as unknown as string, "bye");
  });

  it("checks the settings that are stored, not the object they are made from", async () => {
    await using files = await opened();
    const { home, ann, ben } = files;
    const toJSON = () => ({ _user_platform: "telegram", _branched_from: "ben-1", a: 1 });
    for (const [id, modelConfig] of Object.entries({
      own: { toJSON },
      inherited: Object.create({ toJSON }) as Record<string, unknown>,
    })) {
      await ann.createSession(id, { source: "cli", modelConfig });
      expect(await home.getSession(id)).toMatchObject({
        user_id: "ann",
        model_config: '{"_branched_from":"ben-1","a":1}',
      });
      expect(await ben.getSession(id)).toBeNull();
    }
    await home.createSession("whole", {
      source: "cron",
      userId: "ann",
      userPlatform: "cli",
      modelConfig: { toJSON: () => ({ a: 1 }) },
    });
    expect(await ann.getSession("whole")).not.toBeNull();
  });

  it("does not let a user's summaries stand in the way of another's", async () => {
    await using files = await opened();
    const { ann, ben, message } = files;
    const [own] = await ann.getMessages("ann-1");
    const blocking = leafOf("ann-1", [own?.id ?? -1], {
      node_id: "x",
      lineage_root: "ben-1",
      first_message_id: message + 1,
    });
    expect(await outcomeOf(ann.summaries.insertSummaryNodes([blocking]))).toBe("unknown-session");
    expect(await ben.summaries.insertSummaryNodes([leafOf("ben-1", [message + 1])])).toBe(true);
  });
});

/** A session with everything that another user could read or change. */
async function settle(store: SessionStore, id: string, title: string, node: string): Promise<void> {
  await store.createSession(id, { source: "cli" });
  const [first = -1] = await store.appendMany(id, [
    userSays("a lantern by the harbour crane 灯塔"),
    { role: "assistant", content: "noted" },
    userSays("and another"),
  ]);
  await store.setSessionTitle(id, title);
  await store.saveOwnPrompt(id, "a prompt", 1);
  await store.summaries.insertSummaryNodes([leafOf(id, [first], { node_id: node, method: "extract" })]);
  await store.acquireSessionLease(id, "holder of the lease", { ttl: 1e6 });
  await store.tryAcquireCompressionLock(id, "holder of the lock", { ttl: 1e6 });
}

async function stateOf(store: SessionStore, id: string, node: string): Promise<object> {
  return {
    sessions: await exportAll(store, { includeInactive: true }),
    prompt: await store.getOwnPrompt(id),
    node: await store.summaries.getSummaryNode(node),
    nodes: await store.summaries.listSummaryNodes([id]),
    lease: await store.getSessionLease(id),
    lock: await store.getCompressionLockHolder(id),
  };
}

function userSays(content: string): MessageInput {
  return { role: "user", content };
}

// ---- Several persons in one file, each compared with a separate store ----

const PEOPLE = [ANN, { platform: "telegram", userId: "ann" }, WITHOUT_USER] as const;
const NAMES = ["ann", "ann on telegram", "owner"] as const;
type Who = 0 | 1 | 2;
/** `of`: whose session or message is the target, possibly another person's. */
type Aim = { readonly of: Who; readonly at: number };
type Step = {
  readonly who: Who;
  readonly what: keyof typeof WORK;
  readonly session: Aim;
  readonly message: Aim;
};
/** The target in one of the stores, and a number that is different in every step. */
type Target = { readonly id: string; readonly own: string; readonly message: number; readonly step: number };

const WORK = {
  create: (store, { own }) => store.createSession(own, { source: "cli" }),
  append: async (store, { id, step }) => ({
    messageIds: await store.appendMany(id, [
      userSays(`lantern ${step}`),
      { role: "assistant", content: "lit" },
    ]),
  }),
  replace: (store, { id, step }) => store.replaceMessages(id, [userSays(`instead ${step}`)]),
  clear: (store, { id }) => store.clearMessages(id),
  rewind: (store, { id, message }) => store.rewindToMessage(id, message),
  restore: (store, { id, message }) => store.restoreRewound(id, message),
  undo: (store, { id }) => store.undoTurns(id),
  finish: (store, { id, message }) => store.setFinishReason(id, [message], "stop"),
  copy: async (store, { id, message, step }) => ({
    id: await store.appendMessage(id, { ...userSays(`copy ${step}`), originId: message }),
  }),
  title: (store, { id, step }) => store.setSessionTitle(id, `title ${step % 3}`),
  end: (store, { id }) => store.endSession(id, "cli_close"),
  reopen: (store, { id }) => store.reopenSession(id),
  archive: (store, { id, step }) => store.setSessionArchived(id, step % 2 === 0),
  proceed: (store, { id, own, step }) =>
    store.continueSession(id, { id: `${own}-next-${step}`, messages: [userSays("so far")] }),
  branch: (store, { id, own, step }) =>
    store.branchSession(id, {
      id: `${own}-fork-${step}`,
      ...(step % 2 ? { title: `title ${step % 3}` } : {}),
    }),
  named: (store, { step }) => store.resolveSessionByTitle(`title ${step % 3}`),
  prompt: (store, { id, step }) => store.saveOwnPrompt(id, `prompt ${step}`, 1),
  tokens: (store, { own }) => store.updateTokenCounts(own, { inputTokens: 1 }),
  remove: (store, { id }) => store.deleteSession(id),
  removeAll: (store, { id, own }) => store.deleteSessions([id, own]),
  removeEmpty: (store, { id }) => store.deleteSessionIfEmpty(id),
  summarise: (store, { id, message, step }) =>
    store.summaries.insertSummaryNodes([leafOf(id, [message], { node_id: `${id} ${step}` })]),
  lease: (store, { id, step }) => store.acquireSessionLease(id, `holder ${step}`),
  lock: (store, { id, step }) => store.tryAcquireCompressionLock(id, `holder ${step}`),
  look: async (store, { id, message }) => [
    await store.getSession(id),
    await store.getMessages(id, { includeInactive: true }),
    await store.getMessagesById([message]),
    await store.getMessagesAround(id, message),
    await store.getCompressionTip(id),
    await store.resolveResumeSessionId(id),
    (await store.listLineage(id)).sort(),
    await store.summaries.listSummaryNodes([id]),
    await store.getSessionLease(id),
    await store.getCompressionLockHolder(id),
  ],
  list: async (store) => [
    await store.listSessionsRich({ orderByLastActive: true, includeChildren: true, includeArchived: true }),
    await store.sessionCount({ includeArchived: true }),
    await store.messageCount(),
    (await store.search("lantern", { limit: 100 })).hits
      .map(({ id }) => ({ id }))
      .sort((a, b) => a.id - b.id),
  ],
} as const satisfies Record<string, (store: SessionStore, target: Target) => Promise<unknown>>;

describe("several persons at work in one file", () => {
  const newCopy = copiesOf(async (path) => (await openSessionStore({ path })).close());
  const who = fc.constantFrom<Who>(0, 1, 2);
  const aim = fc.record({ of: who, at: fc.nat({ max: 2 }) });
  const step: fc.Arbitrary<Step> = fc.record({
    who,
    what: fc.oneof(
      { weight: 2, arbitrary: fc.constantFrom<keyof typeof WORK>("create", "append") },
      { weight: 5, arbitrary: fc.constantFrom(...(Object.keys(WORK) as (keyof typeof WORK)[])) },
    ),
    session: aim,
    message: fc.record({ of: who, at: fc.nat({ max: 8 }) }),
  });

  it("each gets the same answers, and has the same rows, as alone in a file", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const clock = new ManualClock();
        const open = async () => openSessionStore({ path: await newCopy(), clock });
        await using shared = await open();
        await using first = await open();
        await using second = await open();
        await using third = await open();
        const together = PEOPLE.map((person) => shared.forUser(person));
        const apart = PEOPLE.map((person, at) => ([first, second, third][at] ?? first).forUser(person));
        for (const [index, each] of steps.entries()) {
          clock.advance(1);
          const [inShared, alone] = await Promise.all([
            play(together, each, index, together),
            play(apart, each, index, apart),
          ]);
          expect([each, inShared]).toEqual([each, alone]);
        }
        for (const at of [0, 1, 2] as const)
          expect(await rowsOf(together[at])).toEqual(await rowsOf(apart[at]));
      }),
      { numRuns: 40 },
    );
  });

  /** The outcome of the step, with message ids replaced by their rank among the person's own. */
  async function play(
    stores: readonly SessionStore[],
    { who: at, what, session, message }: Step,
    step: number,
    all: readonly SessionStore[],
  ) {
    const store = stores[at] as SessionStore;
    const before = await idsIn(store);
    const aimed = await idsIn(all[message.of] as SessionStore);
    // In a separate file, the messages of others are unknown ids.
    const id = message.of === at || all[0]?.location === all[1]?.location ? aimed[message.at] : undefined;
    const target = {
      id: `${NAMES[session.of]}-${session.at}`,
      own: `${NAMES[at]}-${session.at}`,
      message: id ?? 900_000 + message.at,
      step,
    };
    const work: (store: SessionStore, target: Target) => Promise<unknown> = WORK[what];
    const outcome = await work(store, target).then(
      (value) => ({ value: value ?? null }),
      (cause: unknown) => ({ code: (Object(cause) as { readonly code?: unknown }).code ?? cause }),
    );
    const known = [...new Set([...before, ...(await idsIn(store))])].sort((a, b) => a - b);
    return ranked(outcome, known);
  }

  async function rowsOf(store: SessionStore | undefined): Promise<unknown> {
    if (store === undefined) throw new Error("there is no such store");
    return ranked(await exportAll(store, { includeInactive: true }), await idsIn(store));
  }

  async function idsIn(store: SessionStore): Promise<number[]> {
    const all = await exportAll(store, { includeInactive: true });
    return all.flatMap(({ messages }) => messages.map(({ id }) => id)).sort((a, b) => a - b);
  }

  const ID_KEYS = /^(id|message_id|origin_id|.*_message_id|new_head_id|messageIds|source_ids)$/;

  function ranked(value: unknown, known: readonly number[], key = ""): unknown {
    if (typeof value === "number" && ID_KEYS.test(key)) {
      const rank = known.indexOf(value);
      return rank < 0 ? "an id that is not there" : `#${rank}`;
    }
    if (Array.isArray(value)) return value.map((each) => ranked(each, known, key));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, ranked(each, known, name)]));
  }
});
