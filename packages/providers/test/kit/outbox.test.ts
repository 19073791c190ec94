import { execFileSync } from "node:child_process";
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { recordingLogger } from "../../../core/test/fakes/providers.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { listWaiting, readOutbox, unreadableOutboxes } from "../../src/kit/outbox/commands.ts";
import {
  BLOCKED,
  DELIVERED,
  drain,
  FAST,
  hangingServer,
  inFile,
  LATER,
  REFUSED,
  server,
  testLane,
  textsOf,
  turn,
} from "../fakes/outbox.ts";

const one = () => 1;
const ten = () => 10;

async function addAll(lane: ReturnType<typeof testLane>, texts: readonly string[]): Promise<void> {
  for (const text of texts) expect((await lane.add(turn(text))).kind).toBe("queued");
}

/** Read by another program: closing a descriptor of the database in this process would drop SQLite's locks. */
function bytesOnDisk(home: string): string {
  return execFileSync("cat", readdirSync(home), { cwd: home, encoding: "latin1" });
}

describe("a lane", () => {
  it("touches no file before the first write, which makes one that only the owner can read", async () => {
    const home = join(tempDirectory(), "new");
    const lane = testLane(home);
    lane.start(server().deliver, one);
    lane.release();
    expect([lane.state(), lane.items(), lane.mirrors.find("user", "x")]).toEqual([
      { waiting: 0, held: 0, dead: 0, refused: 0 },
      [],
      [],
    ]);
    expect(await lane.forget("x", false)).toBe(0);
    expect(existsSync(home)).toBe(false);
    await addAll(lane, ["a"]);
    expect(statSync(join(home, "memory_outbox.db")).mode & 0o777).toBe(0o600);
    expect(statSync(join(home, "memory_outbox.db-wal")).mode & 0o777).toBe(0o600);
  });

  it("puts consecutive items of one kind and session into one batch, up to its limit", async () => {
    const lane = testLane(tempDirectory());
    const { deliver, texts } = server();
    await addAll(lane, ["a", "b", "c", "d"]);
    await lane.add(turn("other session", { sessionId: "s2" }));
    await lane.add(turn("e"));
    await lane.add(turn("other kind", { kind: "commit" }));
    await lane.add(turn("f"));
    lane.start(deliver, () => 3);
    expect(await lane.flush(5_000)).toBe(0);
    expect(texts()).toEqual([["a", "b", "c"], ["d"], ["other session"], ["e"], ["other kind"], ["f"]]);
  });

  it("does not count an attempt that surely did not reach the server", async () => {
    const home = tempDirectory();
    const first = testLane(home);
    await addAll(first, ["a"]);
    const before = server({ ...LATER, isUnsent: true } as typeof LATER);
    first.start(before.deliver, ten);
    await first.flush(5_000);
    first.close();
    const second = testLane(home);
    const after = server(LATER);
    second.start(after.deliver, ten);
    await second.flush(5_000);
    await second.flush(5_000);
    expect(before.batches[0]?.attempt).toBe(1);
    expect(after.batches.map(({ attempt }) => attempt).slice(0, 2)).toEqual([1, 2]);
  });

  it("keeps lanes of providers and users apart", async () => {
    const home = tempDirectory();
    const [own, guest, other] = [
      testLane(home),
      testLane(home, { user: "telegram:7" }),
      testLane(home, { provider: "honcho" }),
    ];
    await addAll(own, ["own"]);
    await addAll(guest, ["guest"]);
    await addAll(other, ["other"]);
    own.start(server(BLOCKED).deliver, one);
    const { deliver, texts } = server();
    guest.start(deliver, one);
    expect(await own.flush(5_000)).toBe(1);
    expect(await guest.flush(5_000)).toBe(0);
    expect(texts()).toEqual([["guest"]]);
    expect([await guest.eraseAll(false), await other.eraseAll(true)]).toEqual([0, 1]);
    expect(
      readOutbox(home).map(({ provider, user, state }) => [provider, user, state.waiting, state.blocked]),
    ).toEqual([
      ["honcho", "", 1, undefined],
      ["mem0", "", 1, "the key was revoked"],
      ["mem0", "telegram:7", 0, undefined],
    ]);
  });

  it("works the same in memory, and leaves no file", async () => {
    const home = tempDirectory();
    const lane = testLane(home, { isDurable: false, pauses: FAST });
    const { deliver, texts } = server(LATER, REFUSED);
    await addAll(lane, ["a", "b"]);
    lane.start(deliver, ten);
    await drain(lane).catch(() => {});
    expect(texts().slice(0, 3)).toEqual([["a", "b"], ["a", "b"], ["a"]]);
    expect(lane.state()).toMatchObject({ waiting: 0, dead: 2 });
    expect(readdirSync(home)).toEqual([]);
  });

  it("refuses writes after close and stays silent", async () => {
    const lane = testLane(tempDirectory());
    await addAll(lane, ["a"]);
    lane.close();
    lane.close();
    expect(await lane.add(turn("b"))).toMatchObject({ kind: "failed" });
    expect(await lane.flush(1_000)).toBe(0);
    expect([lane.items(), await lane.forget("a", false), await lane.eraseAll(false)]).toEqual([[], 0, 0]);
  });

  it("says why a body cannot be queued", async () => {
    const lane = testLane(tempDirectory());
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    for (const body of [undefined, 1n, cyclic, () => 1])
      expect(await lane.add(turn("", { body }))).toMatchObject({ kind: "failed" });
  });
});

