// One call of the model: the request copy with its cache markers, retries, the streamed text, usage. Its outcome is a reply, a
// failure or an interrupt. Below: the draft of the reply, which holds the text that the user has read so far.
import { applyPromptCaching, estimateRequest } from "@hermes-memory/core/internal/context";
import { isWhitespaceUnit, type Result } from "@hermes-memory/core/internal/lib";
import {
  type AssistantMessage,
  type Message,
  newMessage,
  type OpenAiMessage,
  textOf,
  withMeta,
  withoutVendor,
} from "@hermes-memory/core/internal/message";
import { AnswerScrubber, EchoScrubber } from "@hermes-memory/core/internal/providers";
import {
  callModel,
  type ModelFailure,
  type ModelReply,
  type ModelRequest,
  promptTokens,
  totalTokens,
  type Usage,
} from "../../models/index.ts";
import type { AgentParts } from "../parts.ts";
import type { Session } from "../session/session.ts";
import { requestMessages } from "./request.ts";
import type { Turn } from "./turn-state.ts";

export type CallDeps = Pick<
  AgentParts,
  "model" | "engine" | "tools" | "events" | "clock" | "config" | "env"
> & {
  readonly session: Session;
  /** Undefined: with a timer. */
  readonly waitForRetry: ((ms: number, signal: AbortSignal | undefined) => Promise<void>) | undefined;
};

export type CallOutcome =
  | { readonly kind: "reply"; readonly reply: ModelReply }
  | { readonly kind: "failure"; readonly failure: ModelFailure }
  | { readonly kind: "interrupted" };

export type CallRules = {
  /** Gets the text while it streams. */
  readonly draft: Draft;
  /** Tools are shown but may not be called: for the last call of a turn. */
  readonly isToolless?: boolean;
  readonly maxOutputTokens?: number | undefined;
};

export async function callOnce(deps: CallDeps, turn: Turn, rules: CallRules): Promise<CallOutcome> {
  const { model, tools, events, config } = deps;
  const { signal } = turn.control;
  turn.apiCalls += 1;
  let hasText = false;
  let hasReasoning = false;
  const request: ModelRequest = {
    ...markedMessages(deps, turn),
    tools: tools.definitions(),
    toolChoice: rules.isToolless ? "none" : undefined,
    maxOutputTokens: rules.maxOutputTokens ?? turn.maxOutputTokens ?? config.agent.maxOutputTokens,
    temperature: turn.temperature,
    staleAfterMs: staleAfterMs(deps),
    maxReplyChars: replyLimitChars(model.window.tokens),
    signal,
    onDelta: ({ kind, text }) => {
      if (kind === "reasoning") {
        hasReasoning = true;
        return events.emit({ type: "reasoning-delta", text });
      }
      hasText = true;
      rules.draft.feed(text);
    },
  };
  turn.sentEstimate = estimateRequest({ messages: request.messages, tools: request.tools ?? [] });
  let outcome: Result<ModelReply, ModelFailure>;
  try {
    outcome = await callModel(model.chat, request, {
      attempts: config.agent.apiMaxRetries,
      sleep: deps.waitForRetry,
      onRetry: ({ attempt, of, waitMs, failure }) => {
        if (hasReasoning) events.emit({ type: "text-discard" });
        hasReasoning = false;
        events.emit({ type: "retry", attempt, of, waitMs, reason: failure.message });
      },
    });
  } catch (cause) {
    rules.draft.end();
    if (signal.aborted) return { kind: "interrupted" };
    throw cause;
  }
  if (!outcome.ok) {
    rules.draft.end();
    return { kind: "failure", failure: outcome.error };
  }
  const reply = outcome.value;
  if (!hasText) rules.draft.feed(textOf(reply.message.content)); // a server that does not stream
  rules.draft.end();
  model.noteReply(turn.sentEstimate, reply.usage);
  if (reply.usage !== undefined) await account(deps, turn, reply.usage);
  return { kind: "reply", reply };
}

/** The request copy with its cache markers: on the messages for Anthropic's own API, on the body for others. */
function markedMessages(
  { session, model }: CallDeps,
  turn: Turn,
): Pick<ModelRequest, "messages" | "markBody"> {
  const messages = requestMessages({
    system: turn.system,
    ephemeral: session.ephemeral,
    prefill: session.prefill,
    messages: session.messages,
    userMessageId: turn.userMessageId,
    recall: turn.recall,
    hookContext: turn.hookContext,
    withoutReasoning: model.leavesOutReasoning(session.id),
    triedWithout: turn.triedWithout,
  });
  const { caching } = model;
  if (!caching.enabled) return { messages };
  const ttl = model.cacheTtl;
  if (caching.native) return { messages: applyPromptCaching(messages, { native: true, ttl }) };
  const markBody = (body: readonly OpenAiMessage[]): readonly OpenAiMessage[] =>
    applyPromptCaching(body, { native: false, ttl });
  return { messages, markBody };
}

async function account(
  { session, model, engine, events }: CallDeps,
  turn: Turn,
  usage: Usage,
): Promise<void> {
  const prompt = promptTokens(usage);
  engine.updateFromResponse({
    promptTokens: prompt,
    completionTokens: usage.output,
    totalTokens: totalTokens(usage),
    inputTokens: usage.input,
    outputTokens: usage.output,
    cacheReadTokens: usage.cacheRead,
    cacheWriteTokens: usage.cacheWrite,
    reasoningTokens: usage.reasoning,
  });
  const cost = await model.costOf(usage);
  session.usage.add(usage, cost);
  turn.used.add(usage, cost);
  events.emit({
    type: "usage",
    usage,
    promptTokens: prompt,
    contextLength: model.window.tokens,
    costUsd: cost.costUsd,
  });
  if (await model.resolveProvisionalWindow()) engine.updateModel?.(model.engineWindow);
  await session.storeCall(usage, cost);
}

