// Whether the next request still fits, and what is done when it does not. Windows are in tokens as the model's server counts them;
// estimates are multiplied by the calibration factor wherever they meet one.
import { estimateMessages, estimateText } from "@hermes-memory/core/context";
import { groupThousands } from "@hermes-memory/core/lib";
import { limitFromError, type ModelFailure, rememberWindow } from "../../models/index.ts";
import type { AgentCore } from "../core.ts";
import { compactSession, requestEstimate, requestTokens } from "../session/compaction.ts";
import { toolWeights } from "./tool-weight.ts";
import type { Turn, TurnEnd } from "./turn.ts";

const MOST_PASSES = 3;
/** Requests that a server may refuse as too long between two replies. Each is smaller than the last, so this is seldom reached. */
const MOST_OVERFLOWS = 12;

/** Before the first call of a turn: the estimate decides, unless the model has shown that it is too high. */
export async function compactWhileTooLong(core: AgentCore, turn: Turn): Promise<TurnEnd | undefined> {
  if (!core.parts.config.compression.enabled) return undefined;
  const { engine } = core.parts;
  for (let pass = 0; pass < MOST_PASSES; pass += 1) {
    const tokens = requestTokens(core);
    if (!engine.shouldCompress(tokens) || engine.shouldDeferPreflightToRealUsage?.(tokens)) return undefined;
    if (!(await compactOnce(core, turn, tokens))) return undefined;
  }
  return undefined;
}

/** Between two calls of a turn: what the model counted last, and an estimate of what was added since. */
export async function compactAfterTools(core: AgentCore, turn: Turn, addedFrom: number): Promise<void> {
  turn.overflows = 0;
  if (!core.parts.config.compression.enabled) return;
  const { engine, transcript } = core.parts;
  const counted = engine.lastPromptTokens;
  const added = core.calibration.tokens(estimateMessages(transcript.messages.slice(addedFrom)));
  const tokens = counted > 0 ? counted + added : requestTokens(core);
  if (engine.shouldCompress(tokens)) await compactOnce(core, turn, tokens);
  await compactUntilItFits(core, turn);
}

/** False when it changed nothing. Travels with an interrupt. */
async function compactOnce(core: AgentCore, turn: Turn, tokens: number): Promise<boolean> {
  const { engine, transcript } = core.parts;
  if (engine.hasContentToCompress?.(transcript.messages) === false) return false;
  const { kind } = await compactSession(core, {
    lease: turn.lease,
    currentTokens: tokens,
    limitEstimate: limitEstimate(core, turn),
    signal: turn.control.signal,
  });
  turn.system = core.parts.prompt.text ?? turn.system;
  return kind === "compacted" || kind === "pruned";
}

/**
 * The last look before a request goes out. An engine may have been told too often that nothing is to be gained, a few huge results may
 * be all there is: whatever its trigger says, a request that cannot fit is not sent.
 */
export async function compactUntilItFits(core: AgentCore, turn: Turn): Promise<void> {
  if (!core.parts.config.compression.enabled) return;
  for (let pass = 0; pass < MOST_PASSES; pass += 1) {
    const tokens = expectedTokens(core, turn);
    if (tokens <= promptLimit(core)) return;
    const before = requestEstimate(core);
    const { kind } = await compactSession(core, {
      lease: turn.lease,
      currentTokens: tokens,
      limitEstimate: limitEstimate(core, turn),
      signal: turn.control.signal,
    });
    turn.system = core.parts.prompt.text ?? turn.system;
    if ((kind !== "compacted" && kind !== "pruned") || !isLess(requestEstimate(core), before)) return;
  }
}

/** As far as the server has counted this list, its count; an estimate of the rest. */
function expectedTokens(core: AgentCore, turn: Turn): number {
  const estimate = requestEstimate(core) + addedEstimate(turn);
  const last = core.lastSent;
  if (last === undefined || estimate < last.estimate) return core.calibration.tokens(estimate);
  return last.counted + core.calibration.tokens(estimate - last.estimate);
}

