// What is said gets into the database once, in order, as soon as the database lets it; and the conversation does not wait for that.
import { mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { newMessage } from "@hermes-memory/core/internal/message";
import { openSessionStore, type SessionStore } from "@hermes-memory/core/internal/sessions";
import { describe, expect, it, onTestFinished } from "vitest";
import { Transcript } from "../../../agent/src/agent/session/transcript.ts";
import { agentHome } from "../../../agent/test/agent/agent-home.ts";
import type { RecordedRequest, Script, Step } from "../../../agent/test/fakes/wires/script.ts";
import { startWire } from "../../../agent/test/fakes/wires/wire-in-test.ts";
import { overwritePages, writeNoDatabase } from "../../../core/test/fakes/broken-database.ts";
import { startScript } from "../../../core/test/fakes/child.ts";
import { startMounted, whyNoMounts } from "../../../core/test/fakes/mounts.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { storedRows } from "./chat-child.ts";

const echo: Script = ({ messages }: RecordedRequest): Step => ({
  text: `answer to ${String(messages.at(-1)?.content)}`,
});
const said = (home: string): string[] => storedRows(home).map(({ content }) => String(content));
const turn = (text: string): string[] => [text, `answer to ${text}`];

/** A store that gives up on a lock soon, as the agent's own does after 15 seconds. */
async function hastyStore(home: string): Promise<SessionStore> {
  mkdirSync(home, { recursive: true });
  const store = await openSessionStore({ path: join(home, "state.db"), waitLimitMs: 1 });
  onTestFinished(() => store.close());
  return store;
}

/** Another process that keeps the write lock until it is told to let go. */
async function lockDatabase(home: string): Promise<() => Promise<void>> {
  const child = startScript("locking-process.ts", [join(home, "state.db")]);
  expect(await child.nextLine()).toBe("held");
  return async () => {
    child.closeInput();
    await child.rest();
  };
}

describe("storing a conversation", () => {
  it("writes nothing twice, however often and from how many places it is asked to", async () => {
    const home = tempDirectory();
    const store = await hastyStore(home);
    await store.createSession("s", { source: "cli" });
    const transcript = new Transcript("s", store, () => {});
    const add = (content: string) =>
      transcript.append(newMessage({ role: "user", content }, { atSeconds: 1 }));
    add("one");
    const first = transcript.flush();
    add("two");
    await Promise.all([first, transcript.flush(), transcript.flush()]);
    await transcript.flush();
    expect(said(home)).toEqual(["one", "two"]);
    expect(transcript.messages.map(({ meta }) => meta.rowId)).toEqual([1, 2]);
  });
});

describe("a database that another process keeps locked", () => {
  it("stops no turn; one notice, and later everything is stored in order with the times it was said", async () => {
    const home = tempDirectory();
    let seconds = 1_800_000_000;
    const clock = { now: () => new Date(seconds * 1000) };
    const { agent, events } = await agentHome(echo, {
      home,
      options: { store: await hastyStore(home), clock },
    });
    await agent.run("before");
    const unlock = await lockDatabase(home);
    for (const text of ["during one", "during two"]) {
      seconds += 100;
      expect(await agent.run(text)).toMatchObject({ exit: "text_response", completed: true, error: null });
    }
    expect(said(home)).toEqual(turn("before"));
    const notices = events.filter((event) => event.type === "notice");
    expect(notices).toMatchObject([{ level: "warn", text: expect.stringMatching(/locked.+stored/s) }]);
    await unlock();
    seconds += 100;
    await agent.run("after");
    const texts = ["before", "during one", "during two", "after"];
    expect(said(home)).toEqual(texts.flatMap(turn));
    const times = (await agent.store?.getMessages(agent.sessionId))?.map(({ timestamp }) => timestamp);
    expect(times).toEqual(texts.flatMap((_, n) => [1_800_000_000 + n * 100, 1_800_000_000 + n * 100]));
    expect(events.filter((event) => event.type === "notice")).toHaveLength(1);
    const row = await agent.store?.getSession(agent.sessionId);
    expect(row).toMatchObject({ message_count: 8, api_call_count: 4 });
  });

  it("refuses to leave, branch, compact or take back what is not stored, and loses nothing by it", async () => {
    const home = tempDirectory();
    const store = await hastyStore(home);
    const other = await store.createSession("20260101_120000_abc123", { source: "cli" });
    await store.appendMessage(other, { role: "user", content: "long ago" });
    const { agent } = await agentHome(echo, { home, options: { store } });
    await agent.run("before");
    const unlock = await lockDatabase(home);
    await agent.run("during");
    const { sessionId } = agent;
    const commands = [
      () => agent.newSession(),
      () => agent.resume(other),
      () => agent.branch(),
      () => agent.undo(),
    ];
    for (const command of commands)
      expect(await command()).toMatchObject({ ok: false, error: { kind: "refused" } });
    expect(await agent.compress()).toMatchObject({ kind: expect.stringMatching(/busy|failed/) });
    await unlock();
    expect(await agent.run("after")).toMatchObject({ session_id: sessionId });
    expect(said(home)).toEqual(["long ago", ...["before", "during", "after"].flatMap(turn)]);
  });

  it("keeps what is unsaved when another process has compacted the session meanwhile", async () => {
    const home = tempDirectory();
    const { agent, another } = await agentHome(echo, { home, options: { store: await hastyStore(home) } });
    const words = "the harbour crane turns slowly ".repeat(60);
    for (let n = 0; n < 8; n += 1) await agent.run(`${n} ${words}`);
    const unlock = await lockDatabase(home);
    await agent.run("during");
    await unlock();
    const other = await another({ resume: agent.sessionId });
    expect(await other.compress()).toMatchObject({ kind: "compacted" });
    expect(await agent.run("after")).toMatchObject({ session_id: other.sessionId });
    expect(said(home).slice(-4)).toEqual(["during", "after"].flatMap(turn));
  });
});

describe("without a database that can be used", () => {
  const broken: Readonly<Record<string, (path: string) => void>> = {
    "is no database": writeNoDatabase,
    "is a directory": (path) => mkdirSync(path),
    "can only be read, because a newer program made it": (path) => {
      const db = new DatabaseSync(path);
      db.exec("CREATE TABLE schema_version (version INTEGER); INSERT INTO schema_version VALUES (999)");
      db.close();
    },
  };

  it.each(Object.keys(broken))("a file that %s is left alone; the agent works and says so", async (name) => {
    const home = tempDirectory();
    broken[name]?.(join(home, "state.db"));
    const { agent, wire } = await agentHome(echo, { home });
    expect(agent.warnings.join("\n")).toMatch(/session database .*not stored/s);
    expect(await agent.run("one")).toMatchObject({ exit: "text_response", error: null });
    await agent.run("two");
    expect(wire.wireMessages(-1)).toHaveLength(3);
    expect(await agent.undo()).toMatchObject({ ok: false, error: { kind: "no_database" } });
  });

  it("a file that goes away or breaks under a running conversation costs a notice and no turn", async () => {
    for (const harm of [takeAway, spoil]) {
      const { agent, home, events } = await agentHome(echo);
      await agent.run("one");
      harm(join(home, "state.db"));
      expect(await agent.run("two")).toMatchObject({ exit: "text_response", error: null });
      expect(await agent.run("three")).toMatchObject({ exit: "text_response", error: null });
      expect(events.filter((event) => event.type === "notice")).toHaveLength(1);
      expect(agent.messages).toHaveLength(6);
    }
  });
});

const takeAway = (path: string): void => renameSync(path, `${path}.away`);
const spoil = (path: string): void => overwritePages(path, "messages");

describe.skipIf(whyNoMounts !== undefined)("a full disk", () => {
  it("stops no turn, and what was said meanwhile is stored when there is room again", async () => {
    const wire = await startWire("chat", (request) =>
      request.index === 1 ? { text: "long" } : echo(request),
    );
    const home = tempDirectory();
    const child = startMounted(
      'mount -t tmpfs -o size=3m tmpfs "$1"',
      [home],
      [
        process.execPath,
        join(import.meta.dirname, "../../../agent/test/fakes/full-disk-agent.ts"),
        home,
        wire.url,
      ],
    );
    const [line = ""] = await child.rest();
    expect(JSON.parse(line)).toMatchObject({
      exits: ["text_response", "text_response", "text_response"],
      whileFull: ["first", "answer to first"],
      notices: 1,
      afterwards: 6,
      isWhole: true,
    });
  });
});
