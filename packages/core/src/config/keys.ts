// Every key of config.yaml that this program knows. Types, defaults, checks, `hermes config`, shell completion and the table in
// docs/config.md (`npm run docs`) are derived from this table. Unknown keys are allowed, because other programs share the file.
import { isStringList } from "../lib/index.ts";
import {
  accepted,
  anyFields,
  approval,
  block,
  choice,
  count,
  flag,
  type KeyKind,
  type Kind,
  key,
  list,
  type Node,
  named,
  number,
  profilesByIdentity,
  type Renamed,
  renamed,
  required,
  type Section,
  type SectionValue,
  secret,
  section,
  switchOf,
  text,
  whole,
  wordOf,
  zone,
} from "./key-kinds.ts";
import { CUSTOM_PROVIDERS, MCP_SERVERS } from "./servers.ts";

/** Keys, and sections whose keys, the Python original does not know, June's or today's. */
const OURS = [
  ..."gateway session_search models context.lcm skills.allow_secrets curator.memory agent.max_output_tokens".split(
    " ",
  ),
  ..."agent.max_result_chars sessions.orphan_file_days model.probe_remote compression.hygiene_threshold".split(
    " ",
  ),
  ..."memory.overflow memory.scan_allow memory.allow_secrets memory.history_max_bytes memory.history_keep".split(
    " ",
  ),
  ..."memory.lock_timeout_seconds memory.recall_max_chars memory.prefetch_timeout_s memory.prefetch_max_age_turns".split(
    " ",
  ),
  ..."memory.mirror_remove memory.outbox memory.outbox_max_items memory.refresh_on_resume".split(" "),
];

/** `auto`: for the model families known to need it. A list: for models whose name contains one of the texts. */
export type ToolUseEnforcement = boolean | "auto" | readonly string[];

const memory = section({
  memory_enabled: flag(true, "Keep the agent's own notes (MEMORY.md)."),
  user_profile_enabled: flag(true, "Keep notes about the user (USER.md)."),
  memory_char_limit: whole(2200, { min: 0 }, "Size of MEMORY.md in characters (code points)."),
  user_char_limit: whole(1375, { min: 0 }, "Size of USER.md in characters (code points)."),
  write_approval: approval(false, "Ask before a memory write, or stage it for review."),
  provider: text("", "Name of the external memory provider; empty for none.", {
    must: 'must be a provider\'s name, or "" for none',
  }),
  nudge_interval: whole(10, { min: 0 }, "Turns between two reminders to save; 0 for none."),
  overflow: choice(
    ["refuse", "archive"],
    "refuse",
    "When a file is full: refuse the write, or archive old entries.",
  ),
  scan_allow: list(
    {
      of: "threat ids",
      example: "hermes_env",
      allowed: "list of finding ids ([memory.md](memory.md#the-scanner))",
    },
    "Ids of threat patterns that are let through.",
  ),
  allow_secrets: flag(
    false,
    "Store texts that look like credentials (memory files and facts), and recall them unmasked.",
  ),
  // Less than 64 KiB would compact after every few changes.
  history_max_bytes: whole(1_048_576, { min: 65_536 }, "Size at which a journal is compacted."),
  history_keep: whole(200, { min: 1 }, "Newest changes that stay undoable after compaction."),
  // No caller waits longer than ten minutes.
  lock_timeout_seconds: number(10, { above: 0, max: 600 }, "Longest wait for another process."),
  recall_max_chars: whole(16_000, { min: 0 }, "Most characters of provider recall in one turn."),
  // No user waits two minutes for recall.
  prefetch_timeout_s: number(
    3,
    { min: 0, max: 120, must: "must be a number from 0 (no limit) to 120" },
    "Longest wait for provider recall in one turn, in seconds; 0 for no limit.",
  ),
  prefetch_max_age_turns: whole(2, { min: 0 }, "How many turns a recall that came too late stays usable."),
  mirror_remove: flag(true, "Tell the provider about removed entries too."),
  outbox: flag(
    true,
    "Keep writes to a provider's server on disk until it has taken them; off: what is not sent at the end is lost.",
  ),
  outbox_max_items: whole(
    10_000,
    { min: 1 },
    "Writes that may wait for one provider and user; a further one is refused.",
  ),
  refresh_on_resume: flag(false, "Give a resumed session a new prompt with memory as it is now."),
  flush_min_turns: accepted(),
  write_mode: renamed("memory.write_approval", (old, current) =>
    // Before version 29 write approval was `write_mode: approve`. It stays on in a file that was not migrated.
    current == null && wordOf(old) === "approve" ? true : undefined,
  ),
});

