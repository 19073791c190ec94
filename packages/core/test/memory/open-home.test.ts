import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { filesOf, fixtureHome } from "../../../../test/fixtures/fixture-home.ts";
import { type Home, type MemoryStore, openHome } from "../../src/index.ts";
import { ConfigFailure } from "../../src/memory/index.ts";
import { NODE_COMPILE_CACHE } from "../fakes/compile-cache.ts";
import { done } from "../fakes/memory-home.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";
import { callContext } from "../fakes/tools.ts";

const OPENING = join(import.meta.dirname, "../fakes/opening-process.ts");

/** Folders of `src` whose code a process loads that opens the home and asks for these. */
function loadedFor(home: string, ...asked: string[]): string[] {
  const env = { ...process.env, NODE_COMPILE_CACHE };
  return JSON.parse(execFileSync(process.execPath, [OPENING, home, ...asked], { env, encoding: "utf8" }));
}

function configured(text: string): string {
  const home = tempDirectory();
  writeFileSync(join(home, "config.yaml"), text);
  return home;
}

async function curatedOf(memory: Home): Promise<MemoryStore> {
  const store = await memory.administrator.curated();
  if (store === undefined) throw new Error("memory is off");
  return store;
}

describe("opening a home", () => {
  it("makes no file and no folder, whatever is looked for in it", async () => {
    const home = join(tempDirectory(), "none");
    await using memory = openHome({ home });
    expect(memory.home).toBe(home);
    expect(await memory.administrator.sessions({ mode: "write" })).toBeUndefined();
    expect(await memory.administrator.sessions({ mode: "read" })).toBeUndefined();
    expect(await memory.administrator.withSessions(async (store) => store)).toBeUndefined();
    expect(memory.administrator.userDirectories()).toEqual([]);
    expect(await memory.administrator.provider.mirror([], "cli")).toEqual({ kind: "none" });
    await memory.config();
    const unloaded = await memory.administrator.curatedIn(memory.administrator.directory, {
      isLoaded: false,
    });
    expect(unloaded.history()).toEqual([]);
    expect(existsSync(home)).toBe(false);
  });

  it("loads the code of a layer when that layer is asked for, and no other", () => {
    const home = configured("memory:\n  memory_char_limit: 300\n");
    const none = loadedFor(home);
    expect(none).toEqual(["lib", "memory"]);
    expect(loadedFor(home, "memoryConfig")).toEqual(["config", "lib", "memory"]);
    expect(loadedFor(home, "memoryConfig", "curated", "mirror")).toEqual([
      "config",
      "curated",
      "lib",
      "memory",
      "security",
      "tools",
    ]);
    expect(loadedFor(home, "sessions")).not.toContain("curated");
    expect(loadedFor(home, "sessions")).toContain("sessions");
    expect(loadedFor(home, "config", "skills")).toEqual(expect.arrayContaining(["skills", "yaml or zod"]));
  });

  it("closes what was opened, once, also when another layer could not be opened", async () => {
    const home = tempDirectory();
    const memory = openHome({ home });
    const store = await memory.administrator.sessions({ mode: "write", create: true });
    expect(await memory.administrator.sessions({ mode: "read" })).toBe(store); // one connection for all
    expect(await memory.administrator.sessions({ mode: "write" })).toBe(store);
    await store.createSession("s1", { source: "cli" });
    writeFileSync(join(home, "config.yaml"), "memory: [");
    await expect(memory.administrator.curated()).rejects.toBeInstanceOf(ConfigFailure);
    await memory.close();
    await memory.close();
    await expect(store.getSession("s1")).rejects.toThrow();
    await using again = openHome({ home });
    const reader = await again.owner.sessions({ mode: "read" });
    expect(await reader?.getSession("s1")).toMatchObject({ id: "s1" });
  });

  it("closes guests before its layers, and none that has left", async () => {
    const memory = openHome({ home: tempDirectory() });
    const guest = (close: () => unknown) => ({ [Symbol.asyncDispose]: async () => void (await close()) });
    const seen: unknown[] = [];
    memory.closeFirst(guest(async () => seen.push(await store.sessionCount()))); // came before the database
    const store = await memory.administrator.sessions({ mode: "write", create: true });
    memory.closeFirst(guest(() => seen.push("left")))();
    const closing = memory.close();
    await expect(memory.administrator.sessions({ mode: "read" })).rejects.toMatchObject({
      code: "memory-closed",
    });
    await Promise.all([closing, memory.close()]);
    expect(seen).toEqual([0]);
    await expect(store.sessionCount()).rejects.toMatchObject({ code: "session-db-closed" });
    expect(() => memory.closeFirst(guest(() => {}))).toThrow("is closed");
  });

  it("closed, refuses every layer and makes nothing", async () => {
    const home = tempDirectory();
    const memory = openHome({ home });
    const ann = memory.user({ platform: "telegram", id: "7" });
    const tools = await memory.administrator.tools();
    await memory.close();
    const refusal = { name: "HermesError", code: "memory-closed", hint: expect.stringContaining("again") };
    for (const person of [memory.administrator, ann])
      for (const asked of [
        person.sessions({ mode: "read" }),
        person.sessions({ mode: "write", create: true }),
        person.withSessions(async (store) => store),
        person.curated(),
        person.skills(),
        person.tools(),
        person.provider.activate({ sessionId: "s" } as Parameters<typeof person.provider.activate>[0]),
      ])
        await expect(asked).rejects.toMatchObject(refusal);
    await expect(memory.administrator.salvage()).rejects.toMatchObject(refusal);
    await expect(memory.administrator.curatedIn(home)).rejects.toMatchObject(refusal);
    for (const tool of tools)
      await expect((async () => tool.run({}, callContext()))()).rejects.toMatchObject(refusal);
    expect(readdirSync(home)).toEqual([]);
  });

  it("closed while layers are being opened, closes and refuses them too", async () => {
    const home = tempDirectory();
    {
      await using memory = openHome({ home });
      await memory.administrator.sessions({ mode: "write", create: true });
    }
    for (const isWarm of [false, true]) {
      const memory = openHome({ home });
      if (isWarm) expect(await memory.administrator.withSessions(async (store) => store)).toBeDefined();
      const asked = [
        memory.administrator.sessions({ mode: "write" }),
        memory.administrator.withSessions(async (store) => store?.sessionCount()),
        memory.administrator.curated(),
        memory.administrator.salvage(),
      ];
      const outcomes = Promise.allSettled(asked);
      await memory.close();
      for (const outcome of await outcomes)
        expect(outcome).toMatchObject({ status: "rejected", reason: { code: "memory-closed" } });
    }
    expect(
      readdirSync(home).filter((name) => name.startsWith("memories") || name.includes("salvage")),
    ).toEqual([]);
  });

  it.each([[""], ["a\0b"], [undefined], [null], [5]])("refuses the home %j", (home) => {
    expect(() => openHome({ home: home as string })).toThrow(expect.objectContaining({ code: "bad-home" }));
  });

  it("in a home that is a file, says so and what to do", async () => {
    const home = join(tempDirectory(), "file");
    writeFileSync(home, "x");
    await using memory = openHome({ home });
    for (const asked of [
      memory.administrator.sessions({ mode: "read" }),
      memory.administrator.sessions({ mode: "write", create: true }),
      memory.administrator.withSessions(async (store) => store),
    ])
      await expect(asked).rejects.toMatchObject({
        name: "HermesError",
        code: "session-db-unavailable",
        message: expect.stringContaining("ENOTDIR"),
        hint: expect.stringContaining("HERMES_HOME"),
      });
  });
});