describe("outcomes", () => {
  it("a server that is down pauses the lane: flush tries once more and does not wait", async () => {
    const lane = testLane(tempDirectory());
    const { deliver, batches } = server(LATER);
    await addAll(lane, ["a", "b"]);
    lane.start(deliver, one);
    expect(await lane.flush(60_000)).toBe(2);
    expect(batches).toHaveLength(1);
    expect(await lane.flush(60_000)).toBe(2);
    expect(batches).toHaveLength(2);
    expect(lane.state().lastError?.message).toBe("server is down");
  });

  it("a delivery that throws is tried again later, and secrets of its error are not kept", async () => {
    const lane = testLane(tempDirectory(), { pauses: { ...FAST, firstMs: 200, longestMs: 200 } });
    const { deliver, batches } = server(
      new Error("bad: Authorization: Bearer sk-abcdefghijklmnopqrstuvwxyz123456"),
      DELIVERED,
    );
    await addAll(lane, ["a"]);
    lane.start(deliver, one);
    await lane.flush(5_000);
    expect(lane.state().lastError?.message).toMatch(/^bad: /);
    expect(lane.state().lastError?.message).not.toContain("abcdefghijklmnop");
    await drain(lane);
    expect(batches).toHaveLength(2);
    expect(lane.state().lastError).toBeUndefined();
  });

  it("pauses grow up to their longest, with at most a fifth more", async () => {
    const home = tempDirectory();
    const lane = testLane(home, { pauses: { firstMs: 10_000, longestMs: 35_000, blockedMs: 1 } });
    const { deliver } = server(LATER);
    await addAll(lane, ["a"]);
    lane.start(deliver, one);
    const pauses: number[] = [];
    for (let round = 0; round < 4; round += 1) {
      await lane.flush(5_000);
      pauses.push(Number(inFile(home, "SELECT pause_until FROM lanes")[0]?.pause_until) - Date.now());
    }
    for (const [at, least] of [10_000, 20_000, 35_000, 35_000].entries()) {
      expect(pauses[at]).toBeGreaterThan(least - 2_000);
      expect(pauses[at]).toBeLessThanOrEqual(least * 1.2 + 1);
    }
  });

  it("waits as long as Retry-After says, at most 10 minutes, also in flush and after a restart", async () => {
    const home = tempDirectory();
    const lane = testLane(home, { pauses: FAST });
    const asked = server({ ...LATER, retryAfterMs: 3_600_000 } as typeof LATER);
    await addAll(lane, ["a"]);
    lane.start(asked.deliver, one);
    expect(await lane.flush(5_000)).toBe(1);
    expect(await lane.flush(5_000)).toBe(1);
    lane.close();
    const next = testLane(home, { pauses: FAST });
    next.start(asked.deliver, one);
    expect(await next.flush(5_000)).toBe(1);
    expect(asked.batches).toHaveLength(1);
    const until = Number(inFile(home, "SELECT pause_until FROM lanes")[0]?.pause_until);
    expect(until - Date.now()).toBeGreaterThan(9 * 60_000);
    expect(until - Date.now()).toBeLessThanOrEqual(10 * 60_000);
  });

  it("a blocked lane says why, is not hurried by flush, and is tried again at the next start", async () => {
    const home = tempDirectory();
    const lane = testLane(home);
    const blocked = server(BLOCKED);
    await addAll(lane, ["a"]);
    lane.start(blocked.deliver, one);
    expect(await lane.flush(5_000)).toBe(1);
    expect(await lane.flush(5_000)).toBe(1);
    expect(blocked.batches).toHaveLength(1);
    expect(lane.state().blocked).toBe("the key was revoked");
    lane.close();
    const next = testLane(home);
    const { deliver, batches } = server();
    next.start(deliver, one);
    expect(await next.flush(5_000)).toBe(0);
    expect(batches[0]?.attempt).toBe(2);
    expect(next.state().blocked).toBeUndefined();
  });

  it("three refusals make a dead letter, and the lane goes on; flush waits for it, because the server answers", async () => {
    const lane = testLane(tempDirectory());
    const { deliver, texts } = server(REFUSED, REFUSED, REFUSED, DELIVERED);
    await addAll(lane, ["bad", "good"]);
    lane.start(deliver, one);
    expect(await lane.flush(5_000)).toBe(0);
    expect(texts()).toEqual([["bad"], ["bad"], ["bad"], ["good"]]);
    expect(lane.state()).toMatchObject({ waiting: 0, dead: 1 });
    expect(lane.state().lastError).toBeUndefined(); // the server has taken the next one
    expect(lane.refusalOf(1)).toBe("field text is too long");
    expect(lane.items()).toEqual([]);
  });

  it("a refused batch is split, so that one bad item does not take the others with it", async () => {
    const lane = testLane(tempDirectory());
    const sent: string[][] = [];
    await addAll(lane, ["a", "bad", "c"]);
    lane.start(async (batch) => {
      sent.push(textsOf(batch));
      expect(batch.attempt).toBe(sent.filter((texts) => texts.join() === textsOf(batch).join()).length);
      return textsOf(batch).includes("bad") ? REFUSED : DELIVERED;
    }, ten);
    expect(await lane.flush(5_000)).toBe(0);
    expect(sent).toEqual([["a", "bad", "c"], ["a"], ["bad"], ["bad"], ["bad"], ["c"]]);
    expect(lane.state()).toMatchObject({ waiting: 0, dead: 1 });
  });

  it("where says whether an item waits, is dead, or is gone", async () => {
    const home = tempDirectory();
    const lane = testLane(home);
    const ids = [1, 2, 3];
    for (const item of [turn("bad"), turn("good"), turn("held", { isHeld: true })]) await lane.add(item);
    expect(ids.map((id) => lane.where(id))).toEqual(["waiting", "waiting", "waiting"]);
    lane.start(async (batch) => (textsOf(batch)[0] === "bad" ? REFUSED : DELIVERED), one);
    expect(await lane.flush(5_000)).toBe(0);
    expect(ids.map((id) => lane.where(id))).toEqual(["dead", "gone", "waiting"]);
    expect(testLane(home, { user: "other" }).where(ids[0] ?? 0)).toBe("gone");
  });

  it("close aborts the running delivery, which is no refusal and is repeated by the next lane", async () => {
    const home = tempDirectory();
    const lane = testLane(home);
    const { deliver, begun } = hangingServer();
    await addAll(lane, ["a"]);
    lane.start(deliver, one);
    const { id } = await begun;
    lane.close();
    const next = testLane(home, { pauses: FAST });
    const { deliver: again, batches } = server();
    next.start(again, one);
    expect(await next.flush(10_000)).toBe(0);
    expect(batches).toMatchObject([{ id, attempt: 2 }]);
    expect(next.state().lastError).toBeUndefined();
  });

  it("a delivery that succeeds although it was aborted is not repeated", async () => {
    const home = tempDirectory();
    const lane = testLane(home);
    const answered = Promise.withResolvers<typeof DELIVERED>();
    const begun = Promise.withResolvers<void>();
    await addAll(lane, ["a"]);
    lane.start(() => {
      begun.resolve();
      return answered.promise;
    }, one);
    await begun.promise;
    lane.close();
    const next = testLane(home, { pauses: FAST });
    const { deliver, batches } = server();
    next.start(deliver, one);
    expect(await next.flush(100)).toBe(1); // the first lane may still be sending
    answered.resolve(DELIVERED);
    expect(await next.flush(10_000)).toBe(0);
    expect(batches).toEqual([]);
  });
});

