// One store, several users: a read with a user's id sees only that user's sessions.

import type { HermesError } from "../../src/lib/index.ts";
import { parseMessages } from "../../src/message/index.ts";
import type { Scope } from "../../src/sessions/identity.ts";
import { resultNote } from "../../src/sessions/index.ts";
import type { SessionStore } from "../../src/sessions/store.ts";
import type { Suite } from "../runner.ts";
import { liveOf, traceOf } from "./gateway-records.ts";
import { leafOf } from "./summary-nodes.ts";
import { exportAll, type Harness, idsOf, ManualClock, nth, talk } from "./support.ts";

/** What a read is asked about: a session with a title and a message, which is a run of a job and has a summary. */
type Target = {
  readonly id: string;
  readonly title: string;
  readonly message: number;
  readonly job: string;
  readonly node: string;
};
type Call = (store: SessionStore, target: Target, scope: Scope) => Promise<unknown>;
/** One way to call a read, and its answer for a user who may not see the target. */
type Way = { readonly how?: string; readonly read: Call; readonly forStrangers: (target: Target) => unknown };

// The members of the contract that take a user, found by the types of their arguments: a new member that is in none of the tables
// below fails the type check. A chat row accepts any key and takes no user.
type KeysOf<T> = T extends unknown ? (string extends keyof T ? never : keyof T) : never;
type TakesUser<F> = F extends (...args: infer Args) => unknown
  ? "userId" extends KeysOf<NonNullable<Args[number]>>
    ? true
    : false
  : false;
type Scoped = {
  [Name in keyof SessionStore]-?: TakesUser<SessionStore[Name]> extends true ? Name : never;
}[keyof SessionStore];
/** Reads that return the id they were asked for when it is unknown. */
type Walk = "getCompressionTip" | "listLineage" | "resolveResumeSessionId";
/** Their rules have separate tests. */
type Special =
  | "createSession"
  | "deleteLiveSession"
  | "eraseSessions"
  | "getNextTitleInLineage"
  | "setSessionTitle";

const NO_WINDOW = { window: [], messages_before: 0, messages_after: 0 };

