// Memory for graphs of LangGraph.js: what to send to the model, what to store after it, and tools. The same functions serve
// `createReactAgent`, the middleware of `createAgent`, and nodes of your own. Needs `@langchain/core` in the program and imports
// nothing of it: two of its functions are passed in. Tried with @langchain/core 1.2.13, @langchain/langgraph 1.4.18, langchain 1.5.14.
//
// A message loses `response_metadata`, `usage_metadata`, `additional_kwargs` and the `artifact` of a tool. System messages are not stored.

import { isRecord, outsideJsonOr } from "../lib/index.ts";
import type { UserMemory } from "../memory/index.ts";
import {
  type Message,
  type OpenAiMessage,
  parseMessage,
  renderContent,
  textOf,
  toolCallsOf,
  withMeta,
} from "../message/index.ts";
import type { JsonSchema } from "../tools/index.ts";
import { type ChatToolsOptions, chatTools, refuseUnknown } from "./chat-tools.ts";

export type { ChatToolsOptions } from "./chat-tools.ts";

/** The chat, two functions of LangChain, and how much of the past may come along. */
export type LangChainOptions<M, T> = ChatToolsOptions & {
  /** Of `@langchain/core/messages`. */
  // biome-ignore lint/suspicious/noExplicitAny: `BaseMessageLike` belongs to LangChain
  readonly coerceMessageLikeToMessage: (like: any) => M;
  /** Of `@langchain/core/tools`. */
  // biome-ignore lint/suspicious/noExplicitAny: `tool` is overloaded for several kinds of schemas
  readonly tool: (run: any, fields: any) => T;
  /** The system text in front of the memory. */
  readonly identity?: string;
  /** False: nothing is looked up for the user's message. */
  readonly recall?: boolean;
  /** The most that history may cost, estimated. Default: that of `context`. */
  readonly maxTokens?: number;
};

/** What a program with LangChain.js or LangGraph needs for one chat. */
export type LangChain<M, T> = {
  /**
   * The messages for the model: identity and memory, the stored history, and those of the state with what is recalled. The state may
   * hold the new messages only, or the whole conversation of a checkpointer. For `prompt` of `createReactAgent`.
   */
  prompt(state: { readonly messages: readonly object[] }): Promise<M[]>;
  /** Stores the messages of the state that the chat does not have. For `postModelHook` of `createReactAgent`. */
  postModelHook(state: { readonly messages: readonly object[] }): Promise<{ messages: M[] }>;
  readonly tools: T[];
};

const OPTIONS: Readonly<Record<keyof LangChainOptions<object, unknown>, true>> = {
  chatId: true,
  tools: true,
  coerceMessageLikeToMessage: true,
  tool: true,
  identity: true,
  recall: true,
  maxTokens: true,
};

/** A prompt, a hook that stores, and tools of one chat of this person, for LangChain.js and LangGraph. */
export function langChain<M extends object, T>(
  me: UserMemory,
  options: LangChainOptions<M, T>,
): LangChain<M, T> {
  refuseUnknown("langChain", options, OPTIONS);
  const { chatId, identity, recall, maxTokens, coerceMessageLikeToMessage: made, tool } = options;
  return {
    async prompt({ messages: state }) {
      const own = state.filter((message) => roleOf(message) !== "system");
      const given = own.flatMap(fromLangChain);
      const context = await me.context(chatId, {
        messages: given,
        identity,
        recall,
        maxTokens,
        format: "hermes",
      });
      const all = context.messages;
      const front = all.slice(
        0,
        all.findLastIndex(({ role }) => role === "user"),
      );
      const at = own.findLastIndex((message) => roleOf(message) === "user");
      const system = [context.system, ...state.filter((message) => roleOf(message) === "system").map(textIn)];
      const text = system.filter((each) => each !== "").join("\n\n");
      return [
        ...(text === "" ? [] : [made({ role: "system", content: text })]),
        ...(at < 0 ? all : front).map((message) => made(toLangChain(message))),
        ...(at < 0 ? [] : own.slice(at)).map((message, index) =>
          made(index === 0 ? withRecall(message, context.recall) : message),
        ),
      ];
    },

    async postModelHook({ messages }) {
      await me.remember(chatId, messages.flatMap(fromLangChain));
      return { messages: [] };
    },

    tools: chatTools(me, options).map(({ name, description, parameters, run }) => {
      const call = async (args: unknown, config: ToolConfig = {}) => {
        const result = await run(args, { id: config.toolCall?.id, signal: config.signal });
        return typeof result === "string" ? result : JSON.stringify(result);
      };
      return tool(call, { name, description, schema: parameters satisfies JsonSchema });
    }),
  };
}

type ToolConfig = { readonly toolCall?: { readonly id?: string }; readonly signal?: AbortSignal };

type Fields = Readonly<Record<string, unknown>>;

// ---- Messages of LangChain: instances of its classes, or objects with `role` and `content` ----

const ROLES: Readonly<Record<string, string>> = { human: "user", ai: "assistant", developer: "system" };

function roleOf(message: object): string {
  const { role, type, _getType: typeOf } = message as Fields;
  const written = role ?? type ?? (typeof typeOf === "function" ? typeOf.call(message) : undefined);
  return ROLES[String(written)] ?? String(written);
}

function textIn(message: object): string {
  return fromLangChain(message)
    .map(({ content }) => textOf(content))
    .join("");
}

/** Calls are in `tool_calls`; some models repeat them in the content. */
const CALLS: ReadonlySet<unknown> = new Set(["tool_use", "tool_call", "tool_call_chunk", "function_call"]);

function fromLangChain(message: object): readonly Message[] {
  const { content, tool_calls: calls, tool_call_id: answers, name, id } = message as Fields;
  const role = roleOf(message);
  const row = {
    role,
    content: Array.isArray(content)
      ? content.filter((part) => !isRecord(part) || !CALLS.has(part.type))
      : content,
    ...(role === "assistant" && Array.isArray(calls) ? { tool_calls: calls.map(openAiCall) } : {}),
    ...(role === "tool" ? { tool_call_id: answers, tool_name: name } : {}),
  };
  const parsed = parseMessage(row);
  if (!parsed.ok) return [];
  // Within a graph the id names the message. It tells a repeated text from the same message.
  return [typeof id === "string" ? withMeta(parsed.value, { platformMessageId: id }) : parsed.value];
}

function openAiCall(call: Fields): object {
  const { id, name, args, function: called } = call;
  return called === undefined
    ? { id, type: "function", function: { name, arguments: JSON.stringify(args ?? {}) } }
    : call;
}

function toLangChain(message: Message): Fields {
  const content = renderContent(message.content) as NonNullable<OpenAiMessage["content"]> | null;
  const id = message.meta.platformMessageId;
  const common = { role: message.role, content: content ?? "", ...(id === undefined ? {} : { id }) };
  if (message.role === "tool") return { ...common, tool_call_id: message.toolCallId, name: message.toolName };
  const calls = toolCallsOf(message).map(({ id: callId, name, arguments: given }) => {
    const args = outsideJsonOr(given, {});
    return { id: callId, name, args: isRecord(args) ? args : {}, type: "tool_call" };
  });
  return calls.length === 0 ? common : { ...common, tool_calls: calls };
}

function withRecall(message: object, recall: string): object {
  if (recall === "") return message;
  const { content, id } = message as Fields;
  const parts =
    typeof content === "string" ? [{ type: "text", text: content }] : Array.isArray(content) ? content : [];
  return { role: "user", content: [...parts, { type: "text", text: recall }], id };
}
