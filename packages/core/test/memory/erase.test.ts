import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { filesOf, fixtureHome } from "../../../../test/fixtures/fixture-home.ts";
import { openHome, openMemory } from "../../src/index.ts";
import { startScript } from "../fakes/child.ts";
import { FILLED, fillPerson, holders } from "../fakes/filled-person.ts";
import { registeringPlugin, writePlugin } from "../fakes/plugins.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";

const ANA = { platform: "web", id: "ana" } as const;
const BO = { platform: "web", id: "bo" } as const;
/** One word, which the index keeps whole. */
const SECRET = "quartzitekiln";

async function filledHome(home = tempDirectory()): Promise<string> {
  await using memory = openHome({ home });
  await fillPerson(memory, memory.user(ANA), "ana", SECRET);
  await fillPerson(memory, memory.user(BO), "bo", "pebblefield");
  await fillPerson(memory, memory.owner, "owner", "harbourcrane");
  return home;
}

/** All that a home's users can still read, for comparing before and after. */
async function contentsOf(home: string, user: typeof ANA | typeof BO | undefined): Promise<unknown> {
  await using memory = openHome({ home });
  const person = user === undefined ? memory.owner : memory.user(user);
  const curated = await person.curated();
  const store = await person.sessions({ mode: "read" });
  const sessions = [];
  const isTheirs = (session: { user_id: string | null }) => user !== undefined || session.user_id === null;
  for await (const session of store?.exportEach({ includeInactive: true }) ?? [])
    if (isTheirs(session)) sessions.push(session);
  return {
    entries: [curated?.entries("memory"), curated?.entries("user")],
    history: curated?.history(),
    sessions,
    pending: existsSync(person.pendingDirectory) ? readdirSync(person.pendingDirectory).sort() : [],
  };
}

describe("erasing a user", () => {
  it("leaves no byte of theirs in any file of the home, and everything of others", async () => {
    const home = await filledHome();
    const before = [await contentsOf(home, BO), await contentsOf(home, undefined)];
    expect(holders(home, SECRET).length).toBeGreaterThan(8);
    {
      await using memory = await openMemory({ home });
      const ana = memory.user(ANA);
      const counted = await ana.erase({ dryRun: true });
      expect(counted).toMatchObject(FILLED);
      expect(await ana.erase()).toEqual(counted);
      expect(counted.remaining).toEqual([]);
    }
    expect(holders(home, SECRET)).toEqual([]);
    expect(existsSync(join(home, "memories", "users"))).toBe(true);
    expect(readdirSync(join(home, "memories", "users"))).toHaveLength(1);
    expect([await contentsOf(home, BO), await contentsOf(home, undefined)]).toEqual(before);
  });

  it("takes the user's ids out of the tables of the search index", async () => {
    const home = await filledHome();
    await using memory = await openMemory({ home });
    await memory.user(ANA).erase();
    await memory.close();
    const bytes = readFileSync(join(home, "state.db"), "latin1");
    expect(bytes).not.toContain("web\0ana");
    expect(bytes).not.toContain("ana.root");
    expect(bytes).toContain("web\0bo");
  });

  it("can be used again at once, and starts empty", async () => {
    const home = await filledHome();
    await using memory = openHome({ home });
    await using door = await openMemory({ home });
    const store = await door.user(ANA).layers.sessions({ mode: "write", create: true });
    const open = await door.user(ANA).layers.curated();
    await door.user(ANA).erase();
    expect(await store.listSessionIds()).toEqual([]);
    expect(await store.searchMessages(SECRET)).toEqual([]);
    await fillPerson(memory, memory.user(ANA), "ana", "seconduse");
    expect(await store.listSessionIds()).toHaveLength(6);
    expect(JSON.stringify(await store.searchMessages("seconduse"))).toContain("seconduse");
    // A store that was loaded before does not bring old entries back.
    const added = await open?.apply("memory", { action: "add", content: "Third" });
    expect(added?.ok).toBe(true);
    expect(open?.entries("memory")).toEqual(["Stays: seconduse", "Third"]);
  });

  it("a session that somebody linked to hers stays when it is another user's", async () => {
    const home = await filledHome();
    await using memory = openHome({ home });
    const all = await memory.administrator.sessions({ mode: "write", create: true });
    const linked = { parentSessionId: "ana.root", modelConfig: { _delegate_from: "ana.root" } };
    await all.createSession("bo.linked", { source: "web", userId: "bo", userPlatform: "web", ...linked });
    await all.appendMessage("bo.linked", { role: "user", content: "Bo's own words" });
    // Version 0.1.0 stored runs without a platform: theirs is the source of the parent session.
    await all.createSession("carl.run", { source: "subagent", userId: "carl", ...linked });
    const carl = all.forUser({ userId: "carl", platform: "cli" });
    await using door = await openMemory({ home });
    await door.user(ANA).erase();
    expect(await all.messageCount("bo.linked")).toBe(1);
    expect((await all.getSession("bo.linked"))?.parent_session_id).toBeNull();
    expect(await carl.getSession("carl.run")).not.toBeNull();
    expect(await all.forUser({ userId: "ana", platform: "web" }).listSessionIds()).toEqual([]);
  });

  it("the same id on another platform is another person", async () => {
    const home = tempDirectory();
    await using memory = openHome({ home });
    await fillPerson(memory, memory.user({ platform: "telegram", id: "ana" }), "tg", "othersecret");
    await fillPerson(memory, memory.user(ANA), "ana", SECRET);
    await using door = await openMemory({ home });
    expect(await door.user(ANA).erase()).toMatchObject(FILLED);
    const other = await memory.user({ platform: "telegram", id: "ana" }).sessions({ mode: "read" });
    expect(await other?.listSessionIds()).toHaveLength(6);
    expect(JSON.stringify(await other?.searchMessages("othersecret"))).toContain("othersecret");
  });

  it("a file that a link in her directory leads to stays when it is not below it", async () => {
    const home = tempDirectory();
    await using memory = await openMemory({ home });
    const { directory } = memory.user(ANA).layers;
    mkdirSync(directory, { recursive: true });
    mkdirSync(join(home, "memories"), { recursive: true });
    writeFileSync(join(home, "memories", "MEMORY.md"), "The owner's");
    symlinkSync(join(home, "memories", "MEMORY.md"), join(directory, "MEMORY.md"));
    const erased = await memory.user(ANA).erase();
    expect(erased.entries).toBe(0);
    expect(erased.remaining).toHaveLength(1);
    expect(readFileSync(join(home, "memories", "MEMORY.md"), "utf8")).toBe("The owner's");
    expect(existsSync(directory)).toBe(false);
  });
});

