// Files that are not databases, are locked by another program, have no space left, or disappear: there is a clear error or the
// work continues, the event loop stays free, and no message is lost.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { type HomeStore, openSessionStore } from "../../../src/sessions/index.ts";
import { startScript } from "../../fakes/child.ts";
import { outcomeOf } from "../../fakes/every-call.ts";
import { startMounted, whyNoMounts } from "../../fakes/mounts.ts";
import { openIndex } from "../../fakes/session-index.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";
import { messageAt } from "../../fakes/varied-messages.ts";

async function ownFile(messages = 1): Promise<string> {
  const path = join(tempDirectory(), "state.db");
  await using store = await openSessionStore({ path });
  await store.createSession("a", { source: "cli" });
  await store.appendMany(
    "a",
    Array.from({ length: messages }, (_, index) => messageAt("a", index)),
  );
  return path;
}

describe("a file that is no database", () => {
  const PNG = "89504e470d0a1a0a0000000d4948445200000001000000010806000000";

  it.for([
    ["text", Buffer.from("Dear diary, this is no database. ".repeat(200))],
    ["two letters", Buffer.from("hi")],
    ["a picture", Buffer.from(PNG, "hex")],
    ["a header and nothing else", Buffer.from("SQLite format 3\u0000")],
    ["zeros", Buffer.alloc(8192)],
  ] as const)("is refused and keeps every byte: %s", async ([, bytes]) => {
    const path = join(tempDirectory(), "state.db");
    writeFileSync(path, bytes);
    for (const readOnly of [false, true])
      expect(await outcomeOf(openSessionStore({ path, readOnly }))).toBe("session-db-not-sqlite");
    expect(readFileSync(path).equals(bytes)).toBe(true);
  });

  it("a folder in its place is unavailable", async () => {
    const path = join(tempDirectory(), "state.db");
    mkdirSync(path);
    for (const readOnly of [false, true])
      expect(await outcomeOf(openSessionStore({ path, readOnly }))).toBe("session-db-unavailable");
  });

  it("a path through a file is unavailable", async () => {
    const path = join(await ownFile(), "state.db");
    for (const readOnly of [false, true])
      expect(await outcomeOf(openSessionStore({ path, readOnly }))).toBe("session-db-unavailable");
  });

  it("an empty file is a new database", async () => {
    const path = join(tempDirectory(), "state.db");
    writeFileSync(path, "");
    await using store = await openSessionStore({ path });
    await store.createSession("a");
    expect(await store.appendMessage("a", { role: "user", content: "x" })).toBe(1);
  });
});

describe("a truncated database", () => {
  // A quarter of the pages, only the first page, less than a header.
  it.for([0.25, 4096, 60])("is called damaged and is not written over (%d)", async (cut) => {
    const path = await ownFile(400);
    truncateSync(path, cut < 1 ? Math.floor(statSync(path).size * cut) : cut);
    const before = readFileSync(path);
    expect(await outcomeOf(openSessionStore({ path, readOnly: true }))).toBe("session-db-damaged");
    expect(await outcomeOf(openSessionStore({ path }))).toBe("session-db-damaged");
    expect(readFileSync(path).equals(before)).toBe(true);
  });
});