const SKILL_NAMES = { of: "skill names", example: "deploy", isOneEnough: true } as const;

const skills = section({
  write_approval: approval(false, "Stage skill changes for review."),
  creation_nudge_interval: whole(
    10,
    { min: 0 },
    "Model calls with tools between two reminders to write a skill; 0 for none.",
  ),
  allow_secrets: flag(false, "Write skills that hold something like a credential."),
  external_dirs: list(
    {
      of: "directories",
      example: "~/team-skills",
      isOneEnough: true,
      // biome-ignore lint/suspicious/noTemplateCurlyInString: as the file writes it
      allowed: "list of directories; `~` and `${NAME}` are filled in, others count from the home",
    },
    "More places to look for skills, after the home's own.",
  ),
  disabled: list(SKILL_NAMES, "Skills the agent neither sees nor loads."),
  platform_disabled: named("platform", list(SKILL_NAMES, "The same for one platform, such as telegram.")),
  template_vars: flag(
    true,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the names as a skill writes them
    "Fill in ${HERMES_SKILL_DIR} and ${HERMES_SESSION_ID} when a skill is loaded.",
  ),
  guard_agent_created: accepted("what an agent writes is always scanned"),
  inline_shell: accepted("skills run no commands when they are loaded"),
  inline_shell_timeout: accepted(),
  ledger: accepted("every skill has a history of its own"),
  project_discovery: accepted("skills are looked for in the home and in external_dirs"),
  trusted_project_dirs: accepted(),
  tier1_advisory: accepted(),
});

const curator = section({
  enabled: flag(true, "Tidy memory and skills from time to time."),
  interval_hours: whole(168, { min: 1 }, "Hours between two scheduled runs; the first waits as long."),
  min_idle_hours: whole(2, { min: 0 }, "How long the agent has to be idle before one starts."),
  stale_after_days: whole(30, { min: 1 }, "Days without use after which a skill counts as stale."),
  archive_after_days: whole(90, { min: 1 }, "Days without use after which a skill is archived."),
  prune_builtins: accepted("skills that came with a program are left alone"),
  consolidate: accepted("merges are proposed, and made after approval"),
  archive_ttl_days: accepted("archived skills stay"),
  backup: section({ enabled: accepted("the history of skills takes every change back"), keep: accepted() }),
  memory: flag(true, "Look after memory too; a scheduled run only proposes."),
});

const ENFORCEMENT: Kind<ToolUseEnforcement> = {
  name: "choice",
  must: () => "must be auto, true, false or a list of parts of model names, such as [gpt, qwen]",
  allowed: () => "`auto`, true, false, list of parts of model names",
  parse: (value, _rules, wrong) => {
    const word = wordOf(value) ?? value;
    if (word === "auto") return word;
    if (isStringList(word)) return word;
    return switchOf(word) ?? wrong();
  },
};

const agent = section({
  disabled_toolsets: list(
    { of: "toolset names", example: "memory" },
    "Toolsets the agent never gets; memory takes the provider's tools too.",
  ),
  task_completion_guidance: flag(true, "Ask the agent to finish what it has begun."),
  tool_use_enforcement: key(
    ENFORCEMENT,
    "auto",
    "Insist on tool calls instead of talk about them: for models that need it, always, never, or by model name.",
  ),
  max_turns: whole(90, { min: 1 }, "Model calls in one turn before the agent has to stop."),
  api_max_retries: whole(3, { min: 1 }, "Attempts for one model call; 1 means no second one."),
  max_output_tokens: whole(
    undefined,
    { min: 1 },
    "Most tokens of one reply; up to the model's server when absent.",
  ),
  max_result_chars: whole(
    100_000,
    { min: 1000 },
    "Most characters of one tool result in the conversation, and at most a quarter of the window; longer ones are kept in a file.",
  ),
});

