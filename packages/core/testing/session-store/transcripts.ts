// Sessions that follow the transcripts of other programs.
import type { HomeStore } from "../../src/sessions/store.ts";
import type {
  NewTranscript,
  TranscriptFinish,
  TranscriptInput,
  TranscriptWrite,
} from "../../src/sessions/transcript-records.ts";
import type { Suite } from "../runner.ts";
import { DAY, type Harness, HOUR, NOW, talk, withSessions } from "./support.ts";

const SESSION: NewTranscript = {
  id: "other-1",
  source: "other",
  origin: { source: "other", native_id: "1", path: "/home/ana/.other/1.jsonl" },
  startedAt: NOW,
};
const FINISH: TranscriptFinish = {
  title: "Harbour cranes",
  otherTitle: "Harbour cranes (other 1)",
  model: "model-a",
  cwd: "/home/ana/harbour",
  gitBranch: "main",
  startedAt: NOW,
  endedAt: NOW + 9,
  branches: [],
  usage: { inputTokens: 10, outputTokens: 5 },
};

export function transcriptsContract({ it, expect }: Suite, { open }: Harness): void {
  it("a transcript becomes an ended session whose messages can be read and found", async () => {
    await using store = await open();
    expect(await store.transcripts.getTranscriptState("other-1")).toEqual({ kind: "none" });
    const call = JSON.stringify([{ id: "c1", type: "function", function: { name: "ls", arguments: "{}" } }]);
    const append = [
      said("m1", "where is the crane?"),
      { ...said("m2", "looking", "assistant"), toolCalls: call },
      { ...said("m2:c1", "crane.txt", "tool"), toolCallId: "c1", toolName: "ls", line: 7 },
    ];
    expect(await store.transcripts.writeTranscript({ session: SESSION, append, finish: FINISH })).toBe(
      "none",
    );
    expect(await store.getSession("other-1")).toMatchObject({
      source: "other",
      title: "Harbour cranes",
      model: "model-a",
      cwd: "/home/ana/harbour",
      started_at: NOW,
      ended_at: NOW + 9,
      end_reason: "imported",
      message_count: 3,
      tool_call_count: 1,
      input_tokens: 10,
      parent_session_id: null,
    });
    expect(await texts(store, "other-1")).toEqual(["where is the crane?", "looking", "crane.txt"]);
    expect((await store.searchMessages("crane")).length).toBeGreaterThan(0);
    expect(await store.transcripts.getTranscriptState("other-1")).toMatchObject({
      kind: "imported",
      messages: 3,
      origin: SESSION.origin,
    });
    expect(await store.transcripts.listTranscripts()).toMatchObject([{ id: "other-1", source: "other" }]);
  });

  it("messages say from which file and line they come", async () => {
    await using store = await open();
    await store.createSession("own", {});
    await talk(store, "own", ["no import"]);
    await write(store, [
      { ...said("m1", "a"), line: 3 },
      { ...said("m2", "b"), line: 4, path: "/home/ana/.other/2.jsonl" },
      said("m3", "c"),
    ]);
    const rows = await store.transcripts.listTranscriptRows("other-1", { after: 0, limit: 10 });
    const own = await store.getMessages("own");
    expect(await store.transcripts.listProvenance([...own, ...rows].map(({ id }) => id))).toEqual([
      { messageId: rows[0]?.id, path: "/home/ana/.other/1.jsonl", line: 3 },
      { messageId: rows[1]?.id, path: "/home/ana/.other/2.jsonl", line: 4 },
      { messageId: rows[2]?.id, path: "/home/ana/.other/1.jsonl", line: null },
    ]);
  });

  it("the rows are read in pages, in their order", async () => {
    await using store = await open();
    await write(
      store,
      ["a", "b", "c"].map((text, at) => said(`m${at}`, text)),
    );
    const first = await store.transcripts.listTranscriptRows("other-1", { after: 0, limit: 2 });
    const rest = await store.transcripts.listTranscriptRows("other-1", {
      after: first[1]?.id ?? 0,
      limit: 2,
    });
    expect([...first, ...rest].map((row) => [row.platform_message_id, row.content, row.role])).toEqual([
      ["m0", "a", "user"],
      ["m1", "b", "user"],
      ["m2", "c", "user"],
    ]);
  });

  it("a changed message is updated in place, and a tail that differs is replaced", async () => {
    await using store = await open();
    await write(
      store,
      ["a", "b", "c"].map((text, at) => said(`m${at}`, text)),
    );
    const [one, two, three] = await store.transcripts.listTranscriptRows("other-1", { after: 0, limit: 3 });
    await store.transcripts.writeTranscript({
      session: SESSION,
      update: [{ ...said("m1", "b, and more of it"), id: two?.id ?? 0, line: 5 }],
    });
    expect(await texts(store, "other-1")).toEqual(["a", "b, and more of it", "c"]);
    expect(await store.searchMessages("more")).toMatchObject([{ id: two?.id }]);
    await store.transcripts.writeTranscript({
      session: SESSION,
      removeAfter: one?.id,
      append: [said("x1", "another course")],
      finish: FINISH,
    });
    expect(await texts(store, "other-1")).toEqual(["a", "another course"]);
    expect(await store.getSession("other-1")).toMatchObject({ message_count: 2 });
    expect(await store.transcripts.listProvenance([two?.id ?? 0, three?.id ?? 0])).toEqual([]);
    expect(await store.searchMessages("more")).toEqual([]);
  });

  it("branches become inactive, and active again when the transcript goes back to them", async () => {
    await using store = await open();
    await write(
      store,
      ["a", "left", "kept"].map((text, at) => said(`m${at}`, text)),
    );
    const finish = (branches: string[]) =>
      store.transcripts.writeTranscript({ session: SESSION, finish: { ...FINISH, branches } });
    await finish(["m1"]);
    expect(await texts(store, "other-1")).toEqual(["a", "kept"]);
    expect(await store.searchMessages("left")).toEqual([]);
    expect(await store.getSession("other-1")).toMatchObject({ message_count: 2 });
    await finish(["m2"]);
    expect(await texts(store, "other-1")).toEqual(["a", "left"]);
    await finish([]);
    expect(await texts(store, "other-1")).toEqual(["a", "left", "kept"]);
  });

  it("what was taken back here stays so when the transcript is read again", async () => {
    await using store = await open();
    await write(
      store,
      ["a", "b"].map((text, at) => said(`m${at}`, text)),
    );
    await store.undoTurns("other-1");
    await store.transcripts.writeTranscript({ session: SESSION, finish: FINISH });
    expect(await texts(store, "other-1")).toEqual(["a"]);
  });

  it("a session of this program is never changed", async () => {
    await using store = await withSessions(open(), "other-1");
    await talk(store, "other-1", ["mine"]);
    const before = await store.exportSession("other-1");
    expect(await store.transcripts.getTranscriptState("other-1")).toEqual({ kind: "own" });
    expect(await write(store, [said("m1", "theirs")])).toBe("own");
    expect(await store.exportSession("other-1")).toEqual(before);
  });

  it("a transcript that was continued here is left alone", async () => {
    await using store = await open();
    await write(store, [said("m1", "theirs")]);
    await store.appendMessage("other-1", { role: "user", content: "mine" });
    const before = await store.exportSession("other-1");
    expect(await store.transcripts.getTranscriptState("other-1")).toEqual({ kind: "continued" });
    expect(await write(store, [said("m2", "more of theirs")])).toBe("continued");
    expect(await store.exportSession("other-1")).toEqual(before);
  });

  it("a title that is taken gets the other one; a title given here is kept", async () => {
    await using store = await open();
    await store.createSession("mine", {});
    await store.setSessionTitle("mine", "Harbour cranes");
    await write(store, [said("m1", "a")]);
    expect(await store.getSessionTitle("other-1")).toBe("Harbour cranes (other 1)");
    await store.setSessionTitle("other-1", "My name for it");
    await store.transcripts.writeTranscript({
      session: SESSION,
      finish: { ...FINISH, title: "Their new name" },
    });
    expect(await store.getSessionTitle("other-1")).toBe("My name for it");
  });

  it("a new title of the transcript replaces the one it had", async () => {
    await using store = await open();
    await write(store, [said("m1", "a")]);
    await store.transcripts.writeTranscript({
      session: SESSION,
      finish: { ...FINISH, title: "Lighthouses" },
    });
    expect(await store.getSessionTitle("other-1")).toBe("Lighthouses");
  });

  it("a subagent is hidden at once, linked when its parent comes, and deleted with it", async () => {
    await using store = await open();
    const session = {
      ...SESSION,
      id: "other-agent",
      source: "subagent",
      delegateFrom: "other-1",
      origin: { source: "other", native_id: "agent" },
    };
    await store.transcripts.writeTranscript({
      session,
      append: [said("a1", "look")],
      finish: { ...FINISH, title: null },
    });
    expect(await store.getSession("other-agent")).toMatchObject({ parent_session_id: null });
    await write(store, [said("m1", "where?")]);
    expect(await store.transcripts.linkTranscripts([])).toBe(1);
    expect(await store.transcripts.linkTranscripts([])).toBe(0);
    expect(await store.getSession("other-agent")).toMatchObject({ parent_session_id: "other-1" });
    expect((await store.listSessionsRich()).map(({ id }) => id)).toEqual(["other-1"]);
    await store.deleteSession("other-1");
    expect(await store.getSession("other-agent")).toBeNull();
  });

  it("a continuation is linked to the session that a compaction closed, and never in a circle", async () => {
    await using store = await open();
    await write(store, [said("m1", "before")]);
    const next = (id: string, startedAt: number) =>
      store.transcripts.writeTranscript({
        session: { ...SESSION, id, origin: { source: "other", native_id: id }, startedAt },
        append: [said(`${id}-m`, "after")],
        finish: { ...FINISH, title: null, startedAt, endedAt: startedAt + 5 },
      });
    await next("other-2", NOW + HOUR);
    await next("other-early", NOW - HOUR);
    expect(await store.transcripts.linkTranscripts([{ id: "other-2", parent: "other-1" }])).toBe(1);
    expect(await store.transcripts.linkTranscripts([{ id: "other-1", parent: "other-2" }])).toBe(0);
    expect(await store.transcripts.linkTranscripts([{ id: "other-early", parent: "other-1" }])).toBe(0);
    expect(await store.getSession("other-1")).toMatchObject({ end_reason: "compression" });
    expect(await store.getCompressionTip("other-1")).toBe("other-2");
    // Reading the closed transcript again keeps it closed.
    await store.transcripts.writeTranscript({ session: SESSION, finish: FINISH });
    expect(await store.getCompressionTip("other-1")).toBe("other-2");
  });

  it("finds which transcript has a message", async () => {
    await using store = await open();
    await write(store, [said("m1", "a")]);
    expect(await store.transcripts.findTranscriptMessage(["nope", "other-1"], "m1")).toBe("other-1");
    expect(await store.transcripts.findTranscriptMessage(["nope"], "m1")).toBeUndefined();
    expect(await store.transcripts.findTranscriptMessage(["other-1"], "m2")).toBeUndefined();
    await store.setMeta("import:codex:1", '{"sessions":["other-1","gone",3]}');
    await store.setMeta("import:codex:2", "no JSON");
    await store.setMeta("import:pi:1", '{"sessions":["elsewhere"]}');
    expect(await store.transcripts.listNotedTranscripts("import:codex:")).toEqual(["other-1", "gone"]);
  });

  it("a session that a gateway follows is merged with its transcript, and nothing else is", async () => {
    await using store = await open();
    await store.createSession("other-1", { source: "other" });
    const [one = 0, two = 0, three = 0] = await talk(store, "other-1", ["one", "two", "three"]);
    expect(await store.transcripts.getTranscriptState("other-1")).toEqual({ kind: "own" });
    await store.gateway.saveMarks("other-1", ["session:other-1"]);
    expect(await store.transcripts.getTranscriptState("other-1")).toEqual({
      kind: "followed",
      session: "other-1",
    });
    expect(await write(store, [said("m9", "appended")])).toBe("followed");
    expect(await texts(store, "other-1")).toEqual(["one", "two", "three"]);
    const merge = {
      order: [one, said("m2", "between"), two, said("m4", "last")],
      known: [
        { id: one, message: said("m1", "one and more"), isLonger: true },
        { id: two, message: said("m3", "two"), isLonger: false },
      ],
    };
    await store.acquireSessionLease("other-1", "gateway");
    const request = { session: SESSION, merge, finish: FINISH };
    expect(await store.transcripts.writeTranscript(request)).toBe("busy");
    await store.releaseSessionLease("other-1", "gateway");
    expect(await store.transcripts.writeTranscript(request)).toBe("followed");
    // A row that the order does not name was stored meanwhile: it comes last.
    expect(await texts(store, "other-1")).toEqual(["one and more", "between", "two", "last", "three"]);
    const rows = await store.getMessages("other-1", { includeInactive: true });
    expect(rows.map((row) => row.platform_message_id)).toEqual(["m1", "m2", "m3", "m4", null]);
    expect(rows.some(({ id }) => id === three)).toBe(false);
    expect(await store.transcripts.listProvenance(rows.map(({ id }) => id))).toHaveLength(4);
    expect(await store.getSession("other-1")).toMatchObject({
      ...{ ended_at: null, end_reason: null, message_count: 5, title: "Harbour cranes", input_tokens: 10 },
    });
    expect(await store.transcripts.getTranscriptState("other-1")).toMatchObject({
      kind: "followed",
      origin: SESSION.origin,
    });
    expect((await store.searchMessages("between")).length).toBe(1);
    expect((await store.searchMessages("three")).length).toBe(1);
    expect(await store.file!.checkHealth()).toMatchObject({ ok: true });
  });

  it("a chat that turns out to be the conversation of a transcript takes the place of what was imported", async () => {
    await using store = await open();
    await store.createSession("chat.unnamed", { source: "api" });
    const [one = 0] = await talk(store, "chat.unnamed", ["one"]);
    await store.createSession("chat.of-bo", { source: "api", userId: "bo" });
    await write(store, [said("m1", "one"), said("m2", "two")]);
    await store.transcripts.writeTranscript({ session: SESSION, finish: FINISH });
    await store.transcripts.writeTranscript({
      session: { ...SESSION, id: "other-sub", source: "subagent", delegateFrom: "other-1" },
      append: [said("s1", "sub")],
    });
    await store.transcripts.linkTranscripts([]);
    expect((await store.transcripts.listUnclaimedChats()).map(({ id }) => id)).toEqual(["chat.unnamed"]);
    const merge = {
      order: [one, said("m2", "two")],
      known: [{ id: one, message: said("m1", "one"), isLonger: false }],
    };
    const request = { session: SESSION, merge, finish: FINISH };
    expect(
      await store.transcripts.writeTranscript({ ...request, claim: [{ id: "chat.of-bo", rows: 0 }] }),
    ).toBe("imported");
    await store.acquireSessionLease("chat.unnamed", "gateway");
    const claim = [{ id: "chat.unnamed", rows: 1 }];
    expect(await store.transcripts.writeTranscript({ ...request, claim })).toBe("busy");
    await store.releaseSessionLease("chat.unnamed", "gateway");
    const before = [{ id: "chat.unnamed", rows: 0 }]; // it got a message since it was compared
    expect(await store.transcripts.writeTranscript({ ...request, claim: before })).toBe("busy");
    expect(await store.transcripts.writeTranscript({ ...request, claim })).toBe("followed");
    expect(await store.getSession("other-1")).toBeNull();
    expect(await texts(store, "chat.unnamed")).toEqual(["one", "two"]);
    expect(await store.getSession("chat.unnamed")).toMatchObject({
      source: "other",
      title: "Harbour cranes",
    });
    expect(await store.getSession("other-sub")).toMatchObject({ parent_session_id: "chat.unnamed" });
    expect(await store.transcripts.listUnclaimedChats()).toEqual([]);
    // From now on the transcript's id leads to the chat, for rows, parents and the next import.
    expect(await store.transcripts.getTranscriptState("other-1")).toMatchObject({
      ...{ kind: "followed", session: "chat.unnamed", origin: SESSION.origin },
    });
    expect(await store.transcripts.listTranscriptRows("other-1", { after: 0, limit: 9 })).toHaveLength(2);
    await store.transcripts.writeTranscript({
      session: { ...SESSION, id: "other-sub-2", source: "subagent", delegateFrom: "other-1" },
    });
    // A subagent's own chat, that the gateway stored.
    await store.createSession("chat.sub", { source: "api" });
    await store.transcripts.writeTranscript({
      session: { ...SESSION, id: "other-sub-3", source: "subagent", delegateFrom: "other-1" },
      ...{
        claim: [{ id: "chat.sub", rows: 0 }],
        merge: { order: [said("t1", "sub")], known: [] },
        finish: FINISH,
      },
    });
    await store.transcripts.linkTranscripts([]);
    for (const id of ["other-sub-2", "chat.sub"])
      expect(await store.getSession(id)).toMatchObject({ parent_session_id: "chat.unnamed" });
    expect(await store.file!.checkHealth()).toMatchObject({ ok: true });
  });

  it("pruning keeps transcripts unless asked for them", async () => {
    await using store = await open();
    const old = NOW - 400 * DAY;
    await store.transcripts.writeTranscript({
      session: { ...SESSION, startedAt: old },
      append: [{ ...said("m1", "long ago"), timestamp: old }],
      finish: { ...FINISH, startedAt: old, endedAt: old + 5 },
    });
    expect(await store.listPrunable()).toEqual([]);
    expect(await store.pruneSessions()).toBe(0);
    expect((await store.listPrunable({ includeImported: true })).map(({ id }) => id)).toEqual(["other-1"]);
    expect((await store.listPrunable({ source: "other" })).map(({ id }) => id)).toEqual(["other-1"]);
    expect(await store.pruneSessions({ includeImported: true })).toBe(1);
  });
}

function said(id: string, content: string, role = "user"): TranscriptInput {
  return { role, content, platformMessageId: id, timestamp: NOW + 1 };
}

function write(store: HomeStore, append: TranscriptWrite["append"] & {}) {
  return store.transcripts.writeTranscript({ session: SESSION, append, finish: FINISH });
}

async function texts(store: HomeStore, id: string): Promise<unknown[]> {
  return (await store.getMessages(id)).map(({ content }) => content);
}
