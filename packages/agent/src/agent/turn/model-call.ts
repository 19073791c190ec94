// One request to the model with everything around it: the request copy, cache markers, retries, streaming, usage. The outcome is
// a reply, a reason to stop, or an interrupt with what had arrived by then.
import { applyPromptCaching, estimateRequest } from "@hermes-memory/core/context";
import type { Result } from "@hermes-memory/core/lib";
import { type OpenAiMessage, textOf } from "@hermes-memory/core/message";
import {
  callModel,
  isLoopback,
  type ModelFailure,
  type ModelReply,
  type ModelRequest,
  parseBaseUrl,
  promptTokens,
  resolveContextWindow,
  totalTokens,
  type Usage,
} from "../../models/index.ts";
import type { AgentCore } from "../core.ts";
import { requestTokens } from "../session/compaction.ts";
import { tokenUpdate } from "../session/totals.ts";
import { withoutTried } from "./refused.ts";
import type { ReplyText } from "./reply-text.ts";
import { requestMessages } from "./request.ts";
import type { Turn } from "./turn.ts";

export type CallOutcome =
  | { readonly kind: "reply"; readonly reply: ModelReply }
  | { readonly kind: "failure"; readonly failure: ModelFailure }
  | { readonly kind: "interrupted" };

export type CallRules = {
  /** Collects and tells the text. */
  readonly text: ReplyText;
  /** Tools are shown but may not be called: the last call of a turn. */
  readonly isToolless?: boolean;
  readonly maxOutputTokens?: number | undefined;
};

export async function callOnce(core: AgentCore, turn: Turn, rules: CallRules): Promise<CallOutcome> {
  const { signal } = turn.control;
  turn.apiCalls += 1;
  let hasText = false;
  let hasReasoning = false;
  const request: ModelRequest = {
    ...markedMessages(core, turn),
    tools: core.table.definitions(),
    ...(rules.isToolless ? { toolChoice: "none" as const } : {}),
    maxOutputTokens: rules.maxOutputTokens ?? core.parts.config.agent.maxOutputTokens,
    staleAfterMs: staleAfterMs(core),
    maxReplyChars: replyLimitChars(core.window.tokens),
    signal,
    onDelta: ({ kind, text }) => {
      if (kind === "reasoning") {
        hasReasoning = true;
        return core.emit({ type: "reasoning-delta", text });
      }
      hasText = true;
      rules.text.feed(text);
    },
  };
  turn.sentEstimate = estimateRequest({ messages: request.messages, tools: request.tools ?? [] });
  let outcome: Result<ModelReply, ModelFailure>;
  try {
    outcome = await callModel(core.model, request, {
      attempts: core.parts.config.agent.apiMaxRetries,
      ...(core.parts.waitForRetry === undefined ? {} : { sleep: core.parts.waitForRetry }),
      onRetry: ({ attempt, of, waitMs, failure }) => {
        if (hasReasoning) core.emit({ type: "text-discard" });
        hasReasoning = false;
        core.emit({ type: "retry", attempt, of, waitMs, reason: failure.message });
      },
    });
  } catch (cause) {
    rules.text.end();
    if (signal.aborted) return { kind: "interrupted" };
    throw cause;
  }
  if (!outcome.ok) {
    rules.text.end();
    return { kind: "failure", failure: outcome.error };
  }
  if (!hasText) rules.text.feed(textOf(outcome.value.message.content)); // a server that does not stream
  rules.text.end();
  calibrate(core, turn.sentEstimate, outcome.value.usage);
  await account(core, outcome.value.usage);
  return { kind: "reply", reply: outcome.value };
}

