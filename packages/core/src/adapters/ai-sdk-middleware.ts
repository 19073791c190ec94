// The middleware: puts memory, history and recall into each request, and stores what was said. A call of `generateText` is one turn
// with one request per step; the SDK repeats its own list in every step and knows nothing of what was added here, so the additions of
// a turn are made once and are the same bytes in all its steps.
import { estimateText } from "../context/index.ts";
import { randomHex, type TextModel } from "../lib/index.ts";
import type { ChatContext, UserMemory } from "../memory/index.ts";
import { type Message, textOf, toolCallsOf } from "../message/index.ts";
import {
  fromPrompt,
  type PromptMessage,
  replyOf,
  StreamedReply,
  toPrompt,
  versionOf,
  withRecall,
} from "./ai-sdk-prompt.ts";

/** Which chat, how much of it, and what to do when a part of the memory fails. */
export type MiddlewareOptions = {
  readonly chatId: string;
  /** False: nothing is looked up for the user's message. */
  readonly recall?: boolean;
  /** The most that history may cost, estimated. Default: that of `context`; with `contextLength`, 80 % of it. */
  readonly maxTokens?: number;
  /**
   * The context window of the model, in tokens. When a turn would begin with a request above the threshold of config
   * `compression.threshold`, the older part of the chat is summarised first, by the same model. Default: never.
   */
  readonly contextLength?: number;
  /**
   * A list that begins like the chat is the whole chat, and what it no longer has is taken back: an answer is made again, or a question
   * was changed. False: never, for callers that put the same examples in front of every question.
   */
  readonly follow?: boolean;
  /** Called when something could not be stored or compacted. The answer of the model is not affected. Default: a warning of the process. */
  readonly onError?: (cause: unknown) => void;
};

/** Fits `LanguageModelMiddleware` of the AI SDK 5, 6 and 7. */
export interface MemoryMiddleware {
  readonly specificationVersion: "v3";
  transformParams<P extends CallOptions>(options: {
    readonly params: P;
    readonly model: CalledModel;
  }): Promise<P>;
  wrapGenerate<R extends { content: { type: string }[] }>(options: {
    readonly doGenerate: () => PromiseLike<R>;
    readonly params: CallOptions;
  }): Promise<R>;
  // biome-ignore lint/suspicious/noExplicitAny: each version has its own type of chunks, and they are passed on unchanged
  wrapStream<R extends { stream: ReadableStream<any> }>(options: {
    readonly doStream: () => PromiseLike<R>;
    readonly params: CallOptions;
  }): Promise<R>;
}

type CallOptions = {
  prompt: { role: string }[];
  readonly abortSignal?: AbortSignal | undefined;
  readonly tools?: readonly unknown[] | undefined;
};

/** The part of `LanguageModelV2`, `V3` and `V4` that is used. */
type CalledModel = {
  readonly specificationVersion?: string;
  doGenerate(options: never): PromiseLike<{ readonly content: readonly { readonly type: string }[] }>;
};

/** The additions of one turn. */
type Turn = {
  readonly id: string;
  readonly system: string;
  /** The stored conversation in front of the turn. */
  readonly front: readonly Message[];
  readonly recall: string;
  /** The caller's list is the whole chat, and the stored one has more: an answer is made again, or a question was changed. */
  readonly follow: boolean;
  /** How many messages the caller's list had in the first step. */
  readonly length: number;
  /** The reply of a step has been stored: from then on, only what comes behind it is new. */
  isStored: boolean;
};

/** Of the same chat at the same time: one per tab of a user. */
const MOST_TURNS = 16;