it("chats of this process bring nothing back", async () => {
  const home = tempDirectory();
  writeFileSync(join(home, "config.yaml"), "memory:\n  provider: holographic\n");
  await using memory = await openMemory({ home });
  const ana = memory.user(ANA);
  await ana.add(`Her kiln is a ${SECRET}`);
  await ana.remember("one", `I own a ${SECRET}`, "Noted.");
  const before = await ana.context("two", { query: `What about my ${SECRET}?` });
  expect(before.system).toContain(SECRET);
  expect(before.recall).toContain(SECRET);
  const counted = await ana.erase({ dryRun: true });
  const erased = await ana.erase();
  expect(erased).toEqual(counted);
  expect(erased).toMatchObject({ entries: 1, provider: { name: "holographic", erased: 1 }, remaining: [] });
  expect(await ana.chats()).toEqual([]);
  const after = await ana.context("two", { query: "What about my kiln?" });
  expect(JSON.stringify(after)).not.toContain(SECRET);
  expect(await ana.history()).toEqual([]);
  expect(await ana.remember("one", "Hello", "Hi")).toMatchObject({ stored: 2, known: 0 });
  await memory.close();
  expect(holders(home, SECRET)).toEqual([]);
});

describe("erasing the owner", () => {
  it("leaves the users, and what is no memory", async () => {
    const home = await filledHome();
    writeFileSync(join(home, ".hermes_history"), "# 2026-01-01 00:00:00\n+about the harbourcrane\n");
    writeFileSync(join(home, "SOUL.md"), "harbourcrane is my name");
    writeFileSync(join(home, "memories", "notes-of-mine.txt"), "harbourcrane");
    const before = [await contentsOf(home, BO), await contentsOf(home, ANA)];
    {
      await using memory = await openMemory({ home });
      const counted = await memory.owner.erase({ dryRun: true });
      expect(counted).toMatchObject({ ...FILLED, remaining: [] });
      expect(await memory.owner.erase()).toEqual(counted);
    }
    expect(holders(home, "harbourcrane")).toEqual(["SOUL.md", join("memories", "notes-of-mine.txt")]);
    expect([await contentsOf(home, BO), await contentsOf(home, ANA)]).toEqual(before);
  });
});

