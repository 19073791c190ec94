// A proxied request whose model speaks another protocol: parsed, asked through the model's own SDK, and written in the client's protocol.
// What would be lost on the way is refused by name.
import {
  type ChatModel,
  callModel,
  type FinishReason,
  type ModelFailure,
  type ModelReply,
  type ModelRequest,
  type Usage,
} from "@hermes-memory/agent/internal/models";
import type { Result } from "@hermes-memory/core/internal/lib";
import { type Message, newMessage, partsOf, textOf } from "@hermes-memory/core/internal/message";
import { AnswerScrubber, scrubAnswer } from "@hermes-memory/core/internal/providers";
import { charge } from "../allowance.ts";
import { forUsers } from "../problem.ts";
import { type GatewayProblem, type JsonObject, type ModelTurn, ProblemError } from "../types.ts";
import { hermesHeaders } from "../wires/fields.ts";
import type { Finish, ReplyEvent, ReplyMetadata } from "../wires/wire.ts";
import { partsOf as bodyParts, listOf } from "./chain.ts";
import type { Insertions } from "./insert.ts";
import { streamOf } from "./scrub-reply.ts";
import type { TurnMemory } from "./turn-memory.ts";

export type Translation = {
  readonly model: ChatModel;
  /** Called when nothing would be lost: what is refused is not stored. */
  readonly openMemory: () => Promise<TurnMemory>;
};

type Outcome = Result<ModelReply, ModelFailure>;

export async function translate(turn: ModelTurn, { model, openMemory }: Translation): Promise<Response> {
  const { wire, request, gateway } = turn;
  if (request.unsupported.length > 0) throw new ProblemError(wouldBeLost(request.unsupported, model));
  const memory = await openMemory();
  const stop = new AbortController();
  const signal = AbortSignal.any([turn.signal, stop.signal]);
  const events = new EventQueue();
  let partial = "";
  const scrubber = new AnswerScrubber();
  const say = (text: string): void => {
    partial += text;
    if (text !== "") events.push({ type: "text", text });
  };
  const asked: ModelRequest = {
    messages: await messagesFor(turn, memory),
    tools: request.tools,
    toolChoice: request.toolChoice === "none" ? "none" : "auto",
    maxOutputTokens: request.maxOutputTokens,
    temperature: request.temperature,
    signal,
    onDelta: ({ kind, text }) => {
      if (kind === "text") say(scrubber.feed(text));
      else events.push({ type: kind, text });
    },
  };
  turn.prepared?.();
  // The client has its own rules for trying again.
  const outcome = callModel(model, asked, { attempts: 1 })
    .finally(() => say(scrubber.end()))
    .then(withoutFences);
  outcome.then(
    () => events.end(),
    () => events.end(),
  );
  const id = wire.newReplyId();
  const createdAtSeconds = Math.floor(gateway.clock.now().getTime() / 1000);
  const metadata: ReplyMetadata = { sessionId: memory.sessionId ?? "", notices: memory.notices };
  const store = async (message: Message | undefined, usage?: Usage): Promise<void> => {
    const isAnswered = message !== undefined || turn.signal.aborted;
    if (isAnswered) await charge(turn, model.identity, { usage, reply: message });
    await storeReply(memory, message, id);
  };
  const start = { id, model: request.model === "" ? model.identity.model : request.model, createdAtSeconds };
  const headers = new Headers(hermesHeaders(metadata));

  if (!request.isStream) {
    const reply = await settled(outcome, store, () => partial);
    await store(reply.message, reply.usage);
    const whole = {
      ...start,
      text: textOf(reply.message.content),
      reasoning: reasoningOf(reply.message),
      toolCalls: reply.message.toolCalls,
      finish: finishOf(reply.finishReason),
      usage: reply.usage,
      metadata,
    };
    return Response.json(wire.render(whole, request), { headers });
  }

  // A request that fails before its first word is answered with a status.
  await events.first();
  if (events.isEmpty) await settled(outcome, store, () => partial);
  const writer = wire.writer(start, request);
  const pieces = (async function* (): AsyncGenerator<Uint8Array, void> {
    const written = function* (event: ReplyEvent): Generator<Uint8Array, void> {
      const text = writer.write(event);
      if (text !== "") yield Buffer.from(text);
    };
    let isStored = false;
    const storeOnce = async (message: Message | undefined, usage?: Usage): Promise<void> => {
      if (isStored) return;
      isStored = true;
      await store(message, usage);
    };
    try {
      yield Buffer.from(writer.open());
      for await (const event of events) yield* written(event);
      const ended = await outcome;
      if (!ended.ok) {
        await storeOnce(interrupted(partial));
        const problem = problemOf(ended.error);
        yield* written({
          type: "problem",
          problem: turn.identity.user === undefined ? problem : forUsers(problem),
        });
        return;
      }
      const { message, usage, finishReason } = ended.value;
      await storeOnce(message, usage);
      for (const { id: call, name, arguments: given } of message.toolCalls)
        yield* written({ type: "tool-call", id: call, name, arguments: given });
      yield* written({ type: "end", finish: finishOf(finishReason), usage, metadata });
    } finally {
      await storeOnce(interrupted(partial));
    }
  })();
  headers.set("content-type", "text/event-stream; charset=utf-8");
  headers.set("cache-control", "no-cache");
  return new Response(streamOf(pieces, stop), { headers });
}

