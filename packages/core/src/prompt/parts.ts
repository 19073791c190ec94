// What a system prompt is made of, and what comes out. Everything arrives as a value: whoever builds a prompt has read
// the files and asked the layers before.
import type { ToolUseEnforcement } from "../config/index.ts";
import type { PromptDate } from "./date-line.ts";

export type PromptParts = {
  /** SOUL.md as `readPromptFiles` gives it; the default identity stands in for an absent or blank one. */
  readonly identity?: string | undefined;
  /** Names of the tools the agent has; their order does not matter. */
  readonly tools: readonly string[];
  readonly model?: string | undefined;
  /** Who serves the model. */
  readonly provider?: string | undefined;
  /** `agent.task_completion_guidance`; default true. */
  readonly taskCompletionGuidance?: boolean;
  /** `agent.tool_use_enforcement`; default `auto`. */
  readonly toolUseEnforcement?: ToolUseEnforcement;
  readonly docsAddress?: string | undefined;
  /** With its instruction and `<available_skills>`; left out when no skills tool is there to use it. */
  readonly skillsIndex?: string | undefined;
  /** Hints about the machine, the working place or its tools, each a paragraph. */
  readonly environment?: readonly string[];
  readonly profile: { readonly name: string; readonly root: string };
  /** `cli`, `telegram`, ... */
  readonly platform?: string | undefined;
  /** The hint of a platform we do not know; counts only for such a one. */
  readonly platformHint?: string | undefined;
  /** The caller's own instructions. */
  readonly systemMessage?: string | undefined;
  /** As `readPromptFiles` gives it. */
  readonly contextFiles?: string | undefined;
  /** Frozen block of MEMORY.md, when it is switched on. */
  readonly memoryBlock?: string | undefined;
  /** Frozen block of USER.md, when it is switched on. */
  readonly userBlock?: string | undefined;
  /** What the external memory provider has to say, cut and scanned. */
  readonly providerBlock?: string | undefined;
  readonly date: PromptDate;
  /** Only when the model is meant to know it (`pass_session_id`). */
  readonly sessionId?: string | undefined;
};

/** From what hardly ever changes to what changes with every session, so that a cached prefix stays long. */
export type TierName = "stable" | "context" | "volatile";

export type PartLabel =
  | "identity"
  | "help"
  | "task_completion"
  | "tool_guidance"
  | "steering"
  | "tool_use"
  | "skills_index"
  | "model_note"
  | "environment"
  | "profile"
  | "platform"
  | "system_message"
  | "context_files"
  | "memory"
  | "user_profile"
  | "provider"
  | "session";

export type PromptPart = { readonly label: PartLabel; readonly text: string };

export type PromptTier = {
  readonly name: TierName;
  readonly text: string;
  /** Those that are there. */
  readonly parts: readonly PromptPart[];
};

export type SystemPrompt = {
  readonly text: string;
  /** See `promptHash`. */
  readonly hash: string;
  /** All three, in order; an empty one has an empty text. */
  readonly tiers: readonly PromptTier[];
};