/** Recall and what hooks add are in the request alone. */
function addedEstimate({ recall, hookContext }: Turn): number {
  return estimateText(recall) + estimateText(hookContext);
}

/** What the list, the prompt and the tools may cost together, in estimated tokens. */
function limitEstimate(core: AgentCore, turn: Turn): number {
  return promptLimit(core) / core.tokenFactor - addedEstimate(turn);
}

/** What a request may cost so that the reply has room. */
function promptLimit(core: AgentCore): number {
  return Math.max(0, core.window.tokens - replyReserve(core));
}

const RESERVE_SHARE = 0.05;
const MOST_RESERVE = 4_096;
/** A limit for replies that is larger than that would leave nothing to answer. */
const LARGEST_SHARE = 0.5;

function replyReserve({ window, parts }: AgentCore): number {
  const usual = Math.min(MOST_RESERVE, Math.trunc(window.tokens * RESERVE_SHARE));
  const reserve = Math.max(usual, parts.config.agent.maxOutputTokens ?? 0);
  return Math.min(reserve, Math.trunc(window.tokens * LARGEST_SHARE));
}

/** Before anything was refused, a pass that gains less than this is not followed by another. */
const WORTH_SENDING = 0.98;

function isLess(now: number, before: number): boolean {
  return now < before * WORTH_SENDING;
}

/** The server says the request is too long. Undefined when a shorter one can be tried. */
export async function makeRoom(
  core: AgentCore,
  turn: Turn,
  failure: ModelFailure,
): Promise<TurnEnd | undefined> {
  const { message } = failure;
  if (!core.parts.config.compression.enabled)
    return {
      exit: "compaction_disabled",
      text: "",
      failed: true,
      error: message,
      hint: "Compaction is switched off. Set compression.enabled to true, use /compress, or begin anew with /new.",
    };
  await learnWindow(core, failure);
  const limit = learnCount(core, turn, failure);
  turn.overflows += 1;
  // The model counts differently than we do: tools that fit by our estimate may be too much for it.
  const weights = toolWeights(core.table.tools, core.window.tokens, (text) =>
    core.calibration.tokens(estimateText(text)),
  );
  const error = [message, weights].filter((text) => text !== "").join(" ");
  if (turn.overflows > MOST_OVERFLOWS) return overflown(core, turn, error);
  const before = requestEstimate(core);
  const { kind } = await compactSession(core, {
    lease: turn.lease,
    force: true,
    currentTokens: failure.promptTokens ?? core.calibration.tokens(turn.sentEstimate),
    limitEstimate: limit - addedEstimate(turn),
    signal: turn.control.signal,
  });
  turn.system = core.parts.prompt.text ?? turn.system;
  if (kind === "compacted" || kind === "pruned")
    return requestEstimate(core) < before ? undefined : overflown(core, turn, error);
  // Whoever hears that nothing more is to be gained begins a new session; here there may well be.
  return kind === "busy" || kind === "failed"
    ? { ...overflown(core, turn, message), ...LATER }
    : overflown(core, turn, error);
}

/** Under what a server counted, so that the next request is certainly smaller. */
const COUNTED_MARGIN = 0.97;
/** Without a count: so much of the refused request is tried next. */
const BLIND_SHARE = 0.7;
/** No tokenizer takes more than one token for a character, on average, and prose is estimated at four of them. */
const MOST_TOKENS_PER_ESTIMATE = 4;

