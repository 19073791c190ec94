// The tools of an agent: its own, those of provider and engine, of the caller and of MCP servers, as far as toolsets allow. The
// agent's own are made twice: for the conversation, and for the background review, whose writes have another origin and are
// not mirrored to providers.
import type { HermesConfig } from "@hermes-memory/core/internal/config";
import { engineTools, type SelectedEngine } from "@hermes-memory/core/internal/context";
import { type CommittedWrite, curatedTools, hasArchive } from "@hermes-memory/core/internal/curated";
import { sessionFiles } from "@hermes-memory/core/internal/home";
import { HermesError, type TextModel, withoutUndefined } from "@hermes-memory/core/internal/lib";
import { writeMetadata } from "@hermes-memory/core/internal/providers";
import {
  READ_RESULT,
  readResultEntry,
  type SessionStore,
  scopeOfUser,
  sessionSearchEntry,
  sessionSearchSettings,
} from "@hermes-memory/core/internal/sessions";
import { skillTools } from "@hermes-memory/core/internal/skills";
import { ownerInWords, type Tool, ToolTable } from "@hermes-memory/core/internal/tools";
import type { Agent } from "../agent.ts";
import type { AgentOptions } from "../agent-options.ts";
import { type ChildTask, delegateEntry, type SpawnChild } from "../delegation/delegate-task.ts";
import type { AgentParts } from "../parts.ts";
import type { Session } from "../session/session.ts";
import { connectMcpServers } from "../tools/mcp-tools.ts";
import { fits } from "../tools/run-calls.ts";
import { todoEntry } from "../tools/todo.ts";
import { knownToolsets, selectTools, type ToolsetChoice, unknownToolsets } from "../tools/toolsets.ts";
import { userTools } from "../tools/user-tools.ts";

export type ToolsInput = Pick<
  AgentParts,
  | ("model" | "manager" | "memory" | "skills" | "todo" | "events" | "user" | "platform")
  | ("home" | "config" | "env" | "log" | "clock" | "warn")
> & {
  readonly options: AgentOptions;
  readonly session: Session;
  readonly selected: SelectedEngine;
  /** Writes the recaps of `session_search`. */
  readonly recapModel: TextModel;
  readonly createAgent: (options: AgentOptions) => Promise<Agent>;
};

export type OpenedTools = {
  readonly table: ToolTable;
  /** The agent's own tools for a review of this session, by name; their journal lines have the origin `review`. */
  readonly reviewTools: (sessionId: string) => ReadonlyMap<string, Tool>;
  close(): Promise<void>;
};

export async function openTools(input: ToolsInput): Promise<OpenedTools> {
  const { options, session, config, manager, log, env, warn } = input;
  const choice = toolsetChoice(options, config);
  const depth = options.delegatedBy?.depth ?? 0;
  const spawn = childSpawner(input, () => table.names); // called when the tool runs, long after the table is made
  const delegation =
    depth < config.delegation.maxSpawnDepth
      ? [delegateEntry({ config, session, manager, spawn, depth })]
      : [];
  const own: Tool[] = [...ownTools(input), ...delegation];
  const engine = await engineTools(input.selected);
  for (const remark of engine.remarks) log.warn(remark);
  const given = await userTools(options.tools ?? {}, { readOnlyTools: options.readOnlyTools ?? [] });
  // The program's own tools stay on whatever sets are chosen, unless they are switched off.
  const brought = selectTools(given, { ...choice, enabled: null });
  if (options.delegatedBy === undefined)
    refuseUnknownToolset(options, [...own, ...engine.tools, ...brought], config);
  const servers = await connectMcpServers(config.mcpServers, { log, env, onNotice: warn });
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => servers.close()); // when a later step fails: a running server would keep the process alive
  // A child may be given fewer tools than its parent has, never more.
  const shared = options.delegatedBy?.tools;
  const offered = [...own, ...engine.tools, ...servers.tools].filter(
    ({ name }) => shared === undefined || shared.includes(name),
  );
  const chosen = selectTools(offered, choice);
  // The tools of the external memory come with the `memory` toolset, all or none.
  const external = selectTools(manager?.tools() ?? [], choice);
  const present = [...chosen, ...brought, ...external];
  const table = new ToolTable([...present, ...readerFor(present, offered, choice)], {
    refused: manager?.getRefusedToolNames() ?? [],
  });
  for (const { tool, reason, kept } of table.leftOut) {
    const other = `'${kept.name}' of ${ownerInWords(kept.owner)}`;
    const why = reason === "same-name" ? `${other} has its name` : `its name reads like ${other}`;
    warn(`The tool '${tool.name}' of ${ownerInWords(tool.owner)} is left out: ${why}.`);
  }
  cleanup.move();
  return {
    table,
    reviewTools: (sessionId) => new Map(ownTools(input, sessionId).map((tool) => [tool.name, tool])),
    close: () => servers.close(),
  };
}

