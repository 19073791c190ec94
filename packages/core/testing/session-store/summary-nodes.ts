// Summary nodes, and the reads that a lossless context engine needs: which sessions continue which, and their messages.

import type { SummaryNode } from "../../src/sessions/index.ts";
import type { Suite } from "../runner.ts";
import {
  DAY,
  expectCode,
  type Harness,
  handMadeChain,
  ManualClock,
  messageIds,
  NOW,
  nth,
  talk,
  withSessions,
} from "./support.ts";

export function summaryNodesContract({ it, expect }: Suite, { open, reopen }: Harness): void {
  it("gives back the nodes of sessions in the order they were made, also to another handle", async () => {
    await using store = await open();
    const ids = await conversation(store, "a", 4);
    const leaves = [leafOf("a", ids.slice(0, 2)), leafOf("a", ids.slice(2), { created_at: NOW + 1 })];
    const above = nodeAbove(leaves, { method: "extract", created_at: NOW + 2 });
    expect(await store.summaries.insertSummaryNodes([...leaves, above])).toBe(true);
    expect(await store.summaries.listSummaryNodes(["a"])).toEqual([...leaves, above]);
    expect(await store.summaries.listSummaryNodes(["b", "a", "a"])).toEqual([...leaves, above]);
    expect(await store.summaries.listSummaryNodes([])).toEqual([]);
    expect(await store.summaries.getSummaryNode(above.node_id)).toEqual(above);
    expect(await store.summaries.getSummaryNode("nope")).toBeNull();
    if (reopen === undefined) return;
    await using other = await reopen(store);
    expect(await other.summaries.listSummaryNodes(["a"])).toEqual([...leaves, above]);
  });

  it("a message is covered once: the second writer stores nothing and gets false", async () => {
    await using store = await open();
    const ids = await conversation(store, "a", 6);
    expect(await store.summaries.insertSummaryNodes([leafOf("a", ids.slice(0, 3))])).toBe(true);
    const fresh = leafOf("a", ids.slice(4), { node_id: "fresh" });
    const late = leafOf("a", ids.slice(2, 4), { node_id: "late" });
    expect(await store.summaries.insertSummaryNodes([fresh, late])).toBe(false);
    expect(await names(store, "a")).toEqual([leafOf("a", ids).node_id]);
    expect(await store.summaries.insertSummaryNodes([fresh])).toBe(true);
    expect(await store.summaries.insertSummaryNodes([])).toBe(true);
  });

  it("a message is covered once over all sessions that continue each other", async () => {
    await using store = await open();
    const ids = await conversation(store, "a", 3);
    await store.summaries.insertSummaryNodes([leafOf("a", ids.slice(0, 2))]);
    await store.continueSession("a", { id: "b" });
    const again = leafOf("b", ids.slice(1), { lineage_root: "elsewhere" });
    expect(await store.summaries.insertSummaryNodes([again])).toBe(false);
    expect(await store.summaries.insertSummaryNodes([leafOf("b", ids.slice(2), { lineage_root: "a" })])).toBe(
      true,
    );
  });

  it("two leaves of one call may not share a message either", async () => {
    await using store = await open();
    const ids = await conversation(store, "a", 3);
    const both = [leafOf("a", ids.slice(0, 2)), leafOf("a", ids.slice(1), { node_id: "other" })];
    expect(await store.summaries.insertSummaryNodes(both)).toBe(false);
    expect(await names(store, "a")).toEqual([]);
  });

  it("a node has one parent, and is there before it", async () => {
    await using store = await open();
    const ids = await conversation(store, "a", 4);
    const leaves = ids.map((id) => leafOf("a", [id]));
    await store.summaries.insertSummaryNodes(leaves);
    const unknown = leafOf("a", [ids[0] ?? 0], { node_id: "never stored" });
    expect(await store.summaries.insertSummaryNodes([nodeAbove([unknown], { node_id: "x" })])).toBe(false);
    expect(await store.summaries.insertSummaryNodes([nodeAbove(leaves.slice(0, 2))])).toBe(true);
    const second = nodeAbove(leaves.slice(1, 3), { node_id: "second" });
    expect(await store.summaries.insertSummaryNodes([second])).toBe(false);
    expect(await store.summaries.insertSummaryNodes([nodeAbove(leaves.slice(2))])).toBe(true);
  });

  it("one root, depth and first message make one node, and so does one id", async () => {
    await using store = await open();
    const ids = await conversation(store, "a", 2);
    await conversation(store, "b", 2);
    await store.summaries.insertSummaryNodes([leafOf("a", ids)]);
    expect(
      await store.summaries.insertSummaryNodes([leafOf("b", ids, { node_id: "x", lineage_root: "a" })]),
    ).toBe(false);
    expect(await store.summaries.insertSummaryNodes([leafOf("b", ids, { lineage_root: "b" })])).toBe(false);
    expect(
      await store.summaries.insertSummaryNodes([leafOf("b", ids, { node_id: "x", lineage_root: "b" })]),
    ).toBe(true);
  });

  it("nodes of a session that does not exist are refused", async () => {
    await using store = await open();
    await expectCode(store.summaries.insertSummaryNodes([leafOf("nope", [1])]), "unknown-session");
  });

  it("a summary made without a model is improved once", async () => {
    await using store = await open();
    const ids = await conversation(store, "a", 2);
    const leaf = leafOf("a", ids, { method: "extract" });
    await store.summaries.insertSummaryNodes([leaf]);
    const better = { summary: "a model's text", tokens: 4, method: "model" };
    expect(await store.summaries.improveSummaryNode(leaf.node_id, better)).toBe(true);
    expect(await store.summaries.getSummaryNode(leaf.node_id)).toEqual({ ...leaf, ...better });
    expect(await store.summaries.improveSummaryNode(leaf.node_id, { ...better, summary: "later" })).toBe(
      false,
    );
    expect(await store.summaries.improveSummaryNode("nope", better)).toBe(false);
    expect(await store.summaries.getSummaryNode(leaf.node_id)).toMatchObject({ summary: "a model's text" });
  });

  it("nodes go with the session they were made in, deleted or pruned, and no others", async () => {
    const clock = new ManualClock(NOW - 100 * DAY);
    await using store = await open({ clock });
    const first = await conversation(store, "a", 2);
    await store.summaries.insertSummaryNodes([leafOf("a", first)]);
    const { id: next } = await store.continueSession("a", { id: "b" });
    clock.set(NOW);
    const second = await talk(store, next, ["three", "four"]);
    await store.summaries.insertSummaryNodes([leafOf("b", second, { lineage_root: "a" })]);
    const third = await conversation(store, "c", 2);
    await store.summaries.insertSummaryNodes([leafOf("c", third)]);
    expect(await store.pruneSessions()).toBe(1);
    expect(await names(store, "a", "b", "c")).toEqual([
      leafOf("b", second).node_id,
      leafOf("c", third).node_id,
    ]);
    expect(await store.summaries.getSummaryNode(leafOf("a", first).node_id)).toBeNull();
    await store.deleteSession("c");
    expect(await names(store, "a", "b", "c")).toEqual([leafOf("b", second).node_id]);
  });

  it("summaries are found by words, phrases, beginnings, exclusions and characters, the best first", async () => {
    await using store = await open();
    const ids = await conversation(store, "a", 4);
    const texts = [
      "the harbour crane was painted",
      "a crane in the fog",
      "灯塔的部署方案",
      "nothing of interest",
    ];
    const nodes = texts.map((summary, at) =>
      leafOf("a", [nth(ids, at)], { summary, node_id: `n${at}`, created_at: NOW + at }),
    );
    await store.summaries.insertSummaryNodes(nodes);
    const found = async (query: string, limit?: number) =>
      (await store.summaries.searchSummaryNodes(query, { limit })).map(({ node_id }) => node_id);
    expect(await found("harbour cranes")).toEqual(["n0", "n1"]);
    expect(await found("crane")).toEqual(["n1", "n0"]);
    expect(await found("crane", 1)).toEqual(["n1"]);
    expect(await found('"harbour crane"')).toEqual(["n0"]);
    expect(await found('"crane harbour"')).toEqual([]);
    expect(await found("crane NOT fog")).toEqual(["n0"]);
    expect(await found("paint* OR fog")).toEqual(["n1", "n0"]);
    expect(await found("部署")).toEqual(["n2"]);
    for (const nothing of ["", "   ", "submarine", "*"]) expect(await found(nothing)).toEqual([]);
    const [hit] = await store.summaries.searchSummaryNodes("harbour");
    expect(hit).toMatchObject({ ...nodes[0], snippet: "the >>>harbour<<< crane was painted", score: 1 });
    expect(await store.summaries.searchSummaryNodes("crane", { sessionIds: ["b"] })).toEqual([]);
  });

  it("a chain of continuations is listed root first, and a branch or a subagent's run begins a new one", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await handMadeChain(store, clock, ["r", "s"]); // as another program leaves them, without a mark
    const { id: tip } = await store.continueSession("s", { id: "t" });
    await store.branchSession("s", { id: "branch" });
    await store.createSession("run", {
      source: "cli",
      parentSessionId: "t",
      modelConfig: { _delegate_from: "t" },
    });
    await store.continueSession("branch", { id: "branch 2" });
    expect(await store.listContinued(tip)).toEqual(["r", "s", "t"]);
    expect(await store.listContinued("s")).toEqual(["r", "s"]);
    expect(await store.listContinued("branch 2")).toEqual(["branch", "branch 2"]);
    expect(await store.listContinued("run")).toEqual(["run"]);
    expect(await store.listContinued("nope")).toEqual([]);
  });

  it("keys name the active messages of each session and what they are copies of", async () => {
    await using store = await open();
    const ids = await conversation(store, "a", 3);
    await conversation(store, "c", 1);
    const copies = [...ids.slice(1).map((originId) => ({ role: "user", content: "copy", originId }))];
    const { messageIds: copied } = await store.continueSession("a", { id: "b", messages: copies });
    const [own = -1] = await talk(store, "b", ["new"]);
    expect(await store.listMessageKeys(["b", "a", "nope"])).toEqual([
      ...copied.map((id, at) => ({ id, session_id: "b", origin_id: nth(ids, at + 1) })),
      { id: own, session_id: "b", origin_id: null },
      ...ids.map((id) => ({ id, session_id: "a", origin_id: null })),
    ]);
    await store.rewindToMessage("b", own);
    expect(messageIds(await store.listMessageKeys(["b"]))).toEqual(copied);
    expect(await store.listMessageKeys([])).toEqual([]);
  });

  it("messages are read by id in the order asked for, whole, and without those that are not there", async () => {
    await using store = await withSessions(open(), "a");
    const calls = [{ id: "c1", type: "function", function: { name: "f", arguments: "{}" } }];
    const ids = await store.appendMany("a", [
      { role: "user", content: [{ type: "text", text: "parts" }] },
      { role: "assistant", content: null, toolCalls: calls, reasoning: "hm" },
      { role: "tool", content: "with \u0000 zero", toolCallId: "c1", toolName: "f" },
      { role: "user", content: "undone" },
    ]);
    await store.rewindToMessage("a", nth(ids, 3));
    const rows = await store.getMessages("a");
    const asked = [nth(ids, 2), 999_999, nth(ids, 0), 1.5, Number.NaN, nth(ids, 1), nth(ids, 3)];
    expect(await store.getMessagesById(asked)).toEqual([rows[2], rows[0], rows[1]]);
    expect(await store.getMessagesById([])).toEqual([]);
  });
}

