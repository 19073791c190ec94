// A fork of the agent for a background review: the same model, prompt and tools on a copy of the conversation, without database,
// provider or compaction. Prompt, tool schemas and messages are the same bytes as the parent's, so the model's cache serves them.
import type { ContextEngine } from "@hermes-memory/core/internal/context";
import { sessionFiles } from "@hermes-memory/core/internal/home";
import { newMessage } from "@hermes-memory/core/internal/message";
import { removeKeptResults } from "@hermes-memory/core/internal/sessions";
import { errorOutcome, type Tool, ToolTable } from "@hermes-memory/core/internal/tools";
import {
  notAllowed,
  type ReviewFork,
  ReviewSchedule,
  type ReviewScope,
  refusal,
  reviewPrompt,
} from "../review/index.ts";
import type { AgentHooks } from "./agent-options.ts";
import type { OpenedTools } from "./create/open-tools.ts";
import { AgentEvents } from "./events.ts";
import { keptResults } from "./session/transcript.ts";
import { TodoStore } from "./tools/todo.ts";
import { type LoopDeps, runLoop } from "./turn/turn.ts";
import { newTurn, type Turn, type TurnControl } from "./turn/turn-state.ts";

const MOST_CALLS = 16;

type ReviewInput = {
  /** The turn whose reply ends the conversation; the review's requests begin with the bytes of its requests. */
  readonly answered: Turn;
  readonly scope: ReviewScope;
  readonly tools: OpenedTools["reviewTools"];
  readonly signal: AbortSignal;
};

/** Reads the session before the first await: the user may switch to another one. */
export function forkForReview(parent: LoopDeps, input: ReviewInput): ReviewFork {
  const { session, home } = parent;
  const { id: sessionId, messages } = session;
  const { deps, turn } = forkOf(parent, input);
  return {
    sessionId,
    run: () => runLoop(deps, turn),
    finish: async () => {
      const { usage } = deps.session;
      const added = deps.session.messages.slice(messages.length + 1);
      // A review stores no messages, so its long results could never be read again.
      await removeKeptResults(sessionFiles(home).resultsDir, keptResults(added));
      await session.storeUsageOf(sessionId, usage, deps.model);
      return { added, usage: usage.usage };
    },
  };
}

function forkOf(parent: LoopDeps, input: ReviewInput): { readonly deps: LoopDeps; readonly turn: Turn } {
  const { session, config, clock, log } = parent;
  const { messages } = session;
  const { answered, scope } = input;
  const question = newMessage(
    { role: "user", content: reviewPrompt(scope) },
    { atSeconds: clock.now().getTime() / 1000 },
  );
  const own = { model: parent.model.copy(), engine: noEngine(parent), events: new AgentEvents(log) };
  const deps: LoopDeps = {
    ...parent,
    ...own,
    session: session.detached([...messages, question], own),
    tools: limited(parent, input),
    config: { ...config, compression: { ...config.compression, enabled: false } },
    maxTurns: MOST_CALLS,
    hooks: permission(parent, scope),
    manager: undefined,
    todo: new TodoStore(),
    reviewSchedule: new ReviewSchedule({ memoryInterval: 0, skillInterval: 0 }),
  };
  const turn = newTurn(`review-${session.id}`, turnControl(input.signal), { wrapsUp: false });
  turn.system = answered.system;
  // A compaction or a reload may have given the message another id; the parent then had the recall in its last user message.
  const carrier =
    messages.find(({ meta }) => meta.id === answered.userMessageId) ??
    messages.findLast(({ role }) => role === "user");
  if (carrier !== undefined) {
    turn.userMessageId = carrier.meta.id;
    turn.recall = answered.recall;
    turn.hookContext = answered.hookContext;
  }
  return { deps, turn };
}

/** The program's own check applies to the review too. It is not called for calls that the review's rights refuse anyway. */
function permission({ hooks: { preToolCall } }: LoopDeps, scope: ReviewScope): AgentHooks {
  if (preToolCall === undefined) return {};
  return {
    preToolCall: (call) =>
      refusal(call.name, call.args, scope) === undefined ? preToolCall(call) : undefined,
  };
}

/** The parent's tool schemas byte for byte, but calls run only within the review's rights. */
function limited({ session, tools: table }: LoopDeps, { scope, tools }: ReviewInput): ToolTable {
  const { id, store } = session;
  const writers = tools(id);
  const isGone = async () => (await store?.getSessionMark(id).catch(() => undefined)) === null;
  return new ToolTable(
    table.tools.map((tool): Tool => {
      const { name } = tool;
      const { untrustedSource: _source, ...policy } = tool.policy; // only our own tools run here, so nothing is fenced
      const own = writers.get(name);
      return {
        ...tool,
        policy,
        run: async (args, call) => {
          const why = refusal(name, args, scope);
          if (why !== undefined) return errorOutcome(why);
          if (await isGone()) return errorOutcome("The conversation was deleted, so nothing of it is saved.");
          return own === undefined ? errorOutcome(notAllowed(name)) : own.run(args, call);
        },
      };
    }),
  );
}

function turnControl(signal: AbortSignal): TurnControl {
  return { signal, takeSteer: () => undefined, closeSteering: () => undefined, interruptMessage: () => null };
}

/** A review never compacts: only the parent may shorten its conversation. */
function noEngine({ engine, model }: LoopDeps): ContextEngine {
  return {
    name: engine.name,
    lastPromptTokens: 0,
    lastCompletionTokens: 0,
    lastTotalTokens: 0,
    thresholdTokens: 0,
    contextLength: model.window.tokens,
    compressionCount: 0,
    updateFromResponse: () => undefined,
    shouldCompress: () => false,
    compress: () => Promise.reject(new Error("A review does not compact.")),
    getStatus: () => engine.getStatus(),
  };
}