/** The request copy with its cache markers: on the messages where the wire is Anthropic's own, on the body elsewhere. */
function markedMessages(
  core: AgentCore,
  turn: Turn,
): Pick<ModelRequest, "messages"> & Partial<Pick<ModelRequest, "markBody">> {
  const messages = requestMessages({
    system: turn.system,
    ephemeral: core.parts.ephemeral,
    prefill: core.parts.prefill,
    messages: withoutTried(core.parts.transcript.messages, turn.triedWithout),
    userMessageId: turn.userMessageId,
    recall: turn.recall,
    hookContext: turn.hookContext,
    withoutReasoning: core.withoutReasoningIn === core.sessionId,
  });
  const { caching, ttl } = core;
  if (!caching.enabled) return { messages };
  if (caching.native) return { messages: applyPromptCaching(messages, { native: true, ttl }) };
  const markBody = (body: readonly OpenAiMessage[]): readonly OpenAiMessage[] =>
    applyPromptCaching(body, { native: false, ttl });
  return { messages, markBody };
}

/** A server that reports nothing teaches nothing. */
function calibrate(core: AgentCore, estimate: number, usage: Usage | undefined): void {
  const counted = usage === undefined ? 0 : promptTokens(usage);
  core.lastSent = counted > 0 ? { estimate, counted } : undefined;
  core.mostTaken = Math.max(core.mostTaken, counted);
  core.calibration.observe(estimate, counted);
}

async function account(core: AgentCore, usage: Usage | undefined): Promise<void> {
  if (usage === undefined) return;
  const { engine, totals, store } = core.parts;
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
  const cost = await totals.add(usage, core.model.identity, core.ttl);
  core.emit({
    type: "usage",
    usage,
    promptTokens: prompt,
    contextLength: core.window.tokens,
    costUsd: cost.costUsd,
  });
  if (core.window.isProvisional) await resolveWindowAgain(core);
  if (store === undefined) return;
  const isBehind = totals.owed.length > 0; // the database is away; the next flush tries again
  totals.owe(core.sessionId, tokenUpdate(usage, cost, core.model.identity));
  if (!isBehind) await core.storeUsage();
}

/** The server had not loaded the model when it was asked first. */
async function resolveWindowAgain(core: AgentCore): Promise<void> {
  const { home, config, engine } = core.parts;
  const { model, provider, baseUrl } = core.model.identity;
  core.window = { ...core.window, isProvisional: false }; // asked once, whatever the answer
  const apiKey = core.chosen?.apiKey ?? "";
  const window = await resolveContextWindow({ model, provider, baseUrl, apiKey }, { home, config });
  if (window.source !== "server") return; // it did not answer; what it said first is better than a guess
  core.window = { ...window, isProvisional: false };
  engine.updateModel?.({ model, contextLength: window.tokens, provider, baseUrl });
}

/** Prose has about 4 characters a token, so a reply of this length cannot have come out of the window. */
const CHARS_PER_TOKEN = 8;
/** For windows that are only guessed, or stated wrongly. */
const LEAST_WINDOW = 4_096;

function replyLimitChars(windowTokens: number): number {
  return Math.max(windowTokens, LEAST_WINDOW) * CHARS_PER_TOKEN;
}

const STALE_SECONDS = 180;
const LONG_REQUEST = { tokens: 50_000, seconds: 240 };
const LONGER_REQUEST = { tokens: 100_000, seconds: 300 };

/** Local servers may think for minutes before the first token; others are given up on. */
function staleAfterMs(core: AgentCore): number | undefined {
  const set = Number(core.parts.env.HERMES_STREAM_STALE_TIMEOUT);
  const isSet = Number.isFinite(set) && set > 0;
  const base = parseBaseUrl(core.model.identity.baseUrl);
  if (!isSet && base !== undefined && isLoopback(base)) return undefined;
  const tokens = requestTokens(core);
  const least =
    tokens > LONGER_REQUEST.tokens
      ? LONGER_REQUEST.seconds
      : tokens > LONG_REQUEST.tokens
        ? LONG_REQUEST.seconds
        : 0;
  return Math.max(isSet ? set : STALE_SECONDS, isSet ? 0 : least) * 1000;
}