const delegation = section({
  max_iterations: whole(250, { min: 1 }, "Model calls one child may make."),
  max_concurrent_children: whole(10, { min: 1 }, "Children that may run at the same time."),
  max_spawn_depth: whole(
    1,
    { min: 0 },
    "Levels of delegation: 0 none, 1 the agent you talk to, 2 its children too.",
  ),
  child_timeout_seconds: whole(0, { min: 0 }, "Seconds a child may take (30 at least); 0 for no limit."),
  max_async_children: accepted("children always run while their parent waits"),
  max_summary_chars: accepted("a child's answer is cut like every tool result, by agent.max_result_chars"),
});

const LEVELS = ["off", "on", "verbose"] as const;
/** `on` and `off` read as YAML 1.1. */
const FROM_SWITCH = {
  from: (value: unknown) => (typeof value === "boolean" ? (value ? "on" : "off") : value),
};

const display = section({
  memory_notifications: choice(LEVELS, "on", "Show memory changes: off, on or verbose.", FROM_SWITCH),
  show_reasoning: flag(false, "Show what a model thinks before it answers."),
  busy_input_mode: choice(
    ["queue", "steer", "interrupt"],
    "steer",
    "What Enter does in a chat while a turn runs: queue, steer or interrupt.",
    { from: (value) => wordOf(value) ?? value },
  ),
  platforms: named(
    "platform",
    section({
      memory_notifications: choice(LEVELS, undefined, "The same for one platform.", FROM_SWITCH),
    }),
  ),
});

const sessions = section({
  auto_prune: flag(false, "Remove old sessions when a program starts."),
  retention_days: whole(90, { min: 0 }, "How old a session must be to be removed then."),
  vacuum_after_prune: flag(true, "Give the space of removed sessions back."),
  min_interval_hours: whole(24, { min: 0 }, "Hours between two such clean-ups."),
  write_json_snapshots: flag(false, "Also write each conversation to a JSON file under sessions/."),
  orphan_file_days: whole(
    30,
    { min: 0 },
    "Days after which files of sessions that are gone are removed when a program starts; 0 for never.",
  ),
  auto_archive: accepted("sessions are archived by hand"),
  auto_archive_days: accepted(),
  cjk_fts: accepted("the search index here covers every script"),
  fts_optimize_notice: accepted(),
  max_resume_messages: accepted("a session of any length is resumed"),
  max_export_messages: accepted("a session of any length is exported"),
  min_vacuum_interval_days: accepted(),
  search_slow_ms: accepted(),
});

const sessionSearch = section({
  summarize: choice(
    ["off", "on_request", "always"],
    "off",
    "Written recaps of past sessions: never, when the agent asks, or for every search.",
    { from: (value) => (value === false ? "off" : value) }, // `off` reads as YAML 1.1
  ),
  summary_timeout: number(90, { above: 0 }, "Seconds for all recaps of one search together."),
  cross_profile: flag(true, "Let the agent read sessions of other profiles."),
  max_message_chars: whole(
    0,
    { min: 0 },
    "Most characters of one message in a search result; 0 for the usual ones (1,200 and 4,000).",
  ),
  max_result_chars: whole(
    60_000,
    { min: 1000 },
    "Most characters of all messages in a search result together.",
  ),
});

const TRIMMED = { isTrimmed: true } as const;
const TOKENS = { example: 256_000 };

const model = section(
  {
    default: text("", "The model; 'model: <name>' is short for it.", TRIMMED),
    provider: text("", "Who serves it, such as anthropic, openai or openrouter.", TRIMMED),
    base_url: text("", "Address of its server, where it is not the provider's usual one.", TRIMMED),
    api_key: secret("Its key; better kept in .env."),
    api_mode: text("", "The server's protocol, such as anthropic_messages or chat_completions.", TRIMMED),
    context_length: count(undefined, "How many tokens it takes; asked or looked up when absent.", TOKENS),
    probe_remote: flag(false, "Also ask servers beyond this machine how many tokens their model takes."),
  },
  { shortFor: "default", must: "must be a model's name, or a section with keys of its own" },
);

