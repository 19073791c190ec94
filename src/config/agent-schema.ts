// The `agent` section: what the agent may use and what its prompt asks of it.
import * as z from "zod";
import { boolean, SECTION } from "./schema-parts.ts";

/** `auto`: for the model families known to need it. A list: for models whose name contains one of the texts. */
export type ToolUseEnforcement = boolean | "auto" | readonly string[];

export type AgentConfig = {
  readonly disabledToolsets: readonly string[];
  /** The prompt asks to finish what was begun. */
  readonly taskCompletionGuidance: boolean;
  /** Whether the prompt insists on using tools instead of describing what they would do. */
  readonly toolUseEnforcement: ToolUseEnforcement;
};

const TOOLSETS = "must be a list of toolset names, such as [memory]";
const ENFORCEMENT = "must be auto, true, false or a list of parts of model names, such as [gpt, qwen]";

// YAML 1.1, which the reference reads, has these words for booleans.
const WORDS: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  on: true,
  false: false,
  no: false,
  off: false,
};

const enforcement = z.preprocess(
  (value) =>
    typeof value === "string" ? (WORDS[value.trim().toLowerCase()] ?? value.trim().toLowerCase()) : value,
  z.union([z.boolean(), z.literal("auto"), z.array(z.string())], ENFORCEMENT).nullish(),
);

export const agentSection = z
  .looseObject(
    {
      disabled_toolsets: z.array(z.string(TOOLSETS), TOOLSETS).nullish(),
      task_completion_guidance: boolean(true),
      tool_use_enforcement: enforcement.optional(),
    },
    SECTION,
  )
  .transform(
    (section): AgentConfig => ({
      disabledToolsets: section.disabled_toolsets ?? [],
      taskCompletionGuidance: section.task_completion_guidance,
      toolUseEnforcement: section.tool_use_enforcement ?? "auto",
    }),
  );
