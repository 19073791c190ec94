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
import { codePointLength, groupThousands } from "@hermes-memory/core/internal/lib";
import type { Home } from "@hermes-memory/core/internal/memory";
import {
  buildSystemPrompt,
  chooseTimeZone,
  contextDirectory,
  type PartLabel,
  type PromptFile,
  type PromptTier,
  readPromptFiles,
  type SystemPrompt,
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
import { render } from "./render.ts";

type PromptReport = {
  readonly prompt: SystemPrompt;
  readonly directory: string;
  readonly tools: readonly ToolDefinition[];
  readonly files: readonly PromptFile[];
  /** Entries of curated memory that a notice replaces in the prompt. */
  readonly blockedEntries: readonly BlockedMemory[];
  readonly warnings: readonly string[];
};

type BlockedMemory = {
  readonly target: MemoryTarget;
  readonly index: number;
  readonly ids: readonly string[];
};

type PromptSettings = {
  readonly profile: { readonly name: string; readonly root: string };
  readonly platform: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly launch: string;
  readonly userHome: string;
  readonly now: Date;
};

export const promptSize: CommandBody = async ({ flags }, { home: selected, io, memory }) => {
  const config = await memory.config();
  const platform = typeof flags.platform === "string" ? flags.platform : "cli";
  const report = await inspectPrompt(memory, {
    profile: { name: selected.profile, root: resolve(selected.root) },
    platform,
    env: io.env,
    launch: launchDirectory(memory.home),
    userHome: homedir(),
    now: new Date(),
  });
  const { provider } = config.memory;
  const warnings = [
    ...report.warnings,
    ...(provider === ""
      ? []
      : [`What '${provider}' adds is not counted: it is asked when a session starts.`]),
  ];
  const model = config.model.default;
  const sizes = toJson(report);
  return {
    json: { platform, model: model || null, ...sizes, warnings },
    lines: render(
      {
        ...{ platform, model: model || "none set", directory: report.directory, parts: rowsOf(sizes) },
        tools: report.tools.map(({ name }) => name).join(", "),
        tools_as_sent: `${groupThousands(sizes.tools.json_bytes)} bytes, ${groupThousands(sizes.tools.tokens)} tokens`,
        files: report.files,
      },
      io.paint,
    ),
    notes: warnings.map((warning) => `warning: ${printable(warning)}`),
  };
};

// The prompt of the next session, built from the files on disk. Asks no model, provider or plugin, and creates no directory.

async function inspectPrompt(opened: Home, settings: PromptSettings): Promise<PromptReport> {
  const config = await opened.config();
  const directory = contextDirectory(settings);
  const files = readPromptFiles({ home: opened.home, directory, maxChars: config.contextFileMaxChars });
  const zone = chooseTimeZone({ env: settings.env, configured: config.timezone });
  const memory = inspectMemory(config, opened.administrator.directory);
  const tools = toolsOf(config, opened.administrator.directory);
  const prompt = buildSystemPrompt({
    identity: files.identity,
    tools: tools.map(({ name }) => name),
    model: config.model.default,
    provider: config.model.provider,
    taskCompletionGuidance: config.agent.taskCompletionGuidance,
    toolUseEnforcement: config.agent.toolUseEnforcement,
    profile: settings.profile,
    platform: settings.platform,
    skillsIndex: await skillsIndex(opened, settings, tools),
    contextFiles: files.contextFiles,
    memoryBlock: memory.blocks.get("memory"),
    userBlock: memory.blocks.get("user"),
    date: { now: settings.now, timeZone: zone.timeZone },
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

/** Reading skills writes a cache, so without a skills directory nothing is read. */
async function skillsIndex(
  opened: Home,
  { platform }: PromptSettings,
  tools: readonly ToolDefinition[],
): Promise<string | undefined> {
  const { skills } = await opened.config();
  if (!existsSync(skillsDirectory(opened.home)) && skills.externalDirs.length === 0) return undefined;
  const store = await opened.administrator.skills({ platform });
  const names = tools.map(({ name }) => name);
  return buildSkillsIndex(store, { available: { tools: names, toolsets: ["memory", "skills"] } });
}

type MemoryReport = {
  readonly blocks: ReadonlyMap<MemoryTarget, string>;
  readonly blocked: readonly BlockedMemory[];
  readonly warnings: readonly string[];
};

function inspectMemory({ memory }: HermesConfig, directory: string): MemoryReport {
  const blocks = new Map<MemoryTarget, string>();
  const blocked: BlockedMemory[] = [];
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
  scope: {},
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

// The report as JSON and as lines.

type Size = { readonly chars: number; readonly bytes: number; readonly tokens: number };

function sizeOf(text: string): Size {
  return { chars: codePointLength(text), bytes: Buffer.byteLength(text), tokens: estimateText(text) };
}

function toJson(report: PromptReport) {
  const { prompt, directory, files, blockedEntries } = report;
  return {
    directory,
    hash: prompt.hash,
    system_prompt: sizeOf(prompt.text),
    skills_index: sizeOf(partText(prompt.tiers, "skills_index")),
    memory: sizeOf(partText(prompt.tiers, "memory")),
    user_profile: sizeOf(partText(prompt.tiers, "user_profile")),
    tools: { count: report.tools.length, ...toolsSize(report) },
    sections: prompt.tiers.map(({ name, text, parts }) => ({
      label: name,
      ...sizeOf(text),
      parts: parts.map((part) => ({ label: part.label, ...sizeOf(part.text) })),
    })),
    files,
    blocked_entries: blockedEntries,
  };
}

function partText(tiers: readonly PromptTier[], label: PartLabel): string {
  return tiers.flatMap(({ parts }) => parts).find((part) => part.label === label)?.text ?? "";
}

/** As every request sends them. */
function toolsSize({ tools }: PromptReport): { readonly json_bytes: number; readonly tokens: number } {
  if (tools.length === 0) return { json_bytes: 0, tokens: 0 };
  const json = JSON.stringify(tools.map((schema) => ({ type: "function", function: schema })));
  return { json_bytes: Buffer.byteLength(json), tokens: estimateText(json) };
}

/** A line per section and part of the prompt. */
function rowsOf({ sections, system_prompt: whole }: ReturnType<typeof toJson>): object[] {
  const row = (part: string, { chars, bytes, tokens }: Size): object => ({
    part,
    ...{ chars, bytes: groupThousands(bytes), tokens },
  });
  return [
    ...sections.flatMap(({ label, parts, ...size }) => [
      row(label, size),
      ...parts.map((part) => row(`  ${part.label}`, part)),
    ]),
    row("system prompt", whole),
  ];
}

/** The current directory may have been deleted. */
function launchDirectory(fallback: string): string {
  try {
    return process.cwd();
  } catch {
    return fallback;
  }
}
