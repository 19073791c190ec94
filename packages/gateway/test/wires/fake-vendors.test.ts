// The wires against the fake model servers, which are written independently: their replies are read, and what a client then sends is parsed.
import { openModel } from "@hermes-memory/agent/internal/models";
import { type Message, newMessage } from "@hermes-memory/core/internal/message";
import { describe, expect, it } from "vitest";
import { startWire } from "../../../agent/test/fakes/wires/wire-in-test.ts";
import { chatWire } from "../../src/wires/chat.ts";
import { messagesWire } from "../../src/wires/messages.ts";
import { responsesWire } from "../../src/wires/responses.ts";
import { readBody, reading, requestOf } from "./wire-server.ts";

const REPLY = {
  text: "Grüße 😀",
  reasoning: "I look.",
  signature: "sig",
  toolCalls: [{ id: "call_1", name: "look", arguments: { at: "sea" } }],
  usage: { input: 10, cacheRead: 5, cacheWrite: 2, output: 7, reasoning: 3 },
  chunkChars: 1,
  splitBytes: true,
};

const KINDS = [
  ["chat", chatWire, "chat", "/chat/completions", "chat_completions"],
  ["responses", responsesWire, "responses", "/responses", "responses"],
  ["messages", messagesWire, "anthropic", "/messages", "anthropic_messages"],
] as const;

describe.each(KINDS)("the %s wire", (name, wire, kind, path, apiMode) => {
  const body = {
    model: "m",
    stream_options: { include_usage: true },
    ...(name === "responses"
      ? { input: "hi", include: ["reasoning.encrypted_content"] }
      : { messages: [{ role: "user", content: "hi" }], max_tokens: 10 }),
  };

  it.each([true, false])("reads a server's reply (stream: %s)", async (stream) => {
    const server = await startWire(kind, [REPLY]);
    const answer = await fetch(`${server.url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...body, stream }),
    });
    const reader = reading(wire);
    if (stream) for await (const chunk of answer.body ?? []) reader.push(chunk);
    expect(reader.isEnding).toBe(stream);
    const reply = stream ? reader.end() : readBody(wire, await answer.bytes());
    expect(reply).toMatchObject({
      finish: "tool_calls",
      usage: REPLY.usage,
      model: "m",
      message: {
        role: "assistant",
        content: REPLY.text,
        toolCalls: [{ id: "call_1", name: "look", arguments: '{"at":"sea"}' }],
        vendor: { reasoning: "I look." },
      },
    });
    const { reasoning_details: details, codex_reasoning_items: items } = reply?.message.vendor ?? {};
    if (name === "messages") expect(details).toMatchObject([{ thinking: "I look.", signature: "sig" }]);
    if (name === "responses") expect(items).toMatchObject([{ encrypted_content: "sig" }]);
  });

  it("parses what a client sends after such a reply, with all that the vendor needs", async () => {
    const server = await startWire(kind, [REPLY, { text: "A crane." }]);
    const provider = name === "messages" ? "anthropic" : name === "responses" ? "openai" : "custom";
    const model = await openModel({
      model: name === "responses" ? "gpt-5" : "m",
      provider,
      apiMode,
      baseUrl: server.url,
      apiKey: "k",
      keySource: "flag",
    });
    const hello = newMessage({ role: "user", content: "hi" });
    const first = await model.stream({ messages: [hello] });
    if (!first.ok) throw new Error(first.error.message);
    const said = first.value.message as Message;
    const result = newMessage({ role: "tool", toolCallId: "call_1", content: "a crane" });
    const system = newMessage({ role: "system", content: "Be kind." });
    await model.stream({ messages: [system, hello, said, result] });
    const parsed = requestOf(wire, server.requests[1]?.body as Record<string, unknown>);
    expect(parsed).toMatchObject({
      system: "Be kind.",
      isStream: true,
      unsupported: [],
      messages: [
        { role: "user", content: "hi" },
        { role: "assistant", content: REPLY.text, toolCalls: [{ id: "call_1", name: "look" }] },
        { role: "tool", toolCallId: "call_1", content: "a crane" },
      ],
    });
    const vendor = parsed.messages[1]?.vendor ?? {};
    if (name === "messages") expect(vendor.reasoning_details).toEqual(said.vendor?.reasoning_details);
    if (name === "responses")
      expect(vendor.codex_reasoning_items).toMatchObject([{ encrypted_content: "sig" }]);
    if (name === "chat") expect(vendor.reasoning_content).toBe("I look.");
  });

  it("keeps what had arrived when the server fails in the middle", async () => {
    const server = await startWire(kind, [{ text: "abcdefghij", failAfterChars: 6, chunkChars: 1 }]);
    const answer = await fetch(`${server.url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...body, stream: true }),
    });
    const reader = reading(wire);
    for await (const chunk of answer.body ?? []) reader.push(chunk);
    expect(reader.isEnding).toBe(true);
    expect(reader.end()).toMatchObject({ finish: "interrupted", message: { content: "abcdef" } });
  });
});
