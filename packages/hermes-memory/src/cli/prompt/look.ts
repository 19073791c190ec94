// The prompt the next session would begin with, built from what is on disk. Only looks: no model, provider or plugin is
// asked, and no directory is made.
import { existsSync } from "node:fs";
import { delegateToolSchema, todoToolSchema } from "@hermes-memory/agent/agent";
import type { HermesConfig } from "@hermes-memory/core/config";
import {
  buildSnapshot,
  curatedTools,
  MEMORY_TARGETS,
  type MemoryTarget,
  scanOptions,
} from "@hermes-memory/core/curated";
import type { Memory } from "@hermes-memory/core/memory";
import {
  buildSystemPrompt,
  chooseTimeZone,
  contextDirectory,
  type PromptFile,
  readPromptFiles,
  type SystemPrompt,
} from "@hermes-memory/core/prompt";
import { readResultEntry, sessionSearchEntry } from "@hermes-memory/core/sessions";
import { buildSkillsIndex, skillsDirectory, skillTools } from "@hermes-memory/core/skills";
import { definitionOf, errorOutcome, type ToolDefinition, type ToolOutcome } from "@hermes-memory/core/tools";
import { inspectTarget } from "../inspect-files.ts";

export type PromptLook = {
  readonly prompt: SystemPrompt;
  readonly directory: string;
  readonly tools: readonly ToolDefinition[];
  readonly files: readonly PromptFile[];
  /** Entries of curated memory that a note stands for. */
  readonly blockedEntries: readonly BlockedMemory[];
  readonly warnings: readonly string[];
};

type BlockedMemory = {
  readonly target: MemoryTarget;
  readonly index: number;
  readonly ids: readonly string[];
};

export type PromptPlace = {
  readonly profile: { readonly name: string; readonly root: string };
  readonly platform: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly launch: string;
  readonly userHome: string;
  readonly now: Date;
};

export async function lookAtPrompt(opened: Memory, place: PromptPlace): Promise<PromptLook> {
  const config = await opened.config();
  const directory = contextDirectory(place);
  const files = readPromptFiles({ home: opened.home, directory, maxChars: config.contextFileMaxChars });
  const zone = chooseTimeZone({ env: place.env, configured: config.timezone });
  const memory = lookAtMemory(config, opened.owner.directory);
  const tools = toolsOf(config);
  const prompt = buildSystemPrompt({
    identity: files.identity,
    tools: tools.map(({ name }) => name),
    model: config.model.default,
    provider: config.model.provider,
    taskCompletionGuidance: config.agent.taskCompletionGuidance,
    toolUseEnforcement: config.agent.toolUseEnforcement,
    profile: place.profile,
    platform: place.platform,
    skillsIndex: await skillsIndex(opened, place, tools),
    contextFiles: files.contextFiles,
    memoryBlock: memory.blocks.get("memory"),
    userBlock: memory.blocks.get("user"),
    date: { now: place.now, timeZone: zone.timeZone },
  });
  return {
    prompt,
    directory,
    tools,
    files: files.files,
    blockedEntries: memory.blocked,
    warnings: [...files.warnings.map(({ message }) => message), ...memory.warnings, ...zone.warnings],
  };
}

/** Reading skills leaves a cache behind, so without a directory of skills nothing is read. */
async function skillsIndex(
  opened: Memory,
  { platform }: PromptPlace,
  tools: readonly ToolDefinition[],
): Promise<string | undefined> {
  const { skills } = await opened.config();
  if (!existsSync(skillsDirectory(opened.home)) && skills.externalDirs.length === 0) return undefined;
  const store = await opened.owner.skills({ platform });
  const names = tools.map(({ name }) => name);
  return buildSkillsIndex(store, { available: { tools: names, toolsets: ["memory", "skills"] } });
}

type MemoryLook = {
  readonly blocks: ReadonlyMap<MemoryTarget, string>;
  readonly blocked: readonly BlockedMemory[];
  readonly warnings: readonly string[];
};

function lookAtMemory({ memory }: HermesConfig, directory: string): MemoryLook {
  const blocks = new Map<MemoryTarget, string>();
  const blocked: BlockedMemory[] = [];
  const warnings: string[] = [];
  for (const target of MEMORY_TARGETS) {
    if (!(target === "user" ? memory.userProfileEnabled : memory.memoryEnabled)) continue;
    const look = inspectTarget(directory, target, memory);
    if (look.trouble !== undefined) {
      warnings.push(`${look.name} (${look.path}) is not in the prompt, because ${look.trouble}.`);
      continue;
    }
    const snapshot = buildSnapshot(
      target,
      look.entries,
      look.limit,
      scanOptions(memory.scanAllow, memory.allowSecrets),
    );
    if (snapshot.block !== undefined) blocks.set(target, snapshot.block);
    for (const { index, ids } of snapshot.blocked) {
      blocked.push({ target, index, ids });
      warnings.push(
        `Entry ${index + 1} of ${look.name} was kept out of the prompt, because it matches threat pattern(s): ` +
          `${ids.join(", ")}. Look at it with 'hermes memory show'.`,
      );
    }
  }
  return { blocks, blocked, warnings };
}

/** The tools every session starts with; those of providers and engines come on top. */
function toolsOf({ memory, agent, sessionSearch, delegation }: HermesConfig): ToolDefinition[] {
  const isOn = (toolset: string): boolean => !agent.disabledToolsets.includes(toolset);
  const hasMemory = (memory.memoryEnabled || memory.userProfileEnabled) && isOn("memory");
  return [
    ...(hasMemory ? curatedTools(unused).map(definitionOf) : []),
    ...(isOn("session_search")
      ? [definitionOf(sessionSearchEntry({ summarize: sessionSearch.summarize !== "off" }, unused))]
      : []),
    ...(isOn("results") ? [definitionOf(readResultEntry(NO_RESULTS))] : []),
    ...(isOn("todo") ? [todoToolSchema] : []),
    ...(isOn("skills") ? skillTools(unused).map(definitionOf).sort(byName) : []),
    ...(isOn("delegation") && delegation.maxSpawnDepth > 0 ? [delegateToolSchema] : []),
  ];
}

const NO_RESULTS: Parameters<typeof readResultEntry>[0] = {
  directory: "",
  store: () => undefined,
  scope: {},
  limits: () => ({ chars: 0, tokens: 0, tokenFactor: 1 }),
  fits: () => true,
};

/** Entries that are shown and not run need no store. */
async function unused(): Promise<ToolOutcome> {
  return errorOutcome("This tool is only shown.");
}

function byName(one: ToolDefinition, other: ToolDefinition): number {
  return one.name < other.name ? -1 : 1;
}
