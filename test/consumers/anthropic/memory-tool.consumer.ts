// Anthropic's SDK with its memory tool on our memory: a scripted server in place of the model, the SDK's own tool runner in between.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import Anthropic from "@anthropic-ai/sdk";
import { betaMemoryTool, type MemoryToolHandlers } from "@anthropic-ai/sdk/helpers/beta/memory";
import { openMemory } from "@hermes-memory/core";
import { anthropicMemory } from "@hermes-memory/core/anthropic";
import { makeHome } from "../kit.ts";

type Call = { readonly command: string; readonly [argument: string]: unknown };
type Result = { readonly content: string; readonly isError: boolean };

const SCRIPT: readonly Call[] = [
  { command: "view", path: "/memories" },
  { command: "create", path: "/memories/MEMORY.md", file_text: "Likes tea" },
  { command: "insert", path: "/memories/MEMORY.md", insert_line: 1, insert_text: "Has a cat" },
  { command: "str_replace", path: "/memories/MEMORY.md", old_str: "tea", new_str: "coffee" },
  { command: "create", path: "/memories/notes/garden.md", file_text: "- roses\n- ivy" },
  { command: "rename", old_path: "/memories/notes/garden.md", new_path: "/memories/garden.md" },
  { command: "view", path: "/memories/garden.md", view_range: [2, 2] },
  { command: "delete", path: "/memories/garden.md" },
  { command: "view", path: "/memories/../../../etc/passwd" },
  { command: "view", path: "/memories/garden.md" },
];

await using memory = await openMemory({ home: makeHome() });
const me = memory.user({ platform: "web", id: "ana" });
const handlers: MemoryToolHandlers = anthropicMemory(me); // a test of types too

const results: Result[] = [];
const server = createServer((request, response) => {
  let body = "";
  request.on("data", (chunk) => (body += chunk));
  request.on("end", () => {
    const { messages, tools } = JSON.parse(body);
    const last = messages.at(-1);
    // Later requests continue a thread and do not repeat the tools.
    if (typeof last.content === "string")
      assert.deepEqual(tools, [{ type: "memory_20250818", name: "memory" }]);
    for (const block of Array.isArray(last.content) ? last.content : [])
      if (block.type === "tool_result")
        results.push({ content: textOf(block.content), isError: block.is_error === true });
    response.setHeader("content-type", "application/json").end(JSON.stringify(reply(results.length)));
  });
});
await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));

const client = new Anthropic({
  apiKey: "none",
  baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  maxRetries: 0,
});
const final = await client.beta.messages.toolRunner({
  model: "scripted",
  max_tokens: 100,
  betas: ["context-management-2025-06-27"],
  messages: [{ role: "user", content: "Remember that I like tea." }],
  tools: [betaMemoryTool(handlers)],
});
server.close();

assert.deepEqual(final.content, [{ type: "text", text: "Done." }]);
assert.deepEqual(
  results.map(({ isError }) => isError),
  [false, false, false, false, false, false, false, false, true, true],
);
const said = results.map(({ content }) => content);
assert.match(said[0] ?? "", /^Here're the files and directories up to 2 levels deep in \/memories/);
assert.equal(said[1], "File created successfully at: /memories/MEMORY.md");
assert.equal(said[2], "The file /memories/MEMORY.md has been edited.");
assert.match(said[3] ?? "", /Likes coffee/);
assert.equal(said[6], "Here's the content of /memories/garden.md with line numbers:\n     2\t- ivy");
assert.equal(said[7], "Successfully deleted /memories/garden.md");
assert.match(said[8] ?? "", /cannot be used/);
assert.match(said[9] ?? "", /does not exist/);
assert.deepEqual(
  (await me.list()).map(({ text }) => text),
  ["Likes coffee", "Has a cat"],
);
assert.equal((await me.history()).length, 3);
assert.deepEqual(await memory.owner.list(), []);
console.log(`${SCRIPT.length} calls of the model, 3 changes in the journal`);

function reply(done: number): object {
  const call = SCRIPT[done];
  const content = call
    ? [{ type: "tool_use", id: `call_${done}`, name: "memory", input: call }]
    : [{ type: "text", text: "Done." }];
  return {
    id: `msg_${done}`,
    type: "message",
    role: "assistant",
    model: "scripted",
    content,
    stop_reason: call ? "tool_use" : "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  };
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return (content as readonly { readonly text?: string }[]).map(({ text = "" }) => text).join("");
}