// ---- The request ----

async function messagesFor(turn: ModelTurn, memory: TurnMemory): Promise<readonly Message[]> {
  const { request, identity, chatId } = turn;
  const { block, recalls } = memory.insertions;
  const system = [request.system, block].filter((text) => text !== "").join("\n\n");
  const isRest = identity.session.history === "server" && memory.sessionId !== undefined;
  // The client sends only what is new. The request has been stored, so that the transcript has all of it.
  const stored = isRest
    ? await turn.memory.transcript(chatId, { format: "hermes", limit: Infinity })
    : undefined;
  // A reply that this request asks for again is not part of it.
  const last = (stored?.messages ?? []).findLastIndex(({ role }) => role !== "assistant");
  const told = stored === undefined || last < 0 ? request.messages : stored.messages.slice(0, last + 1);
  const list = withRecalls(told, listOf(turn.wire.name, turn.body), recalls);
  return system === "" ? list : [newMessage({ role: "system", content: system }), ...list];
}

/** Recall belongs to a message of the client's body; ours with the same text stands for it. */
function withRecalls(
  messages: readonly Message[],
  list: readonly JsonObject[],
  recalls: Insertions["recalls"],
): readonly Message[] {
  const bare = (text: string): string => text.replace(/\s+/g, "");
  const changed = [...messages];
  let at = messages.length;
  for (const { index, text } of recalls.toSorted((one, other) => other.index - one.index)) {
    const words = bareText(list[index] ?? {});
    const found = changed.findLastIndex(
      (message, place) => place < at && message.role === "user" && bare(textOf(message.content)) === words,
    );
    const message = changed[found];
    if (message === undefined) continue;
    at = found;
    const { content } = message;
    const said =
      typeof content === "string"
        ? `${content}\n\n${text}`
        : [...partsOf(content), { type: "text" as const, text }];
    changed[found] = { ...message, content: said };
  }
  return changed;
}

function bareText({ content }: JsonObject): string {
  return bodyParts(content)
    .map(({ text }) => (typeof text === "string" ? text : ""))
    .join("")
    .replace(/\s+/g, "");
}

// ---- The reply ----

function withoutFences(outcome: Outcome): Outcome {
  if (!outcome.ok)
    return { ok: false, error: { ...outcome.error, partialText: scrubAnswer(outcome.error.partialText) } };
  const { message } = outcome.value;
  const content = typeof message.content === "string" ? scrubAnswer(message.content) : message.content;
  return { ok: true, value: { ...outcome.value, message: { ...message, content } } };
}