type Store = Awaited<ReturnType<Harness["open"]>>;

async function conversation(store: Store, id: string, messages: number): Promise<number[]> {
  await store.createSession(id, { source: "cli" });
  return talk(
    store,
    id,
    Array.from({ length: messages }, (_, at) => `message ${at}`),
  );
}

async function names(store: Store, ...sessions: string[]): Promise<string[]> {
  return (await store.summaries.listSummaryNodes(sessions)).map(({ node_id }: SummaryNode) => node_id);
}

/** A summary of messages of the session. The id follows from the first of them unless it is given. */
export function leafOf(
  session: string,
  messages: readonly number[],
  fields: Partial<SummaryNode> = {},
): SummaryNode {
  return {
    node_id: `lcm_leaf_${messages[0]}`,
    lineage_root: session,
    session_id: session,
    depth: 0,
    first_message_id: messages[0] ?? 0,
    last_message_id: messages.at(-1) ?? 0,
    source_ids: messages,
    summary: `what messages ${messages.join(", ")} said`,
    tokens: 7,
    source_tokens: 70,
    method: "model",
    created_at: 1_770_000_000,
    ...fields,
  };
}

/** A node above others. */
export function nodeAbove(sources: readonly SummaryNode[], fields: Partial<SummaryNode> = {}): SummaryNode {
  const [first] = sources;
  const last = sources.at(-1);
  if (first === undefined || last === undefined) throw new Error("a node above nothing");
  return {
    ...first,
    node_id: `lcm_above_${first.first_message_id}`,
    depth: first.depth + 1,
    last_message_id: last.last_message_id,
    source_ids: sources.map(({ node_id }) => node_id),
    source_tokens: sources.reduce((sum, { source_tokens }) => sum + source_tokens, 0),
    ...fields,
  };
}
