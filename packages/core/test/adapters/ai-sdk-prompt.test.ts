// The messages of a model's interface in its three versions, and a reply that was put together from a stream.
import { describe, expect, it } from "vitest";
import {
  fromPrompt,
  replyOf,
  StreamedReply,
  toPrompt,
  versionOf,
  withRecall,
} from "../../src/adapters/ai-sdk-prompt.ts";
import { newMessage } from "../../src/message/index.ts";

it("a version of the interface belongs to a version of the SDK, and an unknown one to the newest", () => {
  const versions = ["v2", "v3", "v4", "v9", undefined];
  expect(versions.map((specificationVersion) => versionOf({ specificationVersion }))).toEqual([
    5, 6, 7, 7, 7,
  ]);
});

describe.each([5, 6, 7] as const)("a prompt of the AI SDK %i", (version) => {
  it("comes back as it was", () => {
    const prompt = [
      { role: "user", content: [{ type: "text", text: "weather?" }] },
      {
        role: "assistant",
        content: [{ type: "tool-call", toolCallId: "w", toolName: "weather", input: { city: "Lyon" } }],
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
    ];
    expect(toPrompt(fromPrompt(prompt), version)).toEqual(prompt);
  });

  it("has no empty messages, and tags the data of files only in version 7", () => {
    const image = { type: "image", url: "data:image/png;base64,AAAA" } as const;
    const [only, ...others] = toPrompt(
      [newMessage({ role: "user", content: "" }), newMessage({ role: "user", content: [image] })],
      version,
    );
    expect(others).toEqual([]);
    const [part] = (only?.content ?? []) as { type: string; data: unknown }[];
    expect(part?.type).toBe("file");
    expect(typeof part?.data === "string").toBe(version !== 7);
  });
});

it("recall is put behind the parts of the message, which stay as they are", () => {
  const message = { role: "user", content: [{ type: "text", text: "?" }] };
  expect(withRecall(message, "")).toBe(message);
  expect(withRecall(message, "RECALL").content).toEqual([
    { type: "text", text: "?" },
    { type: "text", text: "RECALL" },
  ]);
});

describe("a streamed reply", () => {
  const chunks = [
    { type: "reasoning-start", id: "1" },
    { type: "reasoning-delta", id: "1", delta: "Hm" },
    { type: "text-start", id: "1" },
    { type: "reasoning-delta", id: "1", delta: "." },
    { type: "text-delta", id: "1", delta: "Let me " },
    { type: "reasoning-end", id: "1" },
    { type: "text-delta", id: "1", delta: "look." },
    { type: "text-end", id: "1" },
    { type: "source", id: "s" },
    { type: "tool-call", toolCallId: "k", toolName: "look", input: "{}" },
    { type: "finish" },
  ];
  const after = (count: number) => {
    const reply = new StreamedReply();
    for (const chunk of chunks.slice(0, count)) reply.add(chunk);
    return reply;
  };

  it("keeps the text of an interrupted one, marked, and no calls; without text it is nothing", () => {
    const message = replyOf(after(chunks.length - 1).content, { isInterrupted: true });
    expect(message?.toolCalls).toEqual([]);
    expect(message?.meta.finishReason).toBe("interrupted");
    expect(JSON.stringify(message?.content)).toContain("Let me look.");
    expect(replyOf(after(2).content, { isInterrupted: true })).toBeUndefined();
    expect(replyOf([], { isInterrupted: false })).toBeUndefined();
  });
});