const READS: Readonly<Record<Exclude<Scoped, Walk | Special>, readonly Way[]>> = {
  getAsk: [way((store, { id }, scope) => store.getAsk(id, scope), null)],
  getLiveSession: [way((store, _target, scope) => store.getLiveSession("agent:main", scope), null)],
  listLiveSessions: [way((store, _target, scope) => store.listLiveSessions(scope), [])],
  findMark: [way((store, _target, scope) => store.findMark(["prefix:1"], scope), null)],
  listRecalls: [
    way((store, _target, scope) => store.listRecalls(scope), []),
    way((store, { id }, scope) => store.listRecalls({ ...scope, sessionId: id }), [], "of a session"),
  ],
  findRecalls: [way((store, { id }, scope) => store.findRecalls(id, ["prefix:1"], scope), [])],
  forgetRecalls: [
    way((store, _target, scope) => store.forgetRecalls("secret", { ...scope, dryRun: true }), {
      traces: 0,
      remaining: [],
    }),
  ],
  findRounds: [way((store, { id }, scope) => store.findRounds(id, ["prefix:1"], "chat", scope), [])],
  getSession: [way((store, { id }, scope) => store.getSession(id, scope), null)],
  getNewestSession: [way((store, { id }, scope) => store.getNewestSession(id, scope), null)],
  getSessionMark: [way((store, { id }, scope) => store.getSessionMark(id, scope), null)],
  getOwnPrompt: [way((store, { id }, scope) => store.getOwnPrompt(id, scope), null)],
  getExtractedId: [way((store, { id }, scope) => store.getExtractedId(id, scope), null)],
  getSessionTitle: [way((store, { id }, scope) => store.getSessionTitle(id, scope), null)],
  resolveSessionByTitle: [
    way((store, { title }, scope) => store.resolveSessionByTitle(title, scope), null),
    way(
      (store, { title }, scope) =>
        store.resolveSessionByTitle(title.toUpperCase(), { ...scope, ignoreCase: true }),
      null,
      "in any case",
    ),
  ],
  getMessages: [
    way((store, { id }, scope) => store.getMessages(id, scope), []),
    way(
      (store, { id }, scope) => store.getMessages(id, { ...scope, includeInactive: true }),
      [],
      "with rewound rows",
    ),
  ],
  getMessagesById: [way((store, { message }, scope) => store.getMessagesById([message], scope), [])],
  getDisplayHistory: [way((store, { id }, scope) => store.getDisplayHistory(id, scope), [])],
  getMessagesAround: [
    way((store, { id, message }, scope) => store.getMessagesAround(id, message, scope), NO_WINDOW),
  ],
  getAnchoredView: [
    way((store, { id, message }, scope) => store.getAnchoredView(id, message, scope), {
      ...NO_WINDOW,
      bookend_start: [],
      bookend_end: [],
    }),
  ],
  getMessagesAsConversation: [
    way((store, { id }, scope) => store.getMessagesAsConversation(id, scope), []),
    way(
      (store, { id }, scope) => store.getMessagesAsConversation(id, { ...scope, includeAncestors: true }),
      [],
      "with ancestors",
    ),
  ],
  listRecentUserMessages: [way((store, { id }, scope) => store.listRecentUserMessages(id, scope), [])],
  listMessageKeys: [way((store, { id }, scope) => store.listMessageKeys([id], scope), [])],
  messageCount: [
    way((store, { id }, scope) => store.messageCount(id, scope), 0, "of a session"),
    way((store, _target, scope) => store.messageCount(undefined, scope), 0, "of all"),
  ],
  listKeptResults: [way((store, { id }, scope) => store.listKeptResults([id], scope), [])],
  resolveSessionId: [
    way((store, { id }, scope) => store.resolveSessionId(id, scope), null, "exactly"),
    way((store, { id }, scope) => store.resolveSessionId(id.slice(0, -1), scope), null, "by a beginning"),
  ],
  listContinued: [way((store, { id }, scope) => store.listContinued(id, scope), [])],
  listSummaryNodes: [way((store, { id }, scope) => store.listSummaryNodes([id], scope), [])],
  getSummaryNode: [way((store, { node }, scope) => store.getSummaryNode(node, scope), null)],
  searchSummaryNodes: [way((store, _target, scope) => store.searchSummaryNodes("secret", scope), [])],
  search: [
    way((store, _target, scope) => store.search("secrets", scope), {
      hits: [],
      stage: "none",
      empty: "no-match",
    }),
    way(async (store, _target, scope) => (await store.search("密", scope)).hits, [], "for characters"),
  ],
  searchMessages: [way((store, _target, scope) => store.searchMessages("secret", scope), [])],
  sessionCount: [way((store, _target, scope) => store.sessionCount({ ...scope, includeArchived: true }), 0)],
  listSessionsRich: [
    way((store, _target, scope) => store.listSessionsRich(scope), []),
    way(
      (store, _target, scope) =>
        store.listSessionsRich({ ...scope, orderByLastActive: true, includeChildren: true }),
      [],
      "by activity, with children",
    ),
    way(
      (store, { id }, scope) => store.listSessionsRich({ ...scope, orderByLastActive: true, idQuery: id }),
      [],
      "with an id",
    ),
  ],
  searchSessions: [way((store, _target, scope) => store.searchSessions(scope), [])],
  searchSessionsById: [way((store, { id }, scope) => store.searchSessionsById(id, scope), [])],
  listCronJobRuns: [way((store, { job }, scope) => store.listCronJobRuns(job, scope), [])],
  listSessionIds: [way((store, _target, scope) => store.listSessionIds(scope), [])],
  listDelegates: [way((store, { id }, scope) => store.listDelegates([id], scope), [])],
  getHandoffState: [way((store, { id }, scope) => store.getHandoffState(id, scope), null)],
  exportSession: [way((store, { id }, scope) => store.exportSession(id, scope), null)],
  exportEach: [way((store, _target, scope) => exportAll(store, scope), [])],
};

