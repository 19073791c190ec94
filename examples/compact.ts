// A conversation that gets too long: what a compaction keeps and summarises, how to read the rest again, and what caching saves.
// Run it in a checkout: node examples/compact.ts
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  applyPromptCaching,
  ContextCompressor,
  LosslessEngine,
  type OpenAiMessage,
  openSessionStore,
} from "hermes-memory";
import { estimateMessages } from "hermes-memory/context";
import {
  cacheSavings,
  costOf,
  findPrices,
  frozenSnapshotSavings,
  normalizeUsage,
} from "hermes-memory/models";

// A window of 16,000 tokens keeps the lists short. Compaction starts at 85 % of it, and keeps about 2,700 tokens at the end.
const contextLength = 16_000;

// In a real program this function asks a language model. Here it returns a fixed summary.
const summarizer = {
  complete: async ({ prompt }: { prompt: string }) => {
    if (prompt.includes("## Goal"))
      return [
        "## Goal\nFind out why the kiln stops at 1150 degrees, and fix it.",
        "## Completed Actions\n1. Read src/limits.ts and src/ramp.ts; MAX is 1150 (read_file).\n2. Ran the tests: passed (terminal).\n3. Raised MAX to 1240 (patch).",
        "## Key Decisions\nMAX becomes 1240, because cone 8 glazes need it.",
      ].join("\n\n");
    if (prompt.includes("RangeError")) return "src/ramp.ts refuses targets above MAX.";
    if (prompt.includes("npm test")) return "The tests passed. Cone 8 glazes need 1240, so MAX was raised.";
    return "MAX in src/limits.ts was 1150.";
  },
};

const messages = conversation();
console.log(`before: ${messages.length} messages, ${estimateMessages(messages)} tokens`);
show(messages);

// 1. The engine decides from the token usage of the model's last reply.
const engine = new ContextCompressor({ contextLength, summarizer });
engine.updateFromResponse({ promptTokens: 14_900, completionTokens: 120 });
console.log(`\ntime to compact: ${engine.shouldCompress()} (from ${engine.thresholdTokens} tokens on)`);

// 2. The outcome has the new list, and says what happened to the old one.
const { kind, summarised, prunedResults, leftOut, ...outcome } = await engine.compress(messages);
console.log(
  `${kind}: messages ${summarised?.from} to ${(summarised?.to ?? 0) - 1} became the handoff at ${outcome.summaryIndex},`,
);
console.log(`old tool results shortened first: ${prunedResults}; left out: ${leftOut.length}`);
console.log(`\nafter: ${outcome.messages.length} messages, ${outcome.tokensAfter} tokens`);
show(outcome.messages);

// 3. When the summary model fails, the outcome and its notices say so.
const broken = { complete: () => Promise.reject(new Error("503 Service Unavailable")) };
const failed = await new ContextCompressor({ contextLength, summarizer: broken }).compress(messages);
console.log(`\nwithout a model: ${failed.kind}, ${failed.tokensAfter} tokens, made by: ${failed.method}`);
for (const { text } of failed.notices) console.log(`notice: ${text}`);

// 4. The lossless engine stores summaries of rows in the session store; each one refers to its rows.
const home = mkdtempSync(join(tmpdir(), "hermes-example-")); // a real agent uses the user's home: ~/.hermes
{
  await using store = await openSessionStore({ path: join(home, "state.db") });
  const sessionId = await store.createSession("kiln", { source: "cli" });
  const rows = await store.appendMany(sessionId, messages);
  const live = messages.map((message, at) => ({ ...message, _row_id: rows[at] ?? 0 }));
  const lossless = new LosslessEngine({ store, sessionId, contextLength, summarizer, leafTokens: 3_000 });
  const compacted = await lossless.compress(live);
  console.log(
    `\nlossless: ${compacted.kind}, ${compacted.messages.length} messages, ${compacted.tokensAfter} tokens`,
  );
  console.log(compacted.summary);

  const tool = async (name: string, args: Record<string, unknown>) =>
    JSON.parse(await lossless.handleToolCall(name, args, compacted.messages));
  const { results } = await tool("lcm_grep", { query: "RangeError", limit: 1 });
  const [{ store_id, covered_by, snippet }] = results;
  console.log(`\nlcm_grep: message ${store_id}, part of ${covered_by}: ${snippet.split("\n")[0]}`);
  const { content } = await tool("lcm_expand", { store_id, max_tokens: 8_000 });
  console.log(
    `lcm_expand: word for word as it was stored: ${content === live.find((m) => m._row_id === store_id)?.content}`,
  );
}
rmSync(home, { recursive: true });