/** Skills, task lists and delegation serve a person at a terminal; another program asks for them by name. */
const NOT_BY_DEFAULT = ["skills", "todo", "delegation"];

function toolsetChoice({ toolsets }: AgentOptions, { agent }: HermesConfig): ToolsetChoice {
  const disabled = agent.disabledToolsets;
  return toolsets === undefined
    ? { enabled: null, disabled: [...disabled, ...NOT_BY_DEFAULT] }
    : { enabled: toolsets, disabled };
}

/**
 * Every tool can have a result that is too long, so the tool that reads those comes with any set that is chosen. A program that asks
 * for no tools of the agent gets none.
 */
function readerFor(
  present: readonly Tool[],
  offered: readonly Tool[],
  { enabled, disabled }: ToolsetChoice,
): readonly Tool[] {
  const isPresent = present.some(({ name }) => name === READ_RESULT);
  if (isPresent || present.length === 0 || enabled?.length === 0) return [];
  const reader = offered.filter(({ name }) => name === READ_RESULT);
  return selectTools(reader, { enabled: null, disabled });
}

/** A mistyped toolset would leave an agent without tools and without an explanation. */
function refuseUnknownToolset(
  options: AgentOptions,
  tools: readonly Tool[],
  { mcpServers }: HermesConfig,
): void {
  const servers = mcpServers.map(({ name }) => name);
  const [unknown] = unknownToolsets(options.toolsets ?? [], tools, servers);
  if (unknown === undefined) return;
  throw new HermesError("unknown-toolset", `There is no toolset '${unknown}'.`, {
    hint: `Known are ${knownToolsets().join(", ")}${servers.length === 0 ? "" : ` and mcp-<server> for ${servers.join(", ")}`}.`,
  });
}

// The agent's own tools.

/** `reviewOf`: for a review of that session, whichever session the user is in by then. */
function ownTools(input: ToolsInput, reviewOf?: string): Tool[] {
  const { options, config, home, memory, session, model, user, clock, events, skills, todo } = input;
  const { store } = session;
  const isReview = reviewOf !== undefined;
  const sessionId = (): string => reviewOf ?? session.id;
  // Memory that is switched off in config has no tool: one that can only refuse would cost every request its schema.
  const hasMemory = !options.skipMemory && (config.memory.memoryEnabled || config.memory.userProfileEnabled);
  const settings = sessionSearchSettings(config);
  return [
    ...(hasMemory
      ? curatedTools(
          (work, { taskId, callId }) =>
            work({
              store: memory,
              context: {
                home,
                writeApproval: config.memory.writeApproval,
                approve: isReview ? undefined : options.approve,
                origin: isReview ? "review" : undefined,
                sessionId: sessionId(),
                onCommitted: (write) =>
                  isReview
                    ? events.emit({ type: "memory-write", action: write.op.action, target: write.target })
                    : mirrorWrite(input, write, { taskId, toolCallId: callId }),
              },
            }),
          memory !== undefined && hasArchive(memory.dir, config.memory.overflow),
        )
      : []),
    sessionSearchEntry({ summarize: settings.summarize !== "off" }, (work) =>
      work({
        store,
        context: {
          home,
          settings,
          scope: scopeOfUser(user),
          summarizer: input.recapModel,
          clock,
          fits: (text) => fits(text, model.resultLimits),
        },
      }),
    ),
    readResultEntry({
      directory: sessionFiles(home).resultsDir,
      store: () => store,
      limits: () => model.resultLimits,
      fits,
    }),
    todoEntry(todo),
    ...skillTools((work) =>
      work({
        store: skills,
        context: {
          home,
          writeApproval: config.skills.writeApproval,
          sessionId: sessionId(),
          origin: isReview ? "review" : "tool",
        },
      }),
    ),
  ];
}

