// The shape of config.yaml, and the one place where its names become ours. Unknown keys pass: the file is shared with
// programs that have settings of their own. A key without a value counts as not set.
import * as z from "zod";
import { type AgentConfig, type ApprovalsConfig, agentSection, approvalsSection } from "./agent-schema.ts";
import { type AuxiliaryConfig, auxiliarySection } from "./auxiliary-schema.ts";
import {
  type CompressionConfig,
  type ContextConfig,
  compressionSection,
  contextSection,
  type PromptCachingConfig,
  promptCachingSection,
} from "./context-schema.ts";
import { type CuratorConfig, curatorSection } from "./curator-schema.ts";
import { type DelegationConfig, delegationSection } from "./delegation-schema.ts";
import { type McpServerConfig, readMcpServers } from "./mcp-servers.ts";
import {
  DEFAULT_MEMORY_CONFIG,
  MAX_LOCK_TIMEOUT_SECONDS,
  MAX_PREFETCH_TIMEOUT_SECONDS,
  type MemoryConfig,
  WHOLE_NUMBERS,
} from "./memory-config.ts";
import {
  type ConfiguredPrice,
  type CustomProvider,
  customProvidersSection,
  type ModelConfig,
  modelSection,
  modelsSection,
} from "./model-schema.ts";
import {
  AT_LEAST_0,
  AT_LEAST_1,
  approval,
  boolean,
  POSITIVE,
  SECTION,
  seconds,
  text,
  wholeNumber,
} from "./schema-parts.ts";
import { type SkillsConfig, skillsSection } from "./skills-schema.ts";

export type NotificationLevel = "off" | "on" | "verbose";

export type HermesConfig = {
  readonly memory: MemoryConfig;
  readonly skills: SkillsConfig;
  readonly curator: CuratorConfig;
  readonly agent: AgentConfig;
  readonly delegation: DelegationConfig;
  readonly approvals: ApprovalsConfig;
  /** Those that can be used, disabled ones included; `mcpServerRemarks` tells about the rest. */
  readonly mcpServers: readonly McpServerConfig[];
  readonly contextFileMaxChars: number;
  /** IANA name of the zone dates are told in; "" for the machine's own. */
  readonly timezone: string;
  readonly display: {
    readonly memoryNotifications: NotificationLevel;
    readonly showReasoning: boolean;
    /** What Enter does in a chat while a turn runs. */
    readonly busyInputMode: "queue" | "steer" | "interrupt";
    readonly platforms: Readonly<Record<string, { readonly memoryNotifications?: NotificationLevel }>>;
  };
  readonly logging: {
    readonly memoryMonitor: { readonly enabled: boolean; readonly intervalSeconds: number };
  };
  readonly sessions: SessionsConfig;
  readonly sessionSearch: SessionSearchConfig;
  readonly auxiliary: AuxiliaryConfig;
  readonly context: ContextConfig;
  readonly compression: CompressionConfig;
  readonly promptCaching: PromptCachingConfig;
  readonly model: ModelConfig;
  readonly models: {
    /** By the model's name. */
    readonly prices: Readonly<Record<string, ConfiguredPrice>>;
    readonly customProviders: readonly CustomProvider[];
  };
  /** The whole file as it is, for rooms with keys of their own. */
  readonly raw: Readonly<Record<string, unknown>>;
};

/** Housekeeping of the session database when a program starts, and what is written beside it. */
type SessionsConfig = {
  readonly autoPrune: boolean;
  readonly retentionDays: number;
  readonly vacuumAfterPrune: boolean;
  readonly minIntervalHours: number;
  readonly writeJsonSnapshots: boolean;
  /** 0: never. */
  readonly orphanFileDays: number;
};

export type SummarizeMode = "off" | "on_request" | "always";

/** The `session_search` tool. */
type SessionSearchConfig = {
  readonly summarize: SummarizeMode;
  /** Seconds, for all summaries of one call. */
  readonly summaryTimeout: number;
  readonly crossProfile: boolean;
  readonly maxMessageChars: number;
  readonly maxResultChars: number;
};

