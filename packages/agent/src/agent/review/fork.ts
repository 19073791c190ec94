// The reviewer: the agent's own model, prompt and tools on a copy of its conversation, without a database, a provider or a
// compaction. The prompt, the tool schemas and the messages are the parent's bytes, so the model's cache serves them.
import type { ContextEngine } from "@hermes-memory/core/context";
import { newMessage } from "@hermes-memory/core/message";
import { errorOutcome, type Tool, ToolTable } from "@hermes-memory/core/tools";
import { AgentCore } from "../core.ts";
import type { AgentHooks } from "../hooks.ts";
import { Nudges } from "../nudges.ts";
import { Totals } from "../session/totals.ts";
import { Transcript } from "../session/transcript.ts";
import { TodoStore } from "../tools/todo-store.ts";
import { Turn, type TurnControl } from "../turn/turn.ts";
import { reviewPrompt } from "./prompts.ts";
import { notAllowed, type ReviewScope, refusal } from "./rights.ts";

export type ReviewInput = {
  readonly scope: ReviewScope;
  /** The tools that write, made for this purpose: their journal says `review`. By name. */
  readonly tools: ReadonlyMap<string, Tool>;
  readonly signal: AbortSignal;
};

export type Fork = { readonly core: AgentCore; readonly turn: Turn };

const MOST_CALLS = 16;

/** `answered`: the turn whose reply the conversation ends with; its requests are the prefix. */
export function forkForReview(parent: AgentCore, answered: Turn, input: ReviewInput): Fork {
  const { parts } = parent;
  const { messages } = parts.transcript;
  const transcript = new Transcript(parent.sessionId, undefined, () => undefined);
  transcript.adopt(parent.sessionId, [
    ...messages,
    newMessage({ role: "user", content: reviewPrompt(input.scope) }, { atSeconds: parent.nowSeconds }),
  ]);
  const core = new AgentCore(
    {
      ...parts,
      config: { ...parts.config, compression: { ...parts.config.compression, enabled: false } },
      maxTurns: MOST_CALLS,
      hooks: permission(parent, input.scope),
      store: undefined,
      manager: undefined,
      engine: noEngine(parent),
      todo: new TodoStore(),
      transcript,
      totals: new Totals(parts.config.models.prices),
      nudges: new Nudges({ memoryInterval: 0, skillInterval: 0 }),
    },
    {
      model: parent.model,
      window: parent.window,
      table: limited(parent.table, input),
      calibration: parent.calibration,
    },
  );
  const turn = new Turn(`review-${parent.sessionId}`, control(input.signal));
  turn.system = answered.system;
  core.withoutReasoningIn = parent.withoutReasoningIn;
  turn.wrapsUp = false;
  // Where a compaction or a reload has given the message another id, the parent's requests had the recall in the last one.
  const carrier =
    messages.find(({ meta }) => meta.id === answered.userMessageId) ??
    messages.findLast(({ role }) => role === "user");
  if (carrier !== undefined) {
    turn.userMessageId = carrier.meta.id;
    turn.recall = answered.recall;
    turn.hookContext = answered.hookContext;
  }
  return { core, turn };
}

/** What a program does not let its agent do, the review does not do either. It is not asked about what is refused anyway. */
function permission({ parts }: AgentCore, scope: ReviewScope): AgentHooks {
  const { preToolCall } = parts.hooks;
  if (preToolCall === undefined) return {};
  return {
    preToolCall: (call) =>
      refusal(call.name, call.args, scope) === undefined ? preToolCall(call) : undefined,
  };
}

/** The parent's schemas, to the byte; behind them only what a review may do. */
function limited(table: ToolTable, { scope, tools }: ReviewInput): ToolTable {
  return new ToolTable(
    table.tools.map((tool): Tool => {
      const { name } = tool;
      const { untrustedSource: _source, ...policy } = tool.policy; // refusals are ours, and what runs is our own
      const own = tools.get(name);
      return {
        ...tool,
        policy,
        run: async (args, call) => {
          const why = refusal(name, args, scope);
          if (why !== undefined) return errorOutcome(why);
          return own === undefined ? errorOutcome(notAllowed(name)) : own.run(args, call);
        },
      };
    }),
  );
}

function control(signal: AbortSignal): TurnControl {
  return { signal, takeSteer: () => undefined, closeSteering: () => undefined, interruptMessage: () => null };
}

/** A review never compacts: the conversation is the parent's to shorten. */
function noEngine({ parts, window }: AgentCore): ContextEngine {
  return {
    name: parts.engine.name,
    lastPromptTokens: 0,
    lastCompletionTokens: 0,
    lastTotalTokens: 0,
    thresholdTokens: 0,
    contextLength: window.tokens,
    compressionCount: 0,
    updateFromResponse: () => undefined,
    shouldCompress: () => false,
    compress: async (messages) => ({
      kind: "unchanged",
      messages,
      reason: "nothing_to_gain",
      leftOut: [],
      prunedResults: 0,
      tokensBefore: 0,
      tokensAfter: 0,
      notices: [],
    }),
    getStatus: () => parts.engine.getStatus(),
  };
}