describe("a database that another process keeps locked", () => {
  it("costs writers the wait they allowed, with the event loop free, and readers nothing", async () => {
    const path = await ownFile();
    await using store = await openSessionStore({ path, waitLimitMs: 300 });
    const holder = startScript("locking-process.ts", [path]);
    expect(await holder.nextLine()).toBe("held");
    let ticks = 0;
    const timer = setInterval(() => {
      ticks += 1;
    }, 20);
    const start = performance.now();
    expect(await outcomeOf(store.appendMessage("a", { role: "user", content: "x" }))).toBe(
      "session-db-locked",
    );
    expect(performance.now() - start).toBeGreaterThanOrEqual(300);
    clearInterval(timer);
    expect(ticks).toBeGreaterThan(3);
    expect(await store.messageCount("a")).toBe(1);
    expect(await outcomeOf(store.deleteSession("a"))).toBe("session-db-locked");
    expect(await outcomeOf(store.file!.optimize({ vacuum: false }))).toBe("session-db-locked");
    expect(await store.tryAcquireCompressionLock("a", "me")).toBe(false);
    // A busy file is not reported as damaged.
    expect(await store.file!.checkHealth()).toMatchObject({ ok: true, problems: [] });
    expect(await outcomeOf(store.file!.optimize())).toBe("session-db-locked");

    holder.closeInput();
    expect(await holder.nextLine()).toBe("released");
    await store.appendMessage("a", { role: "user", content: "x" });
    expect(await store.getSession("a")).toMatchObject({ message_count: 2 });
  });

  it("lets a patient writer in as soon as it is released", async () => {
    const path = await ownFile();
    await using store = await openSessionStore({ path });
    const holder = startScript("locking-process.ts", [path]);
    expect(await holder.nextLine()).toBe("held");
    const appends = Array.from({ length: 5 }, (_, index) =>
      store.appendMessage("a", { role: "user", content: `${index}` }),
    );
    await new Promise((resolve) => setTimeout(resolve, 100)); // by then all of them have tried and failed
    expect(await store.messageCount("a")).toBe(1);
    holder.closeInput();
    await Promise.all(appends);
    expect(await store.messageCount("a")).toBe(6);
  });

  it("can be opened, whatever the lock, when its schema is current", async () => {
    const path = await ownFile();
    const holder = startScript("locking-process.ts", [path, "BEGIN EXCLUSIVE"]);
    expect(await holder.nextLine()).toBe("held");
    for (const readOnly of [false, true]) {
      await using store = await openSessionStore({ path, readOnly, waitLimitMs: 300 });
      expect(await store.messageCount("a")).toBe(1);
    }
  });

  const OPENINGS: readonly { what: string; make: () => Promise<string>; readOnly: boolean }[] = [
    { what: "a new file", make: async () => join(tempDirectory(), "state.db"), readOnly: false },
    { what: "a file without a log", make: withoutLog, readOnly: false },
    { what: "a file without a log, read-only", make: withoutLog, readOnly: true },
    { what: "a file that lacks a trigger", make: withoutTrigger, readOnly: false },
  ];

  it.for(OPENINGS)("$what: opening waits, then says that it is locked", async ({ make, readOnly }) => {
    const path = await make();
    const holder = startScript("locking-process.ts", [path, "BEGIN EXCLUSIVE"]);
    expect(await holder.nextLine()).toBe("held");
    const start = performance.now();
    expect(await outcomeOf(openSessionStore({ path, readOnly, waitLimitMs: 300 }))).toBe("session-db-locked");
    expect(performance.now() - start).toBeGreaterThanOrEqual(300);
  });

  it.for(OPENINGS)("$what: opening goes on when the lock is released", async ({ make, readOnly }) => {
    const path = await make();
    const holder = startScript("locking-process.ts", [path, "BEGIN EXCLUSIVE"]);
    expect(await holder.nextLine()).toBe("held");
    const opening = openSessionStore({ path, readOnly });
    setTimeout(() => holder.closeInput(), 200);
    await using store = await opening;
    expect(await store.sessionCount()).toBeLessThanOrEqual(1);
  });

  async function withoutLog(): Promise<string> {
    const path = await ownFile();
    using db = new DatabaseSync(path);
    db.exec("PRAGMA journal_mode = DELETE");
    return path;
  }

  async function withoutTrigger(): Promise<string> {
    const path = await ownFile();
    using db = new DatabaseSync(path);
    db.exec("DROP TRIGGER hermes_memory_queue_insert");
    return path;
  }
});

describe.skipIf(whyNoMounts !== undefined)("a full disk", () => {
  it("refuses whole steps, loses nothing, and is forgotten when there is room", async () => {
    const folder = tempDirectory();
    const script = join(import.meta.dirname, "../../fakes/full-disk-process.ts");
    const child = startMounted(
      'mount -t tmpfs -o size=6m tmpfs "$1"',
      [folder],
      [process.execPath, script, folder],
    );
    const report = JSON.parse((await child.rest()).at(-1) ?? "{}") as Record<string, unknown>;
    const { stored } = report;
    expect(report).toMatchObject({
      full: Array(4).fill("session-db-full"),
      whileFull: { sessions: 1, rows: stored, counted: stored, ended: null },
      health: { ok: true, problems: [] },
      continued: 200,
      afterwards: {
        sessions: 2,
        rows: Number(stored) + 200,
        counted: Number(stored) + 200,
        ended: "compression",
      },
    });
    expect(report.reopened).toEqual(report.afterwards);
    expect(["session-db-full", "session-db-unavailable"]).toContain(report.other);
  });
});
if (whyNoMounts !== undefined) console.warn(`Full disks are not tested: ${whyNoMounts}.`);

