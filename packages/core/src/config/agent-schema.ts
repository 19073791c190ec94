// The sections `agent` and `approvals`: what the agent may use, how far it goes, what its prompt asks of it, and when a person is
// asked.
import * as z from "zod";
import { AT_LEAST_1, boolean, SECTION, wholeNumber, wholeNumberOrNone } from "./schema-parts.ts";

/** `auto`: for the model families known to need it. A list: for models whose name contains one of the texts. */
export type ToolUseEnforcement = boolean | "auto" | readonly string[];

export type AgentConfig = {
  readonly disabledToolsets: readonly string[];
  /** The prompt asks to finish what was begun. */
  readonly taskCompletionGuidance: boolean;
  /** Whether the prompt insists on using tools instead of describing what they would do. */
  readonly toolUseEnforcement: ToolUseEnforcement;
  /** Model calls in one turn. */
  readonly maxTurns: number;
  /** Attempts for one model call; 1 means no second one. */
  readonly apiMaxRetries: number;
  /** Tokens of one reply; absent: what the model's server takes for it. */
  readonly maxOutputTokens?: number;
  /** Characters of one tool result; a longer one is kept in a file. A quarter of the window is the limit where that is less. */
  readonly maxResultChars: number;
};

export type ApprovalsConfig = {
  /** Ask before a slash command throws conversation away. */
  readonly destructiveSlashConfirm: boolean;
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
      max_turns: wholeNumber(AT_LEAST_1, 90),
      api_max_retries: wholeNumber(AT_LEAST_1, 3),
      max_output_tokens: wholeNumberOrNone(AT_LEAST_1),
      max_result_chars: wholeNumber({ min: 1000, max: Number.MAX_SAFE_INTEGER }, 100_000),
    },
    SECTION,
  )
  .transform(
    (section): AgentConfig => ({
      disabledToolsets: section.disabled_toolsets ?? [],
      taskCompletionGuidance: section.task_completion_guidance,
      toolUseEnforcement: section.tool_use_enforcement ?? "auto",
      maxTurns: section.max_turns,
      apiMaxRetries: section.api_max_retries,
      maxResultChars: section.max_result_chars,
      ...(section.max_output_tokens == null ? {} : { maxOutputTokens: section.max_output_tokens }),
    }),
  );

export const approvalsSection = z
  .looseObject({ destructive_slash_confirm: boolean(true) }, SECTION)
  .transform((section): ApprovalsConfig => ({ destructiveSlashConfirm: section.destructive_slash_confirm }));
