// Fake model servers: reasoning in each vendor's way, bytes on the socket, and a wire in a process of its own.
import { isUtf8 } from "node:buffer";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createOpenRouter } from "@openrouter/ai-sdk-provider";
import { expect, it } from "vitest";
import { startChild } from "../../../core/test/fakes/child.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { failureOf, listen, metadataIn, QUESTION } from "./wires/listen.ts";
import { type Step, serverError } from "./wires/script.ts";
import { startWire } from "./wires/wire-in-test.ts";

const apiKey = "test-key";
const THOUGHT = { reasoning: "First I think.", text: "Then I answer.", signature: "c2lnbmVk" };
const SAID = { reasoning: THOUGHT.reasoning, text: THOUGHT.text, errors: [] };

it.each(["reasoning_content", "reasoning", "reasoning_details"] as const)(
  "a compatible server sends reasoning as %s",
  async (reasoningField) => {
    const wire = await startWire("chat", [THOUGHT], { reasoningField });
    const heard = await listen(createOpenAICompatible({ name: "fake", baseURL: wire.url })("fake-model"));
    expect(heard).toMatchObject(SAID);
  },
);

it("OpenRouter's provider finds the signed details", async () => {
  const wire = await startWire("chat", [THOUGHT], { reasoningField: "reasoning_details" });
  const heard = await listen(createOpenRouter({ baseURL: wire.url, apiKey }).chat("anthropic/claude-x"));
  expect(heard).toMatchObject(SAID);
  const details = JSON.stringify(metadataIn(heard.parts, "openrouter"));
  expect(details).toContain('"reasoning.text"');
  expect(details).toContain(THOUGHT.signature);
});

it("Responses hands out encrypted reasoning to those who ask for it", async () => {
  const wire = await startWire("responses", [THOUGHT, THOUGHT]);
  const model = createOpenAI({ baseURL: wire.url, apiKey }).responses("gpt-5");
  const asking = await listen(model, { providerOptions: { openai: { store: false } } });
  expect(asking).toMatchObject(SAID);
  expect(metadataIn(asking.parts, "openai")).toContainEqual(
    expect.objectContaining({ reasoningEncryptedContent: THOUGHT.signature }),
  );
  const other = await listen(model);
  expect(other).toMatchObject(SAID);
  expect(JSON.stringify(other.parts)).not.toContain(THOUGHT.signature);
});

it("Anthropic signs its thinking, and redacts some of it", async () => {
  const wire = await startWire("anthropic", [{ ...THOUGHT, redactedReasoning: "c2VjcmV0" }]);
  const heard = await listen(createAnthropic({ baseURL: wire.url, apiKey })("claude-x"));
  expect(heard).toMatchObject(SAID);
  expect(metadataIn(heard.parts, "anthropic")).toEqual([
    { signature: THOUGHT.signature },
    { redactedData: "c2VjcmV0" },
  ]);
});

it("Google signs the first call, or the end of the text", async () => {
  const toolCalls = [
    { name: "look", arguments: {} },
    { name: "look", arguments: { again: true } },
  ];
  const wire = await startWire("google", [{ ...THOUGHT, toolCalls }, THOUGHT]);
  const model = createGoogleGenerativeAI({ baseURL: wire.url, apiKey })("gemini-x");
  const calling = await listen(model);
  expect(calling).toMatchObject(SAID);
  const calls = calling.parts.filter((part) => part.type === "tool-call");
  expect(calls.map((call) => call.providerMetadata?.google?.thoughtSignature)).toEqual([
    THOUGHT.signature,
    undefined,
  ]);
  const answering = await listen(model);
  expect(answering).toMatchObject(SAID);
  expect(metadataIn(answering.parts, "google")).toEqual([{ thoughtSignature: THOUGHT.signature }]);
});

it("Google blocks a prompt without a candidate", async () => {
  const wire = await startWire("google", [{ finish: "content_filter" }]);
  const heard = await listen(createGoogleGenerativeAI({ baseURL: wire.url, apiKey })("gemini-x"));
  expect(heard).toMatchObject({ text: "", finish: "content-filter", errors: [] });
});

it("characters are counted across reasoning, text and arguments", async () => {
  const toolCalls = [{ name: "look", arguments: '{"path":"x"}' }];
  const reply = { reasoning: "think", text: "say", toolCalls, stallAfterChars: 12 };
  const wire = await startWire("anthropic", [reply]);
  const stop = new AbortController();
  const model = createAnthropic({ baseURL: wire.url, apiKey })("claude-x");
  const { stream } = await model.doStream({ ...QUESTION, abortSignal: stop.signal });
  let input = "";
  for await (const part of stream) {
    if (part.type === "tool-input-delta") input += part.delta;
    if (input === '{"pa') break; // 5 + 3 + 4
  }
  stop.abort();
  await wire.waitForAbort(0);
  expect(input).toBe('{"pa');
});

it.each([true, false])("writes go apart inside characters: %s", async (splitBytes) => {
  const wire = await startWire("chat", [{ text: "日本語のテキスト", splitBytes }]);
  const body = JSON.stringify({ model: "fake-model", stream: true, messages: [] });
  const response = await fetch(`${wire.url}/chat/completions`, { method: "POST", body });
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body ?? []) chunks.push(chunk);
  expect(chunks.every((chunk) => isUtf8(chunk))).toBe(!splitBytes);
  expect(isUtf8(Buffer.concat(chunks))).toBe(true);
});

it("a wire in a process of its own tells what it is asked", async () => {
  const steps: Step[] = [{ text: "from outside" }, serverError(503), { text: "never", stallAfterChars: 2 }];
  const file = join(tempDirectory(), "script.json");
  writeFileSync(file, JSON.stringify(steps));
  const child = startChild(process.execPath, [
    join(import.meta.dirname, "wires/scripted-process.ts"),
    "chat",
    file,
    '{"contextLength":20000}',
  ]);
  const url = (await child.nextLine()) ?? "";
  const model = createOpenAICompatible({ name: "fake", baseURL: url })("fake-model");
  const told = async (): Promise<unknown> => JSON.parse((await child.nextLine()) ?? "null");

  expect((await listen(model)).text).toBe("from outside");
  const messages = [{ role: "user", content: "Hello" }];
  expect(await told()).toMatchObject({ request: { index: 0, system: "Be short.", messages } });
  expect((await failureOf(model.doStream(QUESTION))).message).toBe(
    "The server had an error with this request.",
  );
  expect(await told()).toMatchObject({ request: { index: 1 } });

  const stop = new AbortController();
  await listen(model, { abortSignal: stop.signal }, () => stop.abort());
  expect(await told()).toMatchObject({ request: { index: 2 } });
  expect(await told()).toEqual({ aborted: 2 });

  await failureOf(model.doStream(QUESTION));
  expect([await told(), await told()]).toContainEqual({
    problem: "The script has no step left for request 3.",
  });
  child.closeInput();
  expect(await child.rest()).toEqual([]);
});

it("a wire in a process of its own takes a module for answers that depend on the request", async () => {
  const file = join(tempDirectory(), "script.mjs");
  writeFileSync(file, 'export default ({ messages }) => ({ text: messages.at(-1).content + " to you" });');
  const child = startChild(process.execPath, [
    join(import.meta.dirname, "wires/scripted-process.ts"),
    "anthropic",
    file,
  ]);
  const model = createAnthropic({ baseURL: (await child.nextLine()) ?? "", apiKey })("claude-x");
  expect((await listen(model)).text).toBe("Hello to you");
});
