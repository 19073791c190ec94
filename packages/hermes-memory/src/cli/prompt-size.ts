// `hermes prompt-size`: the system prompt and the tools that every request of a session starts with, and the size of each part.
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { resolve } from "node:path";
import { delegateToolSchema, todoToolSchema } from "@hermes-memory/agent/internal/agent";
import type { HermesConfig } from "@hermes-memory/core/internal/config";
import { estimateText } from "@hermes-memory/core/internal/context";
import {
  buildSnapshot,
  curatedTools,
  hasArchive,
  MEMORY_TARGETS,
  type MemoryTarget,
  scanOptions,
} from "@hermes-memory/core/internal/curated";
import { codePointLength } from "@hermes-memory/core/internal/lib";
import type { Home } from "@hermes-memory/core/internal/memory";
import {
  buildSystemPrompt,
  chooseTimeZone,
  contextDirectory,
  type PartLabel,
  readPromptFiles,
} from "@hermes-memory/core/internal/prompt";
import { readResultEntry, sessionSearchEntry } from "@hermes-memory/core/internal/sessions";
import { buildSkillsIndex, skillsDirectory, skillTools } from "@hermes-memory/core/internal/skills";
import {
  definitionOf,
  errorOutcome,
  type ToolDefinition,
  type ToolOutcome,
} from "@hermes-memory/core/internal/tools";
import type { CommandBody } from "./command.ts";
import { inspectTarget } from "./inspect-files.ts";
import { printable } from "./printing.ts";

/** Asks no model, provider or plugin, and creates no directory. */
export const promptSize: CommandBody = async ({ flags }, { home: selected, io, memory }) => {
  const config = await memory.config();
  const { default: model, provider: modelProvider } = config.model;
  const { directory: memories } = memory.administrator;
  const platform = typeof flags.platform === "string" ? flags.platform : "cli";
  const directory = contextDirectory({
    env: io.env,
    launch: process.cwd(),
    userHome: homedir(),
  });
  const read = readPromptFiles({ home: memory.home, directory, maxChars: config.contextFileMaxChars });
  const zone = chooseTimeZone({ env: io.env, configured: config.timezone });
  const curated = inspectMemory(config, memories);
  const tools = toolsOf(config, memories);
  const prompt = buildSystemPrompt({
    identity: read.identity,
    tools: tools.map(({ name }) => name),
    model,
    provider: modelProvider,
    taskCompletionGuidance: config.agent.taskCompletionGuidance,
    toolUseEnforcement: config.agent.toolUseEnforcement,
    profile: { name: selected.profile, root: resolve(selected.root) },
    platform,
    skillsIndex: await skillsIndex(memory, platform, tools),
    contextFiles: read.contextFiles,
    memoryBlock: curated.blocks.get("memory"),
    userBlock: curated.blocks.get("user"),
    date: { now: new Date(), timeZone: zone.timeZone },
  });
  const { provider } = config.memory;
  const asked = `What '${provider}' adds is not counted: it is asked when a session starts.`;
  const warnings = [
    ...read.warnings.map(({ message }) => message),
    ...curated.warnings,
    ...zone.warnings,
    ...(provider === "" ? [] : [asked]),
  ];
  const partText = (label: PartLabel): string =>
    prompt.tiers.flatMap(({ parts }) => parts).find((part) => part.label === label)?.text ?? "";
  const json = {
    platform,
    model: model || null,
    directory,
    hash: prompt.hash,
    system_prompt: sizeOf(prompt.text),
    skills_index: sizeOf(partText("skills_index")),
    memory: sizeOf(partText("memory")),
    user_profile: sizeOf(partText("user_profile")),
    tools: { count: tools.length, ...toolsSize(tools), names: tools.map(({ name }) => name) },
    sections: prompt.tiers.map(({ name, text, parts }) => ({
      label: name,
      ...sizeOf(text),
      parts: parts.map((part) => ({ label: part.label, ...sizeOf(part.text) })),
    })),
    files: read.files,
    blocked_entries: curated.blocked,
    warnings,
  };
  return {
    json,
    shown: { ...json, warnings: [] }, // they are notes
    notes: warnings.map((warning) => `warning: ${printable(warning)}`),
  };
};

/** Reading skills writes a cache, so without a skills directory nothing is read. */
async function skillsIndex(
  opened: Home,
  platform: string,
  tools: readonly ToolDefinition[],
): Promise<string | undefined> {
  const { skills } = await opened.config();
  if (!existsSync(skillsDirectory(opened.home)) && skills.externalDirs.length === 0) return undefined;
  const store = await opened.administrator.skills({ platform });
  const names = tools.map(({ name }) => name);
  return buildSkillsIndex(store, { available: { tools: names, toolsets: ["memory", "skills"] } });
}

/** `blocked`: entries that a notice replaces in the prompt. */
function inspectMemory({ memory }: HermesConfig, directory: string) {
  const blocks = new Map<MemoryTarget, string>();
  const blocked: { target: MemoryTarget; index: number; ids: readonly string[] }[] = [];
  const warnings: string[] = [];
  for (const target of MEMORY_TARGETS) {
    if (!(target === "user" ? memory.userProfileEnabled : memory.memoryEnabled)) continue;
    const file = inspectTarget(directory, target, memory);
    if (file.trouble !== undefined) {
      warnings.push(`${file.name} (${file.path}) is not in the prompt, because ${file.trouble}.`);
      continue;
    }
    const snapshot = buildSnapshot(
      target,
      file.entries,
      file.limit,
      scanOptions(memory.scanAllow, memory.allowSecrets),
    );
    if (snapshot.block !== undefined) blocks.set(target, snapshot.block);
    for (const { index, ids } of snapshot.blocked) {
      blocked.push({ target, index, ids });
      warnings.push(
        `Entry ${index + 1} of ${file.name} was kept out of the prompt, because it matches threat pattern(s): ` +
          `${ids.join(", ")}. Look at it with 'hermes memory show'.`,
      );
    }
  }
  return { blocks, blocked, warnings };
}

/** The tools every session starts with, without those of providers and engines. */
function toolsOf(config: HermesConfig, directory: string): ToolDefinition[] {
  const { memory, agent, sessionSearch, delegation } = config;
  const isOn = (toolset: string): boolean => !agent.disabledToolsets.includes(toolset);
  const hasMemory = (memory.memoryEnabled || memory.userProfileEnabled) && isOn("memory");
  return [
    ...(hasMemory ? curatedTools(unused, hasArchive(directory, memory.overflow)).map(definitionOf) : []),
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
  limits: () => ({ chars: 0, tokens: 0, tokenFactor: 1 }),
  fits: () => true,
};

/** These tools are only measured and need no store. */
async function unused(): Promise<ToolOutcome> {
  return errorOutcome("This tool is only shown.");
}

function byName(one: ToolDefinition, other: ToolDefinition): number {
  return one.name < other.name ? -1 : 1;
}

type Size = { readonly chars: number; readonly bytes: number; readonly tokens: number };

function sizeOf(text: string): Size {
  return { chars: codePointLength(text), bytes: Buffer.byteLength(text), tokens: estimateText(text) };
}

/** As every request sends them. */
function toolsSize(tools: readonly ToolDefinition[]): {
  readonly json_bytes: number;
  readonly tokens: number;
} {
  if (tools.length === 0) return { json_bytes: 0, tokens: 0 };
  const json = JSON.stringify(tools.map((schema) => ({ type: "function", function: schema })));
  return { json_bytes: Buffer.byteLength(json), tokens: estimateText(json) };
}