export function memoryMiddleware(me: UserMemory, options: MiddlewareOptions): MemoryMiddleware {
  const { chatId } = options;
  const onError = (cause: unknown): void => {
    try {
      (options.onError ?? warn)(cause);
    } catch (failed) {
      warn(failed); // the answer must not fail because of the report
    }
  };
  const turns = new Map<string, Turn>();
  /** From `transformParams` to the `wrap` function of the same request. */
  const requests = new WeakMap<object, { readonly turn: Turn; readonly given: readonly Message[] }>();
  /** One write after the other. */
  let stored: Promise<void> = Promise.resolve();

  const turnOf = async (given: readonly Message[], { params, model }: Request): Promise<Turn> => {
    const at = lastUser(given);
    const key = `${at} ${textOf(given[at]?.content ?? "")}`;
    const known = turns.get(key);
    if (known !== undefined && known.length < given.length) return known;
    await stored; // the reply of the turn before
    const turn = await beginTurn(me, options, { given, params, model, onError });
    turns.delete(key);
    turns.set(key, turn);
    for (const old of [...turns.keys()].slice(0, -MOST_TURNS)) turns.delete(old);
    return turn;
  };

  /** Resolves when the messages are in the database, or the failure was reported. */
  const store = (params: object, content: readonly object[], isInterrupted: boolean): Promise<void> => {
    const request = requests.get(params);
    if (request === undefined) return stored; // already stored, or being stored
    requests.delete(params);
    stored = stored.then(() => storeStep(me, chatId, { ...request, content, isInterrupted })).catch(onError);
    return stored;
  };

  return {
    specificationVersion: "v3",

    async transformParams({ params, model }) {
      const prompt: readonly PromptMessage[] = params.prompt;
      const own = prompt.filter(({ role }) => role === "system");
      const rest = prompt.filter(({ role }) => role !== "system");
      const given = fromPrompt(rest);
      const turn = await turnOf(given, { params, model });
      const memory = turn.system === "" ? [] : [{ role: "system", content: turn.system }];
      const changed = {
        ...params,
        prompt: [...own, ...memory, ...conversation(turn, rest, versionOf(model))],
      };
      requests.set(changed, { turn, given });
      return changed;
    },

    async wrapGenerate({ doGenerate, params }) {
      let content: readonly object[] | undefined;
      try {
        const result = await doGenerate();
        content = result.content;
        return result;
      } finally {
        await store(params, content ?? [], content === undefined);
      }
    },

    async wrapStream({ doStream, params }) {
      const reply = new StreamedReply();
      const end = () => {
        params.abortSignal?.removeEventListener("abort", end);
        return store(params, reply.content, !reply.isFinished);
      };
      // A reader that was stopped by the signal may neither read on nor cancel.
      params.abortSignal?.addEventListener("abort", end);
      try {
        const result = await doStream();
        const watched = new TransformStream<unknown, unknown>({
          transform(chunk, controller) {
            reply.add(chunk);
            controller.enqueue(chunk);
          },
          flush: end, // the stream ends when everything is stored
          cancel: end,
        });
        return { ...result, stream: result.stream.pipeThrough(watched) };
      } catch (cause) {
        await end();
        throw cause;
      }
    },
  };
}

function warn(cause: unknown): void {
  process.emitWarning(cause instanceof Error ? cause : String(cause), { code: "HERMES_MEMORY_NOT_STORED" });
}

type Request = { readonly params: CallOptions; readonly model: CalledModel };

// ---- The beginning of a turn ----

async function beginTurn(
  me: UserMemory,
  options: MiddlewareOptions,
  request: Request & { readonly given: readonly Message[]; readonly onError: (cause: unknown) => void },
): Promise<Turn> {
  const { chatId, recall, contextLength } = options;
  const { given, params, model, onError } = request;
  const maxTokens = options.maxTokens ?? (contextLength && Math.floor(contextLength * 0.8));
  const signal = params.abortSignal;
  const read = () => me.context(chatId, { messages: given, format: "hermes", recall, maxTokens, signal });
  let context = await read();
  if (contextLength !== undefined && (await isLarge(me, context, params, contextLength))) {
    try {
      const text = sdkTextModel(model);
      const { kind } = await me.compact(chatId, { model: text, contextLength, signal });
      if (kind === "compacted" || kind === "pruned") context = await read();
    } catch (cause) {
      signal?.throwIfAborted();
      onError(cause); // the history is shortened to what fits, without a summary
    }
  }
  const { messages } = context;
  const at = lastUser(given);
  const follow = options.follow !== false && isBehind(messages, given, at);
  // `context` looks for what is new. A question that the chat already has (tried or made again) gets the recall it had.
  const query = textOf(given[at]?.content ?? "");
  const isUnasked = context.recall === "" && query !== "" && recall !== false;
  const asked = isUnasked ? await me.context(chatId, { query, signal }) : context;
  return {
    id: randomHex(6),
    system: context.system,
    front: at < 0 ? messages : messages.slice(0, follow ? at : lastUser(messages)),
    recall: asked.recall,
    follow,
    length: given.length,
    isStored: false,
  };
}

