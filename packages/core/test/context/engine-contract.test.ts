// The built-in engines and the plugin of docs/context.md against the contract suite of context engines.

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { ContextCompressor } from "../../src/context/compressor/compressor.ts";
import { type SelectedEngine, selectEngine } from "../../src/context/select-engine.ts";
import type { TextModel } from "../../src/lib/index.ts";
import { type Message, withMeta } from "../../src/message/index.ts";
import { frozen } from "../../testing/context-engine/lists.ts";
import { answering } from "../../testing/context-engine/summarisers.ts";
import { userContents } from "../../testing/context-engine/valid-list.ts";
import { contextEngineContract, type OpenEngine } from "../../testing/index.ts";
import { writePlugin } from "../fakes/plugins.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";
import { histories } from "./histories.ts";
import { Conversation, SMALL } from "./lossless/conversation.ts";
import { expectPairs } from "./valid-list.ts";

const root = resolve(import.meta.dirname, "../../../..");

const SUMMARY = "## Goal\nGo on.";
const TOO_LONG_FOR_A_TEST_MS = 20_000;

/** The contract suite, and the property that needs fast-check. */
function engineContract(label: string, open: OpenEngine): void {
  contextEngineContract({ describe, it, expect }, label, open);

  describe(`${label} compacting`, () => {
    it(
      "keeps any history valid, untouched and with its newest user message",
      async () => {
        await fc.assert(
          fc.asyncProperty(histories({ maxLength: 30 }), async (history) => {
            const { engine, prepare } = await open({ contextLength: 30_000, summarizer: answering(SUMMARY) });
            const before = frozen(await prepare(history));
            const outcome = await engine.compress(before);
            expectPairs(outcome.messages);
            const newest = userContents(before).at(-1);
            if (newest !== undefined) expect(userContents(outcome.messages)).toContainEqual(newest);
            if (outcome.kind === "unchanged") expect(outcome.messages).toBe(before);
            if (outcome.kind !== "compacted") expect(outcome.reason).toBeDefined();
          }),
          { numRuns: 25 },
        );
      },
      TOO_LONG_FOR_A_TEST_MS,
    );
  });
}

engineContract("the compressor", async ({ contextLength, summarizer }) => ({
  engine: new ContextCompressor({ contextLength, summarizer }),
  prepare: async (messages) => messages,
}));

engineContract("the lossless engine", async ({ contextLength, summarizer }) => {
  const talk = await Conversation.begin({ ...SMALL, contextLength, summarizer });
  onTestFinished(() => talk.store[Symbol.asyncDispose]());
  const isStored = ({ meta }: Message): boolean =>
    meta.isHandoff === true || (meta.rowId !== undefined && talk.written.has(meta.rowId));
  return {
    engine: talk.engine,
    // The compacted list goes to a continuation of the session, where new messages are stored.
    prepare: async (messages) => {
      const compacted = talk.written.size > 0 ? messages.filter(isStored) : [];
      if (compacted.length > 0) await talk.rotate(compacted);
      await talk.say(
        messages.slice(compacted.length).map((message) => withMeta(message, { rowId: undefined })),
      );
      return talk.live;
    },
  };
});

engineContract("the plugin of docs/context.md", async ({ contextLength, summarizer }) => {
  const { engine } = await selectPluginOfThePage(contextLength, summarizer);
  return { engine, prepare: async (messages) => messages };
});

describe("the plugin of docs/context.md", () => {
  it("is found by its folder and selected by its name, without a warning", async () => {
    const selected = await selectPluginOfThePage(200_000, answering(SUMMARY));
    expect(selected).toMatchObject({ source: "plugin", remarks: [] });
    expect(selected.warning).toBeUndefined();
    expect(selected.engine).toMatchObject({
      name: "patient",
      contextLength: 200_000,
      thresholdTokens: 160_000,
    });
  });
});

/**
 * Puts the files shown on the page into a home. In a checkout the package cannot be imported by name, so its index file is used.
 */
async function selectPluginOfThePage(
  contextLength: number,
  summarizer: TextModel | undefined,
): Promise<SelectedEngine> {
  const home = tempDirectory();
  const door = pathToFileURL(resolve(root, "packages/core/src/index.ts")).href;
  writePlugin(home, "patient", {
    "plugin.yaml": codeOfThePage("yaml", "kind: context_engine"),
    "index.ts": codeOfThePage("ts", "extends ContextCompressor").replace(
      '"hermes-memory"',
      JSON.stringify(door),
    ),
  });
  const context = { engine: "patient", lcm: { leafTokens: 1, leafSummaryTokens: 1, fanout: 2, maxDepth: 1 } };
  const compressor = () => new ContextCompressor({ contextLength, summarizer });
  const window = { model: "m", contextLength };
  return selectEngine({ context }, { home, window, summarizer, builtIn: { compressor } });
}

/** The code block that contains these words. */
function codeOfThePage(language: string, words: string): string {
  const page = readFileSync(resolve(root, "docs/context.md"), "utf8");
  const blocks = [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)];
  const block = blocks.find(([, written, code]) => written === language && code?.includes(words));
  expect(block, `${language} with '${words}' in docs/context.md`).toBeDefined();
  return block?.[2] ?? "";
}
