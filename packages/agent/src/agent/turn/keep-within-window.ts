// Keeps requests within the model's window: refuses a message that can never fit, compacts when a request is or may be too long,
// and learns from a server that refuses one. Windows are in tokens as the model's server counts them; estimates are multiplied
// by the calibration factor wherever they meet a window.
import { estimateMessages, estimateText, leastTokens, windowFit } from "@hermes-memory/core/internal/context";
import { groupThousands } from "@hermes-memory/core/internal/lib";
import { definitionOf, type Tool } from "@hermes-memory/core/internal/tools";
import { limitFromError, type ModelFailure, rememberWindow } from "../../models/index.ts";
import { type CompactDeps, compactSession } from "../session/compact.ts";
import type { Turn, TurnEnd } from "./turn-state.ts";

// Before the first call of a turn.

/**
 * No compaction could make room for such a message, and some servers would cut it silently. `tokens` is the least that it can have: a
 * message that may fit is for the server to decide.
 */
export function refuseTooLarge({ model, events }: CompactDeps, tokens: number): TurnEnd | undefined {
  const { tokens: limit, source } = model.window;
  if (tokens <= limit) return undefined;
  const text = `This message has about ${groupThousands(tokens)} tokens, and '${model.identity.model}' takes ${groupThousands(limit)}.`;
  if (source === "default") {
    const assumed = `${text} That figure is only assumed; set model.context_length.`;
    events.notice("warn", "message-too-large", assumed);
    return undefined;
  }
  return {
    exit: "context_overflow",
    text: "",
    failed: true,
    error: `${text} It was not sent.`,
    hint: "Send a part of it, or use a model with a larger window. If the figure is wrong, set model.context_length.",
    isRefused: true,
  };
}

/** A model whose window cannot even hold the prompt and the tools is not asked. */
export function refuseSmallWindow(deps: CompactDeps, system: string): TurnEnd | undefined {
  const { model, engine, tools, events } = deps;
  const definitions = tools.definitions();
  const fit = windowFit(model.identity.model, model.window.tokens, {
    promptTokens: leastTokens(system),
    toolTokens: definitions.length === 0 ? 0 : leastTokens(JSON.stringify(definitions)),
  });
  if (fit.kind === "too_small") {
    // A server may have stated a window that is wrong: then the one from before counts again.
    if (model.restoreWindow()) {
      engine.updateModel?.(model.engineWindow);
      return refuseSmallWindow(deps, system);
    }
    const largest = largestToolsets(tools.tools, model.window.tokens, leastTokens);
    return { exit: "context_overflow", text: "", failed: true, error: sentences(fit.message, largest) };
  }
  if (fit.notice !== undefined) events.notice("info", fit.notice.cause, fit.notice.text);
  return undefined;
}

const MOST_PASSES = 3;

/** The estimate decides, unless the engine has seen that it is too high. */
export async function compactWhileTooLong(deps: CompactDeps, turn: Turn): Promise<void> {
  const { config, engine, model, session, tools } = deps;
  if (!config.compression.enabled) return;
  for (let pass = 0; pass < MOST_PASSES; pass += 1) {
    const tokens = model.tokens(session.requestEstimate(tools));
    if (!engine.shouldCompress(tokens) || engine.shouldDeferPreflightToRealUsage?.(tokens)) return;
    if (!(await compactIfWorthwhile(deps, turn, tokens))) return;
  }
}

// Between two calls of a turn.

/** `addedFrom`: the first message that the model has not counted yet. */
export async function compactAfterTools(deps: CompactDeps, turn: Turn, addedFrom: number): Promise<void> {
  const { config, engine, model, session, tools } = deps;
  if (!config.compression.enabled) return;
  const counted = engine.lastPromptTokens;
  const added = model.tokens(estimateMessages(session.messages.slice(addedFrom)));
  const tokens = counted > 0 ? counted + added : model.tokens(session.requestEstimate(tools));
  if (engine.shouldCompress(tokens)) await compactIfWorthwhile(deps, turn, tokens);
  await compactUntilItFits(deps, turn);
}

/** False when it changed nothing. Rejects when the turn is interrupted. */
async function compactIfWorthwhile(deps: CompactDeps, turn: Turn, currentTokens: number): Promise<boolean> {
  if (deps.engine.hasContentToCompress?.(deps.session.messages) === false) return false;
  return compactTo(deps, turn, { currentTokens, limitEstimate: limitEstimate(deps, turn) });
}

/**
 * The last check before a request is sent: whatever the engine's trigger says, a request that cannot fit is not sent. An engine may
 * have given up because little was to be gained, or a few huge results may be all there is.
 */