/**
 * True if the chat goes on where the caller's list has its last question: the list is the whole chat up to there. A list that does not
 * begin with the chat's first messages may be a part of it, and is never followed.
 */
function isBehind(messages: readonly Message[], given: readonly Message[], at: number): boolean {
  const isPrefix = given.slice(0, at).every((message, index) => isAlike(message, messages[index]));
  return at > 0 && isPrefix && messages.length > given.length;
}

function isAlike(one: Message, other: Message | undefined): boolean {
  if (one.role !== other?.role) return false;
  const said = ({ content }: Message) => textOf(content).replace(/\s+/g, " ").trim();
  const calls = (message: Message) =>
    toolCallsOf(message)
      .map(({ id }) => id)
      .join(" ");
  return said(one) === said(other) && calls(one) === calls(other);
}

async function isLarge(
  me: UserMemory,
  { tokens, leftOut }: Pick<ChatContext, "tokens" | "leftOut">,
  { prompt, tools = [] }: CallOptions,
  contextLength: number,
): Promise<boolean> {
  const { compression } = await me.layers.memory.config();
  const own = prompt.filter(({ role }) => role === "system");
  if (!compression.enabled) return false;
  return (
    leftOut > 0 || tokens + estimateText(JSON.stringify([own, tools])) > compression.threshold * contextLength
  );
}

/**
 * A `TextModel` for `compact`, `extract` and `ContextCompressor`, made from a model of the AI SDK 5, 6 or 7 (`openai("gpt-5-mini")`).
 */
export function sdkTextModel(model: CalledModel): TextModel {
  return {
    async complete({ system, prompt, maxOutputTokens, signal }) {
      const asked = [
        ...(system === undefined || system === "" ? [] : [{ role: "system", content: system }]),
        { role: "user", content: [{ type: "text", text: prompt }] },
      ];
      const request = { prompt: asked, maxOutputTokens, abortSignal: signal };
      const { content } = await model.doGenerate(request as never);
      return content
        .map((part) => ("text" in part && part.type === "text" ? String(part.text) : ""))
        .join("");
    },
  };
}

// ---- A step ----

function conversation(
  { front, recall, length }: Turn,
  rest: readonly PromptMessage[],
  version: ReturnType<typeof versionOf>,
): readonly PromptMessage[] {
  const at = rest.findLastIndex(({ role }) => role === "user");
  // Only results of tools: the question is in the store.
  if (at < 0) return toPrompt([...front, ...fromPrompt(rest).slice(length)], version);
  // The turn itself is sent as the caller wrote it, byte for byte.
  const turn = rest.slice(at).map((message, index) => (index === 0 ? withRecall(message, recall) : message));
  return [...toPrompt(front, version), ...turn];
}

async function storeStep(
  me: UserMemory,
  chatId: string,
  step: {
    readonly turn: Turn;
    readonly given: readonly Message[];
    readonly content: readonly object[];
    readonly isInterrupted: boolean;
  },
): Promise<void> {
  const { turn, given, content, isInterrupted } = step;
  const reply = replyOf(content, { isInterrupted });
  const answer = reply === undefined ? [] : [reply];
  if (turn.isStored) {
    const from = given.findLastIndex(({ role }) => role === "assistant") + 1;
    await me.remember(chatId, [...given.slice(from), ...answer]);
  } else if (reply !== undefined) {
    // The id tells a question that is asked twice from one that is sent twice.
    await me.remember(chatId, [...given, reply], { id: turn.id, follow: turn.follow });
  } else if (!turn.follow) {
    await me.remember(chatId, given);
  } // without a new answer the chat keeps the old one
  turn.isStored ||= reply !== undefined;
}

function lastUser(messages: readonly Message[]): number {
  return messages.findLastIndex(({ role }) => role === "user");
}
