// The tool table of an agent: its own tools, those of provider and engine, those of the caller and of MCP servers, as far as
// toolsets allow.
import type { HermesConfig } from "@hermes-memory/core/config";
import { engineTools } from "@hermes-memory/core/context";
import { HermesError } from "@hermes-memory/core/lib";
import { READ_RESULT } from "@hermes-memory/core/sessions";
import type { SkillStore } from "@hermes-memory/core/skills";
import { ownerInWords, type Tool, ToolTable } from "@hermes-memory/core/tools";
import type { AgentCore } from "../core.ts";
import type { SpawnChild } from "../delegation/delegate-task.ts";
import { delegateEntry } from "../delegation/delegate-task.ts";
import type { AgentOptions } from "../options.ts";
import type { ReviewTools } from "../review/reviewer.ts";
import {
  connectMcpServers,
  knownToolsets,
  selectTools,
  type ToolsetChoice,
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
  const delegation = depth < config.delegation.maxSpawnDepth ? [delegateEntry(core, spawn, depth)] : [];
  const own: Tool[] = [...ownTools(core, input), ...delegation];
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
    ({ name }) => shared === undefined || shared.includes(name),
  );
  const chosen = selectTools(offered, choice);
  // Those of the external memory come with the `memory` toolset, all or none.
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
    reviewTools: (sessionId) =>
      new Map(ownTools(core, { ...input, reviewOf: sessionId }).map((tool) => [tool.name, tool])),
    close: () => servers.close(),
  };
}

/**
 * With any set that is chosen: every tool can have a result that is too long, and then this is the way to read it. A program
 * that asks for no tool of the agent's gets none.
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

/** A set whose name is mistyped would leave an agent without tools, and nobody would know why. */
function refuseUnknown(options: AgentOptions, tools: readonly Tool[], { mcpServers }: HermesConfig): void {
  const servers = mcpServers.map(({ name }) => name);
  const [unknown] = unknownToolsets(options.toolsets ?? [], tools, servers);
  if (unknown === undefined) return;
  throw new HermesError("unknown-toolset", `There is no toolset '${unknown}'.`, {
    hint: `Known are ${knownToolsets().join(", ")}${servers.length === 0 ? "" : ` and mcp-<server> for ${servers.join(", ")}`}.`,
  });
}
