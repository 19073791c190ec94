// Messages at the door, without a store: what is read of replies and lists, and what each format writes.
import { describe, expect, it } from "vitest";
import { asShown, inFormat, lastUserText, readGiven, readReply } from "../../src/memory/chat-messages.ts";
import { buildMemoryContextBlock } from "../../src/providers/index.ts";

describe("a reply", () => {
  const answer = { role: "assistant", content: "sunny" };

  it.each([
    ["a text", "sunny"],
    ["a message", answer],
    ["messages", [answer]],
    ["a completion of OpenAI", { id: "r1", choices: [{ message: answer }] }],
    ["a result with its response", { response: Promise.resolve({ id: "r1", messages: [answer] }) }],
    ["a result with the messages of all steps", { responseMessages: [answer], response: { id: "r1" } }],
    ["a result with a text only", { text: Promise.resolve("sunny") }],
    ["a promise of a result", Promise.resolve({ text: "sunny" })],
  ])("can be %s", async (_, reply) => {
    const [message, ...more] = await readReply(reply);
    expect([message?.role, message?.content, more]).toEqual(["assistant", "sunny", []]);
  });

  it.each([
    ["a call that failed", () => ({ response: Promise.reject(new Error("429")) })],
    ["a promise that was rejected", () => Promise.reject(new Error("429"))],
    ["a result without messages", () => ({ response: { messages: [] } })],
  ])("is missing in %s", async (_, reply) => {
    await expect(readReply(reply())).rejects.toMatchObject({ code: "no-reply" });
  });

  it.each([[7], [null], [undefined], [{}], [{ role: "wizard", content: "" }], [[7]]])(
    "cannot be %j",
    async (reply) => {
      await expect(readReply(reply)).rejects.toMatchObject({ code: "bad-message" });
    },
  );
});

it("the recall of a request is not read as something that was said", () => {
  const recall = buildMemoryContextBlock("From other chats: walnuts");
  const [text, parts] = readGiven([
    { role: "user", content: `Which nuts?\n\n${recall}` },
    {
      role: "user",
      content: [
        { type: "text", text: "Which nuts?" },
        { type: "text", text: recall },
      ],
    },
  ]);
  expect(text?.content).toBe("Which nuts?");
  expect(JSON.stringify(parts?.content)).not.toContain("walnuts");
});

it("each format has its own rows, and parts that not every version of the AI SDK accepts become text", () => {
  const messages = readGiven([
    { role: "user", content: "weather?" },
    {
      role: "assistant",
      content: [
        { type: "tool-call", toolCallId: "v", toolName: "search", input: {}, providerExecuted: true },
        { type: "file", mediaType: "image/png", data: "AAAA" },
        { type: "tool-call", toolCallId: "w", toolName: "weather", input: { city: "Lyon" } },
      ],
    },
    {
      role: "tool",
      content: [
        {
          type: "tool-result",
          toolCallId: "w",
          toolName: "weather",
          output: { type: "text", value: "sunny" },
        },
      ],
    },
  ]);
  const sdk = JSON.stringify(inFormat(messages, "ai-sdk"));
  expect(sdk).toContain("the model's provider ran search");
  expect(sdk).toContain("[file: image/png]");
  expect(inFormat(messages, "openai").at(-1)).toEqual({ role: "tool", tool_call_id: "w", content: "sunny" });
  expect(inFormat(messages, "hermes")).toEqual(messages);
  // What a caller got is recognised as the stored message.
  expect(asShown(messages[1] as never)?.role).toBe("assistant");
  expect(lastUserText(messages)).toBe("weather?");
});
