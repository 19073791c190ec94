// From what the user typed to the first request: the session is ours and up to date, the message is stored, the prompt stands,
// memory has been asked. What fails on the way costs a notice, unless there is nobody to answer.
import { estimateMessage, leastTokens, windowFit } from "@hermes-memory/core/context";
import { describeCause, groupThousands, isRecord, pyStrip } from "@hermes-memory/core/lib";
import {
  type Content,
  newMessage,
  type Part,
  parseContent,
  partsOf,
  textOf,
} from "@hermes-memory/core/message";
import { buildMemoryContextBlock, type TurnStartOptions } from "@hermes-memory/core/providers";
import type { AgentCore } from "../core.ts";
import { requestTokens } from "../session/compaction.ts";
import { reserve } from "../session/reserve.ts";
import type { RunOptions, UserInput } from "../surface.ts";
import { compactUntilItFits, compactWhileTooLong, forgetStatedWindow } from "./room.ts";
import { sessionBusy, sessionGone } from "./taken-over.ts";
import { toolWeights } from "./tool-weight.ts";
import type { Turn, TurnEnd } from "./turn.ts";

/** Undefined when the model may be called. */
export async function beginTurn(
  core: AgentCore,
  turn: Turn,
  input: UserInput,
  options: RunOptions,
): Promise<TurnEnd | undefined> {
  core.turnBegins();
  const refusal = tooLarge(core, input) ?? (await reserveForTurn(core, turn));
  if (refusal !== undefined) return refusal;
  const { transcript, todo, nudges } = core.parts;
  const { signal } = turn.control;
  await core.ensureRow();
  todo.hydrate(transcript.messages);
  const history = transcript.messages;
  nudges.hydrate(history);
  nudges.noteTurn({ hasMemoryTool: core.table.has("memory") && core.parts.memory !== undefined });
  appendUserMessage(core, turn, input, options);
  core.emit({ type: "turn-start", sessionId: core.sessionId, turn: core.turns });

  const { text: system, isFresh } = await core.parts.prompt.ensure(core.sessionId, history.length > 0);
  turn.system = system;
  if (isFresh) {
    const started = quietly(core, "sessionStart", () => core.parts.hooks.sessionStart?.(core.sessionId));
    await unlessInterrupted(signal, started);
  }
  await core.flush();
  const misfit = checkWindow(core, system);
  if (misfit !== undefined) return misfit;
  const stuck = await compactWhileTooLong(core, turn);
  if (stuck !== undefined) return stuck;

  const view = { sessionId: core.sessionId, turn: core.turns, userText: turn.userText };
  const added = quietly(core, "preModelCall", () => core.parts.hooks.preModelCall?.(view));
  turn.hookContext = (await unlessInterrupted(signal, added)) ?? "";
  if (!signal.aborted)
    turn.recall = buildMemoryContextBlock(await unlessInterrupted(signal, recall(core, turn)));
  if (!signal.aborted) await compactUntilItFits(core, turn);
  return undefined;
}

async function recall(core: AgentCore, turn: Turn): Promise<string> {
  const { manager } = core.parts;
  if (manager === undefined) return "";
  await manager.onTurnStart(core.turns, turn.userText, turnStartOptions(core));
  return manager.prefetchAll(turn.userText, { session_id: core.sessionId });
}

/** Whoever takes too long for the user is left behind. */
async function unlessInterrupted<T>(signal: AbortSignal, work: Promise<T>): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const stop = (): void => resolve(undefined);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** Undefined when the session is ours and up to date, or nobody can be asked for now. */
async function reserveForTurn(core: AgentCore, turn: Turn): Promise<TurnEnd | undefined> {
  const lease = core.newLease();
  const refusal = lease === undefined ? undefined : await reserve(core, lease);
  if (refusal === undefined) {
    turn.lease = lease;
    core.lease = lease;
    return undefined;
  }
  return refusal.kind === "gone" ? sessionGone(core.sessionId) : sessionBusy(refusal.message);
}

function appendUserMessage(core: AgentCore, turn: Turn, input: UserInput, options: RunOptions): void {
  const { persistUserMessage: stored, persistUserTimestamp: at = 0 } = options;
  const content = contentOf(input);
  const storedContent = stored === undefined ? undefined : contentOf(stored);
  const message = newMessage(
    { role: "user", content },
    {
      atSeconds: at > 0 ? at : core.nowSeconds,
      ...(storedContent === undefined ? {} : { storedContent }),
    },
  );
  core.parts.transcript.append(message);
  turn.userMessageId = message.meta.id;
  turn.userContent = storedContent ?? content;
  turn.userText = pyStrip(textOf(turn.userContent));
}

/** Parts as chat APIs have them, or as a message of the list has them: what was said once can be said again. */
function contentOf(input: UserInput): Content {
  if (typeof input === "string") return input.toWellFormed();
  if (!input.some(isPart)) return parseContent(input);
  return input.flatMap((part) => (isPart(part) ? [part] : partsOf(parseContent([part]))));
}

function isPart(part: unknown): part is Part {
  if (!isRecord(part)) return false;
  if (part.type === "image") return typeof part.url === "string";
  return part.type === "other" ? "value" in part : part.type === "text" && isRecord(part.vendor);
}

/** No compaction could make room for it, and some servers would cut it without a word. It is neither sent nor stored. */
function tooLarge(core: AgentCore, input: UserInput): TurnEnd | undefined {
  // Only what is certainly too long is refused here; what may fit is for the server to decide.
  const tokens =
    typeof input === "string"
      ? leastTokens(input)
      : estimateMessage(newMessage({ role: "user", content: contentOf(input) }));
  const { tokens: limit, source } = core.window;
  if (tokens <= limit) return undefined;
  const text = `This message has about ${groupThousands(tokens)} tokens, and '${core.model.identity.model}' takes ${groupThousands(limit)}.`;
  if (source === "default") {
    core.notice(
      "warn",
      "message-too-large",
      `${text} That figure is only assumed; set model.context_length.`,
    );
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

/** A model that cannot even hold the prompt is told about before it is asked. */
function checkWindow(core: AgentCore, system: string): TurnEnd | undefined {
  const tools = core.table.definitions();
  const fit = windowFit(core.model.identity.model, core.window.tokens, {
    promptTokens: leastTokens(system),
    toolTokens: tools.length === 0 ? 0 : leastTokens(JSON.stringify(tools)),
  });
  if (fit.kind === "too_small" && forgetStatedWindow(core)) return checkWindow(core, system);
  if (fit.kind === "too_small") {
    const weights = toolWeights(core.table.tools, core.window.tokens, leastTokens);
    const error = [fit.message, weights].filter((text) => text !== "").join(" ");
    return { exit: "context_overflow", text: "", failed: true, error };
  }
  if (fit.notice !== undefined) core.notice("info", fit.notice.cause, fit.notice.text);
  return undefined;
}

function turnStartOptions(core: AgentCore): TurnStartOptions {
  return {
    model: core.model.identity.model,
    platform: core.parts.platform,
    tool_count: core.table.definitions().length,
    remaining_tokens: Math.max(0, core.window.tokens - requestTokens(core)),
  };
}

/** A hook of somebody else's. */
export async function quietly<T>(
  core: AgentCore,
  name: string,
  call: () => T | Promise<T>,
): Promise<T | undefined> {
  try {
    return await call();
  } catch (cause) {
    core.parts.log.warn(`The hook ${name} failed: ${describeCause(cause)}`);
    return undefined;
  }
}
