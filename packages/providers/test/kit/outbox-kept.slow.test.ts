// Writes while the file of the outbox cannot be written: another process holds its lock, or it cannot be made at all.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { forgetHolder, newHolder } from "../../../core/src/lib/index.ts";
import { recordingLogger } from "../../../core/test/fakes/providers.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import type { OutboxLane } from "../../src/kit/outbox/outbox.ts";
import { FAST, inFile, LATER, server, testLane, turn } from "../fakes/outbox.ts";

/** Another process that writes until it is killed. */
async function lock(home: string): Promise<ChildProcess> {
  const program = `const { DatabaseSync } = require("node:sqlite");
    const db = new DatabaseSync(process.argv[1]);
    db.exec("BEGIN IMMEDIATE");
    console.log("locked");
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["-e", program, join(home, "memory_outbox.db")], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child.stdout, "data");
  return child;
}

async function unlock(child: ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  await once(child, "exit");
}

function idOf(added: ReturnType<OutboxLane["add"]>): number {
  if (added.kind !== "queued") throw new Error(`not queued: ${added.kind}`);
  return added.id;
}

async function until(isTrue: () => boolean): Promise<void> {
  for (let left = 500; !isTrue(); left -= 1) {
    if (left === 0) throw new Error("It did not become true within 5 s.");
    await sleep(10);
  }
}

describe("while another process holds the lock", () => {
  it("a write neither blocks for long nor is lost, and the order stays", async () => {
    const home = tempDirectory();
    const lane = testLane(home, { pauses: FAST });
    idOf(lane.add(turn("a")));
    const other = await lock(home);
    const startedAt = performance.now();
    const ids = ["b", "c", "d"].map((text) => idOf(lane.add(turn(text))));
    expect(performance.now() - startedAt).toBeLessThan(1_500); // it was 2 s for each
    expect(lane.state().waiting).toBe(4);
    expect(lane.items().map(({ body }) => body)).toEqual(["a", "b", "c", "d"].map((text) => ({ text })));
    expect(ids.map((id) => lane.where(id))).toEqual(["waiting", "waiting", "waiting"]);
    await unlock(other);
    await until(() => inFile(home, "SELECT id FROM items").length === 4);
    expect(ids.map((id) => lane.where(id))).toEqual(["waiting", "waiting", "waiting"]);
    const { deliver, texts } = server();
    lane.start(deliver, () => 1);
    await until(() => lane.state().waiting === 0);
    expect(texts()).toEqual([["a"], ["b"], ["c"], ["d"]]);
    expect(ids.map((id) => lane.where(id))).toEqual(["gone", "gone", "gone"]);
  });

  it("what is kept can be forgotten and withdrawn, and keys are known", async () => {
    const home = tempDirectory();
    const lane = testLane(home);
    lane.add(turn("in the file", { dedupeKey: "one" }));
    const other = await lock(home);
    idOf(lane.add(turn("secret tea", { dedupeKey: "two" })));
    idOf(lane.add(turn("undone")));
    expect(lane.add(turn("again", { dedupeKey: "one" })).kind).toBe("known");
    expect(lane.add(turn("again", { dedupeKey: "two" })).kind).toBe("known");
    expect(lane.withdraw(({ body }) => (body as { text: string }).text === "undone")).toBe(1);
    expect(lane.forget("tea", true)).toBe(1);
    expect(() => lane.forget("tea", false)).toThrow(/locked/); // the file cannot be searched and changed
    expect(lane.items().map(({ body }) => body)).toEqual([{ text: "in the file" }]);
    await unlock(other);
    expect(lane.forget("tea", false)).toBe(0);
  });

  it("close writes what is kept if it can, and says in the log what is lost if it cannot", async () => {
    const home = tempDirectory();
    const log = recordingLogger();
    const [first, second] = [testLane(home), testLane(home, { log })];
    first.add(turn("a"));
    const other = await lock(home);
    first.add(turn("b"));
    second.add(turn("lost"));
    second.close();
    expect(JSON.stringify(log.lines)).toContain("1 write for mem0 could neither be written");
    await unlock(other);
    first.close();
    expect(inFile(home, "SELECT body FROM items ORDER BY id")).toEqual([
      { body: '{"text":"a"}' },
      { body: '{"text":"b"}' },
    ]);
  });
});

it("forgetting what another process is sending takes its lease away, and waits until it has noticed", async () => {
  const home = tempDirectory();
  const lane = testLane(home);
  idOf(lane.add(turn("secret tea")));
  const other = newHolder();
  onTestFinished(() => forgetHolder(other));
  inFile(home, "UPDATE items SET in_batch = 1");
  inFile(home, "INSERT INTO batches (lane, id, attempts) VALUES (1, 'b', 1)");
  inFile(home, `UPDATE lanes SET lease_owner = '${other}', lease_until = ${Date.now() + 60_000}`);
  expect(lane.forget("tea", false)).toBe(1);
  expect(inFile(home, "SELECT lease_owner FROM lanes")).toEqual([{ lease_owner: null }]);
  const startedAt = performance.now();
  await lane.erased();
  expect(performance.now() - startedAt).toBeGreaterThan(5_000); // an owner renews its lease every 5 s
}, 20_000);

describe("while the file cannot be made", () => {
  it("writes are sent from memory, with one warning", async () => {
    const home = join(tempDirectory(), "file");
    writeFileSync(home, "");
    const log = recordingLogger();
    const lane = testLane(join(home, "below"), { log, pauses: FAST });
    const { deliver, texts } = server();
    lane.start(deliver, () => 1);
    const ids = ["a", "b"].map((text) => idOf(lane.add(turn(text))));
    expect(await lane.flush(5_000)).toBe(0);
    expect(ids.map((id) => lane.where(id))).toEqual(["gone", "gone"]);
    expect(log.lines.filter(({ level }) => level === "warn")).toHaveLength(1);
    expect(texts()).toEqual([["a"], ["b"]]);
  });

  it("they go into the file once it can be made, with the attempts that were made", async () => {
    const home = tempDirectory();
    const path = join(home, "memory_outbox.db");
    mkdirSync(path);
    const lane = testLane(home);
    const { deliver, batches } = server(LATER);
    lane.start(deliver, () => 1);
    const id = idOf(lane.add(turn("a")));
    await until(() => batches.length === 1 && lane.state().lastError !== undefined);
    rmdirSync(path);
    await until(() => existsSync(path) && inFile(home, "SELECT 1 FROM sqlite_master").length > 0);
    await until(() => inFile(home, "SELECT id FROM items").length === 1);
    expect(lane.where(id)).toBe("waiting");
    expect(inFile(home, "SELECT body FROM items")).toEqual([{ body: '{"text":"a"}' }]);
    await until(() => batches.length === 2);
    expect(batches.map(({ attempt }) => attempt)).toEqual([1, 2]);
  });

  it("keeps at most 1,000", () => {
    const home = join(tempDirectory(), "file");
    writeFileSync(home, "");
    const lane = testLane(join(home, "below"));
    for (let index = 0; index < 1_000; index += 1) idOf(lane.add(turn(`${index}`)));
    expect(lane.add(turn("one more")).kind).toBe("full");
  });
});
