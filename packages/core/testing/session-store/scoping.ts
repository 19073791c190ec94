// One store, several people: in the store of one, the sessions of the others do not exist. That every member keeps to it is tested in
// test/sessions/scoping.slow.test.ts; here are the cases in which sessions of several people hang together.
import type { HermesError } from "../../src/lib/index.ts";
import { parseMessages } from "../../src/message/index.ts";
import { type Scope, WITHOUT_USER } from "../../src/sessions/identity.ts";
import { narrowed } from "../../src/sessions/index.ts";
import type { HomeStore, SessionStore } from "../../src/sessions/store.ts";
import type { Suite } from "../runner.ts";
import {
  expectCode,
  exportAll,
  type Harness,
  idsOf,
  ManualClock,
  nth,
  talk,
  withSessions,
} from "./support.ts";

const of = (store: HomeStore, userId: string, platform = "cli"): SessionStore =>
  store.forUser({ platform, userId });

export function scopingContract({ it, expect }: Suite, { open }: Harness): void {
  it("does not walk through another person's sessions", async () => {
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
    for (const person of [of(store, "ann"), store.forUser(WITHOUT_USER)])
      for (const id of ["first", "second", "third"]) {
        expect(await person.getCompressionTip(id)).toBe(id);
        expect(await person.listLineage(id)).toEqual([id]);
        expect(await person.resolveResumeSessionId(id)).toBe(id);
      }
  });

  it("is the store of one person, or of nobody", async () => {
    await using store = await open();
    for (const person of [undefined, {}, { platform: "cli" }, { userId: "ann" }, { withoutUser: false }])
      await expectCode(
        (async () => store.forUser(person as unknown as typeof WITHOUT_USER))(),
        "bad-user-id",
      );
    expect(of(store, "ann").scope).toEqual({ userId: "ann", userPlatform: "cli" });
    const refused = of(store, "ann").createSession("x", { userId: "ben" });
    expect(await refused.catch((cause: unknown) => cause)).toMatchObject({ code: "bad-user-id" });
  });

  it("a hit does not name a root, or show a neighbour, that belongs to another user", async () => {
    await using store = await open();
    await store.createSession("root", { source: "cli", userId: "ben" });
    await talk(store, "root", ["a secret of ben"]);
    await store.createSession("child", { source: "cli", userId: "ann", parentSessionId: "root" });
    await talk(store, "child", ["a secret of ann"]);
    const { hits } = await of(store, "ann").search("secret");
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
        for (const person of [of(store, "ann"), store.forUser(WITHOUT_USER)])
          expect(await person.search(query, more)).toEqual({
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
    const seen = await of(store, "ann").getMessagesAsConversation("child", { includeAncestors: true });
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
      const rows = await of(store, "ann").listSessionsRich({ orderByLastActive });
      expect(idsOf(rows)).toEqual(["root"]);
      expect(nth(rows, 0).preview).toBe("");
    }
    expect(idsOf(await of(store, "ann").searchSessionsById("tip"))).toEqual([]);
  });

  it("a beginning that two users share resolves for each to their own", async () => {
    await using store = await open();
    await store.createSession("2026_a", { source: "cli", userId: "ann" });
    await store.createSession("2026_b", { source: "cli", userId: "ben" });
    expect(await of(store, "ann").resolveSessionId("2026")).toBe("2026_a");
    expect(await of(store, "ben").resolveSessionId("2026")).toBe("2026_b");
    expect(await store.resolveSessionId("2026")).toBeNull();
  });

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

  it("a session may belong to a user of another platform than its source, and its children with it", async () => {
    await using store = await open();
    const bo = { userId: "bo", userPlatform: "telegram" };
    await store.createSession("run", { source: "subagent", ...bo, modelConfig: { _delegate_from: "x" } });
    await store.createSession("below", { source: "tool", parentSessionId: "run" });
    await store.continueSession("run", { id: "next" });
    await store.branchSession("run", { id: "branch" });
    await talk(store, "branch", ["the lantern is lit"]);
    for (const id of ["run", "below", "next", "branch"]) {
      expect(await of(store, "bo", "telegram").getSession(id)).toMatchObject({ id, user_id: "bo" });
      for (const platform of ["subagent", "tool", "cli"])
        expect(await of(store, "bo", platform).getSession(id)).toBeNull();
    }
    expect((await of(store, "bo", "telegram").search("lantern")).hits).toHaveLength(1);
    expect((await of(store, "bo", "subagent").search("lantern")).hits).toEqual([]);
  });

  it("a subagent's run without a mark, as version 0.1.0 left them, is on its parent's platform", async () => {
    await using store = await open();
    await store.createSession("root", { source: "telegram", userId: "bo" });
    const old = { source: "subagent", userId: "bo", parentSessionId: "root" };
    await store.createSession("run", { ...old, modelConfig: { _delegate_from: "root" } });
    expect(await of(store, "bo", "telegram").getSession("run")).not.toBeNull();
    expect(await of(store, "bo", "discord").getSession("run")).toBeNull();
  });

  it("a session whose platform is its source keeps its settings as they were given", async () => {
    await using store = await open();
    const bo = { userId: "bo", userPlatform: "telegram" };
    await store.createSession("plain", { source: "telegram", ...bo, modelConfig: { a: 1 } });
    await store.createSession("bare", { source: "telegram", ...bo });
    expect(await of(store, "bo", "telegram").getSession("plain")).toMatchObject({
      user_id: "bo",
      model_config: '{"a":1}',
    });
    expect(await of(store, "bo", "telegram").getSession("bare")).toMatchObject({
      user_id: "bo",
      model_config: null,
    });
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
    const bo = of(store, "bo");
    const rows = [
      await bo.getSession("of-bo"),
      await bo.exportSession("of-bo"),
      ...(await bo.searchSessions()),
      ...(await bo.listSessionsRich({ includeChildren: true })),
      ...(await bo.listSessionsRich({ includeChildren: true, orderByLastActive: true })),
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
    expect(await of(store, "bo").getNextTitleInLineage("kiln")).toBe("kiln #2");
    expect(await store.forUser(WITHOUT_USER).getNextTitleInLineage("kiln")).toBe("kiln #5");
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
      const person = narrowed(store, scope);
      expect(await person.getSessionTitle(id)).toBe("Private");
      expect(await person.resolveSessionByTitle("Private")).toBe(id);
      expect(await person.resolveSessionByTitle("PRIVATE", { ignoreCase: true })).toBe(id);
      expect(await person.getNextTitleInLineage("Private")).toBe("Private #2");
      const rows = [
        await person.getSession(id),
        await person.exportSession(id),
        ...(await person.searchSessions()),
        ...(await person.listSessionsRich({ orderByLastActive: true })),
        ...(await exportAll(person)),
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
    expect(await narrowed(store, people[1]).resolveSessionByTitle("Private")).toBeNull();
    expect(await store.setSessionTitle("1-again", "Private")).toBe(true);
  });

  it("a session of another person cannot be named, and a title is checked before its session is there", async () => {
    await using store = await open();
    const ann = { userId: "ann", userPlatform: "cli" } as const;
    await store.createSession("a", { source: "cli", userId: "ann" });
    await store.createSession("o", { source: "cli" });
    const bo = { userId: "bo", userPlatform: "cli" } as const;
    for (const scope of [bo, { ...ann, userPlatform: "web" }, WITHOUT_USER] as const)
      expect(await narrowed(store, scope).setSessionTitle("a", "Private")).toBe(false);
    expect(await store.getSessionTitle("a")).toBeNull();
    expect(await narrowed(store, ann).setSessionTitle("a", "Private")).toBe(true);
    await store.setSessionTitle("o", "Open");
    for (const [title, scope, isTaken] of [
      ["Private", ann, true],
      ["Open", ann, false],
      ["Private", bo, false],
      ["Open", { withoutUser: true }, true],
      ["Private", { withoutUser: true }, false],
      ["Open", {}, true],
      ["Private", {}, false],
    ] as const) {
      const outcome = await narrowed(store, scope)
        .setSessionTitle("later", title)
        .catch((cause: unknown) => cause);
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
    await using store = await withSessions(open(), "s1", "s2", "s3");
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
    expect(await of(store, "12345", "telegram").getSession("numbered")).toMatchObject({ user_id: "12345" });
    expect(await of(store, userId, "telegram").getSession("numbered")).not.toBeNull();
  });

  it("limits count a user's own sessions only", async () => {
    await using store = await open();
    await store.createSession("mine", { source: "cli", userId: "ann", startedAt: 1 });
    for (let index = 0; index < 30; index += 1) {
      await store.createSession(`other ${index}`, { source: "cli", userId: "ben" });
    }
    const ann = of(store, "ann");
    expect(idsOf(await ann.listSessionsRich({ limit: 1 }))).toEqual(["mine"]);
    expect(idsOf(await ann.listSessionsRich({ limit: 1, orderByLastActive: true }))).toEqual(["mine"]);
    expect(idsOf(await ann.searchSessions({ limit: 1 }))).toEqual(["mine"]);
  });
}
