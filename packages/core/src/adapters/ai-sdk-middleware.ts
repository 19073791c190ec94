// The middleware: puts memory, history and recall into each request, and stores what was said. A call of `generateText` is one turn
// with one request per step; the SDK repeats its own list in every step and knows nothing of what was added here, so the additions of
// a turn are made once and are the same bytes in all its steps.
import { estimateText, repairPairs } from "../context/index.ts";
import { describeCause, HermesError, randomHex, type TextModel } from "../lib/index.ts";
import type { ChatContext, UserMemory } from "../memory/index.ts";
import { type Message, textOf } from "../message/index.ts";
import { frontOf, isAlike, lastUser, type Place, placeOf } from "./ai-sdk-follow.ts";
import {
  type CalledModel,
  fromPrompt,
  isFailure,
  type PromptMessage,
  replyOf,
  StreamedReply,
  sdkTextModel,
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
   * Whether the list of a call is the whole chat, so that what it no longer has is taken back: an answer is made again, or a question was
   * changed or removed. True: always, as `useChat` sends it; a list that begins with a later message of the chat is its newest part.
   * False: never, for callers that put the same examples in front of every question. Default: if the chat begins with everything that
   * the list has in front of its last question. A question alone is then a new one, also if the chat begins with it.
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

/** The additions of one turn. */
type Turn = {
  readonly id: string;
  readonly system: string;
  /** Messages of the chat in front of the caller's list, if that is only the newest part. */
  readonly before: readonly Message[];
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

/** One request, from `transformParams` to the end of its reply. */
type Step = {
  readonly turn: Turn;
  readonly given: readonly Message[];
  /** What was said before the reply is in the store. */
  isAsked: boolean;
};

/** Of the same chat at the same time: one per tab of a user. */
const MOST_TURNS = 16;
/** As in `context`. */
const DEFAULT_MAX_TOKENS = 24_000;

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
  const requests = new WeakMap<object, Step>();
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

  /**
   * At the beginning of a stream, whose reader may leave without a word: the question is stored while the model answers. Nobody waits
   * for it but the reply.
   */
  const storeQuestion = (params: object): void => {
    const step = requests.get(params);
    if (step === undefined) return;
    stored = stored.then(() => storeAsked(me, chatId, step)).catch(onError);
  };

  /** Resolves when the messages are in the database, or the failure was reported. */
  const store = (params: object, content: readonly object[], isInterrupted: boolean): Promise<void> => {
    const step = requests.get(params);
    if (step === undefined) return stored; // already stored, or being stored
    requests.delete(params);
    const reply = replyOf(content, { isInterrupted });
    stored = stored.then(() => storeReply(me, chatId, step, reply)).catch(onError);
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
      requests.set(changed, { turn, given, isAsked: false });
      return changed;
    },

    async wrapGenerate({ doGenerate, params }) {
      let result: (object & { readonly content: readonly object[] }) | undefined;
      try {
        const answered = await doGenerate();
        result = answered;
        return answered;
      } finally {
        await store(params, result?.content ?? [], result === undefined || isFailure(result));
      }
    },

    async wrapStream({ doStream, params }) {
      const reply = new StreamedReply();
      const end = () => {
        params.abortSignal?.removeEventListener("abort", end);
        return store(params, reply.content, !reply.isComplete);
      };
      storeQuestion(params);
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
      // A compaction goes on without a summary when the model fails.
      let failure: unknown;
      const complete: TextModel["complete"] = async (request) => {
        const text = await sdkTextModel(model)
          .complete(request)
          .catch((cause: unknown) => {
            failure = cause;
            throw cause;
          });
        failure = text.trim() === "" ? new Error("The model wrote no summary.") : undefined;
        return text;
      };
      const { kind, notices } = await me.compact(chatId, { model: { complete }, contextLength, signal });
      if (kind === "compacted" || kind === "pruned") context = await read();
      signal?.throwIfAborted();
      if (kind === "aborted" || failure !== undefined) {
        const why = failure === undefined ? notices.join(" ") : describeCause(failure);
        const message = `The model could not summarise the older part of the chat '${chatId}': ${why}`;
        const hint = "The answer is not affected. The next turn that is too large tries again.";
        onError(new HermesError("compaction-failed", message, { hint, cause: failure }));
      }
    } catch (cause) {
      signal?.throwIfAborted();
      onError(cause); // the history is shortened to what fits, without a summary
    }
  }
  const at = lastUser(given);
  const place = await placeIn(me, options, given);
  // `context` looks for what is new. A question that the chat already has (tried or made again) gets the recall it had.
  const query = textOf(given[at]?.content ?? "");
  const isUnasked = context.recall === "" && query !== "" && recall !== false;
  const asked = isUnasked ? await me.context(chatId, { query, signal }) : context;
  const { messages } = context;
  const everything = async () =>
    (
      await me.context(chatId, {
        format: "hermes",
        recall: false,
        maxTokens: Number.MAX_SAFE_INTEGER,
        signal,
      })
    ).messages;
  const front = place
    ? frontOf(await everything(), place, given.slice(0, at), maxTokens ?? DEFAULT_MAX_TOKENS)
    : at < 0
      ? messages
      : messages.slice(0, lastUser(messages));
  return {
    id: randomHex(6),
    system: context.system,
    before: place?.before ?? [],
    front: repairPairs(front), // a summary may stand in the message of a call whose results it stands for
    recall: asked.recall,
    follow: place !== undefined,
    length: given.length,
    isStored: false,
  };
}

/** Undefined: the list takes nothing back. */
async function placeIn(
  me: UserMemory,
  { chatId, follow }: MiddlewareOptions,
  given: readonly Message[],
): Promise<Place | undefined> {
  const at = lastUser(given);
  if (follow === false || at < 0 || (at === 0 && !follow)) return undefined;
  // The whole chat decides: what a model gets of it begins later, or with a summary.
  const whole = await me.transcript(chatId, { format: "hermes", limit: Number.POSITIVE_INFINITY });
  return placeOf(whole?.messages ?? [], given, follow);
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

/**
 * What was said before the reply. Nothing where the list takes something back: until there is another answer the chat keeps the old
 * one.
 */
async function storeAsked(me: UserMemory, chatId: string, step: Step): Promise<void> {
  if (step.turn.follow && !step.turn.isStored) return;
  const said = unstored(step);
  if (said.length === 0) return;
  const { stored, messages } = await me.remember(chatId, said);
  const [last, newest] = [said.at(-1), messages.at(-1)];
  step.isAsked = stored > 0 || (last !== undefined && isAlike(last, newest));
}

/** Without a reply: what was said, if it is not stored yet. */
async function storeReply(
  me: UserMemory,
  chatId: string,
  step: Step,
  reply: Message | undefined,
): Promise<void> {
  const { turn, given } = step;
  const said = step.isAsked ? [] : unstored(step);
  if (reply === undefined) {
    if (said.length > 0 && (turn.isStored || !turn.follow)) await me.remember(chatId, said);
    return; // without a new answer the chat keeps the old one
  }
  // The id tells a text that is said twice from one that is sent twice.
  if (turn.isStored) await me.remember(chatId, [...said, reply], step.isAsked ? { id: randomHex(6) } : {});
  else if (step.isAsked) await me.remember(chatId, [reply], { id: turn.id });
  else
    await me.remember(chatId, [...turn.before, ...given, reply], {
      id: turn.id,
      follow: turn.follow,
    });
  turn.isStored = true;
}

function unstored({ turn, given }: Step): readonly Message[] {
  return turn.isStored ? given.slice(given.findLastIndex(({ role }) => role === "assistant") + 1) : given;
}