describe("limits", () => {
  it("refuses the newest write of a full lane; the count survives a restart", async () => {
    const home = tempDirectory();
    const lane = testLane(home, { maxItems: 2 });
    await lane.add(turn("a"));
    await lane.add(turn("b", { isHeld: true }));
    expect(await lane.add(turn("c"))).toMatchObject({
      kind: "full",
      reason: expect.stringContaining("2 writes"),
    });
    lane.close();
    const next = testLane(home, { maxItems: 2 });
    expect((await next.add(turn("d"))).kind).toBe("full");
    expect(next.state()).toMatchObject({ waiting: 1, held: 1, refused: 2 });
  });

  it("counts bytes as the server would get them", async () => {
    const lane = testLane(tempDirectory(), { maxBytes: 60 });
    expect((await lane.add(turn("ä".repeat(20)))).kind).toBe("queued"); // 51 bytes of JSON
    expect(await lane.add(turn("b"))).toMatchObject({
      kind: "full",
      reason: expect.stringContaining("60 bytes"),
    });
    lane.start(server().deliver, one);
    await lane.flush(5_000);
    expect((await lane.add(turn("b"))).kind).toBe("queued");
  });

  it("dead letters take no room, and only the newest 1,000 are kept", async () => {
    const home = tempDirectory();
    const lane = testLane(home, { maxItems: 1_003 });
    for (let index = 0; index < 1_003; index += 1) await lane.add(turn(`t${index}`));
    inFile(home, "UPDATE items SET state = 'dead', error = 'old' WHERE id <= 1002");
    expect((await lane.add(turn("room"))).kind).toBe("queued");
    lane.start(server(REFUSED, REFUSED, REFUSED, DELIVERED).deliver, one);
    expect(await lane.flush(10_000)).toBe(0);
    expect(lane.state()).toMatchObject({ waiting: 0, dead: 1_000, dropped: 3 });
    expect(inFile(home, "SELECT min(id) AS oldest FROM items")).toEqual([{ oldest: 4 }]);
  });
});

