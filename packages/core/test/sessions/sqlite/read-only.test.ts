// Read-only stores: everything can be read, nothing can be changed, and the file keeps every byte.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type HomeStore, openSessionStore } from "../../../src/sessions/index.ts";
import { ALL_READS, ALL_WRITES, type Call, outcomeOf } from "../../fakes/every-call.ts";
import { startMounted, whyNoMounts } from "../../fakes/mounts.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";
import { messageAt } from "../../fakes/varied-messages.ts";
import { copyOf, oldDatabases } from "../../golden/session-databases.ts";

const MESSAGES = 25;
const AIM = { session: "a", message: 1 };

async function ownFile(): Promise<string> {
  const path = join(tempDirectory(), "state.db");
  await using store = await openSessionStore({ path });
  await store.createSession("a", { source: "cli" });
  const messages = Array.from({ length: MESSAGES }, (_, index) => messageAt("a", index));
  await store.appendMany("a", messages);
  await store.setSessionTitle("a", "harbour");
  await store.createSession("old", { source: "cli", startedAt: 1 });
  await store.endSession("old", "cli_close"); // a session to prune
  return path;
}

describe("a store opened read-only", () => {
  it.for(Object.entries<Call<HomeStore>>(ALL_WRITES))("refuses %s", async ([name, call]) => {
    const path = await ownFile();
    const before = readFileSync(path);
    {
      await using store = await openSessionStore({ path, readOnly: true });
      const outcome = await outcomeOf(call(store, AIM));
      // These two never reject.
      if (name === "tryAcquireCompressionLock") expect(outcome).toEqual({ value: false });
      else if (name === "maybeAutoPruneAndVacuum")
        expect(outcome).toMatchObject({ value: { pruned: 0, vacuumed: false, error: expect.any(String) } });
      else expect(outcome).toBe("session-db-read-only");
    }
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it("answers every question as a writable one does", async () => {
    const path = await ownFile();
    await using writable = await openSessionStore({ path });
    await using store = await openSessionStore({ path, readOnly: true });
    for (const [name, call] of Object.entries<Call<HomeStore>>(ALL_READS))
      expect(await outcomeOf(call(store, AIM)), name).toEqual(await outcomeOf(call(writable, AIM)));
  });

  it("of a file that does not exist is refused, and none is made", async () => {
    const path = join(tempDirectory(), "nowhere", "state.db");
    expect(await outcomeOf(openSessionStore({ path, readOnly: true }))).toBe("session-db-unavailable");
    expect(existsSync(join(path, ".."))).toBe(false);
  });
});

const old = oldDatabases();

it.skipIf(old.length === 0).for(old)("%s is listed and read without a byte being written", async (name) => {
  const path = copyOf(`${name}.db`);
  const before = readFileSync(path);
  const sessions: unknown[] = [];
  {
    await using store = await openSessionStore({ path, readOnly: true });
    for (const { id } of await store.listSessionsRich({ limit: 1000, includeChildren: true })) {
      const messages = await store.getMessages(id);
      sessions.push(id, messages.length);
      for (const [call, make] of Object.entries<Call<HomeStore>>(ALL_READS))
        expect(
          await outcomeOf(make(store, { session: id, message: messages[0]?.id ?? 0 })),
          call,
        ).toHaveProperty("value");
    }
    expect(await outcomeOf(store.createSession("x"))).toBe("session-db-read-only");
  }
  expect(readFileSync(path).equals(before)).toBe(true);
  await using upgraded = await openSessionStore({ path });
  const after: unknown[] = [];
  for (const { id } of await upgraded.listSessionsRich({ limit: 1000, includeChildren: true }))
    after.push(id, (await upgraded.getMessages(id)).length);
  expect(after).toEqual(sessions);
  expect(sessions.length).toBeGreaterThan(0);
});

describe.skipIf(whyNoMounts !== undefined)("a file system that is read-only", () => {
  const script = join(import.meta.dirname, "../../fakes/read-only-process.ts");
  const setUp = 'mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"';

  it.for(["read-only", "writable"])("serves readers and refuses writers: opened %s", async (mode) => {
    const path = await ownFile();
    const folder = join(path, "..");
    for (const suffix of ["-wal", "-shm"]) expect(existsSync(path + suffix)).toBe(false);
    const names = readdirSync(folder);
    const child = startMounted(setUp, [folder], [process.execPath, script, path, mode]);
    expect(JSON.parse((await child.rest()).at(-1) ?? "")).toEqual({
      readOnly: true,
      warnings: mode === "read-only" ? 0 : 1,
      newest: "a",
      messages: MESSAGES,
      health: true,
      write: "session-db-read-only",
      // Whoever did not ask for it cannot leave it out.
      hint:
        mode === "read-only"
          ? expect.stringContaining("`readOnly`")
          : expect.stringMatching(/mounted for writing/),
    });
    expect(readdirSync(folder)).toEqual(names);
  });

  it("shows what is only in the log, when another process has the database open", async () => {
    const path = await ownFile();
    await using writer = await openSessionStore({ path });
    await writer.appendMessage("a", { role: "user", content: "in the log" });
    const child = startMounted(setUp, [join(path, "..")], [process.execPath, script, path, "read-only"]);
    expect(JSON.parse((await child.rest()).at(-1) ?? "")).toMatchObject({
      messages: MESSAGES + 1,
      newest: "a",
    });
  });
});
if (whyNoMounts !== undefined) console.warn(`Read-only file systems are not tested: ${whyNoMounts}.`);