const DOLLARS = { min: 0, must: "must be a number of at least 0, in US dollars per million tokens" };

const models = section(
  {
    prices: named(
      "model",
      block(
        {
          input: required(number(0, DOLLARS, "Tokens sent.")),
          output: required(number(0, DOLLARS, "Tokens of the reply.")),
          cache_read: number(undefined, DOLLARS, "Tokens read from the server's cache."),
          cache_write: number(undefined, DOLLARS, "Tokens put into the server's cache."),
        },
        "`input` and `output`, and where they differ from `input`, `cache_read` and `cache_write`: numbers of at least 0",
        "What a model costs, in US dollars per million tokens.",
      ),
    ),
  },
  { isShared: true },
);

/** Keys of a model for an auxiliary task. */
function modelFor(work: string, usual: string, timeoutSeconds: number, timeout: string) {
  return {
    provider: text("auto", `Model provider for ${work}; auto or main for the agent's own.`),
    model: text("", `Model for ${work}; empty for the ${usual}.`),
    base_url: text("", "Address of a model server of your own."),
    api_key: secret("Its key; better kept in .env."),
    timeout: number(timeoutSeconds as number, { above: 0 }, timeout),
    extra_body: anyFields("More fields for each request to the model."),
  };
}

const auxiliary = section({
  session_search: section({
    ...modelFor("recaps", "provider's usual one", 30, "Seconds for one recap."),
    // Model servers reject more parallel calls as abuse.
    max_concurrency: whole(3, { min: 1, ceiling: 5 }, "How many recaps are written at the same time."),
  }),
  curator: section(modelFor("the curator", "provider's usual one", 120, "Seconds for one question to it.")),
  compression: section({
    ...modelFor("summaries", "conversation's own", 120, "Seconds for one summary."),
    api_mode: text("", "Its protocol, as model.api_mode."),
    context_length: count(undefined, "How many tokens the summary model takes.", TOKENS),
  }),
  title_generation: section(modelFor("titles", "provider's usual one", 30, "Seconds for one title.")),
});

const RATIO = { floor: 0.1, ceiling: 0.8, must: "must be a number, such as 0.2" };
const SHARE = { above: 0, max: 1, must: "must be a number above 0 and at most 1, such as 0.5" };

const context = section({
  engine: text("compressor", "What keeps a conversation within the window.", {
    allowed: "`compressor`, `lcm`, or the name of a plugin",
    isTrimmed: true,
    isNeverBlank: true,
  }),
  lcm: section({
    fresh_tail_ratio: number(
      undefined,
      RATIO,
      "Share of the threshold that stays word for word; as compression.target_ratio when absent.",
    ),
    leaf_tokens: whole(6_000, { min: 500 }, "Tokens of conversation that become one summary."),
    leaf_summary_tokens: whole(600, { min: 50 }, "Tokens of such a summary."),
    fanout: whole(6, { min: 2 }, "Neighbouring summaries that become one of the next depth."),
    max_depth: whole(8, { min: 1 }, "How deep summaries of summaries go."),
  }),
});

const compression = section({
  enabled: flag(true, "Compact long conversations without being asked.", { hasDigits: true }),
  threshold: number(0.5, SHARE, "Share of the window at which that happens."),
  target_ratio: number(0.2, RATIO, "Share of the threshold that stays word for word at the end."),
  protect_first_n: whole(3, { floor: 0 }, "Messages at the beginning that stay word for word."),
  protect_last_n: whole(20, { min: 0 }, "Newest messages whose tool results are never shortened."),
  abort_on_summary_failure: flag(
    false,
    "Keep everything when no summary can be had, instead of a summary made without a model.",
  ),
  checkpoint_required: flag(
    false,
    "Compact only when the memory provider has confirmed that it stored the messages durably.",
  ),
  hygiene_threshold: number(0.85, SHARE, "Share of the window at which a gateway compacts first."),
  hygiene_hard_message_limit: count(
    5000,
    "Number of messages at which a gateway compacts whatever they cost.",
  ),
  codex_gpt55_autoraise: accepted(),
  in_place: accepted("a compaction goes on in a new session"),
  tail_mode: accepted(),
  threshold_tokens: accepted("the share of the window counts"),
  model_thresholds: accepted("the share of the window counts"),
  max_attempts: accepted(),
  min_tail_user_messages: accepted(),
  micro_compact: accepted(),
  idle_compact_after_seconds: accepted(),
  "proactive_prune_*": accepted(),
  context_timeout_seconds: accepted("auxiliary.compression.timeout limits one summary"),
  context_total_ceiling_seconds: accepted(),
  "hygiene_*": accepted(),
  summary_provider: renamed("auxiliary.compression.provider", oldText(["", "auto"])),
  summary_model: renamed("auxiliary.compression.model", oldText([""])),
  summary_base_url: renamed("auxiliary.compression.base_url", oldText([""])),
});