describe("the config of a home", () => {
  it("that cannot be used is an error with the key, the file and what to do", async () => {
    const home = configured("memory:\n  memory_char_limit: -1\n");
    const memory = openHome({ home });
    for (const asked of [
      memory.config(),
      memory.memoryConfig(),
      memory.administrator.curated(),
      memory.administrator.skills(),
    ])
      await expect(asked).rejects.toMatchObject({
        name: "HermesError",
        code: "config",
        message: expect.stringMatching(/^config\.yaml: memory\.memory_char_limit must be .*, but is -1\.$/),
        hint: `The file is ${join(home, "config.yaml")}; 'hermes config check' lists everything that is wrong with it.`,
        problem: { kind: "invalid", issues: [{ key: "memory.memory_char_limit" }] },
      });
    expect(existsSync(join(home, "memories"))).toBe(false);
  });

  it("is read once, at every question, or not at all", async () => {
    const home = configured("memory:\n  memory_char_limit: 100\n");
    const once = openHome({ home });
    const live = openHome({ home, config: "live" });
    const given = openHome({ home, config: await openHome({ home }).config() });
    const limits = async (memory: Home): Promise<number[]> => [
      (await memory.config()).memory.memoryCharLimit,
      (await memory.memoryConfig()).memoryCharLimit,
      (await curatedOf(memory)).usage("memory").limit,
    ];
    for (const memory of [once, live, given]) expect(await limits(memory)).toEqual([100, 100, 100]);
    writeFileSync(join(home, "config.yaml"), "memory:\n  memory_char_limit: 200\n");
    expect(await limits(once)).toEqual([100, 100, 100]);
    expect(await limits(live)).toEqual([200, 200, 200]);
    writeFileSync(join(home, "config.yaml"), "memory: [");
    expect(await limits(given)).toEqual([100, 100, 100]);
    await expect(live.memoryConfig()).rejects.toBeInstanceOf(ConfigFailure);
  });
});

