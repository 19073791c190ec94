// One store, several users: a read with a user's id sees that user's sessions and no others.
import { expect, it } from "vitest";
import type { SessionStore } from "../../../src/sessions/store.ts";
import { leafOf } from "../../fakes/summary-nodes.ts";
import { type Harness, idsOf, ManualClock, nth, talk } from "./support.ts";

/** Every read that takes a user, once for a session that is theirs and once for another: what a stranger gets. */
type Read = {
  readonly name: string;
  readonly read: (store: SessionStore, target: Target, userId: string | undefined) => Promise<unknown>;
  readonly forStrangers: (target: Target) => unknown;
};
type Target = {
  readonly id: string;
  readonly title: string;
  readonly message: number;
  readonly job: string;
  readonly node: string;
};

const NO_WINDOW = { window: [], messages_before: 0, messages_after: 0 };

const READS: readonly Read[] = [
  byId("getSession", (store, { id }, userId) => store.getSession(id, { userId }), null),
  byId("getSessionMark", (store, { id }, userId) => store.getSessionMark(id, { userId }), null),
  byId("getOwnPrompt", (store, { id }, userId) => store.getOwnPrompt(id, { userId }), null),
  byId("getMessages", (store, { id }, userId) => store.getMessages(id, { userId }), []),
  byId(
    "getMessages with rewound rows",
    (store, { id }, userId) => store.getMessages(id, { userId, includeInactive: true }),
    [],
  ),
  byId(
    "getMessagesAround",
    (store, { id, message }, userId) => store.getMessagesAround(id, message, { userId }),
    NO_WINDOW,
  ),
  byId(
    "getAnchoredView",
    (store, { id, message }, userId) => store.getAnchoredView(id, message, { userId }),
    {
      ...NO_WINDOW,
      bookend_start: [],
      bookend_end: [],
    },
  ),
  byId(
    "getMessagesAsConversation",
    (store, { id }, userId) => store.getMessagesAsConversation(id, { userId }),
    [],
  ),
  byId(
    "getMessagesAsConversation with ancestors",
    (store, { id }, userId) => store.getMessagesAsConversation(id, { userId, includeAncestors: true }),
    [],
  ),
  byId("listRecentUserMessages", (store, { id }, userId) => store.listRecentUserMessages(id, { userId }), []),
  byId("messageCount of a session", (store, { id }, userId) => store.messageCount(id, { userId }), 0),
  byId("messageCount of all", (store, _target, userId) => store.messageCount(undefined, { userId }), 0),
  byId("getSessionTitle", (store, { id }, userId) => store.getSessionTitle(id, { userId }), null),
  byId(
    "resolveSessionByTitle",
    (store, { title }, userId) => store.resolveSessionByTitle(title, { userId }),
    null,
  ),
  byId("resolveSessionId exactly", (store, { id }, userId) => store.resolveSessionId(id, { userId }), null),
  byId(
    "resolveSessionId by a beginning",
    (store, { id }, userId) => store.resolveSessionId(id.slice(0, -1), { userId }),
    null,
  ),
  byId("getHandoffState", (store, { id }, userId) => store.getHandoffState(id, { userId }), null),
  byId("exportSession", (store, { id }, userId) => store.exportSession(id, { userId }), null),
  byId("exportAll", (store, _target, userId) => store.exportAll({ userId }), []),
  byId("sessionCount", (store, _target, userId) => store.sessionCount({ userId, includeArchived: true }), 0),
  byId("listSessionsRich", (store, _target, userId) => store.listSessionsRich({ userId }), []),
  byId(
    "listSessionsRich by activity, with children",
    (store, _target, userId) =>
      store.listSessionsRich({ userId, orderByLastActive: true, includeChildren: true }),
    [],
  ),
  byId(
    "listSessionsRich with an id",
    (store, { id }, userId) => store.listSessionsRich({ userId, orderByLastActive: true, idQuery: id }),
    [],
  ),
  byId("searchSessions", (store, _target, userId) => store.searchSessions({ userId }), []),
  byId("searchSessionsById", (store, { id }, userId) => store.searchSessionsById(id, { userId }), []),
  byId("searchMessages", (store, _target, userId) => store.searchMessages("secret", { userId }), []),
  byId(
    "search for characters",
    async (store, _target, userId) => (await store.search("密", { userId })).hits,
    [],
  ),
  byId("search", (store, _target, userId) => store.search("secrets", { userId }), {
    hits: [],
    stage: "none",
    empty: "no-match",
  }),
  byId("listContinued", (store, { id }, userId) => store.listContinued(id, { userId }), []),
  byId("listMessageKeys", (store, { id }, userId) => store.listMessageKeys([id], { userId }), []),
  byId("getMessagesById", (store, { message }, userId) => store.getMessagesById([message], { userId }), []),
  byId("listSummaryNodes", (store, { id }, userId) => store.listSummaryNodes([id], { userId }), []),
  byId("getSummaryNode", (store, { node }, userId) => store.getSummaryNode(node, { userId }), null),
  byId("searchSummaryNodes", (store, _target, userId) => store.searchSummaryNodes("secret", { userId }), []),
  byId("listCronJobRuns", (store, { job }, userId) => store.listCronJobRuns(job, { userId }), []),
];