const gateway = section({
  host: text(
    "127.0.0.1",
    "Address that `hermes serve` binds to. Every caller needs a token, here and beyond.",
  ),
  port: whole(
    8642,
    { min: 0, ceiling: 65_535 },
    "Port of `hermes serve`; the next free one if it is taken. 0: any.",
  ),
  mode: choice(
    ["agent", "proxy"],
    "agent",
    "What `/v1` does: run our agent, or add memory to the client's own requests. Claude Code and Codex are always proxied.",
  ),
  allowed_hosts: list(
    { of: "host names", example: "host.docker.internal", isOneEnough: true },
    "Names besides loopback that requests may call this server by (header Host).",
  ),
  cors_origins: list(
    { of: "origins", example: "https://chat.example.org", isOneEnough: true },
    "Web pages of other origins whose scripts may call this server.",
  ),
  max_body_bytes: whole(33_554_432, { min: 1_024 }, "Largest model request, in bytes."),
  max_api_body_bytes: whole(2_097_152, { min: 1_024 }, "Largest request to `/api` and `/mcp`, in bytes."),
  max_held_bytes: whole(
    134_217_728,
    { min: 1_024 },
    "Bytes of all running requests; beyond it, users who hold over 1/32 wait.",
  ),
  max_messages: whole(
    10_000,
    { min: 1 },
    "Messages, and tools, in one request; 25 times as many values in its JSON.",
  ),
  requests_per_minute: whole(600, { min: 0 }, "Requests of one user per minute; 0 for no limit."),
  megabytes_per_minute: whole(120, { min: 0 }, "Megabytes in them, unpacked; 0 for no limit."),
  messages_per_minute: whole(60_000, { min: 0 }, "Messages in them; 0 for no limit."),
  token_share: whole(10, { min: 1 }, "All users of one token may use so many times the limits of one."),
  concurrent_requests: whole(64, { min: 1 }, "Requests of one user that run at the same time."),
  max_live_agents: whole(128, { min: 1 }, "Agents kept in memory; the least recently used one is closed."),
  idle_agent_seconds: whole(3_600, { min: 1 }, "An agent that is not used for so long is closed."),
  recall: flag(true, "Add what memory knows about the user's message to proxied requests."),
  recall_trace_days: whole(
    30,
    { min: 1 },
    "Days for which it is kept what each turn used, what was recalled, and why; in every door, not only the gateway.",
  ),
  proxy_tools: choice(
    ["auto", "on", "off"],
    "auto",
    "Offer our tools to the model in proxied requests; `auto`: not for Claude Code and Codex, which have MCP.",
  ),
  forward_credentials: flag(
    true,
    "Send the client's own key to the vendor when this home has none for it (same protocol only).",
  ),
  jwt_secret: secret("Secret of Open WebUI's signed user headers; `$NAME` reads an environment variable."),
  jwt_audience: text("", "Audience (`aud`) that signed user headers must have. Open WebUI sets none."),
  jwt_max_age_hours: whole(
    24,
    { min: 0 },
    "Longest lifetime of a signed user header, in hours; 0 for any. Open WebUI's: 5 minutes.",
  ),
  user_fields: list(
    { of: "names", example: "image_generation" },
    "More body fields and types of tools that users may send with the server's key.",
  ),
  user_requests_per_day: whole(0, { min: 0 }, "Model requests of one user per day (UTC); 0 for no limit."),
  user_tokens_per_day: whole(0, { min: 0 }, "Tokens of one user per day (UTC); 0 for no limit."),
  user_cost_per_day: number(0, { min: 0 }, "US dollars of one user per day (UTC); 0 for no limit."),
  max_users: whole(
    1_000,
    { min: 0 },
    "Users that a token may name, unless it has its own `--max-users`; 0 for any number.",
  ),
  identity_profiles: profilesByIdentity(
    "Profile of an identity: `open-webui:alice: work`; `*` for all others of a platform: `api:*: shared`.",
  ),
});