describe("a message of 50 MB", () => {
  const WORDS = "harbour crane copper lantern ledger willow anchor quarry ";
  const big = WORDS.repeat(Math.ceil(50_000_000 / WORDS.length)).slice(0, 50_000_000);

  it("comes back as it went in, and its index is right", { timeout: 120_000 }, async () => {
    const path = join(tempDirectory(), "state.db");
    await using store = await openSessionStore({ path });
    await store.createSession("a");
    const content = `${big} heronloft`;
    const id = await store.appendMessage("a", { role: "user", content });
    const [row] = await store.getMessages("a");
    expect(row?.content === content).toBe(true); // not toBe: the difference would be too long to print
    expect(await hits(path, "heronloft")).toEqual([id]);
    expect((await store.listSessionsRich())[0]?.preview).toBe(`${content.slice(0, 60).trimEnd()}...`);
    expect(await store.file!.checkHealth()).toMatchObject({ ok: true, problems: [] });
    expect(await store.deleteSession("a")).toBe(true);
    expect(await hits(path, "heronloft")).toEqual([]);
  });

  it("comes back as it went in with structure around it, as an image would", {
    timeout: 120_000,
  }, async () => {
    const path = join(tempDirectory(), "state.db");
    await using store = await openSessionStore({ path });
    await store.createSession("a");
    const url = `data:image/png;base64,${"iVBORw0KGgo".repeat(4_000_000)}`;
    const content = [
      { type: "text", text: "the heronloft picture" },
      { type: "image_url", image_url: { url } },
    ];
    const id = await store.appendMessage("a", { role: "user", content });
    const [row] = await store.getMessages("a");
    expect(JSON.stringify(row?.content) === JSON.stringify(content)).toBe(true);
    expect(await hits(path, "heronloft")).toEqual([id]);
    expect(await store.file!.checkHealth()).toMatchObject({ ok: true, problems: [] });
  });
});

describe("the files of a database", () => {
  it.skipIf(process.platform === "win32")("can be read by their owner only", async () => {
    const before = process.umask(0o022);
    try {
      const folder = join(tempDirectory(), "home", "deep");
      const path = join(folder, "state.db");
      await using store = await openSessionStore({ path });
      await store.createSession("a");
      const modes = ["", "-wal", "-shm"].map((suffix) => (statSync(path + suffix).mode & 0o777).toString(8));
      expect(modes).toEqual(["600", "600", "600"]);
      expect((statSync(folder).mode & 0o777).toString(8)).toBe("700");
    } finally {
      process.umask(before);
    }
  });

  it("a database deleted under an open store never makes a call hang, and the next open starts anew", async () => {
    const path = await ownFile();
    const store = await openSessionStore({ path });
    for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
    await expectSettled(store);
    await store.close();
    await using again = await openSessionStore({ path });
    expect(await again.file!.checkHealth()).toMatchObject({ ok: true, problems: [] });
  });

  it("a folder deleted under an open store never makes a call hang", async () => {
    const folder = mkdtempSync(join(tempDirectory(), "home-"));
    const path = join(folder, "state.db");
    const store = await openSessionStore({ path });
    await store.createSession("a");
    rmSync(folder, { recursive: true });
    await expectSettled(store);
    await store.close();
    expect(existsSync(folder)).toBe(false);
  });

  it("a database replaced under an open store never makes a call hang, and the new one keeps its rows", async () => {
    const path = await ownFile(3);
    const other = await ownFile(30);
    const store = await openSessionStore({ path });
    renameSync(other, path);
    await expectSettled(store);
    await store.close();
    await using again = await openSessionStore({ path });
    expect(await again.file!.checkHealth()).toMatchObject({ ok: true, problems: [] });
    expect(await again.messageCount("a")).toBe(30);
  });

  it("closing a store whose file was replaced leaves what others wrote to the new one", async () => {
    const path = await ownFile(3);
    const restored = await ownFile(30);
    const stale = await openSessionStore({ path });
    await stale.appendMessage("a", { role: "user", content: "before" });
    for (const suffix of ["-wal", "-shm"]) rmSync(path + suffix);
    renameSync(restored, path);
    const child = startScript("append-and-stay.ts", [path, "a", "after the restore"]);
    expect(await child.nextLine()).toBe("stored");
    await stale.close();
    child.say("close");
    await child.rest();
    await using again = await openSessionStore({ path });
    expect(await again.messageCount("a")).toBe(31);
    expect((await again.getMessages("a")).at(-1)?.content).toBe("after the restore");
  });

  async function expectSettled(store: HomeStore): Promise<void> {
    const calls = [
      store.appendMessage("a", { role: "user", content: "x" }),
      store.getMessages("a"),
      store.listSessionsRich(),
      store.file!.checkHealth(),
      store.stats(),
      store.deleteSession("a"),
    ];
    // All at once: a rejection while another promise is awaited would count as unhandled.
    for (const outcome of await Promise.all(calls.map(outcomeOf)))
      expect(outcome instanceof Error ? `bare ${outcome}` : "settled").toBe("settled");
  }
});

async function hits(path: string, word: string): Promise<number[]> {
  await using opened = await openIndex(path);
  return await opened.find(word); // before the file is closed again
}