describe("two users and the owner of one home", () => {
  const ANN = { platform: "telegram", id: "7" } as const;

  it("each have files and staged writes of their own", async () => {
    const memory = openHome({ home: tempDirectory() });
    const persons = [
      memory.administrator,
      memory.user(ANN),
      memory.user({ platform: "telegram", id: "8" }),
      memory.user({ platform: "discord", id: "7" }),
      memory.user({ platform: "telegram", id: "../../7" }),
    ];
    for (const [index, person] of persons.entries()) {
      const store = await person.curated();
      expect(store?.dir).toBe(person.directory);
      await store?.apply("user", { action: "add", content: `Is number ${index}` });
    }
    for (const [index, person] of persons.entries())
      expect((await person.curated())?.entries("user")).toEqual([`Is number ${index}`]);
    const users = memory.administrator.userDirectories();
    expect(users).toHaveLength(4);
    for (const person of persons.slice(1))
      expect(users.map((name) => join(memory.home, "memories/users", name))).toContain(person.directory);
    for (const of of ["directory", "pendingDirectory"] as const)
      expect(new Set(persons.map((person) => person[of])).size).toBe(5);
  });

  it("each see their own sessions, the owner all of them", async () => {
    await using memory = openHome({ home: tempDirectory() });
    const ann = memory.user(ANN);
    const bo = memory.user({ platform: "telegram", id: "8" });
    for (const [person, id] of [
      [memory.administrator, "own"],
      [ann, "anns"],
      [bo, "bos"],
    ] as const) {
      const store = await person.sessions({ mode: "write", create: true });
      await store.createSession(id, { source: "telegram" });
      await store.appendMessage(id, { role: "user", content: `the heron of ${id}` });
    }
    const seenBy = async (person: typeof ann): Promise<(string | null)[][]> => {
      const store = await person.sessions({ mode: "read", create: true });
      const listed = await store.listSessionsRich();
      const found = await store.searchMessages("heron");
      const read = await Promise.all(
        ["own", "anns", "bos"].map(async (id) => (await store.getSession(id))?.id ?? null),
      );
      return [
        listed.map(({ id }) => id).sort(),
        found.map(({ session_id }) => session_id).sort(),
        read,
        await person.withSessions(async (lasting) =>
          ((await lasting?.listSessionsRich()) ?? []).map(({ id }) => id).sort(),
        ),
      ];
    };
    const all = ["anns", "bos", "own"];
    expect(await seenBy(memory.administrator)).toEqual([all, all, ["own", "anns", "bos"], all]);
    expect(await seenBy(ann)).toEqual([["anns"], ["anns"], [null, "anns", null], ["anns"]]);
    expect(await seenBy(bo)).toEqual([["bos"], ["bos"], [null, null, "bos"], ["bos"]]);
    const hers = await ann.sessions({ mode: "write", create: true });
    expect(await hers.setSessionTitle("bos", "taken over")).toBe(false);
    const whole = await memory.administrator.sessions({ mode: "read" });
    expect(await whole?.getSession("anns")).toMatchObject({ user_id: "7", source: "telegram" });
    expect(await whole?.getSession("own")).toMatchObject({ user_id: null });
  });

  it("is one user by platform and id: numbers are ids, and the same user is the same object", () => {
    const memory = openHome({ home: tempDirectory() });
    expect(memory.user({ platform: "telegram", id: 7 })).toBe(memory.user(ANN));
    expect(memory.user({ platform: "telegram", id: 7n }).user).toEqual({ platform: "telegram", userId: "7" });
    expect(memory.user({ platform: "tele", id: "gram7" })).not.toBe(
      memory.user({ platform: "telegram", id: "7" }),
    );
    expect(memory.user(ANN).scope).toEqual({ userId: "7", userPlatform: "telegram" });
    expect(memory.administrator.scope).toEqual({});
  });

  it.each([
    ["no id", { platform: "telegram", id: undefined }],
    ["an empty id", { platform: "telegram", id: "" }],
    ["null", { platform: "telegram", id: null }],
    ["a fraction", { platform: "telegram", id: 1.5 }],
    ["an object", { platform: "telegram", id: { id: "7" } }],
    ["no platform", { id: "7" }],
    ["an empty platform", { platform: "", id: "7" }],
  ])("is nobody with %s", (_name, key) => {
    const memory = openHome({ home: tempDirectory() });
    expect(() => memory.user(key as unknown as typeof ANN)).toThrow(
      expect.objectContaining({
        code: "bad-user-id",
        message: expect.stringMatching(/^The user's (id|platform) was passed as .*, which names no user\.$/),
      }),
    );
  });
});

it.each(["\ud800", "a\udc00", "n\0ul"])("%j is no user's platform or id, and leaves no row", async (text) => {
  await using memory = openHome({ home: tempDirectory() });
  const refusal = expect.objectContaining({ code: "bad-user-id" });
  expect(() => memory.user({ platform: "telegram", id: text })).toThrow(refusal);
  expect(() => memory.user({ platform: text, id: "7" })).toThrow(refusal);
  const store = await memory.administrator.sessions({ mode: "write", create: true });
  expect(() => store.forUser({ platform: "telegram", userId: text })).toThrow(refusal);
  expect(() => store.forUser({ platform: text, userId: "7" })).toThrow(refusal);
  for (const user of [{ userId: text }, { userId: "7", userPlatform: text }]) {
    await expect(store.createSession("new", { source: "telegram", ...user })).rejects.toThrow(refusal);
  }
  expect(await store.sessionCount({ includeArchived: true })).toBe(0);
});

it("a home of 0.1.0 opens, is written, and loses nothing", async () => {
  const home = fixtureHome();
  const before = filesOf(home);
  await using memory = openHome({ home });
  const own = await curatedOf(memory);
  expect(own.warnings).toEqual([]);
  expect(own.entries("memory")).toHaveLength(11);
  const bo = memory.user({ platform: "telegram", id: "bo" });
  expect((await bo.curated())?.entries("user")).toEqual(["Bo repairs sluice gates."]);
  expect(memory.administrator.userDirectories()).toHaveLength(1);
  const store = await memory.administrator.sessions({ mode: "write", create: true });
  expect(await store.sessionCount()).toBe(24);
  const ofBo = await bo.sessions({ mode: "read", create: true });
  const bos = await ofBo.listSessionsRich();
  expect(bos).toMatchObject([{ source: "telegram", user_id: "bo" }]);
  expect((await (await memory.administrator.skills()).contents()).skills.length).toBeGreaterThan(0);
  done(await own.apply("user", { action: "add", content: "Keeps a logbook" }));
  await store.createSession("new", { source: "cli" });
  await memory.close();
  const after = filesOf(home);
  for (const [path, text] of before)
    if (!/state\.db|\.lock$|logs\/|skills_prompt_snapshot/.test(path))
      expect(after.get(path)?.startsWith(path === "memories/USER.md" ? text.trimEnd() : text), path).toBe(
        true,
      );
});