const sessionReset = section({
  mode: choice(
    ["both", "idle", "daily", "none"],
    "both",
    "When a gateway begins a new session: after a pause, at an hour, both or never.",
  ),
  at_hour: whole(4, { min: 0, ceiling: 23 }, "Hour of the daily reset, in `timezone`."),
  idle_minutes: whole(1_440, { min: 1 }, "Length of the pause, in minutes."),
  notify: flag(true, "Say in the next reply that a new session began."),
});

export const KEYS = section({
  memory,
  skills,
  curator,
  agent,
  delegation,
  approvals: section({
    destructive_slash_confirm: flag(
      true,
      "Ask before a slash command throws conversation away, and before `/compress` makes do without a model.",
    ),
  }),
  mcp_servers: {
    ...key(MCP_SERVERS, Object.freeze([]), "An MCP server whose tools the agent may use."),
    hasNoDefault: true,
    entryName: "server",
  },
  plugins: named("plugin", {
    ...accepted(),
    allowed: "what the plugin takes",
    meaning: "Settings of a plugin; holographic reads plugins.hermes-memory-store.",
  }),
  context_file_max_chars: whole(20_000, { min: 1 }, "Most characters taken from one context file."),
  timezone: zone("Zone of dates, such as Europe/Vienna; empty for the machine's own."),
  display,
  logging: section({
    memory_monitor: section({
      enabled: flag(true, "Log the gateway's process memory."),
      interval_seconds: number(300, { above: 0 }, "Seconds between two such lines."),
    }),
  }),
  gateway,
  session_reset: sessionReset,
  sessions,
  onboarding: section({
    seen: section({
      openclaw_residue_cleanup: flag(
        false,
        "The hint about a leftover OpenClaw folder was shown; `hermes chat` sets it.",
      ),
    }),
  }),
  database: named("key", accepted("the journal mode of an existing file is kept")),
  session_search: sessionSearch,
  model,
  models,
  auxiliary,
  custom_providers: {
    ...key(
      CUSTOM_PROVIDERS,
      Object.freeze([]),
      "Servers of your own; models.<model>.context_length of the one at model.base_url counts.",
    ),
    hasNoDefault: true,
  },
  context,
  compression,
  prompt_caching: section({
    cache_ttl: choice(["5m", "1h"], "5m", "How long a model's server keeps a cached prompt.", {
      isLenient: true,
    }),
  }),
});

type Settings = SectionValue<(typeof KEYS)["fields"]>;

/** A loaded config.yaml. `mcpServers` holds the usable servers, including disabled ones; `mcpServerRemarks` lists the others. */
export type HermesConfig = Omit<Settings, "customProviders" | "models"> & {
  readonly models: Settings["models"] & { readonly customProviders: Settings["customProviders"] };
  /** The whole parsed file, for keys of providers and plugins. */
  readonly raw: Readonly<Record<string, unknown>>;
};

/** The section `memory:` of config.yaml. */
export type MemoryConfig = HermesConfig["memory"];
export type CuratorConfig = HermesConfig["curator"];
export type ModelConfig = HermesConfig["model"];
export type AuxiliaryModel = HermesConfig["auxiliary"]["titleGeneration"];
export type NotificationLevel = HermesConfig["display"]["memoryNotifications"];
export type SummarizeMode = HermesConfig["sessionSearch"]["summarize"];