/** Reads that answer with the id they were asked for when they know nothing about it. */
const WALKS: readonly Read[] = [
  {
    name: "getCompressionTip",
    read: (store, { id }, userId) => store.getCompressionTip(id, { userId }),
    forStrangers: ({ id }) => id,
  },
  {
    name: "getLineageRoot",
    read: (store, { id }, userId) => store.getLineageRoot(id, { userId }),
    forStrangers: ({ id }) => id,
  },
  {
    name: "listLineage",
    read: async (store, { id }, userId) => (await store.listLineage(id, { userId })).sort(),
    forStrangers: ({ id }) => [id],
  },
  {
    name: "resolveResumeSessionId",
    read: (store, { id }, userId) => store.resolveResumeSessionId(id, { userId }),
    forStrangers: ({ id }) => id,
  },
];

export function scopingContract({ open }: Harness): void {
  it.each(READS)("$name shows a session to its user and to no other", async ({ read, forStrangers }) => {
    await using store = await open();
    const target = await owned(store, "ann");
    expect(await read(store, target, "ben")).toEqual(forStrangers(target));
    expect(await read(store, target, "")).toEqual(forStrangers(target));
    expect(await read(store, target, "ann")).not.toEqual(forStrangers(target));
    expect(await read(store, target, "ann")).toEqual(await read(store, target, undefined));
  });

  it.each(READS)("$name hides a session without owner from every user", async ({ read, forStrangers }) => {
    await using store = await open();
    const target = await owned(store, null);
    expect(await read(store, target, "ann")).toEqual(forStrangers(target));
    expect(await read(store, target, undefined)).not.toEqual(forStrangers(target));
  });

  it.each(WALKS)("$name does not walk through another user's sessions", async ({ read, forStrangers }) => {
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
      expect(await read(store, target, "ann")).toEqual(forStrangers(target));
    }
  });

  it.each(WALKS)("$name walks a user's own lineage", async ({ read }) => {
    await using store = await open();
    await store.createSession("first", { source: "cli", userId: "ann" });
    await store.continueSession("first", { id: "second" });
    await talk(store, "second", ["hello"]);
    for (const id of ["first", "second"]) {
      const target = { id, title: "", message: 0, job: "", node: "" };
      expect(await read(store, target, "ann")).toEqual(await read(store, target, undefined));
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
        expect(await store.search(query, { userId: "ann", ...more })).toEqual({
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

  it.each(READS)(
    "$name with null for a user, from a caller that has lost its user, is refused",
    async ({ read }) => {
      await using store = await open();
      const target = await owned(store, "ann");
      const nobody = null as unknown as undefined;
      await expect((async () => read(store, target, nobody))()).rejects.toMatchObject({
        code: "bad-user-id",
      });
    },
  );

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

function byId(name: string, read: Read["read"], forStrangers: unknown): Read {
  return { name, read, forStrangers: () => forStrangers };
}

async function owned(store: SessionStore, userId: string | null): Promise<Target> {
  const id = "cron_j1_20260101_010000";
  await store.createSession(id, { source: "cron", userId });
  await store.setSessionTitle(id, "Private");
  await store.requestHandoff(id, "telegram");
  await store.saveOwnPrompt(id, "You know a secret.", 1);
  const [message = -1] = await talk(store, id, ["a secret 秘密", "kept"]);
  const leaf = leafOf(id, [message], { summary: "a secret was told" });
  await store.insertSummaryNodes([leaf]);
  return { id, title: "Private", message, job: "j1", node: leaf.node_id };
}