// 5. Cache markers in the request let the next one reuse its beginning from the provider's cache.
const marked = applyPromptCaching(
  [{ role: "system", content: "You are a kiln engineer." }, ...outcome.messages],
  {
    native: true,
  },
);
console.log(
  "\nmarked for the cache:",
  marked.flatMap((message, at) => (hasMarker(message) ? [at] : [])).join(", "),
);

// 6. The savings, from the usage of three calls. A note was written to memory before the third; the prompt did not change.
const calls = [
  { input_tokens: 400, cache_read_input_tokens: 0, cache_creation_input_tokens: 12_000, output_tokens: 200 },
  {
    input_tokens: 300,
    cache_read_input_tokens: 12_000,
    cache_creation_input_tokens: 900,
    output_tokens: 250,
  },
  {
    input_tokens: 350,
    cache_read_input_tokens: 12_900,
    cache_creation_input_tokens: 700,
    output_tokens: 180,
  },
].map((usage) => normalizeUsage(usage, "anthropic"));
const prices = await findPrices({ model: "claude-sonnet-4-5", provider: "anthropic" });
if (prices === undefined) throw new Error("The catalogue does not know the model.");
const paid = calls.reduce((sum, call) => sum + costOf(call, prices.at(12_000)), 0);
const { saved, hitRate } = cacheSavings(calls, prices);
console.log(
  `paid: $${paid.toFixed(4)}, saved by caching: $${saved.toFixed(4)}, hit rate ${(hitRate * 100).toFixed(0)} %`,
);
console.log(`saved by the frozen snapshot: $${frozenSnapshotSavings(calls, [2], prices).toFixed(4)}`);

/** Two questions about a kiln, with the assistant's tool calls in between. */
function conversation(): readonly OpenAiMessage[] {
  let calls = 0;
  const round = (name: string, args: object, result: string): OpenAiMessage[] => {
    calls += 1;
    const call = { name, arguments: JSON.stringify(args) };
    return [
      { role: "assistant", content: "", tool_calls: [{ id: `c${calls}`, type: "function", function: call }] },
      { role: "tool", tool_call_id: `c${calls}`, content: result },
    ];
  };
  const lines = (text: string, count: number): string =>
    Array.from({ length: count }, (_, at) => `${at + 1}: ${text}`).join("\n");
  return [
    { role: "user", content: "Why does the kiln stop at 1150 degrees?" },
    { role: "assistant", content: "I will look at its limits." },
    { role: "user", content: "Go ahead. The thermocouple is new, by the way." },
    ...round(
      "read_file",
      { path: "src/limits.ts" },
      lines("export const MAX = 1150; // thermocouple type K", 150),
    ),
    ...round("read_file", { path: "src/ramp.ts" }, lines("if (target > MAX) throw new RangeError();", 190)),
    ...round(
      "terminal",
      { command: "npm test" },
      `{"exit_code": 0}\n${lines("ok ramp holds for ten minutes", 260)}`,
    ),
    {
      role: "assistant",
      content: "MAX in src/limits.ts is 1150, and src/ramp.ts refuses more. The tests pass.",
    },
    { role: "user", content: "Cone 8 glazes need 1240. Raise it." },
    ...round("patch", { path: "src/limits.ts", old: "1150", new: "1240" }, "patched"),
    ...round(
      "read_file",
      { path: "src/limits.ts" },
      lines("export const MAX = 1240; // thermocouple type K", 150),
    ),
    ...round(
      "terminal",
      { command: "npm test" },
      `{"exit_code": 1}\n${lines("not ok stops at the limit", 260)}`,
    ),
    { role: "assistant", content: "Raised. One test still expects 1150." },
    { role: "user", content: "Change the test as well, then fire a test ramp." },
    ...round("patch", { path: "test/limits.test.ts", old: "1150", new: "1240" }, "patched"),
    ...round("terminal", { command: "npm test" }, `{"exit_code": 0}\n${lines("ok stops at the limit", 40)}`),
    { role: "assistant", content: "Both are changed and the tests pass. Shall I fire the ramp now?" },
    { role: "user", content: "Yes, but only to 900 today." },
  ];
}

function show(list: readonly OpenAiMessage[]): void {
  for (const [at, message] of list.entries()) {
    const text = String(message.content || `calls ${JSON.stringify(message.tool_calls)}`).replaceAll(
      "\n",
      " ",
    );
    const tokens = String(estimateMessages([message])).padStart(5);
    console.log(`${String(at).padStart(2)}  ${message.role.padEnd(9)} ${tokens}  ${text.slice(0, 72)}`);
  }
}

function hasMarker(message: OpenAiMessage): boolean {
  return JSON.stringify(message).includes("cache_control");
}