/** What the next request may cost, in estimated tokens, after the server has refused this one. */
function learnCount(core: AgentCore, turn: Turn, failure: ModelFailure): number {
  const { kind, promptTokens: counted, outputTokens = 0 } = failure;
  const sent = turn.sentEstimate;
  core.lastSent = undefined;
  if (kind !== "overflow") return sent * BLIND_SHARE; // too many bytes, which says nothing about tokens
  const isHighest = core.tokenFactor >= MOST_TOKENS_PER_ESTIMATE;
  core.calibration.observeOverflow(sent, counted);
  // However it counts, it can hardly have been more than this, and that was too much: the window is smaller than believed.
  const most = Math.trunc(sent * MOST_TOKENS_PER_ESTIMATE);
  if (counted === undefined && isHighest && most < core.window.tokens) useWindow(core, most);
  const limit = Math.max(0, Math.min(promptLimit(core), core.window.tokens - outputTokens));
  // A count that would have fitted explains nothing: its limit was not believed.
  if (counted === undefined || counted <= limit)
    return Math.min(limit / core.tokenFactor, sent * BLIND_SHARE);
  return Math.min((sent * limit) / counted, sent) * COUNTED_MARGIN;
}

const LATER = {
  hint: "The conversation could not be compacted just now. Try again in a moment, or begin a new one with /new.",
  compressionExhausted: false,
};

function overflown(core: AgentCore, turn: Turn, error: string): TurnEnd {
  return {
    exit: "context_overflow",
    text: "",
    failed: true,
    error,
    hint: overflowHint(core, turn),
    compressionExhausted: true,
  };
}

function overflowHint(core: AgentCore, turn: Turn): string {
  const tokens = core.calibration.tokens(requestEstimate(core) + addedEstimate(turn));
  const window = groupThousands(core.window.tokens);
  return `Nothing more could be taken out of this conversation: prompt, tools and what must stay take about ${groupThousands(tokens)} of ${window} tokens. Send a shorter message, begin a new conversation with /new, or use a model with a larger window.`;
}

/**
 * A server that states its limit knows better than any table, but a proxy may speak for another model: the limit counts for this
 * session, and is kept for others only when a second session has been told the same. Config is never overruled for good.
 */
async function learnWindow(core: AgentCore, { limitTokens, message }: ModelFailure): Promise<void> {
  const tokens = limitTokens ?? limitFromError(message, core.window.tokens);
  if (tokens === undefined || tokens >= core.window.tokens) return;
  const { calibration, sessionId, parts } = core;
  // It has taken more than that; or nothing could ever be said to it, and then it is worth another try.
  const fixed = requestEstimate(core) - estimateMessages(parts.transcript.messages);
  if (tokens < core.mostTaken || tokens < calibration.tokens(fixed)) return;
  const { source } = core.windowBefore ?? core.window;
  useWindow(core, tokens);
  if (source === "config" || source === "custom_provider") return;
  if (!calibration.isStatedTwice({ tokens, sessionId })) return;
  core.windowBefore = undefined;
  await rememberWindow(parts.home, core.model.identity, tokens).catch(() => undefined); // only a cache
}

function useWindow(core: AgentCore, tokens: number): void {
  const { model, provider, baseUrl } = core.model.identity;
  core.windowBefore ??= core.window;
  core.notice(
    "warn",
    "smaller-window",
    `The server of '${model}' takes no more than about ${groupThousands(tokens)} tokens, less than the ${groupThousands(core.windowBefore.tokens)} that were known (${core.windowBefore.source}). This session keeps to that. If it is right, set model.context_length.`,
  );
  core.window = { tokens, source: "server", isProvisional: false };
  core.parts.engine.updateModel?.({ model, contextLength: tokens, provider, baseUrl });
}

/** The window as it was before a server stated a smaller one that cannot even hold the prompt. False when there is none. */
export function forgetStatedWindow(core: AgentCore): boolean {
  const { windowBefore: window } = core;
  if (window === undefined) return false;
  const { model, provider, baseUrl } = core.model.identity;
  core.windowBefore = undefined;
  core.window = window;
  core.parts.engine.updateModel?.({ model, contextLength: window.tokens, provider, baseUrl });
  return true;
}