export type WriteSource = {
  readonly taskId?: string;
  readonly toolCallId?: string;
  /** Of a pending write that was approved now. */
  readonly origin?: string | undefined;
};

/** Tells listeners and the external memory of a memory write that is on disk. */
export function mirrorWrite(
  { events, manager, session, platform }: Pick<ToolsInput, "events" | "manager" | "session" | "platform">,
  { op, target }: CommittedWrite,
  source: WriteSource,
): void {
  events.emit({ type: "memory-write", action: op.action, target });
  manager?.onMemoryWrite(
    op.action,
    target,
    op.action === "remove" ? "" : op.content,
    writeMetadata({
      isBackgroundReview: source.origin === "background_review" || source.origin === "review",
      sessionId: session.id,
      parentSessionId: session.parentId,
      platform,
      taskId: source.taskId,
      toolCallId: source.toolCallId,
      oldText: op.action === "add" ? undefined : op.oldText,
    }),
  );
}

// Children for delegated tasks: the parent's model, database and tools, without its memory and its context files.

/** No one answers a child's questions, and it learns nothing but through its parent. */
const NEVER_FOR_CHILDREN = ["clarify", "memory", "code_execution"];

function childSpawner(input: ToolsInput, toolNames: () => readonly string[]): SpawnChild {
  return async (task) => {
    const store = await storeOfParent(input.session);
    const child = await input.createAgent({ ...childOptions(input, task, toolNames()), store });
    return {
      sessionId: child.sessionId,
      model: child.model.model,
      run: (message, signal) => child.run(message, { signal }),
      close: () => child.close(),
    };
  };
}

/** A child is stored below its parent, so not at all while the parent has no row: a database that fails must not stop the work. */
async function storeOfParent({ store, id }: Session): Promise<SessionStore | null> {
  const mark = await store?.getSessionMark(id).catch(() => null);
  return store === undefined || mark === null ? null : store;
}

function childOptions(
  { options, session, model, config, env, log, clock }: ToolsInput,
  task: ChildTask,
  toolNames: readonly string[],
): AgentOptions {
  const disabledToolsets = [
    ...config.agent.disabledToolsets,
    ...NEVER_FOR_CHILDREN,
    ...(task.role === "orchestrator" ? [] : ["delegation"]),
  ];
  return withoutUndefined<AgentOptions>({
    // With the person's own platform: the child's is `subagent`. A key without a value would be refused.
    memory: options.memory,
    home: options.home,
    user: options.user,
    administrator: options.administrator,
    config: { ...config, agent: { ...config.agent, disabledToolsets } },
    env,
    log,
    clock,
    model: model.chat,
    contextLength: model.window.source === "option" ? model.window.tokens : undefined,
    identity: options.identity,
    platform: "subagent",
    delegatedBy: { sessionId: session.id, depth: (options.delegatedBy?.depth ?? 0) + 1, tools: toolNames },
    skipMemory: true,
    maxTurns: config.delegation.maxIterations,
    toolsets: task.toolsets ?? options.toolsets ?? null,
    tools: sharesUserTools(task) ? options.tools : undefined,
    readOnlyTools: options.readOnlyTools,
    cwd: options.cwd,
    waitForRetry: options.waitForRetry,
    // Calls that the parent may not make, its child may not make either.
    hooks: { preToolCall: options.hooks?.preToolCall },
  });
}

/** A child that is given certain sets gets the program's own tools only when they are among them. */
function sharesUserTools({ toolsets }: ChildTask): boolean {
  return toolsets === undefined || toolsets.some((set) => ["user", "all", "*"].includes(set));
}