describe("held writes", () => {
  it("wait for release of their session while others pass", async () => {
    const lane = testLane(tempDirectory());
    const { deliver, texts } = server();
    await lane.add(turn("held", { isHeld: true }));
    await lane.add(turn("held too", { isHeld: true, sessionId: "s2" }));
    await lane.add(turn("free"));
    lane.start(deliver, one);
    expect(await lane.flush(5_000)).toBe(0);
    expect(texts()).toEqual([["free"]]);
    expect(lane.state()).toMatchObject({ waiting: 0, held: 2 });
    expect(lane.items().map(({ body }) => body)).toEqual([{ text: "held" }, { text: "held too" }]);
    lane.release("s2");
    expect(await lane.flush(5_000)).toBe(0);
    lane.release();
    expect(await lane.flush(5_000)).toBe(0);
    expect(texts()).toEqual([["free"], ["held too"], ["held"]]);
  });

  it("are let go when a lane starts after theirs was closed, but not those of an agent that runs", async () => {
    const home = tempDirectory();
    const [gone, running] = [testLane(home), testLane(home)];
    await gone.add(turn("gone", { isHeld: true }));
    await running.add(turn("running", { isHeld: true }));
    gone.close();
    const next = testLane(home);
    const { deliver, texts } = server();
    next.start(deliver, one);
    await expect.poll(texts).toEqual([["gone"]]);
    next.release(); // only its own
    expect(next.state().held).toBe(1);
    next.release("s1");
    expect(await next.flush(5_000)).toBe(0);
    expect(texts()).toEqual([["gone"], ["running"]]);
  });
});

