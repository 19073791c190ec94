// A process that is stopped right before it writes, for longer than its lease lives: another one takes the lease, writes and gives it
// back. The one that wakes up stores nothing of what it had in hand, whatever it is: a program with the library, a chat, a gateway.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openMemory } from "@hermes-memory/core/internal/memory";
import { openSessionStore } from "@hermes-memory/core/internal/sessions";
import { expect, it, onTestFinished, vi } from "vitest";
import { modelSection, writeConfig } from "../../../agent/test/agent/agent-home.ts";
import { gate, type Script } from "../../../agent/test/fakes/wires/script.ts";
import { startWire } from "../../../agent/test/fakes/wires/wire-in-test.ts";
import { startScript } from "../../../core/test/fakes/child.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { serve } from "../gateway/served-process.ts";
import { startChat, storedRows } from "./chat-child.ts";

const PRELOAD = ["--import", join(import.meta.dirname, "../../../core/test/fakes/stop-under-lease.ts")];

/** What 0.3.0 does to take a lease that has run out, and to give it back. It may run beside this version. */
const AS_IN_0_3_0 = {
  take: `DELETE FROM hermes_memory_leases WHERE session_id = :id OR expires_at < :now - 86400;
    INSERT INTO hermes_memory_leases (session_id, holder, acquired_at, expires_at) VALUES (:id, 'old', :now, :now + 60)`,
  release: "DELETE FROM hermes_memory_leases WHERE session_id = :id AND holder = 'old'",
};

async function setUp() {
  const home = tempDirectory();
  const stopFile = join(home, "stop-now");
  process.env.STOP_FILE = stopFile;
  onTestFinished(() => void delete process.env.STOP_FILE);
  const isStopped = (pid: number) => / T /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  const untilStopped = (pid: number) =>
    vi.waitFor(() => expect([existsSync(stopFile), isStopped(pid)]).toEqual([false, true]), 20_000);
  return {
    home,
    untilStopped,
    stopNext: () => writeFileSync(stopFile, ""),
    /** When the process has stopped: its lease is taken over, the words are stored, the lease is given back; then it goes on. */
    async overtake(pid: number, words = "meanwhile", by: "this version" | "0.3.0" = "this version") {
      await untilStopped(pid);
      const later = Date.now() / 1000 + 120;
      const path = join(home, "state.db");
      const db = new DatabaseSync(path, { timeout: 5_000 });
      const id = String(db.prepare("SELECT session_id FROM hermes_memory_leases").get()?.session_id);
      if (by === "0.3.0")
        for (const sql of AS_IN_0_3_0.take.split(";")) db.prepare(sql).run({ id, now: later });
      const store = await openSessionStore({ path, clock: { now: () => new Date(later * 1000) } });
      if (by === "this version")
        expect(await store.acquireSessionLease(id, "new")).toEqual({ acquired: true });
      await store.appendMany(id, [{ role: "user", content: words }]);
      if (by === "0.3.0") db.prepare(AS_IN_0_3_0.release).run({ id });
      else await store.releaseSessionLease(id, "new");
      await store.close();
      db.close();
      process.kill(pid, "SIGCONT");
    },
  };
}

const said = (home: string): string[] => storedRows(home).map(({ content }) => String(content));

it.each(["this version", "0.3.0"] as const)(
  "remember, compact and forgetChat, overtaken by %s",
  async (by) => {
    const { home, stopNext, overtake } = await setUp();
    await using memory = await openMemory({ home });
    await memory.user({ platform: "web", id: "ana" }).context("c"); // stores the memory block
    const child = startScript("remembering-process.ts", [home], PRELOAD);
    const answer = async (line: string): Promise<unknown> => {
      child.say(line);
      return JSON.parse((await child.nextLine()) ?? "null");
    };
    expect(await child.nextLine()).toBe("ready");
    const words = "the harbour crane turns slowly ".repeat(40);
    for (let n = 0; n < 12; n += 1) await answer(`c\tq${n} ${words}\ta${n}`);
    const before = said(home);
    for (const [at, line] of ["c\tlate\tnever", "c\tcompact", "c\tforget"].entries()) {
      stopNext();
      const outcome = answer(line);
      await overtake(child.pid, `meanwhile ${at}`, by);
      expect(await outcome, line).toEqual({ code: "lease-lost" });
    }
    expect(said(home)).toEqual([...before, "meanwhile 0", "meanwhile 1", "meanwhile 2"]);
    expect(await answer("c\tnow\twell")).toEqual({ stored: 2, known: 0 });
    expect(await answer("c\tcompact")).toEqual({ kind: "compacted" });
  },
);