/** Prose has about 4 characters a token, so a reply of more than twice that per token of the window cannot be genuine. */
const CHARS_PER_TOKEN = 8;
/** For windows that are guessed or stated wrongly. */
const LEAST_WINDOW = 4_096;

function replyLimitChars(windowTokens: number): number {
  return Math.max(windowTokens, LEAST_WINDOW) * CHARS_PER_TOKEN;
}

const STALE_SECONDS = 180;
const LONG_REQUEST = { tokens: 50_000, seconds: 240 };
const LONGER_REQUEST = { tokens: 100_000, seconds: 300 };

/** A stream that is silent for this long is given up. Local servers may take minutes to the first token, so they have no limit. */
function staleAfterMs({ session, model, tools, env }: CallDeps): number | undefined {
  const set = Number(env.HERMES_STREAM_STALE_TIMEOUT);
  const isSet = Number.isFinite(set) && set > 0;
  if (!isSet && model.isOnThisMachine) return undefined;
  const tokens = model.tokens(session.requestEstimate(tools));
  const least =
    tokens > LONGER_REQUEST.tokens
      ? LONGER_REQUEST.seconds
      : tokens > LONG_REQUEST.tokens
        ? LONG_REQUEST.seconds
        : 0;
  return Math.max(isSet ? set : STALE_SECONDS, isSet ? 0 : least) * 1000;
}

/**
 * The reply that is being written: its text on the way to the user, without recalled memory that the model repeats and without blanks
 * at either end, and how it gets into the list. Only this text is streamed, returned, stored and synced, so all four are the same.
 */
export class Draft {
  readonly #deps: Pick<CallDeps, "session" | "events" | "clock">;
  readonly #turn: Pick<Turn, "recall">;
  /** Runs first, because it knows the recall of the turn. Undefined without recall. */
  #echoes: EchoScrubber | undefined;
  #scrubber = new AnswerScrubber();
  #text = "";
  #heldBlanks = "";

  constructor(deps: Pick<CallDeps, "session" | "events" | "clock">, turn: Pick<Turn, "recall">) {
    this.#deps = deps;
    this.#turn = turn;
    this.begin();
  }

  get text(): string {
    return this.#text;
  }

  /** The next reply begins. */
  begin(): void {
    const { recall } = this.#turn;
    this.#echoes = recall === "" ? undefined : new EchoScrubber(recall);
    this.#scrubber = new AnswerScrubber();
    this.#text = "";
    this.#heldBlanks = "";
  }

  feed(delta: string): void {
    this.#tell(this.#scrubber.feed(this.#echoes?.feed(delta) ?? delta));
  }

  /** The model has ended. A fence that was never closed is dropped with the text behind it. `feed` may follow for another piece. */
  end(): void {
    this.#tell(this.#scrubber.feed(this.#echoes?.end() ?? "") + this.#scrubber.end());
  }

  /** Blanks wait until text follows them: those at the end of the reply are cut off. */
  #tell(text: string): void {
    let end = text.length;
    while (end > 0 && isWhitespaceUnit(text.charCodeAt(end - 1))) end -= 1;
    if (end === 0) {
      this.#heldBlanks += text;
      return;
    }
    let out = this.#heldBlanks + text.slice(0, end);
    this.#heldBlanks = text.slice(end);
    if (this.#text === "") out = withoutLeadingBlanks(out);
    if (out === "") return;
    this.#text += out;
    this.#deps.events.emit({ type: "text-delta", text: out });
  }

  /** Listeners drop the text; the model is asked again. */
  discard(): void {
    if (this.text !== "") {
      this.#deps.events.emit({ type: "text-discard" });
      this.#deps.session.dropEphemeral(); // pieces that the model was to continue
    }
    this.begin();
  }

  append(...messages: readonly Message[]): void {
    const atSeconds = this.#deps.clock.now().getTime() / 1000;
    this.#deps.session.append(...messages.map((message) => withMeta(message, { atSeconds })));
  }

  /** The model's message with the streamed text. Vendor items that repeat the unscrubbed text are dropped. */
  finished(message: AssistantMessage, { finishReason }: ModelReply): AssistantMessage {
    const kept = message.content === this.text ? message : withoutVendor(message, REPEATED_TEXT);
    return newMessage({ ...kept, content: this.text }, { finishReason }); // `meta` of a foreign model object is not used
  }

  /** The text so far and a request to continue, for the model only. The list gets the whole text in the end. */
  appendPiece(message?: AssistantMessage): void {
    this.#deps.session.dropEphemeral();
    const ephemeral = "continuation";
    this.append(
      newMessage({ ...message, role: "assistant", content: this.text, toolCalls: [] }, { ephemeral }),
      newMessage({ role: "user", content: GO_ON }, { ephemeral }),
    );
  }

  /** Keeps an incomplete answer that the user has read. Gives its text; "" when there is none. */
  keepText(finishReason: string): string {
    if (this.text === "") return "";
    this.#deps.session.dropEphemeral();
    this.append(newMessage({ role: "assistant", content: this.text, toolCalls: [] }, { finishReason }));
    return this.text;
  }
}

const REPEATED_TEXT: ReadonlySet<string> = new Set(["codex_message_items"]);

const GO_ON =
  "[Your reply was cut off. Go on exactly where it stops, without repeating anything and without a word about the interruption.]";

function withoutLeadingBlanks(text: string): string {
  let start = 0;
  while (start < text.length && isWhitespaceUnit(text.charCodeAt(start))) start += 1;
  return text.slice(start);
}