describe("withdraw", () => {
  it("removes what was not sent yet and leaves the batch that is being sent", async () => {
    const lane = testLane(tempDirectory());
    const { deliver, begun, answer } = hangingServer();
    await addAll(lane, ["sent", "b", "c"]);
    await lane.add(turn("d", { isHeld: true }));
    lane.start(deliver, one);
    await begun;
    expect(lane.withdraw(({ body }) => ["sent", "b", "d"].includes((body as { text: string }).text))).toBe(2);
    expect(lane.items().map(({ body }) => body)).toEqual([{ text: "sent" }, { text: "c" }]);
    answer(DELIVERED);
    expect(await lane.flush(5_000)).toBe(0);
  });
});

describe("dedupe keys", () => {
  it("are known while the write waits, when it is dead, and after it was delivered, also after a restart", async () => {
    const home = tempDirectory();
    const lane = testLane(home);
    expect((await lane.add(turn("a", { dedupeKey: "k1" }))).kind).toBe("queued");
    expect((await lane.add(turn("bad", { dedupeKey: "k2" }))).kind).toBe("queued");
    expect(await lane.add(turn("again", { dedupeKey: "k1" }))).toEqual({ kind: "known" });
    await lane.add(turn("c", { dedupeKey: "k3" }));
    lane.start(async (batch) => (textsOf(batch).includes("bad") ? REFUSED : DELIVERED), one);
    expect(await lane.flush(5_000)).toBe(0);
    lane.close();
    const next = testLane(home);
    for (const dedupeKey of ["k1", "k2"])
      expect(await next.add(turn("again", { dedupeKey }))).toEqual({ kind: "known" });
    expect((await testLane(home, { user: "other" }).add(turn("a", { dedupeKey: "k1" }))).kind).toBe("queued");
    inFile(
      home,
      `UPDATE items SET created_at = '${new Date(Date.now() - 8 * 24 * 3_600_000).toISOString()}'`,
    );
    expect((await next.add(turn("a week later", { dedupeKey: "k1" }))).kind).toBe("queued");
    next.start(server().deliver, one);
    await next.flush(5_000);
    const sent = "SELECT dedupe_key AS key, body FROM items WHERE state = 'sent'";
    expect(inFile(home, sent)).toEqual([{ key: "k1", body: "" }]); // k3 is pruned
  });
});

describe("erasing", () => {
  it("forget removes the items that contain the text, and their bytes from all files", async () => {
    const home = tempDirectory();
    const lane = testLane(home);
    await lane.add(turn('She said "violet\nharbour" twice', { dedupeKey: "violet-key" }));
    await lane.add(turn("bad violet\nharbour"));
    await lane.add(turn("kept"));
    await lane.add(turn("kept and held", { isHeld: true }));
    lane.start(async (batch) => (textsOf(batch)[0]?.startsWith("bad") ? REFUSED : LATER), ten);
    inFile(home, "UPDATE items SET state = 'dead', error = 'violet' WHERE id = 2");
    await lane.flush(5_000);
    expect(bytesOnDisk(home)).toContain("violet");
    expect(await lane.forget("violet\nharbour", true)).toBe(2);
    expect(lane.state()).toMatchObject({ waiting: 2, dead: 1 });
    expect(await lane.forget("violet\nharbour", false)).toBe(2);
    expect(bytesOnDisk(home)).not.toContain("violet");
    expect(bytesOnDisk(home)).toContain("kept and held");
    expect(lane.state()).toMatchObject({ waiting: 1, held: 1, dead: 0 });
  });

  it("does not take an escape sequence for a letter", async () => {
    const lane = testLane(tempDirectory());
    await lane.add(turn("one\nfoo"));
    expect(await lane.forget("nfoo", false)).toBe(0);
    expect(await lane.forget("foo", false)).toBe(1);
  });

  it("forget says so when a delivery of the text does not end", async () => {
    const lane = testLane(tempDirectory());
    await lane.add(turn("secret"));
    const begun = Promise.withResolvers<void>();
    lane.start(() => {
      begun.resolve();
      return new Promise(() => {});
    }, one);
    await begun.promise;
    await expect(lane.forget("secret", false)).rejects.toMatchObject({ code: "outbox-sending" });
    expect(lane.state().waiting).toBe(0);
  });

  it("eraseAll removes items, mirrors and errors of the lane, and nothing of others", async () => {
    const home = tempDirectory();
    const lane = testLane(home);
    const other = testLane(home, { user: "u2" });
    await addAll(lane, ["violet one", "violet two"]);
    await lane.add(turn("violet three", { isHeld: true, dedupeKey: "violet" }));
    lane.mirrors.add({ target: "user", text: "violet entry", remoteId: "r1" });
    await addAll(other, ["other lane"]);
    lane.start(server({ kind: "blocked", reason: "no violet please" }).deliver, one);
    await lane.flush(5_000);
    expect(await lane.eraseAll(true)).toBe(3);
    expect(await lane.eraseAll(false)).toBe(3);
    expect(lane.state()).toEqual({ waiting: 0, held: 0, dead: 0, refused: 0 });
    expect(bytesOnDisk(home)).not.toContain("violet");
    expect(other.state().waiting).toBe(1);
  });
});

