// Which models are told to act through their tools: some families like to describe a call instead of making it.
import type { ToolUseEnforcement } from "../config/index.ts";
import { GOOGLE_MODELS, OPENAI_MODELS, TOOL_USE } from "./guidance.ts";

const NEEDS_IT = ["gpt", "codex", "gemini", "gemma", "grok", "glm", "qwen", "deepseek"];
const GOOGLE = ["gemini", "gemma"];
const OPENAI = ["gpt", "codex", "grok"];

/** Undefined where nothing has to be said. */
export function toolUseGuidance(model: string, setting: ToolUseEnforcement): string | undefined {
  if (!isEnforced(model, setting)) return undefined;
  return [
    TOOL_USE,
    ...(hasAny(model, GOOGLE) ? [GOOGLE_MODELS] : []),
    ...(hasAny(model, OPENAI) ? [OPENAI_MODELS] : []),
  ].join("\n\n");
}

function isEnforced(model: string, setting: ToolUseEnforcement): boolean {
  if (typeof setting === "boolean") return setting;
  return hasAny(model, setting === "auto" ? NEEDS_IT : setting);
}

function hasAny(model: string, parts: readonly string[]): boolean {
  const name = model.toLowerCase();
  return parts.some((part) => part !== "" && name.includes(part.toLowerCase()));
}