/** One row of the table of keys. */
export type ConfigKey = {
  /** Dotted path; `*` matches one name, or the rest of one. */
  readonly key: string;
  /** The path as documentation shows it: `<platform>` instead of `*`. */
  readonly label: string;
  readonly kind: KeyKind;
  /** Undefined: no default. */
  readonly default: unknown;
  readonly allowed: string;
  readonly meaning: string;
  /** The Python original, June's or today's, does not know it. */
  readonly isOurs: boolean;
};

type Row = ConfigKey & { readonly renamed?: Renamed };

const ROWS: readonly Row[] = rowsOf(KEYS, "", "");

export const CONFIG_KEYS: readonly ConfigKey[] = ROWS;

/** Old names of keys. */
export const RENAMED_KEYS = ROWS.flatMap(({ key: old, renamed: rename }) =>
  rename === undefined ? [] : [{ path: old.split("."), ...rename }],
);

/** The table row of a dotted key, wildcards resolved. */
export function findConfigKey(path: readonly string[]): ConfigKey | undefined {
  return ROWS.find((row) => {
    const parts = row.key.split(".");
    return parts.length === path.length && parts.every((part, i) => fits(part, path[i]));
  });
}

/** The key that a text in place of this section sets: `default` for `model`. */
export function shortFormOf(path: readonly string[]): string | undefined {
  let node: Node | undefined = KEYS;
  for (const part of path)
    node = node?.node === "section" && Object.hasOwn(node.fields, part) ? node.fields[part] : undefined;
  return node?.node === "section" ? node.shortFor : undefined;
}

/** True for `memory`, `display.platforms`, ...: paths that hold known keys. */
export function isKnownSection(path: readonly string[]): boolean {
  return ROWS.some((row) => {
    const parts = row.key.split(".");
    return parts.length > path.length && path.every((part, i) => fits(parts[i], part));
  });
}

/** True for paths with the table's wildcard, such as `compression.hygiene_*` or `mcp_servers.*.url`. */
export function isPattern(path: readonly string[]): boolean {
  return ROWS.some((row) => {
    const parts = row.key.split(".");
    const star = parts.findIndex((part) => part.endsWith("*"));
    return star >= 0 && parts.slice(0, star + 1).every((part, i) => part === path[i]);
  });
}

function fits(pattern = "", name = ""): boolean {
  return pattern === name || (pattern.endsWith("*") && name.startsWith(pattern.slice(0, -1)));
}

/** `at` and `label` end with a dot, or are empty at the top. */
function rowsOf(node: Section, at: string, label: string): Row[] {
  return Object.entries(node.fields).flatMap(([name, field]) => rowsAt(field, at + name, label + name));
}

function rowsAt(node: Node, at: string, label: string): readonly Row[] {
  switch (node.node) {
    case "section":
      return rowsOf(node, `${at}.`, `${label}.`);
    case "named":
      return rowsAt(node.value, `${at}.*`, `${label}.<${node.name}>`);
    case "unread": {
      const { name: kind, allowed, meaning, renamed: rename } = node;
      const row = { key: at, label, kind, default: undefined, allowed, meaning, isOurs: false };
      return [rename === undefined ? row : { ...row, renamed: rename }];
    }
    case "key": {
      const { kind, rules, standard, meaning, hasNoDefault, entryName } = node;
      return [
        {
          key: entryName === undefined ? at : `${at}.*`,
          label: entryName === undefined ? label : `${label}.<${entryName}>`,
          kind: kind.name,
          // Keys below a name that the user chooses have no default.
          default: hasNoDefault || at.includes("*") ? undefined : standard,
          get allowed() {
            return rules.allowed ?? kind.allowed(rules);
          },
          meaning,
          isOurs: OURS.some((ours) => at === ours || at.startsWith(`${ours}.`)),
        },
      ];
    }
  }
}

/** The old text is used if the new key is not set. */
function oldText(nothing: readonly string[]): Renamed["take"] {
  return (old, current) => {
    const isSet = current != null && !nothing.includes(wordOf(current) ?? "?");
    const isText = typeof old === "string" && old.trim() !== "" && !nothing.includes(wordOf(old) ?? "");
    return isText && !isSet ? old.trim() : undefined;
  };
}