export async function compactUntilItFits(deps: CompactDeps, turn: Turn): Promise<void> {
  const { config, model, session, tools } = deps;
  if (!config.compression.enabled) return;
  for (let pass = 0; pass < MOST_PASSES; pass += 1) {
    const before = session.requestEstimate(tools);
    const currentTokens = model.expectedTokens(before + addedEstimate(turn));
    if (currentTokens <= promptLimit(deps, turn)) return;
    const isShorter = await compactTo(deps, turn, {
      currentTokens,
      limitEstimate: limitEstimate(deps, turn),
    });
    if (!isShorter || session.requestEstimate(tools) >= before * WORTH_ANOTHER_PASS) return;
  }
}

/** A pass that gains less than 2 percent is not followed by another. */
const WORTH_ANOTHER_PASS = 0.98;

/** True when the list is shorter now. */
async function compactTo(
  deps: CompactDeps,
  turn: Turn,
  limits: { readonly currentTokens: number; readonly limitEstimate: number },
): Promise<boolean> {
  const { kind } = await compactSession(deps, { ...limits, signal: turn.control.signal });
  turn.system = deps.session.prompt.text ?? turn.system;
  return kind === "compacted" || kind === "pruned";
}

/** Recall and the text of hooks are in the request, but not in the list. */
function addedEstimate({ recall, hookContext }: Turn): number {
  return estimateText(recall) + estimateText(hookContext);
}

/** The limit for list, prompt and tools together, in estimated tokens. */
function limitEstimate(deps: CompactDeps, turn: Turn): number {
  return promptLimit(deps, turn) / deps.model.tokenFactor - addedEstimate(turn);
}

/** The tokens that a request may have so that the reply has room. */
function promptLimit({ model, config }: CompactDeps, turn: Turn): number {
  const { tokens } = model.window;
  const usual = Math.min(MOST_RESERVE, Math.trunc(tokens * RESERVE_SHARE));
  const reserve = Math.max(usual, turn.maxOutputTokens ?? config.agent.maxOutputTokens ?? 0);
  return Math.max(0, tokens - Math.min(reserve, Math.trunc(tokens * LARGEST_SHARE)));
}

const RESERVE_SHARE = 0.05;
const MOST_RESERVE = 4_096;
/** A larger limit for replies would leave no room for the conversation. */
const LARGEST_SHARE = 0.5;

// After a server has refused a request as too long.

/** Learns from the refusal and compacts. Undefined when a shorter request can be tried: the steps of the turn bound how often. */
export async function shrinkAfterOverflow(
  deps: CompactDeps,
  turn: Turn,
  failure: ModelFailure,
): Promise<TurnEnd | undefined> {
  const { config, session, model, tools } = deps;
  const { message } = failure;
  if (!config.compression.enabled)
    return {
      exit: "compaction_disabled",
      text: "",
      failed: true,
      error: message,
      hint: "Compaction is switched off. Set compression.enabled to true, use /compress, or begin anew with /new.",
    };
  await learnWindow(deps, failure);
  const limit = learnCount(deps, turn, failure);
  // The server counts differently than we do: tools that fit by our estimate may be too much for it.
  const largest = largestToolsets(tools.tools, model.window.tokens, (text) =>
    model.tokens(estimateText(text)),
  );
  const error = sentences(message, largest);
  const before = session.requestEstimate(tools);
  const { kind } = await compactSession(deps, {
    force: true,
    currentTokens: failure.promptTokens ?? model.tokens(turn.sentEstimate),
    limitEstimate: limit - addedEstimate(turn),
    signal: turn.control.signal,
  });
  turn.system = session.prompt.text ?? turn.system;
  if (kind === "compacted" || kind === "pruned")
    return session.requestEstimate(tools) < before ? undefined : exhausted(deps, turn, error);
  // A compaction that could not be done now may work later: the user need not begin a new session.
  return kind === "busy" || kind === "failed"
    ? { ...exhausted(deps, turn, message), ...TRY_LATER }
    : exhausted(deps, turn, error);
}

/** Below the server's count, so that the next request is certainly smaller. */
const COUNTED_MARGIN = 0.97;
/** Without a count, this share of the refused request is tried next. */
const BLIND_SHARE = 0.7;
/** No tokenizer takes more than one token for a character, on average, and prose is estimated at four characters a token. */
const MOST_TOKENS_PER_ESTIMATE = 4;

