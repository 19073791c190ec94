// Memory for programs that use the AI SDK: tools, a middleware for `wrapLanguageModel`, and the stored conversation as its messages.
// Needs `ai` 5, 6 or 7 in the program and imports nothing of it. Tried with 5.0.277, 6.0.326 and 7.0.169.
import { type ChatToolsOptions, chatTools } from "../chat-tools.ts";
import type { ChatMessage, UserMemory } from "../memory/index.ts";
import type { JsonSchema } from "../tools/index.ts";
import { type MemoryMiddleware, type MiddlewareOptions, memoryMiddleware } from "./middleware.ts";

export type { WantedTools } from "../chat-tools.ts";
export type { MemoryMiddleware } from "./middleware.ts";

/** The chat, and what the middleware and the tools may do. */
export type AiSdkOptions = ChatToolsOptions & MiddlewareOptions;

/** What a program with the AI SDK needs for one chat. */
export type AiSdk = {
  /** To spread into the `tools` of a call. Without `stopWhen` a call ends after the first tool call. */
  readonly tools: Record<string, AiSdkTool>;
  /**
   * For `wrapLanguageModel`. Callers pass the new message only, or their whole list each time. Use one per chat; it may be made anew for
   * each request.
   */
  readonly middleware: MemoryMiddleware;
  /** The stored chat, oldest first, as far as it fits. */
  messages(options?: { readonly maxTokens?: number }): Promise<ChatMessage[]>;
};

/** Fits a tool of the AI SDK 5, 6 and 7. */
export type AiSdkTool = {
  readonly description: string;
  // biome-ignore lint/suspicious/noExplicitAny: the type of a schema differs between the versions, and each contains private symbols
  readonly inputSchema: any;
  execute(
    input: unknown,
    options: { readonly toolCallId: string; readonly abortSignal?: AbortSignal | undefined },
  ): Promise<unknown>;
};

/** Tools, a middleware and the stored messages of one chat of this person, for the AI SDK 5, 6 and 7. */
export function aiSdk(me: UserMemory, options: AiSdkOptions): AiSdk {
  const { chatId } = options;
  const tools = chatTools(me, options).map(({ name, description, parameters, run }): [string, AiSdkTool] => [
    name,
    {
      description,
      inputSchema: sdkSchema(parameters),
      execute: (input, { toolCallId: id, abortSignal: signal }) => run(input, { id, signal }),
    },
  ]);
  return {
    tools: Object.fromEntries(tools),
    middleware: memoryMiddleware(me, options),
    messages: async ({ maxTokens } = {}) =>
      (await me.context(chatId, { recall: false, format: "ai-sdk", maxTokens })).messages,
  };
}

/** What `jsonSchema` of each version returns. The tools check their arguments themselves and answer with what is wrong. */
function sdkSchema(schema: JsonSchema): object {
  return {
    [Symbol.for("vercel.ai.schema")]: true,
    [Symbol.for("vercel.ai.validator")]: true,
    jsonSchema: schema,
    validate: (value: unknown) => ({ success: true, value }),
  };
}
