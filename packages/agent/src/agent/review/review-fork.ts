// A fork of the agent for a background review: the same model, prompt and tools on a copy of the conversation, without database,
// provider or compaction. Prompt, tool schemas and messages are the same bytes as the parent's, so the model's cache serves them.
import type { ContextEngine } from "@hermes-memory/core/internal/context";
import { isRecord, preview } from "@hermes-memory/core/internal/lib";
import { newMessage } from "@hermes-memory/core/internal/message";
import { errorOutcome, type Tool, type ToolArguments, ToolTable } from "@hermes-memory/core/internal/tools";
import type { AgentHooks } from "../agent-options.ts";
import { AgentEvents } from "../events.ts";
import { TodoStore } from "../tools/todo.ts";
import { type LoopDeps, newTurn } from "../turn/turn.ts";
import type { Turn, TurnControl } from "../turn/turn-state.ts";
import { ReviewSchedule, type ReviewScope } from "./review-schedule.ts";

type ReviewInput = {
  readonly scope: ReviewScope;
  /** The tools that write, by name; their journal lines have the origin `review`. */
  readonly tools: ReadonlyMap<string, Tool>;
  /** Whether the session was deleted meanwhile. */
  readonly isGone: () => Promise<boolean>;
  readonly signal: AbortSignal;
};

export type Fork = { readonly deps: LoopDeps; readonly turn: Turn };

const MOST_CALLS = 16;

/** `answered`: the turn whose reply ends the conversation; the review's requests begin with the bytes of its requests. */
export function forkForReview(parent: LoopDeps, answered: Turn, input: ReviewInput): Fork {
  const { session, config, clock, log } = parent;
  const { messages } = session;
  const question = newMessage(
    { role: "user", content: reviewPrompt(input.scope) },
    { atSeconds: clock.now().getTime() / 1000 },
  );
  const own = { model: parent.model.copy(), engine: noEngine(parent), events: new AgentEvents(log) };
  const deps: LoopDeps = {
    ...parent,
    ...own,
    session: session.detached([...messages, question], own),
    tools: limited(parent.tools, input),
    config: { ...config, compression: { ...config.compression, enabled: false } },
    maxTurns: MOST_CALLS,
    hooks: permission(parent, input.scope),
    manager: undefined,
    todo: new TodoStore(),
    reviewSchedule: new ReviewSchedule({ memoryInterval: 0, skillInterval: 0 }),
    keptResults: new Set(),
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
function limited(table: ToolTable, { scope, tools, isGone }: ReviewInput): ToolTable {
  return new ToolTable(
    table.tools.map((tool): Tool => {
      const { name } = tool;
      const { untrustedSource: _source, ...policy } = tool.policy; // only our own tools run here, so nothing is fenced
      const own = tools.get(name);
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
    getStatus: () => engine.getStatus(),
  };
}

// The rights of a review. It runs without the user, so they are per operation: it may add and correct, but remove nothing.

/** `actions`: the allowed values of the argument `action`; undefined for a tool that only reads. */
type Right = { readonly for: keyof ReviewScope | "either"; readonly actions?: readonly string[] };

const RIGHTS: Readonly<Record<string, Right>> = {
  read_result: { for: "either" }, // for reading a long skill in parts
  memory: { for: "memory", actions: ["add", "replace", "search_archive"] },
  skills_list: { for: "skills" },
  skill_view: { for: "skills" },
  skill_manage: { for: "skills", actions: ["create", "patch", "edit", "write_file"] },
};

const SHOWN_CHARS = 40;

/** Undefined when the call may run; otherwise the text for the model. */
export function refusal(name: string, args: ToolArguments, scope: ReviewScope): string | undefined {
  const right = Object.hasOwn(RIGHTS, name) ? RIGHTS[name] : undefined;
  if (right === undefined) return notAllowed(name);
  if (right.for !== "either" && !scope[right.for])
    return `This review is about ${scope.memory ? "memory" : "skills"} only, so '${name}' was not run.`;
  const { action, operations } = args;
  if (name === "memory" && operations !== undefined && operations !== null) {
    const steps: readonly unknown[] = Array.isArray(operations) ? operations : [operations];
    // Every operation of a batch is checked by itself. An empty batch is refused by the tool.
    const refused = steps
      .map((step) => refusal(name, { action: isRecord(step) ? step.action : undefined }, scope))
      .find((answer) => answer !== undefined);
    if (refused !== undefined || steps.length > 0) return refused;
  }
  if (right.actions === undefined || (typeof action === "string" && right.actions.includes(action)))
    return undefined;
  const asked = typeof action === "string" ? `action '${preview(action, SHOWN_CHARS)}'` : "no action";
  return `A review may not use '${name}' with ${asked}; allowed are: ${right.actions.join(", ")}. Nothing was changed.`;
}

/** Other programs match on this wording. */
function notAllowed(name: string): string {
  return `Background review denied non-whitelisted tool: ${name}. Only memory/skill tools are allowed.`;
}

// The prompt: the newest message, after the whole conversation

function reviewPrompt(scope: ReviewScope): string {
  const parts =
    scope.memory && scope.skills
      ? [COMBINED, `## Memory\n${MEMORY}`, `## Skills\n${SKILLS}`]
      : [scope.skills ? SKILLS : MEMORY];
  return [...parts, ONLY_THESE].join("\n\n");
}

const COMBINED =
  "Step back from the conversation above and look after two things: what should be remembered about the user, and what should be " +
  "learnt about the work. Act on whichever has something to it, on both if both do. If neither has, answer 'Nothing to save.' and stop.";

const MEMORY =
  "Look over the conversation above for what will still matter in other conversations. Did the user reveal who they are, what they " +
  "wish for, what they prefer, or details of their life and surroundings? Did they say how they want you to behave or to work? Save " +
  "such things with the memory tool, as short statements of fact, and correct entries that have turned out wrong. What is true only for " +
  "this task does not belong there. If nothing stands out, answer 'Nothing to save.' and stop.";

const SKILLS = `Look over the conversation above for what would make the next piece of work of this kind go better, and put it into a skill. Be active: most conversations with real work in them teach something, and a pass that changes nothing is usually a missed chance.

What to look for:
- The user corrected style, tone, format or length. Annoyance ("stop doing that", "remember this", "too long") is a strong sign: how a task is to be done belongs into the skill for that task, not only into memory.
- The user corrected the order or the way of working.
- A technique, a fix or a way around a problem was found that others would have to find again.
- A skill that was used turned out to be wrong, outdated or to lack a step.

What a good skill is: one for a class of tasks, with a rich SKILL.md and details in references/, not one for a single session. In this order:
1. Improve a skill that was loaded in this conversation.
2. Improve an existing one that covers the field: find it with skills_list and look at it with skill_view.
3. Add a file to it: references/ for details and condensed knowledge, templates/ for starting points to copy, scripts/ for checks that can be run again. Point to it with one line in SKILL.md.
4. Only when nothing fits, create a new one for the whole class of tasks. Its name says what the class is: no ticket numbers, error texts, code names, bare library names or traces of this session.

Leave alone: skills that came with the program or from the hub. Pinned ones may be improved. Where two skills overlap, mention it and go on; the curator merges them.
Do not write down failures of this machine, claims that a tool does not work, passing errors or one-off stories. Write down what fixed them.
'Nothing to save.' is a possible answer, but not the usual one.`;

const ONLY_THESE =
  "[Only the memory and skill tools may be called now; calls of any other tool are refused. Nobody reads your answer, so keep it to a line.]";