const WALKS: Readonly<Record<Walk, readonly Way[]>> = {
  getCompressionTip: [
    { read: (store, { id }, scope) => store.getCompressionTip(id, scope), forStrangers: ({ id }) => id },
  ],
  listLineage: [
    {
      read: async (store, { id }, scope) => (await store.listLineage(id, scope)).sort(),
      forStrangers: ({ id }) => [id],
    },
  ],
  resolveResumeSessionId: [
    { read: (store, { id }, scope) => store.resolveResumeSessionId(id, scope), forStrangers: ({ id }) => id },
  ],
};

const reads = named(READS);
const walks = named(WALKS);
const titles = [
  {
    name: "getNextTitleInLineage",
    read: (store, { title }, scope) => store.getNextTitleInLineage(title, scope),
  },
  { name: "setSessionTitle", read: (store, { id, title }, scope) => store.setSessionTitle(id, title, scope) },
] as const satisfies readonly { name: Special; read: Call }[];

export function scopingContract({ it, expect }: Suite, { open }: Harness): void {
  it.each(reads)(
    "$name shows a session to its user, on their platform, and to no other",
    async ({ read, forStrangers }) => {
      await using store = await open();
      const target = await owned(store, "ann");
      expect(await read(store, target, { userId: "ben" })).toEqual(forStrangers(target));
      expect(await read(store, target, { userId: "" })).toEqual(forStrangers(target));
      expect(await read(store, target, { userId: "ann" })).not.toEqual(forStrangers(target));
      expect(await read(store, target, { userId: "ann" })).toEqual(await read(store, target, {}));
      // The same id on another platform is another person; the session's source is cron.
      const elsewhere = { userId: "ann", userPlatform: "telegram" };
      expect(await read(store, target, elsewhere)).toEqual(forStrangers(target));
      expect(await read(store, target, { userId: "ann", userPlatform: "cron" })).toEqual(
        await read(store, target, {}),
      );
    },
  );

  it.each(reads)(
    "$name shows a session without a user to the owner of the home, and to no user",
    async ({ read, forStrangers }) => {
      await using store = await open();
      const target = await owned(store, null);
      expect(await read(store, target, { userId: "ann" })).toEqual(forStrangers(target));
      expect(await read(store, target, {})).not.toEqual(forStrangers(target));
      expect(await read(store, target, { withoutUser: true })).toEqual(await read(store, target, {}));
    },
  );

  it.each(reads)(
    "$name hides a user's session from the owner of the home",
    async ({ read, forStrangers }) => {
      await using store = await open();
      const target = await owned(store, "ann");
      expect(await read(store, target, { withoutUser: true })).toEqual(forStrangers(target));
    },
  );

  it.each(walks)("$name does not walk through another user's sessions", async ({ read, forStrangers }) => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    for (const [id, user] of Object.entries({ first: "ann", second: "ben", third: "ann" })) {
      const parentSessionId = { first: null, second: "first", third: "second" }[id] ?? null;
      await store.createSession(id, { source: "cli", userId: user, parentSessionId });
      await store.endSession(id, "compression");
      clock.advance(60);
    }
    await talk(store, "second", ["a secret of ben"]);
    await talk(store, "third", ["hello"]);
    for (const id of ["first", "second", "third"]) {
      const target = { id, title: "", message: 0, job: "", node: "" };
      for (const scope of [{ userId: "ann" }, { withoutUser: true }] as const)
        expect(await read(store, target, scope)).toEqual(forStrangers(target));
    }
  });

  it.each(walks)("$name walks a user's own lineage", async ({ read }) => {
    await using store = await open();
    await store.createSession("first", { source: "cli", userId: "ann" });
    await store.continueSession("first", { id: "second" });
    await talk(store, "second", ["hello"]);
    for (const id of ["first", "second"]) {
      const target = { id, title: "", message: 0, job: "", node: "" };
      expect(await read(store, target, { userId: "ann" })).toEqual(await read(store, target, {}));
    }
  });

  it("a hit does not name a root, or show a neighbour, that belongs to another user", async () => {
    await using store = await open();
    await store.createSession("root", { source: "cli", userId: "ben" });
    await talk(store, "root", ["a secret of ben"]);
    await store.createSession("child", { source: "cli", userId: "ann", parentSessionId: "root" });
    await talk(store, "child", ["a secret of ann"]);
    const { hits } = await store.search("secret", { userId: "ann" });
    expect(hits).toMatchObject([
      { session_id: "child", lineage_root: "child", context: [{ content: "a secret of ann" }] },
    ]);
  });

  it("words of other users do not show in the answer to a user", async () => {
    await using store = await open();
    await store.createSession("theirs", { source: "cli", userId: "ben" });
    await talk(store, "theirs", ["the thermocouples are ours", "灯塔"]);
    for (const query of ["thermocouple", "thermocuple", "thermo*", "灯", "灯塔", '"are ours"'])
      for (const more of [{}, { excludeSources: ["tool"] }, { excludeSessionIds: ["theirs"] }, { after: 0 }])
        for (const scope of [{ userId: "ann" }, { withoutUser: true }] as const)
          expect(await store.search(query, { ...scope, ...more })).toEqual({
            hits: [],
            stage: "none",
            empty: "no-match",
          });
  });

  it("a conversation does not show an ancestor's messages that belong to another user", async () => {
    await using store = await open();
    await store.createSession("root", { source: "cli", userId: "ben" });
    await talk(store, "root", ["a secret of ben", "noted"]);
    await store.createSession("child", { source: "cli", userId: "ann", parentSessionId: "root" });
    await talk(store, "child", ["hello"]);
    const seen = await store.getMessagesAsConversation("child", { userId: "ann", includeAncestors: true });
    expect(seen.map(({ content }) => content)).toEqual(["hello"]);
  });

  it("a listing does not show the face of a tip that belongs to another user", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await store.createSession("root", { source: "cli", userId: "ann" });
    await store.endSession("root", "compression");
    clock.advance(60);
    await store.createSession("tip", { source: "cli", userId: "ben", parentSessionId: "root" });
    await talk(store, "tip", ["a secret of ben"]);
    for (const orderByLastActive of [false, true]) {
      const rows = await store.listSessionsRich({ userId: "ann", orderByLastActive });
      expect(idsOf(rows)).toEqual(["root"]);
      expect(nth(rows, 0).preview).toBe("");
    }
    expect(idsOf(await store.searchSessionsById("tip", { userId: "ann" }))).toEqual([]);
  });

  it("a beginning that two users share resolves for each to their own", async () => {
    await using store = await open();
    await store.createSession("2026_a", { source: "cli", userId: "ann" });
    await store.createSession("2026_b", { source: "cli", userId: "ben" });
    expect(await store.resolveSessionId("2026", { userId: "ann" })).toBe("2026_a");
    expect(await store.resolveSessionId("2026", { userId: "ben" })).toBe("2026_b");
    expect(await store.resolveSessionId("2026")).toBeNull();
  });

  it.each([...reads, ...walks, ...titles])(
    "$name with a user that is undefined or null, from a caller that has lost it, is refused",
    async ({ read }) => {
      await using store = await open();
      const target = await owned(store, "ann");
      const lost = [
        { userId: undefined },
        { userId: null },
        { userId: {} },
        { userId: "ann", userPlatform: undefined },
        { userPlatform: "cron" },
        { withoutUser: undefined },
        { withoutUser: false },
        { withoutUser: true, userId: "ann" },
        { withoutUser: true, userId: undefined },
      ] as unknown as readonly Scope[];
      for (const scope of lost) {
        const refused: unknown = await (async () => read(store, target, scope))().catch(
          (cause: unknown) => cause,
        );
        expect(refused).toMatchObject({ code: "bad-user-id" });
        expect((refused as HermesError).hint).toMatch(/leave (the key|both) out/i);
      }
    },
  );

  it("createSession with a user that is undefined is refused and makes nothing; with null it has no owner", async () => {
    await using store = await open();
    const lost = [
      { userId: undefined },
      { userId: {} },
      { userId: "ann", userPlatform: undefined },
      { userId: null, userPlatform: "cli" },
      { userPlatform: "cli" },
    ] as unknown as readonly Scope[];
    for (const scope of lost) {
      const refused: unknown = await store
        .createSession("new", { source: "cli", ...scope })
        .catch((cause: unknown) => cause);
      expect(refused).toMatchObject({ code: "bad-user-id" });
      expect((refused as HermesError).hint).toMatch(/leave (the key|both) out/i);
      expect(await store.getSession("new")).toBeNull();
    }
    await store.createSession("new", { source: "cli", userId: null });
    expect(await store.getSession("new")).toMatchObject({ user_id: null });
  });

  it("a lost user is refused also where nothing would be read", async () => {
    await using store = await open();
    const lost = { userId: undefined } as unknown as Scope;
    for (const read of [
      () => store.search("", lost),
      () => store.searchMessages("", lost),
      () => store.listSessionsRich({ ...lost, limit: 0 }),
      () => store.searchSessionsById("", lost),
      () => store.resolveSessionId("", lost),
      () => store.resolveResumeSessionId("", lost),
      () => store.getMessagesById([], lost),
    ])
      await expect(read()).rejects.toMatchObject({ code: "bad-user-id" });
  });

  it("a session may belong to a user of another platform than its source, and its children with it", async () => {
    await using store = await open();
    const bo = { userId: "bo", userPlatform: "telegram" };
    await store.createSession("run", { source: "subagent", ...bo, modelConfig: { _delegate_from: "x" } });
    await store.createSession("below", { source: "tool", parentSessionId: "run" });
    await store.continueSession("run", { id: "next" });
    await store.branchSession("run", { id: "branch" });
    await talk(store, "branch", ["the lantern is lit"]);
    for (const id of ["run", "below", "next", "branch"]) {
      expect(await store.getSession(id, bo)).toMatchObject({ id, user_id: "bo" });
      for (const userPlatform of ["subagent", "tool", "cli"])
        expect(await store.getSession(id, { userId: "bo", userPlatform })).toBeNull();
      expect(await store.getSession(id, { userId: "bo" })).not.toBeNull();
    }
    expect((await store.search("lantern", bo)).hits).toHaveLength(1);
    expect((await store.search("lantern", { ...bo, userPlatform: "subagent" })).hits).toEqual([]);
  });

  it("a subagent's run without a mark, as version 0.1.0 left them, is on its parent's platform", async () => {
    await using store = await open();
    await store.createSession("root", { source: "telegram", userId: "bo" });
    const old = { source: "subagent", userId: "bo", parentSessionId: "root" };
    await store.createSession("run", { ...old, modelConfig: { _delegate_from: "root" } });
    expect(await store.getSession("run", { userId: "bo", userPlatform: "telegram" })).not.toBeNull();
    expect(await store.getSession("run", { userId: "bo", userPlatform: "discord" })).toBeNull();
  });

  it("a session whose platform is its source keeps its settings as they were given", async () => {
    await using store = await open();
    const bo = { userId: "bo", userPlatform: "telegram" };
    await store.createSession("plain", { source: "telegram", ...bo, modelConfig: { a: 1 } });
    await store.createSession("bare", { source: "telegram", ...bo });
    expect(await store.getSession("plain", bo)).toMatchObject({ user_id: "bo", model_config: '{"a":1}' });
    expect(await store.getSession("bare", bo)).toMatchObject({ user_id: "bo", model_config: null });
  });

  it("a session below another user's does not say whose it is below", async () => {
    await using store = await open();
    await store.createSession("of-ann", { source: "cli", userId: "ann" });
    await store.createSession("of-bo", {
      source: "cli",
      userId: "bo",
      parentSessionId: "of-ann",
      modelConfig: { _branched_from: "of-ann", colour: "red" },
    });
    const bo = { userId: "bo" };
    const rows = [
      await store.getSession("of-bo", bo),
      await store.exportSession("of-bo", bo),
      ...(await store.searchSessions(bo)),
      ...(await store.listSessionsRich({ ...bo, includeChildren: true })),
      ...(await store.listSessionsRich({ ...bo, includeChildren: true, orderByLastActive: true })),
    ];
    expect(rows).toHaveLength(5);
    for (const row of rows)
      expect(row).toMatchObject({ id: "of-bo", parent_session_id: null, model_config: '{"colour":"red"}' });
    expect(await store.getSession("of-bo")).toMatchObject({ parent_session_id: "of-ann" });
  });

  it("the next title of a line is numbered after what the person may see", async () => {
    await using store = await open();
    for (const [id, userId, title] of [
      ["a", "ann", "kiln #8"],
      ["b", "bo", "kiln"],
      ["c", "ann", "kiln #2"],
      ["d", null, "kiln #4"],
    ] as const) {
      await store.createSession(id, { source: "cli", userId });
      await store.setSessionTitle(id, title);
    }
    expect(await store.getNextTitleInLineage("kiln")).toBe("kiln #9");
    expect(await store.getNextTitleInLineage("kiln", { userId: "bo" })).toBe("kiln #2");
    expect(await store.getNextTitleInLineage("kiln", { withoutUser: true })).toBe("kiln #5");
    expect((await store.continueSession("b")).title).toBe("kiln #2");
    expect((await store.continueSession("d")).title).toBe("kiln #5");
    expect((await store.branchSession("a")).title).toBe("kiln #9");
  });

  it("every person may have the same title, and each has it once", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    const people = [
      { userId: "ann", userPlatform: "cli" },
      { userId: "bo", userPlatform: "cli" },
      { userId: "ann", userPlatform: "telegram" },
      { withoutUser: true },
    ] as const;
    for (const [at, scope] of people.entries()) {
      const { withoutUser: _nobody, ...user }: Scope = scope;
      for (const id of [`${at}`, `${at}-again`]) {
        clock.advance(1);
        await store.createSession(id, { source: "cli", ...user });
      }
      expect(await store.setSessionTitle(`${at}`, "Private")).toBe(true);
      expect(await store.setSessionTitle(`${at}`, "Private")).toBe(true);
      const refused = await store.setSessionTitle(`${at}-again`, "Private").catch((cause: unknown) => cause);
      expect(refused).toMatchObject({ code: "title-taken" });
      expect(String(refused)).toMatch(new RegExp(`session ${at}$`));
    }
    for (const [at, scope] of people.entries()) {
      const id = `${at}`;
      expect(await store.getSessionTitle(id, scope)).toBe("Private");
      expect(await store.resolveSessionByTitle("Private", scope)).toBe(id);
      expect(await store.resolveSessionByTitle("PRIVATE", { ...scope, ignoreCase: true })).toBe(id);
      expect(await store.getNextTitleInLineage("Private", scope)).toBe("Private #2");
      const rows = [
        await store.getSession(id, scope),
        await store.exportSession(id, scope),
        ...(await store.searchSessions(scope)),
        ...(await store.listSessionsRich({ ...scope, orderByLastActive: true })),
        ...(await exportAll(store, scope)),
      ].filter((row) => row?.id === id);
      expect(rows.map((row) => row?.title)).toEqual(Array(5).fill("Private"));
    }
    // Administration finds the newest one.
    expect(await store.resolveSessionByTitle("Private")).toBe("3");
    expect(await store.setSessionTitle("3", null)).toBe(true);
    expect(await store.getSessionTitle("3")).toBeNull();
    expect(await store.resolveSessionByTitle("Private")).toBe("2");
    expect(await store.deleteSession("2")).toBe(true);
    expect(await store.setSessionTitle("2-again", "Private")).toBe(true);
    expect(await store.setSessionTitle("1", "Open")).toBe(true);
    expect(await store.resolveSessionByTitle("Private", people[1])).toBeNull();
    expect(await store.setSessionTitle("1-again", "Private")).toBe(true);
  });

  it("a session of another person cannot be named, and a title is checked before its session is there", async () => {
    await using store = await open();
    const ann = { userId: "ann", userPlatform: "cli" } as const;
    await store.createSession("a", { source: "cli", userId: "ann" });
    await store.createSession("o", { source: "cli" });
    for (const scope of [{ userId: "bo" }, { ...ann, userPlatform: "web" }, { withoutUser: true }] as const)
      expect(await store.setSessionTitle("a", "Private", scope)).toBe(false);
    expect(await store.getSessionTitle("a")).toBeNull();
    expect(await store.setSessionTitle("a", "Private", ann)).toBe(true);
    await store.setSessionTitle("o", "Open");
    for (const [title, scope, isTaken] of [
      ["Private", ann, true],
      ["Open", ann, false],
      ["Private", { userId: "bo" }, false],
      ["Open", { withoutUser: true }, true],
      ["Private", { withoutUser: true }, false],
      ["Open", {}, true],
      ["Private", {}, false],
    ] as const) {
      const outcome = await store.setSessionTitle("later", title, scope).catch((cause: unknown) => cause);
      if (isTaken) expect(outcome).toMatchObject({ code: "title-taken" });
      else expect(outcome).toBe(false);
    }
  });

  it("an exported title comes back for the same user, whatever titles others have", async () => {
    await using store = await open();
    await using copy = await open();
    for (const userId of ["ann", "bo", null]) {
      await store.createSession(`of ${userId}`, { source: "cli", userId });
      await store.setSessionTitle(`of ${userId}`, "Private");
      await copy.createSession(`${userId} here`, { source: "cli", userId });
    }
    await copy.setSessionTitle("bo here", "Private");
    const { renamed } = await copy.importSessions(await exportAll(store));
    expect(renamed).toEqual([{ id: "of bo", title: "Private #2" }]);
    expect(await copy.getSessionTitle("of ann")).toBe("Private");
    expect(await copy.getSessionTitle("of null")).toBe("Private");
  });

  it("a session with a title is not empty, whoever has the same title", async () => {
    await using store = await open();
    for (const userId of ["ann", "bo"]) {
      await store.createSession(userId, { source: "cli", userId });
      await store.setSessionTitle(userId, "Private");
      expect(await store.deleteSessionIfEmpty(userId)).toBe(false);
    }
  });

  it("a row of another user's session is nobody's original", async () => {
    await using store = await open();
    for (const userId of ["ann", "ben"]) await store.createSession(userId, { source: "cli", userId });
    await store.createSession("nobody's", { source: "cli" });
    await store.createSession("ann again", { source: "cli", userId: "ann" });
    const [original = -1] = await talk(store, "ann", ["a secret"]);
    const [row] = await store.getMessages("ann");
    if (row === undefined) throw new Error("the message is not there");
    for (const [id, origin] of [
      ["ben", undefined],
      ["nobody's", undefined],
      ["ann again", original],
    ] as const) {
      await store.appendMany(id, [row, { role: "user", content: "a secret", originId: original }]);
      await store.replaceMessages(id, [
        ...(await store.getMessages(id)),
        { content: "x", originId: original },
      ]);
      const origins = (await store.getMessages(id)).map((each) => each.origin_id);
      expect(origins).toEqual([origin, origin, origin]);
    }
  });

  it("a row that is not there is nobody's original", async () => {
    await using store = await open();
    for (const id of ["s1", "s2", "s3"]) await store.createSession(id, { source: "cli" });
    const [first = -1] = await talk(store, "s1", ["hello"]);
    const forged = (last: number) =>
      [-1, 0, last + 3, last + 1_000_000].flatMap((origin) => [
        { role: "user", content: "x", originId: origin },
        { role: "user", content: "x", id: origin, session_id: "s1" },
      ]);
    const ids = await store.appendMany("s2", forged(first));
    await store.replaceMessages("s3", forged(Math.max(...ids)));
    for (const id of ["s2", "s3"])
      expect((await store.getMessages(id)).filter((row) => "origin_id" in row)).toEqual([]);
    const { messages } = parseMessages([{ role: "user", content: "hello", _row_id: first, _id: "x" }]);
    const [copied = -1] = await store.appendMany("s2", messages);
    const [row] = await store.getMessagesById([copied]);
    expect(row).not.toHaveProperty("origin_id");
    expect(row?.timestamp).toBeGreaterThan(1_000_000_000);
  });

  it("a user may be a number, as platforms count them", async () => {
    await using store = await open();
    const userId = 12345 as unknown as string;
    await store.createSession("numbered", { source: "telegram", userId });
    expect(await store.getSession("numbered", { userId: "12345" })).toMatchObject({ user_id: "12345" });
    expect(await store.getSession("numbered", { userId })).not.toBeNull();
  });

  it("limits count a user's own sessions only", async () => {
    await using store = await open();
    await store.createSession("mine", { source: "cli", userId: "ann", startedAt: 1 });
    for (let index = 0; index < 30; index += 1) {
      await store.createSession(`other ${index}`, { source: "cli", userId: "ben" });
    }
    const page = { userId: "ann", limit: 1 };
    expect(idsOf(await store.listSessionsRich(page))).toEqual(["mine"]);
    expect(idsOf(await store.listSessionsRich({ ...page, orderByLastActive: true }))).toEqual(["mine"]);
    expect(idsOf(await store.searchSessions(page))).toEqual(["mine"]);
  });
}

