// Which messages must be in the database before they may leave the list, and rows that other programs left in it.

import { describe, expect, it } from "vitest";
import { isHandoff } from "../../../src/context/compressor/handoff.ts";
import { LosslessEngine } from "../../../src/context/lossless/lossless-engine.ts";
import { type OpenAiMessage, withMeta } from "../../../src/message/index.ts";
import { openSessionStore } from "../../../src/sessions/index.ts";
import { alternating, toolRounds, user } from "../../../testing/context-engine/lists.ts";
import { answering, factsIn, modelThat } from "../../../testing/context-engine/summarisers.ts";
import { execute, newPath } from "../../fakes/session-index.ts";
import { asMessage } from "../messages.ts";
import { Conversation, SMALL } from "./conversation.ts";

const setting = () => ({ ...SMALL, summarizer: answering("short") });

describe("messages that are not stored", () => {
  it("stay in the list, with everything behind them", async () => {
    const talk = await Conversation.begin(setting());
    await using _store = talk.store;
    await talk.say(alternating(60, 400));
    const fresh = alternating(30, 400);
    const outcome = await talk.engine.compress([...talk.live, ...fresh]);
    expect(outcome.kind).toBe("compacted");
    for (const message of fresh) expect(outcome.messages).toContain(message);
    expect(outcome.summarised?.to).toBe(60);
    expect(outcome.notices).toContainEqual(expect.objectContaining({ cause: "lcm_not_stored" }));
    await talk.expectWhole();
  });

  it("stay with the calls they answer", async () => {
    const talk = await Conversation.begin(setting());
    await using _store = talk.store;
    await talk.say([...alternating(20, 400), ...toolRounds(1, 300), ...alternating(40, 400)]);
    const list = talk.live.map((message) =>
      message.role === "tool" ? withMeta(message, { rowId: undefined }) : message,
    );
    const outcome = await talk.engine.compress(list);
    expect(outcome.summarised?.to).toBe(20);
    const call = outcome.messages.findIndex(({ meta }) => meta.rowId === list[20]?.meta.rowId);
    expect(outcome.messages[call]).toMatchObject({ toolCalls: [{ name: "read_file" }] });
    expect(outcome.messages[call + 1]).toBe(list[21]);
  });

  it("are those whose row is in another conversation", async () => {
    const talk = await Conversation.begin(setting());
    await using _store = talk.store;
    const other = await Conversation.begin(setting(), { store: talk.store, id: "other" });
    await other.say(alternating(60, 400));
    expect(await talk.engine.compress(other.live)).toMatchObject({ reason: "not_stored" });
    const engine = new LosslessEngine({ ...setting(), store: talk.store, sessionId: "unknown" });
    expect(await engine.compress(other.live)).toMatchObject({ reason: "not_stored" });
  });
});

describe("a store that keeps no summaries", () => {
  it("read-only: the list stays, no model is asked, and the user learns why", async () => {
    const path = newPath();
    const model = answering("short");
    {
      await using store = await openSessionStore({ path });
      await (await Conversation.begin(setting(), { store })).say(alternating(60, 400));
    }
    execute(path, "DROP TRIGGER hermes_memory_nodes_delete; DROP TABLE lcm_nodes");
    await using store = await openSessionStore({ path, readOnly: true });
    const engine = new LosslessEngine({ ...SMALL, summarizer: model, store, sessionId: "root" });
    const messages = (await store.getMessages("root")).map(
      (row) => ({ ...row, _row_id: row.id }) as unknown as OpenAiMessage,
    );
    const outcome = await engine.compress(messages);
    expect(outcome).toMatchObject({ kind: "unchanged", reason: "not_stored", messages });
    expect(outcome.notices.map(({ cause }) => cause)).toContain("lcm_read_only");
    expect(model.prompts).toEqual([]);
    const status = JSON.parse(await engine.handleToolCall("lcm_status", {})) as object;
    expect(status).toMatchObject({ can_store: false, messages: 60, covered_messages: 0, nodes: 0 });
  });

  it("closed: the list stays", async () => {
    const talk = await Conversation.begin(setting());
    await talk.say(alternating(60, 400));
    await talk.store.close();
    const outcome = await talk.engine.compress(talk.live);
    expect(outcome).toMatchObject({ kind: "aborted", reason: "not_stored" });
    expect(outcome.messages).toBe(talk.live);
    expect(await talk.tool("lcm_status")).toEqual({ error: expect.stringContaining("closed") });
  });
});

describe("what others left", () => {
  it("a branch keeps what its parent's overview said, and can still expand it", async () => {
    const model = modelThat((prompt) => factsIn(prompt).join(" ") || "nothing");
    const talk = await Conversation.begin({ ...SMALL, summarizer: model });
    await using _store = talk.store;
    await talk.say([
      ...alternating(6, 400),
      user(10),
      asMessage({ role: "assistant", content: "fact-early" }),
    ]);
    await talk.say(alternating(60, 400));
    await talk.compact();
    const early = (await talk.nodes()).find(({ summary }) => summary.includes("fact-early"));
    const parentSession = talk.sessionId;
    await talk.branch();
    expect(await talk.nodes()).toEqual([]);
    await talk.say(alternating(60, 400));
    const outcome = await talk.compact();
    expect(outcome.summary).toContain("fact-early");
    await talk.expectWhole();
    await talk.expectReadable();
    expect(await talk.tool("lcm_expand", { node_id: early?.node_id })).toMatchObject({
      node_id: early?.node_id,
    });
    // The parent session continues separately.
    const parent = await Conversation.begin(talk.setting, { store: talk.store, id: "unused" });
    parent.sessionId = parentSession;
    await parent.resume();
    await parent.say(alternating(60, 400));
    expect((await parent.compact()).kind).toBe("compacted");
    await parent.expectWhole();
    await talk.expectWhole();
  });

  it("after its first sessions are pruned, a conversation goes on with what its overview said", async () => {
    const model = modelThat((prompt) => factsIn(prompt).join(" ") || "nothing");
    const talk = await Conversation.begin({ ...SMALL, summarizer: model });
    await using _store = talk.store;
    await talk.say([
      ...alternating(6, 400),
      user(10),
      asMessage({ role: "assistant", content: "fact-early" }),
    ]);
    await talk.say(alternating(60, 400));
    await talk.compact();
    await talk.store.deleteSession("root");
    expect(await talk.nodes()).toEqual([]);
    await talk.resume();
    await talk.say(alternating(60, 400));
    const outcome = await talk.compact();
    expect(outcome.summary).toContain("fact-early");
    expect(outcome.messages.filter(isHandoff)).toHaveLength(1);
    await talk.expectWhole();
    await talk.expectReadable();
  });

  it("turns the user took back are neither covered nor shown again", async () => {
    const talk = await Conversation.begin(setting());
    await using _store = talk.store;
    await talk.say(alternating(60, 400));
    await talk.engine.compress(talk.live); // stored; the process ends before the rotation
    const [, , , , , target] = await talk.store.listRecentUserMessages("root", { limit: 100 });
    await talk.store.rewindToMessage("root", target?.id ?? 0);
    await talk.resume();
    await talk.say(alternating(60, 400));
    expect((await talk.compact()).kind).toBe("compacted");
    await talk.expectWhole();
    const first = (await talk.nodes()).filter(({ depth }) => depth === 0).at(-1);
    expect((await talk.engine.expand(first?.node_id ?? "")).every(({ active }) => active === 1)).toBe(true);
  });
});