/** The limit for the next request, in estimated tokens. */
function learnCount(deps: CompactDeps, turn: Turn, failure: ModelFailure): number {
  const { model } = deps;
  const { kind, promptTokens: counted, outputTokens = 0 } = failure;
  const sent = turn.sentEstimate;
  model.forgetLastSent();
  if (kind !== "overflow") return sent * BLIND_SHARE; // too many bytes, which says nothing about tokens
  const isHighest = model.tokenFactor >= MOST_TOKENS_PER_ESTIMATE;
  model.noteOverflow(sent, counted);
  // However the server counts, the request can hardly have had more tokens than this: the window is smaller than believed.
  const most = Math.trunc(sent * MOST_TOKENS_PER_ESTIMATE);
  if (counted === undefined && isHighest && most < model.window.tokens) useSmallerWindow(deps, most);
  const limit = Math.max(0, Math.min(promptLimit(deps, turn), model.window.tokens - outputTokens));
  // A count that would have fitted explains nothing: the server's limit is not the one we believe in.
  if (counted === undefined || counted <= limit)
    return Math.min(limit / model.tokenFactor, sent * BLIND_SHARE);
  return Math.min((sent * limit) / counted, sent) * COUNTED_MARGIN;
}

/**
 * A server that states its limit knows better than any table, but a proxy may speak for another model: the limit counts for this
 * session, and is kept for later sessions only when a second session gets the same limit. It never replaces a window from config.
 */
async function learnWindow(deps: CompactDeps, { limitTokens, message }: ModelFailure): Promise<void> {
  const { model, session, tools, home } = deps;
  const tokens = limitTokens ?? limitFromError(message, model.window.tokens);
  if (tokens === undefined || tokens >= model.window.tokens) return;
  // The server has taken more than that already; or prompt and tools alone would not fit, and then it is worth another try.
  const fixed = session.requestEstimate(tools) - estimateMessages(session.messages);
  if (tokens < model.mostTaken || tokens < model.tokens(fixed)) return;
  const { source } = model.windowBefore ?? model.window;
  useSmallerWindow(deps, tokens);
  if (source === "config" || source === "custom_provider") return;
  if (!model.isWindowConfirmed(tokens, session.id)) return;
  await rememberWindow(home, model.identity, tokens).catch(() => undefined); // only a cache
}

function useSmallerWindow({ model, engine, events }: CompactDeps, tokens: number): void {
  const known = model.windowBefore ?? model.window;
  events.notice(
    "warn",
    "smaller-window",
    `The server of '${model.identity.model}' takes no more than about ${groupThousands(tokens)} tokens, less than the ${groupThousands(known.tokens)} known before (${known.source}). This session uses the smaller figure. To keep it for later sessions, set model.context_length to ${tokens}.`,
  );
  model.useSmallerWindow(tokens);
  engine.updateModel?.(model.engineWindow);
}

const TRY_LATER = {
  hint: "The conversation could not be compacted just now. Try again in a moment, or begin a new one with /new.",
  compressionExhausted: false,
};

function exhausted({ session, model, tools }: CompactDeps, turn: Turn, error: string): TurnEnd {
  const tokens = model.tokens(session.requestEstimate(tools) + addedEstimate(turn));
  const window = groupThousands(model.window.tokens);
  return {
    exit: "context_overflow",
    text: "",
    failed: true,
    error,
    hint: `Nothing more could be taken out of this conversation: prompt, tools and the messages that must stay take about ${groupThousands(tokens)} of ${window} tokens. Send a shorter message, begin a new conversation with /new, or use a model with a larger window.`,
    compressionExhausted: true,
  };
}

function sentences(...texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join(" ");
}

// Which tools take the room, for errors about a request that does not fit.

/** A toolset with less than this share of the window is not the reason. */
const WORTH_NAMING = 0.1;
const NAMED = 3;

/** "" when no toolset takes a tenth of the window. `count`: tokens of a text, as the error beside it counts them. */
function largestToolsets(
  tools: readonly Tool[],
  windowTokens: number,
  count: (text: string) => number,
): string {
  const sets = [...Map.groupBy(tools, ({ policy }) => policy.toolset)].map(([set, members]) => {
    return { set, members, tokens: count(JSON.stringify(members.map(definitionOf))) };
  });
  const heavy = sets.filter(({ tokens }) => tokens >= windowTokens * WORTH_NAMING);
  const named = heavy.sort((a, b) => b.tokens - a.tokens).slice(0, NAMED);
  return sentences(
    ...named.map(({ set, members: { length, 0: first }, tokens }) => {
      const size = `${groupThousands(length)} ${length === 1 ? "tool" : "tools"} (about ${groupThousands(tokens)} tokens)`;
      if (first?.owner.kind !== "mcp")
        return `The toolset '${set}' brings ${size}: switch it off with agent.disabled_toolsets.`;
      const { server } = first.owner;
      return (
        `The MCP server '${server}' brings ${size}: name those you need in mcp_servers.${server}.tools.include, ` +
        `or those you do not need in mcp_servers.${server}.tools.exclude.`
      );
    }),
  );
}