const NOTIFICATIONS = "must be off, on or verbose";
const SCAN_ALLOW = "must be a list of threat ids, such as [hermes_env]";
const LOCK_TIMEOUT = `must be a number above 0 and at most ${MAX_LOCK_TIMEOUT_SECONDS}`;
const PREFETCH_TIMEOUT = `must be a number from 0 (no limit) to ${MAX_PREFETCH_TIMEOUT_SECONDS}`;

const notifications = z.preprocess(
  (value) => (typeof value === "boolean" ? (value ? "on" : "off") : value), // `on` and `off` read as YAML 1.1
  z.enum(["off", "on", "verbose"], NOTIFICATIONS).nullish(),
);

const standard = DEFAULT_MEMORY_CONFIG;

const memorySection = z
  .looseObject(
    {
      memory_enabled: boolean(standard.memoryEnabled),
      user_profile_enabled: boolean(standard.userProfileEnabled),
      memory_char_limit: wholeNumber(WHOLE_NUMBERS.memory_char_limit, standard.memoryCharLimit),
      user_char_limit: wholeNumber(WHOLE_NUMBERS.user_char_limit, standard.userCharLimit),
      write_approval: approval.optional(),
      provider: z.string('must be a provider\'s name, or "" for none').nullish(),
      nudge_interval: wholeNumber(WHOLE_NUMBERS.nudge_interval, standard.nudgeInterval),
      overflow: z.enum(["refuse", "archive"], "must be refuse or archive").nullish(),
      scan_allow: z.array(z.string(SCAN_ALLOW), SCAN_ALLOW).nullish(),
      allow_secrets: boolean(standard.allowSecrets),
      history_max_bytes: wholeNumber(WHOLE_NUMBERS.history_max_bytes, standard.historyMaxBytes),
      history_keep: wholeNumber(WHOLE_NUMBERS.history_keep, standard.historyKeep),
      lock_timeout_seconds: z
        .number(LOCK_TIMEOUT)
        .gt(0, LOCK_TIMEOUT)
        .max(MAX_LOCK_TIMEOUT_SECONDS, LOCK_TIMEOUT)
        .nullish(),
      recall_max_chars: wholeNumber(WHOLE_NUMBERS.recall_max_chars, standard.recallMaxChars),
      prefetch_timeout_s: z
        .number(PREFETCH_TIMEOUT)
        .min(0, PREFETCH_TIMEOUT)
        .max(MAX_PREFETCH_TIMEOUT_SECONDS, PREFETCH_TIMEOUT)
        .nullish(),
      prefetch_max_age_turns: wholeNumber(WHOLE_NUMBERS.prefetch_max_age_turns, standard.prefetchMaxAgeTurns),
      mirror_remove: boolean(standard.mirrorRemove),
      refresh_on_resume: boolean(standard.refreshOnResume),
    },
    SECTION,
  )
  .transform((section): MemoryConfig => {
    return {
      memoryEnabled: section.memory_enabled,
      userProfileEnabled: section.user_profile_enabled,
      memoryCharLimit: section.memory_char_limit,
      userCharLimit: section.user_char_limit,
      writeApproval: section.write_approval ?? isOldApproval(section.write_mode),
      provider: section.provider ?? standard.provider,
      nudgeInterval: section.nudge_interval,
      overflow: section.overflow ?? standard.overflow,
      scanAllow: section.scan_allow ?? standard.scanAllow,
      allowSecrets: section.allow_secrets,
      historyMaxBytes: section.history_max_bytes,
      historyKeep: section.history_keep,
      lockTimeoutSeconds: section.lock_timeout_seconds ?? standard.lockTimeoutSeconds,
      recallMaxChars: section.recall_max_chars,
      prefetchTimeoutS: section.prefetch_timeout_s ?? standard.prefetchTimeoutS,
      prefetchMaxAgeTurns: section.prefetch_max_age_turns,
      mirrorRemove: section.mirror_remove,
      refreshOnResume: section.refresh_on_resume,
    };
  });

/** Before version 29 the gate was `write_mode: approve`. A file nobody has migrated yet keeps its gate. */
function isOldApproval(writeMode: unknown): boolean {
  return typeof writeMode === "string" && writeMode.trim().toLowerCase() === "approve";
}