describe("mirrors", () => {
  it("are found by their whole text alone, and survive a restart", async () => {
    const home = tempDirectory();
    const lane = testLane(home);
    const [blue, bluer] = ["blue", "blue and green"].map((text, at) => ({
      target: "user",
      text,
      remoteId: `r${at}`,
    }));
    if (blue === undefined || bluer === undefined) throw new Error("unreachable");
    lane.mirrors.add(blue);
    lane.mirrors.add(bluer);
    lane.mirrors.add(bluer);
    lane.close();
    const { mirrors } = testLane(home);
    expect(mirrors.find("user", "blue")).toEqual([blue]);
    expect(mirrors.find("user", "lue")).toEqual([]);
    expect(mirrors.find("user", "and green")).toEqual([]);
    expect(mirrors.containing("lue")).toEqual([blue, bluer]);
    expect(mirrors.find("memory", "blue")).toEqual([]);
    mirrors.remove(bluer);
    expect(mirrors.containing("lue")).toEqual([blue]);
    expect(bytesOnDisk(home)).not.toContain("green");
  });
});

describe("a file of version 1", () => {
  const FIXTURE = resolve(import.meta.dirname, "../../../../test/fixtures/home-0.3.0");

  it("is read as it is, and the first lane brings it to version 2 with its batches, attempts and keys", async () => {
    const home = tempDirectory();
    for (const name of ["memory_outbox.db", "memory_outbox.db-wal"])
      cpSync(join(FIXTURE, name), join(home, name));
    inFile(
      home,
      "UPDATE items SET in_batch = 1 WHERE lane = 1 AND id IN (SELECT id FROM items WHERE lane = 1 ORDER BY id LIMIT 2)",
    );
    inFile(home, "UPDATE batches SET id = 'known-batch', attempts = 4, refusals = 1 WHERE lane = 1");
    inFile(home, `INSERT INTO delivered_keys (lane, dedupe_key, at) VALUES (1, 'key', ${Date.now()})`);
    const before = readOutbox(home);
    expect(before.reduce((sum, { state }) => sum + state.waiting + state.held, 0)).toBe(76);
    const waiting = listWaiting(home);
    const lane = testLane(home, { user: before[0]?.user ?? "" });
    expect((await lane.add(turn("again", { dedupeKey: "key" }))).kind).toBe("known");
    expect(inFile(home, "PRAGMA user_version")).toEqual([{ user_version: 2 }]);
    expect(readOutbox(home)).toEqual(before);
    expect(listWaiting(home)).toEqual(waiting);
    lane.release("");
    const { deliver, batches } = server();
    lane.start(deliver, ten);
    expect(await lane.flush(10_000)).toBe(0);
    expect(batches[0]).toMatchObject({ id: "known-batch", attempt: 5, items: { length: 2 } });
    const ids = batches.flatMap(({ items }) => items.map(({ id }) => id));
    expect(ids).toEqual(ids.toSorted((a, b) => a - b));
  });
});

