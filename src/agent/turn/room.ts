// Whether the next request still fits, and what is done when it does not.
import { estimateMessages } from "../../context/index.ts";
import { limitFromError, type ModelFailure, rememberWindow } from "../../models/index.ts";
import type { AgentCore } from "../core.ts";
import { compactSession, requestTokens } from "../session/compaction.ts";
import { toolWeights } from "./tool-weight.ts";
import type { Turn, TurnEnd } from "./turn.ts";

const MOST_PASSES = 3;

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
  if (!core.parts.config.compression.enabled) return;
  const { engine, transcript } = core.parts;
  const counted = engine.lastPromptTokens;
  const added = estimateMessages(transcript.messages.slice(addedFrom));
  const tokens = counted > 0 ? counted + added : requestTokens(core);
  if (engine.shouldCompress(tokens)) await compactOnce(core, turn, tokens);
}

/** False when it changed nothing. Travels with an interrupt. */
async function compactOnce(core: AgentCore, turn: Turn, tokens: number): Promise<boolean> {
  const { engine, transcript } = core.parts;
  if (engine.hasContentToCompress?.(transcript.messages) === false) return false;
  const { kind } = await compactSession(core, {
    lease: turn.lease,
    currentTokens: tokens,
    signal: turn.control.signal,
  });
  turn.system = core.parts.prompt.text ?? turn.system;
  return kind === "compacted" || kind === "pruned";
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
  turn.overflows += 1;
  // The model counts differently than we do: tools that fit by our estimate may be too much for it.
  const weights = toolWeights(core.table.tools, core.window.tokens);
  const error = [message, weights].filter((text) => text !== "").join(" ");
  if (turn.overflows > MOST_PASSES) return overflown(error);
  const { kind } = await compactSession(core, {
    lease: turn.lease,
    force: true,
    currentTokens: core.window.tokens,
    signal: turn.control.signal,
  });
  turn.system = core.parts.prompt.text ?? turn.system;
  if (kind === "compacted" || kind === "pruned") return undefined;
  // Whoever hears that nothing more is to be gained begins a new session; here there may well be.
  return kind === "busy" || kind === "failed" ? { ...overflown(message), ...LATER } : overflown(error);
}

const LATER = {
  hint: "The conversation could not be compacted just now. Try again in a moment, or begin a new one with /new.",
  compressionExhausted: false,
};

function overflown(error: string): TurnEnd {
  return {
    exit: "context_overflow",
    text: "",
    failed: true,
    error,
    hint: "Nothing more could be taken out of this conversation. Begin a new one with /new, or use a model with a larger window.",
    compressionExhausted: true,
  };
}

/** A server that states its limit knows better than any table. */
async function learnWindow(core: AgentCore, { limitTokens, message }: ModelFailure): Promise<void> {
  const tokens = limitTokens ?? limitFromError(message, core.window.tokens);
  if (tokens === undefined || tokens >= core.window.tokens) return;
  const { model, provider, baseUrl } = core.model.identity;
  core.window = { tokens, source: "server", isProvisional: false };
  core.parts.engine.updateModel?.({ model, contextLength: tokens, provider, baseUrl });
  await rememberWindow(core.parts.home, { model, provider, baseUrl }, tokens).catch(() => undefined); // only a cache
}