describe("what cannot be erased now", () => {
  it("a session in which a turn runs stays and is named; the next call finishes", async () => {
    const home = await filledHome();
    await using memory = await openMemory({ home });
    const store = await memory.user(ANA).layers.sessions({ mode: "write", create: true });
    await store.acquireSessionLease("ana.next", "somebody on another machine");
    const counted = await memory.user(ANA).erase({ dryRun: true });
    const erased = await memory.user(ANA).erase();
    expect(erased).toEqual(counted);
    expect(erased).toMatchObject({ sessions: 5, messages: 11, entries: 2 });
    expect(erased.remaining).toEqual([expect.stringContaining("'ana.next'")]);
    expect(await store.listSessionIds()).toEqual(["ana.next"]);
    await store.releaseSessionLease("ana.next", "somebody on another machine");
    expect(await memory.user(ANA).erase()).toMatchObject({ sessions: 1, messages: 1, remaining: [] });
    await memory.close();
    expect(holders(home, SECRET)).toEqual([]);
  });

  it("files stay while another process has their lock", async () => {
    const home = await filledHome();
    writeFileSync(join(home, "config.yaml"), "memory:\n  lock_timeout_seconds: 0.2\n");
    await using memory = await openMemory({ home });
    const { directory } = memory.user(ANA).layers;
    const holder = startScript("lock-holder.ts", [join(directory, "USER.md.lock")]);
    await holder.nextLine();
    const erased = await memory.user(ANA).erase();
    expect(erased).toMatchObject({ entries: 0, changes: 0, sessions: 6 });
    expect(erased.remaining).toEqual([expect.stringContaining("USER.md.lock")]);
    expect(readFileSync(join(directory, "USER.md"), "utf8")).toContain(SECRET);
    await holder.kill();
    expect(await memory.user(ANA).erase()).toMatchObject({
      entries: 2,
      changes: 5,
      sessions: 0,
      remaining: [],
    });
    await memory.close();
    expect(holders(home, SECRET)).toEqual([]);
  });

  it.runIf(process.platform === "linux")(
    "says that bytes may be left while another process has the database open",
    async () => {
      const home = await filledHome();
      const other = startScript("append-and-stay.ts", [join(home, "state.db"), "bo.archived", "still here"]);
      expect(await other.nextLine()).toBe("stored");
      await using memory = await openMemory({ home });
      const erased = await memory.user(ANA).erase();
      expect(erased).toMatchObject({ sessions: 6 });
      expect(erased.remaining).toEqual([expect.stringContaining("another process has it open")]);
      await other.kill();
      expect(await memory.user(ANA).erase()).toMatchObject({ remaining: [] });
      await memory.close();
      expect(holders(home, SECRET)).toEqual([]);
    },
  );
});

describe("providers", () => {
  it("one without the member is named, and one that fails too", async () => {
    const home = tempDirectory();
    writePlugin(home, "mute", { "index.ts": registeringPlugin({ name: "mute" }) });
    writeFileSync(join(home, "config.yaml"), "memory:\n  provider: mute\n");
    await using memory = await openMemory({ home });
    const { provider, remaining } = await memory.user(ANA).erase();
    expect(provider).toMatchObject({ name: "mute", erased: 0 });
    expect(remaining).toEqual([provider.remaining]);
    expect(provider.remaining).toContain("no way to erase a user");
  });
});

describe("a home of version 0.1.0", () => {
  it("loses the user and nothing else", async () => {
    const home = fixtureHome();
    {
      await using memory = openHome({ home }); // upgrades the database and builds the index
      await (await memory.administrator.sessions({ mode: "write" }))?.file?.optimize();
    }
    const before = filesOf(home);
    const rows = await everySession(home);
    const gone = rows.filter(({ user_id, source }) => user_id === "bo" && source === "telegram");
    expect(gone.length).toBeGreaterThan(0);
    {
      await using memory = await openMemory({ home });
      const erased = await memory.user({ platform: "telegram", id: "bo" }).erase();
      expect(erased).toMatchObject({ sessions: gone.length, entries: 1 });
    }
    expect(await everySession(home)).toEqual(rows.filter((row) => !gone.includes(row)));
    const after = filesOf(home);
    const changed = [...before].filter(([path, bytes]) => after.get(path) !== bytes).map(([path]) => path);
    const own = changed.filter(
      (path) => !path.startsWith(join("memories", "users")) && !gone.some(({ id }) => path.includes(id)),
    );
    // The active provider was asked, and its calls are counted.
    const counted = join("provider-health", "holographic.json");
    expect(own.filter((path) => !path.startsWith("state.db"))).toEqual([counted]);
    expect(
      [...after.keys()].filter(
        (path) => !before.has(path) && !/^(memory_store|state\.db-|provider-health)/.test(path),
      ),
    ).toEqual([]);
  });
});

async function everySession(home: string) {
  await using memory = openHome({ home });
  const store = await memory.administrator.sessions({ mode: "read" });
  const rows = [];
  for await (const session of store?.exportEach({ includeInactive: true }) ?? []) rows.push(session);
  return rows;
}