async function storeReply(memory: TurnMemory, message: Message | undefined, id: string): Promise<void> {
  const shownText = message === undefined ? "" : textOf(message.content);
  const handedBack = message?.role === "assistant" ? message.toolCalls.map((call) => call.id) : [];
  await memory.storeReply({
    hidden: [],
    last: message,
    shownText,
    handedBack,
    rounds: undefined,
    responseIds: [id],
  });
}

/** The reply, or the failure as a problem. */
async function settled(
  outcome: Promise<Outcome>,
  store: (message: Message | undefined) => Promise<void>,
  partial: () => string,
): Promise<ModelReply> {
  try {
    const ended = await outcome;
    if (ended.ok) return ended.value;
    await store(interrupted(ended.error.partialText));
    throw new ProblemError(problemOf(ended.error));
  } catch (cause) {
    if (!(cause instanceof ProblemError)) await store(interrupted(partial())); // the client is gone
    throw cause;
  }
}

function interrupted(text: string): Message | undefined {
  if (text.trim() === "") return undefined;
  return newMessage({ role: "assistant", content: text, toolCalls: [] }, { finishReason: "interrupted" });
}

function reasoningOf({ vendor = {} }: Message): string {
  const { reasoning, reasoning_content: content } = vendor;
  return typeof reasoning === "string" ? reasoning : typeof content === "string" ? content : "";
}

function finishOf(reason: FinishReason): Finish {
  return reason === "error" || reason === "other" ? "stop" : reason;
}

/** Pieces of the reply, kept until they are written: `onDelta` cannot wait. */
class EventQueue implements AsyncIterable<ReplyEvent> {
  #events: ReplyEvent[] = [];
  #isEnded = false;
  #wake = Promise.withResolvers<void>();

  get isEmpty(): boolean {
    return this.#events.length === 0;
  }

  push(event: ReplyEvent): void {
    this.#events.push(event);
    this.#wake.resolve();
  }

  end(): void {
    this.#isEnded = true;
    this.#wake.resolve();
  }

  /** Resolves when there is an event, or there will be none. */
  async first(): Promise<void> {
    if (this.#events.length === 0 && !this.#isEnded) await this.#wake.promise;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ReplyEvent, void> {
    for (;;) {
      const next = this.#events.shift();
      if (next !== undefined) yield next;
      else if (this.#isEnded) return;
      else {
        this.#wake = Promise.withResolvers<void>();
        await this.#wake.promise;
      }
    }
  }
}

// ---- Problems ----

function wouldBeLost(fields: readonly string[], { identity }: ChatModel): GatewayProblem {
  const names = fields.join(", ");
  return {
    status: 400, // clients such as Codex try again after 422
    code: "would-be-lost",
    message: `The model ${identity.model} speaks another protocol than this request, and these fields would be lost: ${names}.`,
    hint: "Leave them out, ask for a model of this protocol, or send the request in the model's own protocol.",
    param: fields[0],
  };
}

const STATUSES: Readonly<Record<ModelFailure["kind"], GatewayProblem["status"]>> = {
  auth: 502,
  billing: 502,
  rate_limit: 429,
  overflow: 400,
  payload_too_large: 413,
  content_policy: 400,
  bad_signature: 400,
  bad_request: 400,
  not_found: 404,
  server: 502,
  connection: 502,
  stalled: 504,
  invalid_response: 502,
  reply_too_long: 502,
};

export function problemOf({ kind, message, retryAfterMs }: ModelFailure): GatewayProblem {
  const retryAfterSeconds = retryAfterMs === undefined ? undefined : Math.ceil(retryAfterMs / 1000);
  const isLasting = kind === "auth" || kind === "billing";
  const code = `model-${kind.replaceAll("_", "-")}`;
  return { status: STATUSES[kind], code, message, retryAfterSeconds, isLasting };
}