describe("while another process writes", () => {
  it("writes wait for it, in order", async () => {
    const home = tempDirectory();
    const lane = testLane(home);
    await lane.add(turn("a"));
    const other = new DatabaseSync(join(home, "memory_outbox.db"));
    other.exec("BEGIN IMMEDIATE");
    const added = Promise.all(["b", "c"].map((text) => lane.add(turn(text))));
    await new Promise((resolve) => setTimeout(resolve, 250));
    expect(lane.state().waiting).toBe(1);
    other.close();
    expect(await lane.flush(0)).toBe(3);
    expect(await added).toMatchObject([{ kind: "queued" }, { kind: "queued" }]);
    expect(lane.items().map(({ body }) => body)).toEqual(["a", "b", "c"].map((text) => ({ text })));
  });

  it("a lane that is closed meanwhile has its write on disk all the same", async () => {
    const home = tempDirectory();
    const lane = testLane(home);
    await lane.add(turn("a"));
    const other = new DatabaseSync(join(home, "memory_outbox.db"));
    other.exec("BEGIN IMMEDIATE");
    const added = lane.add(turn("b"));
    lane.close();
    other.close();
    expect((await added).kind).toBe("queued");
    expect(readOutbox(home)[0]?.state.waiting).toBe(2);
  });
});

describe("a file that cannot be used", () => {
  const file = (home: string) => join(home, "memory_outbox.db");

  it("that cannot be made refuses writes with the reason", async () => {
    const home = join(tempDirectory(), "file");
    writeFileSync(home, "");
    expect(await testLane(join(home, "below")).add(turn("a"))).toMatchObject({
      kind: "failed",
      reason: expect.stringContaining("ENOTDIR"),
    });
  });

  it("is moved aside when it is damaged, and the write goes into a new one", async () => {
    const home = tempDirectory();
    writeFileSync(file(home), "this is not a database, and long enough to be none ".repeat(40));
    const log = recordingLogger();
    const lane = testLane(home, { log });
    expect((await lane.add(turn("a"))).kind).toBe("queued");
    const aside = readdirSync(home).filter((name) => name.startsWith("memory_outbox.db.damaged-"));
    expect(aside).toHaveLength(1);
    expect(readFileSync(join(home, aside[0] ?? ""), "utf8")).toContain("this is not a database");
    expect(JSON.stringify(log.lines)).toContain("is damaged");
    expect(unreadableOutboxes(home).map(({ path }) => path)).toEqual([join(home, aside[0] ?? "")]);
    expect(lane.state().waiting).toBe(1);
  });

  it("is left as it is when a newer version wrote it", async () => {
    const home = tempDirectory();
    {
      using db = new DatabaseSync(file(home));
      db.exec("PRAGMA journal_mode = WAL; CREATE TABLE future (x); PRAGMA user_version = 3");
    }
    const before = readFileSync(file(home));
    const log = recordingLogger();
    const lane = testLane(home, { log });
    const { deliver, batches } = server();
    lane.start(deliver, one);
    expect(await lane.add(turn("a"))).toMatchObject({
      kind: "failed",
      reason: expect.stringContaining("version 3"),
    });
    expect(await lane.flush(100)).toBe(0);
    lane.release();
    expect(lane.items()).toEqual([]);
    expect(lane.state().lastError?.message).toContain("Update hermes-memory");
    await expect(lane.forget("a", false)).rejects.toThrow(/version 3/);
    expect(() => readOutbox(home)).toThrow(/version 3/);
    expect(batches).toEqual([]);
    expect(readFileSync(file(home)).equals(before)).toBe(true);
    expect(readdirSync(home)).toEqual(["memory_outbox.db"]);
  });

  it("is begun anew when someone deleted it or moved it away", async () => {
    const home = tempDirectory();
    const lane = testLane(home);
    await addAll(lane, ["a"]);
    const other = testLane(home, { isDurable: true, user: "u" });
    inFile(home, "PRAGMA wal_checkpoint(TRUNCATE)");
    for (const name of ["memory_outbox.db", "memory_outbox.db-wal", "memory_outbox.db-shm"])
      if (existsSync(join(home, name))) rmSync(join(home, name));
    await addAll(other, ["b"]);
    expect(readOutbox(home)).toMatchObject([{ user: "u", state: { waiting: 1 } }]);
    expect(lane.state().waiting).toBe(0);
  });
});
