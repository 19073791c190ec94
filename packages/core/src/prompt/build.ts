// Puts a system prompt together. Pure: the same parts give the same bytes, on which prompt caches and stored sessions
// depend.
import { sha256 } from "../lib/index.ts";
import { dateLine } from "./date-line.ts";
import {
  DEFAULT_IDENTITY,
  helpPointer,
  memoryGuidance,
  modelNameNote,
  profileNote,
  SESSION_SEARCH_GUIDANCE,
  SKILLS_GUIDANCE,
  STEERING,
  TASK_COMPLETION,
} from "./guidance.ts";
import type { PromptPart, PromptParts, PromptTier, SystemPrompt, TierName } from "./parts.ts";
import { clean, singleLine } from "./plain-text.ts";
import { platformHint } from "./platform-hints.ts";
import { toolUseGuidance } from "./tool-use.ts";

const BLANK_LINE = "\n\n";
const SKILLS_TOOLS = ["skills_list", "skill_view", "skill_manage"];
/** Servers of this provider give every model the same name. */
const RENAMING_PROVIDERS = ["alibaba"];

export function buildSystemPrompt(parts: PromptParts): SystemPrompt {
  const tiers = [
    tier("stable", stableParts(parts)),
    tier("context", [
      { label: "system_message", text: parts.systemMessage },
      { label: "context_files", text: parts.contextFiles },
    ]),
    tier("volatile", [
      { label: "memory", text: parts.memoryBlock },
      { label: "user_profile", text: parts.userBlock },
      { label: "provider", text: parts.providerBlock },
      { label: "session", text: sessionLines(parts) },
    ]),
  ];
  const text = joined(tiers.map((each) => each.text));
  return { text, hash: promptHash(text), tiers };
}

/** SHA-256 over the UTF-8 bytes, in hex. */
export function promptHash(text: string): string {
  return sha256(text);
}

/** The text of one request. What is ephemeral is neither cached nor stored, so it never goes through the builder. */
export function withEphemeral(prompt: string, ephemeral: string | undefined): string {
  return joined([prompt, clean(ephemeral)]);
}

type Draft = { readonly label: PromptPart["label"]; readonly text: string | undefined };

function stableParts(parts: PromptParts): Draft[] {
  const tools = new Set(parts.tools);
  const hasTools = tools.size > 0;
  const model = singleLine(parts.model);
  const isRenamed = model !== "" && RENAMING_PROVIDERS.includes(singleLine(parts.provider).toLowerCase());
  return [
    { label: "identity", text: clean(parts.identity) || DEFAULT_IDENTITY },
    { label: "help", text: helpPointer(singleLine(parts.docsAddress)) },
    {
      label: "task_completion",
      text: hasTools && parts.taskCompletionGuidance !== false ? TASK_COMPLETION : undefined,
    },
    { label: "tool_guidance", text: toolGuidance(tools) },
    { label: "steering", text: hasTools ? STEERING : undefined },
    {
      label: "tool_use",
      text: hasTools ? toolUseGuidance(model, parts.toolUseEnforcement ?? "auto") : undefined,
    },
    {
      label: "skills_index",
      text: SKILLS_TOOLS.some((name) => tools.has(name)) ? parts.skillsIndex : undefined,
    },
    { label: "model_note", text: isRenamed ? modelNameNote(model) : undefined },
    { label: "environment", text: joined((parts.environment ?? []).map(clean)) },
    {
      label: "profile",
      text: profileNote({ name: singleLine(parts.profile.name), root: singleLine(parts.profile.root) }),
    },
    { label: "platform", text: platformHint(parts.platform) ?? parts.platformHint },
  ];
}

function toolGuidance(tools: ReadonlySet<string>): string {
  const search = tools.has("session_search");
  const skills = tools.has("skill_manage");
  return [
    ...(tools.has("memory") ? [memoryGuidance({ search, skills })] : []),
    ...(search ? [SESSION_SEARCH_GUIDANCE] : []),
    ...(skills ? [SKILLS_GUIDANCE] : []),
  ].join(" ");
}

function sessionLines(parts: PromptParts): string {
  const named = [
    { name: "Session ID", value: singleLine(parts.sessionId) },
    { name: "Model", value: singleLine(parts.model) },
    { name: "Provider", value: singleLine(parts.provider) },
  ].filter(({ value }) => value !== "");
  return [dateLine(parts.date), ...named.map(({ name, value }) => `${name}: ${value}`)].join("\n");
}

function tier(name: TierName, drafts: readonly Draft[]): PromptTier {
  const parts = drafts
    .map(({ label, text }): PromptPart => ({ label, text: clean(text) }))
    .filter(({ text }) => text !== "");
  return { name, text: joined(parts.map(({ text }) => text)), parts };
}

function joined(texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join(BLANK_LINE);
}