it("remember waits once for a database that another program locks while it has the lease", async () => {
  const { home, stopNext, untilStopped } = await setUp();
  const child = startScript("remembering-process.ts", [home], PRELOAD);
  expect(await child.nextLine()).toBe("ready");
  child.say("c\tfirst\tanswer");
  await child.nextLine();
  stopNext();
  child.say("c\tlate\tnever");
  await untilStopped(child.pid);
  using db = new DatabaseSync(join(home, "state.db"), { timeout: 5_000 });
  db.exec("BEGIN IMMEDIATE");
  process.kill(child.pid, "SIGCONT");
  const start = performance.now();
  expect(JSON.parse((await child.nextLine()) ?? "null")).toEqual({ code: "session-db-locked" });
  const waited = performance.now() - start;
  child.say("c\tagain\tnever"); // waits for the lock from the beginning
  expect(JSON.parse((await child.nextLine()) ?? "null")).toEqual({ code: "session-db-locked" });
  expect(waited).toBeLessThan((performance.now() - start) * 0.6);
});

/** Answers `answer to <question>`; the ones to a question with `slow` when `held` opens. */
async function model() {
  const [arrived, held] = [gate(), gate()];
  const script: Script = ({ raw, messages }) => {
    if (raw.includes("slow")) arrived.open();
    const asked = String(messages.findLast(({ role }) => role === "user")?.content).slice(-20);
    return { text: `answer to ${asked}`, ...(raw.includes("slow") ? { pauseBefore: held } : {}) };
  };
  return { wire: await startWire("chat", script), arrived: arrived.opened, held };
}

it.each(["question", "answer"])("the %s of a turn of the agent", async (what) => {
  const { home, stopNext, overtake } = await setUp();
  const { wire, arrived, held } = await model();
  writeConfig(home, { model: modelSection("chat", wire.url) });
  const chat = startChat(home, [], PRELOAD);
  await chat.turn("first");
  const before = said(home);
  if (what === "question") stopNext();
  chat.say("slow");
  if (what === "answer") await arrived;
  if (what === "answer") stopNext();
  held.open();
  await overtake(chat.pid);
  expect((await chat.event("turn-end")).result).toMatchObject({ exit: "session_busy", failed: true });
  expect(said(home)).toEqual([...before, ...(what === "answer" ? ["slow"] : []), "meanwhile"]);
  expect(await chat.turn("going on")).toMatchObject({ exit: "text_response" });
});

it.each([
  ["question", "agent"],
  ["answer", "agent"],
  ["answer", "proxy"],
])("the %s of a request to a gateway, %s mode", async (what, mode) => {
  const { home, stopNext, overtake } = await setUp();
  const { wire, arrived, held } = await model();
  writeConfig(home, { model: modelSection("chat", wire.url), gateway: { port: 0 } });
  const { url, child } = await serve(home, PRELOAD);
  const ask = async (content: string) => {
    const response = await fetch(`${url}/${mode}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-hermes-session-id": "the-session" },
      body: JSON.stringify({ model: "hermes", messages: [{ role: "user", content }] }),
    });
    return { status: response.status, text: await response.text() };
  };
  expect(await ask("first")).toMatchObject({ status: 200 });
  const before = said(home);
  if (what === "question") stopNext();
  const late = ask("slow");
  if (what === "answer") await arrived;
  if (what === "answer") stopNext();
  held.open();
  await overtake(child.pid ?? -1);
  if (mode === "agent") expect(await late).toMatchObject({ status: 409 });
  await late;
  expect(said(home)).toEqual([...before, ...(what === "answer" ? ["slow"] : []), "meanwhile"]);
  expect(await ask("going on")).toMatchObject({ status: 200 });
});
