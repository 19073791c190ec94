// What reaches the server: turns exactly once, one commit behind them, mirrored entries, users apart, erasing. On both versions.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { inParts, overlap } from "../../src/openviking/sessions.ts";
import { tenantUser } from "../../src/openviking/settings.ts";
import { FakeOpenViking } from "../fakes/servers/openviking.ts";
import { accountOf, startProvider } from "./harness.ts";

describe.each(["v04", "v03"] as const)("a server %s", (profile) => {
  let fake: FakeOpenViking;
  let home: string;

  beforeEach(async () => {
    fake = await new FakeOpenViking({ profile }).start();
    home = tempDirectory();
  });

  afterEach(() => fake.stop());

  const owner = (user = "default") => ({ account: accountOf(home), user });
  const said = (session = "session-1", user = "default") =>
    fake.messagesOf(session, owner(user)).map(({ role, content }) => `${role}: ${content}`);
  const posts = (end: string) =>
    fake.requests.filter(({ method, path }) => method === "POST" && path.endsWith(end));

  it("gets a turn in full and a commit when the conversation ends, and no second commit", async () => {
    const { provider, turn } = await startProvider(fake, home);
    const long = "kiln ".repeat(2_000).trim();
    await turn(long, "Noted.");
    await turn("And the glaze?", "");
    await provider.onSessionEnd?.([], {});
    expect(said()).toEqual([`user: ${long}`, "assistant: Noted.", "user: And the glaze?"]);
    await provider.onSessionEnd?.([], {});
    await provider.shutdown?.({});
    expect(posts("/commit")).toHaveLength(1);
    expect(fake.archivesOf("session-1", owner())).toBe(1);
  });

  it("gets nothing of a turn without a text of the user", async () => {
    const { provider, turn } = await startProvider(fake, home);
    await turn("", "A greeting.");
    await provider.onSessionEnd?.([], {});
    await provider.shutdown?.({});
    expect(posts("")).toEqual([]);
  });

  it("gets the old session committed and new turns in the new one after a change of session", async () => {
    const { provider, turn } = await startProvider(fake, home);
    await turn("first", "one", "session-1");
    await provider.onSessionSwitch?.("a/b c", { parent_session_id: "session-1", reset: true });
    await turn("second", "two", "a/b c");
    await provider.onSessionEnd?.([], {});
    await provider.shutdown?.({});
    expect(said("session-1")).toEqual(["user: first", "assistant: one"]);
    expect(said("a/b c")).toEqual(["user: second", "assistant: two"]);
    expect(posts("/commit").map(({ path }) => path)).toEqual([
      "/api/v1/sessions/session-1/commit",
      "/api/v1/sessions/a%2Fb%20c/commit",
    ]);
  });

  it("gets the commit of a conversation that did not end before the shutdown", async () => {
    const { provider, turn } = await startProvider(fake, home);
    await turn("first", "one");
    await turn("second", "two");
    await provider.shutdown?.({});
    expect(said()).toHaveLength(4);
    expect(fake.archivesOf("session-1", owner())).toBe(1);
  });

  it("gets turns that waited before the one commit that covers them", async () => {
    const port = Number(new URL(fake.url).port);
    await fake.stop();
    const { provider, turn } = await startProvider(fake, home);
    await turn("first", "one");
    await turn("second", "two");
    await provider.shutdown?.({});
    await fake.start(port);
    const { provider: next } = await startProvider(fake, home);
    await next.onSessionEnd?.([], {});
    await next.shutdown?.({});
    expect(said()).toEqual(["user: first", "assistant: one", "user: second", "assistant: two"]);
    expect(Object.values(fake.memories(owner())).sort()).toEqual(["first", "one", "second", "two"]);
    expect(fake.archivesOf("session-1", owner())).toBe(1);
  });

  it.each([
    ["took a turn and could not say so", "dropAnswerNext"],
    ["was cut off before it took a turn", "dropNext"],
  ] as const)("that %s gets it once, also after the same turn before", async (_, trouble) => {
    const { provider, turn } = await startProvider(fake, home);
    for (let count = 0; count < 3; count += 1) {
      await turn("yes", "Done.");
      await provider.onSessionSwitch?.("session-1", { parent_session_id: "", reset: false, rewound: true });
      await vi.waitFor(() => expect(said()).toHaveLength(2 * (count + 1)), 5_000);
      if (count === 1) fake[trouble](1);
    }
    await provider.onSessionEnd?.([], {});
    await vi.waitFor(() => expect(fake.archivesOf("session-1", owner())).toBe(1), 5_000);
    await provider.shutdown?.({});
    expect(said()).toEqual(Array(3).fill(["user: yes", "assistant: Done."]).flat());
  });

  it("that handles a request of an ended process late gets its turn once", async () => {
    const limits = { shutdownMs: 100, pauses: { firstMs: 20, longestMs: 100, blockedMs: 100 } };
    const ended = await startProvider(fake, home, { limits });
    await vi.waitFor(() => expect(fake.requests).toHaveLength(1)); // its version
    fake.delayNext(400);
    const isHandled = new Promise((resolve) => setTimeout(resolve, 1_000));
    await ended.turn("first", "one");
    await vi.waitFor(() => expect(fake.requests).toHaveLength(2));
    await ended.provider.shutdown?.({});
    const next = await startProvider(fake, home);
    await next.provider.onSessionEnd?.([], {});
    await next.provider.shutdown?.({});
    await isHandled;
    expect(said()).toEqual(["user: first", "assistant: one"]);
  });

  it("keeps entries of the curated memory at places made from their texts", async () => {
    const { provider, mirror } = await startProvider(fake, home);
    expect(await mirror("add", "Fires the kiln")).toEqual({ stored: true });
    expect(await mirror("add", "Fires the kiln")).toEqual({ stored: true });
    await provider.onMemoryWrite?.("add", "user", "Likes tea", {});
    const [first, second, ...more] = Object.keys(fake.memories(owner()));
    const root =
      profile === "v04" ? "viking://user/default/memories" : "viking://user/default/agent/hermes/memories";
    expect(first).toMatch(new RegExp(`^${root}/patterns/mem_[0-9a-f]{12}\\.md$`));
    expect(second).toMatch(new RegExp(`^${root}/preferences/mem_[0-9a-f]{12}\\.md$`));
    expect(more).toEqual([]);
    await mirror("replace", "Fires two kilns", "Fires the kiln");
    expect(Object.values(fake.memories(owner())).sort()).toEqual(["Fires two kilns", "Likes tea"]);
    await mirror("remove", "", "Fires two kilns");
    expect(await mirror("remove", "", "never there")).toEqual({ stored: true });
    expect(Object.values(fake.memories(owner()))).toEqual(["Likes tea"]);
    await provider.shutdown?.({});
  });

  it("loses an entry that was stored under the rules of the other version when it is removed", async () => {
    fake.version = profile === "v04" ? "0.3.24" : "0.4.16"; // what it was before its upgrade
    const { provider, mirror } = await startProvider(fake, home);
    await mirror("add", "Fires the kiln");
    await provider.shutdown?.({});
    fake.version = undefined;
    expect(Object.keys(fake.files(owner()))).toHaveLength(1);
    const { provider: next, mirror: write } = await startProvider(fake, home);
    await write("remove", "", "Fires the kiln");
    expect(fake.files(owner())).toEqual({});
    await next.shutdown?.({});
  });

  it("keeps users of a gateway in tenants of their own, sessions included", async () => {
    const ann = await startProvider(fake, home, { userId: "ann" });
    const bob = await startProvider(fake, home, { userId: "bob" });
    await ann.mirror("add", "Ann fires the kiln");
    await bob.turn("Bob fires the kiln", "Noted.");
    for (const { provider } of [ann, bob]) {
      await provider.onSessionEnd?.([], {});
    }
    expect(await ann.recall("who fires the kiln?")).toMatch(/Ann fires/);
    expect(await bob.recall("who fires the kiln?")).not.toMatch(/Ann fires/);
    expect(said("session-1", tenantUser("default", "telegram:bob"))).toHaveLength(2);
    expect(said("session-1")).toEqual([]);
    const answer = await ann.tool("viking_add_resource", { url: "https://example.com" });
    expect(answer.error).toMatch(/only the owner/);
    for (const { provider } of [ann, bob]) await provider.shutdown?.({});
  });

  it("shows a user of a gateway nothing of others, though the server takes everyone for an administrator", async () => {
    const ann = await startProvider(fake, home, { userId: "ann" });
    const own = await startProvider(fake, home);
    await ann.mirror("add", "Ann fires the kiln");
    await own.mirror("add", "The owner fires the kiln");
    const folder = (user: string) => `viking://user/${user}/memories/patterns`;
    const put = (uri: string) => fake.put(uri, "Fires the kiln", owner());
    for (let number = 0; number < 12; number += 1) put(`${folder("other")}/mem_${number}.md`);
    put("viking://agent/0123456789ab/memories/a.md");
    put("viking://resources/kiln.md");
    const annUser = tenantUser("default", "telegram:ann");
    for (const [who, mine] of [
      [ann, annUser],
      [own, "default"],
    ] as const) {
      const strangers = [annUser, "default", "other"].filter((user) => user !== mine);
      const recalled = (await who.recall("fires the kiln")) ?? "";
      const found = JSON.stringify(await who.tool("viking_search", { query: "fires the kiln", limit: 100 }));
      const tree = JSON.stringify(await who.tool("viking_browse", { action: "tree", path: "viking://" }));
      const users = JSON.stringify(
        await who.tool("viking_browse", { action: "list", path: "viking://user" }),
      );
      for (const text of [recalled, found, tree, users]) {
        for (const user of strangers) expect(text).not.toMatch(new RegExp(`viking://user/${user}[/"]`));
        expect(text).toContain(text === users ? `viking://user/${mine}` : "viking://resources");
      }
      expect(recalled).toContain(`viking://user/${mine}`);
      for (const user of strangers)
        for (const uri of [folder(user), `viking://user/${mine}/../${user}`, `user//${user}/memories`]) {
          expect((await who.tool("viking_read", { uri })).error).toMatch(/^PERMISSION_DENIED/);
          for (const action of ["list", "tree", "stat"])
            expect((await who.tool("viking_browse", { action, path: uri })).error).toMatch(
              /^PERMISSION_DENIED/,
            );
        }
    }
    for (const uri of ["viking://", "viking://user", "viking://session/s", "viking://agent/0123456789ab"])
      for (const level of ["abstract", "overview", "full"])
        expect((await ann.tool("viking_read", { uri, level })).error).toMatch(/^PERMISSION_DENIED/);
    for (const path of ["viking://", "viking://user"])
      for (const action of ["list", "tree", "stat"])
        expect(JSON.stringify(await ann.tool("viking_browse", { action, path }))).not.toContain("owner");
    for (const { provider } of [ann, own]) await provider.shutdown?.({});
  });

  it("does not delete conversations that a server keeps for the whole account", async () => {
    fake.sharesSessions = true;
    const ann = await startProvider(fake, home, { userId: "ann" });
    const own = await startProvider(fake, home);
    await own.turn("The owner's QUARTZ-7", "Noted.");
    await ann.turn("Ann's QUARTZ-7", "Noted.");
    for (const { provider } of [ann, own]) await provider.onSessionEnd?.([], {});
    for (const report of [await ann.provider.forget?.("QUARTZ-7", {}), await ann.provider.eraseUser?.({})])
      expect(report?.remaining).toMatch(/keeps 2 conversations for the whole account/);
    expect(said("session-1")).toHaveLength(2);
    for (const { provider } of [ann, own]) await provider.shutdown?.({});
  });

  it("whose key decides the user gets nothing of a user of a gateway, and the outbox keeps it", async () => {
    fake.requireAuth("user-key-0123456789");
    const env = { OPENVIKING_API_KEY: "user-key-0123456789", OPENVIKING_ACCOUNT: "" };
    const ann = await startProvider(fake, home, { userId: "ann", env });
    expect(await ann.mirror("add", "Ann fires the kiln")).toMatchObject({
      stored: false,
      reason: expect.stringMatching(/belongs to one tenant user/),
    });
    expect((await ann.tool("viking_search", { query: "kiln" })).error).toMatch(/belongs to one tenant user/);
    await ann.provider.shutdown?.({});
    expect(fake.requests.every(({ path }) => path === "/health")).toBe(true);
    const own = await startProvider(fake, home, { env });
    await own.mirror("add", "The owner fires the kiln");
    expect(Object.values(fake.memories())).toEqual(["The owner fires the kiln"]);
    await own.provider.shutdown?.({});
  });

  it("forgets a text in memories, in those it made of conversations, and in open conversations", async () => {
    const { provider, turn, mirror } = await startProvider(fake, home);
    await mirror("add", "The code is QUARTZ-7");
    await mirror("add", "The kiln is blue");
    await turn("My code is QUARTZ-7", "Noted.", "committed");
    await provider.onSessionSwitch?.("committed", { parent_session_id: "", reset: false });
    await provider.onSessionEnd?.([], {});
    await turn("Again: QUARTZ-7", "Noted.", "open");
    await vi.waitFor(() => expect(said("open")).toHaveLength(2), 5_000);
    const dry = await provider.forget?.("QUARTZ-7", { dry_run: true });
    expect(dry?.erased).toBe(3);
    const done = await provider.forget?.("QUARTZ-7", {});
    expect(done).toMatchObject({
      erased: 3,
      remaining: expect.stringMatching(/archives of 1 conversation /),
    });
    expect(JSON.stringify(fake.files(owner()))).not.toContain("QUARTZ-7");
    expect(said("open")).toEqual([]);
    expect(Object.values(fake.files(owner()))).toContain("The kiln is blue");
    expect(await provider.forget?.("quartz-7", {})).toMatchObject({ erased: 0 });
    await provider.shutdown?.({});
  });

  it("erases everything of a user, and says that resources stay", async () => {
    const ann = await startProvider(fake, home, { userId: "ann" });
    const own = await startProvider(fake, home);
    await ann.mirror("add", "Ann fires the kiln");
    await ann.turn("Hello", "Hi.");
    await ann.provider.onSessionEnd?.([], {});
    await own.mirror("add", "The owner fires the kiln");
    await own.tool("viking_add_resource", { url: "https://example.com/spec.md" });
    const report = await ann.provider.eraseUser?.({});
    expect(report?.remaining).toMatch(/viking:\/\/resources belong to everyone/);
    const user = tenantUser("default", "telegram:ann");
    expect(fake.memories(owner(user))).toEqual({});
    expect(said("session-1", user)).toEqual([]);
    expect(Object.values(fake.memories(owner()))).toEqual(["The owner fires the kiln"]);
    for (const { provider } of [ann, own]) await provider.shutdown?.({});
  });
});