const contextFileMaxChars = wholeNumber(AT_LEAST_1, 20_000);

const platform = z.looseObject({ memory_notifications: notifications.optional() }, SECTION).nullish();

const busyInputMode = z.preprocess(
  (value) => (typeof value === "string" ? value.trim().toLowerCase() : value),
  z.enum(["queue", "steer", "interrupt"], "must be queue, steer or interrupt"),
);

const displaySection = z
  .looseObject(
    {
      memory_notifications: notifications.optional(),
      show_reasoning: boolean(false),
      busy_input_mode: busyInputMode.nullish(),
      platforms: z.record(z.string(), platform, SECTION).nullish(),
    },
    SECTION,
  )
  .transform((section) => ({
    memoryNotifications: section.memory_notifications ?? "on",
    showReasoning: section.show_reasoning,
    busyInputMode: section.busy_input_mode ?? "steer",
    platforms: Object.fromEntries(
      Object.entries(section.platforms ?? {}).map(([name, value]) => {
        const level = value?.memory_notifications;
        return [name, level == null ? {} : { memoryNotifications: level }];
      }),
    ),
  }));

const monitorSection = z.looseObject(
  { enabled: boolean(true), interval_seconds: z.number(POSITIVE).gt(0, POSITIVE).nullish() },
  SECTION,
);

const loggingSection = z
  .looseObject({ memory_monitor: monitorSection.nullish() }, SECTION)
  .transform(({ memory_monitor: monitor }) => ({
    memoryMonitor: {
      enabled: monitor?.enabled ?? true,
      intervalSeconds: monitor?.interval_seconds ?? 300,
    },
  }));

const sessionsSection = z
  .looseObject(
    {
      auto_prune: boolean(false),
      retention_days: wholeNumber(AT_LEAST_0, 90),
      vacuum_after_prune: boolean(true),
      min_interval_hours: wholeNumber(AT_LEAST_0, 24),
      write_json_snapshots: boolean(false),
      orphan_file_days: wholeNumber(AT_LEAST_0, 30),
    },
    SECTION,
  )
  .transform(
    (section): SessionsConfig => ({
      autoPrune: section.auto_prune,
      retentionDays: section.retention_days,
      vacuumAfterPrune: section.vacuum_after_prune,
      minIntervalHours: section.min_interval_hours,
      writeJsonSnapshots: section.write_json_snapshots,
      orphanFileDays: section.orphan_file_days,
    }),
  );

const SUMMARIZE = "must be off, on_request or always";

const sessionSearchSection = z
  .looseObject(
    {
      summarize: z.preprocess(
        (value) => (value === false ? "off" : value), // `off` reads as YAML 1.1
        z.enum(["off", "on_request", "always"], SUMMARIZE).nullish(),
      ),
      summary_timeout: seconds(90),
      cross_profile: boolean(true),
      max_message_chars: wholeNumber(AT_LEAST_0, 0),
      max_result_chars: wholeNumber({ min: 1000, max: Number.MAX_SAFE_INTEGER }, 60_000),
    },
    SECTION,
  )
  .transform(
    (section): SessionSearchConfig => ({
      summarize: section.summarize ?? "off",
      summaryTimeout: section.summary_timeout,
      crossProfile: section.cross_profile,
      maxMessageChars: section.max_message_chars,
      maxResultChars: section.max_result_chars,
    }),
  );

/** Sections are parsed one by one, so that a mistake in one does not hide the mistakes in the next. */
export const SECTIONS = {
  memory: memorySection,
  skills: skillsSection,
  curator: curatorSection,
  agent: agentSection,
  delegation: delegationSection,
  approvals: approvalsSection,
  mcp_servers: z.unknown().transform((value) => readMcpServers(value).servers),
  context_file_max_chars: contextFileMaxChars,
  timezone: text(""),
  display: displaySection,
  logging: loggingSection,
  sessions: sessionsSection,
  session_search: sessionSearchSection,
  auxiliary: auxiliarySection,
  context: contextSection,
  compression: compressionSection,
  prompt_caching: promptCachingSection,
  model: modelSection,
  models: modelsSection,
  custom_providers: customProvidersSection,
} as const;
