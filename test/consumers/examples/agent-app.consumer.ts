// The agent as a component: its events in the terminal, and its UI message stream over HTTP, where the chat continues by its id.
import assert from "node:assert/strict";
import { makeHome, node, serve, stage } from "../kit.ts";

const cwd = stage("examples/agent-app");
const env = { HERMES_HOME: makeHome() };
assert.equal(
  await node(["index.ts"], { cwd, env }),
  [
    "> How warm is it in Lisbon?",
    '  temperature: {"city":"Lisbon","degrees":21}',
    "It is 21 degrees.",
    "> And what did I ask before?",
    "Before that you asked 1 time(s): How warm is it in Lisbon?",
    "",
  ].join("\n"),
);

await using server = await serve(["server.ts"], { cwd, env });
const post = async (text: string): Promise<Record<string, unknown>[]> => {
  const messages = [{ id: "m", role: "user", parts: [{ type: "text", text }] }];
  const headers = { "x-user": "ana" };
  const response = await fetch(server.url, {
    method: "POST",
    headers,
    body: JSON.stringify({ id: "web", messages }),
  });
  const lines = (await response.text()).split("\n").filter((line) => line.startsWith("data: {"));
  return lines.map((line) => JSON.parse(line.slice("data: ".length)));
};
const first = await post("How warm is it in Lisbon?");
assert.ok(
  first.some(({ type }) => type === "tool-input-available"),
  JSON.stringify(first),
);
assert.ok(
  first.some(({ type }) => type === "tool-output-available"),
  JSON.stringify(first),
);
assert.match(textOf(first), /21 degrees/);
assert.match(textOf(await post("And before?")), /asked 1 time/);
console.log("two turns as events, two as UI stream");

function textOf(chunks: readonly Record<string, unknown>[]): string {
  return chunks.map(({ type, delta }) => (type === "text-delta" ? delta : "")).join("");
}
