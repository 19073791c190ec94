// The AI SDK 5, 6 and 7 under one type, with a model that answers from a list and keeps the requests it got.
import * as ai7 from "ai";
import { MockLanguageModelV4 } from "ai/test";
import * as ai5 from "ai5";
import { MockLanguageModelV2 } from "ai5/test";
import * as ai6 from "ai6";
import { MockLanguageModelV3 } from "ai6/test";
import type { AiSdk } from "../../src/adapters/ai-sdk.ts";

/** A text, parts of a reply, a failure, or a function of the request. */
type Reply = string | readonly object[] | Error | ((prompt: CallOptions["prompt"]) => string);

type CallOptions = {
  readonly prompt: readonly { readonly role: string; readonly content: unknown }[];
  readonly abortSignal?: AbortSignal;
};

type Ask = {
  readonly messages: readonly object[];
  readonly system?: string;
  readonly memory: Pick<AiSdk, "middleware"> & Partial<AiSdk>;
  readonly model: ScriptedModel;
  readonly steps?: number;
  readonly signal?: AbortSignal;
};

export type Sdk = {
  readonly version: 5 | 6 | 7;
  model(replies: readonly Reply[]): ScriptedModel;
  generate(ask: Ask): Promise<string>;
  /** What a route of `useChat` does with the messages of the user interface. */
  fromUi(messages: readonly object[]): Promise<readonly object[]>;
  /** What `useChat` has after the stream of a route: the assistant's message. */
  live(ask: Ask): Promise<{ readonly parts: readonly { readonly type: string }[] }>;
  /** Checks messages of a user interface against the tools, and rejects for wrong ones. */
  validated(messages: readonly object[], tools: object): Promise<readonly object[]>;
  /** The texts as they arrive. */
  stream(ask: Ask): AsyncIterable<string>;
};

class ScriptedModel {
  readonly prompts: CallOptions["prompt"][] = [];
  readonly model: object;
  readonly #replies: Reply[];

  constructor(
    make: (functions: { doGenerate: unknown; doStream: unknown }) => object,
    replies: readonly Reply[],
    isNested: boolean,
  ) {
    this.#replies = [...replies];
    const finish = (content: readonly object[]) => {
      const reason = content.some((part) => "toolCallId" in part) ? "tool-calls" : "stop";
      return {
        finishReason: isNested ? { unified: reason, raw: reason } : reason,
        usage: isNested
          ? { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
          : { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
      };
    };
    this.model = make({
      doGenerate: async (options: CallOptions) => {
        const content = await this.#next(options);
        return { content, ...finish(content), warnings: [] };
      },
      doStream: async (options: CallOptions) => {
        const content = await this.#next(options);
        const chunks = [
          { type: "stream-start", warnings: [] },
          ...content.flatMap(chunksOf),
          { type: "finish", ...finish(content) },
        ];
        return { stream: ReadableStream.from(until(chunks, options.abortSignal)) };
      },
    });
  }

  async #next(options: CallOptions): Promise<readonly object[]> {
    this.prompts.push(options.prompt);
    const reply = this.#replies.shift();
    if (reply === undefined) throw new Error("the model has no reply left");
    if (reply instanceof Error) throw reply;
    const content = typeof reply === "function" ? reply(options.prompt) : reply;
    return typeof content === "string" ? [{ type: "text", text: content }] : content;
  }
}

/** `{ type: "hang" }` and `{ type: "break" }` in a reply: the stream waits for the signal, or breaks off. */
async function* until(chunks: readonly { readonly type?: string }[], signal?: AbortSignal) {
  for (const chunk of chunks) {
    if (chunk.type === "break") throw new Error("connection reset");
    if (chunk.type !== "hang") yield chunk;
    else
      await new Promise((_, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason));
      });
  }
}

function chunksOf(part: object): readonly object[] {
  const { type, text } = part as { type?: string; text?: string };
  if ((type !== "text" && type !== "reasoning") || text === undefined) return [part];
  const pieces = text.match(/.{1,5}/gs) ?? [];
  return [
    { type: `${type}-start`, id: "1" },
    ...pieces.map((delta) => ({ type: `${type}-delta`, id: "1", delta })),
    { type: `${type}-end`, id: "1" },
  ];
}

// biome-ignore lint/suspicious/noExplicitAny: types.test.ts checks the types of each version
type Any = any;

function sdk(version: Sdk["version"], ai: Any, Mock: Any): Sdk {
  const call = ({ messages, system, memory, model, steps = 1, signal }: Ask) => ({
    model: ai.wrapLanguageModel({ model: model.model, middleware: memory.middleware }),
    messages,
    ...(system === undefined ? {} : version === 7 ? { instructions: system } : { system }),
    tools: memory.tools ?? {},
    stopWhen: ai.stepCountIs(steps),
    abortSignal: signal,
    maxRetries: 1,
  });
  return {
    version,
    model: (replies) => new ScriptedModel((functions) => new Mock(functions), replies, version !== 5),
    fromUi: async (messages) => ai.convertToModelMessages(messages),
    async live(ask) {
      const stream = ai.streamText({ ...call(ask), onError() {} }).toUIMessageStream();
      let last: Any;
      for await (const message of ai.readUIMessageStream({ stream })) last = message;
      return last;
    },
    validated: (messages, tools) => ai.validateUIMessages({ messages, tools }),
    generate: async (ask) => (await ai.generateText(call(ask))).text,
    stream: (ask) => ai.streamText({ ...call(ask), onError() {} }).textStream,
  };
}

export const SDKS: readonly Sdk[] = [
  sdk(5, ai5, MockLanguageModelV2),
  sdk(6, ai6, MockLanguageModelV3),
  sdk(7, ai7, MockLanguageModelV4),
];
