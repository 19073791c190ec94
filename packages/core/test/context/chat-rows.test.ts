import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ContextCompressor } from "../../src/context/compressor/compressor.ts";
import type { CompressOutcome } from "../../src/context/engine.ts";
import { applyPromptCaching, estimateMessages } from "../../src/context/index.ts";
import { selectEngine } from "../../src/context/select-engine.ts";
import {
  type Message,
  newMessage,
  type OpenAiMessage,
  parseToolCalls,
  toOpenAi,
} from "../../src/message/index.ts";
import { alternating } from "../../testing/context-engine/lists.ts";
import { answering } from "../../testing/context-engine/summarisers.ts";
import { engineMembers, writeEngine } from "../fakes/engine-plugins.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";
import { histories } from "./histories.ts";
import { asMessage } from "./messages.ts";
import { expectPairs } from "./valid-list.ts";

// Chat rows given to a built-in engine: the outcome has chat rows, and rows that stay are the same objects.

const compressor = () =>
  new ContextCompressor({ contextLength: 30_000, summarizer: answering("## Goal\nGo on.") });
const rowsOf = (count: number, chars: number): OpenAiMessage[] =>
  alternating(count, chars).map((message) => toOpenAi(message));
const withoutIds = (rows: readonly object[]): unknown => rows.map((row) => ({ ...row, _id: undefined }));

describe("a compaction of rows", () => {
  it("does to them what it does to messages", async () => {
    await fc.assert(
      fc.asyncProperty(histories(), async (messages) => {
        const rows = messages.map((message) => toOpenAi(message));
        const ofRows = await compressor().compress(rows);
        const ofMessages = await compressor().compress(messages);
        expect({ ...ofRows, messages: [] }).toEqual({ ...ofMessages, messages: [] });
        expect(withoutIds(ofRows.messages)).toEqual(
          withoutIds(ofMessages.messages.map((message) => toOpenAi(message))),
        );
        expect(ofRows.messages === rows).toBe(ofMessages.messages === messages);
      }),
      { numRuns: 60 },
    );
  });

  it("takes objects that only look like messages, as it takes every row", async () => {
    const meta = { id: "a", atSeconds: 1 };
    const odd = [
      { role: "assistant", content: "no calls", meta },
      { role: "assistant", content: 5, toolCalls: 5, meta },
      { role: "tool", content: [null, { type: "text" }], meta },
      { role: "user", content: { a: 1 }, meta: { ...meta, storedContent: 5 } },
      { content: "no role", meta },
    ] as unknown as OpenAiMessage[];
    for (const list of [odd, [...rowsOf(20, 3_000), ...odd, ...rowsOf(2, 100)]]) {
      const { kind } = await compressor().compress(list);
      expect(["compacted", "pruned", "unchanged"]).toContain(kind);
      expect(estimateMessages(list)).toBeGreaterThan(0);
      expect(applyPromptCaching(list, { native: true })).toHaveLength(list.length);
    }
  });

  it("leaves out entries that are no objects, and takes a row of any depth or without a role", async () => {
    let deep: unknown = "x";
    for (let level = 0; level < 5_000; level += 1) deep = [deep];
    const odd = [null, undefined, 17, "text", { content: "no role" }, { role: "user", content: deep }];
    const rows = [...rowsOf(3, 100), ...odd, ...rowsOf(40, 3_000)] as readonly OpenAiMessage[];
    const { kind, summarised } = await compressor().compress(rows);
    expect(kind).toBe("compacted");
    expect(summarised?.from).toBe(3);
    const short = await compressor().compress([{ content: "no role" }] as unknown as OpenAiMessage[]);
    expect(short.messages).toEqual([{ content: "no role" }]);
  });
});

describe("arguments of a call that are no text", () => {
  const holdsItself: Record<string, unknown> = {};
  holdsItself.self = holdsItself;
  const callWith = (given: unknown) => ({
    role: "assistant",
    content: "",
    tool_calls: [{ id: "c1", type: "function", function: { name: "f", arguments: given } }],
  });
  const argumentsOf = (given: unknown) => parseToolCalls(callWith(given).tool_calls)[0]?.arguments;

  it.each([
    ["hold a bigint", { id: 1n }],
    ["hold themselves", holdsItself],
    ["are a function", () => 1],
  ])("are nothing when they %s, and the list is compacted all the same", async (_what, given) => {
    expect(argumentsOf(given)).toBe("");
    const result = { role: "tool", tool_call_id: "c1", content: "done" };
    const list = [...rowsOf(20, 3_000), callWith(given), result, ...rowsOf(10, 3_000)];
    const outcome = await compressor().compress(list as unknown as OpenAiMessage[]);
    expect(outcome.kind).toBe("compacted");
    expectPairs(outcome.messages.map((row) => asMessage(row)));
  });
});

// A plugin of contract version 1: it gets and returns chat rows, while the agent has messages.

const window = { model: "m", contextLength: 100_000 };
const builtIn = () => new ContextCompressor({ contextLength: 50_000, summarizer: undefined });

/** `body` is the body of `compress(rows)`. All its arguments are kept in `seen`. */
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
  const { engine, warning } = await selectEngine(
    { context },
    { home, window, builtIn: { compressor: builtIn } },
  );
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

  it("that splits a message gives two, each with its own id", async () => {
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
});