it("keeps memories and messages of a peer of 0.4 apart from those of other peers, if that is set", async () => {
  const fake = await new FakeOpenViking().start();
  const account = "studio";
  const as = (agent: string) =>
    startProvider(fake, tempDirectory(), {
      env: { OPENVIKING_ACCOUNT: account, OPENVIKING_AGENT: agent, OPENVIKING_PEER_MEMORIES: "true" },
    });
  const one = await as("crane");
  const other = await as("kiln-bot");
  await one.mirror("add", "The crane is blue");
  await one.turn("Hello", "Hi.");
  await one.provider.onSessionEnd?.([], {});
  expect(fake.messagesOf("session-1", { account }).map(({ peer_id }) => peer_id)).toEqual(["crane", "crane"]);
  expect(Object.keys(fake.memories({ account }))).toContainEqual(
    expect.stringMatching(/^viking:\/\/user\/default\/peers\/crane\/memories\/patterns\/mem_/),
  );
  expect(await one.recall("which colour has the crane?")).toContain("The crane is blue");
  expect(await other.recall("which colour has the crane?")).not.toContain("The crane is blue");
  for (const { provider } of [one, other]) await provider.shutdown?.({});
  await fake.stop();
});

describe("parts of a post", () => {
  it("have at most 100 messages and about 2 million characters, in order", () => {
    const message = (content: string) => ({ role: "user" as const, content });
    const many = Array.from({ length: 250 }, (_, index) => message(String(index)));
    expect(inParts(many).map((part) => part.length)).toEqual([100, 100, 50]);
    expect(inParts(many).flat()).toEqual(many);
    const large = Array.from({ length: 3 }, () => message("x".repeat(1_500_000)));
    expect(inParts(large).map((part) => part.length)).toEqual([1, 1, 1]);
    expect(inParts([])).toEqual([]);
  });

  it.each([
    [["a", "b"], ["c"], 0],
    [["a", "b"], ["b", "c"], 1],
    [["x", "a", "b"], ["a", "b"], 2],
    [["a", "b", "a"], ["a", "b"], 1],
    [[], ["a"], 0],
  ])("that are there already: %j then %j", (there, wanted, count) =>
    expect(overlap(there, wanted)).toBe(count),
  );
});

describe("the tenant user", () => {
  it.each([
    ["default", undefined, "default"],
    ["team-{user}", undefined, "team-default"],
    ["{user}", "42", "42"],
    ["team-{user}", "42", "team-42"],
    ["default", "42", "default_42"],
  ])("of the setting %s and the user %s is %s", (setting, user, expected) =>
    expect(tenantUser(setting, user)).toBe(expected),
  );

  it("is another for every user, and never the owner's", () => {
    const users = [
      "telegram:42",
      "telegram_42",
      "discord:42",
      "telegram:4 2",
      "default",
      "../x",
      "ж",
      undefined,
    ];
    for (const setting of ["default", "{user}", "a{user}b"]) {
      const ids = users.map((user) => tenantUser(setting, user));
      expect(new Set(ids).size).toBe(users.length);
      for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9_-]+$/);
    }
  });
});
