// The tool table of an agent: its own tools, those of provider and engine, those of the caller and of MCP servers, as far as
// toolsets allow.
import type { HermesConfig } from "@hermes-memory/core/config";
import { HermesError } from "@hermes-memory/core/lib";
import type { SkillStore } from "@hermes-memory/core/skills";
import type { AgentCore } from "../core.ts";
import type { SpawnChild } from "../delegation/children.ts";
import { delegateAgentTool } from "../delegation/tool.ts";
import type { AgentOptions } from "../options.ts";
import type { ReviewTools } from "../review/reviewer.ts";
import {
  type AgentTool,
  connectMcpServers,
  engineTools,
  knownToolsets,
  providerTools,
  READ_RESULT,
  resolveToolset,
  selectTools,
  type ToolsetChoice,
  ToolTable,
  unknownToolsets,
  userTools,
} from "../tools/index.ts";
import type { Auxiliaries } from "./auxiliaries.ts";
import type { OpenedEngine } from "./open-engine.ts";
import { ownTools } from "./own-tools.ts";

export type OpenedTools = {
  readonly table: ToolTable;
  readonly reviewTools: ReviewTools;
  close(): Promise<void>;
};

export type ToolsInput = {
  readonly selected: OpenedEngine;
  readonly auxiliaries: Auxiliaries;
  readonly skills: SkillStore | undefined;
  readonly spawn: SpawnChild;
  readonly warn: (text: string) => void;
};

export async function openTools(
  core: AgentCore,
  options: AgentOptions,
  { selected, auxiliaries, skills, spawn, warn }: ToolsInput,
): Promise<OpenedTools> {
  const { config, manager, log, env } = core.parts;
  const choice = { enabled: options.toolsets ?? null, disabled: config.agent.disabledToolsets };
  // Switched off in config, it is not offered either: a tool that can only refuse costs every request its schema.
  const hasMemory =
    options.skipMemory !== true && (config.memory.memoryEnabled || config.memory.userProfileEnabled);
  const input = { hasMemory, skills, approve: options.approve, summarizer: auxiliaries.sessionSearch };
  const depth = options.delegatedBy?.depth ?? 0;
  const delegation = depth < config.delegation.maxSpawnDepth ? [delegateAgentTool(core, spawn, depth)] : [];
  const own: AgentTool[] = [...ownTools(core, input), ...delegation];
  const engine = await engineTools(selected);
  for (const remark of engine.remarks) log.warn(remark);
  const given = await userTools(options.tools ?? {}, { readOnlyTools: options.readOnlyTools ?? [] });
  // A program's own tools stay on whatever sets are chosen, unless they are switched off.
  const brought = selectTools(given, { ...choice, enabled: null });
  if (options.delegatedBy === undefined)
    refuseUnknown(options, [...own, ...engine.tools, ...brought], config);
  const servers = await connectMcpServers(config.mcpServers, {
    log,
    env,
    onNotice: ({ text }) => warn(text),
  });
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => servers.close()); // when something below fails: a child that stays behind keeps the process alive
  // A child may be given fewer tools than its parent has, never more.
  const shared = options.delegatedBy?.tools;
  const offered = [...own, ...engine.tools, ...servers.tools].filter(
    ({ schema }) => shared === undefined || shared.includes(schema.name),
  );
  const chosen = selectTools(offered, choice);
  const gate = {
    present: [...chosen, ...brought].map(({ schema }) => schema.name),
    enabledToolsets: choice.enabled,
    disabledToolsets: choice.disabled,
    resolveToolset,
  };
  const external = manager === undefined ? [] : providerTools(manager, gate);
  const present = [...chosen, ...brought, ...external];
  const table = new ToolTable([...present, ...readerFor(present, offered, choice)], {
    refused: manager?.getRefusedToolNames() ?? [],
  });
  for (const { name, owner, kept } of table.leftOut)
    warn(`The tool '${name}' of ${owner} is left out: its name reads like '${kept.name}' of ${kept.owner}.`);
  cleanup.move();
  return {
    table,
    reviewTools: (sessionId) =>
      new Map(ownTools(core, { ...input, reviewOf: sessionId }).map((tool) => [tool.schema.name, tool])),
    close: () => servers.close(),
  };
}

/**
 * With any set that is chosen: every tool can have a result that is too long, and then this is the way to read it. A program
 * that asks for no tool of the agent's gets none.
 */
function readerFor(
  present: readonly AgentTool[],
  offered: readonly AgentTool[],
  { enabled, disabled }: ToolsetChoice,
): readonly AgentTool[] {
  const isPresent = present.some(({ schema }) => schema.name === READ_RESULT);
  if (isPresent || present.length === 0 || enabled?.length === 0) return [];
  const reader = offered.filter(({ schema }) => schema.name === READ_RESULT);
  return selectTools(reader, { enabled: null, disabled });
}

/** A set whose name is mistyped would leave an agent without tools, and nobody would know why. */
function refuseUnknown(
  options: AgentOptions,
  tools: readonly AgentTool[],
  { mcpServers }: HermesConfig,
): void {
  const servers = mcpServers.map(({ name }) => name);
  const [unknown] = unknownToolsets(options.toolsets ?? [], tools, servers);
  if (unknown === undefined) return;
  throw new HermesError("unknown-toolset", `There is no toolset '${unknown}'.`, {
    hint: `Known are ${knownToolsets().join(", ")}${servers.length === 0 ? "" : ` and mcp-<server> for ${servers.join(", ")}`}.`,
  });
}