function way(read: Call, forStrangers: unknown, how?: string): Way {
  return { how, read, forStrangers: () => forStrangers };
}

function named(
  table: Readonly<Record<string, readonly Way[]>>,
): readonly (Way & { readonly name: string })[] {
  return Object.entries(table).flatMap(([name, ways]) =>
    ways.map((each) => ({ ...each, name: each.how === undefined ? name : `${name} ${each.how}` })),
  );
}

async function owned(store: SessionStore, userId: string | null): Promise<Target> {
  const id = "cron_j1_20260101_010000";
  await store.createSession(id, { source: "cron", userId });
  await store.setSessionTitle(id, "Private");
  await store.requestHandoff(id, "telegram");
  await store.saveOwnPrompt(id, "You know a secret.", 1);
  await store.setExtractedId(id, 1);
  await store.saveLiveSession(liveOf(id));
  await store.saveMarks(id, ["prefix:1"]);
  await store.addRecall(traceOf(id, { injected: "a secret" }));
  await store.saveAsk(id, { token: "1", request: "secret" });
  await store.saveRound({ session_id: id, mark: "prefix:1", wire: "chat", items: "[]" });
  const [message = -1] = await talk(store, id, ["a secret 秘密", "kept"]);
  await store.createSession("run", {
    source: "subagent",
    parentSessionId: id,
    modelConfig: { _delegate_from: id },
  });
  const note = resultNote({ id: "c1-00000001", chars: 9, shownChars: 1, reader: "read_result" });
  await store.appendMessage(id, { role: "tool", toolCallId: "c1", content: `a\n\n${note}` });
  const leaf = leafOf(id, [message], { summary: "a secret was told" });
  await store.insertSummaryNodes([leaf]);
  return { id, title: "Private", message, job: "j1", node: leaf.node_id };
}
