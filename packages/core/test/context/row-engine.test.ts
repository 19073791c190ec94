// A plugin of version 1 of the contract, from a folder: it sees rows and returns rows, and the agent has messages on both sides.
import { describe, expect, it } from "vitest";
import { ContextCompressor } from "../../src/context/compressor/compressor.ts";
import type { CompressOutcome } from "../../src/context/engine.ts";
import { selectEngine } from "../../src/context/select-engine.ts";
import { type Message, newMessage } from "../../src/message/index.ts";
import { engineMembers, writeEngine } from "../fakes/engine-plugins.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";

const window = { model: "m", contextLength: 100_000 };
const compressor = () => new ContextCompressor({ contextLength: 50_000, summarizer: undefined });

/** `body` is the body of `compress(rows)`. Everything it is called with is kept in `seen`. */
async function engineThat(body: string, members = "") {
  const home = tempDirectory();
  const source = engineMembers(
    "mine",
    `#count = 0; seen = [];
    async compress(rows) { this.#count += 1; this.seen.push(rows); ${body} }
    hasContentToCompress(rows) { this.seen.push(rows); return rows.length > 2; }
    onSessionEnd(id, rows) { this.seen.push([id, ...rows]); }
    handleToolCall(name, args, rows) { return JSON.stringify([name, rows.length, this.#count]); }
    getToolSchemas() { return []; }
    ${members}`,
  );
  writeEngine(home, "mine", `export default class {${source}}`);
  const context = { engine: "mine", lcm: { leafTokens: 1, leafSummaryTokens: 1, fanout: 2, maxDepth: 1 } };
  const { engine, warning } = await selectEngine({ context }, { home, window, builtIn: { compressor } });
  expect(warning).toBeUndefined();
  return { engine, seen: (engine as unknown as { seen: unknown[][] }).seen };
}

const OUTCOME =
  '{ kind: "compacted", leftOut: [], prunedResults: 0, tokensBefore: 2, tokensAfter: 1, notices: [],';
const LIST: readonly Message[] = [
  newMessage(
    { role: "user", content: "typed" },
    { id: "m1", rowId: 4, atSeconds: 12, storedContent: "as typed" },
  ),
  newMessage(
    {
      role: "assistant",
      content: null,
      toolCalls: [{ id: "c", name: "read", arguments: "{}" }],
      vendor: { reasoning_details: [{ signature: "s" }] },
    },
    { id: "m2", finishReason: "tool_calls" },
  ),
  newMessage({ role: "tool", content: "result", toolCallId: "c", toolName: "read" }, { id: "m3" }),
  newMessage({ role: "user", content: "earlier" }, { id: "m4", isHandoff: true, ephemeral: "continuation" }),
];

describe("an engine that knows rows", () => {
  it("is given rows with the keys it always had", async () => {
    const { engine, seen } = await engineThat("return { messages: rows };");
    expect(engine.contract).toBe(2);
    await engine.compress(LIST);
    expect(seen[0]).toEqual([
      { role: "user", content: "typed", timestamp: 12, _row_id: 4, _id: "m1" },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "c", type: "function", function: { name: "read", arguments: "{}" } }],
        reasoning_details: [{ signature: "s" }],
        finish_reason: "tool_calls",
        _id: "m2",
      },
      { role: "tool", content: "result", tool_call_id: "c", tool_name: "read", _id: "m3" },
      { role: "user", content: "earlier", _compressed_summary: true, _id: "m4" },
    ]);
  });

  it("gives messages back: the same ones for rows it left alone, with their meta for those it changed", async () => {
    const { engine } = await engineThat(`
      const [one, two, three, four] = rows;
      const copy = { ...one };
      const added = { role: "user", content: "summary", _compressed_summary: true };
      return ${OUTCOME} messages: [copy, added, two, { ...three, content: "short" }, { ...four, _compressed_summary: false }] };
    `);
    const { messages, ...outcome }: CompressOutcome = await engine.compress(LIST);
    expect(outcome).toMatchObject({ kind: "compacted", tokensAfter: 1 });
    expect(messages[0]).toBe(LIST[0]);
    expect(messages[1]).toMatchObject({ role: "user", content: "summary", meta: { isHandoff: true } });
    expect(messages[2]).toBe(LIST[1]);
    expect(messages[3]).toEqual({ ...LIST[2], content: "short" });
    expect(messages[4]).toEqual({ ...LIST[3], meta: { id: "m4", atSeconds: 0, ephemeral: "continuation" } });
  });

  it("may change its rows in place, and gives the same list for the same list", async () => {
    const changing = await engineThat(`rows[2].content = "changed"; return ${OUTCOME} messages: rows };`);
    const { messages } = await changing.engine.compress(LIST);
    expect(messages[2]).toEqual({ ...LIST[2], content: "changed" });
    expect(messages[0]).toBe(LIST[0]);
    expect(LIST[2]?.content).toBe("result");
    await changing.engine.compress(LIST);
    expect(changing.seen[1]?.[0]).toBe(changing.seen[0]?.[0]);
    const same = await engineThat('return { kind: "unchanged", messages: rows };');
    expect((await same.engine.compress(LIST)).messages).toBe(LIST);
  });

  it("cannot say which row a message is stored in", async () => {
    const { engine } = await engineThat(`
      const added = { role: "user", content: "new", _row_id: 4, _id: "made up" };
      return ${OUTCOME} messages: [{ ...rows[0], content: "short", _row_id: 99 }, added, { ...rows[2], _row_id: 5 }] };
    `);
    const { messages } = await engine.compress(LIST);
    expect(messages.map(({ meta }) => meta.rowId)).toEqual([4, undefined, undefined]);
    expect(messages.map(({ meta }) => meta.id)).toEqual(["m1", expect.any(String), "m3"]);
    expect(messages[1]?.meta.id).not.toBe("made up");
  });

  it("that splits a message gives two, each with an id of its own", async () => {
    const { engine } = await engineThat(`
      return ${OUTCOME} messages: [{ ...rows[0], content: "ty" }, { ...rows[0], content: "ped" }] };
    `);
    const { messages } = await engine.compress(LIST);
    expect(messages.map(({ content }) => content)).toEqual(["ty", "ped"]);
    expect(messages[0]?.meta.id).toBe("m1");
    expect(messages[1]?.meta.id).not.toBe("m1");
  });

  it("has its other members as they are, private ones included, and what it cannot return is passed on", async () => {
    const { engine, seen } = await engineThat(
      "return { messages: [null, { content: 1 }] };",
      "thresholdTokens = 77;",
    );
    expect(engine.hasContentToCompress?.(LIST)).toBe(true);
    await engine.onSessionEnd?.("s", LIST.slice(0, 1));
    expect(seen[1]).toEqual(["s", expect.objectContaining({ _id: "m1" })]);
    expect((await engine.compress(LIST)).messages).toEqual([null, { content: 1 }]);
    expect(await engine.handleToolCall?.("t", {}, LIST)).toBe('["t",4,1]');
    expect(engine.thresholdTokens).toBe(77);
    expect(engine.carryOverNewSessionContext).toBeUndefined();
  });

  it("of version 2 gets the messages themselves", async () => {
    const { engine, seen } = await engineThat("return { messages: rows };", "contract = 2;");
    expect((await engine.compress(LIST)).messages).toBe(LIST);
    expect(seen[0]).toBe(LIST);
  });
});
