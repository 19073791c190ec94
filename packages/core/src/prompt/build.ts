// Builds the system prompt from its parts. Pure: the same parts give the same bytes, because prompt caches and stored sessions
// depend on them.
import type { ToolUseEnforcement } from "../config/index.ts";
import { isTimeZone, pyStrip, sha256 } from "../lib/index.ts";
import {
  DEFAULT_IDENTITY,
  helpPointer,
  memoryGuidance,
  modelNameNote,
  platformHint,
  profileNote,
  SESSION_SEARCH_GUIDANCE,
  SKILLS_GUIDANCE,
  STEERING,
  TASK_COMPLETION,
  toolUseGuidance,
} from "./guidance.ts";

const BLANK_LINE = "\n\n";
const SKILLS_TOOLS = ["skills_list", "skill_view", "skill_manage"];
/** This provider's servers give every model the same name. */
const RENAMING_PROVIDERS = ["alibaba"];

/** Builds the system prompt of an agent in three tiers, the most stable first, so that its beginning can be cached. */
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

/** The system prompt of one request. Ephemeral text is neither cached nor stored, so it is added here and not in the builder. */
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
    { label: "help", text: parts.isEmbedded ? undefined : helpPointer(singleLine(parts.docsAddress)) },
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
      text:
        parts.isEmbedded || parts.profile === undefined
          ? undefined
          : profileNote({ name: singleLine(parts.profile.name), root: singleLine(parts.profile.root) }),
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

// Input and output. The caller has read all files and asked all layers before.

/** Everything a system prompt is made of. */
export type PromptParts = {
  /** SOUL.md as `readPromptFiles` returns it. Absent or blank: the default identity. */
  readonly identity?: string;
  /** The agent of another program, with an identity of its own: no help about Hermes, and no path of its profile. */
  readonly isEmbedded?: boolean;
  /** Names of the agent's tools; the order does not matter. */
  readonly tools: readonly string[];
  readonly model?: string;
  /** The service that runs the model. */
  readonly provider?: string;
  /** `agent.task_completion_guidance`; default true. */
  readonly taskCompletionGuidance?: boolean;
  /** `agent.tool_use_enforcement`; default `auto`. */
  readonly toolUseEnforcement?: ToolUseEnforcement;
  readonly docsAddress?: string;
  /** With its instruction and `<available_skills>`; left out when the agent has no skills tool. */
  readonly skillsIndex?: string;
  /** Hints about the machine, the working directory or tools, one paragraph each. */
  readonly environment?: readonly string[];
  /** Absent for users who are not the owner: where the home is on the server is not theirs to know. */
  readonly profile?: { readonly name: string; readonly root: string };
  /** `cli`, `telegram`, ... */
  readonly platform?: string;
  /** Hint for a platform that platformHint() does not know. */
  readonly platformHint?: string;
  /** The caller's own instructions. */
  readonly systemMessage?: string;
  /** As `readPromptFiles` returns it. */
  readonly contextFiles?: string;
  /** Frozen block of MEMORY.md, when switched on. */
  readonly memoryBlock?: string;
  /** Frozen block of USER.md, when switched on. */
  readonly userBlock?: string;
  /** Text of the external memory provider, already cut and scanned. */
  readonly providerBlock?: string;
  readonly date: PromptDate;
  /** Only when the model should know it (`pass_session_id`). */
  readonly sessionId?: string;
};

/** Ordered from parts that hardly ever change to parts that change with every session, so that a cached prefix stays long. */
type TierName = "stable" | "context" | "volatile";

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

type PromptPart = { readonly label: PartLabel; readonly text: string };

/** One of the three tiers of a prompt. */
export type PromptTier = {
  readonly name: TierName;
  readonly text: string;
  /** Only parts with text. */
  readonly parts: readonly PromptPart[];
};

/** A system prompt, its hash and its tiers. */
export type SystemPrompt = {
  readonly text: string;
  /** See `promptHash`. */
  readonly hash: string;
  /** All three, in order; an empty tier has an empty text. */
  readonly tiers: readonly PromptTier[];
};

// The date a conversation started, without the time of day: the prompt has to stay the same as long as possible.

type PromptDate = {
  readonly now: Date;
  /** IANA name; undefined: the machine's zone. */
  readonly timeZone?: string;
};

export function dateLine({ now, timeZone }: PromptDate): string {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    calendar: "gregory",
    numberingSystem: "latn",
    weekday: "long",
    year: "numeric",
    month: "long",
    day: "2-digit",
  });
  const parts = Object.fromEntries(format.formatToParts(now).map(({ type, value }) => [type, value]));
  return `Conversation started: ${parts.weekday}, ${parts.month} ${parts.day}, ${parts.year}`;
}

type TimeZoneChoice = {
  readonly timeZone: string | undefined;
  /** One for each name that is no time zone. */
  readonly warnings: readonly string[];
};

/** HERMES_TIMEZONE, then `timezone` of the config, then the machine's zone. A name that is no time zone is skipped. */
export function chooseTimeZone(sources: {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly configured?: string;
}): TimeZoneChoice {
  const warnings: string[] = [];
  const candidates = [
    { name: sources.env.HERMES_TIMEZONE, where: "HERMES_TIMEZONE" },
    { name: sources.configured, where: "timezone in config.yaml" },
  ];
  for (const { name, where } of candidates) {
    const timeZone = pyStrip(name ?? "");
    if (timeZone === "") continue;
    if (isTimeZone(timeZone)) return { timeZone, warnings };
    warnings.push(
      `${where} is '${timeZone}', which is no known time zone, so it was ignored. Use a name like Europe/Vienna.`,
    );
  }
  return { timeZone: undefined, warnings };
}

// Cleaning of texts.

/** Half a surrogate pair would change when it is stored in the database, and on some model servers. */
function clean(text: string | undefined): string {
  return pyStrip((text ?? "").toWellFormed());
}

/** For a value on a line of its own, such as the model's name: it must not be able to start another line. */
export function singleLine(text: string | undefined): string {
  return clean((text ?? "").replace(/[\p{Cc}\u2028\u2029]+/gu, " "));
}
