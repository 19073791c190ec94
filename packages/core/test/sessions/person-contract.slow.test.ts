// The session store contract, run against the store of one person, in a file where other users have sessions too.
import { describe, expect, it } from "vitest";
import { type HomeStore, openSessionStore } from "../../src/sessions/index.ts";
import {
  type SessionStoreGroup,
  type SessionStoreHarness,
  sessionStoreContract,
  type TestRunner,
} from "../../testing/index.ts";
import { copiesOf } from "../fakes/store-copies.ts";

const USER = { platform: "cli", userId: "u1" }; // the user that tests of the suite name

const newCopy = copiesOf(async (path) => {
  await using home = await openSessionStore({ path });
  for (const user of [
    { platform: "cli", userId: "ben" },
    { platform: "telegram", userId: "u1" },
  ]) {
    const theirs = home.forUser(user);
    const id = `${user.userId} on ${user.platform}`;
    await theirs.createSession(id, { source: user.platform });
    await theirs.appendMany(id, [
      { role: "user", content: "hello lantern one two 灯塔" },
      { role: "assistant", content: "noted" },
    ]);
    await theirs.setSessionTitle(id, id);
    await theirs.branchSession(id);
    await theirs.continueSession(id);
  }
  await home.createSession("of nobody", { source: "cli" });
  await home.appendMessage("of nobody", { role: "user", content: "hello lantern one two" });
});

/** What only the store of the whole home has is that of the home. */
const alone = (home: HomeStore): HomeStore => ({
  ...home,
  ...home.forUser(USER),
  close: () => home.close(),
  [Symbol.asyncDispose]: () => home.close(),
});
const harness: SessionStoreHarness = {
  open: async (options) => alone(await openSessionStore({ path: await newCopy(), ...options })),
  reopen: async (store) => alone(await openSessionStore({ path: store.location })),
};

/** Tests that cannot pass for one user, with how they fail. One that passes counts as a failure. */
const EXCEPTIONS: readonly { readonly tests: RegExp; readonly fails: object; readonly reason: string }[] = [
  ...[/^the user(:|, where others)/, /^a few allowed messages are found/].map((tests) => ({
    tests,
    fails: { code: "bad-user-id" },
    reason: "makes sessions of other users",
  })),
  {
    tests: /^two persons may use the same key/,
    fails: { code: "bad-user-id" },
    reason: "makes sessions of other users",
  },
  {
    tests: /^a child inherits its parent's user/,
    fails: { code: "bad-user-id" },
    reason: "makes a child of another user",
  },
  ...[/^gives back what a session was created/, /^continuing ends the parent/, /^a branch copies the/].map(
    (tests) => ({
      tests,
      fails: { actual: { temperature: 0.2, _user_platform: "cli" } },
      reason: "expects the settings as given, and those of a session from telegram name the user's platform",
    }),
  ),
  {
    tests: /^statistics count sessions/,
    fails: { actual: { sessions: 10 } },
    reason: "they are those of the home",
  },
];
const met = new Set<RegExp>();

const excepting =
  (register: TestRunner["it"]["skip"]): TestRunner["it"]["skip"] =>
  (name, body) =>
    register(name, async () => {
      const failure: unknown = await (async () => body())().then(
        () => undefined,
        (cause: unknown) => cause ?? new Error("failed without a cause"),
      );
      const exception = EXCEPTIONS.find(({ tests }) => tests.test(name));
      if (exception !== undefined) {
        met.add(exception.tests);
        expect(failure).toMatchObject(exception.fails);
      } else if (failure !== undefined) throw failure;
    });
const GROUPS: Readonly<Record<Exclude<SessionStoreGroup, "erasing a user" | "users" | "transcripts">, true>> =
  {
    sessions: true,
    "own prompts": true,
    titles: true,
    flags: true,
    messages: true,
    "replacing messages": true,
    windows: true,
    conversations: true,
    rewinding: true,
    "results in files": true,
    lineage: true,
    "continuing and branching": true,
    "summary nodes": true,
    search: true,
    listing: true,
    "session leases": true,
    "compression locks": true,
    "deleting and pruning": true,
    "export and import": true,
    maintenance: true,
    "live sessions": true,
    marks: true,
    turns: true,
    "recall traces": true,
    asks: true,
    "hidden tool rounds": true,
    spend: true,
  }; // all groups but those where every test creates sessions of several users or imports, which the owner of the home does

sessionStoreContract(
  { describe, it: Object.assign(excepting(it), { skip: it.skip }), expect },
  "SQLite, bound to one user",
  { ...harness, only: Object.keys(GROUPS) as SessionStoreGroup[] },
);

it("has no exception that no test needs", () => {
  expect(EXCEPTIONS.filter(({ tests }) => !met.has(tests))).toEqual([]);
});
